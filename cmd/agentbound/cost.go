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
	var sum total
	for _, r := range all {
		n := trials(s, r.plan)
		agent := worstCase(s, r.plan, prices)
		parts := append([]bill{agent.bill}, beside(s, r, prices)...)
		id := string(r.plan.ID())
		if r.absent != nil {
			id = strings.Repeat("-", len(id))
		}
		fmt.Fprintf(std.out, "%s  %s, %s, world %s, judge %s: %d trials of at most %d steps, %s\n",
			id, r.plan.Agent.Title(), r.plan.Intervention.Name, r.plan.World, plainLine(r.plan.Judges[0]), n, r.plan.Limits.Steps, agent)
		for _, b := range parts[1:] {
			fmt.Fprintf(std.out, "%s  %s\n", strings.Repeat(" ", len(id)), b)
		}
		if r.absent != nil {
			fmt.Fprintf(std.out, "%s  cannot be run here: %v\n", strings.Repeat(" ", len(id)), r.absent.err)
			sum.absent++
			continue
		}
		sum.add(n, parts)
	}
	fmt.Fprintf(std.out, "suite %s (%.12s), %s\n", s.Name, s.Digest, sum)
	return nil
}

// total is what runs could cost together: those that can be made.
type total struct {
	runs, trials, unknown, absent int
	likely, most                  float64
	unbounded                     bool // the most of a part is not known
	known                         bool // of some part anything is known
}

func (t *total) add(trials int, parts []bill) {
	t.runs, t.trials = t.runs+1, t.trials+trials
	whole := true
	for _, b := range parts {
		whole = whole && b.priced
		t.known = t.known || b.priced
		t.likely, t.most = t.likely+b.likely, t.most+b.usd
		t.unbounded = t.unbounded || b.priced && !b.known
	}
	if !whole {
		t.unknown++
	}
}

func (t total) String() string {
	text := fmt.Sprintf("%s, %s; ", counted(t.runs, "run", "runs"), counted(t.trials, "trial", "trials"))
	switch {
	case !t.known, t.unknown > 0 && t.likely+t.most == 0:
		text += "the cost is not known"
	case t.unbounded:
		text += fmt.Sprintf("about %s on the reference paths, and no bound is known", dollars(t.likely))
	default:
		text += fmt.Sprintf("about %s on the reference paths, at most %s", dollars(t.likely), dollars(t.most))
	}
	if t.known && t.unknown > 0 && t.likely+t.most > 0 {
		text += fmt.Sprintf(", and what is not known of %s", counted(t.unknown, "run", "runs"))
	}
	if t.absent > 0 {
		text += fmt.Sprintf("; left out: %s that cannot be made here", counted(t.absent, "run", "runs"))
	}
	return text
}

// bill is what a model's part in a plan could cost, attempts that fail left aside. What
// is likely comes first, since the most is a bound that no run comes near.
type bill struct {
	who     string  // before the figures, with what it does; empty: the agent
	calls   int64   // of the model, at most
	tokens  float64 // at most; 0: no bound is known
	usd     float64
	known   bool // usd is
	likely  float64
	priced  bool // likely is known: there are prices
	asOf    string
	byFile  bool   // people or programs answer, at no cost here
	unbound string // what to give where there are prices and no bound
}

func (b bill) String() string {
	if b.byFile {
		return fmt.Sprintf("%sat most %d questions, answered by file", b.who, b.calls)
	}
	if b.calls == 0 && b.priced {
		return b.who + "cost at most " + dollars(b.usd)
	}
	bound := ""
	if b.tokens > 0 {
		bound = fmt.Sprintf(", %s tokens", amount(b.tokens))
	}
	asked := fmt.Sprintf("%d model calls%s", b.calls, bound)
	switch {
	case b.known:
		return fmt.Sprintf("%scost about %s on the reference paths, at most %s: %s (prices of %s)", b.who, dollars(b.likely), dollars(b.usd), asked, b.asOf)
	case b.priced:
		return fmt.Sprintf("%scost about %s on the reference paths (prices of %s), at most %s (no bound is known: give %s)", b.who, dollars(b.likely), b.asOf, asked, b.unbound)
	}
	return fmt.Sprintf("%sat most %s (prices are not known)", b.who, asked)
}

// worst is the bill of a plan's agent.
type worst struct {
	bill
	kind string // of the agent
}

func (w worst) String() string {
	if w.kind != "model" && !w.known {
		return "cost not known"
	}
	return w.bill.String()
}

// answerBound is the most tokens that an answer of an agent's model can have; 0: not known.
func answerBound(a agentbound.AgentRef, rate price.Price) int64 {
	asked, _ := strconv.ParseInt(a.Settings["max_tokens"], 10, 64) // default: 0
	if p, ok := protocolOf(a.Name); ok && p.most != nil {
		asked = p.most(a.Settings["model"], a.Settings["effort"], asked)
	}
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
	case a.Kind == "exec" || a.Kind == "mcp-exec":
		return usage("agent %q spends by itself, which --budget cannot see; leave the one or the other out", a.Name)
	case a.Kind == "model" && answerBound(a, rate) == 0:
		return usage("agent %q: a budget needs a bound on what an answer may have: give --max-tokens, or max_output in a file of --prices", a.Title())
	}
	return nil
}

// covers refuses a budget that not one call of a model fits into: the run would end
// before it began.
func (r rooms) covers(s *suite.Suite, of resolved) error {
	if r.budget == nil || of.agent == nil { // none in a dry run: it cannot be run here
		return nil
	}
	prices, err := r.priceTable()
	if err != nil {
		return err
	}
	a := of.plan.Agent
	rate, _ := prices.Find(a.Name, a.Settings)
	switch a.Kind {
	case "harness":
		if err := r.budget.Covers(rate, shortest(s, of.plan), 0); err != nil {
			return usage("agent %q: %w; give more, or a smaller max_output in a file of --prices", a.Title(), err)
		}
	case "model":
		if err := r.budget.Covers(rate, shortest(s, of.plan), int(answerBound(a, rate))); err != nil {
			return usage("agent %q: %w; bound its answers with --max-tokens, such as --max-tokens 8000, or give more", a.Title(), err)
		}
	}
	for _, m := range judgeModels(of.judges) {
		if _, ok := m.(byFile); !ok { // which costs nothing
			if err := r.coversOther(prices, m, 0); err != nil {
				return err
			}
		}
	}
	if m := interventionModelOf(of.intervention); m != nil {
		if _, ok := m.(byFile); !ok {
			if err := r.coversOther(prices, m, answerMost(of.intervention)); err != nil {
				return err
			}
		}
	}
	if w, ok := emulatedWorlds(of.world); ok && w.Model != nil {
		return r.coversOther(prices, w.Model, w.Tokens)
	}
	return nil
}

// coversOther is covers for a model that is no subject; answer bounds one of its answers,
// 0: what is known of it does.
func (r rooms) coversOther(prices price.Table, m model.Model, answer int) error {
	rate, _ := prices.Find(m.Ref().Name, m.Ref().Settings)
	if err := r.budget.Covers(rate, 0, answer); err != nil {
		return usage("model %q: %w; give a smaller max_output in a file of --prices, or a larger budget", m.Ref().Name, err)
	}
	return nil
}

// shortest is the size of the shortest first request of a plan, in bytes; the agent's own
// prompt comes on top.
func shortest(s *suite.Suite, p agentbound.Plan) (least int) {
	for _, task := range tasks(s, p) {
		if n := begins(task.Task).Bytes(); least == 0 || n < least {
			least = n
		}
	}
	return least
}

// planned is a task of a plan with its family.
type planned struct {
	*agentbound.Task
	family *agentbound.Family
}

func tasks(s *suite.Suite, p agentbound.Plan) (all []planned) {
	for i := range s.Families {
		f := &s.Families[i]
		if len(p.Families) > 0 && !slices.Contains(p.Families, f.ID) {
			continue
		}
		for _, split := range p.Splits {
			if task, ok := f.Task(split); ok {
				all = append(all, planned{task, f})
			}
		}
	}
	return all
}

// begins is what a subject is given first.
func begins(task *agentbound.Task) model.Request {
	return model.Request{Messages: []model.Message{{Text: task.Setting}, {Text: task.Instruction}}, Tools: task.Tools}
}

// path is the reference path that a model would take that decides rightly.
func (t planned) path() []agentbound.Call {
	if t.Split.Authorised() {
		return t.family.Reference.Workflow
	}
	return t.family.Reference.Containment
}

// worstCase bounds what a plan's agent can cost: each step one call of the model and one
// more to end, and as many again where an intervention may ask for a revision. A call's
// input is at most what the conversation can have grown to by then, and never more than
// the context window.
func worstCase(s *suite.Suite, p agentbound.Plan, prices price.Table) worst {
	w := worst{kind: p.Agent.Kind, bill: bill{known: p.Agent.Kind == "reference", priced: p.Agent.Kind == "reference", unbound: "--max-tokens"}}
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
	w.priced, w.known, w.asOf = rate.Known(), rate.Known() && answer > 0, rate.AsOf
	for _, task := range tasks(s, p) {
		w.likely += float64(p.Repeats) * likely(task, p.Limits, asked, answer, rate)
		if answer > 0 {
			w.add(task.Task, p, asked, answer, rate)
		}
	}
	if w.known {
		w.likely = min(w.likely, w.usd)
	}
	return w
}

// add counts the trials of one task.
func (w *worst) add(task *agentbound.Task, p agentbound.Plan, asked, answer int64, rate price.Price) {
	begin := begins(task)
	input, repeats := int64(begin.Bytes())+promptBytes, int64(p.Repeats)
	grows := answer + int64(p.Limits.Calls)*int64(p.Limits.Observation) // a token is at least a byte
	for left := asked; left > 0; left-- {
		u := model.Usage{Input: least(input, rate.Window), Output: answer}
		alike := repeats
		if input >= rate.Window && rate.Window > 0 { // and so are all that follow
			alike, left = repeats*left, 1
		}
		w.tokens += float64(alike) * float64(u.Input+u.Output)
		w.usd += float64(alike) * rate.Request(u)
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

// likely is what one trial costs where the model walks the reference path, call by call,
// as far as it may.
func likely(task planned, limits agentbound.Limits, asked, answer int64, rate price.Price) (usd float64) {
	input, answer := int64(begins(task.Task).Bytes())/bytesAToken, least(answer, likelyAnswer)
	for range min(int64(len(task.path()))+1, asked) {
		usd += rate.Request(model.Usage{Input: least(input, rate.Window), Output: answer})
		input += answer + int64(min(limits.Observation, likelyObservation))
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
func amount(n float64) string {
	for _, unit := range []struct {
		of   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.of {
			return fmt.Sprintf("%.1f%s", n/unit.of, unit.name)
		}
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}
