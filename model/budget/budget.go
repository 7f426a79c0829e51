// Package budget stops calls to models before a sum is passed. It stands in
// [model.Retry]: an attempt is made only where the most that it can cost still fits
// beside what was spent and what is on its way. What an attempt cost takes the place of
// what was reserved for it as soon as the server has told.
//
// The most is an upper bound and no guess: a token of input is at least a byte of the
// request, and the output has at most the tokens that were asked for. It is passed only
// where a server counts more than that.
package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/price"
)

// Amount is a sum. A zero field is no bound.
type Amount struct {
	USD    float64
	Tokens int64 // of input and output
}

// Budget is an amount that all models of a command share. It is safe for concurrent use.
type Budget struct {
	limit Amount

	mu          sync.Mutex
	spent, held Amount
	ratio       float64 // tokens a byte of request, at most so far; at least 1
	calls       int     // on their way
	ended       error
	changed     chan struct{}
}

// New makes a budget.
func New(limit Amount) *Budget {
	return &Budget{limit: limit, ratio: 1, changed: make(chan struct{})}
}

// Ended is why no further attempt will be made; nil while there may be.
func (b *Budget) Ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// Spent is what was spent so far. Attempts of which a server did not tell count with the
// most that they can have cost.
func (b *Budget) Spent() Amount {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent
}

// ErrPrice: money cannot be counted where a price is not known.
var ErrPrice = errors.New("its price is not known")

// Pace holds a model's attempts within the budget, after then has let them go (nil: at
// once). The error is ErrPrice.
func (b *Budget) Pace(p price.Price, then model.Pace) (model.Pace, error) {
	if b.limit.USD > 0 && !p.Known() {
		return nil, ErrPrice
	}
	return &purse{b, p, then}, nil
}

// purse is a model's part in a budget.
type purse struct {
	budget *Budget
	price  price.Price
	then   model.Pace
}

// Enter implements model.Pace.
func (p *purse) Enter(ctx context.Context) (func(model.Response, error), error) {
	leave := func(model.Response, error) {}
	if p.then != nil {
		var err error
		if leave, err = p.then.Enter(ctx); err != nil {
			return nil, err
		}
	}
	need, err := p.budget.reserve(ctx, p.price)
	if err != nil {
		leave(model.Response{}, err)
		return nil, err
	}
	bytes, _ := model.Weight(ctx)
	return func(r model.Response, err error) {
		leave(r, err)
		p.budget.settle(need, p.cost(need, r, err), bytes, r.Usage)
	}, nil
}

// Covers is nil where the whole budget covers one attempt: of a request of so many bytes,
// with an answer of at most so many tokens (0: not said).
func (b *Budget) Covers(p price.Price, bytes, answer int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	need, output, err := b.most(p, bytes, answer)
	if err == nil && !b.limit.covers(need) {
		err = b.tooSmall(need, output)
	}
	return err
}

func (b *Budget) tooSmall(need Amount, output int64) error {
	return fmt.Errorf("the budget of %s does not cover one call, which may cost up to %s (its answer may have %d tokens)", b.limit, b.limit.of(need), output)
}

// most is what an attempt can cost, and how many tokens of it are the answer.
func (b *Budget) most(p price.Price, bytes, answer int) (need Amount, output int64, err error) {
	input, output := int64(math.Ceil(float64(bytes)*b.ratio)), int64(answer)
	for _, bound := range []int64{p.MaxOutput, p.Window} {
		if output == 0 || bound > 0 && bound < output {
			output = bound
		}
	}
	if output == 0 {
		return Amount{}, 0, errors.New("a budget needs a bound on what an answer may have: give --max-tokens, or max_output in a file of --prices")
	}
	if p.Window > 0 {
		input = min(input, p.Window)
	}
	return Amount{USD: p.Request(model.Usage{Input: input, Output: output}), Tokens: input + output}, output, nil
}

// reserve waits until the most that an attempt can cost fits. Where it does not and
// nothing is on its way that could leave something over, the budget has ended.
func (b *Budget) reserve(ctx context.Context, p price.Price) (Amount, error) {
	bytes, answer := model.Weight(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.ended != nil {
			return Amount{}, b.ended
		}
		need, output, err := b.most(p, bytes, answer)
		switch {
		case err != nil:
			b.end(err)
			return Amount{}, err
		case b.fits(need):
			b.held, b.calls = b.held.plus(need), b.calls+1
			return need, nil
		case b.calls == 0 && b.spent == (Amount{}):
			b.end(b.tooSmall(need, output))
			return Amount{}, b.ended
		case b.calls == 0:
			b.end(fmt.Errorf("the budget of %s is used up: %s spent, and the next call may cost up to %s", b.limit, b.limit.of(b.spent), b.limit.of(need)))
			return Amount{}, b.ended
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		b.mu.Lock()
		if err != nil {
			return Amount{}, err
		}
	}
}

func (b *Budget) end(why error) {
	b.ended = why
	b.wake()
}

func (b *Budget) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Budget) fits(need Amount) bool {
	return b.limit.covers(b.spent.plus(b.held).plus(need))
}

func (a Amount) covers(sum Amount) bool {
	return (a.USD == 0 || sum.USD <= a.USD+1e-9) && (a.Tokens == 0 || sum.Tokens <= a.Tokens)
}

// settle puts what an attempt cost in the place of what was reserved.
func (b *Budget) settle(reserved, cost Amount, bytes int, u model.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held, b.calls = b.held.plus(Amount{-reserved.USD, -reserved.Tokens}), b.calls-1
	if b.calls == 0 {
		b.held = Amount{} // what sums of fractions left over
	}
	b.spent = b.spent.plus(cost)
	if bytes > 0 {
		b.ratio = max(b.ratio, float64(u.Input)/float64(bytes))
	}
	b.wake()
}

// cost is what an attempt cost: what the server told; nothing where it turned the request
// away or was not reached; else the most, since it may have worked on it. A server that
// tells of no input has not told: there is none without.
func (p *purse) cost(most Amount, r model.Response, err error) Amount {
	if err == nil && r.Usage.Input > 0 {
		return Amount{USD: p.price.Request(r.Usage), Tokens: r.Usage.Input + r.Usage.Output}
	}
	if err != nil && unpaid(err) {
		return Amount{}
	}
	if output := r.Usage.Output; output > 0 {
		most.USD, most.Tokens = max(most.USD, p.price.Request(r.Usage)), max(most.Tokens, output)
	}
	return most
}

// unpaid reports whether a failed attempt costs nothing.
func unpaid(err error) bool {
	fault, ok := errors.AsType[*model.Error](err)
	if !ok {
		return false // broken off
	}
	if fault.Begun {
		return false
	}
	switch fault.Fault {
	case model.FaultTimeout, model.FaultAnswer:
		return false
	case model.FaultConnection:
		dial, ok := errors.AsType[*net.OpError](fault.Err)
		return ok && (dial.Op == "dial" || dial.Op == "proxyconnect")
	}
	return true
}

func (a Amount) plus(c Amount) Amount { return Amount{a.USD + c.USD, a.Tokens + c.Tokens} }

// of gives the parts of c that a bounds, as a text.
func (a Amount) of(c Amount) string {
	usd, tokens := fmt.Sprintf("$%.4f", c.USD), fmt.Sprintf("%d tokens", c.Tokens)
	switch {
	case a.USD == 0:
		return tokens
	case a.Tokens == 0:
		return usd
	}
	return usd + " and " + tokens
}

func (a Amount) String() string { return a.of(a) }
