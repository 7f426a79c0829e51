// Package program is the deterministic world: a family's toolkits executed on its
// state (design §3).
package program

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/world"
)

// Name is what plans call this world.
const Name = "program"

// Worlds opens program worlds; they share the compiled families in Cache.
type Worlds struct{ Cache *star.Cache }

// Name implements world.Factory.
func (Worlds) Name() string { return Name }

// Open implements world.Factory. It fails where the family does not compile.
func (w Worlds) Open(_ context.Context, f *agentbound.Family, t *agentbound.Task) (world.World, error) {
	p, err := w.Cache.Program(f)
	if err != nil {
		return nil, err
	}
	m, err := p.NewMachine(t.Start, t.Event)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.ID, err)
	}
	return program{m}, nil
}

type program struct{ machine *star.Machine }

// Call implements world.World.
func (p program) Call(ctx context.Context, c agentbound.Call) (world.Observed, error) {
	return observed(p.machine.Call(ctx, c))
}

// Fail implements world.Failer.
func (p program) Fail(ctx context.Context, c agentbound.Call, observation agentbound.Value) (world.Observed, error) {
	return observed(p.machine.Fail(ctx, c, observation))
}

func observed(m star.Move, err error) (world.Observed, error) {
	if err != nil {
		return world.Observed{}, err
	}
	return world.Observed{OK: m.OK, Observation: m.Observation, Diff: m.Diff, Event: m.Event}, nil
}
