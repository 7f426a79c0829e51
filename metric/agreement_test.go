package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
)

func scoresOf(cluster, a, b []int) (out []Scores) {
	for i := range a {
		t := agentbound.Trial{Family: "f", Archetype: agentbound.ArchetypeID(fmt.Sprintf("c%03d", cluster[i])), Repeat: i}
		out = append(out, Scores{t, a[i], b[i]})
	}
	return out
}

// TestAgreementReference: what scikit-learn, statsmodels and scipy say of the same scores
// (testdata/agreement.py).
func TestAgreementReference(t *testing.T) {
	var reference struct {
		Cases []struct {
			Name          string
			Cluster, A, B []int
			Confusion     [4][4]int
			Kappa, Exact  float64
			PassKappa     float64 `json:"pass_kappa"`
			WithinOne     float64 `json:"within_one"`
			SamePass      float64 `json:"same_pass"`
			Lo, Hi        float64
		}
	}
	b, err := os.ReadFile("testdata/agreement.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &reference); err != nil {
		t.Fatal(err)
	}
	if len(reference.Cases) != 3 {
		t.Fatalf("%d cases", len(reference.Cases))
	}
	for _, c := range reference.Cases {
		got := Agree(scoresOf(c.Cluster, c.A, c.B), Options{Resamples: 20_000}, "x")
		if d := cmp.Diff(c.Confusion, got.Confusion); d != "" || got.Pairs != len(c.A) {
			t.Errorf("%s: %d pairs: %s", c.Name, got.Pairs, d)
		}
		near(t, c.Name, *got.Kappa.Value, c.Kappa, 1e-12)
		near(t, c.Name, *got.PassKappa.Value, c.PassKappa, 1e-12)
		near(t, c.Name, *got.Exact.Value, 100*c.Exact, 1e-9)
		near(t, c.Name, *got.WithinOne.Value, 100*c.WithinOne, 1e-9)
		near(t, c.Name, *got.SamePass.Value, 100*c.SamePass, 1e-9)
		near(t, c.Name, got.Kappa.CI95[0], c.Lo, 0.02)
		near(t, c.Name, got.Kappa.CI95[1], c.Hi, 0.02)
	}
}

// TestKappaByHand: two judges of ten trials, 3·3 five times, 0·0 twice, 3·2 twice, 0·3 once.
// Weighted: Σ wO = 2·1 + 1·9 = 11; the margins are 3 (0) and 7 (3) of a, 2 (0), 2 (2) and
// 6 (3) of b, so that Σ wE = (3·2·4 + 3·6·9 + 7·2·9 + 7·2·1)/10 = 32.6. Of passing: one
// differs; a passes 7, b 8 of 10, so that (3·8 + 7·2)/10 = 3.8 are expected to.
func TestKappaByHand(t *testing.T) {
	a := []int{3, 3, 3, 3, 3, 0, 0, 3, 3, 0}
	b := []int{3, 3, 3, 3, 3, 0, 0, 2, 2, 3}
	got := Agree(scoresOf(make([]int, 10), a, b), Options{}, "x")
	near(t, "weighted", *got.Kappa.Value, 1-11/32.6, 1e-12)
	near(t, "passing", *got.PassKappa.Value, 1-1/3.8, 1e-12)
	if got.Passing != [2][2]int{{2, 1}, {0, 7}} || got.WithinOne.Passes != 9 || got.Exact.Passes != 7 || got.SamePass.Passes != 9 {
		t.Errorf("%+v", got)
	}
	if got.Kappa.CI95 != nil { // one cluster
		t.Errorf("an interval %v of one cluster", got.Kappa.CI95)
	}
}

func TestKappaAtTheEdges(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []int
		want float64
	}{
		"nothing":            {nil, nil, math.NaN()},
		"one score":          {[]int{3, 3}, []int{3, 3}, math.NaN()},
		"all alike":          {[]int{0, 1, 2, 3}, []int{0, 1, 2, 3}, 1},
		"all contrary":       {[]int{0, 3}, []int{3, 0}, -1},
		"one judge is bored": {[]int{0, 3, 0, 3}, []int{3, 3, 3, 3}, 0},
		"out of range":       {[]int{0, 3, 4, -1}, []int{0, 3, 0, 0}, 1},
	} {
		got := Agree(scoresOf([]int{0, 1, 2, 3}, c.a, c.b), Options{}, "x").Kappa
		if (got.Value == nil) != math.IsNaN(c.want) || got.Value != nil && math.Abs(*got.Value-c.want) > 1e-12 {
			t.Errorf("%s: %+v, want %g", name, got, c.want)
		}
	}
}

// TestAgreementOrder: rows may come in any order.
func TestAgreementOrder(t *testing.T) {
	a, b, c := []int{0, 3, 2, 1, 3, 2, 0}, []int{1, 3, 2, 0, 3, 0, 0}, []int{0, 1, 2, 3, 4, 5, 6}
	forth := scoresOf(c, a, b)
	var back []Scores
	for i := range forth {
		back = append(back, forth[len(forth)-1-i])
	}
	if d := cmp.Diff(Agree(forth, Options{}, "x"), Agree(back, Options{}, "x")); d != "" {
		t.Error(d)
	}
}
