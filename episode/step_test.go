package episode_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/world"
)

func open(t *testing.T, e *episode.Episode, d episode.Decision) *episode.Step {
	t.Helper()
	s, err := e.Begin(d)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStepByStep: calls that arrive one by one come to the record that Commit makes of
// them.
func TestStepByStep(t *testing.T) {
	calls := []agentbound.Call{call("read_photo", `{ "photo": "P-1" }`), call("share", `{"photo":`), call("unlog", ``)}
	whole := begin(t, &echo{}, nil)
	seen := commit(t, whole, act(calls...))
	apart := begin(t, &echo{}, nil)
	s := open(t, apart, act())
	for i, c := range calls {
		o, err := s.Call(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(seen[i], o); d != "" {
			t.Errorf("call %d: %s", i, d)
		}
	}
	s.Close()
	s.Close()
	for _, e := range []*episode.Episode{whole, apart} {
		commit(t, e, end(agentbound.Done))
	}
	if d := cmp.Diff(stored(t, whole), stored(t, apart)); d != "" {
		t.Error(d)
	}
}

// TestStopped: what something outside kept from being executed is recorded as a gate's
// denial, and no world hears of it.
func TestStopped(t *testing.T) {
	w := &echo{}
	e := begin(t, w, func(cfg *episode.Config) { cfg.Limits.Args = 20 })
	s := open(t, e, act())
	s.Stop(call("share", `{"photo":"P-1"}`), "harness", "not executed")
	s.Stop(call("share", `{"photo":"P-1","to":"everyone"}`), "harness", "not executed")
	s.Close()
	s.Stop(call("share", `{}`), "harness", "too late")
	got := stored(t, e).Steps[0].Calls
	if len(got) != 2 || got[0].Gate == nil || got[0].Gate.Allowed || got[0].Gate.By != "harness" || got[0].OK || !strings.Contains(got[0].Observation.String(), "not allowed: not executed") {
		t.Errorf("recorded %+v", got)
	}
	if !got[1].Limited || got[1].Gate != nil || len(w.asked) != 0 {
		t.Errorf("recorded %+v, executed %d", got[1], len(w.asked))
	}
}

func TestBeginIsAStep(t *testing.T) {
	e := begin(t, &echo{}, func(cfg *episode.Config) { cfg.Limits.Steps = 1 })
	if _, err := e.Begin(act(call("unlog", `{}`))); err == nil {
		t.Error("calls are taken at the beginning")
	}
	if _, err := e.Begin(end(agentbound.Done)); err == nil {
		t.Error("an outcome is taken at the beginning")
	}
	open(t, e, act()).Close()
	if _, err := e.Begin(act()); !errors.Is(err, episode.ErrSteps) {
		t.Errorf("error %v", err)
	}
	if _, err := e.Begin(act()); !errors.Is(err, episode.ErrEnded) {
		t.Errorf("error %v", err)
	}
}

// TestFaultWithinAStep: what was done before it is recorded, and nothing follows.
func TestFaultWithinAStep(t *testing.T) {
	broken := errors.New("connection reset")
	e := begin(t, &echo{answer: func(c agentbound.Call) (world.Observed, error) {
		if c.Tool == "log" {
			return world.Observed{}, broken
		}
		return world.Observed{OK: true, Observation: agentbound.Null}, nil
	}}, nil)
	s := open(t, e, act())
	if _, err := s.Call(t.Context(), call("unlog", `{}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Call(t.Context(), call("log", `{}`)); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if _, err := s.Call(t.Context(), call("unlog", `{}`)); !errors.Is(err, episode.ErrEnded) {
		t.Errorf("error %v", err)
	}
	if tr := stored(t, e); len(tr.Steps) != 1 || len(tr.Steps[0].Calls) != 1 || tr.End.Reason != agentbound.EndFault {
		t.Errorf("%+v", tr)
	}
}

// TestFloodWithinAStep: calls over the limits are refused, and past MostCalls leave no
// trace.
func TestFloodWithinAStep(t *testing.T) {
	w := &echo{}
	e := begin(t, w, nil)
	s := open(t, e, act())
	for range episode.MostCalls + 50 {
		o, err := s.Call(context.Background(), call("unlog", `{}`))
		if err != nil || len(o.Value) == 0 {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	s.Close()
	e.Describe(agentbound.Harness{Program: "p@1", Tools: []agentbound.OfferedTool{}})
	tr := stored(t, e)
	if len(tr.Steps[0].Calls) != episode.MostCalls || len(w.asked) != agentbound.DefaultLimits().Calls || tr.Harness.Program != "p@1" {
		t.Errorf("%d recorded, %d executed, %+v", len(tr.Steps[0].Calls), len(w.asked), tr.Harness)
	}
}
