package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/world"
)

func newReplay(io stdio) *cobra.Command {
	var path string
	var show bool
	cmd := &cobra.Command{
		Use: "replay RUN|TRIAL", Short: "Prove stored trajectories: their calls, made again, give the same bytes", Args: cobra.ExactArgs(1),
		Long:    "Make the calls of a stored trial, or of all trials of a run, again in a fresh world of the\nsame suite, and compare observations, state differences and events byte for byte. A\ndifference ends with exit code 1. --show prints the trial to be read (never to a subject).",
		Example: "  agentbound replay 3f2a\n  agentbound replay 5d0c9e --show",
		RunE: func(cmd *cobra.Command, args []string) error {
			worlds, err := newRooms().world("program")
			if err != nil {
				return err
			}
			db, err := openStore(cmd.Context(), storePath(path), true)
			if err != nil {
				return err
			}
			return errors.Join(replay(cmd.Context(), io, db, worlds, args[0], show), db.Close())
		},
	}
	addStore(cmd, &path)
	cmd.Flags().BoolVar(&show, "show", false, "print the trial: Thoughts, calls, answers, changes, verdicts")
	return cmd
}

func replay(ctx context.Context, io stdio, db store.Store, worlds world.Factory, ref string, show bool) error {
	r, s, err := storedRun(ctx, db, ref)
	if errors.Is(err, store.ErrNotFound) {
		return replayTrial(ctx, io, db, worlds, ref, show)
	}
	if err != nil {
		return err
	}
	if show {
		return usage("%s is a run; --show takes one trial: the keys of examples stand in agentbound report", r.ID)
	}
	var same, different, absent int
	for t := range run.Trials(s, r.Plan) {
		res, err := db.Result(ctx, string(t.Key))
		switch {
		case errors.Is(err, store.ErrNotFound):
			absent++
			continue
		case err != nil:
			return err
		}
		ok, err := proved(ctx, io, worlds, s, r.Plan, res)
		if err != nil {
			return err
		}
		if ok {
			same++
		} else {
			different++
		}
	}
	fmt.Fprintf(io.out, "%s: %d trajectories give the same bytes, %d differ, %d are not there yet\n", r.ID, same, different, absent)
	if different > 0 {
		return missed()
	}
	return nil
}

// replayTrial looks for the trial's family in the suites of the store's runs.
func replayTrial(ctx context.Context, io stdio, db store.Store, worlds world.Factory, ref string, show bool) error {
	res, err := db.Result(ctx, ref)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) {
		return coded{exitUsage, fmt.Errorf("no run %q either: %w", ref, err)}
	}
	if err != nil {
		return err
	}
	if show {
		showTrial(io.out, res)
	}
	runs, err := db.Runs(ctx)
	if err != nil {
		return err
	}
	for _, r := range runs {
		_, s, err := storedRun(ctx, db, string(r.ID))
		if err != nil {
			return err
		}
		f, ok := s.Family(res.Family)
		if !ok || r.Plan.Key(f.Digest, res.Split, res.Repeat) != res.Key {
			continue
		}
		ok, err = proved(ctx, io, worlds, s, r.Plan, res)
		if err != nil {
			return err
		}
		if !ok {
			return missed()
		}
		fmt.Fprintf(io.out, "%s: the trajectory gives the same bytes\n", res.Key)
		return nil
	}
	return fmt.Errorf("trial %s belongs to no run of this store, so that its family is not known", res.Key)
}

// proved replays one trial and says where it differs.
func proved(ctx context.Context, io stdio, worlds world.Factory, s *suite.Suite, p agentbound.Plan, res agentbound.Result) (bool, error) {
	f, task, err := stood(s, res.Trial)
	if err != nil {
		return false, err
	}
	if err = run.SamePlan(p, res.Trial, res.Trajectory); err == nil {
		err = run.Replay(ctx, worlds, f, task, res.Trajectory)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(io.out, "%s %s: %v\n", res.Key, task.ID, err)
		return false, nil
	}
	return err == nil, err
}
