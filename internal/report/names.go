package report

import (
	"fmt"
	"regexp"

	"github.com/agentbound/agentbound"
)

// named is how a run is called below the first table, which has the names in full.
type named struct {
	agent, intervention string
	label               string // both on one line, and the run's id where another run reads alike
}

// nameRuns shortens the names of the runs: an agent loses its model's address, and an
// intervention its model, where no two that are not the same would read alike.
func (r *Report) nameRuns() {
	agents, kinds := map[string]map[string]bool{}, map[string]map[agentbound.Digest]bool{}
	for i := range r.Runs {
		run := &r.Runs[i]
		note(agents, unaddressed(run.Agent), run.Agent)
		kind, _ := kindOf(run.Intervention)
		note(kinds, kind, agentbound.DigestJSON(run.plan.Intervention))
	}
	labels := map[string]int{}
	for i := range r.Runs {
		run := &r.Runs[i]
		run.named.agent = clean(run.Agent)
		if short := unaddressed(run.Agent); len(agents[short]) == 1 {
			run.named.agent = clean(short)
		}
		kind, _ := kindOf(run.Intervention)
		run.named.intervention = clean(kind)
		if len(kinds[kind]) > 1 {
			run.named.intervention += " " + run.columnMark()
		}
		run.named.label = run.title()
		labels[run.named.label]++
	}
	for i := range r.Runs {
		if run := &r.Runs[i]; labels[run.named.label] > 1 {
			run.named.label += " " + short(run.ID)
		}
	}
}

func note[K comparable](seen map[string]map[K]bool, name string, x K) {
	if seen[name] == nil {
		seen[name] = map[K]bool{}
	}
	seen[name][x] = true
}

var address = regexp.MustCompile(`@https?://[^ ]*`)

func unaddressed(name string) string { return address.ReplaceAllString(name, "") }

// columnMark tells interventions of one kind apart: the beginning of their digest.
func (r *Run) columnMark() string {
	return fmt.Sprintf("%.6s", agentbound.DigestJSON(r.plan.Intervention))
}

// marked is the agent, with a mark where it is an instrument check.
func (r *Run) marked(agent string) string {
	if r.Privileged {
		return agent + privilegedMark
	}
	return agent
}

// title names a configuration on one line, shortly.
func (r *Run) title() string {
	if r.Intervention == agentbound.Bare {
		return r.marked(r.named.agent)
	}
	return r.marked(r.named.agent) + " + " + r.named.intervention
}

// label is title, told apart from the other runs'.
func (r *Run) label() string { return r.named.label }

// section names a configuration and its run.
func (r *Run) section() string { return r.title() + ", run " + short(r.ID) }

// briefCell is nameCell below the first table.
func (r *Run) briefCell() cell {
	c := cell{r.marked(r.named.agent), r.named.intervention, "run " + short(r.ID)}
	if r.Incomplete {
		c = append(c, fmt.Sprintf("incomplete, %d missing", r.Missing()))
	}
	return c
}

// some is a number and what is counted, one or several.
func some(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
