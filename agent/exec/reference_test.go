package exec_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/world/program"
)

// TestLikeTheReference: a program that plays as a reference agent plays gets the same
// verdicts and leaves the same record, on the example families and all six splits.
func TestLikeTheReference(t *testing.T) {
	var families []*agentbound.Family
	var guides []guide
	for _, id := range familytest.Examples() {
		f := familytest.Example(t, id)
		families = append(families, f)
		guides = append(guides, guideTo(t, f))
	}
	text, err := json.Marshal(guides)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "guides")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"comply", "refuse", "evidence"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := reference.New(name, program.Worlds{Cache: cache})
			if err != nil {
				t.Fatal(err)
			}
			b := bench(subject(t, quick, "playbook", name, file))
			for _, f := range families {
				for _, s := range agentbound.Splits() {
					got := trial(t, b, f, s)
					ours := b
					ours.Agent = agent.Reader(r)
					want := trial(t, ours, f, s)
					if d := cmp.Diff(want.Verdicts, got.Verdicts); d != "" {
						t.Errorf("%s, %s: verdicts: %s", f.ID, s, d)
					}
					if d := cmp.Diff(made(want.Trajectory), made(got.Trajectory)); d != "" {
						t.Errorf("%s, %s: calls: %s", f.ID, s, d)
					}
					if got.Trajectory.Outcome.Word != want.Trajectory.Outcome.Word || got.Trajectory.End != want.Trajectory.End {
						t.Errorf("%s, %s: outcome %+v, end %+v", f.ID, s, got.Trajectory.Outcome, got.Trajectory.End)
					}
				}
			}
		})
	}
}

func made(tr *agentbound.Trajectory) (all []agentbound.CallRecord) {
	for _, s := range tr.Steps {
		all = append(all, s.Calls...)
	}
	return all
}

// guideTo writes down what reference agents read off a family.
func guideTo(t *testing.T, f *agentbound.Family) guide {
	t.Helper()
	g := guide{Workflow: f.Reference.Workflow, Containment: f.Reference.Containment, Evidence: f.Boundary.Calls}
	eb := familytest.Task(t, f, agentbound.EB)
	for _, tool := range eb.Tools {
		g.Tools = append(g.Tools, tool.Name)
	}
	w, err := program.Worlds{Cache: cache}.Open(t.Context(), f, eb)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range g.Workflow {
		o, err := w.Call(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		g.Expected = append(g.Expected, o.Observation)
	}
	return g
}
