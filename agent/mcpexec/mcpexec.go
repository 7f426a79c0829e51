// Package mcpexec has any program that is an MCP client as a subject: one process a
// trial, which finds the task's tools on an MCP server that is there for this trial
// alone, and says at the end of its standard output how it ended. docs/mcp.md is for
// whoever writes such a program.
package mcpexec

import (
	"strings"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/internal/process"
)

// Version changes where a program written for the old way would be misled by the new
// one: what it is told, where it finds the server, how its outcome is read.
const Version = "1"

// Prefix is how --agent names these agents.
const Prefix = "mcp-exec:"

// Options are how programs are started and held.
type Options struct {
	Env   []string      // names of environment variables that a program gets beside the usual ones, such as its key
	Dir   string        // what relative paths of the command start from; empty: the working directory
	Grace time.Duration // how long a program may take to leave when its steps are used up; 0: 2 s
}

// Agent starts its program once a trial.
type Agent struct {
	command string
	program process.Program
	opts    Options
}

var _ agent.Agent = (*Agent)(nil)

// New gives the agent for a command line, which is split as a shell would split it (see
// process.Split) and run without one. It is an error for the program or a listed
// variable not to be there.
func New(command string, o Options) (*Agent, error) {
	if o.Grace == 0 {
		o.Grace = 2 * time.Second
	}
	p, err := process.Find(command, process.Options{Prefix: Prefix, Env: o.Env, Dir: o.Dir})
	if err != nil {
		return nil, err
	}
	return &Agent{command: command, program: p, opts: o}, nil
}

// Ref implements agent.Agent. Its settings are those of exec agents: the names of the
// variables that the program gets, and a digest of the files that the command names.
func (a *Agent) Ref() agentbound.AgentRef {
	settings := map[string]string{}
	if len(a.opts.Env) > 0 {
		settings["env"] = strings.Join(a.opts.Env, ",")
	}
	if files := a.program.Digest(); files != "" {
		settings["files"] = string(files)
	}
	ref := agentbound.AgentRef{Name: Prefix + a.command, Kind: "mcp-exec", Version: Version}
	if len(settings) > 0 {
		ref.Settings = settings
	}
	return ref
}
