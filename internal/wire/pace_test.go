package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model"
)

// gate is a Pace that notes what it is told.
type gate struct {
	wait   time.Duration
	refuse error

	mu    sync.Mutex
	bytes []int
	most  []int
	use   []model.Usage
	errs  []error
}

func (g *gate) Enter(ctx context.Context) (func(model.Response, error), error) {
	select {
	case <-time.After(g.wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	bytes, most := model.Weight(ctx)
	g.bytes, g.most = append(g.bytes, bytes), append(g.most, most)
	if g.refuse != nil {
		return nil, g.refuse
	}
	return func(r model.Response, err error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.use, g.errs = append(g.use, r.Usage), append(g.errs, err)
	}, nil
}

// TestPace: each request for a turn waits for its leave, and what came of it is told,
// once: tokens of an answer, or what sort of fault there was.
func TestPace(t *testing.T) {
	const asked = `{"model":"m","max_output_tokens":70}`
	answer := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
	turn := `{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":7,"output_tokens":2}}`
	for name, c := range map[string]struct {
		up    http.HandlerFunc
		fault model.Fault // empty: a turn
		after time.Duration
	}{
		"a turn": {func(w http.ResponseWriter, _ *http.Request) { answer(w, turn) }, "", 0},
		"too many": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, model.FaultRate, 7 * time.Second},
		"a wrong key":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, model.FaultKey, 0},
		"no answer":       {func(w http.ResponseWriter, _ *http.Request) { answer(w, `{"object":"list"}`) }, model.FaultAnswer, 0},
		"it breaks off":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, model.FaultConnection, 0},
		"it says nothing": {func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() }, model.FaultTimeout, 0},
	} {
		for _, edited := range []bool{false, true} {
			var l log
			g := &gate{wait: 30 * time.Millisecond}
			o := l.options()
			o.Pace, o.Timeout = g, 20*time.Millisecond // less than the wait, which does not count
			if c.fault != model.FaultTimeout {
				o.Timeout = time.Minute
			}
			if edited {
				o.Edit = func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, nil }
			}
			_, _, _ = post(t, front(t, serve(t, c.up), o)+"/v1/responses", asked) // it may be closed
			l.mu.Lock()
			faults := l.faults
			l.mu.Unlock()
			g.mu.Lock()
			if len(g.bytes) != 1 || g.bytes[0] != len(asked) || g.most[0] != 70 || len(g.errs) != 1 {
				t.Fatalf("%s: asked for %v bytes and %v tokens, told of %v", name, g.bytes, g.most, g.errs)
			}
			fault, _ := errors.AsType[*model.Error](g.errs[0])
			switch {
			case c.fault == "" && (g.errs[0] != nil || g.use[0] != model.Usage{Input: 7, Output: 2}):
				t.Errorf("%s: %+v, %v", name, g.use, g.errs)
			case c.fault != "" && (fault == nil || fault.Fault != c.fault || fault.After != c.after):
				t.Errorf("%s: told %+v", name, fault)
			case c.fault != "" && (len(faults) != 1 || faults[0].Server != fault || faults[0].Request.Model != "m"):
				t.Errorf("%s: faults %+v", name, faults)
			}
			g.mu.Unlock()
		}
	}
}

// TestTurnedAway: a request that is turned away since too much is asked is sent once more,
// and the program knows nothing of it; any other failure is passed on as it is.
func TestTurnedAway(t *testing.T) {
	turn := `{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}]}`
	for name, c := range map[string]struct {
		fails    []int // statuses, in order
		wait     string
		attempts int
		status   int
		again    []bool // of the faults
	}{
		"twice":            {[]int{429, 503}, "5", 3, 200, []bool{true, true}},
		"too often":        {[]int{429, 429}, "5", 2, 429, []bool{true, false}},
		"not asked for":    {[]int{429}, "5", 0, 429, []bool{false}},
		"a long wait":      {[]int{429}, "60001", 3, 429, []bool{false}},
		"a server's error": {[]int{500}, "5", 3, 500, []bool{false}},
	} {
		n := 0
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); string(body) != `{"model":"m"}` {
				t.Errorf("%s: it was sent %q", name, body)
			}
			if n++; n <= len(c.fails) {
				w.Header().Set("Retry-After-Ms", c.wait)
				w.WriteHeader(c.fails[n-1])
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, turn)
		})
		var l log
		g := &gate{}
		o := l.options()
		o.Attempts, o.Pace, o.Timeout = c.attempts, g, time.Minute
		res, _, err := post(t, front(t, up, o)+"/v1/responses", `{"model":"m"}`)
		if err != nil || res.StatusCode != c.status {
			t.Errorf("%s: %v, %v", name, res, err)
		}
		var again []bool
		for _, f := range l.faults {
			again = append(again, f.Again)
		}
		if !slices.Equal(again, c.again) || len(g.errs) != n {
			t.Errorf("%s: faults %+v, told of %v", name, l.faults, g.errs)
		}
	}
}

// TestHeldBack: what Pace refuses is not sent, and the program reads why.
func TestHeldBack(t *testing.T) {
	spent := errors.New("the budget is used up")
	up := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	var l log
	o := l.options()
	o.Pace = &gate{refuse: spent}
	res, got, err := post(t, front(t, up, o)+"/v1/responses", `{"model":"m"}`)
	if err != nil || res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(got), "the budget is used up") {
		t.Errorf("%s, %v", got, err)
	}
	if f := l.faults[0]; f.Kind != wire.Held || !errors.Is(f, spent) {
		t.Errorf("%+v", f)
	}
}

// TestRefusedConnection is told as one that cost nothing: nobody can have worked on it.
func TestRefusedConnection(t *testing.T) {
	g := &gate{}
	var l log
	o := l.options()
	o.Pace = g
	_, _, _ = post(t, front(t, "http://127.0.0.1:1/v1", o)+"/responses", `{"model":"m"}`)
	fault, _ := errors.AsType[*model.Error](g.errs[0])
	if fault == nil || fault.Fault != model.FaultConnection || fault.Begun || fault.Err == nil {
		t.Errorf("%+v", fault)
	}
}
