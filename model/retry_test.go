package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
)

// fails gives these errors in order and then an answer; it counts how often it was asked.
func fails(asked *int, errs ...error) func(context.Context) (model.Response, error) {
	return func(context.Context) (model.Response, error) {
		*asked++
		if *asked <= len(errs) {
			return model.Response{}, errs[*asked-1]
		}
		return model.Response{Stop: model.StopEnd}, nil
	}
}

func TestRetry(t *testing.T) {
	busy, key, odd := &model.Error{Fault: model.FaultServer, What: "busy"}, &model.Error{Fault: model.FaultKey, What: "no"}, errors.New("odd")
	for name, test := range map[string]struct {
		errs  []error
		want  string
		asked int
	}{
		"at once":          {nil, "", 1},
		"at the last":      {[]error{busy, busy}, "", 3},
		"too late":         {[]error{busy, busy, busy}, "busy (3 attempts)", 3},
		"for good":         {[]error{busy, key, busy}, "no", 2},
		"another's error":  {[]error{odd}, "odd", 1},
		"one within":       {[]error{errors.Join(odd, busy)}, "", 2},
		"too long to wait": {[]error{&model.Error{Fault: model.FaultRate, What: "busy", After: time.Hour}}, "busy (it asks to wait 1h0m0s)", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				res, err := model.Retry{Attempts: 3}.Do(t.Context(), fails(&asked, test.errs...))
				if got := message(err); got != test.want || asked != test.asked || (err == nil) != (res.Stop == model.StopEnd) {
					t.Errorf("%+v, error %q, asked %d times", res, got, asked)
				}
			})
		})
	}
	if busy.What != "busy" {
		t.Errorf("the error was changed: %v", busy)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestRetryWaits on the clock by default: 1, 2, 4, 8 and 16 seconds, the half of each by
// chance.
func TestRetryWaits(t *testing.T) {
	busy := &model.Error{Fault: model.FaultServer, What: "busy"}
	for chance, want := range map[float64]time.Duration{0: 15500 * time.Millisecond, 0.5: 23250 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			began, asked := time.Now(), 0
			_, err := model.Retry{Jitter: func() float64 { return chance }}.Do(t.Context(), fails(&asked, busy, busy, busy, busy, busy, busy))
			if got := time.Since(began); err == nil || asked != 6 || got != want {
				t.Errorf("%d attempts in %s, want %s; error %v", asked, got, want, err)
			}
		})
	}
}

// TestRetryEnds: an attempt that never ends is ended; the context of the whole ends all.
func TestRetryEnds(t *testing.T) {
	hangs := func(ctx context.Context) (model.Response, error) {
		<-ctx.Done()
		return model.Response{}, ctx.Err()
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := model.Retry{Attempts: 2, Timeout: 10 * time.Second, Base: time.Second, Jitter: func() float64 { return 0 }}.Do(t.Context(), hangs)
		if d := cmp.Diff("no answer within 10s (2 attempts); give more time with --per-call, or ask less at a time with --endpoint-concurrency", message(err)); d != "" || time.Since(began) != 20500*time.Millisecond {
			t.Errorf("after %s: %s", time.Since(began), d)
		}
	})
	why := errors.New("the trial is over")
	for name, attempt := range map[string]func(context.Context) (model.Response, error){
		"in an attempt": hangs,
		"in a pause": func(context.Context) (model.Response, error) {
			return model.Response{}, &model.Error{Fault: model.FaultRate, What: "busy", After: time.Minute}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, why)
				defer cancel()
				if _, err := (model.Retry{}).Do(ctx, attempt); !errors.Is(err, why) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// gate is a Pace that holds each attempt for a while, or turns it away.
type gate struct {
	wait    time.Duration
	refuse  error
	entered int
	left    []error
}

func (g *gate) Enter(context.Context) (func(model.Response, error), error) {
	time.Sleep(g.wait)
	g.entered++
	if g.refuse != nil && g.entered == 2 {
		return nil, g.refuse
	}
	return func(_ model.Response, err error) { g.left = append(g.left, err) }, nil
}

// TestPace: it is asked before each attempt and told what came of each; what it waits is
// not the attempt's time, and what it refuses is final.
func TestPace(t *testing.T) {
	busy := &model.Error{Fault: model.FaultRate, What: "busy"}
	synctest.Test(t, func(t *testing.T) {
		asked, g := 0, &gate{wait: time.Hour}
		_, err := model.Retry{Timeout: time.Second, Pace: g}.Do(t.Context(), fails(&asked, busy, busy))
		if err != nil || g.entered != 3 || len(g.left) != 3 || !errors.Is(g.left[1], busy) || g.left[2] != nil {
			t.Errorf("entered %d times, left with %v; error %v", g.entered, g.left, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		asked, g := 0, &gate{refuse: &model.Error{Fault: model.FaultRate, What: "no more"}}
		_, err := model.Retry{Pace: g}.Do(t.Context(), fails(&asked, busy, busy))
		if message(err) != "no more" || asked != 1 || g.entered != 2 || len(g.left) != 1 {
			t.Errorf("asked %d times, entered %d times; error %v", asked, g.entered, err)
		}
	})
}
