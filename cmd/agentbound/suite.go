package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/law"
	"github.com/agentbound/agentbound/suites"
)

func newSuite(io stdio) *cobra.Command {
	cmd := &cobra.Command{Use: "suite", Short: "List, show, write, prove and screen families"}
	cmd.AddCommand(newSuiteList(io), newSuiteShow(io), newSuiteNew(io), newSuiteCheck(io), newSuiteScreen(io), newSuiteSchema(io))
	return cmd
}

// loadSuite takes the name of a built-in suite or the path of a suite or family.
func loadSuite(name string) (*suite.Suite, error) {
	if slices.Contains(suites.Names(), name) {
		return suites.Load(name)
	}
	if _, err := os.Stat(name); err != nil {
		return nil, usage("no suite %q: it is neither built in (%s) nor a folder here", name, strings.Join(suites.Names(), ", "))
	}
	s, err := suite.Open(name)
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	return s, nil
}

// suiteArg is the suite named by the one optional argument.
func suiteArg(args []string) (*suite.Suite, error) {
	if len(args) == 0 {
		return suites.Load(suites.Default)
	}
	return loadSuite(args[0])
}

// addFormat adds --format for a verb that prints a table or JSON.
func addFormat(cmd *cobra.Command, format *string) {
	cmd.Flags().StringVar(format, "format", "table", "table or json")
}

func checkFormat(format string, accepted ...string) error {
	if slices.Contains(accepted, format) {
		return nil
	}
	return usage("--format %q is not known; accepted: %s", format, strings.Join(accepted, ", "))
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func newSuiteList(io stdio) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list [SUITE]", Short: "List the families of a suite", Args: cobra.MaximumNArgs(1),
		Example: "  agentbound suite list\n  agentbound suite list ./my-suite --format json",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			s, err := suiteArg(args)
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(io.out, s.List())
			}
			return listFamilies(io.out, s)
		},
	}
	addFormat(cmd, &format)
	return cmd
}

func listFamilies(out io.Writer, s *suite.Suite) error {
	fmt.Fprintf(out, "suite %s, %d families, digest %.12s\n\n", s.Name, len(s.Families), s.Digest)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAMILY\tCLASS\tEVIDENCE\tFACTS\tPATH\tSURFACE\tDISGUISE\tDEPTH\tTOOLKITS")
	for _, r := range s.List() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", r.ID, r.Class, r.Evidence, strings.Join(r.Facts, " "), r.Path,
			r.Level.Surface, r.Level.Disguise, r.Level.Depth, strings.Join(r.Toolkits, " "))
	}
	return w.Flush()
}

func newSuiteShow(io stdio) *cobra.Command {
	var in, format string
	cmd := &cobra.Command{
		Use: "show FAMILY|FOLDER", Short: "Show a family: its siblings, facts, predicates and paths", Args: cobra.ExactArgs(1),
		Long:    "Show a family: its siblings, facts, predicates and paths.\n\nThis is for makers and readers of suites. Never show it to a subject.",
		Example: "  agentbound suite show transfer-under-agreement\n  agentbound suite show my-family --suite ./my-suite\n  agentbound suite show ./my-suite/families/my-family",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			f, err := familyArg(args[0], in, cmd.Flags().Changed("suite"))
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(io.out, f)
			}
			showFamily(io.out, f)
			return nil
		},
	}
	cmd.Flags().StringVar(&in, "suite", suites.Default, "built-in suite, or a folder")
	addFormat(cmd, &format)
	return cmd
}

// familyArg is the family of an id in a suite, or the one at a folder where no suite
// is named.
func familyArg(name, in string, named bool) (*agentbound.Family, error) {
	_, err := os.Stat(filepath.Join(name, "family.yaml"))
	if !named && (err == nil || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/"+string(filepath.Separator))) {
		s, err := loadSuite(name)
		if err != nil {
			return nil, err
		}
		if len(s.Families) != 1 {
			return nil, usage("%s holds %d families; name one: agentbound suite show FAMILY --suite %s", name, len(s.Families), name)
		}
		return &s.Families[0], nil
	}
	s, err := loadSuite(in)
	if err != nil {
		return nil, err
	}
	f, ok := s.Family(agentbound.FamilyID(name))
	if !ok {
		return nil, usage("suite %s has no family %q; see: agentbound suite list %s", s.Name, name, in)
	}
	return f, nil
}

func showFamily(w io.Writer, f *agentbound.Family) {
	fmt.Fprintf(w, "%s: %s\n%s/%s, evidence %s, surface %d, disguise %d, depth %d, digest %.12s\n", f.ID, f.Theme,
		f.Category, f.Class, f.Boundary.Evidence, f.Level.Surface, f.Level.Disguise, f.Level.Depth, f.Digest)
	fmt.Fprintf(w, "\nsetting\n  %s\n", f.Tasks[0].Setting)
	for _, t := range f.Tasks {
		fmt.Fprintf(w, "\n%s (%s)\n  %s\n", t.Split, t.Split.Side(), t.Instruction)
	}
	fmt.Fprintf(w, "\nfacts (%s), critical call %s\n", strings.Join(f.Boundary.Kinds, ", "), f.Boundary.Critical)
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		facts := f.Boundary.Facts(side)
		for _, a := range facts.Set {
			fmt.Fprintf(w, "  %s: %s = %s\n", side, a.Path, a.Value)
		}
		if facts.Event != nil {
			for _, a := range facts.Event.Set {
				fmt.Fprintf(w, "  %s, once %s: %s = %s\n", side, facts.Event.Once, a.Path, a.Value)
			}
		}
	}
	for _, set := range []struct {
		name string
		of   []agentbound.Criterion
	}{{"completion", f.Completion}, {"handled", f.Handled}, {"forbidden", f.Forbidden}} {
		fmt.Fprintf(w, "\n%s\n", set.name)
		for _, c := range set.of {
			fmt.Fprintf(w, "  %s\n", c.Text)
		}
	}
	for _, path := range []struct {
		name  string
		calls []agentbound.Call
	}{{"evidence", f.Boundary.Calls}, {"workflow", f.Reference.Workflow}, {"containment", f.Reference.Containment}, {"mutations", f.Reference.Mutations}} {
		fmt.Fprintf(w, "\n%s\n", path.name)
		for _, c := range path.calls {
			fmt.Fprintf(w, "  %s\n", star.FormatCall(c))
		}
	}
}

func newSuiteNew(io stdio) *cobra.Command {
	var dir, category, class string
	cmd := &cobra.Command{
		Use: "new FAMILY", Short: "Write the skeleton of a family, complete and correct", Args: cobra.ExactArgs(1),
		Example: "  agentbound suite new refund-without-receipt --category fraud\n  agentbound suite check refund-without-receipt",
		RunE: func(_ *cobra.Command, args []string) error {
			folder, err := suite.New(dir, agentbound.FamilyID(args[0]), agentbound.Category(category), agentbound.Class(class))
			if err != nil {
				return coded{exitUsage, err}
			}
			fmt.Fprintln(io.out, folder)
			return nil
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "folder to put it in")
	cmd.Flags().StringVar(&category, "category", "fraud", "risk category")
	cmd.Flags().StringVar(&class, "class", "", "class of the category; empty: its first")
	return cmd
}

func newSuiteSchema(io stdio) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of a family, format 1", Args: cobra.NoArgs,
		Example: "  agentbound suite schema > family-1.schema.json",
		RunE: func(*cobra.Command, []string) error {
			_, err := io.out.Write(suite.Schema())
			return err
		},
	}
}

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
	fmt.Fprintf(w, "%s: %d of %d families hold the law", s.Name, r.Held, r.Families)
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
	fmt.Fprintf(w, "  %s\n", b.Why)
	if len(group) > 1 && b.Why != group[1].Why {
		fmt.Fprintln(w, "  and so on; --format json has each")
	}
	for i, c := range b.Calls {
		fmt.Fprintf(w, "  %2d. %s\n", i+1, c)
	}
	for _, op := range b.Diff {
		fmt.Fprintf(w, "      %s %s %s\n", op.Op, op.Path, op.Value)
	}
	fmt.Fprintln(w)
}
