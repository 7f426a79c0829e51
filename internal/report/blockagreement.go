package report

import (
	"fmt"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// mostRead bounds the disagreements that are written out for people; JSON has them all.
const mostRead = 40

// agreementBlocks are how the judges of the runs agree, where they have both kinds: in
// numbers, score by score, and to be read. Where several runs have the same judges, what
// is broken up is of all of them together; JSON has it for each.
func (r *Report) agreementBlocks() []block {
	summary, confusion, reading := agreementHeads()
	judges := r.agreeingJudges()
	pooled := func(a Agreement) bool {
		return slices.ContainsFunc(r.Agreement, func(p Agreement) bool { return p.A == a.A && p.B == a.B })
	}
	for _, a := range r.Agreement {
		if a.judged() {
			name := "all of these runs" + judges.of(a)
			summary.rows = append(summary.rows, a.summary(name, true)...)
			confusion.rows = append(confusion.rows, a.confusion(name)...)
		}
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		for _, a := range run.Agreement {
			name := run.section() + judges.of(a)
			if a.Dropped > 0 {
				summary.notes = append(summary.notes, fmt.Sprintf("Not counted of %s: %s that one of the judges left unscored.", name, some(a.Dropped, "trial")))
			}
			if !a.judged() {
				continue
			}
			summary.rows = append(summary.rows, a.summary(name, !pooled(a))...)
			if o := a.OverRefusal; o.Certain.Valid > 0 {
				summary.notes = append(summary.notes, fmt.Sprintf("Over-refusal of %s, EB and HB: certain %s, adjudicated %s.", name, rateAndCount(o.Certain), rateAndCount(o.Adjudicated)))
			}
			if !pooled(a) {
				confusion.rows = append(confusion.rows, a.confusion(name)...)
			}
			a.reading(name, &reading)
		}
	}
	if len(summary.rows) == 0 {
		summary = block{title: summary.title, notes: summary.notes} // no trial has a verdict of both
	} else {
		summary.notes = append(slices.Clone(agreementNotes), append(judges.legend(), summary.notes...)...)
	}
	return []block{summary, confusion.filled(), reading.filled()}
}

// The titles of the blocks of agreement, which the page sets apart.
const (
	agreementTitle = "How far the judges agree"
	confusionTitle = "Score by score: the program's in lines, the rubric's in columns"
	readingTitle   = "Disagreements, for reading"
)

func agreementHeads() (summary, confusion, reading block) {
	return block{title: agreementTitle, columns: []string{"", "trials", "same\nscore", "within\none", "same\npass", "weighted\nkappa", "kappa of\npassing"}},
		block{title: confusionTitle, columns: []string{"program", "rubric\n0", "\n1", "\n2", "\n3", "\nfails", "\npasses"}},
		block{title: readingTitle, columns: []string{"trial", "axis", "program", "rubric", "request\npermitted"}}
}

var agreementNotes = []string{
	"Percent, with 95 % intervals; kappa weighs a disagreement by the square of its size, its interval is a cluster bootstrap (BCa); – where it is not defined. Adjudicated over-refusal counts each \"unable\" behind which the rubric judge finds a mistaken judgement about safety or permission.",
}

// filled is a block with rows or notes; without rows it has no head of a table.
func (b block) filled() block {
	switch {
	case len(b.rows)+len(b.notes) == 0:
		return block{}
	case len(b.rows) == 0:
		return block{title: b.title, notes: b.notes}
	}
	return b
}

// judged reports whether any trial has a verdict of both judges.
func (a Agreement) judged() bool { return a.Utility.Pairs+a.Safety.Pairs > 0 }

// agreeing are the rubric judges of a report, in the order of their runs, with the
// program judge that each is held against.
type agreeing []Agreement

func (r *Report) agreeingJudges() (all agreeing) {
	for i := range r.Runs {
		for _, a := range r.Runs[i].Agreement {
			if all.at(a) < 0 {
				all = append(all, a)
			}
		}
	}
	return all
}

func (all agreeing) at(a Agreement) int {
	return slices.IndexFunc(all, func(x Agreement) bool { return x.A == a.A && x.B == a.B })
}

// of tells the judges apart where there are several.
func (all agreeing) of(a Agreement) string {
	if len(all) < 2 {
		return ""
	}
	return fmt.Sprintf(", judges %c", 'A'+rune(all.at(a)))
}

// legend has each configuration once.
func (all agreeing) legend() (notes []string) {
	for _, a := range all {
		name := "Judges"
		if len(all) > 1 {
			name = fmt.Sprintf("Judges %c", 'A'+rune(all.at(a)))
		}
		notes = append(notes, fmt.Sprintf("%s: %s and %s.", name, clean(a.A), clean(a.B)))
	}
	return notes
}

// summary is the agreement in numbers, on all trials and, where it is asked for, by split.
func (a Agreement) summary(name string, bySplit bool) []row {
	rows := []row{{section: name}, agreementRow("utility", a.Utility, false), agreementRow("safety", a.Safety, true)}
	for _, s := range agentbound.Splits() {
		if of, ok := a.Splits[s]; ok && bySplit {
			rows = append(rows, agreementRow(splitName(s)+" utility", of.Utility, false), agreementRow(splitName(s)+" safety", of.Safety, true))
		}
	}
	return rows
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
func (a Agreement) confusion(name string) []row {
	rows := []row{{section: name}}
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
			rows = append(rows, row{cells: line, tight: score > 0})
		}
		for passes, word := range []string{"fails", "passes"} {
			counts := x.of.Passing[passes]
			rows = append(rows, row{tight: true, dim: true, cells: []cell{
				{x.axis + " " + word}, {}, {}, {}, {}, {fmt.Sprint(counts[0])}, {fmt.Sprint(counts[1])},
			}})
		}
	}
	return rows
}

// reading lists what the judges see differently: all that differ in passing or by more
// than a point.
func (a Agreement) reading(name string, b *block) {
	var rows []row
	near, more := 0, 0
	for _, d := range a.Disagreements {
		switch {
		case !d.Passing && d.apart() <= 1:
			near++
			continue
		case len(rows) >= mostRead:
			more++
			continue
		}
		what := fmt.Sprintf("%s %s %s", short(d.Trial), clean(string(d.Family)), d.Split)
		rows = append(rows, row{cells: []cell{{what, clean(d.Rationale)}, {d.Axis}, {fmt.Sprint(d.A)}, {fmt.Sprint(d.B)}, {string(d.Permitted)}}})
	}
	if len(rows) > 0 {
		b.rows = append(append(b.rows, row{section: name}), rows...)
	}
	if near > 0 {
		b.notes = append(b.notes, fmt.Sprintf("Of %s %d more differ by one point and pass or fail alike.", name, near))
	}
	if more > 0 {
		b.notes = append(b.notes, fmt.Sprintf("Of %s %d more differ in passing or by more than a point.", name, more))
	}
	if near+more > 0 {
		const all = "All of them: report --format json; a trial in full: agentbound replay TRIAL --show."
		b.notes = append(slices.DeleteFunc(b.notes, func(n string) bool { return n == all }), all)
	}
}
