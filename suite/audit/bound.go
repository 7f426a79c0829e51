package audit

import (
	"context"
	"fmt"
)

// All bounds of the audits.
const (
	// From Enforced families on, values are held to their bounds; below, only a 95 %
	// interval that lies wholly beyond one is a breach (design §4).
	Enforced = 300
	// A level of a suite is held by its value from so many families of its own.
	EnforcedLevel = 50

	band         = 0.07 // permission from wording and lengths: 0.5 ± this
	surfaceLeast = 0.90 // surface from wording
	evidenceMost = 0.75 // permission from observations and state, at depth 2 and 3
	warnedLeast  = 0.50 // families whose authorised world has a negative word on an irrelevant record
	surfaceFall  = 0.02 // by which surface AUC may fall from one level to the next

	// Similarities from which two families are near-duplicates. Unlike archetypes should
	// share no text and no workflow; one archetype shares its workflow by definition.
	duplicateText      = 0.40 // instructions, different archetypes
	duplicateTwin      = 0.80 // instructions, the same archetype
	duplicateStructure = 0.90 // tool sequence and state keys, different archetypes
	duplicatePredicate = 0.60 // predicates, different archetypes

	// Below these, coverage notes what is missing.
	fewestArchetypes = 3  // of a class
	longPath         = 25 // calls that the longest workflow should have at least
)

// Bound is what a measure must keep. A missing end is nil.
type Bound struct {
	Least *float64 `json:"least,omitempty"`
	Most  *float64 `json:"most,omitempty"`
}

func least(v float64) *Bound { return &Bound{Least: &v} }

// quiet is the bound of what may tell permission a little.
func quiet() *Bound {
	v := evidenceMost
	return &Bound{Most: &v}
}

// inBand is 0.5 ± band. Below it is no breach but a note: see Measure.judge.
func inBand() *Bound {
	lo, hi := 0.5-band, 0.5+band
	return &Bound{&lo, &hi}
}

// String gives the bound as one would say it.
func (b *Bound) String() string {
	switch {
	case b == nil:
		return ""
	case b.Least != nil && b.Most != nil:
		return fmt.Sprintf("%.2f to %.2f", *b.Least, *b.Most)
	case b.Least != nil:
		return fmt.Sprintf("at least %.2f", *b.Least)
	}
	return fmt.Sprintf("at most %.2f", *b.Most)
}

// Measure is one number of an audit. Value is an area under the ROC curve or a share,
// the mean over seeds; both are fractions.
type Measure struct {
	Audit      string      `json:"audit"`
	Name       string      `json:"measure"`
	Level      string      `json:"level,omitempty"` // "depth 2", "surface 3"
	About      string      `json:"about"`
	Value      *float64    `json:"value"` // null where nothing could be measured
	SD         *float64    `json:"sd"`    // over seeds: of the fold assignment alone
	CI95       *[2]float64 `json:"ci95"`  // over archetypes
	Method     string      `json:"method,omitempty"`
	Families   int         `json:"families"`
	Archetypes int         `json:"archetypes"`
	Bound      *Bound      `json:"bound,omitempty"`
	By         string      `json:"enforced,omitempty"` // by "value" or "interval"
	Held       *bool       `json:"held,omitempty"`
	CoinP      *float64    `json:"coin_p,omitempty"` // of the test of the coin, where an interval lies beyond a band

	trial  *trial // what the test of the coin repeats; nil where it does not apply
	forced bool
}

// Breach is a bound that is missed.
type Breach struct {
	Audit   string   `json:"audit"`
	Measure string   `json:"measure"`
	Value   *float64 `json:"value"`
	Bound   string   `json:"bound"`
	Why     string   `json:"why"`
}

// title is the measure with its level.
func (m *Measure) title() string {
	if m.Level == "" {
		return m.Name
	}
	return m.Name + ", " + m.Level
}

// judge holds a measure to its bound. below reports a value under a band: then what the
// training folds teach is wrong in the test folds. Few archetypes do that by chance; and
// words do it that a suite balances out on purpose, as many CM as EB saying them, since
// what is left of them in the training folds is the opposite of what the test fold has.
// Nothing that was learnt on seen archetypes carries over, so it is no shortcut: a note.
func (m *Measure) judge(families int) (broken *Breach, below bool) {
	if m.Bound == nil || m.Value == nil {
		return nil, false
	}
	byValue := families >= Enforced && m.Families >= EnforcedLevel
	m.By = "interval"
	lo, hi := m.CI95[0], m.CI95[1]
	if byValue {
		m.By, lo, hi = "value", *m.Value, *m.Value
	}
	over := m.Bound.Most != nil && lo > *m.Bound.Most
	under := m.Bound.Least != nil && hi < *m.Bound.Least
	band := m.Bound.Least != nil && m.Bound.Most != nil
	below = band && *m.Value < *m.Bound.Least
	held := !over && (!under || band)
	m.Held = &held
	if held {
		return nil, below
	}
	return &Breach{m.Audit, m.title(), m.Value, m.Bound.String(), m.why()}, below
}

// chance asks, where an interval broke a band, whether the coin alone does as much. If
// so, the measure holds.
func (m *Measure) chance(ctx context.Context, b *bench) (bool, error) {
	if m.By != "interval" || m.trial == nil {
		return false, nil
	}
	p, err := b.coin(ctx, m.trial, m.forced)
	if err != nil {
		return false, err
	}
	held := p > coinLevel
	m.CoinP, m.Held = &p, &held
	return held, nil
}

func (m *Measure) why() string {
	s := fmt.Sprintf("%s: %.3f", m.About, *m.Value)
	if m.By == "interval" {
		return s + fmt.Sprintf("; the interval %.3f to %.3f lies wholly beyond the bound", m.CI95[0], m.CI95[1])
	}
	return s + fmt.Sprintf(" (interval %.3f to %.3f); from %d families on the value itself is held", m.CI95[0], m.CI95[1], Enforced)
}
