package pace_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/pace"
)

// server answers after a while, and counts how many it has at a time.
type server struct {
	mu         sync.Mutex
	takes      time.Duration
	capacity   int // more at a time are turned away; 0: none
	now, most  int
	served     int
	turnedAway int
	at         []time.Time // of each request
}

func (s *server) ask(context.Context) (model.Response, error) {
	s.mu.Lock()
	s.now++
	s.most = max(s.most, s.now)
	s.at = append(s.at, time.Now())
	refuse := s.capacity > 0 && s.now > s.capacity
	s.mu.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	if refuse {
		s.turnedAway++
		return model.Response{}, &model.Error{Fault: model.FaultRate, Status: 429, What: "busy"}
	}
	s.served++
	return model.Response{Stop: model.StopEnd, Usage: model.Usage{Input: 80, Output: 20}}, nil
}

// load asks n times from so many goroutines and gives how long it took.
func load(t *testing.T, e *pace.Endpoint, s *server, workers, n int, r model.Request) time.Duration {
	t.Helper()
	began := time.Now()
	work := make(chan int, n)
	for i := range n {
		work <- i
	}
	close(work)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range work {
				if _, err := (model.Retry{Attempts: 100, Pace: e}).Do(model.Weigh(t.Context(), r), s.ask); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// TestFindsCapacity: it grows to what the server takes, shrinks where it was too much,
// and wastes few requests on finding out.
func TestFindsCapacity(t *testing.T) {
	for _, capacity := range []int{3, 20} {
		t.Run(fmt.Sprint(capacity), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{takes: time.Second, capacity: capacity}
				took := load(t, pace.New(pace.Limits{}, nil), s, 50, 2000, model.Request{})
				best := time.Duration(2000/capacity) * time.Second
				if s.served != 2000 || s.turnedAway > 300 || took > 2*best || s.most > 2*capacity+8 {
					t.Errorf("%d served, %d turned away, at most %d at a time, in %s (at best %s)", s.served, s.turnedAway, s.most, took, best)
				}
			})
		})
	}
}

func TestCeiling(t *testing.T) {
	for _, ceiling := range []int{1, 5, 30} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{takes: time.Second}
			load(t, pace.New(pace.Limits{Concurrent: ceiling}, nil), s, 50, 500, model.Request{})
			if s.most != ceiling {
				t.Errorf("at most %d at a time, want %d", s.most, ceiling)
			}
		})
	}
}

// TestIdleDoesNotGrow: what was never tried is not trusted.
func TestIdleDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := pace.New(pace.Limits{}, nil), &server{takes: time.Second}
		load(t, e, s, 2, 500, model.Request{})
		load(t, e, s, 50, 50, model.Request{})
		if s.most > 12 {
			t.Errorf("%d at a time after a load of 2", s.most)
		}
	})
}

// TestRetryAfter: nobody asks before the time that one was told.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, s := pace.New(pace.Limits{}, nil), &server{takes: time.Millisecond}
		leave, err := e.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := time.Now()
		leave(model.Response{}, &model.Error{Fault: model.FaultRate, Status: 429, After: 40 * time.Second})
		load(t, e, s, 20, 40, model.Request{})
		for _, at := range s.at {
			if at.Sub(told) < 40*time.Second {
				t.Fatalf("asked after %s", at.Sub(told))
			}
		}
		leave, err = e.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leave(model.Response{}, &model.Error{Fault: model.FaultRate, Status: 429, What: "busy", After: time.Hour})
		_, err = model.Retry{Pace: e}.Do(t.Context(), s.ask)
		if fault, ok := errors.AsType[*model.Error](err); !ok || fault.Fault != model.FaultRate || fault.After != time.Hour || fault.What != "busy; everybody is asked to wait for another 1h0m0s" || len(s.at) != 40 {
			t.Errorf("%d requests, error %v", len(s.at), err)
		}
	})
}

// TestBudgets a minute: of requests and of tokens, over every minute of ten.
func TestBudgets(t *testing.T) {
	long := model.Request{Messages: []model.Message{{Role: model.User, Text: string(make([]byte, 4000))}}}
	for name, test := range map[string]struct {
		limits pace.Limits
		aMin   int
	}{
		"requests":        {pace.Limits{Requests: 60}, 60},
		"few requests":    {pace.Limits{Requests: 3}, 3},
		"tokens":          {pace.Limits{Tokens: 6000}, 60}, // each says 80 + 20, whatever was estimated
		"both":            {pace.Limits{Requests: 600, Tokens: 3000}, 30},
		"less than a one": {pace.Limits{Tokens: 50}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, s := pace.New(test.limits, nil), &server{takes: 100 * time.Millisecond}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						for ctx.Err() == nil {
							_, _ = model.Retry{Pace: e}.Do(model.Weigh(ctx, long), s.ask)
						}
					})
				}
				all.Wait()
				for i := range s.at {
					n := 0
					for _, at := range s.at[i:] {
						if at.Sub(s.at[i]) < time.Minute {
							n++
						}
					}
					if most := test.aMin + max(test.aMin/10, 1) + 1; n > most {
						t.Fatalf("%d requests in a minute, want %d", n, most)
					}
				}
				if least := test.aMin*9 - 10; len(s.at) < max(least, 4) {
					t.Errorf("%d requests in ten minutes, want %d", len(s.at), least)
				}
			})
		})
	}
}

// TestLeavesTheQueue: who waits no longer does not hold the others up.
func TestLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pace.New(pace.Limits{Concurrent: 1}, nil)
		leave, err := e.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		why := errors.New("the trial is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := e.Enter(ctx); !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			next, err := e.Enter(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			next(model.Response{}, nil)
		})
		time.Sleep(2 * time.Second)
		leave(model.Response{}, nil)
		all.Wait()
	})
}

// TestEndpoints: one for an address and key.
func TestEndpoints(t *testing.T) {
	var all pace.Endpoints
	a := all.At("http://a", "k")
	if a != all.At("http://a", "k") || a == all.At("http://a", "l") || a == all.At("http://b", "k") {
		t.Error("endpoints are not told apart by address and key")
	}
}

func TestWeight(t *testing.T) {
	small := model.Request{Messages: []model.Message{{Role: model.User, Text: "hi"}}}
	large := model.Request{
		Messages: []model.Message{{Role: model.Assistant, Text: "hi", Reasoning: "hm", State: []byte("{}"), Calls: []model.ToolCall{{ID: "1", Name: "f", Args: "{}"}}}},
		Tools:    []agentbound.Tool{{Name: "f", Description: "It.", Schema: agentbound.Value(`{}`)}},
	}
	if small.Bytes() < 2 || large.Bytes() <= small.Bytes() {
		t.Errorf("%d, %d", small.Bytes(), large.Bytes())
	}
	if bytes, most := model.Weight(model.Weigh(t.Context(), model.Request{MaxTokens: 7})); bytes == 0 || most != 7 {
		t.Errorf("%d bytes, %d tokens", bytes, most)
	}
	if bytes, most := model.Weight(t.Context()); bytes != 0 || most != 0 {
		t.Errorf("%d bytes, %d tokens", bytes, most)
	}
}

// TestLyingServer: a count beyond all reason makes others wait, for long, and burns no time.
func TestLyingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pace.New(pace.Limits{Tokens: 1}, nil)
		leave, err := e.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leave(model.Response{Usage: model.Usage{Input: 1e9, Output: 1e9}}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		began := time.Now()
		if _, err := e.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 24*time.Hour {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
