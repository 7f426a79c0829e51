package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
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
// stopped. Where they are paid for (Missing) one call at a time may ask the same judge of
// a run: the error is a [store.ErrLocked] while another does.
func Rejudge(ctx context.Context, c Rejudging) (_ Rejudged, err error) {
	unlock, err := c.lock(ctx)
	if err != nil {
		return Rejudged{}, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return c.carryOut(ctx)
}

// lock takes the sole right to have the judges of a run paid for. It is not that of the
// run: trials may be judged while others are made.
func (c Rejudging) lock(ctx context.Context) (unlock func() error, err error) {
	var held []func() error
	unlock = func() (err error) {
		for _, u := range held {
			err = errors.Join(err, u())
		}
		return err
	}
	if !c.Missing {
		return unlock, nil
	}
	for _, config := range configs(c.Judges) {
		id := c.Plan.ID()
		u, err := c.Store.Lock(ctx, agentbound.RunID(agentbound.DigestJSON([]string{string(id), config})[:len(id)]))
		if locked, ok := errors.AsType[*store.LockedError](err); ok {
			err = &judgingError{id, config, cmp.Or(locked.Owner, "another process")}
		}
		if err != nil {
			return nil, errors.Join(err, unlock())
		}
		held = append(held, u)
	}
	return unlock, nil
}

// configs are those of judges, each once.
func configs(judges []judge.Judge) (all []string) {
	for _, j := range judges {
		all = append(all, j.Config())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// judgingError is a store.ErrLocked.
type judgingError struct {
	run           agentbound.RunID
	judge, holder string
}

func (e *judgingError) Error() string {
	return fmt.Sprintf("run %s is being judged by %s (%s), and would be paid for twice: wait until that is done or stop it, then repeat the command to go on", e.run, e.judge, e.holder)
}

// Is makes it a store.ErrLocked.
func (e *judgingError) Is(target error) bool { return target == store.ErrLocked }

func (c Rejudging) carryOut(ctx context.Context) (Rejudged, error) {
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
	var ended error
asking:
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
			ended = err
			break asking // what the judges before it said is stored
		}
		if ended = r.halted(); ended != nil && !v.Scored() {
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
	if ctx.Err() != nil && ended != nil {
		return ended
	}
	r.count(func(d *Rejudged) {
		d.Trials++
		if r.Observe != nil {
			r.Observe(*d)
		}
	})
	return ended
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
