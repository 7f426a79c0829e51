package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retry is how often and how patiently a turn is attempted. All adapters share it, so
// that what an SDK would do by itself is turned off.
type Retry struct {
	Attempts int           // in all; 0: 6
	Timeout  time.Duration // of one attempt, from the first byte sent to the last received; 0: 5 minutes
	Base     time.Duration // pause after the first attempt, doubled after each; 0: 1 second
	Longest  time.Duration // pause, and what a server may ask for; 0: 1 minute

	Pace Pace // decides when an attempt may be made; nil: at once

	Sleep  func(ctx context.Context, d time.Duration) error // nil: on the clock
	Jitter func() float64                                   // in [0, 1); nil: random
}

// Pace holds attempts back: a shared endpoint's limits, a budget. It is asked before
// each attempt, so that a turn that is tried six times counts six times.
type Pace interface {
	// Enter waits until an attempt may be made, and reserves what it may cost. The time
	// it waits is not the attempt's. Leave must be called once with what came of it.
	// The error is that of ctx, or says why there will be no attempt; it ends the turn.
	Enter(ctx context.Context) (leave func(Response, error), err error)
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 6
	}
	for _, d := range []struct {
		v   *time.Duration
		def time.Duration
	}{{&r.Timeout, 5 * time.Minute}, {&r.Base, time.Second}, {&r.Longest, time.Minute}} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	if r.Jitter == nil {
		r.Jitter = rand.Float64
	}
	return r
}

// Do attempts a turn until it succeeds, fails for good or has used its attempts up. An
// attempt that is still at it when its time is up is a FaultTimeout, however busily the
// server trickles. The error is an [*Error] that says how often it was tried, or the
// error of ctx.
func (r Retry) Do(ctx context.Context, attempt func(ctx context.Context) (Response, error)) (Response, error) {
	r = r.withDefaults()
	for n := 1; ; n++ {
		res, err := r.once(ctx, attempt)
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil {
			return Response{}, context.Cause(ctx)
		}
		if h, ok := errors.AsType[*held](err); ok {
			return Response{}, h.error
		}
		fault, ok := errors.AsType[*Error](err)
		if !ok || !fault.Transient() {
			return Response{}, err
		}
		notice(ctx, fault)
		if n == r.Attempts || fault.After > r.Longest {
			return Response{}, given(fault, n)
		}
		if err := r.Sleep(ctx, r.pause(n, fault.After)); err != nil {
			return Response{}, err
		}
	}
}

// once makes one attempt, when Pace lets it.
func (r Retry) once(ctx context.Context, attempt func(ctx context.Context) (Response, error)) (Response, error) {
	if r.Pace == nil {
		return r.timed(ctx, attempt)
	}
	leave, err := r.Pace.Enter(ctx)
	if err != nil {
		return Response{}, &held{err}
	}
	res, err := r.timed(ctx, attempt)
	leave(res, err)
	return res, err
}

// held is an error of Pace: it is not tried again, whatever it is.
type held struct{ error }

func (h *held) Unwrap() error { return h.error }

func (r Retry) timed(ctx context.Context, attempt func(ctx context.Context) (Response, error)) (Response, error) {
	late := &Error{Fault: FaultTimeout, What: fmt.Sprintf("no answer within %s", r.Timeout), Remedy: "give more time with --per-call, or ask less at a time with --endpoint-concurrency"}
	timed, cancel := context.WithTimeoutCause(ctx, r.Timeout, late)
	defer cancel()
	res, err := attempt(timed)
	if err != nil && ctx.Err() == nil && timed.Err() != nil {
		return res, late
	}
	return res, err
}

// pause is the n-th pause: half of it fixed, half by chance, so that many trials that
// were turned away at once do not come back at once. What the server asks for is the
// least.
func (r Retry) pause(n int, asked time.Duration) time.Duration {
	d := r.Longest
	if n <= 30 && r.Base<<(n-1) < d { // no shift past the sign
		d = r.Base << (n - 1)
	}
	return max(d/2+time.Duration(r.Jitter()*float64(d/2)), asked)
}

// given is the fault as it stands after n attempts.
func given(e *Error, n int) *Error {
	said := *e
	switch {
	case e.After > 0 && n == 1:
		said.What += fmt.Sprintf(" (it asks to wait %s)", e.After)
	case n > 1:
		said.What += fmt.Sprintf(" (%d attempts)", n)
	}
	return &said
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
