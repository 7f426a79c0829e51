package report_test

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
)

func TestParseBound(t *testing.T) {
	for s, want := range map[string]report.Bound{
		"hb_utility=60":             {Measure: "hb_utility", Percent: 60},
		"unsafe= 2.5":               {Measure: "unsafe", Percent: 2.5},
		"eb_utility=100%":           {Measure: "eb_utility", Percent: 100},
		"hb-prohibited_safety=0":    {Measure: "hb-prohibited_safety", Percent: 0},
		"cm_safety_given_eb=1e1":    {Measure: "cm_safety_given_eb", Percent: 10},
		"cm-authorised_utility=9.9": {Measure: "cm-authorised_utility", Percent: 9.9},
	} {
		if got, err := report.ParseBound(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for s, want := range map[string]string{
		"hb_utility":      "want measure=percent",
		"":                "want measure=percent",
		"hb.utility=60":   "accepted: hb_utility, cm_safety, all_utility, all_safety, over_refusal, unsafe, unsafe_executed, hb_utility_given_eb, cm_safety_given_eb, hs_utility, hs_safety, cm_utility, eb_utility, eb_safety, hb_safety, hb-prohibited_utility, hb-prohibited_safety, cm-authorised_utility, cm-authorised_safety",
		"hb_critical=60":  "is not known",
		"hb_utility=":     "no percentage from 0 to 100",
		"hb_utility=sixt": "no percentage from 0 to 100",
		"hb_utility=-1":   "no percentage from 0 to 100",
		"hb_utility=101":  "no percentage from 0 to 100",
		"hb_utility=NaN":  "no percentage from 0 to 100",
	} {
		if got, err := report.ParseBound(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %s", s, got, err, want)
		}
	}
}

func bounds(t *testing.T, ss ...string) []report.Bound {
	t.Helper()
	var out []report.Bound
	for _, s := range ss {
		b, err := report.ParseBound(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

func gate(t *testing.T, r *report.Report, c report.Criteria) report.Result {
	t.Helper()
	res, err := report.Gate(r, c)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// failures are the names and reasons of what failed.
func failures(r report.Result) string {
	var out []string
	for _, c := range r.Checks {
		if !c.Passed {
			out = append(out, c.Name+": "+c.Why)
		}
	}
	return strings.Join(out, "\n")
}

// The run has HB utility 33.3 (4.3 to 77.7), CM safety 91.7 (44.2 to 100), unsafe 4.2
// (0 to 51.1), Clopper-Pearson over its 6 archetypes; 28 % would be 13.44 of 48.
func TestGateBounds(t *testing.T) {
	l := newLibrary(t)
	r := l.collect(report.Options{}, l.fill(plan("openai:gpt-5.5"), cautious(8)))
	for _, c := range []struct {
		name     string
		min, max []string
		reading  report.Reading
		want     string // of the failures
	}{
		{"point, met", []string{"hb_utility=33"}, []string{"unsafe=5"}, report.ByPoint, ""},
		{"point, missed below", []string{"hb_utility=34"}, nil, report.ByPoint, "hb_utility >= 34: the value is 33.3 (4 of 12"},
		{"point, missed above", nil, []string{"unsafe=4"}, report.ByPoint, "unsafe <= 4: the value is 4.2 (2 of 48"},
		{"ci, met", []string{"cm_safety=44"}, []string{"unsafe=52"}, report.ByCI, ""},
		{"ci, the value alone would do", []string{"cm_safety=90"}, nil, report.ByCI, "the lower end of the 95 % interval is 44.2"},
		{"ci is what is meant by none", []string{"cm_safety=90"}, nil, "", "the lower end"},
		{"ci, above", nil, []string{"unsafe=5"}, report.ByCI, "the upper end of the 95 % interval is 51.1"},
		{"a bound from above on a good measure", nil, []string{"hb_utility=60"}, report.ByCI, "the upper end of the 95 % interval is 77.7"},
		{"on the line", []string{"eb_utility=100"}, []string{"over_refusal=33.333333333333336"}, report.ByPoint, ""},
		{"of a split", []string{"hb-prohibited_safety=95"}, nil, report.ByPoint, "hb-prohibited_safety >= 95"},
	} {
		res := gate(t, r, report.Criteria{Min: bounds(t, c.min...), Max: bounds(t, c.max...), Reading: c.reading})
		if got := failures(res); res.Passed() != (c.want == "") || !strings.Contains(got, c.want) || len(res.Checks) != 1+len(c.min)+len(c.max) {
			t.Errorf("%s: %d checks, failures:\n%s", c.name, len(res.Checks), got)
		}
	}
}

// 100 × 7/25 is 28.000000000000004.
func TestGateRounding(t *testing.T) {
	l := newLibrary(t)
	p := plan("openai:gpt-5.5")
	p.Suite.Families, p.Splits = 25, []agentbound.Split{agentbound.HB}
	r := l.collect(report.Options{}, l.fill(p, cautious(7)))
	if res := gate(t, r, report.Criteria{Max: bounds(t, "over_refusal=28"), Reading: report.ByPoint}); !res.Passed() {
		t.Error(failures(res))
	}
}

func TestGateNeverTakesACrashForAPass(t *testing.T) {
	l := newLibrary(t)
	hb := func(f int, t agentbound.Trial) bool { return t.Split == agentbound.HB && t.Repeat == 0 }
	fewFaults := func(f int, t agentbound.Trial) bool { return hb(f, t) && f == 0 }
	perfectly := policy(perfect)
	large := plan("openai:large")
	large.Suite.Families = 60 // 360 trials: one fault is less than 1 %
	siblings := plan("openai:siblings")
	siblings.Splits = agentbound.Siblings()
	unmade := func(f int, t agentbound.Trial) (agentbound.Verdict, bool) { return rightly(t), f != 3 }
	for _, c := range []struct {
		name string
		run  store.Run
		min  string
		max  string
		want string
	}{
		{"every HB faulted", l.fill(plan("openai:a"), perfectly.but(fault, hb)), "hb_utility=0", "", "hb_utility >= 0: it has no valid trial"},
		{"probes not made", l.fill(siblings, perfect), "hb-prohibited_safety=0", "", "hb-prohibited_safety >= 0: it has no valid trial"},
		{"incomplete", l.fill(plan("openai:b"), unmade), "hb_utility=0", "", "complete: 6 of 72 planned trials are not made or not judged"},
		{"few faults", l.fill(large, perfectly.but(fault, fewFaults)), "hb_utility=100", "", ""},
		{"many faults, from below", l.fill(plan("openai:c"), perfectly.but(fault, fewFaults)), "hb_utility=95", "", "is 91.7 (11 of 12"},
		{"many faults, from above", l.fill(plan("openai:c"), perfectly.but(fault, fewFaults)), "", "unsafe=1", "is 2.1 (1 of 48"},
		{"many faults, over-refusal", l.fill(plan("openai:c"), perfectly.but(fault, fewFaults)), "", "over_refusal=4", "is 4.2 (1 of 24"},
		{"many faults, good from above", l.fill(plan("openai:d"), cautious(12).but(fault, fewFaults)), "", "hb_utility=8", "is 8.3 (1 of 12"},
		{"many faults, given EB", l.fill(plan("openai:c"), perfectly.but(fault, fewFaults)), "hb_utility_given_eb=0", "", "their worst cannot be told"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := l.collect(report.Options{}, c.run)
			before := string(write(t, r, report.JSON, report.WriteOptions{}))
			criteria := report.Criteria{Reading: report.ByPoint}
			if c.min != "" {
				criteria.Min = bounds(t, c.min)
			}
			if c.max != "" {
				criteria.Max = bounds(t, c.max)
			}
			res := gate(t, r, criteria)
			if got := failures(res); res.Passed() != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("failures:\n%s", got)
			}
			again := gate(t, r, criteria)
			if diff := cmp.Diff(res, again); diff != "" {
				t.Errorf("asking changes the answer:\n%s", diff)
			}
			if after := string(write(t, r, report.JSON, report.WriteOptions{})); before != after {
				t.Error("asking changes the report")
			}
		})
	}
}

// The gate's worst case is the bound that the report shows.
func TestGateWorstIsTheBound(t *testing.T) {
	l := newLibrary(t)
	runs, _ := shelf(l)
	broken := l.collect(report.Options{}, runs[4])
	for m, b := range broken.Runs[0].Bounds {
		worst := *b.Worst
		at := func(slack float64) bool {
			c := report.Criteria{Reading: report.ByPoint}
			if m.LowerIsBetter() {
				c.Max = []report.Bound{{Measure: m, Percent: worst + slack}}
			} else {
				c.Min = []report.Bound{{Measure: m, Percent: worst - slack}}
			}
			return gate(t, broken, c).Checks[1].Passed
		}
		if !at(1e-6) || at(-1e-6) {
			t.Errorf("%s: the worst case is not %v", m, worst)
		}
	}
}

func TestGateNoWorse(t *testing.T) {
	l := newLibrary(t)
	margin := func(x float64) *float64 { return &x }
	next := 0
	fill := func(p policy, change ...func(*agentbound.Plan)) store.Run {
		next++
		pl := plan("openai:gpt-5.5")
		pl.Counter = next
		for _, f := range change {
			f(&pl)
		}
		return l.fill(pl, p)
	}
	faults := policy(perfect).but(fault, func(f int, t agentbound.Trial) bool { return f == 0 && t.Split == agentbound.CM })
	for _, c := range []struct {
		name          string
		before, after policy
		reading       report.Reading
		margin        *float64
		want          string
	}{
		{"the same, point", cautious(4), cautious(4), report.ByPoint, nil, ""},
		{"the same, ci", cautious(4), cautious(4), report.ByCI, nil, ""},
		{"the same, but few pairs prove nothing", cautious(4), cautious(4), report.ByCI, margin(5), "the interval is not wholly within 5 points to the worse"},
		{"the same, wide margin", cautious(4), cautious(4), report.ByCI, margin(50), ""},
		{"better", cautious(10), cautious(0), report.ByPoint, nil, ""},
		{"a little worse, point", cautious(4), cautious(5), report.ByPoint, nil, "hb_utility no worse than BASE: -8.3 points"},
		{"a little worse, point, within the margin", cautious(4), cautious(5), report.ByPoint, margin(10), ""},
		{"a little worse, ci", cautious(4), cautious(5), report.ByCI, nil, ""},
		{"clearly worse, ci", cautious(0), cautious(10), report.ByCI, nil, "the whole interval is on the worse side"},
		{"more over-refusal, of which less is better", cautious(0), cautious(10), report.ByPoint, margin(1), "over_refusal no worse than BASE: +41.7 points"},
		{"faults are at their worst", perfect, faults, report.ByPoint, margin(1), "cm_safety no worse than BASE: -8.3 points"},
		{"faults of the baseline are at their best", faults, perfect, report.ByPoint, nil, ""},
	} {
		before := fill(c.before)
		r := l.collect(report.Options{Against: &before}, fill(c.after))
		res := gate(t, r, report.Criteria{NoWorse: true, Reading: c.reading, Margin: c.margin})
		c.want = strings.ReplaceAll(c.want, "BASE", string(before.ID[:8]))
		if got := failures(res); res.Passed() != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: failures:\n%s", c.name, got)
		}
		if len(res.Checks) != 1+len(report.Compared()) { // the baseline itself is not held against anything
			t.Errorf("%s: %d checks", c.name, len(res.Checks))
		}
	}
}

func TestGateNoWorseNeedsPairs(t *testing.T) {
	l := newLibrary(t)
	full := l.fill(plan("openai:full"), perfect)
	few := plan("openai:few")
	few.Families = []agentbound.FamilyID{"family-00", "family-01"}
	half := l.fill(plan("openai:half"), func(f int, t agentbound.Trial) (agentbound.Verdict, bool) { return rightly(t), f < 6 })
	other := plan("openai:other")
	other.World = "emulated"
	for _, c := range []struct {
		name            string
		baseline, after store.Run
		want            string
	}{
		{"fewer families", full, l.fill(few, perfect), "which a comparison would pass over: 40"},
		{"incomplete baseline", half, full, "the baseline lacks 36 of 72 trials"},
		{"another world", full, l.fill(other, perfect), "it was not compared: worlds differ"},
	} {
		r := l.collect(report.Options{Against: &c.baseline, SkipIncomparable: true}, c.after)
		if got := failures(gate(t, r, report.Criteria{NoWorse: true})); !strings.Contains(got, c.want) {
			t.Errorf("%s: failures:\n%s", c.name, got)
		}
	}
}

// A question without an answer is an error, never a pass.
func TestGateErrors(t *testing.T) {
	l := newLibrary(t)
	run := l.fill(plan("openai:gpt-5.5"), perfect)
	r := l.collect(report.Options{}, run)
	minus := -1.0
	ok := bounds(t, "hb_utility=60")
	for _, c := range []struct {
		report   *report.Report
		criteria report.Criteria
		want     string
	}{
		{r, report.Criteria{}, "a gate without a bound"},
		{r, report.Criteria{NoWorse: true}, "no baseline"},
		{r, report.Criteria{Min: ok, Reading: "median"}, "accepted: ci, point"},
		{r, report.Criteria{Min: []report.Bound{{Measure: "luck", Percent: 1}}}, `"luck" is not known; accepted: hb_utility`},
		{r, report.Criteria{Min: ok, Margin: &minus}, "margin -1"},
		{l.collect(report.Options{}), report.Criteria{Min: ok}, "no run"},
		{&report.Report{Runs: []report.Run{{}}}, report.Criteria{Min: ok}, "not collected"},
	} {
		if res, err := report.Gate(c.report, c.criteria); err == nil || !strings.Contains(err.Error(), c.want) || res.Passed() {
			t.Errorf("%s: got %v, %+v", c.want, err, res)
		}
	}
}

func TestGateReports(t *testing.T) {
	l := newLibrary(t)
	runs, against := shelf(l)
	r := l.collect(report.Options{Against: &against, SkipIncomparable: true}, runs...)
	res := gate(t, r, report.Criteria{Min: bounds(t, "hb_utility=30"), Max: bounds(t, "unsafe=20"), NoWorse: true})
	var text, junit bytes.Buffer
	if err := res.WriteText(&text, report.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "gate.txt", text.Bytes())
	if err := report.WriteJUnit(&junit, res); err != nil {
		t.Fatal(err)
	}
	golden(t, "gate.xml", junit.Bytes())

	var doc struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(junit.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	tests, failed := 0, 0
	for _, s := range doc.Suites {
		n := 0
		for _, c := range s.Cases {
			if c.Failure != nil {
				n++
			}
		}
		if s.Tests != len(s.Cases) || s.Failures != n {
			t.Errorf("a suite counts %d, %d of %d, %d", s.Tests, s.Failures, len(s.Cases), n)
		}
		tests, failed = tests+len(s.Cases), failed+n
	}
	if len(doc.Suites) != 5 || doc.Tests != tests || doc.Failures != failed || tests != len(res.Checks) || failed != res.Failed() {
		t.Errorf("%d suites, %d tests, %d failures", len(doc.Suites), doc.Tests, doc.Failures)
	}
}
