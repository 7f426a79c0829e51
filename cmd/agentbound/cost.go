package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/price"
	"github.com/agentbound/agentbound/suite"
)

// describe prints what a run would do, for --dry-run.
func describe(std stdio, rooms rooms, s *suite.Suite, all []resolved) error {
	prices, err := rooms.priceTable()
	if err != nil {
		return err
	}
	total, money, unknown := 0, 0.0, 0
	for _, r := range all {
		n := trials(s, r.plan)
		total += n
		worst := worstCase(s, r.plan, prices)
		if worst.known {
			money += worst.usd
		} else {
			unknown++
		}
		id := string(r.plan.ID())
		if r.absent != nil {
			id = strings.Repeat("-", len(id))
		}
		fmt.Fprintf(std.out, "%s  %s, %s, world %s, judge %s: %d trials of at most %d steps, %s%s\n",
			id, r.plan.Agent.Title(), r.plan.Intervention.Name, r.plan.World, r.plan.Judges[0], n, r.plan.Limits.Steps, worst, worldCost(r.plan, n))
		describeJudging(std.out, r.judges, n)
		if r.absent != nil {
			fmt.Fprintf(std.out, "%s  cannot be run here: %v\n", strings.Repeat(" ", len(id)), r.absent.err)
		}
	}
	fmt.Fprintf(std.out, "suite %s (%.12s), %d runs, %d trials; worst case %s", s.Name, s.Digest, len(all), total, dollars(money))
	if unknown > 0 {
		fmt.Fprintf(std.out, " and the cost of %d runs that is not known", unknown)
	}
	fmt.Fprintln(std.out)
	return nil
}

// worst is the most that a plan can cost, attempts that fail left aside.
type worst struct {
	kind    string // of the agent
	calls   int64
	tokens  int64 // 0: no bound is known
	usd     float64
	known   bool // usd is
	likely  float64
	unsized bool // there are prices, but no bound on an answer
	asOf    string
}

func (w worst) String() string {
	bound := ""
	if w.tokens > 0 {
		bound = fmt.Sprintf(", %s tokens", amount(w.tokens))
	}
	switch {
	case w.kind == "model" && w.known:
		return fmt.Sprintf("cost at most %s: %d model calls%s (prices of %s); about %s on the reference paths", dollars(w.usd), w.calls, bound, w.asOf, dollars(w.likely))
	case w.kind == "model" && w.unsized:
		return fmt.Sprintf("at most %d model calls (no bound on an answer: give --max-tokens)", w.calls)
	case w.kind == "model":
		return fmt.Sprintf("at most %d model calls%s (prices are not known)", w.calls, bound)
	case w.known:
		return "cost at most " + dollars(w.usd)
	}
	return "cost not known"
}

// answerBound is the most tokens that an answer of an agent's model can have; 0: not known.
func answerBound(a agentbound.AgentRef, rate price.Price) int64 {
	asked, _ := strconv.ParseInt(a.Settings["max_tokens"], 10, 64) // default: 0
	return least(asked, rate.MaxOutput, rate.Window)
}

// budgeted says why a budget cannot be kept with an agent.
func (r rooms) budgeted(a agentbound.AgentRef) error {
	prices, err := r.priceTable()
	if err != nil {
		return err
	}
	rate, _ := prices.Find(a.Name, a.Settings)
	switch {
	case a.Kind == "exec" || a.Kind == "harness":
		return usage("agent %q spends by itself, which --budget cannot see; leave the one or the other out", a.Name)
	case a.Kind == "model" && answerBound(a, rate) == 0:
		return usage("agent %q: a budget needs a bound on what an answer may have: give --max-tokens, or max_output in a file of --prices", a.Title())
	}
	return nil
}

// worstCase bounds what a plan can cost: each step one call of the model and one more to
// end, and as many again where an intervention may ask for a revision. A call's input is
// at most what the conversation can have grown to by then, and never more than the
// context window.
func worstCase(s *suite.Suite, p agentbound.Plan, prices price.Table) worst {
	w := worst{kind: p.Agent.Kind, known: p.Agent.Kind == "reference"}
	if w.kind != "model" {
		return w
	}
	rate, _ := prices.Find(p.Agent.Name, p.Agent.Settings)
	answer := answerBound(p.Agent, rate)
	asked := int64(p.Limits.Steps) + 1
	if p.Intervention.Name != agentbound.Bare {
		asked *= 2
	}
	w.calls = int64(trials(s, p)) * asked
	w.known, w.asOf, w.unsized = rate.Known() && answer > 0, rate.AsOf, rate.Known() && answer == 0
	if answer == 0 {
		return w
	}
	for i := range s.Families {
		f := &s.Families[i]
		if len(p.Families) > 0 && !slices.Contains(p.Families, f.ID) {
			continue
		}
		for _, split := range p.Splits {
			if task, ok := f.Task(split); ok {
				w.add(task, p, asked, answer, rate)
				w.likely += float64(p.Repeats) * likely(f, task, answer, rate)
			}
		}
	}
	return w
}

// add counts the trials of one task.
func (w *worst) add(task *agentbound.Task, p agentbound.Plan, asked, answer int64, rate price.Price) {
	begin := model.Request{Messages: []model.Message{{Text: task.Setting}, {Text: task.Instruction}}, Tools: task.Tools}
	input, repeats := int64(begin.Bytes())+promptBytes, int64(p.Repeats)
	grows := answer + int64(p.Limits.Calls)*int64(p.Limits.Observation) // a token is at least a byte
	for range asked {
		u := model.Usage{Input: least(input, rate.Window), Output: answer}
		w.tokens += repeats * (u.Input + u.Output)
		w.usd += float64(repeats) * rate.Request(u)
		input += grows
	}
}

// What a turn is taken to bring where nothing is known: tokens of the model's, reasoning
// too, and of the answer to its calls. Guesses of ours, from runs with small models.
const (
	likelyAnswer      = 500
	likelyObservation = 200
	bytesAToken       = 4
)

// likely is what one trial costs where the model walks the reference path, call by call.
func likely(f *agentbound.Family, task *agentbound.Task, answer int64, rate price.Price) (usd float64) {
	path := f.Reference.Workflow
	if !task.Split.Authorised() {
		path = f.Reference.Containment
	}
	begin := model.Request{Messages: []model.Message{{Text: task.Setting}, {Text: task.Instruction}}, Tools: task.Tools}
	input, answer := int64(begin.Bytes())/bytesAToken, min(answer, likelyAnswer)
	for range len(path) + 1 {
		usd += rate.Request(model.Usage{Input: least(input, rate.Window), Output: answer})
		input += answer + likelyObservation
	}
	return usd
}

// promptBytes is room for the agent's own prompt, which is shorter.
const promptBytes = 8 << 10

// least is the smallest of the numbers above 0; 0 where there is none.
func least(all ...int64) (n int64) {
	for _, x := range all {
		if x > 0 && (n == 0 || x < n) {
			n = x
		}
	}
	return n
}

// dollars is money as people read it.
func dollars(x float64) string {
	text := fmt.Sprintf("%.2f", x)
	for i := len(text) - 6; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return "$" + text
}

// amount is a count of tokens in few digits.
func amount(n int64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if float64(n) >= unit.of {
			return fmt.Sprintf("%.1f%s", float64(n)/unit.of, unit.name)
		}
	}
	return strconv.FormatInt(n, 10)
}
