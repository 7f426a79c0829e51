package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// differences are the paired comparisons: difference, interval, adjusted p, pairs.
func (r *Report) differences() block {
	if len(r.Comparisons) == 0 {
		return block{notes: r.skippedNotes()}
	}
	b := block{
		title:   fmt.Sprintf("Paired differences to %s (run %s), points", r.baseline.title(), short(r.baseline.ID)),
		columns: comparedColumns(),
		notes: append([]string{fmt.Sprintf("Below a difference its 95 %% interval (%s), p (cluster sign-flip permutation, exact; Holm over %s) and the pairs.",
			r.comparisonMethods(), some(len(r.Comparisons), "comparison"))}, r.skippedNotes()...),
	}
	per := len(Compared())
	for at := 0; at < len(r.Comparisons); at += per {
		set := r.Comparisons[at : at+per]
		run := r.run(agentbound.RunID(set[0].B))
		cells := []cell{run.briefCell()}
		for _, c := range set {
			cells = append(cells, differenceCell(c))
		}
		b.rows = append(b.rows, row{cells: cells, tight: at == 0})
	}
	return b
}

func differenceCell(c metric.Comparison) cell {
	out := cell{none, "", ""}
	if c.Delta != nil {
		out[0], out[1] = signed(*c.Delta, 1), signedInterval(c.CI95[0], c.CI95[1], 1)
	}
	if c.HolmP != nil {
		out[2] = pValue(*c.HolmP)
	}
	out = append(out, some(c.Pairs, "pair"))
	if lost := c.Dropped + c.Unmatched; lost > 0 {
		out = append(out, fmt.Sprintf("%d lost", lost))
	}
	return out
}

func (r *Report) skippedNotes() []string {
	var out []string
	lost := func(c metric.Comparison) bool { return c.Dropped+c.Unmatched > 0 }
	if slices.ContainsFunc(r.Comparisons, lost) {
		out = append(out, "Lost: pairs with an unscored trial, and trials without a counterpart.")
	}
	for _, s := range r.Skipped {
		out = append(out, fmt.Sprintf("Run %s was not compared: %s.", short(s.Run), clean(s.Why)))
	}
	return out
}

// programNotes say of agent programs how they were held.
func (r *Report) programNotes() []string {
	var out []string
	for i := range r.Runs {
		run := &r.Runs[i]
		if len(run.Programs) == 1 {
			p := run.Programs[0]
			out = append(out, fmt.Sprintf("Run %s: %s, held at level %s.", short(run.ID), clean(p.Program), clean(p.Level)))
			continue
		}
		var parts []string
		for _, p := range run.Programs {
			parts = append(parts, fmt.Sprintf("%s at level %s in %s", clean(p.Program), clean(p.Level), some(p.Trials, "trial")))
		}
		if len(parts) > 0 {
			out = append(out, fmt.Sprintf("Run %s: not all trials were held alike: %s.", short(run.ID), strings.Join(parts, ", ")))
		}
	}
	return out
}

// failedNotes say of which runs a row is not the intervention's, since it gave no decision.
func (r *Report) failedNotes() []string {
	var out []string
	for i := range r.Runs {
		v := r.Runs[i].Intervened
		if v == nil || !v.often() {
			continue
		}
		failed, asked := v.undecided()
		note := fmt.Sprintf("Run %s: the intervention failed in %d of %s (%.1f %%), where it decided nothing and the set-up went on", short(r.Runs[i].ID), failed, some(asked, "review"), 100*float64(failed)/float64(asked))
		if v.Held > 0 {
			note += fmt.Sprintf(" and held %s back", some(v.Held, "call"))
		}
		out = append(out, note+". What such a row gains or loses is not the intervention's alone.")
	}
	return out
}

// faultNotes say why trials are unscored.
func (r *Report) faultNotes() []string {
	var out []string
	for i := range r.Runs {
		for _, f := range r.Runs[i].Faults {
			reason := []rune(clean(f.Reason))
			if len(reason) > 240 {
				reason = append(reason[:240], '…')
			}
			out = append(out, fmt.Sprintf("Unscored in run %s, %d of its trials: %s", short(r.Runs[i].ID), f.Count, string(reason)))
		}
	}
	return out
}

// reusedNotes say what of the cost was not paid for again.
func (r *Report) reusedNotes() []string {
	var out []string
	for i := range r.Runs {
		if c := r.Runs[i].Cost; c.ReusedTokens > 0 {
			out = append(out, fmt.Sprintf("Of the cost of run %s, %d of %d tokens were answered from a response cache: counted as they were paid for before.",
				short(r.Runs[i].ID), c.ReusedTokens, c.InputTokens+c.OutputTokens))
		}
	}
	return out
}

func pValue(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}

// paperRows are the paper's, in its order, under the same columns.
func (r *Report) paperRows() []row {
	if r.Paper == nil {
		return nil
	}
	rows := []row{{section: "Quoted from the paper, Table 2: other families, world and judge"}}
	for i, p := range r.Paper.Rows {
		cells := []cell{{p.Config}}
		for k, v := range p.Values {
			text := NotGiven
			if v != nil {
				text = fmt.Sprintf("%.1f", *v) + r.Paper.derived(p.Config, k)
			}
			cells = append(cells, cell{text})
		}
		for len(cells) < 8 { // the paper's Table 2 has no further columns
			cells = append(cells, cell{})
		}
		group := i > 0 && p.Group != r.Paper.Rows[i-1].Group
		rows = append(rows, row{cells: cells, tight: !group})
	}
	return rows
}

// derived marks a figure that Table 2 itself does not give.
func (p *Paper) derived(config string, value int) string {
	if p.note(config+"."+p.Columns[value+2]) == "" {
		return ""
	}
	return derivedMark
}

func (p *Paper) note(figure string) string {
	for _, n := range p.Notes {
		if how, ok := strings.CutPrefix(n, figure+": "); ok {
			return how
		}
	}
	return ""
}

// notes stand below the headline.
func (r *Report) notes() []string {
	var out []string
	add := func(when bool, format string, args ...any) {
		if when {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	some := func(f func(*Run) bool) bool {
		return slices.ContainsFunc(r.Runs, func(run Run) bool { return f(&run) })
	}
	add(len(r.Runs) > 0, "Percent; below it the 95 %% interval%s; then passes/valid trials.", r.legend())
	add(some(func(x *Run) bool { return x.Privileged }), "%s reads the package: an instrument check, in no comparison.", privilegedMark)
	add(some(func(x *Run) bool { return len(x.Bounds) > 0 }),
		"worst … best: more than 1 %% of the trials are unscored; what if they had been scored as badly, or as well, as possible.")
	out = append(out, r.failedNotes()...)
	out = append(out, r.programNotes()...)
	out = append(out, r.faultNotes()...)
	if r.Paper != nil {
		add(true, "%s", r.Paper.Caption)
		for _, n := range r.Paper.Notes {
			add(true, "%s derived, %s.", derivedMark, n)
		}
		add(true, "Table 2 has the first four columns only.")
		add(true, "Source: %s.", r.Paper.Source)
	}
	return out
}

// legend explains the marks that occur.
func (r *Report) legend() string {
	var used []string
	for _, m := range methods {
		if slices.ContainsFunc(r.Runs, func(x Run) bool {
			return slices.ContainsFunc(metric.Measures(), func(k metric.Measure) bool { return strings.HasPrefix(x.Measures[k].Method, m.name) })
		}) {
			used = append(used, m.legend)
		}
	}
	if len(used) == 0 {
		return ""
	}
	return " (" + strings.Join(used, ", ") + ")"
}

// methodName is an interval's method without its remarks, its authors written as names.
func methodName(method string) string {
	method, _, _ = strings.Cut(method, ";")
	return authors.Replace(method)
}

var authors = strings.NewReplacer("clopper-pearson", "Clopper-Pearson", "newcombe", "Newcombe", "wilson", "Wilson")

// comparisonMethods are the interval methods of the comparisons, each once.
func (r *Report) comparisonMethods() string {
	var used []string
	for _, c := range r.Comparisons {
		m := methodName(c.Method)
		if !slices.Contains(used, m) {
			used = append(used, m)
		}
	}
	return strings.Join(used, "; ")
}
