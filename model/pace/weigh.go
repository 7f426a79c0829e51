package pace

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/agentbound/agentbound/model"
)

// faultOf is the fault in an error, or nil.
func faultOf(err error) *model.Error {
	fault, _ := errors.AsType[*model.Error](err)
	return fault
}

// statusOverloaded is what some vendors answer where they have no capacity.
const statusOverloaded = 529

// overload reports whether a fault says that too much was asked.
func overload(e *model.Error) bool {
	return e.Fault == model.FaultRate ||
		e.Fault == model.FaultServer && (e.Status == http.StatusServiceUnavailable || e.Status == statusOverloaded || e.After > 0)
}

// bytesAToken is how many bytes of a request are taken for a token before the server
// tells; it is an estimate and put right by what the server tells.
const bytesAToken = 4

// weigh estimates the tokens of the turn that ctx carries: its input by its bytes, its
// output by what answers were long so far, within what it may be.
func (e *Endpoint) weigh(ctx context.Context) float64 {
	bytes, most := model.Weight(ctx)
	out := e.outputs.mean()
	if most > 0 {
		out = min(out, float64(most))
	}
	return float64(bytes)/bytesAToken + out
}

// average is a running mean that begins at a guess.
type average struct{ sum, n float64 }

// firstOutput is the output of a turn before any was seen.
const firstOutput = 500

func (a *average) add(x float64) { a.sum, a.n = a.sum+x, a.n+1 }

func (a *average) mean() float64 { return (a.sum + firstOutput) / (a.n + 1) }

// bucket is a token bucket: it fills at a rate and holds a tenth of a minute's worth, so
// that any minute takes at most a tenth more than its budget. What is larger than the
// bucket is let through when it is full, and paid off afterwards.
type bucket struct {
	rate, most, level float64 // rate a second
	at                time.Time
}

func newBucket(aMinute float64, now time.Time) *bucket {
	most := max(1, aMinute/10)
	return &bucket{rate: aMinute / 60, most: most, level: most, at: now}
}

func (b *bucket) fill(now time.Time) {
	b.level = min(b.most, b.level+b.rate*now.Sub(b.at).Seconds())
	b.at = now
}

// longest is the longest wait that is told: what servers count could make one that no
// duration holds.
const longest = 365 * 24 * time.Hour

// until is how long it takes to hold n, or to be full.
func (b *bucket) until(n float64, now time.Time) time.Duration {
	b.fill(now)
	if lack := min(n, b.most) - b.level; lack > 1e-9 {
		return max(1, time.Duration(min(lack/b.rate, longest.Seconds())*float64(time.Second)))
	}
	return 0
}

func (b *bucket) take(n float64, now time.Time) {
	b.fill(now)
	b.level -= n
}

// give returns what was reserved and not used; below 0 it takes what was used beyond.
func (b *bucket) give(n float64, now time.Time) {
	b.fill(now)
	b.level = min(b.most, b.level+n)
}
