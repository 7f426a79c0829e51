package wire

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/agentbound/agentbound/model"
)

// enter waits until Pace lets a request go. Where it does not, the program has been
// answered.
func (x *exchange) enter(bytes int) bool {
	f := x.paced(bytes)
	switch {
	case f == nil:
		return true
	case f.Kind == Held:
		x.fault(*f)
		x.refuse(f.Status, f.What)
	default:
		x.fail(f.Kind, 0, f.What)
	}
	return false
}

// paced waits until Pace lets a request go, or says why it does not.
func (x *exchange) paced(bytes int) *Fault {
	if x.opts.Pace == nil {
		return nil
	}
	x.idle.Stop() // how long this takes is not the server's doing
	x.total.Stop()
	leave, err := x.opts.Pace.Enter(model.WeighBytes(x.ctx, bytes, x.asked.Most))
	x.total.Reset(x.opts.Timeout)
	x.alive()
	switch {
	case err == nil:
		x.leave = leave
		return nil
	case x.ctx.Err() != nil:
		kind, what := transportFault(x.ctx, "", err)
		return &Fault{Kind: kind, What: what}
	}
	return &Fault{Kind: Held, Status: Held.status(), What: err.Error(), Err: err}
}

// left tells Pace what came of the request that it has let go, once.
func (x *exchange) left(r model.Response, err error) {
	if x.leave != nil {
		x.leave(r, err)
		x.leave = nil
	}
}

// longestWait is what a server may ask for before it is asked once more.
const longestWait = time.Minute

// statusOverloaded is what some vendors answer where they have no capacity.
const statusOverloaded = 529

// overload reports whether a fault says that too much was asked.
func overload(e *model.Error) bool {
	return e.Fault == model.FaultRate || e.Fault == model.FaultServer && (e.Status == http.StatusServiceUnavailable || e.Status == statusOverloaded)
}

// rest waits as long as the server asks, else a second, doubled each time. It is in no
// limit.
func (x *exchange) rest(n int, asked time.Duration) error {
	x.idle.Stop()
	x.total.Stop()
	defer func() {
		x.total.Reset(x.opts.Timeout)
		x.alive()
	}()
	timer := time.NewTimer(cmp.Or(asked, time.Second<<(n-1)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}
