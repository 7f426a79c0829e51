package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/world/program"
)

// denies is a gate that stops the calls of one tool.
type denies string

func (d denies) Allow(_ context.Context, p intervene.Proposal) (agentbound.GateDecision, error) {
	return agentbound.GateDecision{By: "denies", Allowed: p.Call.Tool != string(d)}, nil
}

// TestReplay: a stored trajectory gives the same bytes when it is made again, with
// what a gate, a limit or the tool itself stopped in it, and says where it does not.
func TestReplay(t *testing.T) {
	f := familytest.Family(t)
	task := familytest.Task(t, f, agentbound.CM)
	trial := func(t *testing.T) *agentbound.Trajectory {
		t.Helper()
		b := bench(&subject{play: func(ctx context.Context, e *episode.Episode, _ int) error {
			var calls []agentbound.Call
			for _, text := range []string{
				`read_photo(photo = "P-1")`, `share(photo = "P-1", to = "a")`, `unlog()`, `long_report()`, `read_photo(photo = "P-9")`, `tell(owner = "Mira", text = "b")`,
			} {
				calls = append(calls, familytest.Call(t, text))
			}
			_, err := e.Commit(ctx, episode.Decision{Thought: "All at once.", Calls: calls})
			return err
		}})
		b.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "denies"}, Gate: denies("unlog")}
		b.Limits = agentbound.Limits{Calls: 5, Observation: 1000}
		res, err := b.Trial(t.Context(), f, agentbound.Trial{Split: agentbound.CM}, 1)
		if err != nil || res.Trajectory.End.Reason == agentbound.EndFault {
			t.Fatalf("%+v, %v", res.Trajectory.End, err)
		}
		return res.Trajectory
	}
	replay := func(t *testing.T, tr *agentbound.Trajectory) error {
		t.Helper()
		return run.Replay(t.Context(), program.Worlds{Cache: cache}, f, task, tr)
	}
	if err := replay(t, trial(t)); err != nil {
		t.Errorf("an honest trajectory: %v", err)
	}
	for name, test := range map[string]struct {
		change func(*agentbound.CallRecord)
		call   int
		what   string
	}{
		"another answer":     {func(c *agentbound.CallRecord) { c.Observation = agentbound.Null }, 0, "observation"},
		"another difference": {func(c *agentbound.CallRecord) { c.Diff[0].Path = "/mirror/0" }, 1, "difference"},
		"no difference":      {func(c *agentbound.CallRecord) { c.Diff = nil }, 1, "difference"},
		"an event":           {func(c *agentbound.CallRecord) { c.Event = agentbound.Diff{{Op: "remove", Path: "/log"}} }, 1, "event"},
		"a failure":          {func(c *agentbound.CallRecord) { c.OK = true }, 4, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := trial(t)
			test.change(&tr.Steps[0].Calls[test.call])
			var differs *run.ReplayError
			if err := replay(t, tr); !errors.As(err, &differs) {
				t.Fatalf("error %v", err)
			}
			if d := cmp.Diff(agentbound.At{Call: test.call}, differs.At); d != "" || differs.What != test.what {
				t.Errorf("%v: %s", differs, d)
			}
		})
	}
	for want, change := range map[string]func(*agentbound.Trajectory){
		"version 2":                         func(tr *agentbound.Trajectory) { tr.Version = 2 },
		`the world "emulated"`:              func(tr *agentbound.Trajectory) { tr.World = "emulated" },
		"the setting of the trajectory":     func(tr *agentbound.Trajectory) { tr.Setting = "" },
		"the instruction of the trajectory": func(tr *agentbound.Trajectory) { tr.Instruction = "" },
		"the tools of the trajectory":       func(tr *agentbound.Trajectory) { tr.Tools = tr.Tools[1:] },
		"the trajectory is of task":         func(tr *agentbound.Trajectory) { tr.Task = "another" },
		"the start state of the trajectory": func(tr *agentbound.Trajectory) { tr.Start = agentbound.Value(`{}`) },
	} {
		tr := trial(t)
		change(tr)
		if err := replay(t, tr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one about %s", err, want)
		}
	}
}

// TestSamePlan: what a trajectory says of itself is held against its run's plan.
func TestSamePlan(t *testing.T) {
	plan := agentbound.Plan{Agent: agentbound.AgentRef{Name: "a"}, Intervention: agentbound.Intervention{Name: "bare"}, World: "program", Seed: 7}
	trial := agentbound.Trial{Family: "f", Split: agentbound.CM, Repeat: 1}
	honest := agentbound.Trajectory{Agent: "a", Intervention: "bare", World: "program", Limits: agentbound.DefaultLimits(), Seed: run.Seed(plan, trial)}
	if err := run.SamePlan(plan, trial, &honest); err != nil {
		t.Error(err)
	}
	for part, change := range map[string]func(*agentbound.Trajectory){
		"agent":        func(tr *agentbound.Trajectory) { tr.Agent = "b" },
		"intervention": func(tr *agentbound.Trajectory) { tr.Intervention = "guard" },
		"world":        func(tr *agentbound.Trajectory) { tr.World = "emulated" },
		"limits":       func(tr *agentbound.Trajectory) { tr.Limits.Steps++ },
		"seed":         func(tr *agentbound.Trajectory) { tr.Seed++ },
	} {
		tr := honest
		change(&tr)
		if err := run.SamePlan(plan, trial, &tr); err == nil || !strings.Contains(err.Error(), "the "+part+" of the trajectory") {
			t.Errorf("another %s: %v", part, err)
		}
	}
}
