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
	var o forking
	cmd := &cobra.Command{
		Use: "replay RUN|TRIAL", Short: "Prove stored trajectories, or make their decisions anew with a Thought corrected", Args: cobra.ExactArgs(1),
		Long: `Make the calls of a stored trial, or of all trials of a run, again in a fresh world of the
same suite, and compare observations, state differences and events byte for byte. A
difference ends with exit code 1. --show prints the trial to be read (never to a subject).

With --fork a decision of a bare run is made anew: world and conversation are brought to
where they were, and the agent goes on from its Thought as it stood and from the Thought as
--intervene corrects it, --arms times each. What is estimated is the effect of this edit,
given this history, for this agent; it takes agents whose whole state is their history.
Samples are stored: the same command goes on, or shows the result, and pays for nothing
twice. See docs/forking.md.`,
		Example: `  agentbound replay 3f2a
  agentbound replay 5d0c9e --show
  agentbound replay 5d0c9e --fork 2 --intervene placebo --arms 8
  agentbound replay 3f2a --fork sample:100 --intervene placebo --format json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, show); err != nil {
				return err
			}
			db, err := openStore(cmd.Context(), storePath(path), true)
			if err != nil {
				return err
			}
			if o.at != "" {
				return errors.Join(o.forks(cmd.Context(), io, db, args[0], rooms.intervention), db.Close())
			}
			return errors.Join(replay(cmd.Context(), io, db, newRooms(), args[0], show), db.Close())
		},
	}
	addStore(cmd, &path)
	addFork(cmd, &o)
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

// replayTrial shows or proves one trial; it looks for the trial's family in the suites of the store's runs.
func replayTrial(ctx context.Context, io stdio, db store.Store, rooms rooms, ref string, show bool) error {
	res, err := storedTrial(ctx, db, ref)
	if err != nil {
		return err
	}
	if show {
		showTrial(io.out, res)
		if res.Trajectory.Fork != nil {
			return nil // its calls go on from another trial's, which is the one to prove
		}
	}
	r, s, err := runOf(ctx, db, res)
	if err != nil {
		return err
	}
	worlds, err := rooms.world(r.Plan.World)
	if err != nil {
		return err
	}
	ok, err := proved(ctx, io, worlds, s, r.Plan, res)
	if err != nil {
		return err
	}
	if !ok {
		return missed()
	}
	fmt.Fprintf(io.out, "%s: the trajectory %s\n", res.Key, proofs(worlds).holds)
	return nil
}

func storedTrial(ctx context.Context, db store.Store, ref string) (agentbound.Result, error) {
	res, err := db.Result(ctx, ref)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return res, usage("there is no run and no trial %q in the store", ref)
	case errors.Is(err, store.ErrAmbiguous):
		return res, coded{exitUsage, fmt.Errorf("%q begins no run, and no single trial: %w", ref, err)}
	}
	return res, err
}

// runOf is the run of the store that a trial belongs to, with its suite.
func runOf(ctx context.Context, db store.Store, res agentbound.Result) (store.Run, *suite.Suite, error) {
	if f := res.Trajectory.Fork; f != nil {
		return store.Run{}, nil, usage("trial %s is a fork (%s, sample %d) of trial %s at step %d: name that one, or read this one with --show", res.Key, f.Arm, f.Sample, f.Trial, f.Step)
	}
	runs, err := db.Runs(ctx)
	if err != nil {
		return store.Run{}, nil, err
	}
	for _, r := range runs {
		_, s, err := storedRun(ctx, db, string(r.ID))
		if err != nil {
			return r, nil, err
		}
		if f, ok := s.Family(res.Family); ok && r.Plan.Key(f.Digest, res.Split, res.Repeat) == res.Key {
			return r, s, nil
		}
	}
	return store.Run{}, nil, fmt.Errorf("trial %s belongs to no run of this store, so that its family is not known", res.Key)
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
