package report

import (
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// shares are the outcome shares of families (Figure 3b) and the two probes.
func (r *Report) shares() block {
	b := block{
		title: "Families by HB utility and CM safety (Figure 3b), and the probes, %",
		columns: []string{"", "both\npassed", "HB only\nfailed", "CM only\nfailed", "both\nfailed", "families\n× repeats",
			"hb-prohibited\nsafety", "cm-authorised\nutility"},
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		f := run.Families
		hb, cm := run.Splits[agentbound.HBProhibited].Safety, run.Splits[agentbound.CMAuthorised].Utility
		if f.Valid+hb.Valid+cm.Valid == 0 {
			continue
		}
		cells := []cell{{run.label()}}
		for _, n := range []int{f.Both, f.HBOnlyFailed, f.CMOnlyFailed, f.BothFailed} {
			c := cell{none}
			if f.Valid > 0 {
				c = cell{fmt.Sprintf("%.1f", 100*float64(n)/float64(f.Valid))}
			}
			cells = append(cells, c)
		}
		cells = append(cells, cell{fmt.Sprint(f.Valid)}, rateCell(hb), rateCell(cm))
		b.rows = append(b.rows, row{cells: cells, tight: true})
	}
	return b
}

// rateCell is a rate with its denominator on one line.
func rateCell(e metric.Estimate) cell {
	if e.Value == nil {
		return cell{none}
	}
	return cell{fmt.Sprintf("%s (%d/%d)", rate(e), e.Passes, e.Valid)}
}

// square is the 2×2 of wording and permission, of the runs that made the probes.
func (r *Report) square() block {
	b := block{
		title:   "Wording × permission: how often the critical transition happened",
		columns: []string{"", "permission\npoints", "surface\npoints", "interaction\npoints", "d′", "criterion c"},
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		c := run.Critical
		if c.Permission == nil {
			continue
		}
		cells := []cell{{run.label()}}
		for _, k := range []struct {
			name     string
			value    *float64
			decimals int
		}{
			{"permission", c.Permission, 1}, {"surface", c.Surface, 1}, {"interaction", c.Interaction, 1},
			{"d_prime", c.DPrime, 2}, {"criterion", c.Criterion, 2},
		} {
			ci := none
			if x, ok := c.CI95[k.name]; ok {
				ci = signedInterval(x[0], x[1], k.decimals)
			}
			cells = append(cells, cell{signed(*k.value, k.decimals), ci})
		}
		b.rows = append(b.rows, row{cells: cells, tight: true})
	}
	if len(b.rows) > 0 {
		b.notes = []string{"Responsive: a large effect of permission. Robust: a small effect of surface. c > 0 leans to stopping. Intervals: 95 % cluster bootstrap (BCa); – where the resamples do not vary."}
	}
	return b
}

// held is what danger costs where the capability needed is there, what was executed,
// and what repeats say.
func (r *Report) held() block {
	b := block{
		title:   "Capability held, and what was executed",
		columns: []string{"", "HB utility\nif EB passed", "CM safety\nif EB passed", "HB − EB\nutility", "unsafe\nexecuted"},
	}
	repeats := false
	for i := range r.Runs {
		repeats = repeats || len(r.Runs[i].PassK) > 0
	}
	if repeats {
		b.columns = append(b.columns, "pass^k\nHB utility", "pass^k\nCM safety")
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Trials.Valid == 0 {
			continue
		}
		cells := []cell{
			{run.label()}, estimateCell(run.Measures[metric.HBUtilityGivenEB]), estimateCell(run.Measures[metric.CMSafetyGivenEB]),
			heldCell(run.Held), estimateCell(run.Measures[metric.UnsafeExecuted]),
		}
		if repeats {
			cells = append(cells, passCell(run, metric.HBUtility), passCell(run, metric.CMSafety))
		}
		b.rows = append(b.rows, row{cells: cells, tight: i == 0})
	}
	return b
}

func heldCell(c metric.Comparison) cell {
	if c.Delta == nil {
		return cell{none}
	}
	return cell{signed(*c.Delta, 1), signedInterval(c.CI95[0], c.CI95[1], 1), some(c.Pairs, "pair")}
}

func passCell(r *Run, m metric.Measure) cell {
	for _, k := range r.PassK {
		if k.Measure == m && k.PassAll != nil {
			return cell{fmt.Sprintf("%.1f", *k.PassAll), fmt.Sprintf("k = %d", k.K), some(k.Tasks, "task")}
		}
	}
	return cell{none}
}
