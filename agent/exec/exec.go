// Package exec has any program as a subject: one process a trial, spoken to in JSON
// lines on its standard input and output. docs/exec.md is the protocol for whoever
// writes such a program.
package exec

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/internal/process"
)

// Version is the version of the protocol. It changes where a program written for the
// old one would misread the new one; fields may be added without.
const Version = 1

// Prefix is how --agent names these agents.
const Prefix = "exec:"

// Options are how programs are started and held.
type Options struct {
	Env   []string      // names of environment variables that a program gets beside the usual ones, such as its key
	Dir   string        // what relative paths of the command start from; empty: the working directory
	Line  int           // bytes of one line from the program; 0: 4 MiB
	Grace time.Duration // how long a program may take to leave after its last message; 0: 2 s
}

func (o Options) withDefaults() Options {
	if o.Line == 0 {
		o.Line = 4 << 20
	}
	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}
	return o
}

// Agent starts its program once a trial.
type Agent struct {
	command string
	program process.Program
	opts    Options
}

var _ agent.Agent = (*Agent)(nil)

// New gives the agent for a command line, which is split as a shell would split it
// (see process.Split) and run without one. It is an error for the program or a listed
// variable not to be there.
func New(command string, o Options) (*Agent, error) {
	o = o.withDefaults()
	p, err := process.Find(command, process.Options{Prefix: Prefix, Env: o.Env, Dir: o.Dir})
	if err != nil {
		return nil, err
	}
	return &Agent{command: command, program: p, opts: o}, nil
}

// Ref implements agent.Agent. Its settings are what decides how the program behaves,
// as far as we can know: the names of the variables it gets, and a digest of the
// files that the command names, so that an edited program is another agent and the
// trials of the old one are not taken for its own.
func (a *Agent) Ref() agentbound.AgentRef {
	settings := map[string]string{}
	if len(a.opts.Env) > 0 {
		settings["env"] = strings.Join(a.opts.Env, ",")
	}
	if files := a.program.Digest(); files != "" {
		settings["files"] = string(files)
	}
	if a.opts.Line != (Options{}).withDefaults().Line {
		settings["line"] = strconv.Itoa(a.opts.Line)
	}
	ref := agentbound.AgentRef{Name: Prefix + a.command, Kind: "exec", Version: strconv.Itoa(Version)}
	if len(settings) > 0 {
		ref.Settings = settings
	}
	return ref
}
