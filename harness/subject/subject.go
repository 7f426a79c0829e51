// Package subject makes agents of agent programs. A trial puts a proxy before the
// program's model and the task's tools behind an MCP server, runs the program, and
// gathers Thoughts from the one and calls from the other into the same trajectory as any
// other agent's. Where the two do not tell the same, the trial is unscored.
package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/harness"
)

// Version changes with the prompt, the reconciliation and every other rule here: it is
// part of trial keys.
const Version = "2"

// Turn is one whole turn of the model's, as it passed the proxy.
type Turn struct {
	Attempt   int       // 1: the answer to a request that was sent once more (see Ruling)
	Offered   []Offered // the tools of the request
	Thought   string    // the text of the answer
	Reasoning string    // what it showed of its reasoning, where it did
	Summary   bool      // Reasoning is a summary
	Calls     []Proposal
	Refused   bool   // by the provider: a refusal or a filter
	Refusal   string // its text, if any
	Cut       bool   // at the limit of length
	Usage     agentbound.Usage
}

// Ruling is what becomes of a turn; the zero value passes it on as it came.
type Ruling struct {
	// Again is a corrected Thought: the model is to go on from it, once, instead of what it
	// said. Its answer is told as Attempt 1. Nil: it is not asked again.
	Again *string
	// Text stands for the text of an answer of Attempt 1, in what the program reads. Nil:
	// the text stays.
	Text *string
}

// Offered is a tool that a request offers the model. A name in a namespace is
// NAMESPACE__NAME, here and in Proposal.
type Offered struct {
	Name   string
	Digest agentbound.Digest
}

// Proposal is a call that the model wants made. Args are as it wrote them.
type Proposal struct{ ID, Name, Args string }

// ProxyOptions are what stands between a program and its model.
type ProxyOptions struct {
	Protocol harness.Protocol
	Upstream string // base URL of the model endpoint; the program is told the same path at the proxy's address
	Key      string // put in the place of Dummy; empty: none is sent
	Dummy    string // what the program was given for a key
	// OnTurn rules on each turn before any of it reaches the program; OnRequest is told
	// each request that brings none.
	OnTurn    func(Turn) Ruling
	OnRequest func(Request)
}

// Request is a request that brought no turn.
type Request struct {
	Method, Path string
	What         string    // what for, or why there is no turn
	Status       int       // that the program was answered with; 0: the connection was closed
	Offered      []Offered // the tools of the request, where a turn was wanted
	Fault        error     // of the model's server, or of what is between; nil: neither
	Final        bool      // no further request is of use
}

// Call executes a call of the task's tools. ErrOver says that nothing more is taken, any
// other error is infrastructure; what the tool itself answers, a failure too (ok is
// false), is the observation.
type Call func(ctx context.Context, c agentbound.Call) (observation agentbound.Value, ok bool, err error)

// Parts are what a trial is put together from. They are functions so that this room
// needs none of those that it puts together.
type Parts struct {
	// Proxy is a recording proxy (internal/wire), for the trial that ctx is of.
	Proxy func(ctx context.Context, o ProxyOptions) (http.Handler, error)
	// Tools serves tools over MCP, streamable HTTP at /, on a listener until ctx ends, and
	// closes it (internal/mcpserve). Its error, also one that it gives at the end, is
	// infrastructure.
	Tools func(ctx context.Context, l net.Listener, tools []agentbound.Tool, call Call) error
	// Runner runs programs (internal/confine, or Bare).
	Runner Runner
}

// Options are which model a program is given, and where it is installed.
type Options struct {
	Model  string
	Base   string   // base URL of its endpoint; empty: the program's own
	Key    string   // of the endpoint; reaches the proxy only
	Effort string   // of reasoning; empty: the program's own
	Start  []string // how the installed program is started (install.Start)
	// ReadOnly are the folders that the program needs to read: where it is installed.
	ReadOnly []string
}

// Program is the program that the agent runs.
func (a *Agent) Program() harness.Program { return a.program }

// Agent is a program with its model. It implements agent.Agent.
type Agent struct {
	program harness.Program
	parts   Parts
	opts    Options
}

var _ agent.Agent = (*Agent)(nil)

// New makes an agent of an installed program.
func New(p harness.Program, parts Parts, o Options) (*Agent, error) {
	o.Base = cmp.Or(o.Base, p.Endpoint)
	switch {
	case parts.Proxy == nil || parts.Tools == nil || parts.Runner == nil:
		return nil, errors.New("subject: a proxy, a server of tools and a runner are needed")
	case o.Model == "" || o.Base == "":
		return nil, fmt.Errorf("%s needs a model and an endpoint: %s:MODEL@BASE_URL", p.Title, p.Name)
	case len(o.Start) == 0:
		return nil, fmt.Errorf("%s is not installed: agentbound harness install %s", p, p.Name)
	}
	// What a program cannot be set to is told now, and not by every trial.
	if _, err := p.Launch(harness.Trial{Start: o.Start, Model: o.Model, Effort: o.Effort}); err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	return &Agent{p, parts, o}, nil
}

// Ref implements agent.Agent: all that decides what the program does.
func (a *Agent) Ref() agentbound.AgentRef {
	name := a.program.Name + ":" + a.opts.Model
	if a.opts.Base != a.program.Endpoint {
		name += "@" + a.opts.Base
	}
	settings := map[string]string{
		"model": a.opts.Model, "base_url": a.opts.Base, "program": a.program.String(), "adapter": a.program.Name + "/" + a.program.Adapter,
		"protocol": string(a.program.Protocol), "effort": cmp.Or(a.opts.Effort, "default"),
	}
	if v := a.program.NodeVersion(); v != "" {
		settings["node"] = v
	}
	return agentbound.AgentRef{Name: name, Kind: "harness", Version: Version, Settings: settings}
}
