package mcpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
)

// Entry is a call as it came and what came of it.
type Entry struct {
	Arrived  time.Time
	Began    time.Time     // after the calls before it
	Took     time.Duration // from Began
	Session  string        // of HTTP; empty over lines
	Protocol string        // the version that the session has negotiated
	Thought  string        // that the client sent with it
	Call     agentbound.Call

	// What came of it: an observation, or the error of Call.
	Observation agentbound.Value
	OK          bool
	Err         error
}

// Log is the calls that were handed on, in that order.
func (s *Server) Log() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Entry(nil), s.log...)
}

// Refused is how many calls came after MaxCalls.
func (s *Server) Refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Fault is the first error of infrastructure that a Call gave; nil: none did.
func (s *Server) Fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

type contextKey int

const (
	lifeKey    contextKey = iota // of the server: a context
	linesKey                     // of the connection: its *lines
	thoughtKey                   // of the call: a text
)

// Thought is what the client sent as the Thought behind a call; ctx is Call's.
func Thought(ctx context.Context) string {
	t, _ := ctx.Value(thoughtKey).(string)
	return t
}

// life is the context of the server that a request came to.
func life(ctx context.Context) context.Context {
	if l, ok := ctx.Value(lifeKey).(context.Context); ok {
		return l
	}
	return context.WithoutCancel(ctx)
}

var (
	errFault   = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server has failed, and nothing more can be done: stop here"}
	errClosing = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server is being stopped"}
)

// handle carries a call out when its turn has come.
func (s *Server) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	arrived := s.o.Clock()
	if l, ok := ctx.Value(linesKey).(*lines); ok {
		if err := l.await(ctx, req.Extra); err != nil {
			return nil, err
		}
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done(): // cancelled before it was begun: nothing was done
		return nil, ctx.Err()
	}
	if err := s.admit(); err != nil {
		if errors.Is(err, ErrOver) {
			return failed(err), nil
		}
		return nil, err
	}
	e := Entry{Arrived: arrived, Began: s.o.Clock(), Session: req.Session.ID(), Protocol: s.protocol(req), Call: agentbound.Call{Tool: req.Params.Name, Args: arguments(req.Params.Arguments)}}
	e.Thought, _ = req.Params.Meta[ThoughtMeta].(string)
	e.Observation, e.OK, e.Err = s.carry(context.WithValue(life(ctx), thoughtKey, e.Thought), e.Call)
	e.Took = s.o.Clock().Sub(e.Began)
	s.enter(e)
	switch {
	case errors.Is(e.Err, ErrOver):
		return failed(e.Err), nil
	case e.Err != nil:
		return nil, errFault
	}
	shown := Shown(e.Observation, e.OK)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: shown}}, IsError: !e.OK, StructuredContent: structured(req.ClientInfo(), shown)}, nil
}

// misreads are clients that take a text which is JSON for structured content, and the
// whole answer for a broken one where it is no object, such as a list.
var misreads = []string{"gemini-cli-mcp-client"}

// structured is an object beside such a text, for the clients that need one; they show
// their models the text. Others get none.
func structured(client *mcp.Implementation, text string) any {
	var v any
	if client == nil || !slices.Contains(misreads, client.Name) || json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	if _, ok := v.(map[string]any); ok {
		return nil
	}
	return map[string]any{"result": json.RawMessage(text)}
}

// carry has the caller carry a call out; its panic is a fault of this trial and of no
// other.
func (s *Server) carry(ctx context.Context, c agentbound.Call) (observation agentbound.Value, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.call(ctx, c)
}

// admit says why no further call can be taken.
func (s *Server) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fault != nil:
		return errFault
	case s.closing:
		return errClosing
	case len(s.log) >= s.o.MaxCalls:
		s.dropped++
		return fmt.Errorf("%d calls were made: %w", s.o.MaxCalls, ErrOver)
	}
	return nil
}

func (s *Server) enter(e Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, e)
	if e.Err != nil && !errors.Is(e.Err, ErrOver) && s.fault == nil {
		s.fault = e.Err
		s.o.Log.Error("a call failed", "tool", e.Call.Tool, "error", e.Err)
	}
}

// arguments are what was sent; none, and null, are the empty object.
func arguments(raw json.RawMessage) agentbound.Value {
	if t := bytes.TrimSpace(raw); len(t) == 0 || string(t) == "null" {
		return agentbound.Value("{}")
	}
	return agentbound.Value(bytes.Clone(raw))
}

func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "error: " + err.Error()}}, IsError: true}
}

// Shown is an observation as a model reads it: its JSON text, and of a failure the plain
// words.
func Shown(observation agentbound.Value, ok bool) string {
	var text string
	if !ok && json.Unmarshal(observation, &text) == nil {
		return text
	}
	return observation.String()
}

// checkSchema refuses what the SDK would panic at.
func checkSchema(schema agentbound.Value) error {
	var m map[string]any
	if err := json.Unmarshal(schema, &m); err != nil {
		return fmt.Errorf("its schema is not a JSON object: %w", err)
	}
	if m["type"] != "object" {
		return fmt.Errorf(`its schema has the type %v; MCP takes "object" only`, m["type"])
	}
	return nil
}

// rawSchema has the SDK show a schema as it stands.
func rawSchema(schema agentbound.Value) json.RawMessage { return json.RawMessage(bytes.Clone(schema)) }
