package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
)

// page is how many rows an iteration reads at a time. Nothing is held between
// pages: a transaction left open would keep the WAL from being folded into the file
// for as long as a run takes.
const page = 512

// Suite implements store.Store.
func (s *Store) Suite(ctx context.Context, digest agentbound.Digest) (store.Suite, error) {
	suite := store.Suite{Digest: digest}
	key, err := decodeHex("suite digest", string(digest), digestDigits)
	if err != nil {
		return store.Suite{}, &store.NotFoundError{What: "suite", Ref: string(digest)}
	}
	var document []byte
	switch err := s.stmts.suite.QueryRowContext(ctx, key).Scan(&suite.Name, &suite.Families, &document); {
	case errors.Is(err, sql.ErrNoRows):
		return store.Suite{}, &store.NotFoundError{What: "suite", Ref: string(digest)}
	case err != nil:
		return store.Suite{}, s.explain(err)
	}
	if suite.Blob, err = s.decoder.DecodeAll(document, nil); err != nil {
		return store.Suite{}, fmt.Errorf("store %s: suite %s: %w", s.path, digest, err)
	}
	return suite, nil
}

// Run implements store.Store.
func (s *Store) Run(ctx context.Context, ref string) (store.Run, error) {
	if ref == "" || len(ref) > runDigits || !isHex(ref) {
		return store.Run{}, &store.NotFoundError{What: "run", Ref: ref}
	}
	lo, hi := between(ref, runDigits)
	runs, err := s.scanRuns(s.stmts.runLike.QueryContext(ctx, lo, hi, store.MaxCandidates+1))
	if err != nil {
		return store.Run{}, err
	}
	if len(runs) > 1 {
		return store.Run{}, ambiguous("run", ref, runs, func(r store.Run) string { return string(r.ID) })
	}
	if len(runs) == 0 {
		return store.Run{}, &store.NotFoundError{What: "run", Ref: ref}
	}
	return runs[0], nil
}

// Runs implements store.Store.
func (s *Store) Runs(ctx context.Context) ([]store.Run, error) {
	return s.scanRuns(s.stmts.runs.QueryContext(ctx))
}

func (s *Store) scanRuns(rows *sql.Rows, err error) ([]store.Run, error) {
	return collect(s, rows, err, func(rows *sql.Rows) (r store.Run, err error) {
		var plan string
		var created int64
		if err := rows.Scan(&r.ID, &plan, &created); err != nil {
			return r, err
		}
		r.Created = time.UnixMicro(created).UTC()
		if err := json.Unmarshal([]byte(plan), &r.Plan); err != nil {
			return r, fmt.Errorf("run %s: plan: %w", r.ID, err)
		}
		return r, nil
	})
}

// Pending implements store.Store.
func (s *Store) Pending(ctx context.Context, run agentbound.RunID, judges []string) iter.Seq2[store.Work, error] {
	judges = distinct(judges)
	names, _ := json.Marshal(judges) // strings always encode
	query := func(seq int64, after int) (*sql.Rows, error) {
		return s.stmts.pending.QueryContext(ctx, seq, after, string(names), len(judges), page)
	}
	return pages(ctx, s, run, query, func(rows *sql.Rows) (w store.Work, position int, _ error) {
		var done string
		if err := rows.Scan(&w.Position, &w.Key, &w.Family, &w.Archetype, &w.Split, &w.Repeat, &w.Run, &done); err != nil {
			return w, 0, err
		}
		if w.Run {
			w.Judges = slices.Clone(judges)
			return w, w.Position, nil
		}
		var have []string
		if err := json.Unmarshal([]byte(done), &have); err != nil {
			return w, 0, err
		}
		w.Judges = slices.DeleteFunc(slices.Clone(judges), func(j string) bool { return slices.Contains(have, j) })
		return w, w.Position, nil
	})
}

// Rows implements store.Store.
func (s *Store) Rows(ctx context.Context, run agentbound.RunID, judge string) iter.Seq2[store.Row, error] {
	query := func(seq int64, after int) (*sql.Rows, error) {
		return s.stmts.rows.QueryContext(ctx, seq, after, judge, page)
	}
	return pages(ctx, s, run, query, func(rows *sql.Rows) (r store.Row, position int, err error) {
		var verdict sql.RawBytes
		if err := rows.Scan(&r.Position, &r.Key, &r.Family, &r.Archetype, &r.Split, &r.Repeat,
			&r.Usage.InputTokens, &r.Usage.OutputTokens, &r.Usage.USD, &r.Usage.CachedTokens, &r.Usage.ReusedTokens, &verdict); err != nil {
			return r, 0, err
		}
		if err := json.Unmarshal(verdict, &r.Verdict); err != nil {
			return r, 0, fmt.Errorf("trial %s: verdict of %s: %w", r.Key, judge, err)
		}
		return r, r.Position, nil
	})
}

// Progress implements store.Store.
func (s *Store) Progress(ctx context.Context, run agentbound.RunID, judge string) (p store.Progress, err error) {
	seq, planned, err := s.runSeq(ctx, run)
	if err != nil {
		return p, err
	}
	p.Planned = planned
	return p, s.explain(s.stmts.progress.QueryRowContext(ctx, seq, judge).Scan(&p.Stored, &p.Scored, &p.Unscored))
}

// Judges implements store.Store.
func (s *Store) Judges(ctx context.Context, run agentbound.RunID) ([]string, error) {
	seq, _, err := s.runSeq(ctx, run)
	if err != nil {
		return nil, err
	}
	rows, err := s.stmts.judges.QueryContext(ctx, seq)
	return collect(s, rows, err, func(rows *sql.Rows) (judge string, err error) {
		err = rows.Scan(&judge)
		return judge, err
	})
}

// Result implements store.Store. It reads in one transaction, so that trajectory
// and verdicts belong together even while an unscored trial is being replaced.
func (s *Store) Result(ctx context.Context, ref string) (r agentbound.Result, err error) {
	if ref == "" || len(ref) > trialDigits || !isHex(ref) {
		return r, &store.NotFoundError{What: "trial", Ref: ref}
	}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return r, s.explain(err)
	}
	defer tx.Rollback()

	type found struct {
		id int64
		agentbound.Trial
	}
	lo, hi := between(ref, trialDigits)
	rows, err := tx.StmtContext(ctx, s.stmts.trialLike).QueryContext(ctx, unhex(lo), unhex(hi), store.MaxCandidates+1)
	trials, err := collect(s, rows, err, func(rows *sql.Rows) (f found, err error) {
		return f, rows.Scan(&f.id, &f.Key, &f.Family, &f.Archetype, &f.Split, &f.Repeat)
	})
	switch {
	case err != nil:
		return r, err
	case len(trials) == 0:
		return r, &store.NotFoundError{What: "trial", Ref: ref}
	case len(trials) > 1:
		return r, ambiguous("trial", ref, trials, func(f found) string { return string(f.Key) })
	}

	r.Trial = trials[0].Trial
	var document []byte
	if err := tx.StmtContext(ctx, s.stmts.trajectory).QueryRowContext(ctx, trials[0].id).Scan(&document); err != nil {
		return agentbound.Result{}, s.explain(err)
	}
	if r.Trajectory, err = s.decodeTrajectory(document); err != nil {
		return agentbound.Result{}, fmt.Errorf("store %s: trial %s: trajectory: %w", s.path, r.Key, err)
	}
	rows, err = tx.StmtContext(ctx, s.stmts.verdicts).QueryContext(ctx, trials[0].id)
	if r.Verdicts, err = collect(s, rows, err, func(rows *sql.Rows) (v agentbound.Verdict, err error) {
		var text sql.RawBytes
		if err := rows.Scan(&text); err != nil {
			return v, err
		}
		err = json.Unmarshal(text, &v)
		return v, err
	}); err != nil {
		return agentbound.Result{}, fmt.Errorf("trial %s: verdicts: %w", r.Key, err)
	}
	return r, nil
}

// runSeq gives a run's number and the size of its membership.
func (s *Store) runSeq(ctx context.Context, run agentbound.RunID) (seq int64, trials int, err error) {
	switch err = s.stmts.runSeq.QueryRowContext(ctx, string(run)).Scan(&seq, &trials); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, 0, &store.NotFoundError{What: "run", Ref: string(run)}
	case err != nil:
		return 0, 0, s.explain(err)
	}
	return seq, trials, nil
}

// pages iterates over a run: query reads up to a page of the rows that follow a
// position, scan reads one of them and its position.
func pages[T any](ctx context.Context, s *Store, run agentbound.RunID, query func(seq int64, after int) (*sql.Rows, error),
	scan func(*sql.Rows) (T, int, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		seq, _, err := s.runSeq(ctx, run)
		if err != nil {
			yield(zero, err)
			return
		}
		for after := -1; ; {
			rows, err := query(seq, after)
			batch, err := collect(s, rows, err, func(rows *sql.Rows) (t T, err error) {
				t, after, err = scan(rows)
				return t, err
			})
			if err != nil {
				yield(zero, err)
				return
			}
			for _, t := range batch {
				if !yield(t, nil) {
					return
				}
			}
			if len(batch) < page {
				return
			}
		}
	}
}

// collect reads and closes the rows of a query.
func collect[T any](s *Store, rows *sql.Rows, err error, scan func(*sql.Rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, s.explain(err)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		t, err := scan(rows)
		if err != nil {
			return nil, s.explain(err)
		}
		out = append(out, t)
	}
	return out, s.explain(rows.Err())
}

func ambiguous[T any](what, ref string, found []T, id func(T) string) error {
	e := &store.AmbiguousError{What: what, Ref: ref, More: len(found) > store.MaxCandidates}
	for _, f := range found[:min(len(found), store.MaxCandidates)] {
		e.Candidates = append(e.Candidates, id(f))
	}
	return e
}

// distinct drops repetitions and keeps the order.
func distinct(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
