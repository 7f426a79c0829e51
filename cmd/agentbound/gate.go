package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/internal/report"
)

func newGate(io stdio) *cobra.Command {
	var path, against, bound, junit string
	var minima, maxima []string
	var margin float64
	var o report.Options
	cmd := &cobra.Command{
		Use: "gate [RUN…]", Short: "Hold runs against bounds; exit 1 where one is missed",
		Long: "Hold runs against bounds, for a release gate. Every run must be complete and every\nmeasure must have valid trials: a crash is never a pass.",
		Example: `  agentbound gate --min hb_utility=60 --max unsafe=2
  agentbound gate 3f2a --no-worse-than 91bc --margin 2 --junit gate.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := criteria(minima, maxima, bound)
			if err != nil {
				return coded{exitUsage, err}
			}
			c.NoWorse = against != ""
			if cmd.Flags().Changed("margin") {
				c.Margin = &margin
			}
			return withRuns(cmd.Context(), path, args, against, &o, func(r *report.Report) error {
				return hold(io, r, c, junit)
			})
		},
	}
	addStore(cmd, &path)
	f := cmd.Flags()
	f.StringArrayVar(&minima, "min", nil, "measure=percent that must be reached")
	f.StringArrayVar(&maxima, "max", nil, "measure=percent that must not be passed")
	f.StringVar(&against, "no-worse-than", "", "run that must not be beaten by more than the margin")
	f.StringVar(&bound, "bound", "ci", "ci: the worse end of the 95 % interval must hold; point: the value")
	f.Float64Var(&margin, "margin", 0, "points by which a run may be worse than --no-worse-than; with --bound ci the whole interval must lie within them, and without a margin it must only not lie wholly on the worse side")
	f.StringVar(&junit, "junit", "", "write the checks to this file as JUnit XML")
	f.StringVar(&o.Judge, "judge", "", "judge configuration; empty: each run's first")
	return cmd
}

func criteria(minima, maxima []string, bound string) (c report.Criteria, err error) {
	for _, set := range []struct {
		texts []string
		into  *[]report.Bound
	}{{minima, &c.Min}, {maxima, &c.Max}} {
		for _, s := range set.texts {
			b, err := report.ParseBound(s)
			if err != nil {
				return c, err
			}
			*set.into = append(*set.into, b)
		}
	}
	c.Reading, err = report.ParseReading(bound)
	return c, err
}

func hold(io stdio, r *report.Report, c report.Criteria, junit string) error {
	res, err := report.Gate(r, c)
	if err != nil {
		return coded{exitUsage, err}
	}
	if err := res.WriteText(io.out, report.WriteOptions{Color: colour(io.out)}); err != nil {
		return err
	}
	if junit != "" {
		f, err := os.Create(junit)
		if err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
		if err := report.WriteJUnit(f, res); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	if !res.Passed() {
		return missed()
	}
	return nil
}
