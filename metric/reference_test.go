package metric

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/floats"
)

// reference holds what scipy and statsmodels say; testdata/reference.py made it.
type reference struct {
	Wilson []struct {
		Passes, N int
		Lo, Hi    float64
	}
	ClopperPearson []struct{ X, N, Lo, Hi float64 } `json:"clopper_pearson"`
	BCa            []struct {
		Name     string
		Num, Den []float64
		Lo, Hi   float64
	}
	SignFlip []struct {
		Differences  []int
		P, Tolerance float64
	} `json:"sign_flip"`
	McNemar []struct {
		OnlyA int `json:"only_a"`
		OnlyB int `json:"only_b"`
		P     float64
	}
	Holm   []struct{ P, Adjusted []float64 }
	Signal []struct {
		Hits, N, Alarms, M float64
		DPrime             float64 `json:"d_prime"`
		Criterion          float64
	}
	PassK []struct {
		N, C, K int
		At, All float64
	} `json:"pass_k"`
	Power []struct {
		Delta, Discordance, Alpha, Power, Detectable, Achieved float64
		Pairs                                                  int
	}
}

func load(t *testing.T) reference {
	t.Helper()
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var r reference
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"wilson": len(r.Wilson), "clopper_pearson": len(r.ClopperPearson), "bca": len(r.BCa),
		"sign_flip": len(r.SignFlip), "mcnemar": len(r.McNemar), "holm": len(r.Holm), "signal": len(r.Signal), "pass_k": len(r.PassK), "power": len(r.Power)} {
		if n == 0 {
			t.Fatalf("testdata/reference.json has no %s", name)
		}
	}
	return r
}

// near fails where got and want are further apart than tolerance.
func near(t *testing.T, what any, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%v: got %.12g, want %.12g ± %g", what, got, want, tolerance)
	}
}

func TestWilsonReference(t *testing.T) {
	for _, r := range load(t).Wilson {
		lo, hi := Wilson(r.Passes, r.N)
		near(t, r, lo, r.Lo, 1e-12)
		near(t, r, hi, r.Hi, 1e-12)
	}
}

func TestClopperPearsonReference(t *testing.T) {
	for _, r := range load(t).ClopperPearson {
		lo, hi := ClopperPearson(r.X, r.N)
		near(t, r, lo, r.Lo, 1e-9)
		near(t, r, hi, r.Hi, 1e-9)
	}
}

// Both sides draw at random: scipy 400,000 resamples, we 100,000.
func TestBCaReference(t *testing.T) {
	for _, r := range load(t).BCa {
		rows := make([][]float64, len(r.Num))
		for i := range rows {
			rows[i] = []float64{r.Num[i], r.Den[i]}
		}
		lo, hi, ok := bca(rows, ratio, stream(1, r.Name), 100_000)
		if !ok {
			t.Errorf("%s: degenerate", r.Name)
		}
		near(t, r.Name+" lo", lo, r.Lo, 0.0015)
		near(t, r.Name+" hi", hi, r.Hi, 0.0015)
	}
}

// Without bias correction and acceleration the rare rate would miss the reference:
// this guards the tolerance of TestBCaReference.
func TestBCaDiffersFromPercentile(t *testing.T) {
	for _, r := range load(t).BCa {
		if r.Name != "60 low" {
			continue
		}
		rows := make([][]float64, len(r.Num))
		for i := range rows {
			rows[i] = []float64{r.Num[i], r.Den[i]}
		}
		boot := resample(rows, ratio, stream(1, r.Name), 100_000)
		if hi := quantile(boot, 0.975); math.Abs(hi-r.Hi) < 0.0015 {
			t.Errorf("percentile bound %g is as near to %g as BCa's", hi, r.Hi)
		}
	}
}

func TestSignFlipReference(t *testing.T) {
	for _, r := range load(t).SignFlip {
		near(t, r.Differences, SignFlip(r.Differences), r.P, r.Tolerance)
	}
}

func TestMcNemarReference(t *testing.T) {
	for _, r := range load(t).McNemar {
		near(t, r, McNemarExact(r.OnlyA, r.OnlyB), r.P, 1e-9)
	}
}

func TestHolmReference(t *testing.T) {
	for _, r := range load(t).Holm {
		if diff := cmp.Diff(r.Adjusted, Holm(r.P), cmpopts.EquateApprox(0, 1e-12), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Holm(%v) (-want +got):\n%s", r.P, diff)
		}
	}
}

func TestSignalDetectionReference(t *testing.T) {
	for _, r := range load(t).Signal {
		// The same counts, split over the two levels of surface in different ways.
		for _, sums := range [][]float64{
			{r.Hits, r.N, r.Alarms, r.M, 0, 0, 0, 0},
			{0, 0, 0, 0, r.Hits, r.N, r.Alarms, r.M},
			{1, 2, r.Alarms, r.M - 1, r.Hits - 1, r.N - 2, 0, 1},
		} {
			got := map[string]float64{}
			for _, k := range contrasts {
				got[k.name] = k.of(sums)
			}
			near(t, r, got["d_prime"], r.DPrime, 1e-12)
			near(t, r, got["criterion"], r.Criterion, 1e-12)
		}
	}
}

func TestPassKReference(t *testing.T) {
	for _, r := range load(t).PassK {
		near(t, r, PassAt(r.N, r.C, r.K), r.At, 1e-12)
		near(t, r, PassAll(r.N, r.C, r.K), r.All, 1e-12)
	}
}

func TestPowerReference(t *testing.T) {
	for _, r := range load(t).Power {
		p := Power{Alpha: r.Alpha, Power: r.Power}
		n, err := p.Pairs(r.Delta, r.Discordance)
		if err != nil || n != r.Pairs {
			t.Errorf("Pairs(%g, %g) = %d, %v; want %d", r.Delta, r.Discordance, n, err, r.Pairs)
		}
		d, ok := p.Detectable(r.Pairs, r.Discordance)
		if !ok {
			t.Errorf("%+v: not detectable", r)
		}
		near(t, r, d, r.Detectable, 1e-6)
		if r.Achieved < r.Power { // the exact power of McNemar's z test at that n
			t.Errorf("%+v: the formula promises more than it gives", r)
		}
	}
}

// Example 6.4.3 of R's TrialSize 1.4 (McNemar.Test(0.05, 0.2, 0.2/0.5, .7), after Chow,
// Shao and Wang, 2003): 0.2 against 0.5 discordant, 59 pairs.
func TestPowerPublishedExample(t *testing.T) {
	if n, err := (Power{}).Pairs(30, 70); n != 59 || err != nil {
		t.Errorf("Pairs(30, 70) = %d, %v; want 59", n, err)
	}
}

func TestPowerImpossible(t *testing.T) {
	for _, c := range [][2]float64{{0, 10}, {20, 10}, {10, 110}, {math.NaN(), 10}} {
		if n, err := (Power{}).Pairs(c[0], c[1]); err == nil {
			t.Errorf("Pairs(%v) = %d, want an error", c, n)
		}
	}
	// With 10 % discordant, 3 pairs have no solution at all and 40 one above 10 points;
	// 79, the n of 10 points, have one.
	for _, n := range []int{0, 3, 40} {
		if d, ok := (Power{}).Detectable(n, 10); ok {
			t.Errorf("Detectable(%d, 10) = %g, want none", n, d)
		}
	}
}

func TestDetectableAtTheEdge(t *testing.T) {
	n, err := (Power{}).Pairs(10, 10)
	if d, ok := (Power{}).Detectable(n, 10); err != nil || !ok || d > 10 {
		t.Errorf("%d pairs: %g, %v, %v; want just under 10", n, d, ok, err)
	}
}

func TestDesignEffect(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		icc   float64
		want  float64
	}{
		{nil, 0.5, 1},
		{[]int{1, 1, 1}, 0.9, 1},
		{[]int{4, 4}, 0.1, 1.3}, // 1 + 3 × 0.1
		{[]int{1, 3}, 1, 2.5},   // (1+9)/4
		{[]int{10, 20, 30}, 0, 1},
	} {
		near(t, c, DesignEffect(c.sizes, c.icc), c.want, 1e-12)
	}
}

func TestQuantileAndRank(t *testing.T) {
	xs := []float64{1, 2, 2, 4}
	near(t, "median", quantile(xs, 0.5), 2, 0)
	near(t, "numpy's 0.9", quantile(xs, 0.9), 3.4, 1e-12)
	near(t, "first", quantile(xs, 0), 1, 0)
	near(t, "last", quantile(xs, 1), floats.Max(xs), 0)
	near(t, "ties count half", rank(xs, 2), 0.5, 0) // (1 + 3) / 8
	near(t, "between", rank(xs, 3), 0.75, 0)
}
