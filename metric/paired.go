package metric

import (
	"cmp"
	"math"
	"slices"

	"github.com/agentbound/agentbound"
	"gonum.org/v1/gonum/stat/combin"
)

// Comparison is a paired contrast b - a: an entry of design §9's comparisons. The
// caller names A and B, such as by run id.
type Comparison struct {
	A          string      `json:"a"`
	B          string      `json:"b"`
	Measure    Measure     `json:"measure"`
	Delta      *float64    `json:"delta"` // points, b - a; nil where there are no pairs, as are CI95 and P
	CI95       *[2]float64 `json:"ci95"`
	P          *float64    `json:"p"` // two-sided
	Method     string      `json:"method"`
	HolmP      *float64    `json:"holm_p"` // set by AdjustHolm
	Pairs      int         `json:"pairs"`
	Dropped    int         `json:"dropped"`    // pairs with an unscored trial in either arm
	Unmatched  int         `json:"unmatched"`  // trials without a counterpart in the other arm
	Discordant int         `json:"discordant"` // pairs in which one passed and the other failed
	Clusters   int         `json:"clusters"`
	McNemar    *McNemar    `json:"mcnemar,omitempty"` // where every cluster is a single pair
}

// McNemar is the exact test on discordant pairs.
type McNemar struct {
	OnlyA int     `json:"only_a"` // passed in a alone
	OnlyB int     `json:"only_b"`
	P     float64 `json:"p"`
}

// Compare contrasts two runs on one measure. Pairs are trials of the same family,
// split and repeat. For a measure given EB a pair counts where EB passed in both
// runs. The interval is a cluster bootstrap (options of a), p a cluster sign-flip
// permutation. The error is that of an unknown measure.
func Compare(a, b *Accumulator, m Measure) (Comparison, error) {
	d, err := m.definition()
	if err != nil {
		return Comparison{}, err
	}
	var ps pairs
	for _, u := range a.sorted() {
		v := b.units[u.unitKey]
		if v == nil {
			v = &unit{}
		}
		for _, s := range d.splits {
			ps.add(u.cluster, pairOf(d, u, v, s))
		}
	}
	for _, v := range b.units {
		if a.units[v.unitKey] == nil {
			for _, s := range d.splits {
				ps.add(v.cluster, pairOf(d, &unit{}, v, s))
			}
		}
	}
	return ps.comparison(m, a.opts), nil
}

// pairOf gives both outcomes. Where the condition of a measure given EB fails in
// one arm only, the pair is outside the measure and not unmatched.
func pairOf(d definition, u, v *unit, s agentbound.Split) pair {
	p := pair{d.outcome(u, s), d.outcome(v, s)}
	if d.givenEB && u.trial(s).has(made) && v.trial(s).has(made) && (p.a == absent || p.b == absent) {
		return pair{}
	}
	return p
}

// Held is the paired HB - EB utility within one run: what danger in the wording
// costs where the capability needed is the same. Pairs are of one family and repeat.
func (a *Accumulator) Held() Comparison {
	d := definition{pass: useful}
	var ps pairs
	for _, u := range a.sorted() {
		ps.add(u.cluster, pair{d.outcome(u, agentbound.EB), d.outcome(u, agentbound.HB)})
	}
	c := ps.comparison("utility", a.opts)
	c.A, c.B = string(agentbound.EB), string(agentbound.HB)
	return c
}

type pair struct{ a, b outcome }

// pairs sums pairs by cluster; those of a cluster are added together.
type pairs struct {
	Comparison
	onlyA, onlyB int
	last         string
	sums         []count // per cluster: passes is Σ(b-a), valid the pairs
}

func (ps *pairs) add(cluster string, p pair) {
	switch {
	case p.a == absent && p.b == absent:
		return
	case p.a == absent || p.b == absent:
		ps.Unmatched++
		return
	case p.a == unscored || p.b == unscored:
		ps.Dropped++
		return
	}
	if len(ps.sums) == 0 || cluster != ps.last {
		ps.sums, ps.last = append(ps.sums, count{}), cluster
	}
	c := &ps.sums[len(ps.sums)-1]
	c.valid++
	ps.Pairs++
	switch {
	case p.a == passed && p.b == failed:
		ps.onlyA++
		c.passes--
	case p.a == failed && p.b == passed:
		ps.onlyB++
		c.passes++
	}
}

func (ps *pairs) comparison(m Measure, opts Options) Comparison {
	c := ps.Comparison
	c.Measure, c.Clusters, c.Discordant = m, len(ps.sums), ps.onlyA+ps.onlyB
	if c.Pairs == 0 {
		c.Method = "none, no pair"
		return c
	}
	delta := float64(ps.onlyB-ps.onlyA) / float64(c.Pairs)
	c.Delta = percent(delta)
	lo, hi, ok := bca(sumsOf(ps.sums), ratio, stream(opts.Seed, "paired "+string(m)), opts.Resamples)
	method := MethodBootstrap
	if !ok || moved(ps.sums) < fewest {
		lo, hi, method = degenerateDelta(delta, c.Discordant, c.Clusters)
	}
	c.CI95 = &[2]float64{100 * lo, 100 * hi}
	differences := make([]int, len(ps.sums))
	for i, s := range ps.sums {
		differences[i] = s.passes
	}
	p := SignFlip(differences)
	c.P = &p
	c.Method = method + "; cluster sign-flip permutation, exact"
	if c.Clusters == c.Pairs {
		c.McNemar = &McNemar{ps.onlyA, ps.onlyB, McNemarExact(ps.onlyA, ps.onlyB)}
	}
	return c
}

// moved is how many clusters differ between the arms.
func moved(sums []count) int {
	n := 0
	for _, s := range sums {
		if s.passes != 0 {
			n++
		}
	}
	return n
}

// degenerateDelta bounds a difference that the bootstrap cannot: with under 5
// clusters that differ, or the same difference in all. Every cluster counts as one pair (see Estimate).
// No discordant pair: |δ| is at most the upper Clopper-Pearson bound of discordance.
// Otherwise (δ+1)/2, a mean of values in [0, 1], takes a Clopper-Pearson interval.
func degenerateDelta(delta float64, discordant, clusters int) (lo, hi float64, method string) {
	if discordant == 0 {
		_, u, m := cpClusters(0, clusters)
		return -u, u, MethodDiscordance + m
	}
	l, u, m := cpClusters((delta+1)/2, clusters)
	return 2*l - 1, 2*u - 1, MethodRescaled + m
}

// SignFlip is the two-sided p of the cluster sign-flip permutation: under the null
// the sum of the differences of a cluster is as likely as its negative, all
// clusters independently, and p is the share of the 2ᶜ sign patterns with |Σ±dᵢ| ≥
// |Σdᵢ|. Since the sums are whole, the distribution is computed exactly for any number
// of clusters by convolution, in O(C·Σ|dᵢ|), and no Monte Carlo is needed: with
// Bᵢ = 1 where dᵢ counts positive, Σ±|dᵢ| = 2ΣBᵢ|dᵢ| - Σ|dᵢ|. p is at least the
// smallest float64. Source: Fisher, The Design of Experiments (1935) §21; the
// convolution is Pagano and Tritchler, JASA 78 (1983) 435–440.
func SignFlip(differences []int) float64 {
	sum, span := 0, 0
	for _, d := range differences {
		sum += d
		span += abs(d)
	}
	if sum == 0 {
		return 1
	}
	chance := make([]float64, span+1) // of ΣBᵢ|dᵢ|
	chance[0] = 1
	reach := 0
	for _, d := range differences {
		d = abs(d)
		if d == 0 {
			continue
		}
		reach += d
		for u := reach; u >= 0; u-- {
			chance[u] /= 2
			if u >= d {
				chance[u] += chance[u-d] / 2
			}
		}
	}
	tail := 0.0
	for u := span; u >= (span+abs(sum))/2; u-- {
		tail += chance[u]
	}
	return max(min(1, 2*tail), math.SmallestNonzeroFloat64)
}

func abs(d int) int { return max(d, -d) }

// McNemarExact is the two-sided exact p for the discordant counts: twice the lower
// binomial tail, 2 Σ_{i≤min} C(n,i)/2ⁿ with n = onlyA + onlyB, at most 1. Source:
// McNemar, Psychometrika 12 (1947) 153–157.
func McNemarExact(onlyA, onlyB int) float64 {
	n := onlyA + onlyB
	tail := 0.0
	for i := range min(onlyA, onlyB) + 1 {
		tail += math.Exp(combin.LogGeneralizedBinomial(float64(n), float64(i)) - float64(n)*math.Ln2)
	}
	return min(1, 2*tail)
}

// Holm adjusts p-values for being a set, in their order: with p₍₁₎ ≤ … ≤ p₍ₘ₎ the
// adjusted p₍ᵢ₎ is max over j ≤ i of min(1, (m-j+1)p₍ⱼ₎). Source: S. Holm, Scandinavian
// Journal of Statistics 6 (1979) 65–70.
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	out := make([]float64, len(ps))
	running := 0.0
	for rank, i := range order {
		running = max(running, min(1, float64(len(ps)-rank)*ps[i]))
		out[i] = running
	}
	return out
}

// AdjustHolm sets HolmP over the declared set cs; comparisons without a p are left.
func AdjustHolm(cs []Comparison) {
	var ps []float64
	var at []int
	for i, c := range cs {
		if c.P != nil {
			ps, at = append(ps, *c.P), append(at, i)
		}
	}
	for k, p := range Holm(ps) {
		cs[at[k]].HolmP = &p
	}
}
