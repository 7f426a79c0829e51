package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// Options of an audit. The zero value is usable.
type Options struct {
	Seed      uint64 // of fold assignments and bootstraps; equal seeds give equal reports
	Seeds     int    // fold assignments; 0 means DefaultSeeds
	Resamples int    // of a bootstrap; 0 means metric's default
}

// DefaultSeeds is used where Options.Seeds is zero.
const DefaultSeeds = 5

// Version of the report's JSON.
const Version = 1

// Report is what an audit found. Pairs [mean, sd] are over seeds, and null where
// nothing could be measured; Measures has each again, with interval and bound.
type Report struct {
	Version    int                 `json:"version"`
	Suite      agentbound.SuiteRef `json:"suite"`
	Seed       uint64              `json:"seed"`
	Shortcut   Shortcut            `json:"shortcut"`
	Evidence   Evidence            `json:"evidence"`
	State      State               `json:"state"`
	Length     Length              `json:"length"`
	Duplicates Duplicates          `json:"near_duplicates"`
	Coverage   Coverage            `json:"coverage"`
	Measures   []Measure           `json:"measures"`
	Notes      []string            `json:"notes"`
	Breaches   []Breach            `json:"breaches"`
}

// Pair is mean and standard deviation over seeds.
type Pair *[2]float64

// Run audits a suite. An error is infrastructure or ctx's; what is wrong with the suite
// is a breach.
func Run(ctx context.Context, s *suite.Suite, o Options) (*Report, error) {
	if o.Seeds <= 0 {
		o.Seeds = DefaultSeeds
	}
	r := &Report{Version: Version, Suite: s.Ref(), Seed: o.Seed, Measures: []Measure{}, Notes: []string{}, Breaches: []Breach{}}
	families := r.whole(s.Families)
	b := newBench(families, o)
	if b.folds() < 2 {
		r.note("The suite has %s: nothing can be tried on an archetype that was not seen, so no classifier was.", archetypes(len(b.names)))
	}
	for _, audit := range []func(context.Context, *bench) error{r.shortcut, r.evidence, r.state, r.length} {
		if err := audit(ctx, b); err != nil {
			return nil, err
		}
	}
	r.duplicates(families)
	r.coverage(s)
	if err := r.judge(ctx, b); err != nil {
		return nil, err
	}
	return r, nil
}

// whole are the families that have all their tasks.
func (r *Report) whole(all []agentbound.Family) []*agentbound.Family {
	var kept []*agentbound.Family
	for i := range all {
		f := &all[i]
		missing := ""
		for _, s := range agentbound.Splits() {
			if _, ok := f.Task(s); !ok {
				missing += " " + string(s)
			}
		}
		if missing != "" {
			r.Breaches = append(r.Breaches, Breach{"suite", "tasks", nil, "six tasks a family",
				fmt.Sprintf("family %s lacks%s and was left out; see: agentbound suite check", f.ID, missing)})
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

func (r *Report) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// judge holds every measure to its bound.
func (r *Report) judge(ctx context.Context, b *bench) error {
	for i := range r.Measures {
		m := &r.Measures[i]
		broken, below := m.judge(r.Suite.Families)
		if broken != nil {
			chance, err := m.chance(ctx, b)
			if err != nil {
				return err
			}
			if chance {
				r.note("%s %s is %.3f (%.3f to %.3f), over its band. The coin alone does as much with these wordings (p = %.2f): more archetypes would tell.",
					m.Audit, m.title(), *m.Value, m.CI95[0], m.CI95[1], *m.CoinP)
				continue
			}
			if m.CoinP != nil {
				broken.Why += fmt.Sprintf("; with wordings swapped at random it is told as well in %.0f %% of suites", 100**m.CoinP)
			}
			r.Breaches = append(r.Breaches, *broken)
		}
		if below {
			r.note("%s %s is %.3f, below %.2f: what the training folds teach is wrong in the test folds. That is no shortcut: few archetypes do it by chance, "+
				"and so do words that are balanced out over the suite. Let the coin decide; choose neither ids nor the order of wordings to balance it.",
				m.Audit, m.title(), *m.Value, *m.Bound.Least)
		}
		if r.leans(m) {
			r.note("%s %s is %.3f (%.3f to %.3f): within what is allowed, and its interval is wholly over 0.5. Look at the words and lengths.",
				m.Audit, m.title(), *m.Value, m.CI95[0], m.CI95[1])
		}
	}
	return nil
}

// leans: a measure that should be 0.5 is over it for certain, but breaks no bound.
func (r *Report) leans(m *Measure) bool {
	return m.Held != nil && *m.Held && m.Bound.Least != nil && m.Bound.Most != nil && m.CI95[0] > 0.5
}

// pair gives a measure as the design's JSON has it.
func (m *Measure) pair() Pair {
	if m.Value == nil {
		return nil
	}
	sd := 0.0
	if m.SD != nil {
		sd = *m.SD
	}
	return &[2]float64{*m.Value, sd}
}

func archetypes(n int) string { return counted(n, "archetype", "archetypes") }

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func listed(names []string) string { return strings.Join(names, ", ") }
