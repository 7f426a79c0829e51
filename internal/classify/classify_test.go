package classify_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agentbound/agentbound/internal/classify"
	"github.com/agentbound/agentbound/metric"
)

// reference is what scikit-learn gives; testdata/reference.py wrote it.
type reference struct {
	Source       string
	Texts        []string
	Positive     []bool
	Train        []int
	Pairs        [][2]int
	Lengths      [][]float64
	Rows         []map[string]float64
	Scores       []float64
	Intercept    float64
	Weights      map[string]float64
	AUC          float64
	StrongScores []float64 `json:"strong_scores"`
	NumberScores []float64 `json:"number_scores"`
	PairScores   []float64 `json:"pair_scores"`
}

func load(t *testing.T) (r reference, c *classify.Corpus, m *classify.Matrix) {
	t.Helper()
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	groups := make([]int, len(r.Texts))
	for i := range groups {
		groups[i] = i
	}
	c = classify.NewCorpus(r.Texts, groups)
	m = c.Rows(r.Train, 1)
	return r, c, m
}

func within(tolerance float64) cmp.Option { return cmpopts.EquateApprox(0, tolerance) }

// name is a column as the reference writes it.
func name(c *classify.Corpus, k int) string {
	if c.Phrase(k) {
		return "w:" + c.Names[k]
	}
	return "c:" + c.Names[k]
}

func TestTFIDF(t *testing.T) {
	r, c, m := load(t)
	for i, want := range r.Rows {
		got := map[string]float64{}
		unit := make([]float64, m.Columns)
		for k := range unit {
			unit[k] = 1
			if v := m.Dot(i, unit); v != 0 {
				got[name(c, k)] = v
			}
			unit[k] = 0
		}
		if d := cmp.Diff(want, got, within(1e-12)); d != "" {
			t.Errorf("text %d (%s): %s", i, r.Source, d)
		}
	}
}

func TestLogistic(t *testing.T) {
	r, c, m := load(t)
	tight := classify.Fitting{Tolerance: 1e-9}
	l := fit(t, m, r.Positive, r.Train, tight)
	if d := cmp.Diff(r.Scores, scores(l, m), within(1e-6)); d != "" {
		t.Errorf("scores (%s): %s", r.Source, d)
	}
	if math.Abs(l.Intercept-r.Intercept) > 1e-6 {
		t.Errorf("intercept %v, want %v", l.Intercept, r.Intercept)
	}
	for k, w := range l.Weights {
		if math.Abs(w-r.Weights[name(c, k)]) > 1e-6 {
			t.Errorf("weight of %q: %v, want %v", name(c, k), w, r.Weights[name(c, k)])
		}
	}
	if l := fit(t, m, r.Positive, r.Train, classify.Fitting{C: 20, Tolerance: 1e-9}); !cmp.Equal(r.StrongScores, scores(l, m), within(1e-5)) {
		t.Error("C = 20:", cmp.Diff(r.StrongScores, scores(l, m), within(1e-5)))
	}
	// The tolerance that audits use changes no score by more than this.
	if d := cmp.Diff(r.Scores, scores(fit(t, m, r.Positive, r.Train, classify.Fitting{}), m), within(1e-3)); d != "" {
		t.Error(d)
	}
	var a metric.Concordance
	var all []metric.Scored
	for i, s := range scores(l, m) {
		all = append(all, metric.Scored{Cluster: "one", Positive: r.Positive[i], Score: s})
	}
	a.Add(all)
	if got := a.AUC(); math.Abs(got-r.AUC) > 1e-12 {
		t.Errorf("AUC %v, want %v", got, r.AUC)
	}
}

func TestNumbers(t *testing.T) {
	r, _, _ := load(t)
	m := classify.Standardise(r.Lengths, r.Train)
	l := fit(t, m, r.Positive, r.Train, classify.Fitting{Tolerance: 1e-9})
	if d := cmp.Diff(r.NumberScores, scores(l, m), within(1e-6)); d != "" {
		t.Error(d)
	}
	flat := classify.Standardise([][]float64{{3, 1}, {3, 2}}, []int{0, 1})
	if got := flat.Dot(0, []float64{1, 1}); got != -1 {
		t.Errorf("a column without spread counts: %v, want -1", got)
	}
}

// TestPairs: a model of differences, without an intercept, ranks the two of a pair.
func TestPairs(t *testing.T) {
	r, _, m := load(t)
	d := m.Differences(r.Pairs)
	l := fit(t, d, []bool{true, true, true, true}, []int{0, 1, 2, 3}, classify.Fitting{NoConstant: true, Tolerance: 1e-9})
	if diff := cmp.Diff(r.PairScores, scores(l, m), within(1e-6)); diff != "" {
		t.Error(diff)
	}
}

func fit(t *testing.T, m *classify.Matrix, positive []bool, train []int, o classify.Fitting) classify.Logistic {
	t.Helper()
	l, err := classify.Fit(m, positive, train, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func scores(l classify.Logistic, m *classify.Matrix) []float64 {
	out := make([]float64, m.Rows())
	for i := range out {
		out[i] = l.Score(m, i)
	}
	return out
}

// TestMinGroups: a term of one group alone is left out, however often it says it.
func TestMinGroups(t *testing.T) {
	c := classify.NewCorpus([]string{"red ball", "red ball", "red door", "blue door"}, []int{0, 0, 1, 2})
	m := c.Rows([]int{0, 1, 2, 3}, 2)
	for k, n := range c.Names {
		unit := make([]float64, m.Columns)
		unit[k] = 1
		kept := m.Dot(0, unit)+m.Dot(2, unit)+m.Dot(3, unit) > 0
		if want := n == "red" || n == "door"; c.Phrase(k) && kept != want {
			t.Errorf("%q kept: %v", n, kept)
		}
	}
	if got := c.Texts(slices.Index(c.Names, "red"), []int{0, 2, 3}); got != 2 {
		t.Errorf("red in %d of three texts, want 2", got)
	}
}

func TestFolds(t *testing.T) {
	sizes := []int{1, 5, 2, 2, 3, 1, 1, 4, 1, 2, 3}
	seen := map[string]bool{}
	for seed := range uint64(20) {
		folds := classify.Folds(sizes, 4, rand.New(rand.NewPCG(seed, 0)))
		filled := make([]int, 4)
		for g, f := range folds {
			filled[f] += sizes[g]
		}
		if lo, hi := slices.Min(filled), slices.Max(filled); hi-lo > 2 {
			t.Errorf("folds of %v texts", filled)
		}
		var b strings.Builder
		for _, f := range folds {
			b.WriteByte(byte('0' + f))
		}
		seen[b.String()] = true
	}
	if len(seen) < 15 {
		t.Errorf("%d different shares in 20 seeds", len(seen))
	}
	if got := classify.Folds([]int{2, 2}, 5, rand.New(rand.NewPCG(1, 1))); got[0] == got[1] || max(got[0], got[1]) > 1 {
		t.Errorf("two groups in five folds: %v", got)
	}
}

func TestNothing(t *testing.T) {
	c := classify.NewCorpus(nil, nil)
	l, err := classify.Fit(c.Rows(nil, 2), nil, nil, classify.Fitting{})
	if err != nil || len(l.Weights) != 0 {
		t.Errorf("%v, %v", l, err)
	}
	same := classify.NewCorpus([]string{"", ""}, []int{0, 1})
	if _, err := classify.Fit(same.Rows([]int{0, 1}, 1), []bool{true, false}, []int{0, 1}, classify.Fitting{}); err != nil {
		t.Error(err)
	}
}

func FuzzCorpus(f *testing.F) {
	f.Add("Please send it.", "Wipe it, überall!")
	f.Fuzz(func(t *testing.T, a, b string) {
		c := classify.NewCorpus([]string{a, b}, []int{0, 1})
		m := c.Rows([]int{0, 1}, 1)
		l, err := classify.Fit(m, []bool{true, false}, []int{0, 1}, classify.Fitting{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Rows() {
			if s := l.Score(m, i); math.IsNaN(s) || math.IsInf(s, 0) {
				t.Errorf("score %v", s)
			}
		}
	})
}
