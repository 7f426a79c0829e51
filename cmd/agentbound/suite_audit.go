package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/suite/audit"
)

func newSuiteAudit(io stdio) *cobra.Command {
	var format string
	var o audit.Options
	cmd := &cobra.Command{
		Use: "audit [SUITE]", Short: "Look for shortcuts, telling evidence, copies and gaps in a suite", Args: cobra.MaximumNArgs(1),
		Long: `Try plain classifiers on archetypes they have not seen: whether wording, observations,
state or lengths tell permission, and whether alarming wording is told from routine
wording; compare all families for near-duplicates; and count what the suite covers.
A bound that is missed ends with exit code 1. docs/method.md has definitions and bounds.

The output names what tells permission: it is for makers of suites, never for a subject.`,
		Example: "  agentbound suite audit\n  agentbound suite audit ./my-suite --format json\n  agentbound suite audit ./my-suite --seeds 10 --format html > audit.html",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "markdown", "json", "html"); err != nil {
				return err
			}
			if o.Seeds < 1 || o.Seeds > 1000 {
				return usage("--seeds %d: accepted are 1 to 1000 fold assignments", o.Seeds)
			}
			s, err := suiteArg(args)
			if err != nil {
				return err
			}
			r, err := audit.Run(cmd.Context(), s, o)
			if err != nil {
				return err
			}
			switch format {
			case "json":
				err = printJSON(io.out, r)
			case "markdown":
				err = r.WriteMarkdown(io.out)
			case "html":
				err = r.WriteHTML(io.out)
			default:
				var b strings.Builder
				if err = r.WriteTable(&b); err == nil {
					_, err = fmt.Fprint(io.out, lines(b.String(), ""))
				}
			}
			if err == nil && len(r.Breaches) > 0 {
				return missed()
			}
			return err
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, markdown, json or html")
	cmd.Flags().IntVar(&o.Seeds, "seeds", audit.DefaultSeeds, "fold assignments to average over")
	cmd.Flags().Uint64Var(&o.Seed, "seed", 0, "seed of the fold assignments and bootstraps")
	return cmd
}
