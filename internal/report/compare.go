package report

import (
	"fmt"
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
// nothing does. That families or repeats differ does not: what has no counterpart
// is counted as unmatched.
func incomparable(a, b *Run) string {
	if b.Privileged {
		return fmt.Sprintf("its agent %s reads the package, so it is an instrument check and enters no comparison", b.Agent)
	}
	for _, d := range []struct{ what, a, b string }{
		{"suites", suiteName(a.Suite), suiteName(b.Suite)},
		{"worlds", a.World, b.World},
		{"judges", a.Judge, b.Judge},
		{"splits", splitNames(a.plan.Splits), splitNames(b.plan.Splits)},
		{"limits", limits(a.plan.Limits), limits(b.plan.Limits)},
	} {
		if d.a != d.b {
			return fmt.Sprintf("%s differ (%s against %s), so that their trials are no pairs", d.what, d.b, d.a)
		}
	}
	return ""
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
