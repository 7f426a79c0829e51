package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// building is what suite build is asked for.
type building struct {
	out, folder, compare, name, format string
	draw                               int
}

// built is the JSON of suite build.
type built struct {
	Version    int                 `json:"version"`
	Suite      agentbound.SuiteRef `json:"suite"`
	Archetypes []builtArchetype    `json:"archetypes"`
	Out        string              `json:"out,omitempty"`
	Bytes      int                 `json:"bytes,omitempty"`
	Folder     string              `json:"folder,omitempty"`
	Same       *bool               `json:"same,omitempty"` // with --compare
}

type builtArchetype struct {
	ID       agentbound.ArchetypeID `json:"id"`
	Class    agentbound.Class       `json:"class"`
	Families int                    `json:"families"`
}

func newSuiteBuild(io stdio) *cobra.Command {
	var b building
	cmd := &cobra.Command{
		Use: "build SOURCE", Short: "Expand a suite's archetypes, and write its families packed or as files", Args: cobra.ExactArgs(1),
		Long: "Expand the archetypes of a suite, in the order HS, CM, EB, HB, together with its hand-written families.\n" +
			"The same sources give the same digest everywhere. --out writes one packed file, which every verb takes\n" +
			"for a suite; --folder writes each family as a family.yaml with its toolkits, for reading.",
		Example: "  agentbound suite build ./my-suite\n  agentbound suite build ./my-suite --out my.suite\n" +
			"  agentbound suite build ./my-suite --draw 100 --name my-small --out small.suite\n  agentbound suite build ./my-suite --compare my.suite",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkFormat(b.format, "table", "json"); err != nil {
				return err
			}
			return b.run(io.out, args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&b.out, "out", "", "write the suite to this file, packed")
	f.StringVar(&b.folder, "folder", "", "write the families into this new folder, as files")
	f.StringVar(&b.compare, "compare", "", "say whether this packed suite or folder has the same digest; exit 1 where not")
	f.IntVar(&b.draw, "draw", 0, "draw this many families, stratified by class and archetype; needs --name")
	f.StringVar(&b.name, "name", "", "name of the drawn suite")
	addFormat(cmd, &b.format)
	return cmd
}

func (b building) run(out io.Writer, source string) error {
	s, err := b.build(source)
	if err != nil {
		return err
	}
	r := built{Version: 1, Suite: s.Ref(), Archetypes: archetypesOf(s), Out: b.out, Folder: b.folder}
	if b.compare != "" { // before --out may replace what is compared
		other, err := loadSuite(b.compare)
		if err != nil {
			return err
		}
		same := other.Digest == s.Digest
		r.Same = &same
	}
	if b.out != "" {
		if r.Bytes, err = pack(s, b.out); err != nil {
			return err
		}
	}
	if b.folder != "" {
		if err := s.Write(b.folder); err != nil {
			return coded{exitUsage, err}
		}
	}
	if b.format == "json" {
		err = printJSON(out, r)
	} else {
		err = printBuilt(out, r, b.compare)
	}
	if err == nil && r.Same != nil && !*r.Same {
		return missed()
	}
	return err
}

func (b building) build(source string) (*suite.Suite, error) {
	if (b.draw > 0) != (b.name != "") {
		return nil, usage("--draw and --name go together: the drawn suite needs a name of its own")
	}
	s, err := loadSuite(source)
	if err != nil || b.draw == 0 {
		return s, err
	}
	drawn, err := s.Draw(b.name, b.draw)
	if err != nil {
		return nil, usage("%w", err)
	}
	return drawn, nil
}

// pack writes the suite beside the file and renames it, so that a reader never sees half.
func pack(s *suite.Suite, file string) (int, error) {
	if err := replaceable(file); err != nil {
		return 0, err
	}
	b, err := s.Pack()
	if err != nil {
		return 0, coded{exitUsage, err}
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".suite-*")
	if err != nil {
		return 0, usage("--out %q cannot be written: %w; name a file in a folder that is there and that you may write", file, err)
	}
	_, err = f.Write(b)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Chmod(f.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error is the one to tell
		return 0, fmt.Errorf("--out %q: %w", file, err)
	}
	return len(b), nil
}

// replaceable refuses a place where something stands that is no packed suite: the
// source of one, say, or a folder.
func replaceable(file string) error {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usage("--out %q cannot be written: %w; name another file", file, err)
	case !info.Mode().IsRegular():
		return usage("--out %q is there and no file; name a new file, or a packed suite to replace", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return usage("--out %q cannot be read: %w; name a new file", file, err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	head, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return usage("--out %q cannot be read: %w; name a new file", file, err)
	}
	if !suite.Packed(head) {
		return usage("--out %q is there and no packed suite; name a new file, or remove it first", file)
	}
	return nil
}

func archetypesOf(s *suite.Suite) []builtArchetype {
	var out []builtArchetype
	at := map[agentbound.ArchetypeID]int{}
	for _, f := range s.Families {
		i, seen := at[f.Archetype]
		if !seen {
			i, at[f.Archetype] = len(out), len(out)
			out = append(out, builtArchetype{ID: f.Archetype, Class: f.Class})
		}
		out[i].Families++
	}
	return out
}

func printBuilt(out io.Writer, r built, compared string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ARCHETYPE\tCLASS\tFAMILIES")
	for _, a := range r.Archetypes {
		fmt.Fprintf(w, "%s\t%s\t%d\n", a.ID, a.Class, a.Families)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nsuite %s: %d families of %d archetypes, digest %s\n", suite.Visible(r.Suite.Name), r.Suite.Families, len(r.Archetypes), r.Suite.Digest)
	if r.Out != "" {
		fmt.Fprintf(out, "packed: %s, %d bytes\n", suite.Visible(r.Out), r.Bytes)
	}
	if r.Folder != "" {
		fmt.Fprintf(out, "families: %s\n", suite.Visible(r.Folder))
	}
	if r.Same != nil && *r.Same {
		fmt.Fprintf(out, "%s has the same digest\n", suite.Visible(compared))
	}
	if r.Same != nil && !*r.Same {
		fmt.Fprintf(out, "%s has another digest: it was built from other sources\n", suite.Visible(compared))
	}
	return nil
}
