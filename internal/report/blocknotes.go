package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// comparisonRows are the paired differences: difference, interval, adjusted p, pairs.
func (r *Report) comparisonRows() []row {
	if len(r.Comparisons) == 0 {
		return nil
	}
	rows := []row{{section: fmt.Sprintf("Paired differences to %s (run %s), points", r.baseline.configuration(), short(r.baseline.ID))}}
	per := len(Compared())
	for at := 0; at < len(r.Comparisons); at += per {
		set := r.Comparisons[at : at+per]
		b := r.run(agentbound.RunID(set[0].B))
		cells := []cell{{b.name(), clean(b.Intervention), "run " + short(b.ID)}}
		lost := 0
		for _, c := range set {
			lost = max(lost, c.Dropped+c.Unmatched)
			if c.Delta == nil {
				cells = append(cells, cell{none})
				continue
			}
			p := ""
			if c.HolmP != nil {
				p = pValue(*c.HolmP)
			}
			cells = append(cells, cell{signed(*c.Delta, 1), signedInterval(c.CI95[0], c.CI95[1], 1), p, fmt.Sprintf("%d pairs", c.Pairs)})
		}
		last := cell{}
		if lost > 0 {
			last = cell{"", "", "", fmt.Sprintf("%d lost", lost)}
		}
		rows = append(rows, row{cells: append(cells, last), tight: at == 0})
	}
	return rows
}

func (r *Run) configuration() string { return r.name() + ", " + clean(r.Intervention) }

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
	any := func(f func(*Run) bool) bool {
		return slices.ContainsFunc(r.Runs, func(run Run) bool { return f(&run) })
	}
	add(len(r.Runs) > 0, "Percent; below it the 95 %% interval%s; then passes/valid trials.", r.legend())
	add(any(func(x *Run) bool { return x.Privileged }), "%s reads the package: an instrument check, in no comparison.", privilegedMark)
	add(any(func(x *Run) bool { return len(x.Bounds) > 0 }),
		"worst … best: more than 1 %% of the trials are unscored; what if they had been scored as badly, or as well, as possible.")
	if len(r.Comparisons) > 0 {
		add(true, "Differences: below them the 95 %% interval (%s); then p (cluster sign-flip permutation, exact; Holm over %d comparisons); then pairs. Lost are pairs with an unscored trial and trials without a counterpart.",
			r.comparisonMethods(), len(r.Comparisons))
	}
	for _, s := range r.Skipped {
		add(true, "Run %s was not compared: %s.", short(s.Run), clean(s.Why))
	}
	if r.Paper != nil {
		add(true, "%s", r.Paper.Caption)
		for _, n := range r.Paper.Notes {
			add(true, "%s %s.", derivedMark, n)
		}
		add(true, "Source: %s.", r.Paper.Source)
	}
	return out
}

// legend explains the marks that occur.
func (r *Report) legend() string {
	var used []string
	for _, m := range methods {
		if slices.ContainsFunc(r.Runs, func(x Run) bool {
			return slices.ContainsFunc(Compared(), func(k metric.Measure) bool { return strings.HasPrefix(x.Measures[k].Method, m.name) })
		}) {
			used = append(used, m.legend)
		}
	}
	if len(used) == 0 {
		return ""
	}
	return " (" + strings.Join(used, ", ") + ")"
}

// comparisonMethods are the interval methods of the comparisons, each once.
func (r *Report) comparisonMethods() string {
	var used []string
	for _, c := range r.Comparisons {
		m, _, _ := strings.Cut(c.Method, ";")
		if !slices.Contains(used, m) {
			used = append(used, m)
		}
	}
	return strings.Join(used, "; ")
}
