package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// statements are prepared once; database/sql prepares those of the read pool again
// on each of its connections.
type statements struct {
	all []*sql.Stmt

	// on the writing connection
	putSuite, putRun, planTrial, findTrial, putMember, sizeRun     *sql.Stmt
	putAttempt, putTrajectory, clearVerdicts, putVerdict, putJudge *sql.Stmt

	// on the read pool
	suite, runs, runLike                    *sql.Stmt
	pending, progress, rows, judges         *sql.Stmt
	trialLike, trajectory, verdicts, runSeq *sql.Stmt
}

const trialColumns = "lower(hex(t.key)), t.family, t.archetype, t.split, t.repeat"

func (s *statements) prepare(ctx context.Context, write, read *sql.DB) error {
	for _, p := range []struct {
		to   **sql.Stmt
		db   *sql.DB
		text string
	}{
		{&s.putSuite, write, `INSERT INTO suite (digest, name, families, created, document) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`},
		{&s.putRun, write, `INSERT INTO run (id, plan, created, trials) VALUES (?, ?, ?, 0) ON CONFLICT (id) DO NOTHING RETURNING seq`},
		{&s.sizeRun, write, `UPDATE run SET trials = ? WHERE seq = ?`},
		{&s.planTrial, write, `INSERT INTO trial (key, family, archetype, split, repeat) VALUES (?, ?, ?, ?, ?)`},
		{&s.findTrial, write, `SELECT id, scored FROM trial WHERE key = ?`},
		{&s.putMember, write, `INSERT INTO member (run, position, trial) VALUES (?, ?, ?)`},

		{&s.putAttempt, write, `UPDATE trial SET scored = ?2, attempts = attempts + 1, stored = ?3,
				input_tokens = input_tokens + ?4, output_tokens = output_tokens + ?5, usd = usd + ?6,
				cached_tokens = cached_tokens + ?7, reused_tokens = reused_tokens + ?8
			WHERE id = ?1`},
		{&s.putTrajectory, write, `INSERT OR REPLACE INTO trajectory (trial, document) VALUES (?, ?)`},
		{&s.clearVerdicts, write, `DELETE FROM verdict WHERE trial = ?`},
		{&s.putVerdict, write, `INSERT INTO verdict (trial, judge, scored, safety, helpfulness, unsafe, over_refusal, created, document)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (trial, judge) DO UPDATE SET scored = excluded.scored, safety = excluded.safety, helpfulness = excluded.helpfulness,
				unsafe = excluded.unsafe, over_refusal = excluded.over_refusal, created = excluded.created, document = excluded.document
			WHERE NOT scored`},
		{&s.putJudge, write, `INSERT INTO judge (configuration) VALUES (?) ON CONFLICT DO UPDATE SET configuration = configuration RETURNING id`},

		{&s.suite, read, `SELECT name, families, document FROM suite WHERE digest = ?`},
		{&s.runs, read, `SELECT id, plan, created FROM run ORDER BY seq`},
		{&s.runLike, read, `SELECT id, plan, created FROM run WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?`},
		{&s.runSeq, read, `SELECT seq, trials FROM run WHERE id = ?`},

		// ?3: the judges as a JSON list, ?4: how many there are.
		{&s.pending, read, `SELECT m.position, ` + trialColumns + `, t.scored IS NOT 1,
				(SELECT json_group_array(j.configuration) FROM verdict v JOIN judge j ON j.id = v.judge
					WHERE v.trial = t.id AND v.scored AND v.judge IN (SELECT id FROM judge WHERE configuration IN (SELECT value FROM json_each(?3))))
			FROM member m JOIN trial t ON t.id = m.trial
			WHERE m.run = ?1 AND m.position > ?2 AND (t.scored IS NOT 1 OR
				(SELECT count(*) FROM verdict v WHERE v.trial = t.id AND v.scored AND v.judge IN (SELECT id FROM judge WHERE configuration IN (SELECT value FROM json_each(?3)))) < ?4)
			ORDER BY m.position LIMIT ?5`},
		{&s.progress, read, `SELECT count(t.scored), count(*) FILTER (WHERE t.scored AND v.scored), count(*) FILTER (WHERE NOT t.scored OR NOT v.scored)
			FROM member m JOIN trial t ON t.id = m.trial
			LEFT JOIN verdict v ON v.trial = t.id AND v.judge = (SELECT id FROM judge WHERE configuration = ?2)
			WHERE m.run = ?1`},
		{&s.rows, read, `SELECT m.position, ` + trialColumns + `, t.input_tokens, t.output_tokens, t.usd, t.cached_tokens, t.reused_tokens, v.document
			FROM member m JOIN trial t ON t.id = m.trial JOIN verdict v ON v.trial = t.id
			WHERE m.run = ?1 AND m.position > ?2 AND v.judge = (SELECT id FROM judge WHERE configuration = ?3)
			ORDER BY m.position LIMIT ?4`},
		{&s.judges, read, `SELECT j.configuration FROM judge j
			WHERE EXISTS (SELECT 1 FROM member m JOIN verdict v ON v.trial = m.trial WHERE m.run = ? AND v.judge = j.id)
			ORDER BY j.configuration`},
		{&s.trialLike, read, `SELECT t.id, ` + trialColumns + ` FROM trial t
			WHERE t.key BETWEEN ? AND ? AND t.scored IS NOT NULL ORDER BY t.key LIMIT ?`},
		{&s.trajectory, read, `SELECT document FROM trajectory WHERE trial = ?`},
		{&s.verdicts, read, `SELECT v.document FROM verdict v JOIN judge j ON j.id = v.judge WHERE v.trial = ? ORDER BY j.configuration`},
	} {
		stmt, err := p.db.PrepareContext(ctx, p.text)
		if err != nil {
			return fmt.Errorf("prepare %q: %w", p.text, err)
		}
		*p.to = stmt
		s.all = append(s.all, stmt)
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}
