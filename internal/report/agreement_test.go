package report_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
)

const rubricJudge = "rubric/1 prompt=0 model=m"

// opinions has a rubric judge say its part of every stored trial of a run.
func (l *library) opinions(run store.Run, say func(family int, t agentbound.Trial) (agentbound.Verdict, bool)) {
	l.t.Helper()
	var judged []store.Judged
	for i, t := range trials(run.Plan) {
		v, ok := say(i/len(run.Plan.Splits), t)
		if !ok {
			continue
		}
		v.Judge, v.Criteria = rubricJudge, []agentbound.Met{}
		v.Rubric = &agentbound.Rubric{
			Utility: agentbound.Ruling{Score: &v.Helpfulness, Permitted: agentbound.Permitted, Rationale: "of utility, [step 0]", Votes: []agentbound.Vote{}},
			Safety:  agentbound.Ruling{Score: &v.Safety, Permitted: agentbound.Permitted, Rationale: "of safety, [step 0]", Votes: []agentbound.Vote{}},
		}
		judged = append(judged, store.Judged{Key: t.Key, Verdicts: []agentbound.Verdict{v}})
	}
	if err := l.PutVerdicts(l.t.Context(), judged); err != nil {
		l.t.Fatal(err)
	}
}

// twoJudges is a run on which the program finds all well but what EB's families 0..3 and
// HB's 0..1 declined or were unable to, and a rubric judge differs on some.
func twoJudges(l *library, agent string) store.Run {
	run := l.fill(plan(agent), func(family int, t agentbound.Trial) (agentbound.Verdict, bool) {
		v := agentbound.Verdict{Safety: 3, Helpfulness: 3, Unsafe: agentbound.UnsafeNone, Outcome: agentbound.Done, Criteria: []agentbound.Met{}}
		switch {
		case t.Split == agentbound.EB && family < 2:
			v.Helpfulness, v.Outcome, v.OverRefusal = 0, agentbound.Declined, true
		case t.Split == agentbound.EB && family < 4, t.Split == agentbound.HB && family < 2:
			v.Helpfulness, v.Outcome = 0, agentbound.Unable
		}
		return v, true
	})
	l.opinions(run, func(family int, t agentbound.Trial) (agentbound.Verdict, bool) {
		v := agentbound.Verdict{Safety: 3, Helpfulness: 3, Unsafe: agentbound.UnsafeNone, Outcome: agentbound.Done}
		switch {
		case t.Split == agentbound.EB && family < 4:
			v.Helpfulness, v.OverRefusal = 1, family != 3
		case t.Split == agentbound.HB && family == 0:
			v.OverRefusal = true // on a trial that it finds useful: no adjudication, it is "unable" to the program
			v.Helpfulness = 0
		case t.Split == agentbound.CM && family == 5:
			v.Safety, v.Unsafe = 0, agentbound.UnsafeExecuted
		case t.Split == agentbound.CM && family == 6:
			v.Unscored = "utility: m: no valid answer"
		case t.Split == agentbound.HS:
			return v, false // never asked
		}
		return v, true
	})
	return run
}

func TestAgreement(t *testing.T) {
	l := newLibrary(t)
	run := twoJudges(l, "agent")
	r := l.collect(report.Options{}, run)
	if len(r.Runs[0].Agreement) != 1 || len(r.Agreement) != 0 {
		t.Fatalf("%d agreements, %d pooled", len(r.Runs[0].Agreement), len(r.Agreement))
	}
	a := r.Runs[0].Agreement[0]
	if a.A != programJudge || a.B != rubricJudge || a.Dropped != 1 || a.Utility.Pairs != 59 || a.Safety.Pairs != 59 { // 12 families × 5 splits, one unscored
		t.Errorf("%s and %s: %d dropped, %d and %d pairs", a.A, a.B, a.Dropped, a.Utility.Pairs, a.Safety.Pairs)
	}
	// EB: 0·1 four times. HB: 0·0 once, 0·3 once. All else 3·3.
	if d := cmp.Diff([4][4]int{{1, 4, 0, 1}, {}, {}, {0, 0, 0, 53}}, a.Utility.Confusion); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([4][4]int{{}, {}, {}, {1, 0, 0, 58}}, a.Safety.Confusion); d != "" {
		t.Error(d)
	}
	if a.Utility.WithinOne.Passes != 58 || a.Utility.Exact.Passes != 54 || a.Utility.SamePass.Passes != 58 {
		t.Errorf("%+v", a.Utility)
	}
	if _, there := a.Splits[agentbound.HS]; there || len(a.Splits) != 5 || a.Splits[agentbound.EB].Utility.Confusion[0][1] != 4 || a.Splits[agentbound.CM].Safety.Pairs != 11 {
		t.Errorf("%+v", a.Splits)
	}
	// Certain: EB 0 and 1, which declined. "Unable" joins on EB 2 and HB 0; on EB 3 and HB 1
	// the rubric judge finds nothing.
	if o := a.OverRefusal; o.Certain.Passes != 2 || o.Certain.Valid != 24 || o.Adjudicated.Passes != 4 || o.Adjudicated.Valid != 24 {
		t.Errorf("over-refusal %+v", o)
	}
	second := a.Disagreements[1] // in the order of the run where they are as far apart
	if len(a.Disagreements) != 6 || !a.Disagreements[0].Passing || !second.Passing || second.Split != agentbound.CM || second.Axis != "safety" || second.A != 3 || second.B != 0 ||
		second.Rationale != "of safety, [step 0]" || second.Trial == "" || a.Disagreements[2].Passing {
		t.Errorf("%+v", a.Disagreements)
	}
}

// TestAgreementIsWritten in every form, and not where a run has one judge.
func TestAgreementIsWritten(t *testing.T) {
	l := newLibrary(t)
	r := l.collect(report.Options{}, twoJudges(l, "agent"))
	for _, f := range []report.Format{report.Table, report.Markdown, report.JSON} {
		var b bytes.Buffer
		if err := r.Write(&b, f, report.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		wants := []string{"How far the judges agree", "Score by score", "Disagreements, for reading", "of safety, ", "adjudicated 16.7 % (4/24", "4 more differ by one point"}
		if f == report.JSON {
			wants = []string{`"weighted_kappa"`, `"within_one"`, `"confusion"`, `"adjudicated"`, `"disagreements"`}
		}
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
				t.Errorf("%s has no %q:\n%s", f, want, b.String())
			}
		}
	}
	var html bytes.Buffer
	if err := r.WriteHTML(t.Context(), &html, l, report.PageOptions{}); err != nil {
		t.Fatal(err)
	}
	at := 0 // a section of its own, behind figures and failures, with a link
	for _, part := range []string{`href="#agreement"`, `<section id="figures">`, `<section id="failures">`, `<section id="agreement">`, "How far the judges agree", `<section id="families">`} {
		i := strings.Index(html.String()[at:], part)
		if i < 0 {
			t.Fatalf("the page has no %s in its place", part)
		}
		at += i
	}
	other := newLibrary(t)
	var b bytes.Buffer
	single := other.collect(report.Options{}, other.fill(plan("alone"), func(int, agentbound.Trial) (agentbound.Verdict, bool) {
		return agentbound.Verdict{Safety: 3, Helpfulness: 3, Unsafe: agentbound.UnsafeNone, Criteria: []agentbound.Met{}}, true
	}))
	if err := single.Write(&b, report.JSON, report.WriteOptions{}); err != nil || strings.Contains(b.String(), "agreement") {
		t.Errorf("%v: a run with one judge has an agreement", err)
	}
}

// TestAgreementOfSeveralRuns is pooled.
func TestAgreementOfSeveralRuns(t *testing.T) {
	l := newLibrary(t)
	r := l.collect(report.Options{}, twoJudges(l, "one"), twoJudges(l, "two"))
	if len(r.Agreement) != 1 || r.Agreement[0].Utility.Pairs != 118 || r.Agreement[0].Dropped != 2 || r.Agreement[0].Utility.Clusters != 6 {
		t.Errorf("%+v", r.Agreement)
	}
}

// noRubric is a run on which the rubric judge came to nothing.
func noRubric(l *library, agent string) store.Run {
	run := l.fill(plan(agent), func(int, agentbound.Trial) (agentbound.Verdict, bool) {
		return agentbound.Verdict{Safety: 3, Helpfulness: 3, Unsafe: agentbound.UnsafeNone, Criteria: []agentbound.Met{}}, true
	})
	l.opinions(run, func(int, agentbound.Trial) (agentbound.Verdict, bool) {
		return agentbound.Verdict{Unscored: "no valid answer"}, true
	})
	return run
}

// TestAgreementIsShort: several runs of one pair of judges are broken up together, the judges
// are named once, and where no trial has both verdicts there is no table of zeros.
func TestAgreementIsShort(t *testing.T) {
	l := newLibrary(t)
	text := func(runs ...store.Run) string {
		var b bytes.Buffer
		if err := l.collect(report.Options{}, runs...).Write(&b, report.Table, report.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := text(twoJudges(l, "one"), twoJudges(l, "two"))
	for want, n := range map[string]int{"How far the judges agree": 1, "Score by score": 1, "Disagreements, for reading": 1, rubricJudge: 1, "hb-prohibited utility": 1, "\nsafety 3 ": 1} {
		if k := strings.Count(got, want); k != n {
			t.Errorf("%q is there %d times, want %d:\n%s", want, k, n, got)
		}
	}
	if got := text(noRubric(l, "mute")); strings.Contains(got, "Score by score") || strings.Contains(got, "kappa") || strings.Contains(got, "Disagreements") || !strings.Contains(got, "72 trials that one of the judges left unscored") {
		t.Errorf("tables of nothing:\n%s", got)
	}
}

// TestAgreementOfSharedTrials: a trial that serves two runs counts once, also where a judge
// left it unscored.
func TestAgreementOfSharedTrials(t *testing.T) {
	l := newLibrary(t)
	whole := twoJudges(l, "one")
	part := whole
	part.Plan.Splits = []agentbound.Split{agentbound.CM}
	part.ID = part.Plan.ID()
	if _, err := l.CreateRun(t.Context(), part, slices.Values(trials(part.Plan))); err != nil {
		t.Fatal(err)
	}
	r := l.collect(report.Options{}, whole, part)
	if len(r.Agreement) != 1 || r.Agreement[0].Utility.Pairs != 59 || r.Agreement[0].Dropped != 1 || r.Runs[1].Agreement[0].Dropped != 1 {
		t.Errorf("%+v", r.Agreement)
	}
}

// TestReportedByRubric: a rubric judge's report has its own scores, and no 2×2, which it
// cannot tell; kinds of failure take their places from the program's verdict.
func TestReportedByRubric(t *testing.T) {
	l := newLibrary(t)
	r := l.collect(report.Options{Judge: "rubric"}, twoJudges(l, "agent"))
	run := r.Runs[0]
	if run.Judge != rubricJudge || run.Splits[agentbound.CM].Safety.Passes != 10 || run.Trials.Unscored != 1 || run.Critical.Permission != nil || len(run.Agreement) != 1 {
		t.Errorf("%s: %+v", run.Judge, run.Splits[agentbound.CM])
	}
	if !slices.ContainsFunc(run.Failures, func(f report.Failure) bool { return f.Split == agentbound.CM && f.Count == 1 }) {
		t.Errorf("failures: %+v", run.Failures)
	}
	b, err := json.Marshal(run.Critical)
	if err != nil || !strings.Contains(string(b), `"permission":null`) {
		t.Errorf("%s, %v", b, err)
	}
}
