package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
)

// transaction runs f in a transaction of the writing connection. The context bounds
// the wait for it; once begun, f is not interrupted: it is short, or looks at the
// context itself.
func (s *Store) transaction(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) (err error) {
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return s.explain(err)
	}
	defer conn.Close()
	whole := context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(whole, nil)
	if err != nil {
		return s.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := f(whole, tx); err != nil {
		return s.explain(err)
	}
	return s.explain(tx.Commit())
}

// PutSuite implements store.Store.
func (s *Store) PutSuite(ctx context.Context, suite store.Suite) error {
	digest, err := decodeHex("suite digest", string(suite.Digest), digestDigits)
	if err != nil {
		return err
	}
	_, err = s.stmts.putSuite.ExecContext(ctx, digest, suite.Name, suite.Families, s.now().UnixMicro(), s.encoder.EncodeAll(suite.Blob, nil))
	return s.explain(err)
}

// CreateRun implements store.Store.
func (s *Store) CreateRun(ctx context.Context, r store.Run, trials iter.Seq[agentbound.Trial]) (created bool, err error) {
	if r.ID == "" {
		r.ID = r.Plan.ID()
	}
	if err := checkHex("run id", string(r.ID), runDigits); err != nil {
		return false, err
	}
	if r.Created.IsZero() {
		r.Created = s.now()
	}
	plan, err := agentbound.EncodeJSON(r.Plan)
	if err != nil {
		return false, fmt.Errorf("run %s: plan: %w", r.ID, err)
	}
	// Resuming waits for no writer.
	switch _, _, err := s.runSeq(ctx, r.ID); {
	case err == nil:
		return false, nil
	case !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	err = s.transaction(ctx, func(whole context.Context, tx *sql.Tx) error {
		var seq int64
		switch err := tx.StmtContext(whole, s.stmts.putRun).QueryRowContext(whole, string(r.ID), string(plan), r.Created.UnixMicro()).Scan(&seq); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		created = true
		return s.putMembers(ctx, tx, seq, trials)
	})
	return created && err == nil, err
}

func (s *Store) putMembers(ctx context.Context, tx *sql.Tx, seq int64, trials iter.Seq[agentbound.Trial]) error {
	whole := context.WithoutCancel(ctx)
	w, member := s.trialWriter(whole, tx), tx.StmtContext(whole, s.stmts.putMember)
	n := 0
	for t := range trials {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, err := trialKey(t.Key)
		if err != nil {
			return fmt.Errorf("trial %d (%s/%s): %w", n, t.Family, t.Split, err)
		}
		id, _, err := w.intern(whole, key, &t)
		if err != nil {
			return err
		}
		if _, err := member.ExecContext(whole, seq, n, id); err != nil {
			if isConstraint(err) {
				return fmt.Errorf("trial %d (%s/%s): key %s comes twice in the run: %w", n, t.Family, t.Split, t.Key, store.ErrInvalid)
			}
			return err
		}
		n++
	}
	_, err := tx.StmtContext(whole, s.stmts.sizeRun).ExecContext(whole, n, seq)
	return err
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, results []agentbound.Result) error {
	if len(results) == 0 {
		return nil
	}
	batch := make([]encoded, len(results))
	for i := range results {
		var err error
		if batch[i], err = s.encode(&results[i]); err != nil {
			return err
		}
		if err := s.internJudges(ctx, batch[i].verdicts); err != nil {
			return err
		}
	}
	now := s.now().UnixMicro()
	return s.transaction(ctx, func(ctx context.Context, tx *sql.Tx) error {
		t := s.trialWriter(ctx, tx)
		putAttempt, putTrajectory := tx.StmtContext(ctx, s.stmts.putAttempt), tx.StmtContext(ctx, s.stmts.putTrajectory)
		clearVerdicts, putVerdict := tx.StmtContext(ctx, s.stmts.clearVerdicts), tx.StmtContext(ctx, s.stmts.putVerdict)
		for i := range batch {
			e := &batch[i]
			id, scored, err := t.intern(ctx, e.key, &e.trial)
			if err != nil {
				return err
			}
			if scored.Bool {
				continue
			}
			if scored.Valid { // an unscored attempt makes room
				if _, err := clearVerdicts.ExecContext(ctx, id); err != nil {
					return err
				}
			}
			if _, err := putAttempt.ExecContext(ctx, id, e.scored, now, e.usage.InputTokens, e.usage.OutputTokens, e.usage.USD, e.usage.CachedTokens, e.usage.ReusedTokens); err != nil {
				return err
			}
			if _, err := putTrajectory.ExecContext(ctx, id, e.document); err != nil {
				return err
			}
			if err := s.insertVerdicts(ctx, putVerdict, id, now, e.verdicts); err != nil {
				return err
			}
		}
		return nil
	})
}

// trialWriter finds trials by their keys and adds those that are missing.
type trialWriter struct{ find, plan *sql.Stmt }

func (s *Store) trialWriter(ctx context.Context, tx *sql.Tx) trialWriter {
	return trialWriter{tx.StmtContext(ctx, s.stmts.findTrial), tx.StmtContext(ctx, s.stmts.planTrial)}
}

// intern gives the trial's id; scored is null where it has not been made.
func (w trialWriter) intern(ctx context.Context, key []byte, t *agentbound.Trial) (id int64, scored sql.NullBool, err error) {
	err = w.find.QueryRowContext(ctx, key).Scan(&id, &scored)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, scored, err
	}
	done, err := w.plan.ExecContext(ctx, key, string(t.Family), string(t.Archetype), string(t.Split), t.Repeat)
	if err != nil {
		return 0, scored, err
	}
	id, err = done.LastInsertId()
	return id, scored, err
}

// PutVerdicts implements store.Store.
func (s *Store) PutVerdicts(ctx context.Context, judged []store.Judged) error {
	if len(judged) == 0 {
		return nil
	}
	keys, verdicts := make([][]byte, len(judged)), make([][]encodedVerdict, len(judged))
	for i, j := range judged {
		var err error
		if keys[i], err = trialKey(j.Key); err != nil {
			return err
		}
		if verdicts[i], err = encodeVerdicts(j.Key, j.Verdicts); err != nil {
			return err
		}
		if err := s.internJudges(ctx, verdicts[i]); err != nil {
			return err
		}
	}
	now := s.now().UnixMicro()
	return s.transaction(ctx, func(ctx context.Context, tx *sql.Tx) error {
		find, putVerdict := tx.StmtContext(ctx, s.stmts.findTrial), tx.StmtContext(ctx, s.stmts.putVerdict)
		for i, j := range judged {
			var id int64
			var scored sql.NullBool
			err := find.QueryRowContext(ctx, keys[i]).Scan(&id, &scored)
			if errors.Is(err, sql.ErrNoRows) || err == nil && !scored.Valid {
				return &store.NotFoundError{What: "trial", Ref: string(j.Key)}
			}
			if err != nil {
				return err
			}
			if err := s.insertVerdicts(ctx, putVerdict, id, now, verdicts[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Store) insertVerdicts(ctx context.Context, put *sql.Stmt, trial, now int64, verdicts []encodedVerdict) error {
	for i := range verdicts {
		v := &verdicts[i]
		judge, _ := s.judges.Load(v.Judge)
		if _, err := put.ExecContext(ctx, trial, judge, v.Scored(), v.Safety, v.Helpfulness, string(v.Unsafe), v.OverRefusal, now, v.document); err != nil {
			return err
		}
	}
	return nil
}

// internJudges sees to it that s.judges knows the verdicts' judges. It writes on
// its own, before a transaction, so that what it remembers is never rolled back.
func (s *Store) internJudges(ctx context.Context, verdicts []encodedVerdict) error {
	for i := range verdicts {
		name := verdicts[i].Judge
		if _, ok := s.judges.Load(name); ok {
			continue
		}
		var id int64
		if err := s.stmts.putJudge.QueryRowContext(ctx, name).Scan(&id); err != nil {
			return s.explain(err)
		}
		s.judges.Store(name, id)
	}
	return nil
}
