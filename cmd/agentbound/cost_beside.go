package main

import (
	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/judge/rubric"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/price"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/emulated"
	"github.com/agentbound/agentbound/world/fault"
)

// beside are the bills of the models beside the agent: of the world, of the intervention
// and of the judges.
func beside(s *suite.Suite, r resolved, prices price.Table) (all []bill) {
	if m := worldModel(r.world); m != nil {
		calls := int64(trials(s, r.plan)) * int64(r.plan.Limits.Steps) * int64(r.plan.Limits.Calls) * emulated.Attempts
		all = append(all, billed("world played by "+m.Ref().Name+":", m, calls, prices, func(rate price.Price) (usd float64) {
			for _, t := range tasks(s, r.plan) {
				usd += float64(r.plan.Repeats) * likelyWorld(t, r.plan.Limits, rate)
			}
			return usd
		}))
	}
	n := int64(trials(s, r.plan))
	if a := askedBy(r.intervention); a != nil {
		all = append(all, reviews(s, r, a, prices))
	}
	for _, j := range r.judges {
		asks, ok := j.(*rubric.Judge)
		if !ok {
			continue
		}
		models := asks.Models()
		for _, m := range models {
			who, calls, votes := "judged by "+m.Ref().Name+":", n*int64(asks.Calls()/len(models)), float64(asks.Votes()/len(models))
			if _, ok := m.(byFile); ok {
				all = append(all, bill{who: plainLine(who) + " ", calls: calls, priced: true, known: true, byFile: true})
				continue
			}
			all = append(all, billed(who, m, calls, prices, func(rate price.Price) (usd float64) {
				for _, t := range tasks(s, r.plan) {
					usd += float64(r.plan.Repeats) * votes * likelyVote(t, r.plan.Limits, rate)
				}
				return usd
			}))
		}
	}
	return all
}

// reviews is the bill of an intervention's model.
func reviews(s *suite.Suite, r resolved, a asks, prices price.Table) bill {
	m, who := a.Model(), "corrected by "
	if r.intervention.Gate != nil {
		who = "guarded by "
	}
	who += m.Ref().Name + ":"
	calls := int64(trials(s, r.plan)) * times(r.intervention, r.plan.Limits) * int64(a.Calls())
	if _, ok := m.(byFile); ok {
		return bill{who: plainLine(who) + " ", calls: calls, priced: true, known: true, byFile: true}
	}
	return billed(who, m, calls, prices, func(rate price.Price) (usd float64) {
		for _, t := range tasks(s, r.plan) {
			usd += float64(r.plan.Repeats) * likelyReviews(t, r.intervention, r.plan.Limits, rate)
		}
		return usd
	})
}

// billed bounds what a model can cost that is asked so often: each question fills the
// window, since what it holds grows with what the subject does.
func billed(who string, m model.Model, calls int64, prices price.Table, likely func(price.Price) float64) bill {
	rate, _ := prices.Find(m.Ref().Name, m.Ref().Settings)
	b := bill{who: plainLine(who) + " ", calls: calls, priced: rate.Known(), asOf: rate.AsOf, unbound: "window in a file of --prices"}
	if rate.Known() {
		b.likely = likely(rate)
	}
	if rate.Window > 0 {
		u := model.Usage{Input: rate.Window, Output: least(rate.MaxOutput, rate.Window)}
		b.tokens, b.usd, b.known = float64(calls)*float64(u.Input+u.Output), float64(calls)*rate.Request(u), rate.Known()
		b.likely = min(b.likely, b.usd)
	}
	return b
}

// likelyCall is the tokens of a call as a record shows it.
const likelyCall = 100

// likelyWorld is what one trial's calls cost where a model plays the tools and the subject
// walks the reference path: prompt, tools and state, and what went before.
func likelyWorld(t planned, limits agentbound.Limits, rate price.Price) (usd float64) {
	input := int64(promptBytes+begins(t.Task).Bytes()+len(t.Start)) / bytesAToken
	for range min(len(t.path()), limits.Steps) {
		usd += rate.Request(model.Usage{Input: least(input, rate.Window), Output: likelyCall + likelyObservation})
		input += likelyCall + likelyObservation
	}
	return usd
}

// likelyVote is what one question of a judge costs: prompt, task, the state before and
// after, and the reference path.
func likelyVote(t planned, limits agentbound.Limits, rate price.Price) float64 {
	steps := min(len(t.path()), limits.Steps)
	input := int64(promptBytes+begins(t.Task).Bytes()+2*len(t.Start))/bytesAToken + int64(steps)*(likelyCall+likelyObservation)
	return rate.Request(model.Usage{Input: least(input, rate.Window), Output: likelyAnswer})
}

// worldModel is the model that plays a world's tools; nil where none does.
func worldModel(w world.Factory) model.Model {
	if w, ok := emulatedWorlds(w); ok {
		return w.Model
	}
	return nil
}

// emulatedWorlds are the worlds that a model plays, with or without a script of faults.
func emulatedWorlds(w world.Factory) (emulated.Worlds, bool) {
	if faulty, ok := w.(fault.Worlds); ok {
		w = faulty.Factory
	}
	played, ok := w.(emulated.Worlds)
	return played, ok
}
