package play

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/world"
)

// Options are what sessions are played with.
type Options struct {
	Store store.Store
	Dir   string // private to the evaluator: what was sealed, and the journals

	// World, Judge and Intervention resolve what a plan names.
	World        func(name string) (world.Factory, error)
	Judge        func(config string) (judge.Judge, error)
	Intervention func(agentbound.Intervention) (intervene.Intervention, error) // nil: bare only

	Clock func() time.Time // nil: time.Now
	NewID func() string    // of sessions; nil: 128 random bits
	Log   *slog.Logger     // for the evaluator; nil: nothing is logged
}

// Sessions owns the worlds of all sealed trials in a folder. It is for many subjects
// at a time; each session takes one request at a time.
type Sessions struct {
	o Options

	starting sync.Mutex // one session begins at a time

	mu       sync.Mutex // of what follows; may be taken while a session's is held, never the other way round
	byID     map[string]*session
	bySealed map[string]*session
	suites   map[agentbound.Digest]*suite.Suite
	locks    map[agentbound.RunID]func() error
}

// Open finds the sessions in the folder, and records those that were finished when an
// earlier server died before it could.
func Open(ctx context.Context, o Options) (*Sessions, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.NewID == nil {
		o.NewID = randomID
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Sessions{
		o: o, byID: map[string]*session{}, bySealed: map[string]*session{},
		suites: map[agentbound.Digest]*suite.Suite{}, locks: map[agentbound.RunID]func() error{},
	}
	if err := private(o.Dir); err != nil {
		return nil, err
	}
	if err := private(s.folder()); err != nil {
		return nil, err
	}
	if err := s.scan(); err != nil {
		return nil, err
	}
	s.settle(ctx)
	return s, nil
}

// Begun gives the sealed ids whose sessions have begun in a private folder.
func Begun(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(folder(dir), "*"+journalSuffix))
	if err != nil {
		return nil, err
	}
	begun := map[string]bool{}
	for _, f := range files {
		entries, err := readLines[entry](f)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			begun[entries[0].ID] = true
		}
	}
	return begun, nil
}

func folder(dir string) string { return filepath.Join(dir, "sessions") }

func (s *Sessions) folder() string { return folder(s.o.Dir) }

func (s *Sessions) journal(id string) string {
	return filepath.Join(s.folder(), id+journalSuffix)
}

const journalSuffix = ".jsonl"

// scan takes in the sessions of the folder that are not known here yet: those of
// earlier servers, and of others that have given up their runs.
func (s *Sessions) scan() error {
	files, err := os.ReadDir(s.folder())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), journalSuffix)
		if !ok || s.byID[id] != nil {
			continue
		}
		entries, err := readLines[entry](s.journal(id))
		if err != nil {
			if len(entries) == 0 { // its subject is not known, and must not begin anew
				return err
			}
			s.o.Log.Error("a session cannot go on", "session", id, "error", err)
		}
		if len(entries) == 0 { // killed while it began: nothing was acknowledged
			continue
		}
		t := &session{owner: s, id: id, sealed: entries[0].ID, path: s.journal(id)}
		last := entries[len(entries)-1]
		t.stored = err == nil && last.Op == opStored
		t.ended = err == nil && (t.stored || last.ends())
		s.byID[id], s.bySealed[t.sealed] = t, t
	}
	return nil
}

// settle records what was finished and is not in the store yet. What cannot be
// recorded now stays for the next server, or for a finish sent again.
func (s *Sessions) settle(ctx context.Context) {
	for _, t := range s.all() {
		if err := t.settleLate(ctx); err != nil {
			s.o.Log.Error("a finished session is not in the store yet", "session", t.id, "error", err)
		}
	}
}

func (s *Sessions) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.byID))
}

// Start begins the session of a sealed id, or goes on with it.
func (s *Sessions) Start(ctx context.Context, id string) (Opening, error) {
	t, err := s.session(ctx, id)
	if err != nil {
		return Opening{}, s.outward(err)
	}
	o, err := t.opening(ctx)
	return o, s.outward(err)
}

// session finds or begins the session of a sealed id.
func (s *Sessions) session(ctx context.Context, id string) (*session, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if t := s.get(s.bySealed, id); t != nil {
		return t, nil
	}
	sealed, err := s.sealed(id)
	if err != nil {
		return nil, err
	}
	if err := s.own(ctx, sealed.Run); err != nil {
		return nil, err
	}
	if err := s.scan(); err != nil { // another server may have begun it before it gave up the run
		return nil, err
	}
	if t := s.get(s.bySealed, id); t != nil {
		return t, nil
	}
	return s.begin(ctx, sealed)
}

func (s *Sessions) begin(ctx context.Context, sealed Sealed) (*session, error) {
	p, err := s.seat(ctx, sealed)
	if err != nil {
		return nil, err
	}
	switch stored, err := s.o.Store.Result(ctx, string(sealed.Trial.Key)); {
	case err == nil && stored.Trajectory.End.Reason != agentbound.EndFault:
		return nil, refuse(Ended, "this task is finished and recorded already")
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	t := &session{owner: s, id: s.o.NewID(), sealed: sealed.ID, seat: p}
	t.path = s.journal(t.id)
	if err := t.begin(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[t.id], s.bySealed[t.sealed] = t, t
	return t, nil
}

func (s *Sessions) get(from map[string]*session, key string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return from[key]
}

// sealed reads the file anew each time: one may seal while a server runs.
func (s *Sessions) sealed(id string) (Sealed, error) {
	all, err := Seals(s.o.Dir)
	if err != nil {
		return Sealed{}, err
	}
	for _, x := range all {
		if x.ID == id {
			return x, nil
		}
	}
	return Sealed{}, refuse(UnknownID, "there is no task with the id %q: give the id as you received it", clip(id))
}

// own takes the sole right to make a run's trials, and keeps it until Close.
func (s *Sessions) own(ctx context.Context, id agentbound.RunID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[id] != nil {
		return nil
	}
	unlock, err := s.o.Store.Lock(ctx, id)
	if errors.Is(err, store.ErrLocked) {
		s.o.Log.Error("a run is owned by another process", "error", err)
		return refuse(Busy, "another server is in charge of this task: stop one of the two, then try again")
	}
	if err != nil {
		return err
	}
	s.locks[id] = unlock
	return nil
}

// Call makes one call.
func (s *Sessions) Call(ctx context.Context, c Call) (Answer, error) {
	t, err := s.running(c.Session)
	if err != nil {
		return Answer{}, err
	}
	a, err := t.call(ctx, c)
	return a, s.outward(err)
}

// Finish ends a session, judges it and puts it in the store. Once it returns without
// an error the session is recorded and survives the death of the process.
func (s *Sessions) Finish(ctx context.Context, f Finish) (Receipt, error) {
	t, err := s.running(f.Session)
	if err != nil {
		return Receipt{}, err
	}
	r, err := t.finish(ctx, f)
	return r, s.outward(err)
}

func (s *Sessions) running(id string) (*session, error) {
	if t := s.get(s.byID, id); t != nil {
		return t, nil
	}
	if err := s.scan(); err != nil {
		return nil, s.outward(err)
	}
	if t := s.get(s.byID, id); t != nil {
		return t, nil
	}
	return nil, refuse(UnknownSession, "there is no session %q: give the session as start printed it", clip(id))
}

// outward keeps what went wrong inside from the subject: it may name the task.
func (s *Sessions) outward(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	s.o.Log.Error("a request failed", "error", err)
	return refuse(Failed, "something failed on the server's side, and nothing was done: try again; if it stays so, tell whoever gave you the task")
}

// Close gives up the runs. Requests must be over. Open sessions stay as they are, to
// be resumed.
func (s *Sessions) Close() error {
	var err error
	for _, t := range s.all() {
		err = errors.Join(err, t.release())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, unlock := range s.locks {
		err = errors.Join(err, unlock())
		delete(s.locks, id)
	}
	return err
}

func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
