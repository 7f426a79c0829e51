package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"github.com/agentbound/agentbound/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a SQLite file as an agentbound store: "abnd", at offset 68 of
// the file.
const applicationID = 0x61626e64

// pageSize holds some compressed trajectories of usual size in one page. It matters
// when the file is made, and must be set before anything else looks at it.
const pageSize = 8192

// fileState is what a file says of itself.
type fileState struct {
	application int64
	tables      int64
	version     int64 // of the schema, by goose; 0: none yet
	journal     string
}

// prepareFile makes the file a store of this version, or says why it cannot. SQLite asks
// for no patience where a mode changes or a reader turns writer, so that two processes that
// open a new store together would be told that it is locked: what is done here is done
// again, from the start, until the busy time is over.
func (s *Store) prepareFile(ctx context.Context) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := s.prepareOnce(ctx)
		if !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *Store) prepareOnce(ctx context.Context) error {
	if done, err := s.ready(ctx); done || err != nil {
		return err
	}
	// Two processes may come here together: the second one finds it done.
	l, err := waitLock(ctx, s.path+"-migrate.lock", s.owner())
	if err != nil {
		return fmt.Errorf("store %s: cannot be prepared: %w", s.path, err)
	}
	defer func() { _ = l.unlock() }() // the lock ends with the process at the latest
	if done, err := s.ready(ctx); done || err != nil {
		return err
	}
	// The mark is written before WAL mode, so that it is in the file itself.
	for _, q := range []string{
		fmt.Sprintf("PRAGMA application_id=%d", applicationID),
		"PRAGMA journal_mode=WAL",
	} {
		if _, err := s.write.ExecContext(ctx, q); err != nil {
			return s.explain(err)
		}
	}
	provider, err := newProvider(s.write)
	if err != nil {
		return fmt.Errorf("store %s: migrations: %w", s.path, err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("store %s: bringing it up to date: %w", s.path, s.explain(err))
	}
	return nil
}

// ready reports whether the file is a store of this version that can be written.
func (s *Store) ready(ctx context.Context) (bool, error) {
	st, err := s.state(ctx)
	if err != nil {
		return false, s.explain(err)
	}
	newest, err := newestVersion()
	if err != nil {
		return false, fmt.Errorf("store %s: migrations: %w", s.path, err)
	}
	switch {
	case st.application != applicationID && (st.application != 0 || st.tables != 0):
		return false, fmt.Errorf("store %s: is a SQLite database of another program (application id %#x, %d tables), not an agentbound store: name another file with --store or AGENTBOUND_STORE",
			s.path, st.application, st.tables)
	case st.version > newest:
		return false, fmt.Errorf("store %s: was written by a newer agentbound (schema %d, this one knows %d): update agentbound, or name another file with --store or AGENTBOUND_STORE",
			s.path, st.version, newest)
	}
	if err := s.writable(ctx); err != nil {
		return false, s.explain(err)
	}
	return st.application == applicationID && st.version == newest && st.journal == "wal", nil
}

// writable tries a write and takes it back: SQLite opens a file that it may not
// write for reading, and even begins a transaction on it, without a word.
func (s *Store) writable(ctx context.Context) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, "PRAGMA user_version=0")
	return errors.Join(err, tx.Rollback())
}

// state reads the tables before the mark: a store that is being made gets its mark
// first, so that one with tables always shows it.
func (s *Store) state(ctx context.Context) (st fileState, err error) {
	for _, q := range []struct {
		text string
		to   any
	}{
		{"SELECT count(*) FROM sqlite_schema", &st.tables},
		{"PRAGMA application_id", &st.application},
		{"PRAGMA journal_mode", &st.journal},
	} {
		if err := s.write.QueryRowContext(ctx, q.text).Scan(q.to); err != nil {
			return st, err
		}
	}
	if st.application != applicationID || st.tables == 0 {
		return st, nil
	}
	var version sql.NullInt64
	err = s.write.QueryRowContext(ctx, "SELECT max(version_id) FROM "+goose.DefaultTablename+" WHERE is_applied").Scan(&version)
	st.version = version.Int64
	return st, err
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, sub,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}

func newestVersion() (int64, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// The primary result codes of SQLite (sqlite.org/rescode.html) that have a remedy.
const (
	codeBusy       = 5
	codeReadOnly   = 8
	codeIO         = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeConstraint = 19
	codeNotADB     = 26
)

func isConstraint(err error) bool { return hasCode(err, codeConstraint) }

func isBusy(err error) bool { return hasCode(err, codeBusy) }

func hasCode(err error, code int) bool {
	e := (*sqlite.Error)(nil)
	return errors.As(err, &e) && e.Code()&0xff == code
}

// explain adds to an error of SQLite which file it is about and what to do.
func (s *Store) explain(err error) error {
	if err == nil || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNotFound) {
		return err
	}
	remedy := ""
	if e := (*sqlite.Error)(nil); errors.As(err, &e) {
		switch e.Code() & 0xff {
		case codeBusy:
			remedy = fmt.Sprintf("another process has been writing to it for more than %v: wait for it or stop it, then repeat the command", busyTimeout)
		case codeReadOnly:
			remedy = "it is read-only: give yourself write permission on the file and its folder, or copy it elsewhere and name the copy with --store"
		case codeCantOpen:
			remedy = "it cannot be opened for writing: check the permissions of the file and of its folder, or name another file with --store or AGENTBOUND_STORE"
		case codeNotADB:
			remedy = "is not an agentbound store (not a SQLite database): name another file with --store or AGENTBOUND_STORE"
		case codeCorrupt:
			remedy = "it is damaged: go back to a copy, or save what can be read with sqlite3's .recover"
		case codeFull:
			remedy = "the disk is full: free some space and repeat the command, which resumes"
		case codeIO:
			remedy = "reading or writing it failed: check the disk, then repeat the command, which resumes"
		}
	}
	if remedy == "" {
		return fmt.Errorf("store %s: %w", s.path, err)
	}
	return fmt.Errorf("store %s: %s: %w", s.path, remedy, err)
}
