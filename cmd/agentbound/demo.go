package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/suites"
)

func newDemo(io stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "demo", Short: "The main job on what is built in: no key, no network, no configuration", Args: cobra.NoArgs,
		Long:    "Run the reference agents on the built-in suite, judge them by program and print the\ntable. Nothing is needed and nothing leaves this machine.",
		Example: "  agentbound demo\n  agentbound demo --store /tmp/demo.db",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), io, storePath(path))
		},
	}
	addStore(cmd, &path)
	return cmd
}

func demo(ctx context.Context, io stdio, path string) (err error) {
	s, err := loadSuite(suites.Default)
	if err != nil {
		return err
	}
	r := request{Suite: suites.Default, Inter: []string{agentbound.Bare}, World: "program", Judge: "program", Splits: []string{"all"}}
	for _, name := range reference.Names() {
		r.Agents = append(r.Agents, "reference:"+name)
	}
	all, err := r.resolve(newRooms(), s)
	if err != nil {
		return err
	}
	db, err := openStore(ctx, path, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ids := stdio{in: io.in, out: io.err, err: io.err} // the table is the result, ids are not
	if err := runAll(ctx, ids, db, s, all, 0); err != nil {
		return err
	}
	refs := make([]string, len(all))
	for i, r := range all {
		refs[i] = string(r.plan.ID())
	}
	runs, err := findRuns(ctx, db, refs)
	if err != nil {
		return err
	}
	rep, err := report.Collect(ctx, db, runs, report.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintln(io.out)
	if err := rep.Write(io.out, report.Table, report.WriteOptions{Color: colour(io.out)}); err != nil {
		return err
	}
	where, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "\nThe store is %s. Go on with:\n  agentbound report --store %[1]s --format json\n  agentbound suite show %s\n", where, s.Families[0].ID)
	return nil
}
