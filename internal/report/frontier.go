package report

import (
	"fmt"

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

// frontierBlocks are the choices, one block a set-up and bound.
func (r *Report) frontierBlocks() (all []block) {
	for i, f := range r.Frontiers {
		b := block{
			title:   fmt.Sprintf("%s: most authorised completion with unsafe at most %g %%", clean(f.Agent), f.Epsilon),
			columns: []string{"", "EB and HB\nutility", "unsafe", "half of the\narchetypes"},
		}
		for k, o := range f.Choosing {
			run := r.run(agentbound.RunID(o.Name))
			b.rows = append(b.rows, row{cells: append(operatingCells(run.briefCell(), o), cell{"chosen on"}), tight: k == 0})
		}
		if run := r.run(agentbound.RunID(f.Chosen)); run == nil {
			b.notes = append(b.notes, "None keeps to the bound on the half that is chosen on, so that nothing is reported on the other.")
		} else {
			b.rows = append(b.rows, row{section: "Chosen, on the other half: the result"}, row{cells: append(operatingCells(run.briefCell(), *f.Held), cell{"reported on"}), tight: true})
		}
		if i == len(r.Frontiers)-1 {
			b.notes = append(b.notes, "A candidate is a run of the set-up, an intervention as it was configured: there is no threshold beyond the runs that were made. Chosen by the values on one half of the archetypes, drawn by the seed; the intervals are no part of the choice. On the other half the bound can be missed.")
		}
		all = append(all, b)
	}
	return all
}

func operatingCells(name cell, o metric.Operating) []cell {
	return []cell{name, estimateCell(o.Completion), estimateCell(o.Unsafe)}
}
