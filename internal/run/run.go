package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/suite"
)

// Config is a run to carry out.
type Config struct {
	Bench
	Suite       *suite.Suite
	Plan        agentbound.Plan
	Store       store.Store
	Concurrency int            // trials at a time; 0: one a core
	Attempts    int            // at a trial or a verdict that stays unscored, in this command; 0: 2
	Observe     func(Progress) // called after trials were stored, one call at a time; may be nil
	// Halted is why no more may be spent; nil while there may. Then no further trial is
	// begun; those in flight end as they can, and one that comes to a fault is dropped:
	// it is made anew by the next command. May be nil.
	Halted func() error
	// Stored is told of each trial once it, or a verdict on it, is in the store. Called by
	// several goroutines; may be nil.
	Stored func(t agentbound.TrialKey) error
	// More, of a replay, says instead of Attempts whether a trial (judge: empty) or a
	// judge's verdict on it is attempted once more: as often as it was. May be nil.
	More func(t agentbound.TrialKey, judge string) bool
}

func (c Config) halted() error {
	if c.Halted == nil {
		return nil
	}
	return c.Halted()
}

// Progress counts the trials of a run.
type Progress struct {
	Planned  int              // of the plan
	Found    int              // were finished in the store when this command began
	Made     int              // stored by this command, unscored ones too
	Unscored int              // of Made, by any of the judges
	Usage    agentbound.Usage // of what this command made, every attempt
	Faults   []string         // why trials are unscored: the first few different reasons
}

// mostFaults bounds Progress.Faults.
const mostFaults = 3

// Done is how many trials need no more work.
func (p Progress) Done() int { return p.Found + p.Made }

// A transaction takes batch results at most, and waits no longer than linger for them,
// so that a slow agent's trial is stored at once.
const (
	batch  = 64
	linger = 25 * time.Millisecond
)

// Execute carries a run out, or what is left of it. When ctx ends it stops cleanly:
// finished trials are stored, those in flight are dropped, and the error is ctx's. When
// it is halted the error is that of Halted.
func Execute(ctx context.Context, cfg Config) (Progress, error) {
	if err := Validate(cfg.Suite, cfg.Plan); err != nil {
		return Progress{}, err
	}
	if err := cfg.fits(cfg.Plan); err != nil {
		return Progress{}, err
	}
	r := &runner{Config: cfg, id: cfg.Plan.ID()}
	unlock, err := r.open(ctx)
	if err != nil {
		return Progress{}, err
	}
	err = r.work(ctx)
	if err == nil && r.progress.Done() < r.progress.Planned {
		err = r.halted()
	}
	return r.progress, errors.Join(err, unlock())
}

type runner struct {
	Config
	id       agentbound.RunID
	judges   []string
	mu       sync.Mutex
	progress Progress
}

// open keeps suite and plan, and takes the run's lock.
func (r *runner) open(ctx context.Context) (unlock func() error, err error) {
	for _, j := range r.Judges {
		r.judges = append(r.judges, j.Config())
	}
	blob, err := r.Suite.Encode()
	if err != nil {
		return nil, err
	}
	s := store.Suite{Digest: r.Suite.Digest, Name: r.Suite.Name, Families: len(r.Suite.Families), Blob: blob}
	if err := r.Store.PutSuite(ctx, s); err != nil {
		return nil, err
	}
	if unlock, err = r.Store.Lock(ctx, r.id); err != nil {
		return nil, err
	}
	if err := r.count(ctx); err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

func (r *runner) count(ctx context.Context) error {
	if _, err := r.Store.CreateRun(ctx, store.Run{Plan: r.Plan}, Trials(r.Suite, r.Plan)); err != nil {
		return err
	}
	p, err := r.Store.Progress(ctx, r.id, r.judges[0])
	if err != nil {
		return err
	}
	r.progress.Planned, r.progress.Found = p.Planned, p.Planned
	for _, err := range r.Store.Pending(ctx, r.id, r.judges) {
		if err != nil {
			return err
		}
		r.progress.Found--
	}
	return nil
}

// work feeds what is pending to the workers and what they make to the writers.
func (r *runner) work(ctx context.Context) error {
	n := r.Concurrency
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	pending, made := make(chan store.Work, n), make(chan outcome, batch)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(pending)
		return r.feed(ctx, pending)
	})
	var workers sync.WaitGroup
	workers.Add(n)
	for range n {
		g.Go(func() error {
			defer workers.Done()
			return r.make(ctx, pending, made)
		})
	}
	g.Go(func() error {
		workers.Wait()
		close(made)
		return nil
	})
	for range min(n, 2) {
		// What was finished is stored even when ctx has ended.
		g.Go(func() error { return r.write(context.WithoutCancel(ctx), made) })
	}
	return g.Wait()
}

func (r *runner) feed(ctx context.Context, pending chan<- store.Work) error {
	for w, err := range r.Store.Pending(ctx, r.id, r.judges) {
		if err != nil {
			return err
		}
		if r.halted() != nil {
			return nil
		}
		select {
		case pending <- w:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// outcome is what a worker made: a result, or further verdicts on a stored trial.
type outcome struct {
	result *agentbound.Result
	judged *store.Judged
}

func (r *runner) make(ctx context.Context, pending <-chan store.Work, made chan<- outcome) error {
	for w := range pending {
		if r.halted() != nil {
			continue // drained on purpose
		}
		o, err := r.one(ctx, w)
		if errors.Is(err, errDropped) {
			continue
		}
		if err != nil {
			return err
		}
		made <- o // the writers outlive the workers
	}
	return nil
}

// errDropped is work that was under way when the run was halted and came to nothing.
var errDropped = errors.New("dropped")

func (r *runner) one(ctx context.Context, w store.Work) (outcome, error) {
	f, ok := r.Suite.Family(w.Family)
	if !ok {
		return outcome{}, fmt.Errorf("suite %s has no family %s", r.Suite.Name, w.Family)
	}
	attempts := r.Attempts
	if attempts <= 0 {
		attempts = 2
	}
	if !w.Run {
		verdicts, err := r.rejudge(About(ctx, r.Plan, w.Trial), f, w, attempts)
		if err == nil && r.halted() != nil && slices.ContainsFunc(verdicts, func(v agentbound.Verdict) bool { return !v.Scored() }) {
			return outcome{}, errDropped
		}
		return outcome{judged: &store.Judged{Key: w.Key, Verdicts: verdicts}}, err
	}
	for {
		attempts--
		res, err := r.Trial(ctx, f, w.Trial, Seed(r.Plan, w.Trial))
		if err != nil {
			return outcome{}, err
		}
		if res.Trajectory.End.Reason != agentbound.EndFault {
			// The trial stands; a judge that failed is asked again.
			err := r.again(About(ctx, r.Plan, w.Trial), f, w.Trial, &res, attempts)
			return outcome{result: &res}, err
		}
		if r.halted() != nil {
			return outcome{}, errDropped
		}
		if !r.more(w.Key, "", attempts) {
			return outcome{result: &res}, nil
		}
		// A failed attempt is kept until the next one replaces it: what it cost counts.
		if err := r.store(ctx, []agentbound.Result{res}, nil); err != nil {
			return outcome{}, err
		}
		r.spend(res.Trajectory.Spent())
	}
}

// more reports whether to attempt something again, of which left attempts are left.
func (r *runner) more(t agentbound.TrialKey, judge string, left int) bool {
	if r.More != nil {
		return r.More(t, judge)
	}
	return left > 0
}

func (r *runner) spend(u agentbound.Usage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Usage = r.progress.Usage.Add(u)
}

// again asks the judges that left a result unscored, up to attempts times each.
func (r *runner) again(ctx context.Context, f *agentbound.Family, t agentbound.Trial, res *agentbound.Result, attempts int) (err error) {
	task, _ := f.Task(t.Split) // it has been played
	for i, v := range res.Verdicts {
		if v.Scored() || !r.more(t.Key, r.Judges[i].Config(), attempts) {
			continue
		}
		if res.Verdicts[i], err = r.ask(ctx, r.Judges[i], f, task, t.Key, res.Trajectory, attempts); err != nil {
			return err
		}
	}
	return nil
}

// ask has one judge score a trajectory, up to attempts times, at least once.
func (r *runner) ask(ctx context.Context, j judge.Judge, f *agentbound.Family, task *agentbound.Task, t agentbound.TrialKey, tr *agentbound.Trajectory, attempts int) (agentbound.Verdict, error) {
	for {
		attempts--
		v, err := Judge(ctx, []judge.Judge{j}, f, task, tr)
		if err != nil {
			return agentbound.Verdict{}, err
		}
		if v[0].Scored() || !r.more(t, j.Config(), attempts) {
			return v[0], nil
		}
	}
}

// rejudge asks the judges that a stored trial lacks.
func (r *runner) rejudge(ctx context.Context, f *agentbound.Family, w store.Work, attempts int) ([]agentbound.Verdict, error) {
	stored, err := r.Store.Result(ctx, string(w.Key))
	if err != nil {
		return nil, err
	}
	task, ok := f.Task(w.Split)
	if !ok {
		return nil, fmt.Errorf("family %s has no task %s", f.ID, w.Split)
	}
	var verdicts []agentbound.Verdict
	for _, j := range r.Judges {
		if !slices.Contains(w.Judges, j.Config()) {
			continue
		}
		v, err := r.ask(ctx, j, f, task, w.Key, stored.Trajectory, attempts)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// write stores what was made until there is no more. A writer that fails goes on
// taking, so that no worker waits for it.
func (r *runner) write(ctx context.Context, made <-chan outcome) error {
	for first := range made {
		results, judged := gather(first, made)
		if err := r.store(ctx, results, judged); err != nil {
			for range made { // drained on purpose
			}
			return err
		}
		r.observe(results, judged)
	}
	return nil
}

// gather takes what comes within the linger, up to a batch: a transaction for each
// trial would cost more than the trial.
func gather(first outcome, made <-chan outcome) (results []agentbound.Result, judged []store.Judged) {
	add := func(o outcome) {
		if o.result != nil {
			results = append(results, *o.result)
			return
		}
		judged = append(judged, *o.judged)
	}
	add(first)
	over := time.After(linger)
	for range batch - 1 {
		select {
		case o, ok := <-made:
			if !ok {
				return results, judged
			}
			add(o)
		case <-over:
			return results, judged
		}
	}
	return results, judged
}

func (r *runner) store(ctx context.Context, results []agentbound.Result, judged []store.Judged) error {
	if len(results) > 0 {
		if err := r.Store.Put(ctx, results); err != nil {
			return err
		}
	}
	if len(judged) > 0 {
		if err := r.Store.PutVerdicts(ctx, judged); err != nil {
			return err
		}
	}
	return r.tell(results, judged)
}

func (r *runner) tell(results []agentbound.Result, judged []store.Judged) error {
	if r.Stored == nil {
		return nil
	}
	var errs []error
	for _, res := range results {
		errs = append(errs, r.Stored(res.Key))
	}
	for _, j := range judged {
		errs = append(errs, r.Stored(j.Key))
	}
	return errors.Join(errs...)
}

func (r *runner) observe(results []agentbound.Result, judged []store.Judged) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, res := range results {
		r.progress.Usage = r.progress.Usage.Add(res.Trajectory.Spent())
		r.note(res.Verdicts)
	}
	for _, j := range judged {
		r.note(j.Verdicts)
	}
	if r.Observe != nil {
		r.Observe(r.progress)
	}
}

func (r *runner) note(verdicts []agentbound.Verdict) {
	r.progress.Made++
	i := slices.IndexFunc(verdicts, func(v agentbound.Verdict) bool { return !v.Scored() })
	if i < 0 {
		return
	}
	r.progress.Unscored++
	r.progress.Faults = addFault(r.progress.Faults, verdicts[i].Unscored)
}

// addFault adds a reason that is not there yet, while there are few.
func addFault(faults []string, why string) []string {
	if len(faults) < mostFaults && !slices.Contains(faults, why) {
		return append(faults, why)
	}
	return faults
}
