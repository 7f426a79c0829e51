package model

import (
	"context"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
)

// Part is what a model plays.
type Part string

// The parts. One model may play several.
const (
	PartSubject Part = "subject"
	PartWorld   Part = "world"
	PartJudge   Part = "judge"
	PartWriter  Part = "writer" // of families

	PartIntervention Part = "intervention" // a corrector's or a gate's
)

// Play is one go at a trial, or at one judge's verdict on it. Whoever carries it out
// puts it into the context, so that what stands before a model (a recording, a cache)
// can tell which turn of what is asked, and learns how it ended. Fields are set before
// the first turn; the methods may be called by several goroutines.
type Play struct {
	Trial  agentbound.TrialKey
	Judge  string // the configuration of the judge at work; empty: the trial itself
	Repeat int
	Seed   uint64            // the trial's own
	Break  func(cause error) // ends it as infrastructure; may be nil

	mu   sync.Mutex
	took time.Duration
	kept map[any]any
	ends []func(scored bool, why string)
}

type playKey struct{}

// WithPlay gives a context whose turns belong to a play.
func WithPlay(ctx context.Context, p *Play) context.Context {
	return context.WithValue(ctx, playKey{}, p)
}

// PlayOf is the play that a context belongs to; nil where it belongs to none.
func PlayOf(ctx context.Context) *Play {
	p, _ := ctx.Value(playKey{}).(*Play)
	return p
}

// SeedOf is the seed of the play that a context belongs to, as servers take it; nil where
// it belongs to none.
func SeedOf(ctx context.Context) *int64 {
	p := PlayOf(ctx)
	if p == nil {
		return nil
	}
	s := int64(p.Seed & 0x7fffffff)
	return &s
}

// Took adds what a turn took to the time of the play.
func (p *Play) Took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took += d
}

// Now is the clock of the play: it stands still but for what turns took, so that a
// replay shows the same times as what was recorded. It begins in 1970.
func (p *Play) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Unix(0, 0).Add(p.took)
}

// Keep gives what owner keeps with the play; fresh makes it at the first call.
func (p *Play) Keep(owner any, fresh func() any) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[any]any{}
	}
	v, ok := p.kept[owner]
	if !ok {
		v = fresh()
		p.kept[owner] = v
	}
	return v
}

// AtEnd has f called when the play ends: whether it came to a result, and if not, why.
func (p *Play) AtEnd(f func(scored bool, why string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends = append(p.ends, f)
}

// End says that the play is over. One that is broken off, to be forgotten, does not end.
func (p *Play) End(scored bool, why string) {
	p.mu.Lock()
	ends := p.ends
	p.ends = nil
	p.mu.Unlock()
	for _, f := range ends {
		f(scored, why)
	}
}

type noticeKey struct{}

// Noticing gives a context in which Retry tells note of every attempt that failed for a
// while, in order. Those who asked for that further out are told as well.
func Noticing(ctx context.Context, note func(*Error)) context.Context {
	return context.WithValue(ctx, noticeKey{}, func(e *Error) {
		notice(ctx, e)
		note(e)
	})
}

func notice(ctx context.Context, e *Error) {
	if note, ok := ctx.Value(noticeKey{}).(func(*Error)); ok {
		note(e)
	}
}
