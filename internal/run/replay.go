package run

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/world"
)

// ReplayError is the first place at which a stored trajectory is not what its world
// gives.
type ReplayError struct {
	At     agentbound.At
	Call   agentbound.Call
	What   string // "ok", "observation", "difference", "event"
	Stored string
	Now    string
}

func (e *ReplayError) Error() string {
	return fmt.Sprintf("step %d, call %d, %s: the stored %s is %s, and the world gives %s", e.At.Step, e.At.Call, e.Call, e.What, e.Stored, e.Now)
}

// Replay proves a stored trajectory: its calls, made again in a world of the same
// kind, must give the same bytes; where that world cannot give its answers again, they
// must keep its rules ([world.Recorded]). Calls that a gate or a limit kept from the world
// are not made. A difference is a *ReplayError; other errors say why the trajectory
// cannot be replayed.
func Replay(ctx context.Context, worlds world.Factory, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) error {
	if tr.Version != agentbound.TrajectoryVersion {
		return fmt.Errorf("the trajectory has version %d; version %d can be replayed", tr.Version, agentbound.TrajectoryVersion)
	}
	if tr.World != worlds.Name() {
		return fmt.Errorf("the trial was made in the world %q; only %q can be replayed", tr.World, worlds.Name())
	}
	if err := sameTask(t, tr); err != nil {
		return err
	}
	w, err := world.OpenRecorded(ctx, worlds, f, t, tr)
	if err != nil {
		return err
	}
	return Again(ctx, w, tr.Steps, tr.Limits)
}

// Again makes the calls of stored steps in a world that stands at their beginning. What is
// not as it was is a *ReplayError.
func Again(ctx context.Context, w world.World, steps []agentbound.Step, limits agentbound.Limits) error {
	for i, step := range steps {
		for k, c := range step.Calls {
			if c.Limited || c.Gate != nil && !c.Gate.Allowed {
				continue
			}
			o, err := w.Call(ctx, c.Call)
			if err != nil {
				return err
			}
			if err := compare(agentbound.At{Step: i, Call: k}, c, o, limits); err != nil {
				return err
			}
		}
	}
	return nil
}

// SamePlan checks that a stored trajectory says of its agent, intervention, world, limits and seed
// what the plan says: a store that was put together wrongly is found so.
func SamePlan(p agentbound.Plan, t agentbound.Trial, tr *agentbound.Trajectory) error {
	for _, part := range []struct {
		what            string
		stored, planned any
	}{
		{"agent", tr.Agent, p.Agent.Name}, {"intervention", tr.Intervention, p.Intervention.Name}, {"world", tr.World, p.World},
		{"limits", tr.Limits.WithDefaults(), p.Limits.WithDefaults()}, {"seed", tr.Seed, Seed(p, t)},
	} {
		if part.stored != part.planned {
			return fmt.Errorf("the %s of the trajectory is %v, and that of its run %v", part.what, part.stored, part.planned)
		}
	}
	return nil
}

// sameTask: what the subject was given is what the family gives.
func sameTask(t *agentbound.Task, tr *agentbound.Trajectory) error {
	if tr.Task != t.ID {
		return fmt.Errorf("the trajectory is of task %s, and the trial of %s", tr.Task, t.ID)
	}
	for _, part := range []struct {
		what         string
		given, stood any
	}{
		{"setting", tr.Setting, t.Setting}, {"instruction", tr.Instruction, t.Instruction}, {"tools", tr.Tools, t.Tools}, {"start state", tr.Start, t.Start},
	} {
		if agentbound.DigestJSON(part.given) != agentbound.DigestJSON(part.stood) {
			return fmt.Errorf("the %s of the trajectory is not that of task %s", part.what, t.ID)
		}
	}
	return nil
}

func compare(at agentbound.At, c agentbound.CallRecord, o world.Observed, limits agentbound.Limits) error {
	for _, part := range []struct {
		what        string
		stored, now any
	}{
		{"ok", c.OK, o.OK}, {"observation", c.Observation, limits.Shown(o.Observation)},
		{"difference", nonNil(c.Diff), nonNil(o.Diff)}, {"event", nonNil(c.Event), nonNil(o.Event)},
	} {
		stored, err := agentbound.EncodeJSON(part.stored)
		if err != nil {
			return err
		}
		now, err := agentbound.EncodeJSON(part.now)
		if err != nil {
			return err
		}
		if !bytes.Equal(stored, now) {
			return &ReplayError{At: at, Call: c.Call, What: part.what, Stored: string(stored), Now: string(now)}
		}
	}
	return nil
}

func nonNil(d agentbound.Diff) agentbound.Diff { return slices.Concat(agentbound.Diff{}, d) }
