package mcpexec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/mcpexec"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/world/program"
)

var cache = star.NewCache(0)

func subject(t testing.TB, name string, args ...string) *mcpexec.Agent {
	t.Helper()
	a, err := mcpexec.New(command(t, name, args...), mcpexec.Options{Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func bench(a agent.Agent) run.Bench {
	return run.Bench{
		Agent: a, World: program.Worlds{Cache: cache}, Judges: []judge.Judge{programjudge.Judge{Cache: cache}},
		Intervention: intervene.None(), Limits: agentbound.Limits{Seconds: 60},
	}
}

func trial(t testing.TB, b run.Bench, f *agentbound.Family, s agentbound.Split) agentbound.Result {
	t.Helper()
	res, err := b.Trial(t.Context(), f, agentbound.Trial{Split: s}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func play(t testing.TB, a agent.Agent, s agentbound.Split) *agentbound.Trajectory {
	t.Helper()
	return trial(t, bench(a), familytest.Family(t), s).Trajectory
}

func steps(t testing.TB, of ...step) string {
	t.Helper()
	b, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func call(tool, args string) step {
	return step{Call: agentbound.Call{Tool: tool, Args: agentbound.Value(args)}}
}

// TestProgramPlays: each call is a step, a failure is read, and the last line of the
// output is the outcome.
func TestProgramPlays(t *testing.T) {
	thought := call("read_photo", `{"photo":"P-1"}`)
	thought.Thought = "I look first."
	tr := play(t, subject(t, "calls", "I saw: %s\nOUTCOME: declined — no consent", steps(t, thought, call("log", `{"text":"ümlaut 1.0"}`), call("log", `{}`), call("burn", `{}`))), agentbound.EB)
	var got []string
	for _, s := range tr.Steps {
		for _, c := range s.Calls {
			got = append(got, fmt.Sprintf("%s|%s|%s=%t", s.Thought, s.ThoughtSource, c.Call, c.OK))
		}
	}
	want := []string{`I look first.|text|read_photo{"photo":"P-1"}=true`, `|none|log{"text":"ümlaut 1.0"}=true`, `|none|log{}=false`, `|none|burn{}=false`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	o := tr.Outcome
	if o.Word != agentbound.Declined || o.Reason != "no consent" || !strings.Contains(o.Text, `{"status":"logged"} | error: `) || !strings.Contains(o.Text, `protocol error`) {
		t.Errorf("outcome %+v, end %+v", o, tr.End)
	}
}

// script is a policy within this process.
type script []agentbound.Call

func (s *script) Next(context.Context, []episode.Observation) (episode.Decision, error) {
	if len(*s) == 0 {
		return episode.Decision{Outcome: &agentbound.Outcome{Word: agentbound.Done, Reason: "as asked"}}, nil
	}
	c := (*s)[0]
	*s = (*s)[1:]
	return episode.Decision{Calls: []agentbound.Call{c}}, nil
}

func (s *script) Revise(_ context.Context, d episode.Decision, _ string) (episode.Decision, error) {
	return d, nil
}

func (s script) Ref() agentbound.AgentRef { return agentbound.AgentRef{Name: "script"} }
func (s script) Play(ctx context.Context, e *episode.Episode) error {
	return agent.Loop(ctx, e, &s)
}

// TestSameVerdicts: a policy that is played over MCP gets, call by call and verdict by
// verdict, what it gets without.
func TestSameVerdicts(t *testing.T) {
	for _, id := range familytest.Examples() {
		f := familytest.Example(t, id)
		for _, path := range [][]agentbound.Call{f.Reference.Workflow, f.Reference.Containment} {
			var all []step
			for _, c := range path {
				all = append(all, step{Call: c})
			}
			a := subject(t, "calls", "OUTCOME: done — as asked", steps(t, all...))
			for _, s := range []agentbound.Split{agentbound.HS, agentbound.CM, agentbound.EB, agentbound.HB} {
				over, without := trial(t, bench(a), f, s), trial(t, bench(script(path)), f, s)
				if d := cmp.Diff(without.Verdicts, over.Verdicts); d != "" {
					t.Errorf("%s/%s: verdicts: %s", id, s, d)
				}
				if d := cmp.Diff(records(without.Trajectory), records(over.Trajectory)); d != "" || len(records(over.Trajectory)) != len(path) {
					t.Errorf("%s/%s: calls: %s", id, s, d)
				}
			}
		}
	}
}

func records(tr *agentbound.Trajectory) (all []agentbound.CallRecord) {
	for _, s := range tr.Steps {
		all = append(all, s.Calls...)
	}
	return all
}

// TestHowItEnds: which endings are behaviour, and which leave the trial unscored.
func TestHowItEnds(t *testing.T) {
	for _, test := range []struct {
		name, subject, arg string
		word               agentbound.Word
		fault              string
	}{
		{"with an outcome, without the server", "says", "OUTCOME: declined — I never do", agentbound.Declined, ""},
		{"with an outcome among events", "says", "{\"type\":\"start\"}\n{}\nOUTCOME: unable — no tool\n", agentbound.Unable, ""},
		{"with a last line that is none", "abandons", "", agentbound.Unstated, ""},
		{"without a word or a call", "says", "hello", "", "has not once come to the MCP server"},
		{"with nothing", "says", "", "", "has not once come to the MCP server"},
		{"with a status, though it said done", "crashes", "", "", "exit status 4; one that has done its work ends with status 0; its stderr ends: out of ideas"},
		{"with a call in flight", "leaves", "", agentbound.Done, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			tr := play(t, subject(t, test.subject, test.arg), agentbound.EB)
			if test.fault != "" {
				if tr.End.Reason != agentbound.EndFault || !strings.Contains(tr.End.Fault, test.fault) {
					t.Errorf("end %+v", tr.End)
				}
				return
			}
			if tr.End.Reason != agentbound.EndOutcome || tr.Outcome.Word != test.word {
				t.Errorf("outcome %+v, end %+v", tr.Outcome, tr.End)
			}
		})
	}
}

// TestOutOfSteps is behaviour: the program is told, and then ended.
func TestOutOfSteps(t *testing.T) {
	b := bench(subject(t, "stays"))
	b.Limits.Steps = 3
	res := trial(t, b, familytest.Family(t), agentbound.EB)
	if tr := res.Trajectory; tr.End.Reason != agentbound.EndSteps || len(tr.Steps) != 3 || !res.Verdicts[0].Scored() {
		t.Errorf("end %+v, %d steps", tr.End, len(tr.Steps))
	}
	b = bench(subject(t, "calls", "I saw %s", steps(t, call("unlog", `{}`), call("unlog", `{}`))))
	b.Limits.Steps = 1
	if tr := trial(t, b, familytest.Family(t), agentbound.EB).Trajectory; tr.End.Reason != agentbound.EndSteps {
		t.Errorf("end %+v", tr.End)
	}
}

// TestNothingIsLeft: however a trial ends, process, server and goroutines are gone.
func TestNothingIsLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	play(t, subject(t, "says", "OUTCOME: done"), agentbound.EB)
	goroutines := runtime.NumGoroutine()
	for _, name := range []string{"stays", "leaves", "crashes", "abandons"} {
		b := bench(subject(t, name))
		b.Limits.Seconds = 2
		tr := trial(t, b, familytest.Family(t), agentbound.EB).Trajectory
		if name == "stays" && tr.End.Reason != agentbound.EndFault && tr.End.Reason != agentbound.EndSteps {
			t.Errorf("%s: end %+v", name, tr.End)
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, were %d", n, goroutines)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestTogether: calls that arrive together are steps of their own.
func TestTogether(t *testing.T) {
	tr := play(t, subject(t, "crowd"), agentbound.EB)
	if len(tr.Steps) != 20 || len(records(tr)) != 20 || tr.Outcome.Word != agentbound.Done {
		t.Errorf("%d steps, end %+v, outcome %+v", len(tr.Steps), tr.End, tr.Outcome)
	}
}

type edits map[string]string

func (e edits) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	if to, ok := e[c.Thought]; ok {
		return intervene.Correction{Thought: to}, nil
	}
	return intervene.Correction{Thought: c.Thought}, nil
}

// TestRevise: a Thought that was changed comes back in the call's answer, nothing was
// carried out, and the next call is what counts.
func TestRevise(t *testing.T) {
	share, look := call("share", `{"photo":"P-1","to":"press@paper.example"}`), call("read_photo", `{"photo":"P-1"}`)
	share.Thought = "I share it."
	b := bench(subject(t, "calls", "%s\nOUTCOME: done", steps(t, share, look)))
	b.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "edits"}, Corrector: edits{"I share it.": "I look first."}}
	tr := trial(t, b, familytest.Family(t), agentbound.CM).Trajectory
	if len(tr.Steps) != 1 || tr.Steps[0].Thought != "I look first." || tr.Steps[0].Calls[0].Tool != "read_photo" || tr.Steps[0].Draft == nil || tr.Steps[0].Draft.Calls[0].Tool != "share" {
		t.Errorf("steps %+v, end %+v", tr.Steps, tr.End)
	}
	if !strings.Contains(tr.Outcome.Text, `"thought":"I look first."`) {
		t.Errorf("the program saw %s", tr.Outcome.Text)
	}
}

// TestWhatItIsGiven: the brief, and nothing that tells one sibling from another.
func TestWhatItIsGiven(t *testing.T) {
	t.Setenv("SECRET_OF_MINE", "sk-0123456789")
	t.Setenv("KEY_FOR_IT", "sk-9876543210")
	a, err := mcpexec.New(command(t, "witness"), mcpexec.Options{Env: []string{"KEY_FOR_IT"}})
	if err != nil {
		t.Fatal(err)
	}
	f := familytest.Family(t)
	tr := play(t, a, agentbound.CM)
	var got struct {
		Tools, Env, Files []string
		Task              map[string]any
		Instructions      string
	}
	if err := json.Unmarshal([]byte(tr.Outcome.Text), &got); err != nil {
		t.Fatalf("%v: %+v %s", err, tr.End, tr.Outcome.Text)
	}
	task := familytest.Task(t, f, agentbound.CM)
	var tools []string
	for _, tool := range task.Tools {
		tools = append(tools, tool.Name)
	}
	if d := cmp.Diff(tools, got.Tools); d != "" {
		t.Error(d)
	}
	if got.Task["setting"] != task.Setting || got.Task["instruction"] != task.Instruction || got.Instructions != "" {
		t.Errorf("given %+v", got)
	}
	if d := cmp.Diff([]string{"mcp.json", "task.json"}, got.Files); d != "" {
		t.Error(d)
	}
	all := strings.Join(got.Env, " ")
	for _, want := range []string{"AGENTBOUND_INSTRUCTION=" + task.Instruction, "AGENTBOUND_SYSTEM=" + task.Setting, "KEY_FOR_IT", "PATH"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not in %s", want, all)
		}
	}
	if slices.Contains(got.Env, "SECRET_OF_MINE") || strings.Contains(all, string(f.ID)) {
		t.Errorf("environment %s", all)
	}
	ref := a.Ref()
	if ref.Kind != "mcp-exec" || ref.Settings["env"] != "KEY_FOR_IT" || ref.Settings["files"] == "" {
		t.Errorf("%+v", ref)
	}
}

func TestNewRefuses(t *testing.T) {
	for command, want := range map[string]string{
		"":                  "mcp-exec:PROGRAM",
		"no-such-program-x": "cannot be run",
		"'open":             "not closed",
	} {
		if _, err := mcpexec.New(command, mcpexec.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", command, err, want)
		}
	}
}
