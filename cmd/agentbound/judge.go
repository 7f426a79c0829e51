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
	var r request
	var path string
	var concurrency int
	cmd := &cobra.Command{
		Use: "judge RUN", Short: "Judge stored trajectories again; nothing is re-run", Args: cobra.ExactArgs(1),
		Long: `Judge the stored trajectories of a run again. Verdicts of a judge configuration that has
none yet are added; those that are there are compared, and a different one ends with
exit code 1 and is left as it was.

A rubric judge asks models, and its verdicts that are there are not paid for again: the
same command goes on where one was stopped. With --judge-model file:DIR it writes what it
would ask into DIR/prompts, one Markdown file a question; whoever answers puts
DIR/answers/<same name>.json (.md and .txt are taken too) beside it, and the same command
takes the answers in. While some are missing it says how many, and ends with exit code 1.`,
		Example: `  agentbound judge 3f2a
  agentbound judge 3f2a --judge rubric --judge-model compat:my-model@http://127.0.0.1:8000/v1
  agentbound judge 3f2a --judge rubric --judge-model file:round-1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			rooms, err := r.rooms()
			if err != nil {
				return err
			}
			ask, err := r.asking()
			if err != nil {
				return err
			}
			judges, err := rooms.judges(r.Judge, r.judging(ask.modelOptions))
			if err != nil {
				return err
			}
			db, err := openStore(cmd.Context(), storePath(path), true)
			if err != nil {
				return err
			}
			return errors.Join(rejudge(cmd.Context(), io, db, args[0], judges, bounds{concurrency: concurrency, spending: rooms.spending}), db.Close())
		},
	}
	addStore(cmd, &path)
	addJudge(cmd, &r)
	addLimits(cmd, &r.Limits)
	addCalls(cmd, &r)
	cmd.Flags().IntVar(&concurrency, "concurrency", 0, "trials at a time; 0: one a core, or 8 where models are asked")
	return cmd
}

// judgesAtOnce is how many trials are judged at a time where models are asked: they wait
// for the network, not for a core.
const judgesAtOnce = 8

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

// rejudge has the judges score what is stored, and says what came of it.
func rejudge(ctx context.Context, io stdio, db store.Store, ref string, judges []judge.Judge, b bounds) error {
	r, s, err := storedRun(ctx, db, ref)
	if err != nil {
		return err
	}
	asksModels := judgeModels(judges) != nil
	if asksModels && b.concurrency == 0 {
		b.concurrency = judgesAtOnce
	}
	if err := warnSameModel(io.err, b.spending, judges, r.Plan.Agent); err != nil {
		return err
	}
	p := newProgress(io.err, "judge "+string(r.ID))
	done, err := run.Rejudge(ctx, run.Rejudging{
		Suite: s, Plan: r.Plan, Store: db, Judges: judges, Concurrency: b.concurrency, Missing: asksModels, Halted: b.ended,
		Observe: func(d run.Rejudged) {
			p.observe(run.Progress{Planned: d.Planned, Made: d.Trials, Unscored: d.Unscored, Usage: d.Usage})
		},
		Different: func(t agentbound.Trial, config string) {
			fmt.Fprintf(io.out, "%s %s/%s: the stored verdict of %s is another\n", t.Key, t.Family, t.Split, config)
		},
	})
	p.close()
	for _, why := range done.Faults {
		fmt.Fprintf(io.err, "unscored: %s\n", plainLine(clipped(why)))
	}
	if err != nil && errors.Is(err, b.ended()) {
		return coded{exitMissed, fmt.Errorf("%w; the verdicts that were paid for are stored: the same command goes on with another --budget", err)}
	}
	if err != nil {
		return err
	}
	tellAwaited(io.err, judgeModels(judges)...)
	return tellRejudged(io, r.ID, done, asksModels)
}

func tellRejudged(io stdio, id agentbound.RunID, d run.Rejudged, asksModels bool) error {
	fmt.Fprintf(io.out, "%s: %d verdicts added, %d equal to the stored ones, %d different", id, d.Added, d.Equal, d.Different)
	switch {
	case asksModels:
		fmt.Fprintf(io.out, ", %d there already, %d unscored, %d awaiting answers", d.Found, d.Unscored, d.Awaited)
	case d.Unscored > 0:
		fmt.Fprintf(io.out, ", %d unscored", d.Unscored)
	}
	fmt.Fprintln(io.out)
	if d.Different+d.Unscored+d.Awaited > 0 {
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
