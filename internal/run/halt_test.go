package run_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/judge/program"
)

// TestHalted: when no more may be spent no trial is begun; those in flight end as they
// can, and what comes to nothing is dropped. The next command makes the rest, and the
// results are those of a run that nobody halted.
func TestHalted(t *testing.T) {
	undisturbed := config(t, open(t, ""), bench(&subject{}), nil)
	execute(t, undisturbed)
	want := rows(t, undisturbed.Store, undisturbed.Plan, program.Config)

	why := errors.New("the budget is used up")
	for _, after := range []int64{0, 1, 5, trials - 1} {
		var begun atomic.Int64
		var halted atomic.Pointer[error]
		a := &subject{play: func(ctx context.Context, e *episode.Episode, _ int) error {
			if begun.Add(1) > after {
				halted.Store(&why)
				return errors.New("refused: " + why.Error())
			}
			return coin(ctx, e)
		}}
		cfg := config(t, open(t, ""), bench(a), func(cfg *run.Config) {
			cfg.Halted = func() error {
				if p := halted.Load(); p != nil {
					return *p
				}
				return nil
			}
		})
		got, err := run.Execute(t.Context(), cfg)
		if !errors.Is(err, why) || got.Made != int(after) || got.Unscored != 0 {
			t.Errorf("after %d: %+v, error %v", after, got, err)
		}
		if n := int(begun.Load() - after); n < 1 || n > cfg.Concurrency {
			t.Errorf("after %d: %d more trials were begun", after, n)
		}
		a.play, cfg.Halted = nil, nil
		if got := execute(t, cfg); got.Found != int(after) || got.Done() != trials || got.Unscored != 0 {
			t.Errorf("resumed after %d: %+v", after, got)
		}
		if d := cmp.Diff(want, rows(t, cfg.Store, cfg.Plan, program.Config)); d != "" {
			t.Errorf("after %d: %s", after, d)
		}
	}
}
