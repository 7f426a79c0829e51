package generate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/filelock"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/suite/pattern"
	"github.com/agentbound/agentbound/suite/seed"
	"github.com/agentbound/agentbound/suite/validate"
)

// Options decide a generation. Those up to Seeds are kept in the folder and must stay as
// they are there; the others may change from run to run.
type Options struct {
	Dir         string
	Engine      Engine
	Model       model.Model // of engine lm
	Temperature *float64    // nil: the provider's own
	MaxTokens   int         // of one answer; 0: 16,000
	Classes     []agentbound.Class
	Seed        uint64
	Revisions   int // of one draw
	Resamples   int // further draws of a candidate
	Patterns    pattern.Collection
	Seeds       []seed.Seed // to draw topics from; none: the patterns alone

	Count       int // candidates
	Concurrency int // at a time; 0: 1
	Budget      Budget
	Screen      validate.Screen     // nil: not screened
	Against     []agentbound.Family // beside what was accepted: families that no candidate may be near to
	Program     string              // version of the program, for the provenance
	Observe     func(Event)         // nil: nobody; called one at a time
}

// Event is something that happened, for a progress line.
type Event struct {
	Candidate int
	Round     int
	What      string
}

const (
	defaultMaxTokens = 16_000
	mostTokens       = 10_000_000 // of one answer: more than any model writes
	mostConcurrent   = 1_000
	lockFile         = ".lock"
)

// Status is how a candidate stands.
type Status string

// The states of a candidate.
const (
	Accepted Status = "accepted"
	GivenUp  Status = "given-up" // all draws and revisions were used
	Waiting  Status = "waiting"  // for an answer by file
	Stopped  Status = "stopped"  // by the budget
	Open     Status = "open"     // not begun, or interrupted
)

// Candidate is how one candidate stands, and a line of candidates.jsonl once it is
// accepted or given up.
type Candidate struct {
	Version   int                 `json:"version"`
	Candidate int                 `json:"candidate"`
	Status    Status              `json:"status"`
	Class     agentbound.Class    `json:"class"`
	Family    agentbound.FamilyID `json:"family,omitempty"`
	Draws     int                 `json:"draws"`
	Rounds    int                 `json:"rounds"`
	Failed    []string            `json:"failed,omitempty"` // gates of the last round
	Prompt    string              `json:"prompt,omitempty"` // of one that waits
	Answer    string              `json:"answer,omitempty"` // where its answer is expected
}

// Summary is what a run of the command came to.
type Summary struct {
	Version    int             `json:"version"`
	Dir        string          `json:"dir"`
	Engine     Engine          `json:"engine"`
	Model      string          `json:"model,omitempty"`
	Prompt     string          `json:"prompt_version"`
	Candidates []Candidate     `json:"candidates"`
	Accepted   int             `json:"accepted"`
	Budget     bool            `json:"budget_stopped"`
	Spent      Spent           `json:"spent"`
	First      []validate.Rate `json:"first_drafts"` // of each draw's first round
	Rates      []validate.Rate `json:"rounds"`       // of all rounds
}

// Count is how many candidates have a status.
func (s Summary) Count(status Status) (n int) {
	for _, c := range s.Candidates {
		if c.Status == status {
			n++
		}
	}
	return n
}

// runner is one run of the command.
type runner struct {
	o      Options
	seeds  []seed.Seed
	writer writer
	ledger *ledger
	valid  validate.Validator

	mu       sync.Mutex
	accepted []acceptedLine
	fault    error // the first of infrastructure; nothing is begun after it
}

// Run takes every candidate as far as it can be taken. The summary holds also where the
// error is not nil: what was finished is kept, and the same call goes on from there.
func Run(ctx context.Context, o Options) (Summary, error) {
	r, unlock, err := open(o)
	if err != nil {
		return Summary{}, err
	}
	defer unlock()
	done, err := r.finished()
	if err != nil {
		return Summary{}, err
	}
	states := make([]Candidate, r.o.Count)
	var g errgroup.Group
	g.SetLimit(max(1, r.o.Concurrency))
	for i := range states {
		n := i + 1
		if c, ok := done[n]; ok {
			states[i] = c
			continue
		}
		g.Go(func() error {
			states[i] = r.take(ctx, n)
			return nil
		})
	}
	_ = g.Wait() // faults are kept in the runner, so that what is in flight comes to its end
	s, err := r.summary(states)
	if r.faulted() != nil {
		err = nil // it says the same again, or waits until this is mended
	}
	return s, errors.Join(ctx.Err(), r.faulted(), err)
}

// take works at a candidate unless something has stopped the run.
func (r *runner) take(ctx context.Context, n int) Candidate {
	c := Candidate{Version: Version, Candidate: n, Status: Open}
	if ctx.Err() != nil || r.faulted() != nil {
		return c
	}
	err := r.candidate(ctx, &c)
	if err != nil && ctx.Err() == nil {
		r.mu.Lock()
		if r.fault == nil {
			r.fault = fmt.Errorf("candidate %d: %w", n, err)
		}
		r.mu.Unlock()
	}
	return c
}

func (r *runner) faulted() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

func (r *runner) tell(candidate, round int, format string, args ...any) {
	if r.o.Observe == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Observe(Event{candidate, round, fmt.Sprintf(format, args...)})
}

// open checks the options against the folder and reads what is accepted.
func open(o Options) (*runner, func(), error) {
	if err := complete(&o); err != nil {
		return nil, nil, &UsageError{err}
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	r := &runner{o: o, seeds: shuffled(o.Seeds, o.Seed)}
	if err := r.prepare(); err != nil {
		unlock()
		return nil, nil, err
	}
	return r, unlock, nil
}

func (r *runner) prepare() error {
	if err := r.settings(); err != nil {
		return err
	}
	known, err := exampleFamilies()
	if err != nil {
		return err
	}
	r.valid = validate.Validator{Screen: r.o.Screen, Index: validate.NewIndex(append(known, r.o.Against...)...)}
	own, err := r.installed()
	if err != nil {
		return err
	}
	for i := range own {
		r.remember(&own[i])
	}
	spent, err := spentIn(r.o.Dir)
	if err != nil {
		return err
	}
	r.ledger = newLedger(r.o.Budget, spent)
	r.writer = byFile{}
	if r.o.Engine == LM {
		r.writer = byModel{r.o.Model, r.o.Temperature, r.o.MaxTokens, r.ledger}
	}
	return nil
}

// remember makes later candidates differ from a family.
func (r *runner) remember(f *agentbound.Family) {
	r.valid.Index.Add(f)
	r.accepted = append(r.accepted, lineOf(f))
}

// complete fills defaults in and refuses what cannot work.
func complete(o *Options) error {
	if err := o.Engine.Validate(); err != nil {
		return err
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = defaultMaxTokens
	}
	switch {
	case o.Dir == "":
		return errors.New("no folder to keep the attempts in")
	case o.Engine == LM && o.Model == nil:
		return errors.New("engine lm needs a model")
	case o.Count < 1 || o.Count > 9999:
		return fmt.Errorf("%d candidates; accepted: 1 to 9999", o.Count)
	case o.Revisions < 0 || o.Resamples < 0:
		return errors.New("revisions and resamples must not be negative")
	case o.MaxTokens < 1 || o.MaxTokens > mostTokens:
		return fmt.Errorf("%d tokens of one answer; accepted: 1 to %d", o.MaxTokens, mostTokens)
	case o.Concurrency < 0 || o.Concurrency > mostConcurrent:
		return fmt.Errorf("%d candidates at a time; accepted: 1 to %d", o.Concurrency, mostConcurrent)
	case o.Budget.Calls < 0 || o.Budget.Tokens < 0:
		return errors.New("a budget must not be negative")
	}
	if len(o.Seeds) > 0 {
		return withSeeds(o)
	}
	if len(o.Classes) == 0 {
		o.Classes = o.Patterns.Classes()
	}
	if len(o.Classes) == 0 {
		return errors.New("there are no patterns to draw from")
	}
	for _, c := range o.Classes {
		if _, err := o.Patterns.Class(c); err != nil {
			return err
		}
	}
	return nil
}

// withSeeds keeps the seeds of the classes that are asked for.
func withSeeds(o *Options) error {
	o.Seeds = slices.DeleteFunc(slices.Clone(o.Seeds), func(s seed.Seed) bool {
		return len(o.Classes) > 0 && !slices.Contains(o.Classes, s.Class)
	})
	if len(o.Seeds) == 0 {
		return fmt.Errorf("no seed is of the classes that were asked for (%s)", joined(o.Classes))
	}
	o.Classes = nil
	for _, s := range o.Seeds {
		if _, err := o.Patterns.Class(s.Class); err != nil {
			return fmt.Errorf("seed %s: %w", s.ID, err)
		}
		if !slices.Contains(o.Classes, s.Class) {
			o.Classes = append(o.Classes, s.Class)
		}
	}
	slices.Sort(o.Classes)
	return nil
}

func joined[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

// lock keeps a second process out of the folder. The file is an operating system's lock
// where there is one, so that it ends with its process.
func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, usage("the folder for attempts: %w; name one that is there or can be made", err)
	}
	if err := unlinked(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockFile)
	f, held, err := filelock.Open(path, 0o644)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the folder for attempts: %w", err)
	case held:
		return nil, busy(path)
	}
	return func() { _ = f.Close() }, nil // the lock file stays: removing it would race with the next one
}
