// Command agentbound measures whether agents tell what looks dangerous from what is
// not permitted, and mends it. Each verb has a file of its own here; wire.go puts
// the rooms together and is the only place that does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/suite"
)

// gcPercent trades some memory, of which runs need little, for speed: trials make
// many small values that die young.
const gcPercent = 400

// memoryLimit is where the collector stops trading: beyond it works as hard as it must.
// GOMEMLIMIT outranks it.
const memoryLimit = 1 << 30

func main() {
	confine.Init() // where this process holds a confined program, it does nothing else
	debug.SetGCPercent(gcPercent)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// stdio is what a verb reads and writes: results on out, everything else on err.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// Exit codes (design §9).
const (
	exitDone   = 0
	exitMissed = 1 // a bound missed, a check breached, trials unscored
	exitUsage  = 2 // usage, or an invalid file
	exitFault  = 3 // infrastructure
)

// coded is an error with its exit code. An empty message prints nothing: the verb
// has said it already.
type coded struct {
	code int
	err  error
}

func (c coded) Error() string { return c.err.Error() }
func (c coded) Unwrap() error { return c.err }

func usage(format string, args ...any) error { return coded{exitUsage, fmt.Errorf(format, args...)} }

// missed ends a verb whose findings are on stdout with exit code 1.
func missed() error { return coded{exitMissed, errors.New("")} }

// results is stdout that remembers what could not be written: verbs print without
// asking, and a full disk must not look like success.
type results struct {
	io.Writer
	err error
}

func (r *results) Write(b []byte) (int, error) {
	n, err := r.Writer.Write(b)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// execute runs the command line and gives its exit code.
func execute(ctx context.Context, args []string, io stdio) int {
	out := &results{Writer: io.out}
	io.out = out
	root := newRoot(io)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("the results could not be written in full: %w", out.err)
	}
	if err == nil {
		return exitDone
	}
	code := codeOf(err)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("stopped; what was finished is stored: the same command goes on from there")
		code = exitFault
	}
	if msg := strings.TrimSpace(err.Error()); msg != "" {
		fmt.Fprintln(io.err, "agentbound: "+lines(msg, ""))
	}
	return code
}

func codeOf(err error) int {
	var c coded
	var problems suite.Problems
	switch {
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &problems):
		return exitUsage
	}
	return exitFault
}

func newRoot(io stdio) *cobra.Command {
	root := &cobra.Command{
		Use:   "agentbound",
		Short: "Measure whether agents tell what looks dangerous from what is not permitted",
		Long: `agentbound runs agents on families of four counterfactual siblings of one
executable task (harmful source, covert malicious, easy benign, hard benign) in a
simulated world, and judges the whole trajectory and the state it leaves.

A result says nothing about readiness for deployment.`,
		Example: `  agentbound demo                                   the main job, nothing needed
  agentbound run --agent reference:evidence         a run of one agent
  agentbound report                                 all runs of the store
  agentbound suite check ./my-suite                 prove the law for your families`,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetIn(io.in)
	root.SetOut(io.out)
	root.SetErr(io.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w\nsee: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newDemo(io), newRun(io), newReport(io), newGate(io), newJudge(io), newSuite(io), newGenerate(io), newAgents(io), newHarness(io), newReplay(io), newCache(io), newPlay(io), newMCP(io), newGateway(io), newVersion(io))
	strict(root)
	spell(root, called())
	return root
}

// called is how this program is called from here: by its name where that is found, else
// by the path that it was started with.
func called() string {
	const name = "agentbound"
	started := os.Args[0]
	if _, err := exec.LookPath(name); err == nil || strings.TrimSuffix(filepath.Base(started), ".exe") != name {
		return name
	}
	return started
}

// spell writes examples as they can be typed.
func spell(cmd *cobra.Command, name string) {
	lines := strings.Split(cmd.Example, "\n")
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "  agentbound "); ok {
			lines[i] = "  " + name + " " + rest
		}
	}
	cmd.Example = strings.Join(lines, "\n")
	for _, sub := range cmd.Commands() {
		spell(sub, name)
	}
}

// strict turns cobra's complaints about arguments and unknown verbs into usage
// errors.
func strict(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage("%w\nusage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usage("%s has no verb %q; see: %s --help", cmd.CommandPath(), args[0], cmd.CommandPath())
		}
	}
	for _, sub := range cmd.Commands() {
		strict(sub)
	}
}
