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
