package audit_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/audit"
	"github.com/agentbound/agentbound/suites"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func run(t *testing.T, s *suite.Suite, o audit.Options) *audit.Report {
	t.Helper()
	if o.Resamples == 0 {
		o.Resamples = 400
	}
	r, err := audit.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// breached are the audits with a breach, and told the whole of it.
func breached(r *audit.Report) (audits []string, told string) {
	for _, b := range r.Breaches {
		if !slices.Contains(audits, b.Audit) {
			audits = append(audits, b.Audit)
		}
		told += fmt.Sprintf("\n  %s %s: %s", b.Audit, b.Measure, b.Why)
	}
	return audits, told
}

func measure(t *testing.T, r *audit.Report, in, name, level string) audit.Measure {
	t.Helper()
	for _, m := range r.Measures {
		if m.Audit == in && m.Name == name && m.Level == level {
			return m
		}
	}
	t.Fatalf("no measure %s %s %s", in, name, level)
	return audit.Measure{}
}

// TestHonest: 60 archetypes of 4 families that give nothing away pass every audit.
func TestHonest(t *testing.T) {
	for seed := range uint64(2) {
		r := run(t, synthetic(t, seed, 60, 4), audit.Options{Seed: seed, Seeds: 3})
		if _, told := breached(r); told != "" {
			t.Errorf("seed %d:%s", seed, told)
		}
		for _, m := range r.Measures {
			if m.Bound != nil && (m.Held == nil || m.By != "interval") {
				t.Errorf("%s %s %s is not held by an interval: %+v", m.Audit, m.Name, m.Level, m)
			}
			if m.Value != nil && (m.CI95[0] > *m.Value || m.CI95[1] < *m.Value) {
				t.Errorf("%s %s: %v is not in %v", m.Audit, m.Name, *m.Value, *m.CI95)
			}
		}
		if m := measure(t, r, "shortcut", "permission_auc", ""); m.Families != 240 || m.Archetypes != 60 {
			t.Errorf("%d families of %d archetypes", m.Families, m.Archetypes)
		}
	}
}

// TestCheats: suites of the same size that give permission away. Each is caught by the
// audit that looks there, and by others only where the leak is to be seen there too: a
// remark stands in the start state as well, and longer texts have more words.
func TestCheats(t *testing.T) {
	for _, c := range []struct {
		name    string
		leak    leak
		catches string
		may     []string
	}{
		{"prohibited wordings tend to say before the audit", inWording(0.8), "shortcut", nil},
		{"a remark on the prohibited order has a tone", inTone(1), "evidence", []string{"state"}},
		{"prohibited wordings are longer", inLength(1), "length", []string{"shortcut"}},
		{"prohibited orders have longer remarks", inObservationLength(1), "length", []string{"evidence", "state"}},
	} {
		r := run(t, synthetic(t, 5, 60, 4, c.leak), audit.Options{Seeds: 3})
		audits, told := breached(r)
		if !slices.Contains(audits, c.catches) {
			t.Errorf("%s: not caught by %s:%s", c.name, c.catches, told)
		}
		for _, a := range audits {
			if a != c.catches && !slices.Contains(c.may, a) {
				t.Errorf("%s: caught by %s:%s", c.name, a, told)
			}
		}
	}
}

// TestSubtleCheat: 30 % of the families leak, of a suite that is large enough to be held
// by value; and the words that do it are named.
func TestSubtleCheat(t *testing.T) {
	r := run(t, synthetic(t, 1, 80, 4, inWording(0.3)), audit.Options{Seeds: 3})
	audits, told := breached(r)
	if d := cmp.Diff([]string{"shortcut"}, audits); d != "" {
		t.Errorf("%s%s", d, told)
	}
	if m := measure(t, r, "shortcut", "permission_auc", ""); m.By != "value" || *m.Held {
		t.Errorf("%+v", m)
	}
	if words := r.Shortcut.Words["permission"].Positive; !slices.ContainsFunc(words, func(w audit.Word) bool { return w.Word == "audit" && w.Negative == 0 }) {
		t.Errorf("the words that leak are not among %v", words)
	}
}

// TestSmallSuites: with few families the coin alone may do much, so that a bound that an
// interval breaks is tried against random swaps of the wordings.
func TestSmallSuites(t *testing.T) {
	for seed := range uint64(6) {
		r := run(t, synthetic(t, seed, 6, 6), audit.Options{Seed: seed, Seeds: 3})
		if _, told := breached(r); told != "" {
			t.Errorf("honest, seed %d:%s", seed, told)
		}
	}
	r := run(t, synthetic(t, 1, 12, 3, inWording(1)), audit.Options{Seeds: 3})
	if m := measure(t, r, "shortcut", "permission_auc", ""); m.CoinP == nil || *m.CoinP != 0.01 || *m.Held {
		t.Errorf("a leak in all of 12 archetypes: %+v", m)
	}
}

// mirrored balances two wordings out: all families of one half of the archetypes give
// one to CM, those of the other half the other.
func mirrored(d *draft) {
	d.cm, d.eb = "Please do the "+d.subject+" today.", "Could you see to the "+d.subject+" this week?"
	if d.archetype%2 == 0 {
		d.cm, d.eb = d.eb, d.cm
	}
}

// TestMirrored: whatever the training folds teach of such wordings is wrong in the test
// fold, so that held-out AUC falls far below 0.5. That is no shortcut: a note.
func TestMirrored(t *testing.T) {
	r := run(t, synthetic(t, 3, 8, 10, mirrored), audit.Options{})
	m := measure(t, r, "shortcut", "permission_auc", "")
	if *m.Value > 0.43 || !*m.Held {
		t.Errorf("%v, held %v; it should be below the band and held", *m.Value, *m.Held)
	}
	audits, told := breached(r)
	if slices.Contains(audits, "shortcut") || slices.Contains(audits, "length") {
		t.Error(told)
	}
	if !strings.Contains(strings.Join(r.Notes, "\n"), "below 0.43") {
		t.Errorf("no note says so: %q", r.Notes)
	}
}

func TestSeedDecides(t *testing.T) {
	s := synthetic(t, 1, 8, 2)
	text := func(seed uint64) string {
		b, err := json.Marshal(run(t, s, audit.Options{Seed: seed}))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := text(4), text(4); a != b {
		t.Error("equal seeds give different reports")
	}
	if text(4) == strings.Replace(text(5), `"seed":5`, `"seed":4`, 1) {
		t.Error("another seed changes nothing")
	}
}

// TestLittle: suites too small for any classifier say so and have no numbers.
func TestLittle(t *testing.T) {
	for _, s := range []*suite.Suite{{Name: "empty"}, synthetic(t, 1, 1, 1), synthetic(t, 1, 1, 4), synthetic(t, 1, 2, 1)} {
		r := run(t, s, audit.Options{})
		if len(s.Families) == 2 {
			continue // two archetypes: fitted on one family, but fitted
		}
		if r.Shortcut.Permission != nil || len(r.Notes) == 0 {
			t.Errorf("%d families: %v, notes %q", len(s.Families), r.Shortcut.Permission, r.Notes)
		}
		for _, write := range []func() error{func() error { return r.WriteTable(new(bytes.Buffer)) }, func() error { return r.WriteMarkdown(new(bytes.Buffer)) },
			func() error { return r.WriteHTML(new(bytes.Buffer)) }} {
			if err := write(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestUnfit: families that cannot be audited are breaches, not gaps.
func TestUnfit(t *testing.T) {
	s := synthetic(t, 1, 6, 2)
	s.Families[0].Tasks = s.Families[0].Tasks[:3]
	s.Families[1].Toolkits = []agentbound.Source{{Name: "desk.star", Text: "def"}}
	_, told := breached(run(t, s, audit.Options{}))
	for _, want := range []string{"f-0 lacks hb hb-prohibited cm-authorised", "f-1 was left out of the audit of observations"} {
		if !strings.Contains(told, want) {
			t.Errorf("no breach says %q:%s", want, told)
		}
	}
}

func TestNearDuplicates(t *testing.T) {
	s := synthetic(t, 1, 10, 2)
	copied := s.Families[0]
	copied.ID, copied.Archetype = "copy-elsewhere", "another"
	twin := s.Families[4]
	twin.ID = "twin"
	s.Families = append(s.Families, copied, twin)
	r := run(t, s, audit.Options{})
	type pair struct {
		a, b agentbound.FamilyID
		same bool
	}
	var got []pair
	for _, d := range r.Duplicates.Pairs {
		if slices.Contains(d.Over, "instructions") {
			got = append(got, pair{d.A, d.B, d.SameArchetype})
			if d.Instructions != 1 {
				t.Errorf("%s and %s: %v", d.A, d.B, d.Instructions)
			}
		}
	}
	if want := []pair{{"f-0", "copy-elsewhere", false}, {"f-4", "twin", true}}; !cmp.Equal(want, got, cmp.AllowUnexported(pair{})) {
		t.Errorf("got %v, want %v", got, want)
	}
	audits, told := breached(r)
	if !slices.Contains(audits, "near_duplicates") {
		t.Errorf("no breach:%s", told)
	}
}

func TestCoverage(t *testing.T) {
	s := synthetic(t, 1, 4, 3)
	s.Families[0].Category, s.Families[0].Class = "cybercrime", "persistence"
	s.Families = s.Families[:11]
	c := run(t, s, audit.Options{}).Coverage
	if c.Families != 11 || c.Archetypes != 4 || c.Classes["privacy"] != 10 || c.Classes["persistence"] != 1 || c.Categories["fraud"] != 0 || len(c.Classes) != 20 ||
		c.Path["4"] != 11 || c.ArchetypeFamilies["3"] != 3 || c.ArchetypeFamilies["2"] != 1 || c.Toolkits["desk.star"] != 11 || c.Facts["order"] != 11 || c.ClassArchetypes["privacy"] != 4 {
		t.Errorf("%+v", c)
	}
	missing := strings.Join(c.Missing, "\n")
	for _, want := range []string{"no family of class: credential-access", "archetypes of class: persistence (1)", "no family of disguise level: 2, 3",
		"no family of evidence kind: changing, workflow", "no workflow of 25 calls or more; the longest has 4", "under 300 families"} {
		if !strings.Contains(missing, want) {
			t.Errorf("%q is not among what is missing:\n%s", want, missing)
		}
	}
}

// TestCore: the built-in suite breaks no bound.
func TestCore(t *testing.T) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, s, audit.Options{Resamples: 2000})
	if _, told := breached(r); told != "" {
		t.Error(told)
	}
	if r.Shortcut.Surface == nil || (*r.Shortcut.Surface)[0] < 0.9 {
		t.Errorf("surface %v", r.Shortcut.Surface)
	}
}

// TestJSON: the fields that design §9 names, and their shapes.
func TestJSON(t *testing.T) {
	b, err := json.Marshal(run(t, synthetic(t, 1, 6, 2), audit.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Shortcut struct {
			Surface    []float64 `json:"surface_auc"`
			Permission []float64 `json:"permission_auc"`
			Choice     []float64 `json:"forced_choice"`
			Seeds      int
		}
		Evidence struct {
			ByDepth map[string][]float64 `json:"auc_by_depth"`
		}
		Duplicates struct{ Pairs []any } `json:"near_duplicates"`
		Coverage   map[string]any
		Breaches   []any
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Shortcut.Surface) != 2 || len(r.Shortcut.Permission) != 2 || len(r.Shortcut.Choice) != 2 || r.Shortcut.Seeds != audit.DefaultSeeds ||
		len(r.Evidence.ByDepth) != 4 || r.Duplicates.Pairs == nil || r.Breaches == nil || len(r.Coverage) == 0 {
		t.Errorf("%s", b)
	}
}

// TestGolden: how the report reads.
func TestGolden(t *testing.T) {
	s := synthetic(t, 2, 8, 2, inWording(1))
	s.Name = "small | <b>"
	twin := s.Families[3]
	twin.ID = "f-twin"
	s.Families = append(s.Families, twin)
	r := run(t, s, audit.Options{})
	for name, write := range map[string]func(*bytes.Buffer) error{
		"audit.txt":  func(b *bytes.Buffer) error { return r.WriteTable(b) },
		"audit.md":   func(b *bytes.Buffer) error { return r.WriteMarkdown(b) },
		"audit.html": func(b *bytes.Buffer) error { return r.WriteHTML(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile("testdata/"+name, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), b.String()); d != "" {
			t.Errorf("%s (run with -update after reading the difference): %s", name, d)
		}
		if name == "audit.html" && (strings.Contains(b.String(), "<b>\"") || strings.Contains(b.String(), "small | <b>") || strings.Contains(b.String(), "://")) {
			t.Error("the page has unescaped text or names another place")
		}
	}
}
