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
	"github.com/agentbound/agentbound/world/fault"
)

func newReplay(io stdio) *cobra.Command {
	var path string
	var show bool
	cmd := &cobra.Command{
		Use: "replay RUN|TRIAL", Short: "Prove stored trajectories: their calls, made again, give the same bytes", Args: cobra.ExactArgs(1),
		Long:    "Make the calls of a stored trial, or of all trials of a run, again in a fresh world of the\nsame suite, and compare observations, state differences and events byte for byte. A\ndifference ends with exit code 1. --show prints the trial to be read (never to a subject).",
		Example: "  agentbound replay 3f2a\n  agentbound replay 5d0c9e --show",
		RunE: func(cmd *cobra.Command, args []string) error {
			db, err := openStore(cmd.Context(), storePath(path), true)
			if err != nil {
				return err
			}
			return errors.Join(replay(cmd.Context(), io, db, newRooms(), args[0], show), db.Close())
		},
	}
	addStore(cmd, &path)
	cmd.Flags().BoolVar(&show, "show", false, "print the trial: Thoughts, calls, answers, changes, verdicts")
	return cmd
}

func replay(ctx context.Context, io stdio, db store.Store, rooms rooms, ref string, show bool) error {
	r, s, err := storedRun(ctx, db, ref)
	if errors.Is(err, store.ErrNotFound) {
		return replayTrial(ctx, io, db, rooms, ref, show)
	}
	if err != nil {
		return err
	}
	if show {
		return usage("%s is a run; --show takes one trial: the keys of examples stand in agentbound report", r.ID)
	}
	worlds, err := rooms.world(r.Plan.World)
	if err != nil {
		return err
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
	fmt.Fprintf(io.out, "%s: %d trajectories %s, %d %s, %d are not there yet\n", r.ID, same, proofs(worlds).hold, different, proofs(worlds).fail, absent)
	if different > 0 {
		return missed()
	}
	return nil
}

// proof is what a proof of stored trajectories says in a world: those of one that a model
// plays cannot be made again without it.
type proof struct{ hold, holds, fail string }

func proofs(w world.Factory) proof {
	inner := w
	if f, ok := w.(fault.Worlds); ok {
		inner = f.Factory
	}
	if _, ok := inner.(world.Recorded); ok {
		return proof{"keep the rules of their world (its model is not asked again)", "keeps the rules of its world (its model is not asked again)", "break them"}
	}
	return proof{"give the same bytes", "gives the same bytes", "differ"}
}

// replayTrial looks for the trial's family in the suites of the store's runs.
func replayTrial(ctx context.Context, io stdio, db store.Store, rooms rooms, ref string, show bool) error {
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
		worlds, err := rooms.world(r.Plan.World)
		if err != nil {
			return err
		}
		ok, err = proved(ctx, io, worlds, s, r.Plan, res)
		if err != nil {
			return err
		}
		if !ok {
			return missed()
		}
		fmt.Fprintf(io.out, "%s: the trajectory %s\n", res.Key, proofs(worlds).holds)
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
