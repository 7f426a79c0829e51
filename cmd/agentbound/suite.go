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
	"github.com/agentbound/agentbound/suites"
)

func newSuite(io stdio) *cobra.Command {
	cmd := &cobra.Command{Use: "suite", Short: "List, show, write, build, prove, audit, screen and read families"}
	cmd.AddCommand(newSuiteList(io), newSuiteShow(io), newSuiteNew(io), newSuiteImport(io), newSuiteBuild(io), newSuiteCheck(io),
		newSuiteAudit(io), newSuiteScreen(io), newSuiteReading(io), newSuiteSchema(io))
	return cmd
}

// loadSuite takes the name of a built-in suite or the path of a suite or family.
func loadSuite(name string) (*suite.Suite, error) {
	if slices.Contains(suites.Names(), name) {
		return suites.Load(name)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, usage("no suite %q: it is neither built in (%s) nor a folder or packed suite here", name, strings.Join(suites.Names(), ", "))
	case info.Mode().IsRegular():
		return unpackSuite(name, info.Size())
	case !info.IsDir():
		return nil, usage("suite %q is neither a folder nor a packed suite; accepted: one of them, or the name of a built-in suite (%s)", name, strings.Join(suites.Names(), ", "))
	}
	s, err := suite.Open(name)
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	return s, nil
}

// maxPackedFile bounds a packed suite, in bytes: it may not unfold to more either.
const maxPackedFile = 64 << 20

// unpackSuite reads a suite that suite build packed.
func unpackSuite(file string, size int64) (*suite.Suite, error) {
	if size > maxPackedFile {
		return nil, usage("suite %q has %d bytes; accepted: a packed suite of at most %d MiB", file, size, maxPackedFile>>20)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	s, err := suite.Unpack(b)
	if err != nil {
		return nil, coded{exitUsage, fmt.Errorf("suite %s: %w", suite.Visible(file), err)}
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
	fmt.Fprintf(out, "suite %s, %d families, digest %.12s\n\n", suite.Visible(s.Name), len(s.Families), s.Digest)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAMILY\tCLASS\tEVIDENCE\tFACTS\tPATH\tSURFACE\tDISGUISE\tDEPTH\tTOOLKITS")
	for _, r := range s.List() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\n", r.ID, r.Class, r.Evidence, suite.Visible(strings.Join(r.Facts, " ")), r.Path,
			r.Level.Surface, r.Level.Disguise, r.Level.Depth, strings.Join(r.Toolkits, " "))
	}
	return w.Flush()
}

func newSuiteShow(io stdio) *cobra.Command {
	var in, format string
	cmd := &cobra.Command{
		Use: "show FAMILY|FOLDER", Short: "Show a family: its siblings, facts, predicates and paths", Args: cobra.ExactArgs(1),
		Long:    "Show a family: its siblings, facts, predicates and paths.\n\nThis is for makers and readers of suites. Never show it to a subject.",
		Example: "  agentbound suite show transfer-under-agreement --suite examples\n  agentbound suite show my-family --suite ./my-suite\n  agentbound suite show ./my-suite/families/my-family",
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
	cmd.Flags().StringVar(&in, "suite", suites.Default, "built-in suite, folder or packed file")
	addFormat(cmd, &format)
	return cmd
}

// familyArg is the family of an id in a suite, or the one at a folder where no suite
// is named.
func familyArg(name, in string, named bool) (*agentbound.Family, error) {
	if !named && (holdsFamily(name) || strings.HasPrefix(name, ".") || strings.ContainsAny(name, "/"+string(filepath.Separator))) {
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

// holdsFamily reports whether a folder is that of a family or an archetype.
func holdsFamily(name string) bool {
	for _, file := range []string{"family.yaml", "archetype.yaml"} {
		if _, err := os.Stat(filepath.Join(name, file)); err == nil {
			return true
		}
	}
	return false
}

// lines gives a text that others wrote line by line, each safe to show on a terminal and
// behind an indent from the second on.
func lines(s, indent string) string {
	rows := strings.Split(s, "\n")
	for i := range rows {
		rows[i] = suite.Visible(rows[i])
	}
	return strings.Join(rows, "\n"+indent)
}

func showFamily(w io.Writer, f *agentbound.Family) {
	fmt.Fprintf(w, "%s: %s\n%s/%s, evidence %s, surface %d, disguise %d, depth %d, digest %.12s\n", f.ID, suite.Visible(f.Theme),
		f.Category, f.Class, f.Boundary.Evidence, f.Level.Surface, f.Level.Disguise, f.Level.Depth, f.Digest)
	fmt.Fprintf(w, "\nsetting\n  %s\n", lines(f.Tasks[0].Setting, "  "))
	for _, t := range f.Tasks {
		fmt.Fprintf(w, "\n%s (%s)\n  %s\n", t.Split, t.Split.Side(), lines(t.Instruction, "  "))
	}
	fmt.Fprintf(w, "\nfacts (%s), critical call %s\n", suite.Visible(strings.Join(f.Boundary.Kinds, ", ")), suite.Visible(f.Boundary.Critical))
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		facts := f.Boundary.Facts(side)
		for _, a := range facts.Set {
			fmt.Fprintf(w, "  %s: %s = %s\n", side, suite.Visible(a.Path), suite.Visible(a.Value.String()))
		}
		if facts.Event != nil {
			for _, a := range facts.Event.Set {
				fmt.Fprintf(w, "  %s, once %s: %s = %s\n", side, suite.Visible(facts.Event.Once), suite.Visible(a.Path), suite.Visible(a.Value.String()))
			}
		}
	}
	for _, set := range []struct {
		name string
		of   []agentbound.Criterion
	}{{"completion", f.Completion}, {"handled", f.Handled}, {"forbidden", f.Forbidden}} {
		fmt.Fprintf(w, "\n%s\n", set.name)
		for _, c := range set.of {
			fmt.Fprintf(w, "  %s\n", suite.Visible(c.Text))
		}
	}
	for _, path := range []struct {
		name  string
		calls []agentbound.Call
	}{{"evidence", f.Boundary.Calls}, {"workflow", f.Reference.Workflow}, {"containment", f.Reference.Containment}, {"mutations (deliberate errors)", f.Reference.Mutations}} {
		fmt.Fprintf(w, "\n%s\n", path.name)
		for _, c := range path.calls {
			fmt.Fprintf(w, "  %s\n", suite.Visible(star.FormatCall(c)))
		}
	}
}

func newSuiteNew(io stdio) *cobra.Command {
	var dir, category, class string
	var archetype bool
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Write the skeleton of a family or an archetype, complete and correct", Args: cobra.ExactArgs(1),
		Example: "  agentbound suite new refund-without-receipt --category fraud\n  agentbound suite check refund-without-receipt\n  agentbound suite new refunds --archetype --category fraud",
		RunE: func(_ *cobra.Command, args []string) error {
			if !archetype {
				folder, err := suite.New(dir, agentbound.FamilyID(args[0]), agentbound.Category(category), agentbound.Class(class))
				return written(io.out, folder, err)
			}
			folder, err := suite.NewArchetype(dir, agentbound.ArchetypeID(args[0]), agentbound.Category(category), agentbound.Class(class))
			return written(io.out, folder, err)
		},
	}
	cmd.Flags().BoolVar(&archetype, "archetype", false, "an archetype, the source of several families")
	cmd.Flags().StringVar(&dir, "dir", ".", "folder to put it in")
	cmd.Flags().StringVar(&category, "category", "fraud", "risk category")
	cmd.Flags().StringVar(&class, "class", "", "class of the category; empty: its first")
	return cmd
}

// written tells where a skeleton was put.
func written(out io.Writer, folder string, err error) error {
	if err != nil {
		return coded{exitUsage, err}
	}
	_, err = fmt.Fprintln(out, folder)
	return err
}

func newSuiteSchema(io stdio) *cobra.Command {
	var archetype bool
	cmd := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of a family or an archetype, format 1", Args: cobra.NoArgs,
		Example: "  agentbound suite schema > family-1.schema.json\n  agentbound suite schema --archetype > archetype-1.schema.json",
		RunE: func(*cobra.Command, []string) error {
			schema := suite.Schema()
			if archetype {
				schema = suite.ArchetypeSchema()
			}
			_, err := io.out.Write(schema)
			return err
		},
	}
	cmd.Flags().BoolVar(&archetype, "archetype", false, "the schema of an archetype.yaml")
	return cmd
}
