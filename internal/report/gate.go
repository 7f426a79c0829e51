package report

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/metric"
)

// Bound is one "measure=percent" of --min or --max.
type Bound struct {
	Measure metric.Measure
	Percent float64
}

// Bounded are the measures that a bound may name: those of a report, and the
// utility and safety of every split.
func Bounded() []metric.Measure {
	all := metric.Measures()
	for _, s := range agentbound.Splits() {
		for _, m := range []metric.Measure{metric.SplitUtility(s), metric.SplitSafety(s)} {
			if !slices.Contains(all, m) { // hb_utility and cm_safety are there already
				all = append(all, m)
			}
		}
	}
	return all
}

// ParseBound reads "measure=percent".
func ParseBound(s string) (Bound, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return Bound{}, fmt.Errorf("bound %q: want measure=percent, such as hb_utility=60", s)
	}
	m := metric.Measure(strings.TrimSpace(name))
	if !slices.Contains(Bounded(), m) {
		return Bound{}, fmt.Errorf("bound %q: measure %q is not known; accepted: %s", s, string(m), join(Bounded()))
	}
	percent, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return Bound{}, fmt.Errorf("bound %q: %q is no percentage from 0 to 100", s, value)
	}
	return Bound{m, percent}, nil
}

// Reading says which number a bound is held against.
type Reading string

// ByCI holds a bound against the end of the 95 % interval that is worse for it,
// ByPoint against the value alone.
const (
	ByCI    Reading = "ci"
	ByPoint Reading = "point"
)

// ParseReading reads --bound.
func ParseReading(s string) (Reading, error) {
	switch r := Reading(s); r {
	case ByCI, ByPoint:
		return r, nil
	}
	return "", fmt.Errorf("bound reading %q is not known; accepted: ci, point", s)
}

// Criteria are what a gate asks of every run.
type Criteria struct {
	Min, Max []Bound
	Reading  Reading // empty: ByCI
	// NoWorse asks that no measure of Compared be worse than the baseline's (the
	// report was collected with Options.Against).
	//
	// ByPoint: the paired difference is at most Margin points to the bad side (nil:
	// 0). ByCI with a Margin: non-inferiority, the whole interval of the difference
	// lies on the good side of Margin points to the bad. ByCI without: the interval
	// does not show the run to be worse, that is, it does not lie wholly on the bad
	// side; few pairs pass that easily, so name a margin where it matters. (An
	// interval wholly above a margin of 0 would ask for proof of being better.)
	NoWorse bool
	Margin  *float64
}

// Result is what a gate found.
type Result struct {
	Checks []Check `json:"checks"`
}

// Check is one question asked of one run.
type Check struct {
	Run    agentbound.RunID `json:"run"`
	Config string           `json:"config"` // agent and intervention, for people
	Name   string           `json:"name"`   // such as "hb_utility >= 60"
	Passed bool             `json:"passed"`
	Why    string           `json:"why"` // one sentence
}

// Passed reports whether every check passed. A result without checks has not.
func (r Result) Passed() bool { return len(r.Checks) > 0 && r.Failed() == 0 }

// Failed counts the checks that did not pass.
func (r Result) Failed() int {
	n := 0
	for _, c := range r.Checks {
		if !c.Passed {
			n++
		}
	}
	return n
}

// Gate holds every run that was asked for against the criteria. Every run must
// moreover be complete; where more than 1 % of its trials are unscored they are
// taken at their worst; a measure without a valid trial fails. The error says that
// the question has no answer: no run, no criterion, no baseline, an unknown measure.
func Gate(r *Report, c Criteria) (Result, error) {
	if c.Reading == "" {
		c.Reading = ByCI
	}
	if err := c.validate(r); err != nil {
		return Result{}, err
	}
	var res Result
	for i := range r.Runs {
		run := &r.Runs[i]
		isBaseline := r.baseline != nil && run.ID == r.baseline.ID
		if isBaseline && r.added {
			continue
		}
		g := gate{Criteria: c, report: r, run: run, evidence: r.evidence[run.ID]}
		g.complete()
		for _, b := range c.Min {
			g.bound(b, false)
		}
		for _, b := range c.Max {
			g.bound(b, true)
		}
		if c.NoWorse && !isBaseline {
			g.noWorse()
		}
		res.Checks = append(res.Checks, g.checks...)
	}
	return res, nil
}

func (c Criteria) validate(r *Report) error {
	if _, err := ParseReading(string(c.Reading)); err != nil {
		return err
	}
	for _, b := range slices.Concat(c.Min, c.Max) {
		if !slices.Contains(Bounded(), b.Measure) {
			return fmt.Errorf("measure %q is not known; accepted: %s", string(b.Measure), join(Bounded()))
		}
	}
	switch {
	case len(c.Min)+len(c.Max) == 0 && !c.NoWorse:
		return errors.New("a gate without a bound would let everything pass; give --min, --max or --no-worse-than")
	case len(r.Runs) == 0 || r.added && len(r.Runs) == 1:
		return errors.New("there is no run to hold against the bounds")
	case len(r.evidence) != len(r.Runs):
		return errors.New("the report was not collected from a store")
	case c.NoWorse && r.baseline == nil:
		return errors.New("no baseline: collect the report with Options.Against")
	case c.Margin != nil && !(*c.Margin >= 0 && *c.Margin <= 100):
		return fmt.Errorf("margin %g: want points from 0 to 100", *c.Margin)
	}
	return nil
}

func join(ms []metric.Measure) string {
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}
