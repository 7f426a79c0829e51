package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/internal/mcpserve"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
)

// surroundings are what stands around an agent program in a trial: the recording proxy
// before its model, the server of its tools, and what holds it.
type surroundings struct {
	least   confine.Level        // programs are held at this level or above; empty: at any
	pace    model.Pace           // of the model's endpoint; may be nil
	perCall time.Duration        // of a request to it; 0: the proxy's own bound
	watch   *witness             // of the model; may be nil
	seen    func(confine.Result) // is told how each program ended; may be nil
}

func (s surroundings) parts() subject.Parts {
	return subject.Parts{Proxy: s.proxy, Tools: serveTools, Runner: confined{s.least, s.seen}}
}

// wires are the protocols by the names that harness has for them.
var wires = map[harness.Protocol]wire.Protocol{
	harness.Responses: wire.Responses, harness.ChatCompletions: wire.ChatCompletions,
	harness.Messages: wire.Messages, harness.GenerateContent: wire.GenerateContent,
}

func (s surroundings) proxy(ctx context.Context, o subject.ProxyOptions) (http.Handler, error) {
	upstream, err := url.Parse(o.Upstream)
	if err != nil {
		return nil, errors.New("the base URL of the model cannot be read")
	}
	// The turn is ruled on before any of it reaches the program: a call that the program
	// makes of it is then known to be proposed.
	tell := func(_ context.Context, t wire.Turn) (wire.Edit, error) {
		s.watch.answered()
		return editOf(o.OnTurn(turnOf(t))), nil
	}
	return wire.New(wire.Options{
		Upstream: upstream, Key: o.Key, Dummy: o.Dummy, Protocols: []wire.Protocol{wires[o.Protocol]}, Edit: tell, Pace: s.pace, Timeout: s.perCall, Attempts: askedAtMost,
		OnAside: func(a wire.Aside) {
			o.OnRequest(subject.Request{Method: a.Method, Path: a.Path, What: string(a.Kind), Status: a.Status})
		},
		OnFault: func(f wire.Fault) {
			if t, ok := refused(f); ok {
				s.watch.answered()
				o.OnTurn(t)
				return
			}
			s.watch.fault(ctx, f.Server)
			o.OnRequest(requestOf(f))
		},
	})
}

// askedAtMost is how often a model agent attempts a turn, too: some programs give up at the first 429.
const askedAtMost = 6

// refused is the turn that a fault stands for where it is the provider's filter at work,
// as it is for a model that we ask ourselves.
func refused(f wire.Fault) (subject.Turn, bool) {
	if f.Server == nil || f.Protocol != wire.Responses && f.Protocol != wire.ChatCompletions {
		return subject.Turn{}, false
	}
	r, ok := openaiapi.Refusal(f.Server)
	return subject.Turn{Offered: offered(f.Request.Tools), Refused: true, Refusal: r.Refusal}, ok
}

// requestOf is a request that brought no turn. A key that is not accepted and an account
// without credit are no better for the next request, and what Pace refuses is refused for
// good.
func requestOf(f wire.Fault) subject.Request {
	r := subject.Request{Method: f.Method, Path: f.Path, What: string(f.Kind), Status: f.Status, Offered: offered(f.Request.Tools)}
	if f.Again {
		r.What, r.Status = fmt.Sprintf("%s %d, asked again", f.Kind, f.Status), 0
		return r
	}
	switch e := f.Server; {
	case f.Kind == wire.Held:
		r.Fault, r.Final = f.Err, true
	case e != nil:
		r.Fault, r.Final = e, e.Fault == model.FaultQuota || e.Fault == model.FaultKey && e.Status == http.StatusUnauthorized
	}
	return r
}

// editOf puts a corrected Thought at the end of the request, as agent/chat does for models.
func editOf(r subject.Ruling) wire.Edit {
	if r.Again == nil {
		return wire.Edit{Thought: r.Text}
	}
	return wire.Edit{Again: []wire.Message{{Role: model.Assistant, Text: cmp.Or(*r.Again, intervene.NoText)}, {Role: model.User, Text: intervene.GoOn}}}
}

func turnOf(t wire.Turn) subject.Turn {
	turn := subject.Turn{
		Attempt: t.Attempt,
		Thought: t.Text, Reasoning: t.Reasoning, Summary: t.Source == agentbound.ThoughtSummary,
		Refused: t.Stop == model.StopRefusal, Refusal: t.Refused, Cut: t.Stop == model.StopLength,
		Usage: agentbound.Usage{InputTokens: t.Usage.Input, OutputTokens: t.Usage.Output, CachedTokens: t.Usage.Cached},
	}
	turn.Offered = offered(t.Request.Tools)
	for _, calls := range [][]wire.Call{t.Calls, t.Hosted} {
		for _, c := range calls {
			turn.Calls = append(turn.Calls, subject.Proposal{ID: c.ID, Name: qualified(c.Namespace, c.Name), Args: c.Args})
		}
	}
	return turn
}

func offered(tools []wire.Tool) (all []subject.Offered) {
	for _, tool := range tools {
		sum := sha256.Sum256([]byte(tool.Description + "\n" + string(tool.Schema)))
		all = append(all, subject.Offered{Name: qualified(tool.Namespace, tool.Name), Digest: agentbound.Digest(hex.EncodeToString(sum[:]))})
	}
	return all
}

func qualified(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "__" + name
}

func serveTools(ctx context.Context, l net.Listener, tools []agentbound.Tool, call subject.Call) error {
	carry := func(ctx context.Context, c agentbound.Call) (agentbound.Value, bool, error) {
		o, ok, err := call(ctx, c)
		if errors.Is(err, subject.ErrOver) {
			err = mcpserve.ErrOver // which is no fault of the server's
		}
		return o, ok, err
	}
	s, err := mcpserve.New(tools, carry, mcpserve.Options{Name: harness.Server})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	err = s.Serve(ctx, l)
	if fault := s.Fault(); fault != nil && !(ctx.Err() != nil && errors.Is(fault, context.Canceled)) {
		err = errors.Join(err, fault) // what came of calls after it was no answer of the world's
	}
	return err
}

// confined runs programs in internal/confine.
type confined struct {
	least confine.Level
	seen  func(confine.Result)
}

func (c confined) Cell(ctx context.Context, n subject.Needs) (subject.Cell, error) {
	dir, home, err := confine.TempDir()
	if err != nil {
		return nil, err
	}
	spec := confine.Spec{Home: home, ReadOnly: n.ReadOnly, Limits: confine.Limits{Memory: headroom * n.Memory, Wall: 24 * time.Hour}}
	for range n.Listeners {
		spec.Listen = append(spec.Listen, "127.0.0.1:0")
	}
	p, err := confine.Command(ctx, spec)
	if err != nil {
		confine.RemoveTemp(dir)
		return nil, err
	}
	if c.least != "" && !p.Level.AtLeast(c.least) {
		p.Close()
		confine.RemoveTemp(dir)
		return nil, fmt.Errorf("confinement of level %s is required, and %s is to be had", c.least, p.Level)
	}
	return &confinedCell{process: p, dir: dir, home: home, seen: c.seen}, nil
}

// headroom is how often a program's known need of memory it may use.
const headroom = 4

type confinedCell struct {
	process   *confine.Process
	dir, home string
	held      string
	seen      func(confine.Result)
}

func (c *confinedCell) Home() string              { return c.home }
func (c *confinedCell) Listeners() []net.Listener { return c.process.Listeners }
func (c *confinedCell) Held() string              { return c.held }

func (c *confinedCell) Run(cmd subject.Command) (harness.Exit, error) {
	c.process.Args, c.process.Env, c.process.Dir = cmd.Argv, cmd.Env, cmd.Dir
	r, err := c.process.Run()
	if c.seen != nil {
		c.seen(r)
	}
	c.held = string(c.process.Level) + ": " + strings.Join(r.Holds, ", ")
	exit := harness.Exit{Code: r.Exit, Stdout: r.Stdout, Stderr: r.Stderr}
	if err == nil && r.Cause != "" {
		err = fmt.Errorf("the program was ended, at its limit of %s", r.Cause)
	}
	return exit, err
}

func (c *confinedCell) Close() error {
	c.process.Close()
	confine.RemoveTemp(c.dir)
	return nil
}
