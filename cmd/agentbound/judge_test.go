package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/judge/rubric/rubrictest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
)

// judgePeers are judges on loopback for the scripts, by the variable that names each.
func judgePeers(t *testing.T) map[string]string {
	t.Helper()
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	reads := rubrictest.Reader(s.Families, programjudge.Judge{Cache: star.NewCache(0)})
	peers := map[string]string{}
	for name, play := range map[string]modeltest.Player{
		"JUDGE":       reads,
		"JUDGE_PROSE": func(model.Request) model.Response { return modeltest.Says("I would rather not give a number.") },
		"JUDGE_REFUSES": func(model.Request) model.Response {
			return model.Response{Stop: model.StopRefusal, Message: model.Message{Role: model.Assistant}}
		},
		"JUDGE_HARSH": rubrictest.Play(func(r rubrictest.Record) rubrictest.Opinion {
			return rubrictest.Opinion{Score: 0, Permitted: agentbound.Undecided}
		}),
	} {
		p := modeltest.Serve(t, modeltest.Options{Play: play})
		peers[name] = "compat:test-model@" + p.URL
	}
	return peers
}

// TestRubricOnRecordings: stored trials of real subjects are judged by a rubric with
// nothing re-run. A reader who works from the record alone comes to the program's scores.
func TestRubricOnRecordings(t *testing.T) {
	db := copyOf(t, filepath.Join(recordings, "pilot-1.db"))
	id := runIDs(t, db)[0]
	var asked atomic.Int32
	reads := rubrictest.Reader(storedFamilies(t, db), programjudge.Judge{Cache: star.NewCache(0)})
	p := modeltest.Serve(t, modeltest.Options{Play: func(r model.Request) model.Response {
		asked.Add(1)
		return reads(r)
	}})
	args := []string{"judge", id, "--store", db, "--judge", "rubric", "--judge-model", "compat:test-model@" + p.URL}
	for _, want := range []string{"24 verdicts added", "0 verdicts added, 0 equal to the stored ones, 0 different, 24 there already"} {
		var out, errs strings.Builder
		if code := execute(t.Context(), args, stdio{nil, &out, &errs}); code != exitDone || !strings.Contains(out.String(), want) {
			t.Fatalf("exit code %d, want %q\n%s%s", code, want, out.String(), errs.String())
		}
	}
	if n := asked.Load(); n != 48 {
		t.Errorf("the judge was asked %d times, want twice a trial and nothing twice", n)
	}
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"report", "--store", db, "--format", "json"}, stdio{nil, &out, &errs}); code != exitDone {
		t.Fatal(errs.String())
	}
	var r report.Report
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatal(err)
	}
	a := r.Runs[0].Agreement[0]
	if a.Utility.Pairs != 24 || a.Utility.Exact.Passes != 24 || a.Safety.Exact.Passes != 24 || len(a.Disagreements) != 0 {
		t.Errorf("agreement %+v", a)
	}
}

func storedFamilies(t *testing.T, db string) []agentbound.Family {
	t.Helper()
	s, err := sqlite.Open(t.Context(), db, sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	runs, err := s.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := s.Suite(t.Context(), runs[0].Plan.Suite.Digest)
	if err != nil {
		t.Fatal(err)
	}
	in, err := suite.Decode(stored.Blob)
	if err != nil {
		t.Fatal(err)
	}
	return in.Families
}

// TestJudgeIsStopped: a judge that is not reached leaves its verdict unscored, the
// program's stands, and the same command asks again and no more than it must.
func TestJudgeIsStopped(t *testing.T) {
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	play := rubrictest.Reader(s.Families, programjudge.Judge{Cache: star.NewCache(0)})
	var asked atomic.Int32
	broken := true
	p := modeltest.Serve(t, modeltest.Options{Play: play, Misbehave: func(n int) modeltest.Fault {
		asked.Add(1)
		if broken && n >= 20 {
			return modeltest.Status(401, "invalid_api_key", "Incorrect API key provided.")
		}
		return nil
	}})
	db := filepath.Join(t.TempDir(), "agentbound.db")
	args := []string{"run", "--store", db, "--suite", "examples", "--agent", "reference:comply", "--judge", "both", "--judge-model", "compat:test-model@" + p.URL, "--splits", "hs,cm,eb,hb"}
	run := func(want int) string {
		var out, errs strings.Builder
		if code := execute(t.Context(), args, stdio{nil, &out, &errs}); code != want {
			t.Fatalf("exit code %d, want %d\n%s%s", code, want, out.String(), errs.String())
		}
		return errs.String()
	}
	if said := run(exitMissed); !strings.Contains(said, "unscored: the judge failed: ") {
		t.Error(said)
	}
	for _, judge := range []string{"program", "rubric"} {
		var out, errs strings.Builder
		if code := execute(t.Context(), []string{"report", "--store", db, "--judge", judge, "--format", "json"}, stdio{nil, &out, &errs}); code != exitDone {
			t.Fatal(errs.String())
		}
		var r report.Report
		if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
			t.Fatal(err)
		}
		got := r.Runs[0].Trials
		if judge == "program" && got.Valid != 12 || judge == "rubric" && (got.Valid == 0 || got.Valid == 12 || got.Valid+got.Unscored != 12) {
			t.Errorf("%s: %+v", judge, got)
		}
	}
	broken = false
	before := asked.Load()
	run(exitDone)
	if again := asked.Load() - before; again > 24-16 {
		t.Errorf("asked %d times again; at most 8 questions of unscored trials were open", again)
	}
}

// TestBudgetWithoutBound: that a budget cannot be kept with a judge is said before anything
// is paid for. (A world's answers have a bound of their own: world.txtar.)
func TestBudgetWithoutBound(t *testing.T) {
	p := modeltest.Serve(t, modeltest.Options{Play: func(model.Request) model.Response { return modeltest.Says("I am done.") }})
	spec := "compat:test-model@" + p.URL
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("version: 1\nprices:\n  - models: [test-model]\n    max_output: 1000\n    as_of: 2026-01-01\n    source: a test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"run", "--store", filepath.Join(t.TempDir(), "s.db"), "--suite", "examples", "--limit", "1", "--agent", spec, "--max-tokens", "500",
		"--budget", "tokens=9M", "--judge", "both", "--judge-model", spec,
	}
	var out, errs strings.Builder
	code := execute(t.Context(), args, stdio{nil, &out, &errs})
	if n := len(p.Requests()); code != exitUsage || n != 0 || !strings.Contains(errs.String(), `model "test-model" may have: give max_output in a file of --prices`) {
		t.Errorf("exit code %d, asked %d times: %s", code, n, errs.String())
	}
	out.Reset()
	errs.Reset()
	args = []string{"judge", "0", "--store", "nowhere.db", "--judge", "rubric", "--judge-model", spec, "--budget", "tokens=9M", "--prices", prices}
	if execute(t.Context(), args, stdio{nil, &out, &errs}); !strings.Contains(errs.String(), "nowhere.db") {
		t.Errorf("with a bound: %s", errs.String())
	}
}

// TestPromptFiles name no split, no family and no task, nor does their order tell them.
func TestPromptFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "round-1")
	db := filepath.Join(t.TempDir(), "agentbound.db")
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"run", "--store", db, "--suite", "examples", "--agent", "reference:comply"}, stdio{nil, &out, &errs}); code != exitDone {
		t.Fatal(errs.String())
	}
	id := strings.TrimSpace(out.String())
	out.Reset()
	if code := execute(t.Context(), []string{"judge", id, "--store", db, "--judge", "rubric", "--judge-model", "file:" + dir}, stdio{nil, &out, &errs}); code != exitMissed {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	files, err := filepath.Glob(filepath.Join(dir, "prompts", "*"))
	if err != nil || len(files) != 36 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for i := range s.Families {
			f := &s.Families[i]
			secrets := []string{string(f.ID), "reference:comply", "comply", "cm-authorised", "hb-prohibited", "hard benign", "covert"}
			for _, c := range slices.Concat(f.Completion, f.Forbidden, f.Handled) {
				secrets = append(secrets, c.Text, c.Holds)
			}
			for _, secret := range secrets {
				if strings.Contains(text, secret) || strings.Contains(filepath.Base(name), secret) {
					t.Errorf("%s holds %q", name, secret)
				}
			}
		}
		if strings.Contains(text, "permission fact") || !strings.HasPrefix(text, "# Your task: ") {
			t.Errorf("%s: %.80s", name, text)
		}
	}
}
