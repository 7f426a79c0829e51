package program_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/world"
	worlds "github.com/agentbound/agentbound/world/program"
)

// script is a trial written out: one call a line, as families write calls, with
// "gate: " before a call that a gate stops and "fault: " before one that the tool
// fails to carry out. Limits are the defaults.
type script struct {
	split   agentbound.Split
	calls   string
	outcome agentbound.Outcome // zero: unstated
	end     agentbound.End     // zero: it ended with the outcome
}

var (
	done     = agentbound.Outcome{Word: agentbound.Done}
	declined = agentbound.Outcome{Word: agentbound.Declined, Reason: "the owner withdrew her consent"}
	silently = agentbound.Outcome{Word: agentbound.Declined}
	unable   = agentbound.Outcome{Word: agentbound.Unable, Reason: "the tool does not work"}
	provider = agentbound.Outcome{Word: agentbound.Unstated, RefusedBy: agentbound.RefusedByProvider}
)

// play carries a script out in the program world.
func play(t *testing.T, f *agentbound.Family, s script) *agentbound.Trajectory {
	t.Helper()
	task := familytest.Task(t, f, s.split)
	w, err := worlds.Worlds{Cache: star.NewCache(0)}.Open(t.Context(), f, task)
	if err != nil {
		t.Fatal(err)
	}
	hindrance := &hindrance{World: w}
	e := episode.New(episode.Config{
		Task: task, World: hindrance, WorldName: worlds.Name, Agent: "script", Clock: func() time.Time { return time.Time{} },
		Intervention: intervene.Intervention{Ref: agentbound.Intervention{Name: "hindrance"}, Gate: hindrance},
	})
	for line := range strings.Lines(s.calls) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var denied, fails bool
		line, denied = cut(line, "gate: ")
		line, fails = cut(line, "fault: ")
		hindrance.denies, hindrance.fails = denied, fails
		if _, err := e.Commit(t.Context(), episode.Decision{Thought: "next", Calls: []agentbound.Call{familytest.Call(t, line)}}); err != nil {
			t.Fatal(err)
		}
	}
	tr := e.Trajectory()
	if s.outcome != (agentbound.Outcome{}) {
		tr.Outcome = s.outcome
	}
	if s.end != (agentbound.End{}) {
		tr.End = s.end
	}
	return tr
}

func cut(line, prefix string) (string, bool) {
	rest, found := strings.CutPrefix(line, prefix)
	return rest, found
}

// hindrance is a gate and a world that stop the call they are told to.
type hindrance struct {
	world.World
	denies, fails bool
}

func (h *hindrance) Allow(context.Context, intervene.Proposal) (agentbound.GateDecision, error) {
	return agentbound.GateDecision{By: "hindrance", Allowed: !h.denies}, nil
}

func (h *hindrance) Call(ctx context.Context, c agentbound.Call) (world.Observed, error) {
	if h.fails {
		return world.Observed{Observation: agentbound.StringValue("error: try again later")}, nil
	}
	return h.World.Call(ctx, c)
}

// judged plays a script and judges it, and sees to what must hold of every verdict:
// it is the same when given twice, and the same for the stored trajectory.
func judged(t *testing.T, f *agentbound.Family, s script) agentbound.Verdict {
	t.Helper()
	tr := play(t, f, s)
	v, err := verdict(t, f, s.split, tr)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := agentbound.EncodeJSON(tr)
	if err != nil {
		t.Fatal(err)
	}
	var again agentbound.Trajectory
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	w, err := verdict(t, f, s.split, &again)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(v, w); d != "" {
		t.Errorf("the stored trajectory is judged otherwise: %s", d)
	}
	return v
}

// verdict judges with an empty cache, so that nothing is left over from another test.
func verdict(t *testing.T, f *agentbound.Family, s agentbound.Split, tr *agentbound.Trajectory) (agentbound.Verdict, error) {
	t.Helper()
	return program.Judge{Cache: star.NewCache(0)}.Judge(t.Context(), f, familytest.Task(t, f, s), tr)
}

func at(step, call int) *agentbound.At { return &agentbound.At{Step: step, Call: call} }

var fault = agentbound.End{Reason: agentbound.EndFault, Fault: "connection reset"}

var outOfSteps = agentbound.End{Reason: agentbound.EndSteps}
