package mcpexec_test

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/agent/mcpexec"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/world/program"
)

// examples is where the programs are that a reader starts from.
var examples = filepath.Join("..", "..", "examples", "mcp")

// TestExamplesAreShort: they are read before they are run.
func TestExamplesAreShort(t *testing.T) {
	for _, name := range []string{"client.py", "agents_sdk.py", "agent.ts"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n == 0 || n >= 60 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}

// TestExampleClient runs the example that needs nothing but Python, as a user does.
func TestExampleClient(t *testing.T) {
	if _, err := osexec.LookPath("python3"); err != nil {
		why := "python3 is not on PATH: the Python example was not run"
		if os.Getenv("CI") != "" { // who checks a change has it
			t.Fatal(why)
		}
		t.Skip(why)
	}
	a, err := mcpexec.New("python3 client.py", mcpexec.Options{Dir: examples})
	if err != nil {
		t.Fatal(err)
	}
	for id, list := range map[agentbound.FamilyID]string{"transfer-under-agreement": "list_extracts{}", "claim-in-instalments": ""} {
		f := familytest.Example(t, id)
		for _, s := range []agentbound.Split{agentbound.HB, agentbound.CM} {
			res := trial(t, bench(a), f, s)
			tr, v := res.Trajectory, res.Verdicts[0]
			if tr.Outcome.Word != agentbound.Declined || tr.Outcome.Reason == "" {
				t.Fatalf("%s, %s: outcome %+v, end %+v", id, s, tr.Outcome, tr.End)
			}
			if !v.Safe() || v.Useful() == s.Authorised() || v.OverRefusal != s.Authorised() {
				t.Errorf("%s, %s: %+v", id, s, v)
			}
			var calls []string
			for _, step := range tr.Steps {
				calls = append(calls, step.Calls[0].String())
				if step.Thought != "First I look at everything that can be listed." {
					t.Errorf("thought %q", step.Thought)
				}
			}
			if got := strings.Join(calls, " "); got != list {
				t.Errorf("%s, %s: calls %s, want %s", id, s, got, list)
			}
		}
	}
}

// frameworksEnv names the folder where make frameworks has installed what the examples
// with an outside framework need.
const frameworksEnv = "AGENTBOUND_FRAMEWORKS"

// TestFrameworks: an outside framework that plays a model's policy over MCP comes to the
// verdicts that our own model agent comes to with the same model, call by call.
func TestFrameworks(t *testing.T) {
	dir := os.Getenv(frameworksEnv)
	if dir == "" {
		t.Skip("make frameworks runs this: it installs the OpenAI Agents SDK and the TypeScript SDK first")
	}
	for name, command := range map[string]string{
		"OpenAI Agents SDK":  filepath.Join(dir, "python", "bin", "python3") + " " + filepath.Join(dir, "agents_sdk.py"),
		"TypeScript MCP SDK": "node " + filepath.Join(dir, "agent.ts"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range familytest.Examples() {
				f := familytest.Example(t, id)
				policy := modeltest.Evidence(f, authorised(t, f), modeltest.Style{})
				peer := modeltest.Serve(t, modeltest.Options{Play: policy, Key: "k-0123456789"})
				t.Setenv("MODEL_URL", plain(t, peer))
				t.Setenv("MODEL", "test-model")
				t.Setenv("MODEL_KEY", "k-0123456789")
				a, err := mcpexec.New(command, mcpexec.Options{Env: []string{"MODEL_URL", "MODEL", "MODEL_KEY"}})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range agentbound.Siblings() {
					got := trial(t, bench(a), f, s)
					want := trial(t, bench(chat.New(modeltest.Fake{Play: policy}, chat.Options{})), f, s)
					if got.Trajectory.End.Reason != agentbound.EndOutcome {
						t.Fatalf("%s/%s: %+v", id, s, got.Trajectory.End)
					}
					if d := cmp.Diff(want.Verdicts, got.Verdicts); d != "" {
						t.Errorf("%s/%s: verdicts: %s", id, s, d)
					}
					if d := cmp.Diff(records(want.Trajectory), records(got.Trajectory)); d != "" {
						t.Errorf("%s/%s: calls: %s", id, s, d)
					}
					v := got.Verdicts[0]
					t.Logf("%-24s %-2s  %d calls, %s: helpfulness %d, safety %d", id, s, len(records(got.Trajectory)), got.Trajectory.Outcome.Word, v.Helpfulness, v.Safety)
				}
			}
		})
	}
}

// authorised are the answers to the workflow in the authorised world, as a model reads
// them.
func authorised(t *testing.T, f *agentbound.Family) (seen []string) {
	t.Helper()
	w, err := program.Worlds{Cache: cache}.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Reference.Workflow {
		o, err := w.Call(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, o.Observation.String())
	}
	return seen
}
