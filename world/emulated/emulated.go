// Package emulated is the world in which a language model plays the tools (ToolEmu's
// principle, arXiv 2309.15817). What its users report of such worlds is mended by code: the
// model is only asked about calls whose arguments fit; it proposes an answer and a patch of
// a typed state, and code checks both, gives the ids, does the arithmetic, keeps permission
// facts, clocks and counters out of reach, applies what passes and computes the difference.
// What does not pass goes back with the reason.
package emulated

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/world"
)

// Kind is how the names of these worlds begin, with the version of their rules.
const Kind = "emulated/2"

// Attempts is how often the model may answer one call.
const Attempts = 3

// Worlds opens emulated worlds. Without a model it can only prove stored trajectories.
type Worlds struct {
	Cache  *star.Cache
	Model  model.Model
	Source bool   // the model is shown the tools' programs
	Tokens int    // of one answer at most; 0: the provider's own
	Stored string // without a model: the name that the trajectories hold
}

// Name implements world.Factory: the rules' version, the model with what decides its
// answers, and what it is shown.
func (w Worlds) Name() string {
	if w.Model == nil {
		return w.Stored
	}
	ref := w.Model.Ref()
	shown := "hidden"
	if w.Source {
		shown = "shown"
	}
	most := ""
	if w.Tokens > 0 {
		most = fmt.Sprintf(", at most %d tokens", w.Tokens)
	}
	return fmt.Sprintf("%s:%s (prompt %s, source %s, settings %.8s%s)", Kind, ref.Name, promptVersion, shown, agentbound.DigestJSON(ref.Settings), most)
}

// Open implements world.Factory.
func (w Worlds) Open(ctx context.Context, f *agentbound.Family, t *agentbound.Task) (world.World, error) {
	return w.OpenSeeded(ctx, f, t, 0)
}

// OpenSeeded implements world.Seeded. It fails where the family does not compile.
func (w Worlds) OpenSeeded(ctx context.Context, f *agentbound.Family, t *agentbound.Task, seed uint64) (world.World, error) {
	if w.Model == nil {
		return nil, errors.New("an emulated world needs a model to play its tools")
	}
	e, err := w.open(ctx, f, t)
	if err != nil {
		return nil, err
	}
	s := int64(seed & 0x7fffffff) // what servers take
	zero := 0.0
	m := &player{world: e, model: w.Model, tools: t.Tools, instruction: t.Instruction, temperature: &zero, seed: &s, tokens: w.Tokens}
	if w.Source {
		m.sources = f.Toolkits
	}
	e.source = m
	return e, nil
}

func (w Worlds) open(ctx context.Context, f *agentbound.Family, t *agentbound.Task) (*emulated, error) {
	p, err := w.Cache.Program(f)
	if err != nil {
		return nil, err
	}
	r, err := p.Memo("rules of the emulated world", func() (any, error) { return learn(context.WithoutCancel(ctx), p, f) })
	if err != nil {
		return nil, err
	}
	m, err := p.NewMachine(t.Start, t.Event)
	if err != nil {
		return nil, fmt.Errorf("task %s: %w", t.ID, err)
	}
	known := r.(*rules)
	start, err := decode(t.Start)
	if err != nil {
		return nil, err
	}
	e := &emulated{program: p, machine: m, rules: known, shape: known.shape.clone(), issued: issued{}, said: newSaid(known)}
	e.said.note(start)
	return e, nil
}

// emulated is the world of one trial.
type emulated struct {
	program *star.Program
	machine *star.Machine
	rules   *rules
	shape   *shape // grows where lists that were empty till then are filled
	issued  issued
	said    said
	past    []agentbound.CallRecord
	source  interface {
		// answer says what a call did that fits its tool. args are its completed arguments.
		answer(ctx context.Context, c agentbound.Call, args agentbound.Value) (star.Result, error)
		// skip passes a call by that was answered without asking.
		skip(c agentbound.Call) error
	}
}

// Call implements world.World. A call that does not fit its tool fails by code, and nobody
// is asked. An error is ctx's, or that no valid answer was given.
func (e *emulated) Call(ctx context.Context, c agentbound.Call) (world.Observed, error) {
	if err := ctx.Err(); err != nil {
		return world.Observed{}, err
	}
	args, r, ok := e.program.Kit.Admit(e.machine.State(), c)
	var err error
	if ok {
		r, err = e.source.answer(ctx, c, args)
	} else {
		err = e.source.skip(c)
	}
	if err != nil {
		return world.Observed{}, err
	}
	return e.note(e.machine.Commit(ctx, c, r))
}

// Fail implements world.Failer.
func (e *emulated) Fail(ctx context.Context, c agentbound.Call, observation agentbound.Value) (world.Observed, error) {
	if err := e.source.skip(c); err != nil {
		return world.Observed{}, err
	}
	return e.note(e.machine.Fail(ctx, c, observation))
}

// note keeps what was made of a call.
func (e *emulated) note(m star.Move, err error) (world.Observed, error) {
	if err != nil {
		return world.Observed{}, err
	}
	e.past = append(e.past, agentbound.CallRecord{Call: agentbound.Call{Tool: m.Tool, Args: m.Args}, OK: m.OK, Observation: m.Observation})
	for _, v := range []agentbound.Value{m.Args, m.Observation} {
		tree, err := decode(v)
		if err != nil {
			return world.Observed{}, err
		}
		e.said.note(tree)
	}
	if err := e.said.noteDiff(append(slices.Clone(m.Diff), m.Event...)); err != nil {
		return world.Observed{}, err
	}
	if len(m.Diff)+len(m.Event) > 0 {
		now, err := object(e.machine.State())
		if err != nil {
			return world.Observed{}, err
		}
		e.shape.known(now)
	}
	return world.Observed{OK: m.OK, Observation: m.Observation, Diff: m.Diff, Event: m.Event}, nil
}

// Usage implements world.Metered.
func (e *emulated) Usage() agentbound.Usage {
	if p, ok := e.source.(*player); ok {
		return agentbound.Usage{InputTokens: p.usage.Input, OutputTokens: p.usage.Output}
	}
	return agentbound.Usage{}
}

// reach refuses parts of the state that a tool's program does not name.
func (e *emulated) reach(tool string) func([]string) error {
	parts, all := e.program.Kit.Touches(tool)
	r := resolver{parts: parts, all: all}
	return r.reaches
}

// visible is the state as far as a tool can touch it, and the types of that.
func (e *emulated) visible(tool string, state map[string]any) (seen map[string]any, types map[string]any) {
	parts, all := e.program.Kit.Touches(tool)
	if all {
		parts = slices.Collect(maps.Keys(state))
	}
	seen, types = map[string]any{}, map[string]any{}
	for _, p := range parts {
		if v, ok := state[p]; ok {
			seen[p], types[p] = v, e.rules.types(e.shape.fields[p], []string{p})
		}
	}
	return seen, types
}
