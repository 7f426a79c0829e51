package metric_test

import (
	"math"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/metric"
)

// TestNewcombe holds the worked examples of Newcombe (1998), table II, method 10.
func TestNewcombe(t *testing.T) {
	for _, c := range []struct {
		a, b   [2]int
		lo, hi float64
	}{
		{[2]int{56, 70}, [2]int{48, 80}, 0.0524, 0.3339},
		{[2]int{9, 10}, [2]int{3, 10}, 0.1705, 0.8090},
		{[2]int{5, 56}, [2]int{0, 29}, -0.0381, 0.1926},
		{[2]int{10, 10}, [2]int{0, 10}, 0.6075, 1},
	} {
		lo, hi := metric.Newcombe(c.a, c.b)
		if math.Abs(lo-c.lo) > 5e-5 || math.Abs(hi-c.hi) > 5e-5 {
			t.Errorf("%v - %v: %.4f to %.4f, want %.4f to %.4f", c.a, c.b, lo, hi, c.lo, c.hi)
		}
	}
}

func near(x *float64, want float64) bool { return x != nil && math.Abs(*x-want) < 1e-9 }

// TestEstimateFork is worked by hand. Decisions of trial a: 1/4 → 3/4 (+50) and one that was
// left alone (0); of b: 2/4 → 1/2 (0, two samples lost); of c: nothing scored in an arm,
// which does not count. The mean over three is 50/3; over the edited ones 25.
func TestEstimateFork(t *testing.T) {
	forks := []metric.Forked{
		{Cluster: "b", Edited: true, Control: [2]int{2, 4}, Treated: [2]int{1, 2}},
		{Cluster: "a", Edited: true, Control: [2]int{1, 4}, Treated: [2]int{3, 4}},
		{Cluster: "a"},
		{Cluster: "c", Edited: true, Control: [2]int{0, 0}, Treated: [2]int{4, 4}},
	}
	e := metric.EstimateFork(forks, metric.Options{}, "utility")
	if !near(e.Delta, 50./3) || !near(e.Control, 37.5) || !near(e.Treated, 62.5) || e.Decisions != 3 || e.Clusters != 2 || e.Samples != [2]int{8, 6} {
		t.Errorf("got %+v", e)
	}
	if !strings.HasPrefix(e.Method, "rescaled clopper-pearson, effective n=2") || e.CI95[0] > *e.Delta || e.CI95[1] < *e.Delta {
		t.Errorf("%s, %v", e.Method, e.CI95)
	}
	edited := metric.EstimateFork([]metric.Forked{forks[0], forks[1]}, metric.Options{}, "utility")
	if !near(edited.Delta, 25) {
		t.Errorf("edited: %v", *edited.Delta)
	}
	one := metric.EstimateFork(forks[1:2], metric.Options{}, "utility")
	lo, hi := metric.Newcombe([2]int{3, 4}, [2]int{1, 4})
	if !near(one.Delta, 50) || one.CI95[0] != 100*lo || one.CI95[1] != 100*hi {
		t.Errorf("one decision: %+v", one)
	}
	if alone := metric.EstimateFork(forks[2:3], metric.Options{}, "utility"); !near(alone.Delta, 0) || alone.Control != nil || !strings.HasPrefix(alone.Method, "discordance bound") {
		t.Errorf("left alone: %+v", alone)
	}
	if none := metric.EstimateFork(forks[3:], metric.Options{}, "utility"); none.Delta != nil || none.CI95 != nil || none.Decisions != 0 {
		t.Errorf("nothing scored: %+v", none)
	}
}

// TestEstimateForkClusters: decisions of one trial stand or fall together. Ten trials of two
// decisions each give the interval of ten, not of twenty.
func TestEstimateForkClusters(t *testing.T) {
	var twice, once []metric.Forked
	for i := range 10 {
		f := metric.Forked{Cluster: string(rune('a' + i)), Edited: true, Control: [2]int{i % 3, 4}, Treated: [2]int{1 + i%4, 4}}
		once = append(once, f)
		twice = append(twice, f, f)
	}
	o := metric.Options{Seed: 1}
	a, b := metric.EstimateFork(once, o, "x"), metric.EstimateFork(twice, o, "x")
	if a.Method != metric.MethodBootstrap || *a.CI95 != *b.CI95 || *a.Delta != *b.Delta || b.Decisions != 20 || b.Clusters != 10 {
		t.Errorf("once %+v %v, twice %+v %v", a, a.CI95, b, b.CI95)
	}
}
