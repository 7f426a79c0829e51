package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/claudecode"
	"github.com/agentbound/agentbound/harness/codex"
	"github.com/agentbound/agentbound/harness/dsh"
	"github.com/agentbound/agentbound/harness/geminicli"
	"github.com/agentbound/agentbound/harness/install"
	"github.com/agentbound/agentbound/harness/openclaw"
	"github.com/agentbound/agentbound/harness/opencode"
	"github.com/agentbound/agentbound/harness/qwencode"
)

// programs are the agent programs that there are descriptions of.
func programs() []harness.Program {
	return []harness.Program{
		codex.Program(), openclaw.Program(), dsh.Program(), claudecode.Program(), geminicli.Program(), qwencode.Program(), opencode.Program(),
	}
}

// programOf finds the agent program that a specification or a name begins with.
func programOf(spec string) (harness.Program, bool) {
	name, _, _ := strings.Cut(spec, ":")
	all := programs()
	i := slices.IndexFunc(all, func(p harness.Program) bool { return p.Name == name })
	if i < 0 {
		return harness.Program{}, false
	}
	return all[i], true
}

func programNames() string {
	var names []string
	for _, p := range programs() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// programStore is the folder of installed programs.
func programStore() (install.Store, error) {
	dir, err := install.DefaultDir()
	return install.Store{Dir: dir}, err
}

// harnessRow is an agent program as `harness list --format json` lists it.
type harnessRow struct {
	Name      string `json:"name"`
	Title     string `json:"title"`
	Version   string `json:"version"`
	Package   string `json:"package"`
	Node      string `json:"node,omitempty"` // that it runs on; absent: native
	Protocol  string `json:"protocol"`
	Installed bool   `json:"installed"`
	Folder    string `json:"folder"`
	Why       string `json:"why,omitempty"` // it is not installed
}

func newHarness(io stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use: "harness", Short: "Install and list agent programs (Codex, OpenClaw, …)",
		Long: `Agent programs play trials as agents: --agent codex:MODEL. Each is installed once, into a
private folder, from a lock that holds the SHA-512 of every package: ` + install.DirEnv + `, or
agent-programs in $XDG_DATA_HOME. docs/harnesses.md says what each may do.`,
		Example: `  agentbound harness list
  agentbound harness install codex
  agentbound run --agent codex:gpt-5.5 --limit 1`,
	}
	cmd.AddCommand(newHarnessInstall(io), newHarnessList(io))
	return cmd
}

func newHarnessInstall(io stdio) *cobra.Command {
	return &cobra.Command{
		Use: "install NAME…", Short: "Install agent programs from their locks; what is there stays",
		Long: `Install agent programs with npm, in the versions of the built-in locks: npm takes the
packages from the registry that it is set to and checks each against its SHA-512; no
package's scripts are run. A program that runs on Node gets its own, from the same lock.

What is installed already is left alone. Several may install at once. An installation
that fails leaves nothing behind.`,
		Example: `  agentbound harness install codex
  AGENTBOUND_HARNESS=/srv/harness agentbound harness install codex openclaw`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			var chosen []harness.Program
			for _, name := range names {
				p, ok := programOf(name)
				if !ok || p.Name != name {
					return usage("agent program %q is not known; accepted: %s", name, programNames())
				}
				chosen = append(chosen, p)
			}
			store, err := programStore()
			if err != nil {
				return err
			}
			for _, p := range chosen {
				fmt.Fprintf(io.err, "installing %s into %s\n", p, store.Dir)
				done, err := store.Install(cmd.Context(), p)
				if err != nil {
					return err
				}
				state := "is installed already"
				if done {
					state = "is installed"
				}
				fmt.Fprintf(io.out, "%s %s\n", p, state)
			}
			return nil
		},
	}
}

func newHarnessList(io stdio) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "list", Short: "List agent programs, their versions and whether they are installed",
		Example: `  agentbound harness list --format json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			rows, err := harnessRows()
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(io.out, rows)
			}
			return printHarnesses(io.out, rows)
		},
	}
	addFormat(cmd, &format)
	return cmd
}

func harnessRows() ([]harnessRow, error) {
	store, err := programStore()
	if err != nil {
		return nil, err
	}
	var rows []harnessRow
	for _, p := range programs() {
		row := harnessRow{
			Name: p.Name, Title: p.Title, Version: p.Version(), Package: p.Install.Package, Node: p.NodeVersion(),
			Protocol: string(p.Protocol), Folder: store.Folder(p),
		}
		_, err := store.Find(p)
		if err != nil && !errors.Is(err, install.ErrMissing) {
			return nil, err
		}
		if row.Installed = err == nil; err != nil {
			row.Why = err.Error()
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func printHarnesses(out io.Writer, rows []harnessRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PROGRAM\tVERSION\tPACKAGE\tNODE\tPROTOCOL\tINSTALLED")
	for _, r := range rows {
		state := "no: agentbound harness install " + r.Name
		if r.Installed {
			state = r.Folder
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Version, r.Package, dash(r.Node), r.Protocol, state)
	}
	return w.Flush()
}
