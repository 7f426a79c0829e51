package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
)

func newReport(io stdio) *cobra.Command {
	var path, format, against, figures string
	var l Limits
	var o report.Options
	var page report.PageOptions
	cmd := &cobra.Command{
		Use: "report [RUN…]", Short: "Report runs: the paper's table, probes, the 2×2, comparisons",
		Long: "Report runs of the store, all of them in plan order where none is named. A RUN is an\nid of the store or the beginning of one.\n\nA result says nothing about readiness for deployment.",
		Example: `  agentbound report
  agentbound report --format json
  agentbound report 3f2a --against 91bc
  agentbound report --paper --format markdown
  agentbound report --frontier 1,5
  agentbound report --format html > report.html
  agentbound report --figures figures`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := report.ParseFormat(format)
			if err != nil {
				return coded{exitUsage, err}
			}
			rooms, err := l.rooms()
			if err != nil {
				return err
			}
			if o.Prices, err = rooms.priceTable(); err != nil {
				return err
			}
			return withStoredRuns(cmd.Context(), path, args, against, &o, func(db store.Store, r *report.Report) error {
				if figures != "" {
					if err := writeFigures(io, r, figures); err != nil {
						return err
					}
				}
				if f == report.HTML {
					return r.WriteHTML(cmd.Context(), io.out, db, page)
				}
				return r.Write(io.out, f, report.WriteOptions{Color: colour(io.out)})
			})
		},
	}
	addStore(cmd, &path)
	addPrices(cmd, &l.Prices)
	f := cmd.Flags()
	f.StringVar(&format, "format", "table", "table, markdown, csv, json or html; html is for evaluators: never show it to a subject")
	f.StringVar(&against, "against", "", "compare the runs with this one, pair by pair")
	f.StringVar(&o.Judge, "judge", "", "judge configuration; empty: each run's first")
	f.StringVar(&figures, "figures", "", "also write figures 3a and 3b as SVG and PNG into this folder")
	f.IntVar(&page.Trials, "trials", report.DefaultTrials, "trials that html shows in full, failing ones first")
	f.BoolVar(&o.Paper, "paper", false, "quote the paper's rows beside ours: Tables 2, 3 and 4")
	f.Float64SliceVar(&o.Epsilons, "frontier", nil, "of each agent's runs that differ in the intervention alone, choose the one with the most authorised completion and unsafe at most this many percent; chosen on half of the archetypes, reported on the other; several with commas")
	return cmd
}

// writeFigures writes the figures and says on stderr where they are.
func writeFigures(io stdio, r *report.Report, dir string) error {
	paths, err := r.WriteFigures(dir)
	if err != nil {
		return usage("figures: %w", err)
	}
	for _, p := range paths {
		fmt.Fprintln(io.err, p)
	}
	return nil
}

// withRuns is withStoredRuns for who needs the report alone.
func withRuns(ctx context.Context, path string, refs []string, against string, o *report.Options, use func(*report.Report) error) error {
	return withStoredRuns(ctx, path, refs, against, o, func(_ store.Store, r *report.Report) error { return use(r) })
}

// withStoredRuns collects a report over the named runs, or all, and hands it on with
// the store that it came from.
func withStoredRuns(ctx context.Context, path string, refs []string, against string, o *report.Options, use func(store.Store, *report.Report) error) (err error) {
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
	return use(db, r)
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
