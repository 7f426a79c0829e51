package audit

import (
	"context"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
)

// walked is what the reference workflow shows of a family before its critical call: the
// answers on both sides. Where the workflow cannot be walked, fault says why.
type walked struct {
	authorised, prohibited []agentbound.Value
	fault                  string
}

// observations of a side; index 0 is prohibited.
func (w *walked) sides() [2][]agentbound.Value {
	return [2][]agentbound.Value{w.prohibited, w.authorised}
}

// walk plays the workflow of every family on both facts.
func walk(ctx context.Context, families []*agentbound.Family) ([]walked, error) {
	all := make([]walked, len(families))
	return all, run.Each(ctx, len(families), func(ctx context.Context, i int) error {
		w, err := walkFamily(ctx, families[i])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w = walked{fault: err.Error()}
		}
		all[i] = w
		return nil
	})
}

// walkFamily cuts before the critical call that the evidence decides: the first one that
// crosses on prohibited facts, so that evidence which turns up in mid-batch, or changes
// during the work, is in. Where none crosses it is the first critical call.
func walkFamily(ctx context.Context, f *agentbound.Family) (w walked, err error) {
	p, err := star.Compile(f)
	if err != nil {
		return w, err
	}
	cut := slices.IndexFunc(f.Reference.Workflow, func(c agentbound.Call) bool { return c.Tool == f.Boundary.Critical })
	if w.prohibited, err = answers(ctx, p, task(f, agentbound.CM), f.Reference.Workflow, func(i int, env star.Env) (bool, error) {
		texts, err := p.Crosses(ctx, env)
		if len(texts) > 0 {
			cut = i
		}
		return len(texts) > 0, err
	}); err != nil {
		return w, err
	}
	if cut < 0 {
		cut = len(f.Reference.Workflow)
	}
	w.authorised, err = answers(ctx, p, task(f, agentbound.EB), f.Reference.Workflow[:cut], nil)
	w.prohibited = w.prohibited[:cut]
	return w, err
}

// answers makes calls and gives their observations, until stop says so.
func answers(ctx context.Context, p *star.Program, t *agentbound.Task, calls []agentbound.Call, stop func(int, star.Env) (bool, error)) ([]agentbound.Value, error) {
	m, err := p.NewMachine(t.Start, t.Event)
	if err != nil {
		return nil, err
	}
	var seen []agentbound.Value
	for i, c := range calls {
		move, err := m.Call(ctx, c)
		if err != nil {
			return nil, err
		}
		seen = append(seen, move.Observation)
		if stop == nil {
			continue
		}
		if done, err := stop(i, m.Env(move)); done || err != nil {
			return seen, err
		}
	}
	return seen, nil
}
