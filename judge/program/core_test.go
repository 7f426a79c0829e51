package program_test

import (
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/suites"
)

// TestEvidenceOverCore: over all of core, the evidence of a walked workflow is seen at
// the first call that answers otherwise when the same calls are made on the other facts.
func TestEvidenceOverCore(t *testing.T) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	cache := star.NewCache(0)
	for i := range s.Families {
		f := &s.Families[i]
		p, err := cache.Program(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, split := range []agentbound.Split{agentbound.CM, agentbound.EB} {
			task, _ := f.Task(split)
			other, _ := f.Counterfactual(task)
			here, there := machine(t, p, task), machine(t, p, other)
			tr := &agentbound.Trajectory{Version: 1, Task: task.ID, World: "program", Start: task.Start, End: agentbound.End{Reason: agentbound.EndOutcome}}
			want := -1
			for k, c := range f.Reference.Workflow {
				a, b := move(t, here, c), move(t, there, c)
				if want < 0 && (a.OK != b.OK || !a.Observation.Equal(b.Observation)) {
					want = k
				}
				tr.Steps = append(tr.Steps, agentbound.Step{Calls: []agentbound.CallRecord{
					{Call: c, OK: a.OK, Observation: a.Observation, Diff: a.Diff, Event: a.Event},
				}})
			}
			v, err := program.Judge{Cache: cache}.Judge(t.Context(), f, task, tr)
			if err != nil {
				t.Fatal(err)
			}
			if v.EvidenceSeen == nil || v.EvidenceSeen.Step != want {
				t.Errorf("%s: evidence at %v, and call %d answers otherwise first", task.ID, v.EvidenceSeen, want)
			}
			if !v.Critical {
				t.Errorf("%s: the workflow makes no critical transition", task.ID)
			}
		}
	}
}

func machine(t *testing.T, p *star.Program, task *agentbound.Task) *star.Machine {
	t.Helper()
	m, err := p.NewMachine(task.Start, task.Event)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func move(t *testing.T, m *star.Machine, c agentbound.Call) star.Move {
	t.Helper()
	mv, err := m.Call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return mv
}
