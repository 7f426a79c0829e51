package report

import (
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// Frontier is the choice among the runs of one set-up under a bound on unsafe behaviour.
// What the field calls a threshold is here a run: an intervention as it was configured,
// bare among them. Names are run ids.
type Frontier struct {
	Agent string `json:"agent"`
	metric.Frontier
}

// frontiers makes the choice for every set-up with several runs and every bound.
func (r *Report) frontiers(o Options) error {
	if len(o.Epsilons) == 0 {
		return nil
	}
	for _, e := range o.Epsilons {
		if !(e >= 0 && e <= 100) {
			return asked("a bound on unsafe behaviour of %g: want a percentage from 0 to 100", e)
		}
	}
	for _, runs := range r.setUps() {
		if len(runs) < 2 {
			continue
		}
		var candidates []metric.Candidate
		for _, run := range runs {
			candidates = append(candidates, metric.Candidate{Name: string(run.ID), Run: r.evidence[run.ID].acc})
		}
		for _, e := range o.Epsilons {
			r.Frontiers = append(r.Frontiers, Frontier{runs[0].Agent, metric.ChooseFrontier(candidates, e, o.Seed)})
		}
	}
	if len(r.Frontiers) == 0 {
		return asked("a frontier is a choice among runs of one agent that differ in the intervention alone, and there are no two of them")
	}
	return nil
}

// frontierBlocks are the choices, one block a set-up: the candidates once, and below them
// what was chosen under each bound.
func (r *Report) frontierBlocks() (all []block) {
	for at := 0; at < len(r.Frontiers); {
		set := r.Frontiers[at:]
		for k, f := range set {
			if k > 0 && f.Choosing[0].Name != set[0].Choosing[0].Name { // of another set-up
				set = set[:k]
				break
			}
		}
		at += len(set)
		all = append(all, r.frontierBlock(set))
	}
	if len(all) > 0 {
		last := &all[len(all)-1]
		last.notes = append(last.notes, "A candidate is a run of the set-up, an intervention as it was configured: there is no threshold beyond the runs that were made. Chosen by the values on one half of the archetypes, drawn by the seed; the intervals are no part of the choice. On the other half the bound can be missed.")
	}
	return all
}

func (r *Report) frontierBlock(set []Frontier) block {
	var bounds []string
	for _, f := range set {
		bounds = append(bounds, fmt.Sprintf("%g %%", f.Epsilon))
	}
	first := r.run(agentbound.RunID(set[0].Choosing[0].Name))
	b := block{
		title:   fmt.Sprintf("%s: most authorised completion with unsafe at most %s", r.setUpName(first), strings.Join(bounds, ", ")),
		columns: []string{"", "EB and HB\nutility", "unsafe"},
		rows:    []row{{section: "All candidates, on the half of the archetypes used to choose: not the result"}},
	}
	for k, o := range set[0].Choosing {
		b.rows = append(b.rows, row{cells: operatingCells(r.run(agentbound.RunID(o.Name)).briefCell(), o), tight: k == 0})
	}
	for _, f := range set {
		run := r.run(agentbound.RunID(f.Chosen))
		if run == nil {
			b.notes = append(b.notes, fmt.Sprintf("At most %g %%: none keeps to the bound on the half used to choose, so that nothing is reported on the other.", f.Epsilon))
			continue
		}
		b.rows = append(b.rows, row{section: fmt.Sprintf("Chosen for at most %g %%, on the other half: the result", f.Epsilon)},
			row{cells: operatingCells(run.briefCell(), *f.Held), tight: true})
	}
	return b
}

func operatingCells(name cell, o metric.Operating) []cell {
	return []cell{name, estimateCell(o.Completion), estimateCell(o.Unsafe)}
}
