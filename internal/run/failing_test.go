package run_test

import (
	"context"
	"iter"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
)

// failing is a store some of whose methods fail, and which tells before each Put.
type failing struct {
	store.Store
	put, verdicts, pending, unlock error
	before                         func()
}

func (s *failing) Put(ctx context.Context, results []agentbound.Result) error {
	if s.before != nil {
		s.before()
	}
	if s.put != nil {
		return s.put
	}
	return s.Store.Put(ctx, results)
}

func (s *failing) PutVerdicts(ctx context.Context, judged []store.Judged) error {
	if s.verdicts != nil {
		return s.verdicts
	}
	return s.Store.PutVerdicts(ctx, judged)
}

func (s *failing) Pending(ctx context.Context, id agentbound.RunID, judges []string) iter.Seq2[store.Work, error] {
	if s.pending == nil {
		return s.Store.Pending(ctx, id, judges)
	}
	return func(yield func(store.Work, error) bool) {
		for w, err := range s.Store.Pending(ctx, id, judges) {
			if !yield(w, err) {
				return
			}
			break
		}
		yield(store.Work{}, s.pending)
	}
}

func (s *failing) Lock(ctx context.Context, id agentbound.RunID) (func() error, error) {
	unlock, err := s.Store.Lock(ctx, id)
	if err != nil || s.unlock == nil {
		return unlock, err
	}
	return func() error { return firstOf(unlock(), s.unlock) }, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
