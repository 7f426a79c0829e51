package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/suite"
)

func newJudge(io stdio) *cobra.Command {
	var path, spec string
	cmd := &cobra.Command{
		Use: "judge RUN", Short: "Judge stored trajectories again; nothing is re-run", Args: cobra.ExactArgs(1),
		Long:    "Judge the stored trajectories of a run again. Verdicts of a judge configuration that has\nnone yet are added; those that are there are compared, and a different one ends with\nexit code 1 and is left as it was.",
		Example: "  agentbound judge 3f2a\n  agentbound judge 3f2a --judge program",
		RunE: func(cmd *cobra.Command, args []string) error {
			judges, err := newRooms().judges(spec)
			if err != nil {
				return err
			}
			db, err := openStore(cmd.Context(), storePath(path), true)
			if err != nil {
				return err
			}
			return errors.Join(rejudge(cmd.Context(), io, db, args[0], judges), db.Close())
		},
	}
	addStore(cmd, &path)
	cmd.Flags().StringVar(&spec, "judge", "program", "judge: program")
	return cmd
}

// storedRun is a run of the store with its suite.
func storedRun(ctx context.Context, db store.Store, ref string) (store.Run, *suite.Suite, error) {
	r, err := findRun(ctx, db, ref)
	if err != nil {
		return r, nil, err
	}
	kept, err := db.Suite(ctx, r.Plan.Suite.Digest)
	if err != nil {
		return r, nil, err
	}
	s, err := suite.Decode(kept.Blob)
	return r, s, err
}

func rejudge(ctx context.Context, io stdio, db store.Store, ref string, judges []judge.Judge) error {
	r, s, err := storedRun(ctx, db, ref)
	if err != nil {
		return err
	}
	var added, equal, different int
	for t := range run.Trials(s, r.Plan) {
		res, err := db.Result(ctx, string(t.Key))
		if errors.Is(err, store.ErrNotFound) { // not made yet
			continue
		}
		if err != nil {
			return err
		}
		f, task, err := stood(s, t)
		if err != nil {
			return err
		}
		verdicts, err := run.Judge(ctx, judges, f, task, res.Trajectory)
		if err != nil {
			return err
		}
		for _, v := range verdicts {
			switch old := find(res.Verdicts, v.Judge); {
			case old == nil:
				added++
			case agentbound.DigestJSON(*old) == agentbound.DigestJSON(v):
				equal++
			default:
				different++
				fmt.Fprintf(io.out, "%s %s: the stored verdict of %s is another\n", t.Key, task.ID, v.Judge)
			}
		}
		if err := db.PutVerdicts(ctx, []store.Judged{{Key: t.Key, Verdicts: verdicts}}); err != nil {
			return err
		}
	}
	fmt.Fprintf(io.out, "%s: %d verdicts added, %d equal to the stored ones, %d different\n", r.ID, added, equal, different)
	if different > 0 {
		return missed()
	}
	return nil
}

// stood is the family and task that a trial stood on.
func stood(s *suite.Suite, t agentbound.Trial) (*agentbound.Family, *agentbound.Task, error) {
	f, ok := s.Family(t.Family)
	if !ok {
		return nil, nil, fmt.Errorf("the stored suite %s has no family %s", s.Name, t.Family)
	}
	task, ok := f.Task(t.Split)
	if !ok {
		return nil, nil, fmt.Errorf("family %s has no task %s", f.ID, t.Split)
	}
	return f, task, nil
}

func find(verdicts []agentbound.Verdict, config string) *agentbound.Verdict {
	for i := range verdicts {
		if verdicts[i].Judge == config {
			return &verdicts[i]
		}
	}
	return nil
}
