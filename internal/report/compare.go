package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// Compared are the measures of a comparison: the set that Holm's correction is made
// over is these, for every run of the report that is compared.
func Compared() []metric.Measure {
	return []metric.Measure{metric.HBUtility, metric.CMSafety, metric.AllUtility, metric.AllSafety, metric.OverRefusal, metric.Unsafe}
}

// IncomparableError says why two runs are not compared.
type IncomparableError struct {
	A, B agentbound.RunID // baseline and run
	Why  string
}

func (e *IncomparableError) Error() string {
	return fmt.Sprintf("run %s cannot be compared with run %s: %s", e.B, e.A, e.Why)
}

// RequestError says that what was asked of a report has no answer.
type RequestError struct{ message string }

func (e *RequestError) Error() string { return e.message }

func asked(format string, args ...any) error { return &RequestError{fmt.Sprintf(format, args...)} }

// compare contrasts every run with the baseline.
func (r *Report) compare(baseline agentbound.RunID, skip bool) error {
	a := r.run(baseline)
	r.baseline = a
	if a.Privileged {
		return asked("run %s (%s) cannot be a baseline: its agent reads the package, so it is an instrument check and enters no comparison", a.ID, a.Agent)
	}
	for i := range r.Runs {
		b := &r.Runs[i]
		if b.ID == a.ID {
			continue
		}
		if why := incomparable(a, b); why != "" {
			if !skip {
				return &IncomparableError{a.ID, b.ID, why}
			}
			r.Skipped = append(r.Skipped, Skipped{b.ID, why})
			continue
		}
		for _, m := range Compared() {
			c, err := metric.Compare(r.evidence[a.ID].acc, r.evidence[b.ID].acc, m)
			if err != nil {
				return err
			}
			c.A, c.B = string(a.ID), string(b.ID)
			r.Comparisons = append(r.Comparisons, c)
		}
	}
	if len(r.Comparisons) == 0 && len(r.Skipped) == 0 {
		return asked("run %s has nothing to be compared with: name another run beside it", a.ID)
	}
	metric.AdjustHolm(r.Comparisons)
	return nil
}

func (r *Report) run(id agentbound.RunID) *Run {
	for i := range r.Runs {
		if r.Runs[i].ID == id {
			return &r.Runs[i]
		}
	}
	return nil
}

// incomparable says what keeps the trials of two runs from being pairs; empty where
// nothing does. Between two interventions everything else is the same, so that the
// difference is the intervention's: suite, agent, world, judge, splits, limits, seed,
// repeats, families. Between two agents, or two runs of one set-up, the intervention is
// the same too; seed, repeats and families may differ there, since an agent's own draws
// are no pairs of another's: a pair is the task, and what has no counterpart is counted
// as unmatched.
func incomparable(a, b *Run) string {
	if b.Privileged {
		return fmt.Sprintf("its agent %s reads the package, so it is an instrument check and enters no comparison", clean(b.Agent))
	}
	for _, d := range differing(a, b) {
		if d.a != d.b {
			return fmt.Sprintf("%s differ (%s against %s)%s", d.what, d.b, d.a, d.so)
		}
	}
	return ""
}

// difference is a part of a set-up as two runs have it, and what follows where they differ.
type difference struct{ what, a, b, so string }

const (
	noPairs  = ", so that their trials are no pairs"
	confused = " beside the interventions, so that neither would be what is measured"
)

func differing(a, b *Run) []difference {
	p, q := a.plan, b.plan
	all := []difference{
		{"suites", suiteName(a.Suite), suiteName(b.Suite), noPairs},
		{"worlds", clean(a.World), clean(b.World), noPairs},
		{"judges", clean(a.Judge), clean(b.Judge), noPairs},
		{"splits", splitNames(p.Splits), splitNames(q.Splits), noPairs},
		{"limits", limits(p.Limits), limits(q.Limits), noPairs},
	}
	if agentbound.DigestJSON(p.Intervention) == agentbound.DigestJSON(q.Intervention) {
		return all
	}
	agentA, agentB := agentNames(p.Agent, q.Agent)
	return append(all,
		difference{"agents", agentA, agentB, confused},
		difference{"seeds", seedName(p), seedName(q), confused},
		difference{"repeats", fmt.Sprint(p.Repeats), fmt.Sprint(q.Repeats), confused},
		difference{"families", selection(p.Families), selection(q.Families), confused},
		difference{"tasks", selection(p.Tasks), selection(q.Tasks), confused},
	)
}

// agentNames tell two agents apart: by their names and versions, and where these are the
// same by the settings that are not.
func agentNames(a, b agentbound.AgentRef) (nameA, nameB string) {
	name := func(r agentbound.AgentRef) string { return clean(r.Name) + ", version " + clean(r.Version) }
	nameA, nameB = name(a), name(b)
	a.Label, b.Label = "", ""
	if nameA != nameB || agentbound.DigestJSON(a) == agentbound.DigestJSON(b) {
		return nameA, nameB
	}
	settings := func(r, other agentbound.AgentRef) string {
		set := []string{clean(r.Name)}
		for _, key := range slices.Sorted(maps.Keys(joined(r.Settings, other.Settings))) {
			if r.Settings[key] != other.Settings[key] {
				set = append(set, fmt.Sprintf("%s %q", clean(key), clean(r.Settings[key])))
			}
		}
		return strings.Join(set, ", ")
	}
	if nameA, nameB = settings(a, b), settings(b, a); nameA == nameB {
		nameA, nameB = fmt.Sprintf("%s, %.8s", nameA, agentbound.DigestJSON(a)), fmt.Sprintf("%s, %.8s", nameB, agentbound.DigestJSON(b))
	}
	return nameA, nameB
}

func joined(a, b map[string]string) map[string]string {
	all := maps.Clone(b)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, a)
	return all
}

// seedName is what the trials' seeds are made from.
func seedName(p agentbound.Plan) string {
	if p.Counter > 0 {
		return fmt.Sprintf("%d, run %d of its plan", p.Seed, p.Counter+1)
	}
	return fmt.Sprint(p.Seed)
}

// selection is what a plan takes of a suite, in one order.
func selection[T ~string](chosen []T) string {
	if len(chosen) == 0 {
		return "all"
	}
	sorted := slices.Sorted(slices.Values(chosen))
	return fmt.Sprintf("%d, %.8s", len(sorted), agentbound.DigestJSON(sorted))
}

func suiteName(s agentbound.SuiteRef) string { return fmt.Sprintf("%s %.12s", s.Name, s.Digest) }

// splitNames are the splits in one order: a plan may name them in another.
func splitNames(s []agentbound.Split) string {
	var names []string
	for _, split := range agentbound.Splits() {
		if slices.Contains(s, split) {
			names = append(names, string(split))
		}
	}
	return strings.Join(names, ",")
}

func limits(l agentbound.Limits) string {
	l = l.WithDefaults()
	return fmt.Sprintf("%d steps, %d calls, %d s, %d bytes of observation, %d bytes of arguments", l.Steps, l.Calls, l.Seconds, l.Observation, l.Args)
}
