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
	Tool   string
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
	r, err := m.program.Kit.Call(ctx, m.state, c)
	if err != nil {
		return Move{}, err
	}
	return m.Commit(ctx, c, r)
}

// Commit records what a call did where something else than the call's tool worked it
// out, and applies the event if the call brings it. Of r, After is the state after.
func (m *Machine) Commit(ctx context.Context, c agentbound.Call, r Result) (Move, error) {
	before := m.state
	m.calls = m.calls.Add(c.Tool, r.Args, r.OK, r.Observation)
	m.state = r.After
	fired, err := m.fire(ctx)
	return Move{Result: r, Tool: c.Tool, Before: before, Event: fired}, err
}

// Fail records a call that something outside of its tool made fail.
func (m *Machine) Fail(ctx context.Context, c agentbound.Call, observation agentbound.Value) (Move, error) {
	return m.Commit(ctx, c, Result{Fault: FaultTool, Observation: observation, Args: m.program.Kit.Complete(c), After: m.state})
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
