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
)

func newRun(io stdio) *cobra.Command {
	var r request
	var k keeping
	var path, plan string
	var dry, fresh bool
	var concurrency int
	cmd := &cobra.Command{
		Use: "run --agent AGENT", Short: "Run agents on a suite, or go on with what is left of a run", Args: cobra.NoArgs,
		Long: `Run agents on a suite and judge them. Run ids go to stdout, one a line.

The same command on the same store is the same run: it resumes, or says that it is
complete. --new makes another run of the same plan.`,
		Example: `  agentbound run --agent reference:evidence
  agentbound run --agent reference:surface --agent reference:wary --families 'fraud' --splits hb,cm
  agentbound run --plan table2.yaml --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if plan != "" {
				if err := r.fromFile(cmd, plan); err != nil {
					return err
				}
			}
			s, err := loadSuite(r.Suite)
			if err != nil {
				return err
			}
			kept, err := k.open(io, dry)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, kept.close()) }()
			rooms := newRooms()
			rooms.keep = kept
			all, err := r.resolve(rooms, s)
			if err == nil {
				err = kept.admits(all)
			}
			if err != nil {
				return err
			}
			if dry {
				return describe(io, s, all)
			}
			db, err := openStore(cmd.Context(), storePath(path), false)
			if err != nil {
				return err
			}
			if fresh {
				err = renew(cmd.Context(), db, all)
			}
			if err == nil {
				err = runAll(cmd.Context(), io, db, s, all, concurrency, kept)
			}
			return errors.Join(err, db.Close())
		},
	}
	addRequest(cmd, &r)
	f := cmd.Flags()
	addStore(cmd, &path)
	addRecording(cmd, &k)
	addCache(cmd, &k)
	f.StringVar(&plan, "plan", "", "YAML file with the request; flags that are given outrank it")
	f.BoolVar(&dry, "dry-run", false, "print the runs and their worst-case cost, and run nothing")
	f.BoolVar(&fresh, "new", false, "another run of the same plan")
	f.IntVar(&concurrency, "concurrency", 0, "trials at a time; 0: one a core")
	return cmd
}

func addStore(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "store", "", "store file (default ./"+defaultStore+", or $"+storeEnv+")")
}

// runAll carries out runs one after the other. Unscored trials end with exit code 1
// after all runs are done.
func runAll(ctx context.Context, io stdio, db store.Store, s *suite.Suite, all []resolved, concurrency int, kept *keep) error {
	unscored := 0
	for _, r := range all {
		if err := kept.run(r.plan); err != nil {
			return err
		}
		p := newProgress(io.err, r.plan.Agent.Name+describeIntervention(r))
		done, err := run.Execute(ctx, run.Config{
			Bench: run.Bench{Agent: r.agent, World: r.world, Judges: r.judges, Intervention: r.intervention, Limits: r.plan.Limits, ModelTime: kept.taped()},
			Suite: s, Plan: r.plan, Store: db, Concurrency: concurrency, Observe: p.observe, Stored: kept.stored(), More: kept.more(),
		})
		p.finish(done, err)
		if err != nil {
			return err
		}
		fmt.Fprintln(io.out, r.plan.ID())
		left, err := unscoredIn(ctx, db, r.plan)
		if err != nil {
			return err
		}
		unscored += left
	}
	if unscored > 0 {
		return coded{exitMissed, fmt.Errorf("%d trials are unscored: the same command tries them again; see: agentbound report", unscored)}
	}
	return nil
}

// unscoredIn counts in the store, since another command may have made part of the run
// meanwhile: the trials that the judge who left the most has not scored.
func unscoredIn(ctx context.Context, db store.Store, p agentbound.Plan) (int, error) {
	most := 0
	for _, judge := range p.Judges {
		stored, err := db.Progress(ctx, p.ID(), judge)
		if err != nil {
			return 0, err
		}
		most = max(most, stored.Planned-stored.Scored)
	}
	return most, nil
}

func describeIntervention(r resolved) string {
	if r.plan.Intervention.Name == "bare" {
		return ""
	}
	return " + " + r.plan.Intervention.Name
}
