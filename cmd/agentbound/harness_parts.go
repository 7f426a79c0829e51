package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/internal/mcpserve"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model"
)

// harnessParts are what stands around an agent program in a trial: the recording proxy
// before its model, the server of its tools, and what holds it.
func harnessParts(level confine.Level) subject.Parts {
	return subject.Parts{Proxy: recordingProxy, Tools: serveTools, Runner: confined{level}}
}

// wires are the protocols by the names that harness has for them.
var wires = map[harness.Protocol]wire.Protocol{
	harness.Responses: wire.Responses, harness.ChatCompletions: wire.ChatCompletions,
	harness.Messages: wire.Messages, harness.GenerateContent: wire.GenerateContent,
}

func recordingProxy(o subject.ProxyOptions) (http.Handler, error) {
	upstream, err := url.Parse(o.Upstream)
	if err != nil {
		return nil, errors.New("the base URL of the model cannot be read")
	}
	// The turn is told before any of it reaches the program: a call that the program
	// makes of it is then known to be proposed.
	tell := func(_ context.Context, t wire.Turn) (wire.Edit, error) {
		o.OnTurn(turnOf(t))
		return wire.Edit{}, nil
	}
	return wire.New(wire.Options{
		Upstream: upstream, Key: o.Key, Dummy: o.Dummy, Protocols: []wire.Protocol{wires[o.Protocol]}, Edit: tell,
	})
}

func turnOf(t wire.Turn) subject.Turn {
	turn := subject.Turn{
		Thought: t.Text, Reasoning: t.Reasoning, Summary: t.Source == agentbound.ThoughtSummary,
		Refused: t.Stop == model.StopRefusal, Refusal: t.Refused, Cut: t.Stop == model.StopLength,
		Usage: agentbound.Usage{InputTokens: t.Usage.Input, OutputTokens: t.Usage.Output, CachedTokens: t.Usage.Cached},
	}
	for _, tool := range t.Request.Tools {
		sum := sha256.Sum256([]byte(tool.Description + "\n" + string(tool.Schema)))
		turn.Offered = append(turn.Offered, subject.Offered{Name: qualified(tool.Namespace, tool.Name), Digest: agentbound.Digest(hex.EncodeToString(sum[:]))})
	}
	for _, calls := range [][]wire.Call{t.Calls, t.Hosted} {
		for _, c := range calls {
			turn.Calls = append(turn.Calls, subject.Proposal{ID: c.ID, Name: qualified(c.Namespace, c.Name), Args: c.Args})
		}
	}
	return turn
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

func serveTools(ctx context.Context, l net.Listener, tools []agentbound.Tool, call subject.Call) error {
	s, err := mcpserve.New(tools, mcpserve.Call(call), mcpserve.Options{Name: harness.Server})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return s.Serve(ctx, l)
}

// confined runs programs in internal/confine.
type confined struct{ level confine.Level }

func (c confined) Cell(ctx context.Context, n subject.Needs) (subject.Cell, error) {
	dir, home, err := confine.TempDir()
	if err != nil {
		return nil, err
	}
	spec := confine.Spec{Level: c.level, Home: home, ReadOnly: n.ReadOnly, Limits: confine.Limits{Memory: headroom * n.Memory, Wall: 24 * time.Hour}}
	for range n.Listeners {
		spec.Listen = append(spec.Listen, "127.0.0.1:0")
	}
	p, err := confine.Command(ctx, spec)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &confinedCell{process: p, dir: dir, home: home}, nil
}

// headroom is how often a program's known need of memory it may use.
const headroom = 4

type confinedCell struct {
	process   *confine.Process
	dir, home string
	held      string
}

func (c *confinedCell) Home() string              { return c.home }
func (c *confinedCell) Listeners() []net.Listener { return c.process.Listeners }
func (c *confinedCell) Held() string              { return c.held }

func (c *confinedCell) Run(cmd subject.Command) (harness.Exit, error) {
	c.process.Args, c.process.Env, c.process.Dir = cmd.Argv, cmd.Env, cmd.Dir
	r, err := c.process.Run()
	c.held = string(c.process.Level) + ": " + strings.Join(r.Holds, ", ")
	exit := harness.Exit{Code: r.Exit, Stdout: r.Stdout, Stderr: r.Stderr}
	if err == nil && r.Cause != "" {
		err = fmt.Errorf("the program was ended: %s", r.Cause)
	}
	return exit, err
}

func (c *confinedCell) Close() error {
	c.process.Close()
	return os.RemoveAll(c.dir)
}
