// Package store is the port to where results are kept: suites by digest, runs with
// their membership, trials with their trajectories and verdicts. Adapters stand in
// folders named after their technology (store/sqlite); storetest is the contract
// that each of them passes.
//
// # What is kept
//
// A run is a resolved plan and the ordered list of its trials (its membership). A
// trial is kept once, under its key, whichever runs it belongs to: a trial that an
// earlier run made serves every later run that would make it again. A verdict is
// kept under (trial key, judge configuration), so that stored trials can be judged
// again without losing what earlier configurations said.
//
// # Scored and unscored
//
// A trajectory is scored unless it ended in [agentbound.EndFault]. A verdict is
// scored unless it says otherwise ([agentbound.Verdict.Scored]). What is scored is
// never replaced; what is unscored makes room for the next attempt.
//
// # Several processes
//
// Any number of goroutines and processes may read and write one store at a time.
// Whoever makes the trials of a run holds the run's lock ([Store.Lock]) meanwhile,
// so that no trial is paid for twice.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
)

// Store keeps suites, runs, trials and verdicts. Its methods may be called from
// several goroutines at once. Errors that a caller may tell apart are [ErrNotFound],
// [ErrAmbiguous], [ErrLocked] and [ErrInvalid] (with errors.Is); all others are
// infrastructure. A context's error is returned as it is, wrapped.
//
// The iterators read in pages and hold nothing open in between: a caller may write
// to the store while it ranges, may take its time, and may break off. They are not
// one snapshot; a row that changes during the iteration is seen in one of its states.
// The first error ends an iteration; it comes with a zero row.
type Store interface {
	// PutSuite keeps a suite under its digest. One that is there already stays
	// as it is. ErrInvalid for a digest that is not one.
	PutSuite(ctx context.Context, s Suite) error
	// Suite gives a suite by its digest. ErrNotFound.
	Suite(ctx context.Context, digest agentbound.Digest) (Suite, error)

	// CreateRun keeps a run and its membership, all or nothing; trials are
	// numbered from 0 in the order they come, and are read once, without being
	// collected. The sequence must not use the store. Where the run id is there
	// already nothing happens, trials is not read, and created is false: the run
	// is resumed. ErrInvalid for a malformed id or key.
	CreateRun(ctx context.Context, r Run, trials iter.Seq[agentbound.Trial]) (created bool, err error)
	// Run gives a run by its id or by a prefix of it that no other run has.
	// ErrNotFound, or ErrAmbiguous (an [AmbiguousError] names the candidates).
	Run(ctx context.Context, ref string) (Run, error)
	// Runs gives all runs in the order in which they were created, which within
	// one command is plan order.
	Runs(ctx context.Context) ([]Run, error)
	// Lock takes the sole right to make the trials of a run, for this store
	// value. It does not wait: ErrLocked, with the owner where it is known. The
	// lock ends with unlock, with Close and with the process, however that dies;
	// it never outlives its owner. The run need not exist yet.
	Lock(ctx context.Context, run agentbound.RunID) (unlock func() error, err error)

	// Put keeps results, all or none of them: each trial with its trajectory and
	// its verdicts as one unit. An unscored trial that is there already is
	// replaced together with its verdicts; a scored one is left alone together
	// with its verdicts (use PutVerdicts to judge it). A trial need not belong
	// to a run. ErrInvalid for a malformed key, a missing trajectory, or a
	// verdict without a judge.
	//
	// Once Put returns nil the results survive the death of the process. It is
	// fastest with some 64 results at a time; encoding happens in the calling
	// goroutine, so that several callers share the cores.
	Put(ctx context.Context, results []agentbound.Result) error
	// PutVerdicts adds verdicts to stored trials, all or none of them. A scored
	// verdict of the same judge configuration is left alone, an unscored one is
	// replaced. ErrNotFound where a trial is not stored, ErrInvalid as for Put.
	PutVerdicts(ctx context.Context, judged []Judged) error

	// Pending gives what is left to do for a run, in position order: trials
	// without a scored trajectory (Work.Run), and trials without a scored
	// verdict of one of the judges. ErrNotFound.
	Pending(ctx context.Context, run agentbound.RunID, judges []string) iter.Seq2[Work, error]
	// Progress counts a run's trials as one judge configuration sees them.
	// ErrNotFound.
	Progress(ctx context.Context, run agentbound.RunID, judge string) (Progress, error)
	// Rows gives the run's trials that have a verdict of the judge, scored or
	// not, in position order. ErrNotFound.
	Rows(ctx context.Context, run agentbound.RunID, judge string) iter.Seq2[Row, error]
	// Judges gives the judge configurations that have verdicts on trials of the
	// run, sorted. ErrNotFound.
	Judges(ctx context.Context, run agentbound.RunID) ([]string, error)
	// Result gives a stored trial with its trajectory and all its verdicts
	// (sorted by judge) by its key or by a prefix of it that no other stored
	// trial has. ErrNotFound, or ErrAmbiguous.
	Result(ctx context.Context, ref string) (agentbound.Result, error)

	// Close releases the store and its locks. Nothing may be called after it.
	Close() error
}

// Suite is a suite as it is kept. Blob is its package, in the form that the caller
// chose; adapters compress it.
type Suite struct {
	Digest   agentbound.Digest
	Name     string
	Families int
	Blob     []byte
}

// Run is a run as it is kept. A zero ID means Plan.ID(), a zero Created the store's
// clock.
type Run struct {
	ID      agentbound.RunID
	Plan    agentbound.Plan
	Created time.Time
}

// Judged is a stored trial and further verdicts on it.
type Judged struct {
	Key      agentbound.TrialKey
	Verdicts []agentbound.Verdict
}

// Work is a trial of a run that is not finished.
type Work struct {
	agentbound.Trial
	Position int      // in the run's membership, from 0
	Run      bool     // the trial must be made; false: it is stored and needs judging only
	Judges   []string // the configurations to ask: all of them where Run is true
}

// Progress counts trials. Those that are neither Scored nor Unscored have not been
// made, or not been judged.
type Progress struct {
	Planned  int // the run's membership
	Stored   int // with a trajectory, scored or not
	Scored   int // with a scored verdict of the judge
	Unscored int // with a faulted trajectory, or an unscored verdict of the judge
}

// Complete reports whether every trial has a scored verdict.
func (p Progress) Complete() bool { return p.Scored == p.Planned }

// Row is a trial as a judge saw it, with what it cost.
type Row struct {
	agentbound.Trial
	Position int // in the run's membership, from 0
	Verdict  agentbound.Verdict
	Usage    agentbound.Usage // of every attempt at the trial, also of those that were replaced
}

// Errors to tell apart with errors.Is.
var (
	ErrNotFound  = errors.New("not found")
	ErrAmbiguous = errors.New("ambiguous")
	ErrLocked    = errors.New("locked")
	ErrInvalid   = errors.New("invalid")
)

// NotFoundError is an ErrNotFound.
type NotFoundError struct {
	What string // "run", "trial", "suite"
	Ref  string // as it was asked for
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("no %s %q in the store", e.What, e.Ref) }

// Is makes it an ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// AmbiguousError is an ErrAmbiguous.
type AmbiguousError struct {
	What       string // "run", "trial"
	Ref        string
	Candidates []string // full ids, sorted, at most MaxCandidates
	More       bool     // there are further ones
}

// MaxCandidates bounds the list in an AmbiguousError.
const MaxCandidates = 8

func (e *AmbiguousError) Error() string {
	more := ""
	if e.More {
		more = ", …"
	}
	return fmt.Sprintf("%s %q could be %s%s: give more digits", e.What, e.Ref, strings.Join(e.Candidates, ", "), more)
}

// Is makes it an ErrAmbiguous.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// LockedError is an ErrLocked.
type LockedError struct {
	Run   agentbound.RunID
	Owner string // who holds it, for people; empty where it is not known
}

func (e *LockedError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another process"
	}
	return fmt.Sprintf("run %s is in progress (%s): wait until it is done or stop it, then repeat the command to resume; --new starts another run",
		e.Run, owner)
}

// Is makes it an ErrLocked.
func (e *LockedError) Is(target error) bool { return target == ErrLocked }
