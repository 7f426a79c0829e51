// Package sqlite keeps a store in one SQLite file (modernc.org/sqlite, no cgo).
//
// The file is in WAL mode with synchronous NORMAL: a committed batch survives the
// death of the process at once, and the loss of power from the next checkpoint on.
// One connection writes, a pool reads; SQLite serialises the writers of several
// processes.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
)

// busyTimeout bounds the wait for another process's transaction. Those last for
// milliseconds; only the creation of a large run takes about a second.
const busyTimeout = 30 * time.Second

// mostUnpacked bounds what one stored document may unpack to: a store from elsewhere
// is not trusted to say how much memory it needs.
const mostUnpacked = 256 << 20

// Options of a store; the zero value is for everyday use.
type Options struct {
	// Existing refuses to create the file: for verbs that only read, so that a
	// mistyped path is an error and not an empty store.
	Existing bool
	// Now is the clock of creation times, time.Now by default.
	Now func() time.Time
}

// Store is a store.Store in one SQLite file.
type Store struct {
	path   string
	now    func() time.Time
	remove string // folder to remove on Close, of OpenTemp

	write   *sql.DB // one connection
	read    *sql.DB
	stmts   statements
	encoder *zstd.Encoder // EncodeAll only: safe from several goroutines
	decoder *zstd.Decoder // DecodeAll only: as above
	judges  sync.Map      // configuration → id of the judge table

	mu    sync.Mutex // guards locks
	locks map[agentbound.RunID]*fileLock
}

var _ store.Store = (*Store)(nil)

// Open opens the store at path, creates it where there is no file yet (unless
// o.Existing), and brings an older one up to date. Errors say what is wrong with
// the file and what to do: a missing folder, a file that is no agentbound store or
// was written by a newer version, one that cannot be written. With o.Existing a
// missing file is an error that is fs.ErrNotExist.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	abs, err := locate(path, o.Existing)
	if err != nil {
		return nil, err
	}
	s := &Store{path: abs, now: o.Now, locks: map[agentbound.RunID]*fileLock{}}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.open(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// OpenTemp opens a new store in a folder of its own, which Close removes. (SQLite's
// in-memory databases have no WAL: their readers would stand in the writer's way.)
func OpenTemp(ctx context.Context, o Options) (*Store, error) {
	dir, err := os.MkdirTemp("", "agentbound-store-")
	if err != nil {
		return nil, fmt.Errorf("temporary store: %w", err)
	}
	s, err := Open(ctx, filepath.Join(dir, "agentbound.db"), o)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	s.remove = dir
	return s, nil
}

// locate checks what can be told from the names alone. The file itself is left to
// SQLite: opening and closing it here would drop the POSIX locks of any other
// connection that this process has on it.
func locate(path string, existing bool) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("store %s: %w", path, err)
	}
	dir := filepath.Dir(abs)
	switch info, err := os.Stat(dir); { //nolint:gosec // the user names the store
	case errors.Is(err, fs.ErrNotExist):
		return "", absentError(fmt.Sprintf("store %s: folder %s does not exist: create it (mkdir -p %q), or name another file with --store or AGENTBOUND_STORE", path, dir, dir))
	case err != nil:
		return "", fmt.Errorf("store %s: %w", path, err)
	case !info.IsDir():
		return "", fmt.Errorf("store %s: %s is not a folder: name another file with --store or AGENTBOUND_STORE", path, dir)
	}
	switch info, err := os.Stat(abs); { //nolint:gosec // the user names the store
	case errors.Is(err, fs.ErrNotExist):
		if existing {
			return "", absentError("store " + path + ": there is no such file: make one with agentbound run, or name another with --store or AGENTBOUND_STORE")
		}
	case err != nil:
		return "", fmt.Errorf("store %s: %w", path, err)
	case info.IsDir():
		return "", fmt.Errorf("store %s: is a folder: name a file in it, as in --store %s", path, filepath.Join(path, "agentbound.db"))
	}
	return abs, nil
}

func (s *Store) open(ctx context.Context) error {
	var err error
	if s.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithWindowSize(1<<20)); err != nil {
		return err
	}
	if s.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderMaxMemory(mostUnpacked)); err != nil {
		return err
	}
	if s.write, err = sql.Open("sqlite", s.dsn("_txlock", "immediate",
		"_pragma", fmt.Sprintf("page_size(%d)", pageSize), "_pragma", "wal_autocheckpoint(4000)")); err != nil {
		return s.explain(err)
	}
	s.write.SetMaxOpenConns(1)
	if err := s.prepareFile(ctx); err != nil {
		return err
	}
	if s.read, err = sql.Open("sqlite", s.dsn("_pragma", "query_only(1)")); err != nil {
		return s.explain(err)
	}
	readers := max(4, 2*runtime.GOMAXPROCS(0))
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return s.explain(s.stmts.prepare(ctx, s.write, s.read))
}

// dsn is the file as a SQLite URI with the settings of every connection and pairs
// of further ones.
func (s *Store) dsn(pairs ...string) string {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	q.Add("_pragma", "synchronous(NORMAL)")
	q.Add("_pragma", "foreign_keys(1)")
	for i := 0; i < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	path := filepath.ToSlash(s.path)
	if !strings.HasPrefix(path, "/") { // a Windows drive
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode(), OmitHost: true}).String()
}

// Close closes the connections, which folds the WAL into the file, and gives up
// the locks.
func (s *Store) Close() error {
	var errs []error
	errs = append(errs, s.stmts.close())
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.encoder != nil {
		errs = append(errs, s.encoder.Close())
	}
	if s.decoder != nil {
		s.decoder.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for run, l := range s.locks {
		errs = append(errs, l.unlock())
		delete(s.locks, run)
	}
	if s.remove != "" {
		errs = append(errs, os.RemoveAll(s.remove))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("store %s: close: %w", s.path, err)
	}
	return nil
}

// Lock implements store.Store with an operating system's lock on a file beside the
// store. Such a lock ends with its process, kill -9 included, so a crash leaves
// nothing to clear up; an owner's pid in a row would have to be second-guessed (it
// may be another host's or container's, or be taken again), and a lease would need
// a heartbeat and make the next run wait.
func (s *Store) Lock(ctx context.Context, run agentbound.RunID) (func() error, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("store %s: %w", s.path, err)
	}
	if err := checkHex("run id", string(run), runDigits); err != nil {
		return nil, err
	}
	l, owner, err := lockFile(s.path+"-run-"+string(run)+".lock", s.owner())
	if err != nil {
		return nil, fmt.Errorf("store %s: lock of run %s: %w", s.path, run, err)
	}
	if l == nil {
		return nil, &store.LockedError{Run: run, Owner: owner}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks[run] = l
	return func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.locks[run] != l { // unlocked before, or closed
			return nil
		}
		delete(s.locks, run)
		return l.unlock()
	}, nil
}

func (s *Store) owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("process %d on %s since %s", os.Getpid(), host, s.now().UTC().Format(time.RFC3339))
}

// absentError is an fs.ErrNotExist that has said so in words of its own.
type absentError string

func (e absentError) Error() string { return string(e) }

// Is makes it an fs.ErrNotExist.
func (e absentError) Is(target error) bool { return target == fs.ErrNotExist }
