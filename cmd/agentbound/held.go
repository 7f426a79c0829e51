package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/internal/confine"
)

// How agent programs are held, and how many at a time.

const confinementFlag = "require-confinement"

func addConfinement(cmd *cobra.Command, level *string) {
	cmd.Flags().StringVar(level, confinementFlag, "", "least level at which programs are held that play as agents: process, user or full; what cannot be held so is refused (docs/confinement.md)")
}

// require refuses what cannot be had here. With tries false only the name is checked.
func (r *rooms) require(level string, tries bool) error {
	if level == "" {
		return nil
	}
	r.least = confine.Level(level)
	if err := r.least.Validate(); err != nil {
		return usage("--%s: %w", confinementFlag, err)
	}
	if !tries {
		return nil
	}
	if err := confine.Require(r.least); err != nil {
		return usage("--%s: %w", confinementFlag, err)
	}
	return nil
}

// unheld refuses a program that nothing confines, where a level is required.
func (r rooms) unheld(spec string) error {
	if r.least == "" {
		return nil
	}
	return usage("agent %q is a program that is not confined, and --%s %s is given; leave the one or the other out", spec, confinementFlag, r.least)
}

// about says in a few words what a level means to a program.
var about = map[confine.Level]string{
	confine.LevelProcess: "limits, and an environment of its own; files and network are open to it",
	confine.LevelUser:    "a user id that owns nothing, no privileges, few system calls; the network is open to it",
	confine.LevelFull:    "files, processes and network of its own: the model's proxy and the task's tools are all it can reach",
}

// tellHeld says at the start of a run how its program is held.
func tellHeld(w io.Writer, p harness.Program) error {
	level, err := confine.Best()
	if err != nil {
		return err
	}
	line := fmt.Sprintf("%s: held at level %s (%s)", p, level, about[level])
	for _, a := range confine.Available() {
		if !a.OK && a.Level.AtLeast(level) {
			line += fmt.Sprintf("; level %s cannot be had here: %s", a.Level, a.Why)
		}
	}
	fmt.Fprintln(w, plainLine(clipped(line)))
	return nil
}

// programIn is the agent program that plays a plan's trials.
func programIn(p agentbound.Plan) (harness.Program, bool) {
	if p.Agent.Kind != "harness" {
		return harness.Program{}, false
	}
	return programOf(p.Agent.Name)
}

// What of the free memory programs are not given: it is for ourselves, for what a model
// served here takes more than it has already, and for what was not foreseen.
const (
	reservedPart  = 8 // one part of so many
	reservedLeast = 256 << 20
)

// fitting is how many programs fit into the free memory, of those that were asked for
// (0: one a core), at least one; and a line where that are fewer.
func fitting(p harness.Program, asked int, free int64) (n int, line string) {
	if asked <= 0 {
		asked = runtime.GOMAXPROCS(0)
	}
	if p.Memory <= 0 || free <= 0 {
		return asked, ""
	}
	room := int((free - max(free/reservedPart, reservedLeast)) / p.Memory)
	if room >= asked {
		return asked, ""
	}
	n = max(room, 1)
	line = fmt.Sprintf("%s: %s at a time, not %d: each may need %s of memory, and %s are free", p, counted(n, "trial", "trials"), asked, mebibytes(p.Memory), mebibytes(free))
	if room < 1 {
		line += ", which may not be enough for one"
	}
	return n, line
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
