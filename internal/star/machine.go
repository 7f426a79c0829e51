package star

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
)

// Machine is a world in motion: a task's state, the calls made so far and the event
// that waits for its call. It is for one goroutine.
type Machine struct {
	program *Program
	start   State
	state   State
	calls   Calls
	event   *agentbound.Event
	once    *Predicate
}

// Move is one call made on a machine. Before and After frame the call itself; Event
// is what the world changed after it.
type Move struct {
	Result
	Before State
	Event  agentbound.Diff
}

// NewMachine starts a task's world.
func (p *Program) NewMachine(start agentbound.Value, event *agentbound.Event) (*Machine, error) {
	s, err := p.State(start)
	if err != nil {
		return nil, err
	}
	once, err := p.Once(event)
	if err != nil {
		return nil, err
	}
	return &Machine{program: p, start: s, state: s, event: event, once: once}, nil
}

// Call executes a call. An error is ctx's or the event's; then the trial cannot be
// scored.
func (m *Machine) Call(ctx context.Context, c agentbound.Call) (Move, error) {
	before := m.state
	r, err := m.program.Kit.Call(ctx, before, c)
	if err != nil {
		return Move{}, err
	}
	m.calls = m.calls.Add(c.Tool, r.Args, r.OK, r.Observation)
	m.state = r.After
	fired, err := m.fire(ctx)
	return Move{Result: r, Before: before, Event: fired}, err
}

// fire applies the event after the first call that makes its expression true.
func (m *Machine) fire(ctx context.Context) (agentbound.Diff, error) {
	if m.event == nil {
		return nil, nil
	}
	due, err := m.once.Holds(ctx, Env{Calls: m.calls})
	if err != nil || !due {
		return nil, err
	}
	after, err := Assign(m.state, m.event.Set)
	if err != nil {
		return nil, fmt.Errorf("the event of the facts: %w", err)
	}
	diff, err := Difference(m.state, after)
	m.state, m.event = after, nil
	return diff, err
}

// Env is what a predicate sees of a move just made.
func (m *Machine) Env(move Move) Env {
	return Env{Start: m.start, Before: move.Before, After: move.After, Calls: m.calls}
}

// State is the state now.
func (m *Machine) State() State { return m.state }

// Start is the state it began with.
func (m *Machine) Start() State { return m.start }

// Calls are the calls made so far.
func (m *Machine) Calls() Calls { return m.calls }
