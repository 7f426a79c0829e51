package play

import (
	"context"
	"errors"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
)

// receipt answers a finish of a session that is recorded: with success where it is the
// one that ended it, sent again because its answer was lost.
func (t *session) receipt(asked entry) (_ Receipt, err error) {
	if t.entries, err = readLines[entry](t.path); err != nil {
		return Receipt{}, err
	}
	defer func() { err = errors.Join(err, t.forget()) }()
	switch e, ok, err := t.answered(asked); {
	case err != nil:
		return Receipt{}, err
	case ok && e.Op == opFinish:
		return Receipt{Recorded: true}, nil
	}
	return Receipt{}, ended()
}

// settle judges what has ended and puts it in the store: it was written down, so the
// request may go away meanwhile. To do it twice does no harm.
func (t *session) settle(ctx context.Context) error {
	if !t.ended {
		return errors.New("the session has not ended")
	}
	ctx = context.WithoutCancel(ctx)
	p := t.seat
	tr := t.episode.Trajectory()
	verdicts, err := run.Judge(ctx, p.judges, p.family, p.task, tr)
	if err != nil {
		return err
	}
	db := t.owner.o.Store
	if err := db.Put(ctx, []agentbound.Result{{Trial: p.Trial, Trajectory: tr, Verdicts: verdicts}}); err != nil {
		return err
	}
	if err := db.PutVerdicts(ctx, []store.Judged{{Key: p.Trial.Key, Verdicts: verdicts}}); err != nil {
		return err
	}
	for _, v := range verdicts {
		if !v.Scored() {
			return fmt.Errorf("%s: %s", v.Judge, v.Unscored)
		}
	}
	if err := t.write(entry{Op: opStored, At: t.now.UnixMilli()}); err != nil {
		return err
	}
	t.stored = true
	return t.forget()
}

// settleLate records a session that ended when an earlier server could not.
func (t *session) settleLate(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended || t.stored {
		return nil
	}
	if err := t.load(ctx); err != nil {
		return err
	}
	if t.stored { // by another server meanwhile
		return t.forget()
	}
	return t.settle(ctx)
}
