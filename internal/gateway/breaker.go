package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"
)

// failures in a row are a corrector that is down, and not a turn that it stumbles over.
const failures = 5

// breaker keeps live turns from waiting for a corrector that is down: after so many
// failures in a row it is left alone for a while, and then asked about one turn, which
// decides whether about the others too. nil asks always.
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	pause   time.Duration
}

// errGone is of a turn that nobody waits for any more: it says nothing of the corrector.
var errGone = errors.New("the client went away")

func (g *Gateway) newBreaker() *breaker {
	if g.opts.Shadow || g.opts.Pause < 0 { // in shadow nobody waits
		return nil
	}
	return &breaker{pause: g.opts.Pause, circuit: gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     g.opts.Pause,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errGone) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				g.meters.paused.Set(1)
				g.opts.Log.Error("the corrector fails: it is not asked for a while", "pause", g.opts.Pause.String(), "turns", string(g.opts.Intervention.OnFailure))
			case gobreaker.StateClosed:
				g.meters.paused.Set(0)
				g.opts.Log.Info("the corrector answers again")
			case gobreaker.StateHalfOpen: // the turn that is asked about decides
			}
		},
	})}
}

// enter says why the corrector is not asked, or gives what is to be called with the
// outcome. ctx is the client's.
func (b *breaker) enter(ctx context.Context) (leave func(error), err error) {
	if b == nil {
		return func(error) {}, nil
	}
	done, err := b.circuit.Allow()
	if err != nil {
		return nil, fmt.Errorf("the corrector was not asked: it failed %d times in a row, and is tried again every %v", failures, b.pause)
	}
	return func(err error) {
		if ctx.Err() != nil && err != nil {
			err = errGone
		}
		done(err)
	}, nil
}
