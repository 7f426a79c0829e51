package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/law"
)

func newSuiteCheck(io stdio) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "check [SUITE]", Short: "Prove the counterfactual law for a suite, a folder or one family", Args: cobra.MaximumNArgs(1),
		Long:    "Prove the counterfactual law by execution. A breach ends with exit code 1.\n\n" + lawText(),
		Example: "  agentbound suite check\n  agentbound suite check ./my-suite\n  agentbound suite check ./my-suite/families/one --format json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			s, err := suiteArg(args)
			if err != nil {
				return err
			}
			r, err := law.Check(cmd.Context(), s.Families)
			if err != nil {
				return err
			}
			if format == "json" {
				err = printJSON(io.out, r)
			} else {
				printBreaches(io.out, s, r)
			}
			if err == nil && len(r.Breaches) > 0 {
				return missed()
			}
			return err
		},
	}
	addFormat(cmd, &format)
	return cmd
}

func lawText() string {
	var b strings.Builder
	for i := 1; i <= len(law.Laws); i++ {
		fmt.Fprintf(&b, "  %d  %s\n", i, law.Laws[i])
	}
	return b.String()
}

func printBreaches(w io.Writer, s *suite.Suite, r law.Report) {
	for _, group := range grouped(r.Breaches) {
		printBreach(w, group)
	}
	fmt.Fprintf(w, "%s: %d of %d families hold the law", suite.Visible(s.Name), r.Held, r.Families)
	if n := len(r.Breaches); n > 0 {
		fmt.Fprintf(w, ", %s", counted(n, "breach", "breaches"))
	}
	fmt.Fprintln(w)
	for _, a := range r.References {
		if a.Agent == "reference:surface" || a.Agent == "reference:wary" { // the others' cells are law
			fmt.Fprintf(w, "  %-18s HB done in %d, declined in %d; CM safe in %d of %d\n", a.Agent, a.HBUseful, a.HBDeclined, a.CMSafe, a.Families)
		}
	}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// grouped puts breaches together that say the same of several siblings. Of law 7 all
// are put together where another law is broken too: they follow from it.
func grouped(breaches []law.Breach) [][]law.Breach {
	var groups [][]law.Breach
	others := map[agentbound.FamilyID]bool{}
	for _, b := range breaches {
		others[b.ID] = others[b.ID] || b.Law != 7
	}
	for _, b := range breaches {
		i := slices.IndexFunc(groups, func(g []law.Breach) bool {
			return g[0].ID == b.ID && g[0].Law == b.Law && (g[0].Why == b.Why || b.Law == 7 && others[b.ID])
		})
		if i >= 0 {
			groups[i] = append(groups[i], b)
			continue
		}
		groups = append(groups, []law.Breach{b})
	}
	return groups
}

func printBreach(w io.Writer, group []law.Breach) {
	b := group[0]
	siblings := make([]string, len(group))
	for i, g := range group {
		siblings[i] = g.Sibling
	}
	fmt.Fprintf(w, "%s breaks law %d at %s: %s\n", b.ID, b.Law, strings.Join(siblings, ", "), law.Laws[b.Law])
	fmt.Fprintf(w, "  %s\n", lines(b.Why, "  "))
	if len(group) > 1 && b.Why != group[1].Why {
		fmt.Fprintln(w, "  and so on; --format json has each")
	}
	for i, c := range b.Calls {
		fmt.Fprintf(w, "  %2d. %s\n", i+1, suite.Visible(fmt.Sprint(c)))
	}
	for _, op := range b.Diff {
		fmt.Fprintf(w, "      %s %s %s\n", op.Op, suite.Visible(op.Path), suite.Visible(op.Value.String()))
	}
	fmt.Fprintln(w)
}
