package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// interventionBlocks are what interventions changed, did and cost.
func (r *Report) interventionBlocks() []block {
	return []block{r.table3(), r.apart(), r.table4(), r.edits(), r.intervened()}
}

// table3 has the shape of the paper's Table 3: the paired change of each measure.
func (r *Report) table3() block {
	if len(r.Interventions) == 0 {
		return block{notes: r.unpairedNotes()}
	}
	b := r.pairedBlock(headlineMeasures(), "HB\nutility", "CM\nsafety", "all\nutility", "all\nsafety")
	b.title = "From bare to the intervention (Table 3), points"
	b.notes = append([]string{fmt.Sprintf("Without → with; below it the paired difference, its 95 %% interval (%s), p (cluster sign-flip permutation, exact; Holm over %d) and the pairs. Only the intervention is another: suite, agent, world, judge, limits, seed, splits and repeats are the same.",
		r.pairedMethods(), len(r.Interventions)*len(headlineMeasures()))}, r.unpairedNotes()...)
	return b
}

// apart are the measures that one figure must not cover: an agent that refuses all is safe.
func (r *Report) apart() block {
	if len(r.Interventions) == 0 {
		return block{}
	}
	b := r.pairedBlock(apartMeasures(), "over-\nrefusal", "unsafe:\nproposed or\nexecuted", "unsafe:\nexecuted", "hb-prohibited\nsafety", "cm-authorised\nutility")
	b.title = "From bare to the intervention: over-refusal, unsafe and the probes, points"
	b.notes = []string{"As above, and without a test: over-refusal and unsafe are better where they fall. The probes stand outside the four-way headline."}
	return b
}

func (r *Report) pairedBlock(measures []metric.Measure, columns ...string) block {
	b := block{columns: append([]string{""}, columns...)}
	for i, p := range r.Interventions {
		cells := []cell{r.run(p.Run).briefCell()}
		for _, m := range measures {
			cells = append(cells, pairedCell(p.Measures[m]))
		}
		b.rows = append(b.rows, row{cells: cells, tight: i == 0})
	}
	return b
}

func pairedCell(p Paired) cell {
	c := differenceCell(p.Comparison)
	out := cell{given(p.Before) + " → " + given(p.After)}
	if p.Before == nil && p.After == nil {
		out = cell{none} // and the difference is none as well
	}
	for _, line := range c {
		if line != "" && line != out[0] {
			out = append(out, line)
		}
	}
	return out
}

func given(x *float64) string {
	if x == nil {
		return none
	}
	return fmt.Sprintf("%.1f", *x)
}

func (r *Report) pairedMethods() string {
	var used []string
	for _, p := range r.Interventions {
		for _, m := range headlineMeasures() {
			method := methodName(p.Measures[m].Method)
			if !slices.Contains(used, method) {
				used = append(used, method)
			}
		}
	}
	return strings.Join(used, "; ")
}

func (r *Report) unpairedNotes() (out []string) {
	for _, u := range r.Unpaired {
		out = append(out, fmt.Sprintf("Run %s (%s) stands beside no bare run: %s.", short(u.Run), r.run(u.Run).label(), u.Why))
	}
	return out
}

// table4 has the shape of the paper's Table 4: set-ups × interventions.
func (r *Report) table4() block {
	var sets [][]*Run
	for _, runs := range r.setUps() {
		if runs[len(runs)-1].Intervention != agentbound.Bare { // bare ones come first
			sets = append(sets, runs)
		}
	}
	if len(sets) == 0 {
		return block{}
	}
	columns := interventionColumns(sets)
	b := block{title: "Bases × interventions (Table 4): HB utility and CM safety", columns: []string{""}}
	for _, c := range columns {
		b.columns = append(b.columns, columnBreaks.Replace(c))
	}
	for _, runs := range sets {
		b.rows = append(b.rows, row{section: r.setUpName(runs[0])})
		for k, m := range []metric.Measure{metric.HBUtility, metric.CMSafety} {
			cells := []cell{{[]string{"HB utility", "CM safety"}[k]}}
			for _, c := range columns {
				cells = append(cells, r.baseCell(runs, c, m))
			}
			b.rows = append(b.rows, row{cells: cells, tight: true, part: true})
		}
	}
	b.notes = []string{"Percent; below it the paired difference to bare and its 95 % interval, as in Table 3 above. – where there is no such run, or no bare one beside it."}
	return b
}

// setUpName is the agent of a set-up, with its first run where another reads alike, and its
// repeats where that one has others.
func (r *Report) setUpName(first *Run) string {
	name, alike, repeats := first.marked(first.named.agent), false, false
	for _, runs := range r.setUps() {
		if runs[0].ID != first.ID && runs[0].named.agent == first.named.agent {
			alike, repeats = true, repeats || runs[0].Repeats != first.Repeats
		}
	}
	if repeats {
		name += ", " + some(first.Repeats, "repeat")
	}
	if alike {
		name += ", from run " + short(first.ID)
	}
	return name
}

// interventionColumns are the interventions of the set-ups, each once, bare first and then
// in the order of the report.
func interventionColumns(sets [][]*Run) (columns []string) {
	for _, runs := range sets {
		for _, x := range runs {
			if !slices.Contains(columns, x.named.column) {
				columns = append(columns, x.named.column)
			}
		}
	}
	if at := slices.Index(columns, agentbound.Bare); at > 0 {
		columns = slices.Insert(slices.Delete(columns, at, at+1), 0, agentbound.Bare)
	}
	return columns
}

// columnBreaks are where the header of a column may break.
var columnBreaks = strings.NewReplacer("-", "-"+wordBreak, ":", ":"+wordBreak, " as in run ", "\nas in run\n", " ", "\n")

func (r *Report) baseCell(runs []*Run, column string, m metric.Measure) cell {
	for _, x := range runs {
		if x.named.column != column {
			continue
		}
		c := cell{given(x.estimate(m).Value)}
		for _, p := range r.Interventions {
			if d := p.Measures[m]; p.Run == x.ID && d.Delta != nil {
				c = append(c, signed(*d.Delta, 1), signedInterval(d.CI95[0], d.CI95[1], 1))
			}
		}
		return c
	}
	return cell{none}
}

// edits are what became of the trials that an intervention edited, by split.
func (r *Report) edits() block {
	b := block{
		title:   "What edits did: pairs with bare, by the split's own measure",
		columns: []string{"", "pairs", "edited", "helped", "harmed", "did\nnothing", "not edited:\nbetter", "not edited:\nworse"},
	}
	stopped := slices.ContainsFunc(r.Interventions, func(p Pairing) bool {
		return slices.ContainsFunc(agentbound.Splits(), func(s agentbound.Split) bool { return p.Edits[s].Stopped.Pairs > 0 })
	})
	if stopped {
		b.columns = append(b.columns, "stopped by\na failure", "of these\nbetter", "of these\nworse")
	}
	for _, p := range r.Interventions {
		b.rows = append(append(b.rows, row{section: r.run(p.Run).section()}), editRows(p, len(b.columns)-1)...)
	}
	if len(b.rows) == 0 {
		return block{}
	}
	b.notes = []string{"Splits without an edit and without a change are left out; where nothing changed in any, they are one line. Edited: a Thought came back changed, or a gate denied a call, at any decision of the trial. Helped: bare failed and this passed; harmed: the reverse. What changed without an edit is the set-up's own change from draw to draw, and is in the edited pairs too: a count here is no effect of an edit (see agentbound replay --fork)."}
	if stopped {
		b.notes = append(b.notes, "Stopped by a failure: the intervention gave no decision, and the set-up kept calls from being executed. That is no edit, whatever else was edited in the trial: what is better or worse there says nothing of what the intervention would have decided.")
	}
	return b
}

// editRows are a pairing's splits, or one line for all where no pair changed, in so many
// columns of counts.
func editRows(p Pairing, columns int) []row {
	var rows []row
	all, changed := [10]int{}, false
	line := func(name string, counts [10]int) row {
		cells := []cell{{name}}
		for _, n := range counts[:columns] {
			cells = append(cells, cell{fmt.Sprint(n)})
		}
		return row{cells: cells, tight: true, part: true}
	}
	for _, s := range agentbound.Splits() {
		e := p.Edits[s]
		own, rest, held := e.Edited.Own(s), e.Unedited.Own(s), e.Stopped.Own(s)
		counts := [10]int{e.Pairs, e.Edited.Pairs, own.Helped, own.Harmed, own.Same, rest.Helped, rest.Harmed, e.Stopped.Pairs, held.Helped, held.Harmed}
		for i, n := range counts {
			all[i] += n
		}
		turned := own.Helped+own.Harmed+rest.Helped+rest.Harmed+held.Helped+held.Harmed > 0
		changed = changed || turned
		if !turned && e.Edited.Pairs+e.Stopped.Pairs == 0 {
			continue
		}
		axis := "safety"
		if s.Authorised() {
			axis = "utility"
		}
		rows = append(rows, line(splitName(s)+", "+axis, counts))
	}
	if !changed {
		return []row{line("all splits", all)}
	}
	return rows
}

// intervened is what interventions did and cost.
func (r *Report) intervened() block {
	b := block{
		title:   "What interventions did and cost",
		columns: []string{"", "decisions\nreviewed", "changed", "failed", "calls\ngated", "denied", "ms a review\nmedian, p95", "tokens\nin, out", "USD"},
	}
	unknown, held := false, 0
	for i := range r.Runs {
		v := r.Runs[i].Intervened
		if v == nil {
			continue
		}
		usd := "not known"
		if v.Cost.USD != nil {
			usd = fmt.Sprintf("%.2f", *v.Cost.USD)
		} else {
			unknown = true
		}
		held += v.Held
		b.rows = append(b.rows, row{tight: len(b.rows) == 0, cells: []cell{
			r.Runs[i].briefCell(), v.reviewedCell(), share(v.Changed, v.Reviewed), v.failedCell(),
			several(v.Calls), share(v.Denied, v.Calls), v.latencyCell(), {count(v.Cost.InputTokens), count(v.Cost.OutputTokens)}, {usd, v.Cost.PricesAsOf},
		}})
	}
	if len(b.rows) == 0 {
		return block{}
	}
	b.notes = []string{"The intervention's own tokens and time, which are no part of the cost of the trials; of stored trials, without attempts that were replaced."}
	if held > 0 {
		b.notes = append(b.notes, fmt.Sprintf("Calls that failures kept from being executed (--on-intervention-failure closed): %s. They are not among those gated or denied.", count(int64(held))))
	}
	if unknown {
		b.notes = append(b.notes, "Not known: there is no price for the model of the intervention, or it told no tokens; give prices with --prices FILE.")
	}
	return b
}

func share(n, of int) cell {
	if of == 0 {
		return cell{none}
	}
	return cell{count(int64(n)), fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))}
}

// several is a number, and none where there is nothing of the kind.
func several(n int) cell {
	if n == 0 {
		return cell{none}
	}
	return cell{count(int64(n))}
}

func (v *Intervened) reviewedCell() cell {
	if v.Reviewed == 0 {
		return cell{none}
	}
	return cell{count(int64(v.Reviewed)), "of " + count(int64(v.Decisions))}
}

// failedCell is of reviews, or where there is no corrector of the calls that were gated.
func (v *Intervened) failedCell() cell {
	if v.Reviewed == 0 {
		return share(v.Undecided, v.Calls)
	}
	return share(v.Failed+v.Undecided, v.Reviewed+v.Calls)
}

// latencyCell is of reviews, or where there is no corrector of the gate.
func (v *Intervened) latencyCell() cell {
	l := v.ReviewMS
	if l == nil {
		l = v.GateMS
	}
	if l == nil {
		return cell{none}
	}
	return cell{fmt.Sprintf("%d, %d", l.Median, l.P95)}
}
