// Package pace keeps the requests to an endpoint within what it takes, whichever models
// are asked there: how many at a time, found by additive increase and multiplicative
// decrease as congestion control in networks does (Chiu and Jain, 1989); how many
// requests and tokens a minute, by token buckets; and nobody before the time that the
// server asked to wait for. It hears of every attempt, since it stands in
// [model.Retry].
package pace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/agentbound/agentbound/model"
)

// Limits are what an endpoint is given. The zero value is usable.
type Limits struct {
	Requests   int           // a minute; 0: no bound
	Tokens     int           // a minute, of input and output; 0: no bound
	Concurrent int           // attempts at a time at most; 0: DefaultConcurrent
	Patience   time.Duration // longest wait that a server may ask of everybody; 0: 1 minute
}

const (
	// DefaultConcurrent is the ceiling where none was given.
	DefaultConcurrent = 64
	// begin is how many attempts at a time an endpoint is tried with at first.
	begin = 8
)

func (l Limits) withDefaults() Limits {
	if l.Concurrent <= 0 {
		l.Concurrent = DefaultConcurrent
	}
	if l.Patience <= 0 {
		l.Patience = time.Minute
	}
	return l
}

// Endpoints are the endpoints that a process asks. The zero value is usable; set its
// fields before the first use.
type Endpoints struct {
	Limits Limits           // of each
	Clock  func() time.Time // nil: time.Now

	mu  sync.Mutex
	all map[string]*Endpoint
}

// At gives the endpoint of an address and key, the same one for the same pair: its
// limits are the account's there. The key is not kept.
func (e *Endpoints) At(address, key string) *Endpoint {
	sum := sha256.Sum256([]byte(address + "\x00" + key))
	id := hex.EncodeToString(sum[:])
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[string]*Endpoint{}
	}
	if e.all[id] == nil {
		e.all[id] = New(e.Limits, e.Clock)
	}
	return e.all[id]
}

// Endpoint holds attempts back. It implements model.Pace, for any number of goroutines,
// first come, first served.
type Endpoint struct {
	limits Limits
	clock  func() time.Time

	mu       sync.Mutex
	queue    []*ticket
	inFlight int
	allowed  float64   // attempts at a time
	lowered  time.Time // when allowed was last lowered
	closed   time.Time // nobody asks before
	why      *model.Error
	requests *bucket // nil: no bound
	tokens   *bucket
	outputs  average
	changed  chan struct{} // closed and renewed where a waiter may go on
}

// ticket is a place in the queue.
type ticket struct{ tokens float64 }

// New gives an endpoint on its own; clock nil means time.Now.
func New(l Limits, clock func() time.Time) *Endpoint {
	if clock == nil {
		clock = time.Now
	}
	l = l.withDefaults()
	e := &Endpoint{limits: l, clock: clock, allowed: float64(min(begin, l.Concurrent)), changed: make(chan struct{})}
	now := clock()
	if l.Requests > 0 {
		e.requests = newBucket(float64(l.Requests), now)
	}
	if l.Tokens > 0 {
		e.tokens = newBucket(float64(l.Tokens), now)
	}
	return e
}

// Enter implements model.Pace. Where the server asked everybody to wait longer than
// Patience, that is a fault of rate at once.
func (e *Endpoint) Enter(ctx context.Context) (func(model.Response, error), error) {
	t := &ticket{}
	e.mu.Lock()
	t.tokens = e.weigh(ctx)
	e.queue = append(e.queue, t)
	for {
		wait, err := e.next(t)
		if err == nil && wait == 0 {
			e.drop(t)
			took, tokens := e.take(t), t.tokens
			e.mu.Unlock()
			return func(r model.Response, err error) { e.leave(took, tokens, r, err) }, nil
		}
		if err == nil {
			changed := e.changed
			e.mu.Unlock()
			err = await(ctx, wait, changed)
			e.mu.Lock()
		}
		if err != nil {
			e.drop(t)
			e.mu.Unlock()
			return nil, err
		}
	}
}

// never is a wait that only a change ends.
const never = time.Duration(1<<63 - 1)

// next is how long a ticket waits at least before it may go; 0: it may.
func (e *Endpoint) next(t *ticket) (time.Duration, error) {
	now := e.clock()
	wait := e.closed.Sub(now)
	switch {
	case wait > e.limits.Patience:
		fault := *e.why
		fault.After = wait
		fault.What += fmt.Sprintf("; everybody is asked to wait for another %s", wait.Round(time.Second))
		return 0, &fault
	case e.queue[0] != t, e.inFlight >= int(e.allowed):
		return never, nil
	}
	for _, b := range []struct {
		*bucket
		take float64
	}{{e.requests, 1}, {e.tokens, t.tokens}} {
		if b.bucket != nil {
			wait = max(wait, b.until(b.take, now))
		}
	}
	return max(wait, 0), nil
}

// take lets a ticket go; it gives the moment.
func (e *Endpoint) take(t *ticket) time.Time {
	now := e.clock()
	e.inFlight++
	if e.requests != nil {
		e.requests.take(1, now)
	}
	if e.tokens != nil {
		e.tokens.take(t.tokens, now)
	}
	return now
}

// leave hears what came of an attempt that was begun at a moment.
func (e *Endpoint) leave(begun time.Time, reserved float64, r model.Response, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock()
	full := e.inFlight+len(e.queue) >= int(e.allowed) // it was this limit that held, not a lack of work
	e.inFlight--
	fault := faultOf(err)
	switch {
	case err == nil && full:
		e.allowed = min(e.allowed+1/e.allowed, float64(e.limits.Concurrent))
	case fault != nil && overload(fault) && begun.After(e.lowered):
		// One cut for what was sent together: the others tell of the same moment.
		e.allowed, e.lowered = max(1, e.allowed/2), now
	}
	if fault != nil && overload(fault) && fault.After > 0 {
		if until := now.Add(fault.After); until.After(e.closed) {
			e.closed, e.why = until, fault
		}
	}
	if u := r.Usage; err == nil && u.Input+u.Output > 0 {
		e.outputs.add(float64(u.Output))
		if e.tokens != nil {
			e.tokens.give(reserved-float64(u.Input+u.Output), now)
		}
	}
	e.wake()
}

// drop takes a ticket out of the queue and lets the next one look.
func (e *Endpoint) drop(t *ticket) {
	for i := range e.queue {
		if e.queue[i] == t {
			e.queue = append(e.queue[:i], e.queue[i+1:]...)
			break
		}
	}
	e.wake()
}

func (e *Endpoint) wake() {
	close(e.changed)
	e.changed = make(chan struct{})
}

// await ends with a change, after wait, or with ctx.
func await(ctx context.Context, wait time.Duration, changed <-chan struct{}) error {
	var over <-chan time.Time
	if wait != never {
		t := time.NewTimer(wait)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-changed:
	case <-over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
