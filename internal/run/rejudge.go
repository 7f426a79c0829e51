package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/suite"
)

// Rejudging has judges score the stored trials of a run; nothing is run again.
type Rejudging struct {
	Suite       *suite.Suite
	Plan        agentbound.Plan
	Store       store.Store
	Judges      []judge.Judge
	Concurrency int                            // trials at a time; 0: one a core
	Missing     bool                           // leave scored verdicts that are there alone: they were paid for
	Halted      func() error                   // why no more may be spent; then it ends with that error; may be nil
	Wanted      func(agentbound.Trial) bool    // which trials; nil: all
	Observe     func(Rejudged)                 // called after each trial, one call at a time; may be nil
	Different   func(agentbound.Trial, string) // told where a stored verdict of a configuration is another; may be nil
}

// Rejudged counts verdicts.
type Rejudged struct {
	Trials    int // looked at: those that are stored
	Planned   int // of the plan, stored or not
	Added     int // scored, and not there before
	Equal     int // judged again, as before
	Different int // judged again, and another: the stored one stays
	Found     int // scored and there, and not asked again
	Unscored  int // kept as unscored
	Awaited   int // whose answers are still to come; nothing is kept of them
	Usage     agentbound.Usage
	Faults    []string // why verdicts are unscored: the first few different reasons
}

// Rejudge carries it out. A judge that fails leaves a verdict unscored, and the others'
// stand. Verdicts are stored as they come, so that the same call goes on where one was
// stopped.
func Rejudge(ctx context.Context, c Rejudging) (Rejudged, error) {
	n := c.Concurrency
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	r := &rejudger{Rejudging: c}
	for range c.trials() {
		r.done.Planned++
	}
	g, working := errgroup.WithContext(ctx)
	g.SetLimit(n)
	for t := range c.trials() {
		if working.Err() != nil {
			break
		}
		g.Go(func() error { return r.trial(working, t) })
	}
	err := g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return r.done, err
}

// trials are those of the plan that are wanted, made or not.
func (c Rejudging) trials() iter.Seq[agentbound.Trial] {
	return func(yield func(agentbound.Trial) bool) {
		for t := range Trials(c.Suite, c.Plan) {
			if (c.Wanted == nil || c.Wanted(t)) && !yield(t) {
				return
			}
		}
	}
}

type rejudger struct {
	Rejudging
	mu   sync.Mutex
	done Rejudged
}

func (r *rejudger) trial(ctx context.Context, t agentbound.Trial) error {
	f, ok := r.Suite.Family(t.Family)
	if !ok {
		return fmt.Errorf("the stored suite %s has no family %s", r.Suite.Name, t.Family)
	}
	task, ok := f.Task(t.Split)
	if !ok {
		return fmt.Errorf("family %s has no task %s", f.ID, t.Split)
	}
	res, err := r.Store.Result(ctx, string(t.Key))
	if errors.Is(err, store.ErrNotFound) {
		return nil // not made yet
	}
	if err != nil {
		return err
	}
	var verdicts []agentbound.Verdict
	var halted error
	for _, j := range r.Judges {
		old := verdictOf(res.Verdicts, j.Config())
		if r.Missing && old != nil && old.Scored() {
			r.count(func(d *Rejudged) { d.Found++ })
			continue
		}
		v, err := verdict(About(ctx, r.Plan, t), j, f, task, res.Trajectory)
		switch {
		case errors.Is(err, model.ErrAwaited):
			r.count(func(d *Rejudged) { d.Awaited++ })
			continue
		case err != nil:
			return err
		}
		if halted = r.halted(); halted != nil && !v.Scored() {
			break // for want of money: it is asked anew by the next command
		}
		verdicts = append(verdicts, v)
		r.compare(t, old, v)
	}
	if len(verdicts) > 0 {
		// What was paid for is stored even when ctx has ended.
		if err := r.Store.PutVerdicts(context.WithoutCancel(ctx), []store.Judged{{Key: t.Key, Verdicts: verdicts}}); err != nil {
			return err
		}
	}
	r.count(func(d *Rejudged) {
		d.Trials++
		if r.Observe != nil {
			r.Observe(*d)
		}
	})
	return halted
}

func (r *rejudger) halted() error {
	if r.Halted == nil {
		return nil
	}
	return r.Halted()
}

func (r *rejudger) count(change func(*Rejudged)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.done)
}

// compare counts a verdict beside the stored one of its judge.
func (r *rejudger) compare(t agentbound.Trial, old *agentbound.Verdict, v agentbound.Verdict) {
	r.count(func(d *Rejudged) {
		if v.Rubric != nil {
			d.Usage = d.Usage.Add(v.Rubric.Usage)
		}
		switch {
		case !v.Scored() && (old == nil || !old.Scored()):
			d.Unscored++
			d.Faults = addFault(d.Faults, v.Unscored)
		case old != nil && agentbound.DigestJSON(*old) == agentbound.DigestJSON(v):
			d.Equal++
		case old != nil && old.Scored():
			d.Different++
			if r.Different != nil {
				r.Different(t, v.Judge)
			}
		default:
			d.Added++
		}
	})
}

func verdictOf(verdicts []agentbound.Verdict, config string) *agentbound.Verdict {
	for i := range verdicts {
		if verdicts[i].Judge == config {
			return &verdicts[i]
		}
	}
	return nil
}
