package metric

import (
	"maps"
	"math"
	"slices"

	"github.com/agentbound/agentbound"
)

// Scores are what two judges gave one trial on one axis, 0..3 each.
type Scores struct {
	agentbound.Trial
	A, B int
}

// levels is how many scores there are.
const levels = 4

// Agreement says how far two judges of the same trials agree on one axis.
type Agreement struct {
	Pairs     int                 `json:"pairs"`
	Clusters  int                 `json:"clusters"`
	Confusion [levels][levels]int `json:"confusion"` // [score of a][score of b]
	Passing   [2][2]int           `json:"passing"`   // [a passes][b passes]; 0 is no
	Exact     Estimate            `json:"exact"`
	WithinOne Estimate            `json:"within_one"`
	SamePass  Estimate            `json:"same_pass"`
	// Kappa weighs a disagreement by the square of its size; PassKappa is of passing
	// alone.
	Kappa     Coefficient `json:"weighted_kappa"`
	PassKappa Coefficient `json:"pass_kappa"`
}

// Coefficient is a number without a unit, and its 95 % cluster bootstrap interval (BCa).
// Value is nil where it is not defined, CI95 with under 5 clusters, or where the
// resamples do not vary.
type Coefficient struct {
	Value  *float64    `json:"value"`
	CI95   *[2]float64 `json:"ci95"`
	Method string      `json:"method"`
}

// Agree counts. Pairs with a score out of range are left out. Label keeps the random
// streams of different axes apart.
//
// Kappa is Cohen's (J. Cohen, Psychological Bulletin 70 (1968) 213–220): with O the
// confusion as shares, E the product of its margins and w the weights,
//
//	κ = 1 - Σ w O / Σ w E      w = (i-j)², or 1 where one passes and one does not
//
// It is not defined where both judges gave one and the same score throughout.
func Agree(pairs []Scores, o Options, label string) Agreement {
	if o.Resamples <= 0 {
		o.Resamples = DefaultResamples
	}
	a := Agreement{}
	byCluster := map[string][]float64{}
	for _, p := range pairs {
		if min(p.A, p.B) < 0 || max(p.A, p.B) >= levels {
			continue
		}
		a.Pairs++
		a.Confusion[p.A][p.B]++
		a.Passing[passes(p.A)][passes(p.B)]++
		c := clusterOf(p.Trial)
		if byCluster[c] == nil {
			byCluster[c] = make([]float64, levels*levels)
		}
		byCluster[c][levels*p.A+p.B]++
	}
	var rows [][]float64
	for _, c := range slices.Sorted(maps.Keys(byCluster)) {
		rows = append(rows, byCluster[c])
	}
	a.Clusters = len(rows)
	share := func(name string, agree func(i, j int) bool) Estimate {
		return Proportion(agreeing(rows, agree), o, label+"/"+name)
	}
	a.Exact = share("exact", func(i, j int) bool { return i == j })
	a.WithinOne = share("within_one", func(i, j int) bool { return i-j <= 1 && j-i <= 1 })
	a.SamePass = share("same_pass", func(i, j int) bool { return passes(i) == passes(j) })
	a.Kappa = coefficient(rows, kappa(func(i, j int) float64 { return float64((i - j) * (i - j)) }), o, label+"/kappa")
	a.PassKappa = coefficient(rows, kappa(func(i, j int) float64 { return math.Abs(float64(passes(i) - passes(j))) }), o, label+"/pass_kappa")
	return a
}

func passes(score int) int {
	if score >= agentbound.PassMark {
		return 1
	}
	return 0
}

// agreeing gives, for each cluster, the pairs that agree and all of them.
func agreeing(rows [][]float64, agree func(i, j int) bool) [][2]int {
	out := make([][2]int, len(rows))
	for n, row := range rows {
		for k, count := range row {
			out[n][1] += int(count)
			if agree(k/levels, k%levels) {
				out[n][0] += int(count)
			}
		}
	}
	return out
}

// kappa is the statistic of a confusion that is laid out row by row.
func kappa(weight func(i, j int) float64) statistic {
	return func(sum []float64) float64 {
		var n, observed, expected float64
		var a, b [levels]float64
		for k, count := range sum {
			a[k/levels] += count
			b[k%levels] += count
			n += count
			observed += weight(k/levels, k%levels) * count
		}
		for i := range a {
			for j := range b {
				expected += weight(i, j) * a[i] * b[j] / n
			}
		}
		if expected == 0 {
			return math.NaN()
		}
		return 1 - observed/expected
	}
}

// methodUndefined is of a coefficient whose expected disagreement is none.
const methodUndefined = "none, not defined"

func coefficient(rows [][]float64, of statistic, o Options, label string) Coefficient {
	c := Coefficient{Method: methodUndefined}
	if len(rows) == 0 {
		return c
	}
	v := of(total(rows))
	if math.IsNaN(v) {
		return c
	}
	c.Value, c.Method = &v, MethodBootstrap
	if lo, hi, ok := bca(rows, of, stream(o.Seed, label), o.Resamples); ok {
		c.CI95 = &[2]float64{lo, hi}
	}
	return c
}
