// Package world is the port to a simulated world: it takes calls, gives
// observations and shows what they changed. Nothing a world does reaches anything
// real.
package world

import (
	"context"

	"github.com/agentbound/agentbound"
)

// World is the world of one trial, for one goroutine.
type World interface {
	// Call executes a call. A tool's failure is an Observed with OK false; an error
	// is infrastructure and leaves the trial unscored.
	Call(ctx context.Context, c agentbound.Call) (Observed, error)
}

// Observed is what a call did: what the subject sees, what the call changed, and
// what the world itself changed after it.
type Observed struct {
	OK          bool
	Observation agentbound.Value
	Diff        agentbound.Diff
	Event       agentbound.Diff
}

// Factory opens worlds.
type Factory interface {
	// Name is the world's kind, as plans and trial keys hold it.
	Name() string
	// Open starts the world of a task of the family.
	Open(ctx context.Context, f *agentbound.Family, t *agentbound.Task) (World, error)
}

// The rest are things that not every world has.

// Seeded is a Factory whose worlds sample: it is opened with the trial's seed.
type Seeded interface {
	OpenSeeded(ctx context.Context, f *agentbound.Family, t *agentbound.Task, seed uint64) (World, error)
}

// Recorded is a Factory whose worlds do not give the same answers again. What it opens
// takes its answers from a stored trajectory, asks nobody, and holds each answer to the
// world's rules: its Call fails where one breaks them.
type Recorded interface {
	OpenRecorded(ctx context.Context, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (World, error)
}

// Metered is a World that spends: Usage is what it spent so far, failed attempts too.
type Metered interface {
	Usage() agentbound.Usage
}

// Failer is a World that can be told of a call that something before it made fail: the
// call counts among those made, and the world's event may follow it.
type Failer interface {
	Fail(ctx context.Context, c agentbound.Call, observation agentbound.Value) (Observed, error)
}

// Open starts the world of a task, with a seed where the factory takes one.
func Open(ctx context.Context, w Factory, f *agentbound.Family, t *agentbound.Task, seed uint64) (World, error) {
	if s, ok := w.(Seeded); ok {
		return s.OpenSeeded(ctx, f, t, seed)
	}
	return w.Open(ctx, f, t)
}

// OpenRecorded starts the world in which a stored trajectory is proved: one that takes its
// answers from it where the factory cannot give them again, else a fresh one.
func OpenRecorded(ctx context.Context, w Factory, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (World, error) {
	if r, ok := w.(Recorded); ok {
		return r.OpenRecorded(ctx, f, t, tr)
	}
	return w.Open(ctx, f, t)
}
