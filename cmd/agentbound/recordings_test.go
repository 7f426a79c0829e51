package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/generate"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/reading"
	"github.com/agentbound/agentbound/suite/validate"
)

const recordings = "../../recordings"

// TestRecordings: what real subjects did is proved and judged again by the program of
// today, call by call and verdict by verdict.
func TestRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes under the race detector; make test runs it")
	}
	for _, path := range recorded(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			db := copyOf(t, path)
			for _, id := range runIDs(t, db) {
				for _, verb := range []string{"replay", "judge"} {
					var out, errs strings.Builder
					if code := execute(t.Context(), []string{verb, id, "--store", db}, stdio{nil, &out, &errs}); code != exitDone {
						t.Errorf("%s ends with %d\n%s%s", verb, code, out.String(), errs.String())
					}
				}
			}
		})
	}
}

// TestRecordingsAreScreened: a recording holds no address outside the reserved example
// ranges, no path of a machine and nothing that looks like a key.
func TestRecordingsAreScreened(t *testing.T) {
	address := regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.([a-z]{2,})`)
	secret := regexp.MustCompile(`(?:sk|pk|ghp|xox[bp])[-_][A-Za-z0-9_-]{16,}|-----BEGIN|/(?:home|root|Users|tmp)/`)
	for _, path := range recorded(t) {
		db, err := sqlite.Open(t.Context(), copyOf(t, path), sqlite.Options{Existing: true})
		if err != nil {
			t.Fatal(err)
		}
		runs, err := db.Runs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			for row, err := range db.Rows(t.Context(), r.ID, r.Plan.Judges[0]) {
				if err != nil {
					t.Fatal(err)
				}
				res, err := db.Result(t.Context(), string(row.Key))
				if err != nil {
					t.Fatal(err)
				}
				texts := []string{res.Trajectory.Outcome.Reason + "\n" + res.Trajectory.Outcome.Text}
				for _, step := range res.Trajectory.Steps {
					text := step.Thought
					for _, c := range step.Calls {
						text += "\n" + c.String() + "\n" + c.Observation.String()
					}
					texts = append(texts, text)
				}
				for _, v := range res.Verdicts {
					if v.Rubric != nil { // all that its models said
						said, err := json.Marshal(v.Rubric)
						if err != nil {
							t.Fatal(err)
						}
						texts = append(texts, string(said))
					}
				}
				for _, text := range texts {
					for _, m := range address.FindAllStringSubmatch(text, -1) {
						if m[1] != "example" && m[1] != "test" && m[1] != "invalid" {
							t.Errorf("%s, %s/%s: the address %s", path, row.Family, row.Split, m[0])
						}
					}
					if m := secret.FindString(text); m != "" {
						t.Errorf("%s, %s/%s: %s", path, row.Family, row.Split, m)
					}
				}
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func recorded(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(recordings, "*.db"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings in %s: %v", recordings, err)
	}
	return paths
}

func copyOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

func runIDs(t *testing.T, path string) []string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := db.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(runs))
	for i, r := range runs {
		ids[i] = string(r.ID)
	}
	return ids
}

// TestReplayOfAnotherPlan: a trajectory that says another seed than its run's plan is no
// proof of that run, though every call in it gives the same bytes.
func TestReplayOfAnotherPlan(t *testing.T) {
	db, err := sqlite.Open(t.Context(), copyOf(t, recorded(t)[0]), sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	runs, err := db.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, s, err := storedRun(t.Context(), db, string(runs[0].ID))
	if err != nil {
		t.Fatal(err)
	}
	worlds, err := newRooms().world("program")
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range db.Rows(t.Context(), r.ID, r.Plan.Judges[0]) {
		if err != nil {
			t.Fatal(err)
		}
		res, err := db.Result(t.Context(), string(row.Key))
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range []uint64{0, 1} {
			res.Trajectory.Seed += more
			var out strings.Builder
			same, err := proved(t.Context(), stdio{out: &out}, worlds, s, r.Plan, res)
			if err != nil || same != (more == 0) || strings.Contains(out.String(), "seed") == same {
				t.Errorf("seed + %d: %t, %v, %q", more, same, err, out.String())
			}
		}
		return
	}
	t.Error("the recording holds no trial")
}

// TestRecordedGeneration: the families that a language model wrote through the
// generator's own prompts pass every gate of today, and are what their provenance says.
func TestRecordedGeneration(t *testing.T) {
	unhurried(t)
	dir := filepath.Join(recordings, "generation-1")
	s, err := suite.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Families) < 10 {
		t.Errorf("%d families, want at least 10", len(s.Families))
	}
	for _, f := range s.Families {
		folder := filepath.Join(dir, "families", string(f.ID))
		b, err := os.ReadFile(filepath.Join(folder, "provenance.json"))
		if err != nil {
			t.Fatal(err)
		}
		var p generate.Provenance
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		alone, err := suite.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if p.Family != string(f.ID) || p.Engine != generate.File || len(p.Gates) == 0 {
			t.Errorf("%s: provenance %+v", f.ID, p)
		}
		answer := filepath.Join(dir, "attempts", fmt.Sprintf("%04d", p.Candidate), fmt.Sprintf("%02d", p.Round), "answer.md")
		if _, err := os.Stat(answer); err != nil {
			t.Errorf("%s: its answer is not kept: %v", f.ID, err)
		}
		r, _, err := validate.Validator{Screen: screened}.Check(t.Context(), os.DirFS(folder), validate.Wanted{
			Class: alone.Families[0].Class, Evidence: p.Draw.Evidence, Level: p.Draw.Level,
		})
		if err != nil {
			t.Fatal(err)
		}
		if failed := r.Failed(); len(failed) > 0 {
			t.Errorf("%s fails %v", f.ID, failed)
		}
	}
}

// TestRecordedReadings: the sheets that readers were given come again from the suite as
// it was then, and what they said is what docs/validation.md reports.
func TestRecordedReadings(t *testing.T) {
	unhurried(t)
	for _, round := range []struct {
		name                        string
		families, readers, answered int
		seed                        uint64
		splits                      []agentbound.Split
		right                       int
	}{
		{"reading-1", 30, 2, 240, 41, agentbound.Siblings(), 239},
		{"reading-2", 10, 2, 80, 42, agentbound.Siblings(), 80},
		{"reading-3", 30, 1, 60, 43, []agentbound.Split{agentbound.CM, agentbound.HB}, 60},
		{"reading-4", 10, 1, 20, 44, []agentbound.Split{agentbound.CM, agentbound.HB}, 20},
	} {
		dir := filepath.Join(recordings, round.name)
		s, err := loadSuite(filepath.Join(dir, "read.suite"))
		if err != nil {
			t.Fatal(err)
		}
		sample, err := s.Draw(s.Name+"-sample", round.families)
		if err != nil {
			t.Fatal(err)
		}
		_, keys, err := reading.Sheets(t.Context(), sample.Families, reading.Options{Splits: round.splits, Readers: round.readers, Seed: round.seed})
		if err != nil {
			t.Fatal(err)
		}
		recorded, err := readKeys(filepath.Join(dir, keyFile))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(recorded, keys); diff != "" {
			t.Errorf("%s: the sheets are others today: %s", round.name, diff)
		}
		answers, strays, faults := readAnswers(dir, recorded)
		if len(strays)+len(faults) > 0 {
			t.Errorf("%s: strays %v, faults %v", round.name, strays, faults)
		}
		r, right := reading.Score(recorded, answers), 0
		for _, row := range r.Rows {
			right += row.Right
		}
		if r.Answered != round.answered || right != round.right {
			t.Errorf("%s: %d answered, %d as the facts have it; docs/validation.md says %d and %d", round.name, r.Answered, right, round.answered, round.right)
		}
	}
}
