package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
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

func demo(ctx context.Context, std stdio, path string) (err error) {
	s, err := loadSuite(suites.Default)
	if err != nil {
		return err
	}
	r := request{Suite: suites.Default, Inter: []string{agentbound.Bare}, Where: worldRequest{World: "program"}, Judge: "program", Splits: []string{"all"}}
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
	ids := stdio{in: std.in, out: io.Discard, err: std.err} // the table is the result, ids are not
	if err := runAll(ctx, ids, db, s, all, bounds{}); err != nil {
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
	fmt.Fprintln(std.out)
	if err := rep.Write(std.out, report.Table, report.WriteOptions{Color: colour(std.out)}); err != nil {
		return err
	}
	where, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	folder := filepath.Join(filepath.Dir(where), "agentbound-report")
	page, err := demoPage(ctx, db, rep, folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "\nThe page with figures, failures and trials is %s; the figures are beside it.\n", page)
	fmt.Fprintf(std.out, "The store is %s. Go on with:\n  %[2]s report --store %[1]s --format json\n  %[2]s suite show %[3]s\n", where, called(), s.Families[0].ID)
	return nil
}

// demoPage writes page and figures into a folder.
func demoPage(ctx context.Context, db store.Store, rep *report.Report, folder string) (page string, err error) {
	if _, err := rep.WriteFigures(folder); err != nil {
		return "", err
	}
	page = filepath.Join(folder, "report.html")
	return page, report.WriteFile(page, func(w io.Writer) error { return rep.WriteHTML(ctx, w, db, report.PageOptions{}) })
}
