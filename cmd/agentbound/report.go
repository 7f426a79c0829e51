package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
)

func newReport(io stdio) *cobra.Command {
	var path, format, against string
	var o report.Options
	cmd := &cobra.Command{
		Use: "report [RUN…]", Short: "Report runs: the paper's table, probes, the 2×2, comparisons",
		Long: "Report runs of the store, all of them in plan order where none is named. A RUN is an\nid of the store or the beginning of one.\n\nA result says nothing about readiness for deployment.",
		Example: `  agentbound report
  agentbound report --format json
  agentbound report 3f2a --against 91bc
  agentbound report --paper --format markdown`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := report.ParseFormat(format)
			if err != nil {
				return coded{exitUsage, err}
			}
			return withRuns(cmd.Context(), path, args, against, &o, func(r *report.Report) error {
				return r.Write(io.out, f, report.WriteOptions{Color: colour(io.out)})
			})
		},
	}
	addStore(cmd, &path)
	f := cmd.Flags()
	f.StringVar(&format, "format", "table", "table, markdown, csv or json")
	f.StringVar(&against, "against", "", "compare the runs with this one, pair by pair")
	f.StringVar(&o.Judge, "judge", "", "judge configuration; empty: each run's first")
	f.BoolVar(&o.Paper, "paper", false, "quote the paper's rows beside ours")
	return cmd
}

// withRuns collects a report over the named runs, or all, and hands it on.
func withRuns(ctx context.Context, path string, refs []string, against string, o *report.Options, use func(*report.Report) error) (err error) {
	db, err := openStore(ctx, storePath(path), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	runs, err := findRuns(ctx, db, refs)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return usage("the store %s holds no run yet; make one: agentbound run --agent reference:evidence", storePath(path))
	}
	if against != "" {
		base, err := findRun(ctx, db, against)
		if err != nil {
			return err
		}
		o.Against, o.SkipIncomparable = &base, len(refs) == 0
	}
	r, err := report.Collect(ctx, db, runs, *o)
	var incomparable *report.IncomparableError
	var request *report.RequestError
	if errors.As(err, &incomparable) || errors.As(err, &request) {
		return coded{exitUsage, err}
	}
	if err != nil {
		return err
	}
	return use(r)
}

func findRuns(ctx context.Context, db store.Store, refs []string) ([]store.Run, error) {
	if len(refs) == 0 {
		return db.Runs(ctx)
	}
	runs := make([]store.Run, len(refs))
	for i, ref := range refs {
		var err error
		if runs[i], err = findRun(ctx, db, ref); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

func findRun(ctx context.Context, db store.Store, ref string) (store.Run, error) {
	r, err := db.Run(ctx, ref)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) {
		return r, coded{exitUsage, err}
	}
	return r, err
}
