package metric

import (
	"cmp"
	"math"
	"slices"
)

// Scored is the score that a classifier gave to one text or other thing, and what
// that is in truth.
type Scored struct {
	Cluster  string // unit of resampling
	Positive bool
	Score    float64
}

// Concordance is an area under the ROC curve in the making: the share of pairs of a
// positive and a negative in which the positive has the higher score, ties counted
// half (the statistic of Mann and Whitney over the number of pairs; D. Bamber, J.
// Math. Psychol. 12 (1975) 387–415). Pairs are made within what one Add gets, so
// that scores of two classifiers, such as two folds', are never compared. Values are
// fractions, unlike the rates of this package. The zero value is empty and usable.
type Concordance struct {
	index    map[string]int
	clusters []string
	blocks   [][]point
	own      []tally // of each cluster with itself
}

type point struct {
	cluster  int
	positive bool
	score    float64
}

// tally counts pairs, and among them those in order.
type tally struct{ ordered, all float64 }

func (p tally) share() float64 { return p.ordered / p.all }

// Add takes scores that may be compared with each other. It panics at a score that is
// no number, which is a fault of the caller.
func (c *Concordance) Add(scores []Scored) {
	if c.index == nil {
		c.index = map[string]int{}
	}
	block := make([]point, len(scores))
	byCluster := map[int][]point{}
	for i, s := range scores {
		if math.IsNaN(s.Score) {
			panic("metric: a score is not a number")
		}
		k, known := c.index[s.Cluster]
		if !known {
			k = len(c.clusters)
			c.index[s.Cluster] = k
			c.clusters, c.own = append(c.clusters, s.Cluster), append(c.own, tally{})
		}
		block[i] = point{k, s.Positive, s.Score}
		byCluster[k] = append(byCluster[k], block[i])
	}
	slices.SortStableFunc(block, func(a, b point) int { return cmp.Compare(a.score, b.score) })
	c.blocks = append(c.blocks, block)
	for k, own := range byCluster {
		slices.SortStableFunc(own, func(a, b point) int { return cmp.Compare(a.score, b.score) })
		p := countWeighted(own, nil)
		c.own[k].ordered += p.ordered
		c.own[k].all += p.all
	}
}

// Clusters is the number of clusters.
func (c *Concordance) Clusters() int { return len(c.clusters) }

// AUC is the share of ordered pairs; NaN where there is no pair.
func (c *Concordance) AUC() float64 {
	weights := make([]float64, len(c.clusters))
	for i := range weights {
		weights[i] = 1
	}
	return c.weighted(weights)
}

// weighted is the AUC where cluster k stands there weights[k] times. Two copies of a
// cluster are not compared with each other: a drawn twin is no stranger, and pairs
// within a cluster (say, of one family) would weigh too much.
func (c *Concordance) weighted(weights []float64) float64 {
	var sum tally
	for _, b := range c.blocks {
		p := countWeighted(b, weights)
		sum.ordered += p.ordered
		sum.all += p.all
	}
	for k, w := range weights {
		sum.ordered -= w * (w - 1) * c.own[k].ordered
		sum.all -= w * (w - 1) * c.own[k].all
	}
	if sum.all <= 0 {
		return math.NaN()
	}
	return sum.share()
}

// countWeighted walks scores from low to high, equal ones together. No weights are
// all ones.
func countWeighted(sorted []point, weights []float64) (sum tally) {
	var negatives, positives float64 // so far
	for i := 0; i < len(sorted); {
		var neg, pos float64
		j := i
		for ; j < len(sorted) && sorted[j].score == sorted[i].score; j++ {
			w := 1.0
			if weights != nil {
				w = weights[sorted[j].cluster]
			}
			if sorted[j].positive {
				pos += w
			} else {
				neg += w
			}
		}
		sum.ordered += pos * (negatives + neg/2)
		negatives += neg
		positives += pos
		i = j
	}
	sum.all = positives * negatives
	return sum
}

// fewestConcordant is the number of clusters below which an AUC gets no bootstrap. It
// is over pairs of clusters, which few clusters make few of; and held-out scores hang
// together through the models that gave them.
const fewestConcordant = 20

// Interval is the 95 % interval of AUC with its method: a bootstrap over clusters
// (BCa), or under 20 clusters, and where that has no width, Clopper-Pearson with every
// cluster worth one trial. Label keeps the random streams of different measures apart.
// There must be a pair.
func (c *Concordance) Interval(o Options, label string) (lo, hi float64, method string) {
	if len(c.clusters) >= fewestConcordant {
		if lo, hi, ok := clusterBCa(len(c.clusters), c.weighted, o, label); ok {
			return lo, hi, MethodBootstrap
		}
	}
	return cpClusters(c.AUC(), len(c.clusters))
}

// Difference is a's AUC less b's, with the 95 % interval of a bootstrap over the
// clusters of both together. ok is false where that is not defined.
func Difference(a, b *Concordance, o Options, label string) (delta, lo, hi float64, ok bool) {
	names := slices.Concat(a.clusters, b.clusters)
	slices.Sort(names)
	names = slices.Compact(names)
	of := func(c *Concordance, weights []float64) float64 {
		own := make([]float64, len(c.clusters))
		for i, name := range names {
			if k, known := c.index[name]; known {
				own[k] = weights[i]
			}
		}
		return c.weighted(own)
	}
	delta = a.AUC() - b.AUC()
	lo, hi, ok = clusterBCa(len(names), func(w []float64) float64 { return of(a, w) - of(b, w) }, o, label)
	return delta, lo, hi, ok
}

// clusterBCa is bca for a statistic that is no function of sums over clusters, but of
// how often each cluster was drawn.
func clusterBCa(n int, stat func(weights []float64) float64, o Options, label string) (lo, hi float64, ok bool) {
	if n < fewest {
		return 0, 0, false
	}
	resamples := o.Resamples
	if resamples <= 0 {
		resamples = DefaultResamples
	}
	rng := stream(o.Seed, label)
	weights := make([]float64, n)
	var boot, jack []float64
	for range resamples {
		clear(weights)
		for range n {
			weights[rng.IntN(n)]++
		}
		if v := stat(weights); !math.IsNaN(v) {
			boot = append(boot, v)
		}
	}
	for i := range weights {
		weights[i] = 1
	}
	theta := stat(weights)
	for i := range weights {
		weights[i] = 0
		if v := stat(weights); !math.IsNaN(v) {
			jack = append(jack, v)
		}
		weights[i] = 1
	}
	if math.IsNaN(theta) || len(jack) == 0 {
		return 0, 0, false
	}
	slices.Sort(boot)
	return bcaBounds(theta, boot, skewness(jack))
}
