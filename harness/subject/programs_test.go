package subject_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/claudecode"
	"github.com/agentbound/agentbound/harness/codex"
	"github.com/agentbound/agentbound/harness/dsh"
	"github.com/agentbound/agentbound/harness/geminicli"
	"github.com/agentbound/agentbound/harness/install"
	"github.com/agentbound/agentbound/harness/openclaw"
	"github.com/agentbound/agentbound/harness/opencode"
	"github.com/agentbound/agentbound/harness/qwencode"
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

// programs are those that are tested when they are installed, and how their models
// see the task's tools.
var programs = []struct {
	program  harness.Program
	protocol modeltest.Protocol
	names    modeltest.Names
	policies []string
}{
	{codex.Program(), modeltest.ResponsesProgram{}, modeltest.Names{Prefix: "mcp__world/", Shown: afterOutput}, []string{"comply", "refuse", "evidence"}},
	{openclaw.Program(), modeltest.ChatProgram{}, modeltest.Names{Prefix: "world__"}, []string{"evidence"}},
	{dsh.Program(), modeltest.ChatProgram{Below: "/"}, modeltest.Names{Prefix: "mcp__world__"}, []string{"evidence"}},
	{claudecode.Program(), modeltest.AnthropicProgram{}, modeltest.Names{Prefix: "mcp__world__"}, []string{"comply", "refuse", "evidence"}},
	{geminicli.Program(), modeltest.GeminiProgram{}, modeltest.Names{Prefix: "mcp_world_", Shown: trusted}, []string{"evidence"}},
	{qwencode.Program(), modeltest.ChatProgram{}, modeltest.Names{Prefix: "mcp__world__"}, []string{"evidence"}},
	{opencode.Program(), modeltest.ChatProgram{}, modeltest.Names{Prefix: "world_"}, []string{"evidence"}},
}

// afterOutput is what stands below Codex's heading.
func afterOutput(text string) string {
	if _, out, ok := strings.Cut(text, "\nOutput:"); ok {
		return strings.TrimPrefix(out, "\n")
	}
	return text
}

// trusted is what stands in Gemini CLI's mark of what a server says.
func trusted(text string) string {
	if in, ok := strings.CutPrefix(text, "<untrusted_context>\n"); ok {
		return strings.TrimSuffix(in, "\n</untrusted_context>")
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
	between := parts()
	if p.Protocol == harness.Messages || p.Protocol == harness.GenerateContent {
		between.Proxy, between.Tools = wiredProxy, wiredTools
	}
	a, err := subject.New(p, between, subject.Options{Model: peer.Model, Base: peer.URL, Key: peer.Key, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mustEnv lists, by commas, the programs that the tests run, which takes minutes; what is
// named and not installed fails them.
const mustEnv = "AGENTBOUND_TEST_HARNESSES"

// installed gives a program's command line; the test is skipped unless mustEnv names it.
func installed(t *testing.T, p harness.Program) []string {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv(mustEnv), ","), p.Name) {
		t.Skipf("%s does not name it; make harnesses installs the programs", mustEnv)
	}
	dir, err := install.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := install.Store{Dir: dir}.Find(p)
	if err != nil {
		t.Fatal(err)
	}
	return found.Start
}

// TestRealPrograms: a model that decides as a reference agent does gets, behind each
// program that is installed, the verdicts that it gets without one; and it is offered the
// tools in testdata and no others.
func TestRealPrograms(t *testing.T) {
	suite, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs {
		t.Run(p.program.Name, func(t *testing.T) {
			start := installed(t, p.program)
			began, n := time.Now(), 0
			for i := range 3 {
				f := &suite.Families[i]
				for _, policy := range p.policies {
					peer := modeltest.Serve(t, modeltest.Options{Protocol: p.protocol, Key: "sk-of-the-real-endpoint", Play: modeltest.Through(player(t, policy, f), p.names)})
					a := open(t, p.program, peer, start)
					bare := chat.New(modeltest.Fake{Play: player(t, policy, f)}, chat.Options{})
					for _, s := range agentbound.Siblings() {
						got, want := trial(t, a, f, s), trial(t, bare, f, s)
						n++
						alike(t, fmt.Sprintf("%s, %s, %s", f.ID, policy, s), want, got)
						if i == 0 {
							saw(t, p.program, got.Trajectory)
						}
					}
				}
			}
			t.Logf("%d trials with %s, %s each", n, p.program, (time.Since(began) / time.Duration(n)).Round(10*time.Millisecond))
		})
	}
}

// alike: the same verdicts and calls, a Thought in each step, and nothing beside.
func alike(t *testing.T, what string, want, got agentbound.Result) {
	t.Helper()
	if got.Trajectory.End.Fault != "" {
		t.Fatalf("%s: %s", what, got.Trajectory.End.Fault)
	}
	if d := cmp.Diff(want.Verdicts, got.Verdicts); d != "" {
		t.Errorf("%s: %s", what, d)
	}
	if d := cmp.Diff(calls(want), calls(got)); d != "" {
		t.Errorf("%s: %s", what, d)
	}
	for i, s := range got.Trajectory.Steps {
		if w := want.Trajectory.Steps[i]; s.Thought != w.Thought || s.ThoughtSource != w.ThoughtSource {
			t.Errorf("%s, step %d: thought %q from %s, want %q", what, i, s.Thought, s.ThoughtSource, w.Thought)
		}
	}
	if h := got.Trajectory.Harness; h == nil || len(h.Own) > 0 {
		t.Errorf("%s: %+v", what, h)
	}
}

var update = flag.Bool("update", false, "write testdata anew")

// saw holds the tools that the model was offered against testdata.
func saw(t *testing.T, p harness.Program, tr *agentbound.Trajectory) {
	t.Helper()
	var b strings.Builder
	for _, o := range tr.Harness.Tools {
		whose := "the task's " + o.Tool
		if o.Tool == "" {
			whose = "the program's own"
			if !p.Owns(o.Name) {
				t.Errorf("the model was offered %s, which the program's description does not list", o.Name)
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", o.Name, whose)
	}
	file := filepath.Join("testdata", p.Name+".tools")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if d := cmp.Diff(string(want), b.String()); d != "" || err != nil {
		t.Errorf("tools offered: %v %s", err, d)
	}
}
