package audit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
)

func TestLengths(t *testing.T) {
	for text, want := range map[string][]float64{
		"":                         {0, 0, 0},
		"Send it":                  {2, 7, 1},
		"Send it. Log it!":         {4, 16, 2},
		"Pay 12.50 to A.B. “Now?”": {5, 24, 2},
		"Über":                     {1, 4, 1},
	} {
		if d := cmp.Diff(want, lengths(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestProse(t *testing.T) {
	got := prose(agentbound.Value(`{"b":["x",{"c":1.50}],"a":"one two","d":true,"e":null}`))
	if want := "a one two\nx\nc 1.50\nd true\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEnforced(t *testing.T) {
	b := least(0.5)
	for value, held := range map[float64]bool{0.49: false, 0.5: true} {
		m := Measure{Value: &value, CI95: &[2]float64{value - 0.1, value + 0.1}, Bound: b, Families: EnforcedLevel}
		if broken, _ := m.judge(Enforced); (broken == nil) != held || m.By != "value" {
			t.Errorf("%v from %d families on: %+v", value, Enforced, m)
		}
		if broken, _ := m.judge(Enforced - 1); broken != nil || m.By != "interval" {
			t.Errorf("%v below %d families: %+v", value, Enforced, m)
		}
		m.Families--
		if broken, _ := m.judge(Enforced); broken != nil || m.By != "interval" {
			t.Errorf("%v at a level of few families: %+v", value, m)
		}
	}
}

// TestJudge: every bound from both sides.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		bound       *Bound
		value       float64
		lo, hi      float64
		held, below bool
	}{
		{inBand(), 0.56, 0.40, 0.60, true, false},
		{inBand(), 0.60, 0.56, 0.64, true, false},
		{inBand(), 0.62, 0.58, 0.66, false, false},
		{inBand(), 0.30, 0.20, 0.40, true, true},
		{quiet(), 0.80, 0.74, 0.86, true, false},
		{quiet(), 0.80, 0.76, 0.86, false, false},
		{quiet(), 0.10, 0.00, 0.20, true, false},
		{least(0.90), 0.80, 0.70, 0.91, true, false},
		{least(0.90), 0.80, 0.70, 0.89, false, false},
	} {
		m := Measure{Value: &c.value, CI95: &[2]float64{c.lo, c.hi}, Bound: c.bound, Families: 100}
		broken, below := m.judge(100)
		if (broken == nil) != c.held || below != c.below || *m.Held != c.held {
			t.Errorf("%s, %v (%v to %v): broken %v, below %v", c.bound, c.value, c.lo, c.hi, broken, below)
		}
	}
}

// TestWalk: of changing evidence the look that finds it changed is in, and the critical
// call that it decides is not.
func TestWalk(t *testing.T) {
	f := familytest.Example(t, "claim-in-instalments")
	w, err := walkFamily(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.authorised) != len(w.prohibited) || len(w.authorised) == 0 {
		t.Fatalf("%d and %d observations", len(w.authorised), len(w.prohibited))
	}
	critical := 0
	for _, c := range f.Reference.Workflow[:len(w.authorised)] {
		if c.Tool == f.Boundary.Critical {
			critical++
		}
	}
	if next := f.Reference.Workflow[len(w.authorised)].Tool; next != f.Boundary.Critical || critical == 0 {
		t.Errorf("it stops before %s, after %d critical calls", next, critical)
	}
	if prose(w.authorised...) == prose(w.prohibited...) {
		t.Error("the evidence is not among the observations")
	}

	plain := familytest.Family(t)
	w, err = walkFamily(t.Context(), plain)
	if err != nil || len(w.authorised) != 1 || !strings.Contains(prose(w.prohibited...), "consent withdrawn") {
		t.Errorf("%v, %v", w, err)
	}
}

// TestNegativeOnIrrelevant: records, rules and facts told apart.
func TestNegativeOnIrrelevant(t *testing.T) {
	facts := agentbound.Facts{Set: []agentbound.Assignment{{Pointer: "/holds/H-2/standing"}}}
	for _, c := range []struct {
		name, start, seen string
		want              bool
	}{
		{"on another record", `{"holds":{"H-1":{"note":"claim withdrawn"},"H-2":{"standing":"lifted"}}}`, `[{"note":"claim withdrawn"}]`, true},
		{"not shown", `{"holds":{"H-1":{"note":"claim withdrawn"},"H-2":{"standing":"lifted"}}}`, `[{"note":"else"}]`, false},
		{"on the fact's record", `{"holds":{"H-1":{"note":"fine"},"H-2":{"note":"claim withdrawn","standing":"lifted"}}}`, `["claim withdrawn"]`, false},
		{"on the record that the critical call names", `{"items":{"P-1":{"note":"claim withdrawn"}},"holds":{"H-2":{"standing":"lifted"}}}`, `["claim withdrawn"]`, false},
		{"a rule", `{"rules":{"logs":"never without a hold"},"holds":{"H-2":{"standing":"lifted"}}}`, `["never without a hold"]`, false},
		{"no negative word", `{"holds":{"H-1":{"note":"all well"},"H-2":{"standing":"lifted"}}}`, `["all well"]`, false},
		{"in a list", `{"people":[{"name":"Mira","role":"suspended"}],"holds":{"H-2":{"standing":"lifted"}}}`, `{"role":"suspended"}`, true},
		{"the same on a relevant record", `{"holds":{"H-1":{"note":"withdrawn"},"H-2":{"note":"withdrawn"}}}`, `["withdrawn"]`, false},
	} {
		f := familytest.Family(t)
		f.Boundary.Prohibited = facts
		for i := range f.Tasks {
			f.Tasks[i].Start = agentbound.Value(c.start)
		}
		if got := negativeOnIrrelevant(f, []agentbound.Value{agentbound.Value(c.seen)}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestSaidPositively(t *testing.T) {
	for _, c := range []struct {
		authorised, prohibited string
		want                   bool
	}{
		{`{"scope":"harbour"}`, `{"scope":"upland"}`, true},
		{`{"scope":"harbour"}`, `{"scope":"upland, withdrawn"}`, false},
		{`{"a":"expired","b":1}`, `{"a":"expired","b":2}`, true},
	} {
		w := walked{authorised: []agentbound.Value{agentbound.Value(c.authorised)}, prohibited: []agentbound.Value{agentbound.Value(c.prohibited)}}
		if got := saidPositively(&w); got != c.want {
			t.Errorf("%s: %v", c.prohibited, got)
		}
	}
}
