package report

import (
	"fmt"
	"regexp"

	"github.com/agentbound/agentbound"
)

// named is how a run is called below the first table, which has the names in full.
type named struct {
	agent, intervention string
	column              string // the intervention, told apart from all that are not the same
	label               string // both on one line, and the run's id where another run reads alike
}

// nameRuns shortens the names of the runs: an agent loses its model's address, and an
// intervention its address and then its model, where no two that are not the same would
// read alike.
func (r *Report) nameRuns() {
	agents, interventions := map[string]map[string]bool{}, map[string]map[string]bool{}
	for i := range r.Runs {
		run := &r.Runs[i]
		note(agents, unaddressed(run.Agent), run.Agent)
		for _, name := range shorterNames(run.Intervention) {
			note(interventions, name, run.Intervention)
		}
	}
	labels := map[string]int{}
	for i := range r.Runs {
		run := &r.Runs[i]
		run.named.agent = clean(run.Agent)
		if short := unaddressed(run.Agent); len(agents[short]) == 1 {
			run.named.agent = clean(short)
		}
		for _, name := range shorterNames(run.Intervention) {
			if run.named.intervention = clean(name) + run.onFailure(); len(interventions[name]) == 1 {
				break
			}
		}
		run.named.label = run.title()
		labels[run.named.label]++
	}
	for i := range r.Runs {
		if run := &r.Runs[i]; labels[run.named.label] > 1 {
			run.named.label += " " + short(run.ID)
		}
	}
	r.nameColumns()
}

// nameColumns names each intervention as a column: where two that are not the same read
// alike, such as two strengths of one, by the first run of each.
func (r *Report) nameColumns() {
	names, first := map[string]map[agentbound.Digest]bool{}, map[agentbound.Digest]agentbound.RunID{}
	for i := range r.Runs {
		run := &r.Runs[i]
		digest := agentbound.DigestJSON(run.plan.Intervention)
		note(names, run.named.intervention, digest)
		if first[digest] == "" {
			first[digest] = run.ID
		}
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		run.named.column = run.named.intervention
		if len(names[run.named.column]) > 1 {
			run.named.column += " as in run " + short(first[agentbound.DigestJSON(run.plan.Intervention)])
		}
	}
}

// shorterNames are an intervention's from the shortest to the full one: its kind, with its
// model, with its model's address.
func shorterNames(name string) []string {
	kind, _ := kindOf(name)
	return []string{kind, unaddressed(name), name}
}

// intervention is the full name, with what becomes of a decision that it fails on.
func (r *Run) intervention() string { return clean(r.Intervention) + r.onFailure() }

// onFailure names the mode that is not the default, under which a failure leaves the trial
// unscored.
func (r *Run) onFailure() string {
	switch mode := r.plan.Intervention.Settings["on_failure"]; mode {
	case "", "unscored":
		return ""
	default:
		return " (" + clean(mode) + ")"
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
