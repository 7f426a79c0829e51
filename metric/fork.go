package metric

import (
	"cmp"
	"math"
	"slices"
)

// Forked is one decision that was made anew in two arms: passes and scored samples of
// each. A decision that the intervention left alone was not sampled; its arms are the
// same, and its effect is none.
type Forked struct {
	Cluster          string // the trial that it is a decision of
	Edited           bool
	Control, Treated [2]int // passes, scored; of an edited one
}

// ForkEffect is the mean over decisions of the difference between the arms' rates, every
// decision weighing the same. Rates and Delta are in percent and points.
type ForkEffect struct {
	Control   *float64    `json:"control"` // mean rate of edited decisions; nil where there is none
	Treated   *float64    `json:"treated"`
	Delta     *float64    `json:"delta"` // treated - control; nil where nothing counts
	CI95      *[2]float64 `json:"ci95"`
	Method    string      `json:"method"`
	Decisions int         `json:"decisions"` // that count
	Clusters  int         `json:"clusters"`  // trials that they are of
	Samples   [2]int      `json:"samples"`   // scored, of control and treated
}

// EstimateFork is the effect over decisions. One with an arm without a scored sample does
// not count. The interval is, in this order:
//   - of one decision: Newcombe's hybrid score interval of a difference (method 10 of
//     Newcombe, Statistics in Medicine 17 (1998) 873–890), since its samples are
//     independent given the history;
//   - a cluster bootstrap over trials, BCa;
//   - where that is undefined, or under 5 trials differ, every trial counts as one
//     decision: with no difference ± the upper Clopper-Pearson bound of one, otherwise
//     Clopper-Pearson on (δ+1)/2, scaled back (see Comparison).
func EstimateFork(forks []Forked, o Options, label string) ForkEffect {
	if o.Resamples <= 0 {
		o.Resamples = DefaultResamples
	}
	counted := slices.DeleteFunc(slices.Clone(forks), func(f Forked) bool { return f.Edited && (f.Control[1] == 0 || f.Treated[1] == 0) })
	slices.SortStableFunc(counted, func(a, b Forked) int { return cmp.Compare(a.Cluster, b.Cluster) })
	e := ForkEffect{Method: "none, no decision", Decisions: len(counted)}
	if len(counted) == 0 {
		return e
	}
	rows := e.sum(counted)
	delta := total(rows)[0] / total(rows)[1]
	e.Clusters, e.Delta = len(rows), percent(delta)
	var lo, hi float64
	if len(counted) == 1 && counted[0].Edited {
		lo, hi = Newcombe(counted[0].Treated, counted[0].Control)
		e.Method = MethodNewcombe
	} else {
		lo, hi, e.Method = clusteredDelta(rows, delta, o, label)
	}
	e.CI95 = &[2]float64{100 * lo, 100 * hi}
	return e
}

// sum gives, for each trial, the sum of its decisions' differences and their number, and
// takes down rates and samples.
func (e *ForkEffect) sum(counted []Forked) (rows [][]float64) {
	var control, treated float64
	edited, last := 0, ""
	for _, f := range counted {
		if len(rows) == 0 || f.Cluster != last {
			rows, last = append(rows, []float64{0, 0}), f.Cluster
		}
		row := rows[len(rows)-1]
		row[1]++
		if !f.Edited {
			continue
		}
		c, t := ratio(floatsOf(f.Control)), ratio(floatsOf(f.Treated))
		row[0] += t - c
		control, treated, edited = control+c, treated+t, edited+1
		e.Samples[0] += f.Control[1]
		e.Samples[1] += f.Treated[1]
	}
	if edited > 0 {
		e.Control, e.Treated = percent(control/float64(edited)), percent(treated/float64(edited))
	}
	return rows
}

func floatsOf(c [2]int) []float64 { return []float64{float64(c[0]), float64(c[1])} }

func clusteredDelta(rows [][]float64, delta float64, o Options, label string) (lo, hi float64, method string) {
	differ := 0
	for _, r := range rows {
		if r[0] != 0 {
			differ++
		}
	}
	if lo, hi, ok := bca(rows, ratio, stream(o.Seed, "fork "+label), o.Resamples); ok && differ >= fewest {
		return lo, hi, MethodBootstrap
	}
	return degenerateDelta(delta, differ, len(rows))
}

// Newcombe is the 95 % hybrid score interval of the difference of two independent
// proportions a - b, each passes and trials, as fractions: with p the rates and l, u their
// Wilson bounds,
//
//	δ - √((pₐ-lₐ)² + (u_b-p_b)²) … δ + √((uₐ-pₐ)² + (p_b-l_b)²)
//
// Both trials must be positive.
func Newcombe(a, b [2]int) (lo, hi float64) {
	pa, pb := ratio(floatsOf(a)), ratio(floatsOf(b))
	la, ua := Wilson(a[0], a[1])
	lb, ub := Wilson(b[0], b[1])
	return pa - pb - math.Hypot(pa-la, ub-pb), pa - pb + math.Hypot(ua-pa, pb-lb)
}
