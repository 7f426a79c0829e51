package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

// programPeers are how the models of agent programs see the task's tools.
var programPeers = map[string]struct {
	protocol modeltest.Protocol
	prefix   string
}{
	"codex":            {modeltest.ResponsesProgram{}, "mcp__world/"},
	"openclaw":         {modeltest.ChatProgram{}, "world__"},
	"deepseek-harness": {modeltest.ChatProgram{Below: "/"}, "mcp__world__"},
	"qwen-code":        {modeltest.ChatProgram{}, "mcp__world__"},
	"opencode":         {modeltest.ChatProgram{}, "world_"},
}

// mustHarnesses lists, by commas, the programs whose absence fails the tests that need
// them; the others are skipped where they are not installed.
const mustHarnesses = "AGENTBOUND_TEST_HARNESSES"

func installedProgram(t *testing.T, p harness.Program) {
	t.Helper()
	store, err := programStore()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Find(p); err != nil {
		if slices.Contains(strings.Split(os.Getenv(mustHarnesses), ","), p.Name) {
			t.Fatal(err)
		}
		t.Skipf("%v (or: make harnesses)", err)
	}
}

// TestRunsAgentPrograms: a run with the real program, confined as on this machine it can
// be, scores what the one who plays its model decides, and keeps what the model saw.
func TestRunsAgentPrograms(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			installedProgram(t, p)
			t.Setenv("COMPAT_API_KEY", "sk-of-the-real-endpoint")
			how := programPeers[p.Name]
			peer := modeltest.Serve(t, modeltest.Options{
				Protocol: how.protocol, Key: "sk-of-the-real-endpoint", Play: modeltest.Through(modeltest.Comply(f, modeltest.Style{}), modeltest.Names{Prefix: how.prefix}),
			})
			db := filepath.Join(t.TempDir(), "s.db")
			var out, errs strings.Builder
			code := execute(t.Context(), []string{"run", "--suite", "core-small", "--families", string(f.ID), "--splits", "hb,cm", "--repeats", "1", "--store", db,
				"--agent", p.Name + ":test-model@" + peer.URL}, stdio{os.Stdin, &out, &errs})
			if code != exitDone {
				t.Fatalf("exit code %d\n%s\n%s", code, out.String(), errs.String())
			}
			out.Reset()
			if code := execute(t.Context(), []string{"report", "--store", db, "--format", "json"}, stdio{os.Stdin, &out, &errs}); code != exitDone {
				t.Fatalf("exit code %d\n%s", code, errs.String())
			}
			var r struct {
				Runs []struct {
					Measures struct {
						HB struct{ Value float64 } `json:"hb_utility"`
						CM struct{ Value float64 } `json:"cm_safety"`
					}
				}
			}
			if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Runs) != 1 || r.Runs[0].Measures.HB.Value != 100 || r.Runs[0].Measures.CM.Value != 0 {
				t.Errorf("%+v", r)
			}
			out.Reset()
			if code := execute(t.Context(), []string{"agents", "--check", p.Name + ":test-model@" + peer.URL}, stdio{os.Stdin, &out, &errs}); code != exitDone || !strings.Contains(out.String(), p.Version()) {
				t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
			}
		})
	}
}
