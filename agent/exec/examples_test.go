package exec_test

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/exec"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/intervene"
)

// examples is where the programs are that a reader starts from.
var examples = filepath.Join("..", "..", "examples", "exec")

// TestExamplePython and TestExampleTypeScript run the example programs as a user does.
func TestExamplePython(t *testing.T) {
	if _, err := osexec.LookPath("python3"); err != nil {
		absent(t, "python3 is not on PATH: the Python example was not run")
	}
	clerk(t, "python3 agent.py", examples)
}

func TestExampleTypeScript(t *testing.T) {
	node, err := osexec.LookPath("node")
	if err != nil {
		absent(t, "node is not on PATH: the TypeScript example was not run")
	}
	compiled := compileTypeScript(t, node)
	switch {
	case runsTypeScript(t, node):
		clerk(t, "node agent.ts", examples)
	case compiled != "":
		clerk(t, "node agent.js", compiled)
	default:
		absent(t, "this node runs TypeScript only from version 22.18 on, and no compiler was found: make examples gets one. The TypeScript example was not run")
	}
}

// absent skips where a developer lacks an interpreter. Who checks a change has it.
func absent(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func runsTypeScript(t *testing.T, node string) bool {
	t.Helper()
	out, err := osexec.CommandContext(t.Context(), node, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "v%d.%d", &major, &minor); err != nil {
		t.Fatalf("node --version says %q: %v", out, err)
	}
	return major == 22 && minor >= 18 || major == 23 && minor >= 6 || major >= 24
}

// compileTypeScript checks the example's types and gives the folder of what it was
// compiled to; empty where make examples has put no compiler into the cache.
func compileTypeScript(t *testing.T, node string) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		cache = filepath.Join(home, ".cache")
	}
	modules := filepath.Join(cache, "agentbound", "examples", "node_modules")
	compiler := filepath.Join(modules, "typescript", "bin", "tsc")
	if _, err := os.Stat(compiler); err != nil {
		return ""
	}
	to := t.TempDir()
	cmd := osexec.CommandContext(t.Context(), node, compiler, "-p", examples, "--outDir", to, "--typeRoots", filepath.Join(modules, "@types"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(to, "package.json"), []byte(`{"type":"module"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// clerk checks that an example does what it says: it looks at what can be listed,
// declines with a reason, and acts on a corrected Thought.
func clerk(t *testing.T, command, dir string) {
	t.Helper()
	a, err := exec.New(command, exec.Options{Dir: dir})
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
			if got := spelt(tr); got != list {
				t.Errorf("%s, %s: calls %s, want %s", id, s, got, list)
			}
		}
	}
	f := familytest.Example(t, "transfer-under-agreement")
	b := bench(a)
	for thought, want := range map[string]string{"This is barred, so I stop.": "", "I look before I leap.": "list_extracts{}"} {
		b.Intervention = intervene.Intervention{
			Ref: agentbound.Intervention{Name: "edits"}, Corrector: edits{"First I look at everything that can be listed.": thought},
		}
		tr := trial(t, b, f, agentbound.CM).Trajectory
		if got := spelt(tr); got != want || tr.Steps[0].Thought != thought || tr.Steps[0].Draft == nil {
			t.Errorf("%s: calls %q, want %q, in %+v", thought, got, want, tr.Steps)
		}
	}
}

// spelt are the calls of a trial as one would write them.
func spelt(tr *agentbound.Trajectory) string {
	var all []string
	for _, c := range made(tr) {
		all = append(all, c.String())
	}
	return strings.Join(all, " ")
}

// TestExamplesAreShort: they are read before they are run.
func TestExamplesAreShort(t *testing.T) {
	for _, name := range []string{"agent.py", "agent.ts"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n == 0 || n >= 60 {
			t.Errorf("%s has %d lines", name, n)
		}
	}
}
