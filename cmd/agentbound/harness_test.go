package main

import (
	"context"
	"encoding/json"
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
	"github.com/agentbound/agentbound/harness/install"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
	programworld "github.com/agentbound/agentbound/world/program"
)

// programPeers are how the models of agent programs see the task's tools.
var programPeers = map[string]struct {
	protocol modeltest.Protocol
	names    modeltest.Names
}{
	"codex":            {modeltest.ResponsesProgram{}, modeltest.Names{Prefix: "mcp__world/", Shown: afterOutput}},
	"openclaw":         {modeltest.ChatProgram{}, modeltest.Names{Prefix: "world__"}},
	"deepseek-harness": {modeltest.ChatProgram{Below: "/"}, modeltest.Names{Prefix: "mcp__world__"}},
	"claude-code":      {modeltest.AnthropicProgram{}, modeltest.Names{Prefix: "mcp__world__"}},
	"gemini-cli":       {modeltest.GeminiProgram{}, modeltest.Names{Prefix: "mcp_world_", Shown: trusted}},
	"qwen-code":        {modeltest.ChatProgram{}, modeltest.Names{Prefix: "mcp__world__"}},
	"opencode":         {modeltest.ChatProgram{}, modeltest.Names{Prefix: "world_"}},
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

// mustHarnesses lists, by commas, the programs that the tests run, which takes minutes;
// what is named and not installed fails them.
const mustHarnesses = "AGENTBOUND_TEST_HARNESSES"

func installedProgram(t *testing.T, p harness.Program) install.Program {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv(mustHarnesses), ","), p.Name) {
		t.Skipf("%s does not name it; make harnesses HARNESSES=%s installs and runs it", mustHarnesses, p.Name)
	}
	store, err := programStore()
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.Find(p)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// realKey is what the peers want to see, and no program may.
const realKey = "sk-of-the-real-endpoint"

// TestRunsAgentPrograms: a model that decides as a reference agent does gets, behind each
// real program between the real proxy and the real tools, held as fast as this machine
// can, the verdicts, calls and Thoughts that it gets without one.
func TestRunsAgentPrograms(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			found := installedProgram(t, p)
			var peak int64
			var level confine.Level
			parts := surroundings{seen: func(r confine.Result) { peak, level = max(peak, r.Memory), r.Level }}.parts()
			began, n := time.Now(), 0
			for i := range 3 {
				f := &s.Families[i]
				policy := evidence(t, f)
				how := programPeers[p.Name]
				peer := modeltest.Serve(t, modeltest.Options{Protocol: how.protocol, Key: realKey, Play: modeltest.Through(policy, how.names)})
				a, err := subject.New(p, parts, subject.Options{Model: peer.Model, Base: peer.URL, Key: realKey, Start: found.Start, ReadOnly: []string{found.Folder}})
				if err != nil {
					t.Fatal(err)
				}
				bare := chat.New(modeltest.Fake{Play: policy}, chat.Options{})
				for _, split := range agentbound.Siblings() {
					got, want := playOnce(t, a, f, split), playOnce(t, bare, f, split)
					if n++; n == 1 {
						saw(t, p, got.Trajectory.Harness)
					}
					alikeTrials(t, string(f.ID)+"/"+string(split), want, got)
					v := got.Verdicts[0]
					t.Logf("%-28s %-2s  %d calls, %s: helpfulness %d, safety %d", f.ID, split, len(callsOf(got)), got.Trajectory.Outcome.Word, v.Helpfulness, v.Safety)
				}
			}
			t.Logf("%d trials with %s at level %s, %s each, %d MiB of memory at most", n, p, level, (time.Since(began) / time.Duration(n)).Round(100*time.Millisecond), peak>>20)
			if peak > p.Memory {
				t.Errorf("it used %d MiB: its description says %d", peak>>20, p.Memory>>20)
			}
		})
	}
}

// onReflection rewrites every Thought in words that change no decision of the scripted
// models'.
type onReflection struct{}

func (onReflection) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	return intervene.Correction{Thought: "On reflection, this: " + c.Thought}, nil
}

// TestCorrectsAgentPrograms: a corrector reaches the Thoughts of the model behind each
// real program. The model goes on from what it is given, and the record holds both.
func TestCorrectsAgentPrograms(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			found := installedProgram(t, p)
			how, policy := programPeers[p.Name], evidence(t, f)
			peer := modeltest.Serve(t, modeltest.Options{Protocol: how.protocol, Key: realKey, Play: modeltest.Through(policy, how.names)})
			a, err := subject.New(p, surroundings{}.parts(), subject.Options{Model: peer.Model, Base: peer.URL, Key: realKey, Start: found.Start, ReadOnly: []string{found.Folder}})
			if err != nil {
				t.Fatal(err)
			}
			edits := intervene.Intervention{Ref: agentbound.Intervention{Name: "edits"}, Corrector: onReflection{}}
			for _, split := range []agentbound.Split{agentbound.HB, agentbound.CM} {
				bare := playOnce(t, chat.New(modeltest.Fake{Play: policy}, chat.Options{}), f, split)
				got := playOnce(t, a, f, split, edits)
				if got.Trajectory.End.Fault != "" {
					t.Fatalf("%s: %s", split, got.Trajectory.End.Fault)
				}
				for _, d := range []string{cmp.Diff(bare.Verdicts, got.Verdicts), cmp.Diff(callsOf(bare), callsOf(got))} {
					if d != "" {
						t.Errorf("%s: %s", split, d)
					}
				}
				for i, step := range got.Trajectory.Steps {
					if step.Draft == nil || !step.Review.Changed || step.Thought != "On reflection, this: "+step.Draft.Thought || len(step.Draft.Calls) != len(step.Calls) {
						t.Errorf("%s, step %d: %+v", split, i, step)
					}
				}
			}
		})
	}
}

// evidence is a model that decides as reference:evidence does.
func evidence(t *testing.T, f *agentbound.Family) modeltest.Player {
	t.Helper()
	task, _ := f.Task(agentbound.EB)
	w, err := programworld.Worlds{Cache: newRooms().cache}.Open(t.Context(), f, task)
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

func playOnce(t *testing.T, a agent.Agent, f *agentbound.Family, s agentbound.Split, by ...intervene.Intervention) agentbound.Result {
	t.Helper()
	i := intervene.None()
	if len(by) > 0 {
		i = by[0]
	}
	cache := newRooms().cache
	b := run.Bench{Agent: a, World: programworld.Worlds{Cache: cache}, Judges: []judge.Judge{programjudge.Judge{Cache: cache}}, Intervention: i}
	r, err := b.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: s}, 77)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func callsOf(r agentbound.Result) (made []string) {
	for _, s := range r.Trajectory.Steps {
		for _, c := range s.Calls {
			made = append(made, c.String())
		}
	}
	return made
}

func thoughtsOf(r agentbound.Result) (said []string) {
	for _, s := range r.Trajectory.Steps {
		said = append(said, string(s.ThoughtSource)+": "+s.Thought)
	}
	return said
}

// alikeTrials: the same verdicts, calls and Thoughts, and nothing beside.
func alikeTrials(t *testing.T, what string, want, got agentbound.Result) {
	t.Helper()
	if got.Trajectory.End.Fault != "" {
		t.Fatalf("%s: %s", what, got.Trajectory.End.Fault)
	}
	for _, d := range []string{cmp.Diff(want.Verdicts, got.Verdicts), cmp.Diff(callsOf(want), callsOf(got)), cmp.Diff(thoughtsOf(want), thoughtsOf(got))} {
		if d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	if h := got.Trajectory.Harness; h == nil || len(h.Own) > 0 || !strings.Contains(h.Held, ": ") {
		t.Errorf("%s: %+v", what, h)
	}
}

// saw holds the tools that the model was offered against what is known of the program.
func saw(t *testing.T, p harness.Program, h *agentbound.Harness) {
	t.Helper()
	var b strings.Builder
	for _, o := range h.Tools {
		whose := "the task's " + o.Tool
		if o.Tool == "" {
			whose = "the program's own"
			if !p.Owns(o.Name) {
				t.Errorf("the model was offered %s, which the program's description does not list", o.Name)
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", o.Name, whose)
		t.Logf("the model saw %-36s %s", o.Name, whose)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "harness", "subject", "testdata", p.Name+".tools"))
	if d := cmp.Diff(string(want), b.String()); d != "" || err != nil {
		t.Errorf("tools offered: %v %s", err, d)
	}
	for _, r := range h.Requests {
		t.Logf("it also asked %s: %s, status %d, %d times", r.Request, r.What, r.Status, r.Count)
	}
}

// TestCommandRunsAgentPrograms: the same by the command, from the run to its report.
func TestCommandRunsAgentPrograms(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			installedProgram(t, p)
			t.Setenv("COMPAT_API_KEY", realKey)
			how := programPeers[p.Name]
			peer := modeltest.Serve(t, modeltest.Options{
				Protocol: how.protocol, Key: realKey, Play: modeltest.Through(modeltest.Comply(f, modeltest.Style{}), how.names),
			})
			db := filepath.Join(t.TempDir(), "s.db")
			level, err := confine.Best()
			if err != nil {
				t.Fatal(err)
			}
			var out, errs strings.Builder
			code := execute(t.Context(), []string{"run", "--suite", "core-small", "--families", string(f.ID), "--splits", "hb,cm", "--repeats", "1", "--store", db,
				"--require-confinement", string(level), "--agent", p.Name + ":test-model@" + peer.URL}, stdio{os.Stdin, &out, &errs})
			if code != exitDone || !strings.Contains(errs.String(), p.String()+": held at level "+string(level)) {
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
					Programs []report.Program
				}
			}
			if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Runs) != 1 || r.Runs[0].Measures.HB.Value != 100 || r.Runs[0].Measures.CM.Value != 0 {
				t.Errorf("%+v", r)
			}
			if d := cmp.Diff([]report.Program{{Program: p.String(), Level: string(level), Trials: 2}}, r.Runs[0].Programs); d != "" {
				t.Error(d)
			}
			out.Reset()
			plain := modeltest.Serve(t, modeltest.Options{Protocol: plainPeers[p.Protocol], Play: reports, Key: realKey})
			if code := execute(t.Context(), []string{"agents", "--check", p.Name + ":test-model@" + plain.URL}, stdio{os.Stdin, &out, &errs}); code != exitDone || !strings.Contains(out.String(), p.Version()) {
				t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
			}
		})
	}
}
