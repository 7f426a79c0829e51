package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/price"
)

// Intervened is what an intervention did and cost in a run: in its stored trials, the
// unscored ones too, not in attempts that were replaced.
type Intervened struct {
	Decisions int `json:"decisions"` // of the subject
	Reviewed  int `json:"reviewed"`  // shown to the corrector
	Changed   int `json:"changed"`   // came back as another Thought
	Failed    int `json:"failed"`    // the corrector gave none, and the set-up went on
	Closed    int `json:"closed"`    // of Failed: the calls were kept from being executed
	Calls     int `json:"calls"`     // put to the gate
	Denied    int `json:"denied"`    // by it
	Undecided int `json:"undecided"` // the gate gave no decision, and the set-up gave one
	Held      int `json:"held"`      // calls that a failure kept from being executed
	Trials    int `json:"trials"`
	Edited    int `json:"edited"`  // trials with a changed Thought or a denied call, and none of Stopped
	Stopped   int `json:"stopped"` // trials with a call of Held

	ReviewMS *Latency `json:"review_ms"` // of a decision that was reviewed; nil where none was
	GateMS   *Latency `json:"gate_ms"`   // of a call that was put to the gate
	Cost     Cost     `json:"cost"`
}

// Latency is how long something took, in milliseconds.
type Latency struct {
	Median int64 `json:"median"`
	P95    int64 `json:"p95"`
	Total  int64 `json:"total"`
}

// undecided: failed are, of the Thoughts and calls that it was asked about, those on which it
// gave no decision.
func (v *Intervened) undecided() (failed, asked int) {
	return v.Failed + v.Undecided, v.Reviewed + v.Calls
}

// often reports whether it failed more often than may be passed over.
func (v *Intervened) often() bool {
	failed, asked := v.undecided()
	return float64(failed) > metric.UnscoredShown*float64(asked)
}

// review collects an Intervened and what was done to which trials.
type review struct {
	Intervened
	spent         agentbound.Usage
	reviews, gate []int64 // milliseconds
	touched       map[trialOf]metric.Touch
}

// trialOf names a trial within a run.
type trialOf struct {
	family agentbound.FamilyID
	split  agentbound.Split
	repeat int
}

func (v *review) add(t agentbound.Trial, tr *agentbound.Trajectory) {
	v.Trials++
	used, _ := tr.SpentOnIntervention()
	v.spent = v.spent.Add(used)
	touch := metric.Unedited
	for i := range tr.Steps {
		touch = max(touch, v.step(&tr.Steps[i])) // Stopped outranks Edited
	}
	switch touch {
	case metric.Unedited:
		return
	case metric.Edited:
		v.Edited++
	case metric.Stopped:
		v.Stopped++
	}
	v.touched[trialOf{t.Family, t.Split, t.Repeat}] = touch
}

// step says what was done at a decision. A trial that was stored before
// reviews were recorded has drafts alone.
func (v *review) step(s *agentbound.Step) (touch metric.Touch) {
	v.Decisions++
	if s.Draft != nil {
		touch = metric.Edited
	}
	if r := s.Review; r != nil {
		v.Reviewed++
		v.reviews = append(v.reviews, r.MS)
		v.Changed += count1(r.Changed)
		v.Failed += count1(r.Failed != "")
		v.Closed += count1(r.Closed)
	}
	for _, c := range s.Calls {
		if s.Held(c) {
			v.Held++
			touch = metric.Stopped
		}
		if !s.Asked(c) {
			continue
		}
		v.Calls++
		v.gate = append(v.gate, c.Gate.MS)
		switch {
		case c.Gate.Failed != "":
			v.Undecided++
		case !c.Gate.Allowed:
			v.Denied++
			touch = max(touch, metric.Edited)
		}
	}
	return touch
}

func count1(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// done is the whole.
func (v *review) done(i agentbound.Intervention, prices price.Table) *Intervened {
	v.ReviewMS, v.GateMS = latency(v.reviews), latency(v.gate)
	v.Cost = interventionCost(i, v.spent, prices)
	return &v.Intervened
}

func latency(ms []int64) *Latency {
	if len(ms) == 0 {
		return nil
	}
	slices.Sort(ms)
	at := func(share float64) int64 { return ms[int(share*float64(len(ms)-1)+0.5)] }
	l := &Latency{Median: at(0.5), P95: at(0.95)}
	for _, x := range ms {
		l.Total += x
	}
	return l
}

// kindOf takes the name of an intervention apart: what it is, and the specification of the
// model that it asks, as in aligner:compat:MODEL@BASE_URL; empty where it asks none.
func kindOf(name string) (kind, spec string) {
	kind, spec, _ = strings.Cut(name, ":")
	return kind, spec
}

func interventionCost(i agentbound.Intervention, spent agentbound.Usage, prices price.Table) Cost {
	c := Cost{InputTokens: spent.InputTokens, OutputTokens: spent.OutputTokens, CachedTokens: spent.CachedTokens, ReusedTokens: spent.ReusedTokens, Basis: BasisUnknown}
	usd := 0.0
	_, spec := kindOf(i.Name)
	switch rate, _ := prices.Find(spec, i.Settings); {
	case spent.USD > 0:
		c.Basis, usd = BasisTold, spent.USD
	case spec == "" && spent.InputTokens+spent.OutputTokens == 0:
		c.Basis = BasisFree // it asks no model
	case rate.Known() && spent.InputTokens+spent.OutputTokens > 0:
		c.Basis, c.PricesAsOf, c.PricesSource = BasisPrices, rate.AsOf, rate.Source
		usd = rate.Sum(model.Usage{Input: spent.InputTokens, Cached: spent.CachedTokens, Output: spent.OutputTokens})
	default:
		return c
	}
	c.USD = &usd
	return c
}

// Pairing is a run beside the bare run of the same set-up: a row of the paper's Table 3.
type Pairing struct {
	Bare         agentbound.RunID                  `json:"bare"`
	Run          agentbound.RunID                  `json:"run"`
	Agent        string                            `json:"agent"`
	Intervention string                            `json:"intervention"`
	Measures     map[metric.Measure]Paired         `json:"measures"` // those of PairedMeasures
	Edits        map[agentbound.Split]metric.Edits `json:"edits"`
}

// Paired is one measure without and with the intervention. Before and After are over all
// valid trials of their runs, the difference over the pairs.
type Paired struct {
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	metric.Comparison
}

// headlineMeasures are those of Table 3, over which Holm's correction is made.
func headlineMeasures() []metric.Measure {
	return []metric.Measure{metric.HBUtility, metric.CMSafety, metric.AllUtility, metric.AllSafety}
}

// apartMeasures are what a headline can hide: over-refusal, unsafe, and the probes.
func apartMeasures() []metric.Measure {
	return []metric.Measure{
		metric.OverRefusal, metric.Unsafe, metric.UnsafeExecuted,
		metric.SplitSafety(agentbound.HBProhibited), metric.SplitUtility(agentbound.CMAuthorised),
	}
}

// PairedMeasures are those of a Pairing.
func PairedMeasures() []metric.Measure { return slices.Concat(headlineMeasures(), apartMeasures()) }

// Unpaired is a run with an intervention that stands beside no bare run, and why.
type Unpaired struct {
	Run agentbound.RunID `json:"run"`
	Why string           `json:"why"`
}

// pair sets every run with an intervention beside the bare run of its set-up.
func (r *Report) pair(ctx context.Context, s store.Store) error {
	for i := range r.Runs {
		b := &r.Runs[i]
		if b.Intervention == agentbound.Bare {
			continue
		}
		a, why := r.bareOf(b)
		if why == noBare {
			var err error
			if why, err = storedBare(ctx, s, b); err != nil {
				return err
			}
		}
		if a == nil {
			r.Unpaired = append(r.Unpaired, Unpaired{b.ID, why})
			continue
		}
		p, err := r.pairing(a, b)
		if err != nil {
			return err
		}
		r.Interventions = append(r.Interventions, p)
	}
	r.adjustPairings()
	return nil
}

const noBare = "there is no bare run of its agent in the store"

// storedBare says of a run that no bare run is reported beside which one in the store would do.
func storedBare(ctx context.Context, s store.Store, b *Run) (why string, err error) {
	all, err := s.Runs(ctx)
	if err != nil {
		return "", err
	}
	why = noBare
	for _, x := range all {
		p := x.Plan
		if (p.Intervention.Name != "" && p.Intervention.Name != agentbound.Bare) || p.Agent.Name != b.plan.Agent.Name {
			continue
		}
		a := Run{Agent: p.Agent.Title(), World: p.World, Judge: b.Judge, Suite: p.Suite, plan: p}
		if incomparable(&a, b) == "" {
			return fmt.Sprintf("its bare run %s is not among those reported; name it too", short(idOf(x))), nil
		}
		why = "the store has no bare run of its set-up"
	}
	return why, nil
}

// bareOf finds the bare run of a run's set-up, or says what keeps the nearest from being it.
func (r *Report) bareOf(b *Run) (a *Run, why string) {
	why = noBare
	for i := range r.Runs {
		x := &r.Runs[i]
		if x.Intervention != agentbound.Bare || x.plan.Agent.Name != b.plan.Agent.Name {
			continue
		}
		found := incomparable(x, b)
		if found == "" {
			return x, ""
		}
		why = fmt.Sprintf("bare run %s: %s", short(x.ID), found)
	}
	return nil, why
}

func (r *Report) pairing(a, b *Run) (Pairing, error) {
	p := Pairing{Bare: a.ID, Run: b.ID, Agent: b.Agent, Intervention: b.Intervention, Measures: map[metric.Measure]Paired{}}
	before, after := r.evidence[a.ID], r.evidence[b.ID]
	for _, m := range PairedMeasures() {
		c, err := metric.Compare(before.acc, after.acc, m)
		if err != nil {
			return p, err
		}
		c.A, c.B = string(a.ID), string(b.ID)
		p.Measures[m] = Paired{a.estimate(m).Value, b.estimate(m).Value, c}
	}
	p.Edits = metric.CompareEdited(before.acc, after.acc, func(f agentbound.FamilyID, s agentbound.Split, repeat int) metric.Touch {
		return after.touched[trialOf{f, s, repeat}]
	})
	return p, nil
}

// adjustPairings is Holm's correction over the four measures of all pairings; the others
// are described by their intervals alone.
func (r *Report) adjustPairings() {
	var set []metric.Comparison
	for _, p := range r.Interventions {
		for _, m := range headlineMeasures() {
			set = append(set, p.Measures[m].Comparison)
		}
	}
	metric.AdjustHolm(set)
	for i, c := range set {
		p := r.Interventions[i/len(headlineMeasures())]
		x := p.Measures[c.Measure]
		x.HolmP = c.HolmP
		p.Measures[c.Measure] = x
	}
}

// setUps are the runs that differ in nothing but the intervention, bare ones first, in the
// order of the report. Instrument checks are left out.
func (r *Report) setUps() (all [][]*Run) {
	var keys []agentbound.Digest
	for i := range r.Runs {
		run := &r.Runs[i]
		if run.Privileged {
			continue
		}
		key := run.setUp()
		at := slices.Index(keys, key)
		if at < 0 {
			at, keys, all = len(keys), append(keys, key), append(all, nil)
		}
		all[at] = append(all[at], run)
	}
	for _, runs := range all {
		slices.SortStableFunc(runs, func(a, b *Run) int {
			return cmp.Compare(count1(a.Intervention != agentbound.Bare), count1(b.Intervention != agentbound.Bare))
		})
	}
	return all
}

// setUp is the digest of all that decides a run's verdicts but the intervention: what
// incomparable holds two interventions to.
func (r *Run) setUp() agentbound.Digest {
	p := r.plan
	p.Agent.Label = ""
	return agentbound.DigestJSON(struct {
		Suite                                       agentbound.Digest
		Agent                                       agentbound.AgentRef
		World, Judge, Splits, Families, Tasks, Seed string
		Limits                                      agentbound.Limits
		Repeats                                     int
	}{r.Suite.Digest, p.Agent, r.World, r.Judge, splitNames(p.Splits), selection(p.Families), selection(p.Tasks), seedName(p), p.Limits.WithDefaults(), p.Repeats})
}
