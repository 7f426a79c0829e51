package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/intervene"
)

// ill is a corrector that fails until it is healed, and counts how often it is asked.
type ill struct {
	healed atomic.Bool
	asked  atomic.Int32
}

func (i *ill) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	i.asked.Add(1)
	if i.healed.Load() {
		return intervene.Correction{Thought: c.Thought}, nil
	}
	return intervene.Correction{}, errors.New("it is down")
}

// TestPause: after five failures in a row turns are treated by what is to be done on
// failure without the corrector, until it has had its pause and answers again.
func TestPause(t *testing.T) {
	const pause = time.Second
	first := said(true, draft, callOf("a", "{}"))
	for _, on := range []intervene.OnFailure{intervene.Open, intervene.Closed} {
		t.Run(string(on), func(t *testing.T) {
			t.Parallel()
			base, _ := answers(t, first)
			c := &ill{}
			s := front(t, base, c, gateway.Options{Pause: pause, Intervention: intervene.Intervention{OnFailure: on}})
			turn := func(passes bool) {
				t.Helper()
				_, got, err := post(t.Context(), t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
				if err != nil || (got == first) != passes {
					t.Errorf("%s: %v, %s", on, err, got)
				}
			}
			for range 8 {
				turn(on == intervene.Open)
			}
			if n := c.asked.Load(); n != 5 {
				t.Fatalf("%s: asked %d times", on, n)
			}
			time.Sleep(pause + 50*time.Millisecond)
			turn(on == intervene.Open) // the probe, which fails
			turn(on == intervene.Open)
			if n := c.asked.Load(); n != 6 {
				t.Errorf("%s: asked %d times, one of them the probe", on, n)
			}
			if m := metrics(t, s); !strings.Contains(m, "corrector_paused 1") || !strings.Contains(m, `reviews_total{result="failed"} 10`) || !strings.Contains(m, "corrector_seconds_count 6") {
				t.Error(m)
			}
			c.healed.Store(true)
			time.Sleep(pause + 50*time.Millisecond)
			turn(true)
			turn(true)
			if n := c.asked.Load(); n != 8 {
				t.Errorf("%s: asked %d times when it was well", on, n)
			}
			if m := metrics(t, s); !strings.Contains(m, "corrector_paused 0") {
				t.Error(m)
			}
			result := map[intervene.OnFailure]gateway.Result{intervene.Open: gateway.Opened, intervene.Closed: gateway.Closed}[on]
			var told []string
			for _, e := range s.entries(t, 10) {
				if e.Result != result {
					t.Errorf("%+v", e)
				}
				told = append(told, e.Failure)
			}
			const paused = "the corrector was not asked: it failed 5 times in a row, and is tried again every 1s"
			if len(told) != 10 || told[4] != "it is down" || told[5] != paused || told[8] != "it is down" || told[9] != paused {
				t.Errorf("%q", told)
			}
			s.Close()
			if log := s.log.String(); strings.Count(log, "it is not asked for a while") != 2 || !strings.Contains(log, "the corrector answers again") {
				t.Error(log)
			}
		})
	}
}

// TestNoPause: a pause is for failures in a row, of turns that somebody waits for.
func TestNoPause(t *testing.T) {
	for name, c := range map[string]struct {
		o     gateway.Options
		heals bool
		gone  bool
	}{
		"none is wanted": {o: gateway.Options{Pause: -1}},
		"shadow":         {o: gateway.Options{Shadow: true}},
		"not in a row":   {heals: true},
		"gone":           {gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			base, _ := answers(t, said(true, draft, callOf("a", "{}")))
			sick := &ill{}
			corrector := intervene.Corrector(sick)
			entered := make(chan struct{})
			if c.gone {
				corrector = &fixed{do: func(ctx context.Context, seen intervene.Context) (intervene.Correction, error) {
					sick.asked.Add(1)
					entered <- struct{}{}
					<-ctx.Done()
					return intervene.Correction{}, ctx.Err()
				}}
			}
			s := front(t, base, corrector, c.o)
			for n := range 12 {
				sick.healed.Store(c.heals && n%4 == 3)
				ctx, cancel := context.WithCancel(t.Context())
				if c.gone {
					go func() { <-entered; cancel() }()
				}
				_, _, _ = post(ctx, t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
				cancel()
			}
			for range 200 {
				if sick.asked.Load() == 12 {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("asked %d times of 12", sick.asked.Load())
		})
	}
}

// TestPauseCountsSlow: a corrector that hangs costs its time five times, and no more.
func TestPauseCountsSlow(t *testing.T) {
	var asked atomic.Int32
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}))
	defer hangs.Close()
	slow := &fixed{do: func(ctx context.Context, _ intervene.Context) (intervene.Correction, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, hangs.URL, nil)
		if err != nil {
			return intervene.Correction{}, err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
		}
		return intervene.Correction{}, err
	}}
	base, _ := answers(t, said(true, draft, callOf("a", "{}")))
	s := front(t, base, slow, gateway.Options{Corrector: 30 * time.Millisecond, Pause: time.Hour})
	for range 9 {
		_, _, _ = post(t.Context(), t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
	}
	if n := asked.Load(); n != 5 {
		t.Errorf("asked %d times", n)
	}
	if e := s.entries(t, 9); !strings.Contains(e[4].Failure, "took too long") || !strings.Contains(e[5].Failure, "was not asked") {
		t.Errorf("%+v", e)
	}
}
