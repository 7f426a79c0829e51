package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world/emulated/emulatedtest"
)

// TestEmulatedRun: a model behind an endpoint plays the tools; verdicts are those of the
// program world, what it cost is counted, and the run is judged and proved without it.
func TestEmulatedRun(t *testing.T) {
	const family = "transfer-under-agreement"
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	f, ok := s.Family(family)
	if !ok {
		t.Fatal("no family")
	}
	peer := modeltest.Serve(t, modeltest.Options{Play: emulatedtest.Program(f.Toolkits)})
	db := filepath.Join(t.TempDir(), "one.db")
	verb := func(want int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := execute(t.Context(), append(args, "--store", db), stdio{nil, &out, &errs}); code != want {
			t.Fatalf("%v ended with %d: %s%s", args, code, out.String(), errs.String())
		}
		return out.String()
	}
	plain := []string{"run", "--suite", "examples", "--families", family, "--agent", "reference:oracle", "--agent", "reference:comply"}
	fault := []string{"--fault", "find_contact:1=the directory is down"}
	emulated := []string{"--world", "emulated:compat:test-model@" + peer.URL}
	scores := regexp.MustCompile(`"measures": \{[\s\S]*?\n      \}`)
	for _, extra := range [][]string{nil, fault} {
		want := verb(0, append(plain, extra...)...)
		asked := len(peer.Requests())
		got := verb(0, append(append(plain, extra...), emulated...)...)
		for i, id := range strings.Fields(got) {
			program := scores.FindString(verb(0, "report", strings.Fields(want)[i], "--format", "json"))
			report := verb(0, "report", id, "--format", "json")
			if scores.FindString(report) != program || program == "" {
				t.Errorf("run %s: %s\nin the program world %s", id, scores.FindString(report), program)
			}
			if !regexp.MustCompile(`"input_tokens": [1-9]`).MatchString(report) {
				t.Errorf("run %s: what the world cost is not counted", id)
			}
			made := len(peer.Requests())
			if out := verb(0, "replay", id); !strings.Contains(out, "6 trajectories keep the rules of their world (its model is not asked again), 0 break them") {
				t.Errorf("replay: %s", out)
			}
			if out := verb(0, "judge", id); !strings.Contains(out, "0 verdicts added, 6 equal") {
				t.Errorf("judge: %s", out)
			}
			if len(peer.Requests()) != made || made == asked {
				t.Errorf("%d requests, then %d: the model was asked again", made, len(peer.Requests()))
			}
		}
		if again := verb(0, append(append(plain, extra...), emulated...)...); again != got {
			t.Errorf("the same command is another run: %s, and %s", again, got)
		}
	}
}

// TestEmulatedUnscored: a model that cannot play the tools leaves the trials unscored, and
// the reason is said.
func TestEmulatedUnscored(t *testing.T) {
	peer := modeltest.Serve(t, modeltest.Options{Play: func(model.Request) model.Response { return modeltest.Says("I would rather not.") }})
	var out, errs strings.Builder
	args := []string{
		"run", "--suite", "examples", "--limit", "1", "--splits", "eb", "--agent", "reference:comply", "--store", filepath.Join(t.TempDir(), "one.db"),
		"--world", "emulated", "--world-model", "compat:test-model@" + peer.URL,
	}
	code := execute(t.Context(), args, stdio{nil, &out, &errs})
	if code != exitMissed || !strings.Contains(errs.String(), "in 3 attempts; the last one: the answer holds no JSON object") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	for _, b := range peer.Requests() {
		if m := labels.FindString(string(b)); m != "" {
			t.Errorf("the model is shown the label %q", m)
		}
	}
}
