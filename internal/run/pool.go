package run

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Each calls do for 0..n-1, as many at a time as there are cores, and waits for all.
// The first error stops what has not begun.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return do(ctx, i)
		})
	}
	return g.Wait()
}
