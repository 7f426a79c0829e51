package wire

import "github.com/agentbound/agentbound/model"

// enter waits until Pace lets a request go. Where it does not, the program has been
// answered.
func (x *exchange) enter(bytes int) bool {
	if x.opts.Pace == nil {
		return true
	}
	x.idle.Stop() // how long this takes is not the server's doing
	x.total.Stop()
	leave, err := x.opts.Pace.Enter(model.WeighBytes(x.ctx, bytes, x.asked.Most))
	x.total.Reset(x.opts.Timeout)
	x.alive()
	switch {
	case err == nil:
		x.leave = leave
		return true
	case x.ctx.Err() != nil:
		kind, what := transportFault(x.ctx, "", err)
		x.fail(kind, 0, what)
	default:
		x.fault(Fault{Kind: Held, Status: Held.status(), What: err.Error(), Err: err})
		x.refuse(Held.status(), err.Error())
	}
	return false
}

// left tells Pace what came of the request that it has let go, once.
func (x *exchange) left(r model.Response, err error) {
	if x.leave != nil {
		x.leave(r, err)
		x.leave = nil
	}
}
