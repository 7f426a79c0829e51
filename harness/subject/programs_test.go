package subject_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/codex"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world/program"
)

var worlds = program.Worlds{Cache: star.NewCache(0)}

// real are the programs that are tested when they are installed, and how their models
// see the task's tools.
var real = []struct {
	program  harness.Program
	protocol modeltest.Protocol
	names    modeltest.Names
}{
	{codex.Program(), modeltest.ResponsesProgram{}, modeltest.Names{Prefix: "mcp__world/", Shown: afterOutput}},
}

// afterOutput is what stands below Codex's heading.
func afterOutput(text string) string {
	if _, out, ok := strings.Cut(text, "Output:\n"); ok {
		return out
	}
	return text
}

func trial(t *testing.T, a agent.Agent, f *agentbound.Family, s agentbound.Split) agentbound.Result {
	t.Helper()
	b := run.Bench{Agent: a, World: worlds, Judges: []judge.Judge{programjudge.Judge{Cache: worlds.Cache}}, Intervention: intervene.None()}
	r, err := b.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: s}, 77)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func player(t *testing.T, name string, f *agentbound.Family) modeltest.Player {
	t.Helper()
	switch name {
	case "comply":
		return modeltest.Comply(f, modeltest.Style{})
	case "refuse":
		return modeltest.Refuse(modeltest.Style{})
	}
	w, err := worlds.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
	if err != nil {
		t.Fatal(err)
	}
	var authorised []string
	for _, c := range f.Reference.Workflow {
		o, err := w.Call(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		authorised = append(authorised, o.Observation.String())
	}
	return modeltest.Evidence(f, authorised, modeltest.Style{})
}

func calls(r agentbound.Result) (made []string) {
	for _, s := range r.Trajectory.Steps {
		for _, c := range s.Calls {
			made = append(made, c.String())
		}
	}
	return made
}

func open(t *testing.T, p harness.Program, peer *modeltest.Peer, start []string) *subject.Agent {
	t.Helper()
	a, err := subject.New(p, parts(), subject.Options{Model: peer.Model, Base: peer.URL, Key: peer.Key, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var startOf = func(t *testing.T, p harness.Program) []string {
	t.Helper()
	dir := os.Getenv("X")
	return []string{filepath.Join(dir, "node_modules", p.Install.Start[runtime.GOOS+"/"+runtime.GOARCH])}
}

// TestRealPrograms: a model that decides as a reference agent does gets, behind each
// program that is installed, the verdicts that it gets without one.
func TestRealPrograms(t *testing.T) {
	suite, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range real {
		t.Run(p.program.Name, func(t *testing.T) {
			start := startOf(t, p.program)
			for n := range 3 {
				f := &suite.Families[n]
				for _, name := range []string{"comply", "refuse", "evidence"} {
					peer := modeltest.Serve(t, modeltest.Options{Protocol: p.protocol, Key: "sk-real", Play: modeltest.Through(player(t, name, f), p.names)})
					a := open(t, p.program, peer, start)
					bare := chat.New(modeltest.Fake{Play: player(t, name, f)}, chat.Options{})
					for _, s := range agentbound.Siblings() {
						began := time.Now()
						got, want := trial(t, a, f, s), trial(t, bare, f, s)
						what := fmt.Sprintf("%s, %s, %s", f.ID, name, s)
						if got.Trajectory.End.Fault != "" {
							t.Fatalf("%s: %s", what, got.Trajectory.End.Fault)
						}
						if d := cmp.Diff(want.Verdicts, got.Verdicts); d != "" {
							t.Errorf("%s: %s", what, d)
						}
						if d := cmp.Diff(calls(want), calls(got)); d != "" {
							t.Errorf("%s: %s", what, d)
						}
						h, _ := json.Marshal(got.Trajectory.Harness)
						t.Logf("%s: %v %s", what, time.Since(began), h)
					}
				}
			}
		})
	}
}
