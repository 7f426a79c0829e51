// Package gateway puts a corrector before any client of the four model protocols, as a
// reverse proxy: text and reasoning of a turn pass on as they come, its action waits until
// the corrector has cleared the Thought (docs/gateway.md). It owns its server, and what it
// starts ends with it.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/intervene"
)

// Options are what a gateway does. Upstream is needed.
type Options struct {
	Upstream  *url.URL        // the server's base URL, as its clients are given it
	Protocols []wire.Protocol // that are served; none: all
	// Intervention's corrector decides; nil: every Thought is kept. Its OnFailure is Open or
	// Closed; empty: Closed. A gate has no place here: see New.
	Intervention intervene.Intervention
	Shadow       bool // turns pass as they come; what would have become of them is recorded
	PassFinal    bool // turns without calls pass unasked

	Audit     *Audit       // nil: none is kept
	AuditKept bool         // turns that were kept are entered too
	Arguments bool         // entries hold the arguments of calls
	Log       *slog.Logger // nil: nothing is logged

	InFlight  int           // requests at a time; 0: 256
	Corrector time.Duration // how long a correction may take; 0: 10 seconds
	Pause     time.Duration // how long a corrector that failed five times in a row is not asked; 0: 10 seconds; less: it is
	Idle      time.Duration // see wire.Options
	Timeout   time.Duration // see wire.Options
	Grace     time.Duration // how long requests in flight may take when the gateway ends; 0: 1 minute

	HTTP  http.RoundTripper // nil: the standard library's
	Clock func() time.Time  // nil: time.Now
}

// Gateway is a handler of clients' requests, and what it counts.
type Gateway struct {
	opts    Options
	proxy   *wire.Proxy
	meters  *meters
	breaker *breaker
	room    chan struct{} // has a place for each request in flight
	watch   chan struct{} // the same for shadows
	asked   sync.Map      // int → *request: turns that the corrector was asked about
	shadows sync.WaitGroup
	live    context.Context // ends where shadows have to
	end     context.CancelFunc
	ends    atomic.Bool // no request is taken any more
	missed  atomic.Bool // an entry could not be written
}

// New gives a gateway, or says what its options lack. Nothing is sent yet.
func New(o Options) (*Gateway, error) {
	switch f := cmp.Or(o.Intervention.OnFailure, intervene.Closed); {
	case f != intervene.Open && f != intervene.Closed:
		return nil, fmt.Errorf("gateway: on failure %q: accepted: %s, %s", f, intervene.Open, intervene.Closed)
	case o.Intervention.Gate != nil:
		return nil, fmt.Errorf("gateway: %s is a gate, which decides on each call as it is executed: the client executes them, out of sight; use a corrector", o.Intervention.Ref.Name)
	default:
		o.Intervention.OnFailure = f
	}
	if o.Intervention.Corrector == nil {
		o.Intervention.Corrector = keeps{}
	}
	o.InFlight, o.Corrector, o.Grace = cmp.Or(o.InFlight, 256), cmp.Or(o.Corrector, 10*time.Second), cmp.Or(o.Grace, time.Minute)
	o.Pause = cmp.Or(o.Pause, 10*time.Second)
	if o.InFlight < 0 || o.Corrector < 0 || o.Grace < 0 {
		return nil, errors.New("gateway: limits are positive")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	g := &Gateway{opts: o, meters: newMeters(), room: make(chan struct{}, o.InFlight), watch: make(chan struct{}, o.InFlight)}
	g.breaker = g.newBreaker()
	g.live, g.end = context.WithCancel(context.Background())
	w := wire.Options{
		Upstream: o.Upstream, PassKeys: true, Protocols: o.Protocols, Idle: o.Idle, Timeout: o.Timeout, HTTP: o.HTTP,
		OnFault: g.fault, OnAside: g.aside, OnTurn: g.turn,
	}
	if !o.Shadow {
		w.Edit, w.Flow = g.decide, true
	}
	var err error
	if g.proxy, err = wire.New(w); err != nil {
		return nil, err
	}
	return g, nil
}

// keeps is the corrector that keeps every Thought.
type keeps struct{}

func (keeps) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	return intervene.Correction{Thought: c.Thought}, nil
}

// At is the base URL that clients are given, where the gateway listens at an address.
func (g *Gateway) At(address string) string { return g.proxy.At(address) }

// Close waits for what is on its way to the audit, and lets go of connections. Those who
// serve the handler end its requests first.
func (g *Gateway) Close() {
	timer := time.AfterFunc(g.opts.Grace, g.end)
	defer timer.Stop()
	g.shadows.Wait()
	g.end()
	g.proxy.Close()
}

// request is one of a client's, as far as the gateway minds it.
type request struct {
	n        int // the turn's; -1: none that the corrector was asked about
	protocol wire.Protocol
	review   *review
	told     bool
	fault    *wire.Fault
}

type requestKey struct{}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case g.room <- struct{}{}:
	default:
		g.meters.requests.WithLabelValues("", "busy").Inc()
		w.Header().Set("Retry-After", "1")
		g.proxy.Refuse(w, r, http.StatusServiceUnavailable, fmt.Sprintf("%d requests are in flight, which is as many as there may be: try again", g.opts.InFlight))
		return
	}
	g.meters.inFlight.Inc()
	q := &request{n: -1}
	defer func() { // also where the connection is broken off, which is a panic
		g.meters.inFlight.Dec()
		<-g.room
		g.close(q)
	}()
	g.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, q)))
}

// close enters a turn that was decided on and never handed over.
func (g *Gateway) close(q *request) {
	if q.n < 0 {
		return
	}
	g.asked.Delete(q.n)
	switch {
	case q.told:
		return
	case q.review == nil: // it ended while the corrector was asked
		g.meters.requests.WithLabelValues(string(q.protocol), string(Undelivered)).Inc()
		return
	}
	why := "the client went away"
	if q.fault != nil {
		why = q.fault.Error()
	}
	q.review.undelivered = why
	g.enter(q.review, nil)
}

// fault implements wire.Options.
func (g *Gateway) fault(f wire.Fault) {
	g.opts.Log.Warn("a request failed", "kind", string(f.Kind), "protocol", string(f.Protocol), "path", f.Path, "status", f.Status, "what", f.What)
	if q, ok := g.asked.Load(f.N); ok {
		q.(*request).fault = &f // the turn is counted by what comes of it
		return
	}
	g.meters.requests.WithLabelValues(string(f.Protocol), string(f.Kind)).Inc()
}

func (g *Gateway) aside(a wire.Aside) {
	g.meters.requests.WithLabelValues(string(a.Protocol), "aside").Inc()
}

// turn implements wire.Options: a turn is about to reach its client.
func (g *Gateway) turn(t wire.Turn) {
	if g.opts.Shadow {
		g.shadow(t)
		return
	}
	found, ok := g.asked.Load(t.N)
	if !ok {
		g.meters.requests.WithLabelValues(string(t.Protocol), "passed").Inc()
		return
	}
	q := found.(*request)
	q.told = true
	if q.fault != nil {
		q.review.again = q.fault.Error()
	}
	g.enter(q.review, &t)
}
