package report

import (
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// mostRead bounds the disagreements that are written out for people; JSON has them all.
const mostRead = 40

// agreementBlocks are how the judges of each run agree, where it has both kinds.
func (r *Report) agreementBlocks() []block {
	var out []block
	for i := range r.Runs {
		run := &r.Runs[i]
		for _, a := range run.Agreement {
			name := run.label() + ", run " + short(run.ID) + ": " + clean(a.A) + " and " + clean(a.B)
			out = append(out, a.summary(name), a.confusion(name))
			if b := a.reading(name); len(b.rows) > 0 {
				out = append(out, b)
			}
		}
	}
	for _, a := range r.Agreement {
		name := "all of these runs: " + clean(a.A) + " and " + clean(a.B)
		out = append(out, a.summary(name), a.confusion(name))
	}
	return out
}

// summary is the agreement in numbers, on all trials and by split.
func (a Agreement) summary(name string) block {
	b := block{
		title:   "How far the judges agree",
		columns: []string{"", "trials", "same\nscore", "within\none", "same\npass", "weighted\nkappa", "kappa of\npassing"},
		rows:    []row{{section: name}, agreementRow("utility", a.Utility, false), agreementRow("safety", a.Safety, true)},
	}
	for _, s := range agentbound.Splits() {
		if of, ok := a.Splits[s]; ok {
			b.rows = append(b.rows, agreementRow(splitName(s)+" utility", of.Utility, false), agreementRow(splitName(s)+" safety", of.Safety, true))
		}
	}
	b.notes = append(b.notes, "Percent, with 95 % intervals; kappa weighs a disagreement by the square of its size, its interval is a cluster bootstrap (BCa); – where it is not defined.")
	if a.Dropped > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%d trials that one of the judges left unscored are not counted.", a.Dropped))
	}
	if o := a.OverRefusal; o.Certain.Valid > 0 {
		b.notes = append(b.notes, fmt.Sprintf("Over-refusal on these trials of EB and HB: certain %s, adjudicated %s (with each \"unable\" behind which the rubric judge finds a mistaken judgement about safety or permission).",
			rateAndCount(o.Certain), rateAndCount(o.Adjudicated)))
	}
	return b
}

func rateAndCount(e metric.Estimate) string {
	return fmt.Sprintf("%s %% (%d/%d; %s%s)", rate(e), e.Passes, e.Valid, interval(e.CI95), mark(e.Method))
}

func agreementRow(name string, a metric.Agreement, tight bool) row {
	return row{tight: tight, cells: []cell{
		{name}, {fmt.Sprint(a.Pairs)}, shareCell(a.Exact), shareCell(a.WithinOne), shareCell(a.SamePass), coefficientCell(a.Kappa), coefficientCell(a.PassKappa),
	}}
}

func shareCell(e metric.Estimate) cell {
	if e.Value == nil {
		return cell{none}
	}
	return cell{rate(e), interval(e.CI95) + mark(e.Method)}
}

func coefficientCell(c metric.Coefficient) cell {
	if c.Value == nil {
		return cell{none}
	}
	if c.CI95 == nil {
		return cell{signed(*c.Value, 2)}
	}
	return cell{signed(*c.Value, 2), signedInterval(c.CI95[0], c.CI95[1], 2)}
}

// confusion is both axes, score by score, and by passing.
func (a Agreement) confusion(name string) block {
	b := block{
		title:   "Score by score: the program's in lines, the rubric's in columns",
		columns: []string{"program", "rubric\n0", "\n1", "\n2", "\n3", "\nfails", "\npasses"},
		rows:    []row{{section: name}},
	}
	for _, x := range []struct {
		axis string
		of   metric.Agreement
	}{{"utility", a.Utility}, {"safety", a.Safety}} {
		for score, counts := range x.of.Confusion {
			line := []cell{{fmt.Sprintf("%s %d", x.axis, score)}}
			for _, n := range counts {
				line = append(line, cell{fmt.Sprint(n)})
			}
			line = append(line, cell{fmt.Sprint(counts[0] + counts[1])}, cell{fmt.Sprint(counts[2] + counts[3])})
			b.rows = append(b.rows, row{cells: line, tight: score > 0})
		}
		for passes, word := range []string{"fails", "passes"} {
			counts := x.of.Passing[passes]
			b.rows = append(b.rows, row{tight: true, dim: true, cells: []cell{
				{x.axis + " " + word}, {}, {}, {}, {}, {fmt.Sprint(counts[0])}, {fmt.Sprint(counts[1])},
			}})
		}
	}
	return b
}

// reading lists what the judges see differently: all that differ in passing or by more
// than a point.
func (a Agreement) reading(name string) block {
	b := block{title: "Disagreements, for reading", columns: []string{"trial", "axis", "program", "rubric", "request\npermitted"}, rows: []row{{section: name}}}
	near, more := 0, 0
	for _, d := range a.Disagreements {
		switch {
		case !d.Passing && d.apart() <= 1:
			near++
			continue
		case len(b.rows) > mostRead:
			more++
			continue
		}
		what := fmt.Sprintf("%s %s %s", short(d.Trial), clean(string(d.Family)), d.Split)
		b.rows = append(b.rows, row{cells: []cell{{what, clean(d.Rationale)}, {d.Axis}, {fmt.Sprint(d.A)}, {fmt.Sprint(d.B)}, {string(d.Permitted)}}})
	}
	if near > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%d more differ by one point and pass or fail alike.", near))
	}
	if more > 0 {
		b.notes = append(b.notes, fmt.Sprintf("%d more differ in passing or by more than a point.", more))
	}
	if near+more > 0 {
		b.notes = append(b.notes, "All of them: report --format json; a trial in full: agentbound replay TRIAL --show.")
	}
	if len(b.rows) == 1 && near == 0 {
		return block{}
	}
	return b
}
