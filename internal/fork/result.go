package fork

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// Version is the version of the result's JSON.
const Version = 1

// Estimand says what is estimated.
const Estimand = "the effect of this edit of the Thought, given this history, for this agent: both arms decide anew from the fork, asked in one way, from the Thought as it stood and as it was corrected once, and go on without an intervention"

// Result is what is known of the forks of a run.
type Result struct {
	Version      int                     `json:"version"`
	Estimand     string                  `json:"estimand"`
	Run          agentbound.RunID        `json:"run"`
	Suite        agentbound.SuiteRef     `json:"suite"`
	Agent        string                  `json:"agent"`
	World        string                  `json:"world"`
	Judge        string                  `json:"judge"`
	Intervention agentbound.Intervention `json:"intervention"`
	N            int                     `json:"n"`    // samples of each arm
	Seed         uint64                  `json:"seed"` // of the draw and the intervals
	Decisions    Decided                 `json:"decisions"`
	Dropped      []Dropped               `json:"dropped"`
	Effects      []Effect                `json:"effects"`
	Forks        []Fork                  `json:"forks"`
	Cost         Cost                    `json:"cost"`
}

// Decided counts decisions. Drawn are dropped, left alone, edited or not reached.
type Decided struct {
	All       int `json:"all"` // of the run, or trial
	Drawn     int `json:"drawn"`
	Dropped   int `json:"dropped"`
	Failed    int `json:"failed"`   // of the dropped: the intervention gave no decision
	Unedited  int `json:"unedited"` // the intervention left the Thought as it was: the arms are the same
	Edited    int `json:"edited"`
	Unreached int `json:"unreached"` // it was stopped before
}

// Dropped is a reason for which decisions could not be forked.
type Dropped struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// Effect is of one measure on one split, or on all of them.
type Effect struct {
	Split   string `json:"split"`   // a split, or "all"
	Measure string `json:"measure"` // "utility", "safety", or "unsafe" (proposed or executed)
	// Edited is over the decisions that the intervention edited; Decisions over all that
	// were drawn and not dropped, where one that was left alone has no effect.
	Edited    metric.ForkEffect `json:"edited"`
	Decisions metric.ForkEffect `json:"over_decisions"`
}

// Fork is one decision.
type Fork struct {
	Trial   agentbound.TrialKey `json:"trial"`
	Family  agentbound.FamilyID `json:"family"`
	Split   agentbound.Split    `json:"split"`
	Repeat  int                 `json:"repeat"`
	Step    int                 `json:"step"`
	Dropped string              `json:"dropped,omitempty"`
	Edited  bool                `json:"edited"`
	Draft   string              `json:"draft,omitempty"`
	Thought string              `json:"thought,omitempty"` // where it was edited
	Control *Arm                `json:"control,omitempty"`
	Treated *Arm                `json:"treated,omitempty"`
}

// Cost is what the forks took, whichever command paid, in tokens: of the subject's own
// decisions from the forks on, and of the corrections.
type Cost struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	InterventionInputTokens  int64 `json:"intervention_input_tokens"`
	InterventionOutputTokens int64 `json:"intervention_output_tokens"`
}

// Summarise is the result of outcomes; all is how many decisions there are, drawn how many
// were asked for.
func Summarise(c Config, outcomes []Outcome, all, drawn int, seed uint64) Result {
	r := Result{
		Version: Version, Estimand: Estimand, Run: c.Plan.ID(), Suite: c.Plan.Suite, Agent: c.Plan.Agent.Title(), World: c.Plan.World,
		Judge: c.Judges[0].Config(), Intervention: c.Intervention.Ref, N: c.Arms, Seed: seed,
		Decisions: Decided{All: all, Drawn: drawn, Unreached: drawn - len(outcomes)}, Dropped: []Dropped{}, Effects: []Effect{}, Forks: []Fork{},
	}
	reasons := map[string]int{}
	for _, o := range outcomes {
		r.add(o, reasons)
	}
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		r.Dropped = append(r.Dropped, Dropped{why, reasons[why]})
	}
	slices.SortStableFunc(r.Dropped, func(a, b Dropped) int { return cmp.Compare(b.Count, a.Count) })
	r.effects(outcomes)
	return r
}

func (r *Result) add(o Outcome, reasons map[string]int) {
	f := Fork{Trial: o.Trial.Key, Family: o.Trial.Family, Split: o.Trial.Split, Repeat: o.Trial.Repeat, Step: o.Step, Dropped: o.Dropped, Edited: o.Edited, Draft: o.Draft}
	switch {
	case o.Dropped != "":
		r.Decisions.Dropped++
		if o.Failed {
			r.Decisions.Failed++
		}
		reasons[o.Dropped]++
	case o.Edited:
		r.Decisions.Edited++
		f.Thought, f.Control, f.Treated = o.Thought, &o.Control, &o.Treated
	default:
		r.Decisions.Unedited++
	}
	r.Forks = append(r.Forks, f)
	r.Cost.InputTokens += o.Spent.InputTokens
	r.Cost.OutputTokens += o.Spent.OutputTokens
	r.Cost.InterventionInputTokens += o.Review.InputTokens
	r.Cost.InterventionOutputTokens += o.Review.OutputTokens
}

// measures are what is estimated, by what an arm counts of it.
var measures = []struct {
	name string
	of   func(Arm) int
}{
	{"utility", func(a Arm) int { return a.Useful }}, {"safety", func(a Arm) int { return a.Safe }}, {"unsafe", func(a Arm) int { return a.Unsafe }},
}

func (r *Result) effects(outcomes []Outcome) {
	present := slices.DeleteFunc(agentbound.Splits(), func(s agentbound.Split) bool {
		return !slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Dropped == "" && o.Trial.Split == s })
	})
	options := metric.Options{Seed: r.Seed}
	for _, split := range append(present, "") {
		if split == "" && len(present) == 1 {
			continue // it is that split's own
		}
		for _, m := range measures {
			var edited, all []metric.Forked
			for _, o := range outcomes {
				if o.Dropped != "" || split != "" && o.Trial.Split != split {
					continue
				}
				f := metric.Forked{Cluster: string(o.Trial.Key), Edited: o.Edited, Control: [2]int{m.of(o.Control), o.Control.Scored}, Treated: [2]int{m.of(o.Treated), o.Treated.Scored}}
				if all = append(all, f); o.Edited {
					edited = append(edited, f)
				}
			}
			name := cmp.Or(string(split), "all")
			label := name + " " + m.name // one for both: of the same decisions they are the same
			r.Effects = append(r.Effects, Effect{name, m.name, metric.EstimateFork(edited, options, label), metric.EstimateFork(all, options, label)})
		}
	}
}

// WriteText writes the result as a table.
func (r Result) WriteText(w io.Writer) error {
	d := r.Decisions
	var b strings.Builder
	fmt.Fprintf(&b, "Forks of run %s: %s, with %s at one decision\n", r.Run, clean(r.Agent), clean(r.Intervention.Name))
	fmt.Fprintf(&b, "%d of %d decisions drawn: %d edited, %d left as they were, %d dropped", d.Drawn, d.All, d.Edited, d.Unedited, d.Dropped)
	if d.Unreached > 0 {
		fmt.Fprintf(&b, ", %d not reached", d.Unreached)
	}
	fmt.Fprintf(&b, "; %d samples an arm\n\n", r.N)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "split\tmeasure\tedited\ttrials\tcontrol\ttreated\teffect, points\t95 %\tover all drawn\t95 %\ta treated sample")
	for _, e := range r.Effects {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.Split, e.Measure, e.Edited.Decisions, e.Edited.Clusters,
			number("%.1f", e.Edited.Control), number("%.1f", e.Edited.Treated), number("%+.1f", e.Edited.Delta), interval(e.Edited),
			number("%+.1f", e.Decisions.Delta), interval(e.Decisions), r.example(e))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteString("\n")
	for _, legend := range r.legends() {
		fill(&b, legend)
	}
	if r.Decisions.Edited > 0 {
		fill(&b, "A sample is read by: agentbound replay KEY --show. Those of each decision and arm are listed by --format json (keys).")
	}
	fill(&b, fmt.Sprintf("Estimated is %s. Every decision weighs the same.", r.Estimand))
	for _, x := range r.Dropped {
		fill(&b, fmt.Sprintf("Dropped, %d: %s", x.Count, clean(x.Reason)))
	}
	for why, n := range r.unscored() {
		fill(&b, fmt.Sprintf("Unscored samples, %d: %s", n, clean(why)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// width is the number of columns that prose fits in.
const width = 100

// fill writes prose in lines.
func fill(b *strings.Builder, prose string) {
	used := 0
	for i, word := range strings.Fields(prose) {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && used+1+n > width:
			b.WriteString("\n")
			used = 0
		case i > 0:
			b.WriteString(" ")
			used++
		}
		b.WriteString(word)
		used += n
	}
	b.WriteString("\n")
}

// methods are the marks of interval methods, by the beginning of their names; those that a
// report has, too, bear the same marks there.
var methods = []struct{ name, mark, legend string }{
	{metric.MethodBootstrap, "ᵇ", "ᵇ cluster bootstrap (BCa), the decisions of a trial drawn together"},
	{metric.MethodRescaled, "ᶜ", "ᶜ Clopper-Pearson on (effect + 1)/2, scaled back, every trial counting as one decision: under 5 trials differ, or all alike"},
	{metric.MethodDiscordance, "ᵈ", "ᵈ ± the upper Clopper-Pearson bound of a difference, every trial counting as one decision: none differs"},
	{metric.MethodNewcombe, "ⁿ", "ⁿ Newcombe's hybrid score interval of two proportions, of one decision"},
}

func markOf(method string) string {
	for _, m := range methods {
		if strings.HasPrefix(method, m.name) {
			return m.mark
		}
	}
	return ""
}

// legends are of the marks that the table has.
func (r Result) legends() (lines []string) {
	for _, m := range methods {
		if slices.ContainsFunc(r.Effects, func(e Effect) bool { return markOf(e.Edited.Method) == m.mark || markOf(e.Decisions.Method) == m.mark }) {
			lines = append(lines, m.legend)
		}
	}
	return lines
}

// example is a treated sample of the decision of an effect whose arms differ most in it,
// by enough of its key to name it.
func (r Result) example(e Effect) string {
	const digits = 12
	best, key := -1.0, ""
	for _, f := range r.Forks {
		if f.Treated == nil || f.Control == nil || len(f.Treated.Keys) == 0 || e.Split != "all" && string(f.Split) != e.Split {
			continue
		}
		differ := 0.0
		for _, m := range measures {
			if m.name == e.Measure && f.Control.Scored > 0 && f.Treated.Scored > 0 {
				differ = math.Abs(float64(m.of(*f.Treated))/float64(f.Treated.Scored) - float64(m.of(*f.Control))/float64(f.Control.Scored))
			}
		}
		if differ > best {
			best, key = differ, string(f.Treated.Keys[0])
		}
	}
	if key == "" {
		return "–"
	}
	return key[:min(digits, len(key))]
}

// unscored counts the reasons of samples without a score, in one order.
func (r Result) unscored() func(func(string, int) bool) {
	counts := map[string]int{}
	for _, f := range r.Forks {
		for _, a := range []*Arm{f.Control, f.Treated} {
			if a != nil {
				for _, why := range a.Unscored {
					counts[why]++
				}
			}
		}
	}
	return func(yield func(string, int) bool) {
		for _, why := range slices.Sorted(maps.Keys(counts)) {
			if !yield(why, counts[why]) {
				return
			}
		}
	}
}

// Unscored counts the samples without a score.
func (r Result) Unscored() (n int) {
	for _, c := range r.unscored() {
		n += c
	}
	return n
}

func number(format string, x *float64) string {
	if x == nil {
		return "–"
	}
	return strings.Replace(fmt.Sprintf(format, *x), "-", "−", 1)
}

func interval(e metric.ForkEffect) string {
	if e.CI95 == nil {
		return "–"
	}
	return number("%+.1f", &e.CI95[0]) + "…" + number("%+.1f", &e.CI95[1]) + markOf(e.Method)
}

// clean keeps a text on its line and free of what would steer a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
}
