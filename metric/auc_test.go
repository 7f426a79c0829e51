package metric_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/agentbound/agentbound/metric"
)

func scored(cluster string, positives, negatives []float64) []metric.Scored {
	var out []metric.Scored
	for _, v := range positives {
		out = append(out, metric.Scored{Cluster: cluster, Positive: true, Score: v})
	}
	for _, v := range negatives {
		out = append(out, metric.Scored{Cluster: cluster, Score: v})
	}
	return out
}

// TestAUC: pairs in order, counted by hand.
func TestAUC(t *testing.T) {
	for _, c := range []struct {
		name                 string
		positives, negatives []float64
		want                 float64
	}{
		{"all in order", []float64{3, 4}, []float64{1, 2}, 1},
		{"none in order", []float64{1, 2}, []float64{3, 4}, 0},
		{"all equal", []float64{1, 1}, []float64{1}, 0.5},
		{"three of four", []float64{2, 4}, []float64{1, 3}, 0.75},
		{"a tie is half: 1 + ½ + 1 + 1 of 4", []float64{2, 3}, []float64{1, 2}, 0.875},
	} {
		var a metric.Concordance
		a.Add(scored("a", c.positives, c.negatives))
		if got := a.AUC(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	var none metric.Concordance
	if !math.IsNaN(none.AUC()) {
		t.Error("no pair has an AUC")
	}
}

// TestBlocks: scores of two blocks are not compared. Pooled, this would be 0.75.
func TestBlocks(t *testing.T) {
	var c metric.Concordance
	c.Add(scored("a", []float64{2}, []float64{1}))
	c.Add(scored("b", []float64{12}, []float64{11}))
	if got := c.AUC(); got != 1 {
		t.Errorf("AUC %v, want 1", got)
	}
	lo, hi, method := c.Interval(metric.Options{}, "")
	if want := math.Sqrt(0.025); math.Abs(lo-want) > 1e-9 || hi != 1 || method != metric.MethodCP+"2" {
		t.Errorf("two clusters: %v to %v by %s; want Clopper-Pearson on 2", lo, hi, method)
	}
}

// TestAUCInterval: of 95 % intervals over simulated clusters, that many cover the truth.
// Scores have a cluster's part and their own; the truth is Φ(1/√(2·(1+1))) = Φ(0.5).
func TestAUCInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const runs, clusters, size = 300, 30, 4
	truth := 0.5 * math.Erfc(-0.5/math.Sqrt2)
	covered := 0
	for i := range runs {
		var all []metric.Scored
		for k := range clusters {
			shift := rng.NormFloat64()
			var pos, neg []float64
			for range size {
				pos, neg = append(pos, 1+shift+rng.NormFloat64()), append(neg, shift+rng.NormFloat64())
			}
			all = append(all, scored(fmt.Sprint(k), pos, neg)...)
		}
		var c metric.Concordance
		c.Add(all)
		lo, hi, method := c.Interval(metric.Options{Seed: uint64(i), Resamples: 400}, "auc")
		if method != metric.MethodBootstrap || lo > c.AUC() || hi < c.AUC() {
			t.Fatalf("%v to %v by %s around %v", lo, hi, method, c.AUC())
		}
		// Within a cluster the shift cancels: those few pairs are truer than the rest.
		within, pairs := 0.5*math.Erfc(-1/math.Sqrt2/math.Sqrt2), float64(clusters)
		if want := (truth*(pairs-1) + within) / pairs; lo <= want && want <= hi {
			covered++
		}
	}
	if share := float64(covered) / runs; share < 0.90 || share > 0.99 {
		t.Errorf("%.1f %% of intervals cover the truth", 100*share)
	}
}

// TestAUCDifference: a clear difference is found, and of two of a kind few intervals
// leave out 0.
func TestAUCDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	drawn := func(shift float64) *metric.Concordance {
		var c metric.Concordance
		for k := range 20 {
			var pos, neg []float64
			for range 5 {
				pos, neg = append(pos, shift+rng.NormFloat64()), append(neg, rng.NormFloat64())
			}
			c.Add(scored(fmt.Sprint(k), pos, neg))
		}
		return &c
	}
	if d, lo, hi, ok := metric.Difference(drawn(3), drawn(0.5), metric.Options{}, "d"); !ok || lo <= 0 || d < lo || d > hi {
		t.Errorf("clear less faint: %v (%v to %v), %v", d, lo, hi, ok)
	}
	const runs = 100
	without := 0
	for i := range runs {
		if _, lo, hi, ok := metric.Difference(drawn(0.5), drawn(0.5), metric.Options{Seed: uint64(i), Resamples: 400}, "d"); !ok || lo > 0 || hi < 0 {
			without++
		}
	}
	if without > 12 {
		t.Errorf("%d of %d intervals of no difference leave out 0", without, runs)
	}
}

// TestProportion: the same rules as for a rate of trials.
func TestProportion(t *testing.T) {
	e := metric.Proportion([][2]int{{1, 1}, {0, 1}, {1, 1}, {1, 1}, {0, 0}}, metric.Options{}, "")
	lo, hi := metric.Wilson(3, 4)
	if e.Passes != 3 || e.Valid != 4 || *e.Value != 75 || *e.CI95 != [2]float64{100 * lo, 100 * hi} {
		t.Errorf("%+v", e)
	}
	if e := metric.Proportion(nil, metric.Options{}, ""); e.Value != nil {
		t.Errorf("%+v", e)
	}
}
