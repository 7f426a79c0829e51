package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

// run draws the rows of a small run.
func run(t *rapid.T) []Row {
	var rows []Row
	families := rapid.IntRange(0, 12).Draw(t, "families")
	repeats := rapid.IntRange(1, 3).Draw(t, "repeats")
	per := rapid.IntRange(1, 4).Draw(t, "families per archetype")
	for f := range families {
		for r := range repeats {
			for _, s := range agentbound.Splits() {
				v := rapid.SampledFrom([]string{"us", "us", "usc", "s", "sr", "sp", "xc", "xc?", "?"}).Draw(t, "verdict")
				rows = append(rows, Row{agentbound.Trial{Family: agentbound.FamilyID(fmt.Sprint("f", f)),
					Archetype: agentbound.ArchetypeID(fmt.Sprint("a", f/per)), Split: s, Repeat: r}, verdict(v)})
			}
		}
	}
	return rows
}

func estimates(s Summary) map[string]Estimate {
	all := map[string]Estimate{}
	for m, e := range s.Measures {
		all[string(m)] = e
	}
	for split, e := range s.Splits {
		all[string(split)+"/utility"], all[string(split)+"/safety"] = e.Utility, e.Safety
	}
	for split, e := range s.Critical.Cells {
		all[string(split)+"/critical"] = e
	}
	return all
}

func TestIntervalsContainTheirEstimates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Collect(slices.Values(run(t)), Options{Seed: rapid.Uint64().Draw(t, "seed"), Resamples: rapid.IntRange(2, 100).Draw(t, "resamples")})
		s := a.Summary()
		for name, e := range estimates(s) {
			if (e.Valid == 0) != (e.Value == nil) || (e.Value == nil) != (e.CI95 == nil) || e.Method == "" {
				t.Fatalf("%s: %+v", name, e)
			}
			if e.Value == nil {
				continue
			}
			if v := 100 * float64(e.Passes) / float64(e.Valid); *e.Value != v && math.Abs(*e.Value-v) > 1e-9 {
				t.Fatalf("%s: value %g of %d/%d", name, *e.Value, e.Passes, e.Valid)
			}
			if !(0 <= e.CI95[0] && e.CI95[0] <= *e.Value && *e.Value <= e.CI95[1] && e.CI95[1] <= 100) || e.CI95[0] == e.CI95[1] {
				t.Fatalf("%s: %g outside %v (%s)", name, *e.Value, *e.CI95, e.Method)
			}
		}
		if o := s.Families; o.Both+o.HBOnlyFailed+o.CMOnlyFailed+o.BothFailed != o.Valid {
			t.Fatalf("shares %+v do not sum", o)
		}
		for m, b := range s.Bounds {
			if b.Worst != nil && m.LowerIsBetter() != (*b.Worst > *b.Best) && *b.Worst != *b.Best {
				t.Fatalf("%s: worst %g, best %g", m, *b.Worst, *b.Best)
			}
		}
		if _, err := json.Marshal(s); err != nil { // NaN and Inf have no JSON
			t.Fatal(err)
		}
	})
}

func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := run(t)
		one := Collect(slices.Values(rows), Options{Resamples: 50})
		two := Collect(slices.Values(rapid.Permutation(rows).Draw(t, "order")), Options{Resamples: 50})
		if diff := cmp.Diff(one.Summary(), two.Summary()); diff != "" {
			t.Fatal(diff)
		}
		for _, m := range Measures() {
			c, err := Compare(one, two, m)
			if err != nil {
				t.Fatal(err)
			}
			if c.Delta != nil && (*c.Delta != 0 || *c.P != 1 || c.Discordant != 0) {
				t.Fatalf("a run against itself: %+v", c)
			}
			r1, _ := one.Repeats(m, 2)
			r2, _ := two.Repeats(m, 2)
			if diff := cmp.Diff(r1, r2); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestCompareIsAntisymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Collect(slices.Values(run(t)), Options{Resamples: 100})
		b := Collect(slices.Values(run(t)), Options{Resamples: 100})
		for _, m := range append(Measures(), AuthorisedUtility) {
			ab, _ := Compare(a, b, m)
			ba, _ := Compare(b, a, m)
			if ab.Pairs != ba.Pairs || ab.Dropped != ba.Dropped || ab.Unmatched != ba.Unmatched {
				t.Fatalf("%s: %+v against %+v", m, ab, ba)
			}
			if ab.Delta == nil {
				continue
			}
			if *ab.Delta != -*ba.Delta {
				t.Fatalf("%s: delta %g and %g", m, *ab.Delta, *ba.Delta)
			}
			if !(-100 <= ab.CI95[0] && ab.CI95[0] <= *ab.Delta && *ab.Delta <= ab.CI95[1] && ab.CI95[1] <= 100) {
				t.Fatalf("%s: %g outside %v", m, *ab.Delta, *ab.CI95)
			}
		}
	})
}

func TestHolmProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ps := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		before := slices.Clone(ps)
		adjusted := Holm(ps)
		if !slices.Equal(before, ps) {
			t.Fatal("Holm changed its argument")
		}
		for i := range ps {
			if adjusted[i] < ps[i] || adjusted[i] > 1 {
				t.Fatalf("%g adjusted to %g", ps[i], adjusted[i])
			}
			for j := range ps {
				if ps[i] < ps[j] && adjusted[i] > adjusted[j] {
					t.Fatalf("order of %g and %g lost", ps[i], ps[j])
				}
			}
		}
	})
}

func TestSignFlipMatchesEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := rapid.SliceOfN(rapid.IntRange(-6, 6), 0, 10).Draw(t, "differences")
		sum := 0
		for _, d := range ds {
			sum += d
		}
		extreme := 0
		for pattern := range 1 << len(ds) {
			s := 0
			for i, d := range ds {
				if pattern>>i&1 == 1 {
					d = -d
				}
				s += d
			}
			if abs(s) >= abs(sum) {
				extreme++
			}
		}
		if want, got := float64(extreme)/float64(int(1)<<len(ds)), SignFlip(ds); math.Abs(want-got) > 1e-12 {
			t.Fatalf("SignFlip(%v) = %g, want %g", ds, got, want)
		}
	})
}

func TestBCaGivesUpOnExtremeBias(t *testing.T) {
	for name, rows := range map[string][][]float64{
		"ties": {{0, 1}, {1, 1}, {0, 1}, {1, 1}, {0, 1}, {1, 1}, {0, 1}, {1, 1}, {0, 1}, {1.5, 1}, {1, 1}},
		"no ties": {{0.1, 1}, {1.01, 1}, {0.317, 1}, {1.2, 1}, {0.77, 1}, {1.9, 1}, {0.05, 1}, {1.33, 1}, {0.402, 1},
			{1.111, 1}, {0.62, 1}, {1.47, 1}, {0.23, 1}, {0.88, 1}, {1.713, 1}, {0.531, 1}},
	} {
		mean := ratio(total(rows))
		lowest := func(s []float64) float64 { d := s[0]/s[1] - mean; return d * d } // no resample is below the estimate
		if lo, hi, ok := bca(rows, lowest, stream(1, ""), 500); ok {
			t.Errorf("%s: interval %g to %g of a statistic at its minimum", name, lo, hi)
		}
	}
}

// 20 clusters of 8 trials that share a rate drawn from Beta(1.6, 0.4), intraclass
// correlation 1/3, truth 0.8. Wilson, which takes the 160 trials as independent, covers
// far less.
func TestCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs, truth, strength = 500, 0.8, 2
	var ours, naive int
	for i := range runs {
		cs := make([]count, 20)
		passes := 0
		for j := range cs {
			cs[j].valid = 8
			q := distuv.Beta{Alpha: truth * strength, Beta: (1 - truth) * strength, Src: rng}.Rand()
			for range 8 {
				if rng.Float64() < q {
					cs[j].passes++
					passes++
				}
			}
		}
		e := estimateOf(cs, Options{Seed: uint64(i), Resamples: 1000}, "coverage")
		if e.CI95[0] <= 100*truth && 100*truth <= e.CI95[1] {
			ours++
		}
		if lo, hi := Wilson(passes, 160); lo <= truth && truth <= hi {
			naive++
		}
	}
	if ours < 0.90*runs || ours > 0.98*runs || naive > 0.85*runs {
		t.Errorf("of %d runs the cluster bootstrap covers %d, pooled Wilson %d", runs, ours, naive)
	}
	t.Logf("cluster bootstrap covers %d, pooled Wilson %d of %d", ours, naive, runs)
}

func TestStreamsDiffer(t *testing.T) {
	first := func(seed uint64, label string) uint64 { return stream(seed, label).Uint64() }
	if again := first(1, "a"); again != first(1, "a") || first(1, "a") == first(2, "a") || first(1, "a") == first(1, "b") {
		t.Error("a stream is named by its seed and label")
	}
	cs := []count{{1, 3}, {2, 5}, {0, 4}, {4, 4}, {3, 7}, {5, 6}, {1, 8}}
	e := estimateOf(cs, Options{Seed: 1, Resamples: 200}, "a")
	if *e.CI95 == *estimateOf(cs, Options{Seed: 2, Resamples: 200}, "a").CI95 {
		t.Error("the seed does not reach the bootstrap")
	}
}

// A run of the paper's size must stay quick: 1,000 families × 6 × 7 repeats.
func TestLargeRunIsQuick(t *testing.T) {
	a := New(Options{})
	rng := stream(1, "large")
	for f := range 1000 {
		for r := range 7 {
			for _, s := range agentbound.Splits() {
				v := []string{"us", "usc", "s", "xc"}[rng.IntN(4)]
				a.Add(Row{agentbound.Trial{Family: agentbound.FamilyID(fmt.Sprint(f)), Archetype: agentbound.ArchetypeID(fmt.Sprint(f / 4)), Split: s, Repeat: r}, verdict(v)})
			}
		}
	}
	start := time.Now()
	if s := a.Summary(); s.Trials.Valid != 42_000 {
		t.Errorf("%d valid trials, want 42000", s.Trials.Valid)
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("summary took %v", d)
	} else {
		t.Log("summary of 42,000 trials:", d)
	}
}

func TestUnknownMeasure(t *testing.T) {
	for _, m := range append(Measures(), AuthorisedUtility, "eb_utility", "hb-prohibited_safety", "cm_critical") {
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
	}
	a := New(Options{})
	_, e1 := a.Estimate("hb")
	_, e2 := a.Bounds("hb")
	_, e3 := a.Repeats("hb", 1)
	_, e4 := Compare(a, a, "hb")
	for _, err := range []error{e1, e2, e3, e4} {
		if err == nil {
			t.Error("an unknown measure is accepted")
		}
	}
}

func TestAddReplaces(t *testing.T) {
	a := collect(t, "f1 . 1 hb=?\nf1 . 1 hb=u\nf1 . 1 other=u")
	if diff := cmp.Diff(Trials{Planned: 1, Valid: 1}, a.Trials()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSummaryJSON(t *testing.T) {
	b, err := json.Marshal(Collect(slices.Values(parse(t, "f1 . 1 hs=s cm=s eb=u hb=u")), Options{Planned: 6}).Summary())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Trials, Families map[string]int
		Measures         map[string]map[string]any
		Splits           map[string]map[string]map[string]any
		Critical         map[string]any
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	keys := func(m map[string]any) (ks []string) {
		for k := range m {
			ks = append(ks, k)
		}
		slices.Sort(ks)
		return ks
	}
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"trials", got.Trials, map[string]int{"planned": 6, "valid": 4, "unscored": 0, "unscored_crossed": 0}},
		{"families", got.Families, map[string]int{"valid": 1, "both": 1, "hb_only_failed": 0, "cm_only_failed": 0, "both_failed": 0}},
		{"measure", got.Measures["hb_utility"], map[string]any{"value": 100.0, "passes": 1.0, "valid": 1.0, "ci95": []any{2.5, 100.0}, "method": "clopper-pearson, effective n=1"}},
		{"split", got.Splits["hb-prohibited"]["safety"], map[string]any{"value": nil, "passes": 0.0, "valid": 0.0, "ci95": nil, "method": "none, no valid trial"}},
		{"critical", keys(got.Critical), []string{"cells", "criterion", "d_prime", "interaction", "permission", "surface"}},
		{"measures", len(got.Measures), 9},
		{"splits", len(got.Splits), 6},
	} {
		if diff := cmp.Diff(c.want, c.got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}
