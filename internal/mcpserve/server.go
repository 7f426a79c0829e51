// Package mcpserve serves a task's tools over MCP, the Model Context Protocol, with
// the official Go SDK: over lines of a pipe (the protocol's stdio) and over streamable
// HTTP on a listener that the caller has opened. Schemas are shown as they are, byte for
// byte and in the task's order; arguments reach the caller as they were sent. Calls are
// carried out one at a time and logged in that order.
//
// The SDK does not check arguments of tools with raw schemas, and neither does this
// room: worlds do, by those schemas, and answer with a failure. So an ill-formed call
// reads the same through MCP as without it, and is on record as well.
package mcpserve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
)

// Call carries one call out, an ill-formed one or one of a tool that does not exist as
// well. It is called by one goroutine at a time. Observation is any JSON value; ok is
// false where the tool failed. An error that wraps ErrOver says that nothing more is
// taken, which the client is told; any other is infrastructure: the client learns no
// more than that, and every later call is refused. What a call has begun is carried to
// its end when the client cancels it or goes away; ctx ends when the server is stopped.
type Call func(ctx context.Context, c agentbound.Call) (observation agentbound.Value, ok bool, err error)

// ErrOver says that the trial has ended as behaviour: out of steps, or finished.
var ErrOver = errors.New("the task has ended: no more calls are taken")

// ThoughtMeta is the key of a call's _meta under which a client may send the Thought
// that led to the call, a text.
const ThoughtMeta = "agentbound/thought"

// Options are how tools are served.
type Options struct {
	Name         string     // of the server, as clients see it; empty: world
	Version      string     // the same; empty: 1
	Instructions string     // what the server says of itself to every client
	Prompts      []Document // that a client may ask for by name
	Resources    []Document // that a client may read by name, as task://NAME
	Path         string     // of HTTP: the one path that is served; empty: /

	MaxMessage  int           // bytes of one message from a client; 0: 4 MiB
	MaxSessions int           // of HTTP: clients at a time; 0: 32
	MaxCalls    int           // calls that are carried out and logged; later ones are refused; 0: 10000
	Grace       time.Duration // how long a call in flight may go on when the server is stopped; 0: 5 s

	Clock func() time.Time // nil: time.Now
	Log   *slog.Logger     // of the protocol, for whoever runs the server; nil: nothing is logged
}

// Document is a text with a name.
type Document struct{ Name, Description, Text string }

func (o Options) withDefaults() Options {
	fill(&o.Name, "world")
	fill(&o.Version, "1")
	fill(&o.Path, "/")
	fill(&o.MaxMessage, 4<<20)
	fill(&o.MaxSessions, 32)
	fill(&o.MaxCalls, 10_000)
	fill(&o.Grace, 5*time.Second)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func fill[T comparable](v *T, to T) {
	if *v == *new(T) {
		*v = to
	}
}

// Server serves one set of tools. It may serve several clients; they share it.
type Server struct {
	o     Options
	names []string // of the tools, in order
	call  Call
	mcp   *mcp.Server
	turn  chan struct{} // held by whoever carries a call out

	mu       sync.Mutex
	log      []Entry
	dropped  int
	sessions []Session
	versions map[*mcp.ServerSession]string // of those in sessions
	fault    error
	closing  bool
}

// New makes a server of tools. It is an error for a tool to have no name, the name of
// another, or a schema that is not of an object.
func New(tools []agentbound.Tool, call Call, o Options) (*Server, error) {
	o = o.withDefaults()
	s := &Server{o: o, call: call, turn: make(chan struct{}, 1), versions: map[*mcp.ServerSession]string{}}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: o.Name, Version: o.Version}, &mcp.ServerOptions{
		Instructions: o.Instructions, Logger: o.Log,
		Capabilities: capabilities(o),
	})
	for _, t := range tools {
		if err := s.add(t); err != nil {
			return nil, err
		}
	}
	s.offer()
	s.mcp.AddReceivingMiddleware(s.receive)
	return s, nil
}

// capabilities say that nothing here ever changes.
func capabilities(o Options) *mcp.ServerCapabilities {
	c := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if len(o.Prompts) > 0 {
		c.Prompts = &mcp.PromptCapabilities{}
	}
	if len(o.Resources) > 0 {
		c.Resources = &mcp.ResourceCapabilities{}
	}
	return c
}

func (s *Server) add(t agentbound.Tool) error {
	if t.Name == "" || slices.Contains(s.names, t.Name) {
		return fmt.Errorf("tool %d is called %q: want a name that no other has", len(s.names), t.Name)
	}
	if err := checkSchema(t.Schema); err != nil {
		return fmt.Errorf("tool %s: %w", t.Name, err)
	}
	s.names = append(s.names, t.Name)
	s.mcp.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: rawSchema(t.Schema)}, s.handle)
	return nil
}

// offer adds the prompts and resources.
func (s *Server) offer() {
	for _, d := range s.o.Prompts {
		s.mcp.AddPrompt(&mcp.Prompt{Name: d.Name, Description: d.Description}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{
				Description: d.Description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: d.Text}}},
			}, nil
		})
	}
	for _, d := range s.o.Resources {
		r := &mcp.Resource{URI: "task://" + d.Name, Name: d.Name, Description: d.Description, MIMEType: "text/plain"}
		s.mcp.AddResource(r, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.URI, MIMEType: r.MIMEType, Text: d.Text}}}, nil
		})
	}
}

// receive stands before the SDK's methods.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && !slices.Contains(s.names, call.Params.Name) {
			return s.handleUnknown(ctx, call)
		}
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch res := res.(type) {
		case *mcp.InitializeResult:
			s.meet(ctx, req, res.ProtocolVersion)
		case *mcp.ListToolsResult:
			res.Tools = slices.Clone(res.Tools)
			slices.SortFunc(res.Tools, func(a, b *mcp.Tool) int { return slices.Index(s.names, a.Name) - slices.Index(s.names, b.Name) })
		}
		if _, probe := res.(*mcp.DiscoverResult); !probe {
			s.meet(ctx, req, "")
		}
		return res, nil
	}
}

// handleUnknown answers the call of a tool that does not exist as the protocol wants it,
// with an error, once it is on record.
func (s *Server) handleUnknown(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	res, err := s.handle(ctx, req)
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: fmt.Sprintf("unknown tool %q: %s", clip(req.Params.Name), res.Content[0].(*mcp.TextContent).Text),
	}
}

func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
