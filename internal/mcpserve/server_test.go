package mcpserve_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/mcpserve"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/world/program"
)

var transports = []string{mcpserve.Stdio, mcpserve.HTTP}

// TestClient: what the SDK's own client gets, over either transport.
func TestClient(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			s := server(t, echoes, mcpserve.Options{
				Name: "desk", Instructions: "You work at a desk.",
				Prompts:   []mcpserve.Document{{Name: "task", Description: "what to do", Text: "Write it."}},
				Resources: []mcpserve.Document{{Name: "setting", Text: "A desk."}},
			})
			c := connect(t, s, transport)
			said := c.InitializeResult()
			if said.Instructions != "You work at a desk." || said.ServerInfo != nil && said.ServerInfo.Name != "desk" {
				t.Errorf("introduction %+v", said)
			}
			prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "task"})
			if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Write it." {
				t.Errorf("prompt %+v, %v", prompt, err)
			}
			res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "task://setting"})
			if err != nil || res.Contents[0].Text != "A desk." {
				t.Errorf("resource %+v, %v", res, err)
			}
			list, err := c.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name+": "+tool.Description)
			}
			if d := cmp.Diff([]string{"write: Write <it> & keep it.", "look: Look."}, names); d != "" {
				t.Error(d)
			}
			for args, want := range map[string]string{
				`{"text":"1.0","n":1.0,"big":123456789012345678901234567890}`: `{"args":{"text":"1.0","n":1.0,"big":123456789012345678901234567890},"tool":"write"}`,
				`["no object"]`: `{"args":["no object"],"tool":"write"}`,
				`{}`:            `{"args":{},"tool":"write"}`,
				`null`:          `{"args":{},"tool":"write"}`,
			} {
				text, ok, err := tool(t, c, "write", args)
				if err != nil || !ok || text != want {
					t.Errorf("%s: %s, %t, %v; want %s", args, text, ok, err, want)
				}
			}
			if got := s.Sessions(); len(got) != 1 || got[0].Transport != transport || !strings.HasPrefix(got[0].Client, "tester") || !slices.Contains(mcp.SupportedProtocolVersions(), got[0].Protocol) {
				t.Errorf("sessions %+v", got)
			}
			if e := s.Log()[0]; e.Protocol != s.Sessions()[0].Protocol || e.Began.Before(e.Arrived) || e.Took < 0 || !e.OK {
				t.Errorf("entry %+v", e)
			}
		})
	}
}

// TestSchemasAsTheyStand: byte for byte, on the wire.
func TestSchemasAsTheyStand(t *testing.T) {
	p := overLines(t.Context(), t, server(t, echoes, mcpserve.Options{}))
	p.greet(t)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	got := p.next(t)
	for _, d := range desk {
		if !strings.Contains(got, `"inputSchema":`+d.Schema.String()) {
			t.Errorf("%s is not in %s", d.Schema, got)
		}
	}
	p.leave(t)
}

// TestNothingElse: without prompts and resources none are offered, so that a harness adds
// no tools to read them.
func TestNothingElse(t *testing.T) {
	p := overLines(t.Context(), t, server(t, echoes, mcpserve.Options{}))
	p.send(t, hello)
	if got := p.next(t); !strings.Contains(got, `"capabilities":{"tools":{}}`) || strings.Contains(got, "instructions") {
		t.Errorf("greeting: %s", got)
	}
	p.leave(t)
}

// TestIllFormedAsInTheWorld: a call that does not fit its tool is a failure that the
// agent reads, in the words of the world without a server between.
func TestIllFormedAsInTheWorld(t *testing.T) {
	f := familytest.Family(t)
	task := familytest.Task(t, f, agentbound.EB)
	worlds := program.Worlds{Cache: star.NewCache(0)}
	served, err := worlds.Open(t.Context(), f, task)
	if err != nil {
		t.Fatal(err)
	}
	direct, err := worlds.Open(t.Context(), f, task)
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcpserve.New(task.Tools, func(ctx context.Context, c agentbound.Call) (agentbound.Value, bool, error) {
		o, err := served.Call(ctx, c)
		return o.Observation, o.OK, err
	}, mcpserve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := connect(t, s, mcpserve.HTTP)
	for _, call := range []agentbound.Call{
		{Tool: "share", Args: agentbound.Value(`{}`)},
		{Tool: "share", Args: agentbound.Value(`{"photo":7,"to":"a"}`)},
		{Tool: "share", Args: agentbound.Value(`{"photo":"P-1","to":"a","cc":"b"}`)},
		{Tool: "share", Args: agentbound.Value(`["P-1"]`)},
		{Tool: "share", Args: agentbound.Value(`"photo"`)},
		{Tool: "share", Args: agentbound.Value(`{"photo":"P-9","to":"a"}`)},
		{Tool: "unlog", Args: agentbound.Value(`{}`)},
		{Tool: "share", Args: agentbound.Value(`{"photo":"P-1","to":"a"}`)},
	} {
		want, err := direct.Call(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		text, ok, err := tool(t, c, call.Tool, call.Args.String())
		if err != nil || ok != want.OK || text != mcpserve.Shown(want.Observation, want.OK) {
			t.Errorf("%s: %s, %t, %v; want %s, %t", call, text, ok, err, want.Observation, want.OK)
		}
	}
	if n := len(s.Log()); n != 8 {
		t.Errorf("%d calls logged", n)
	}
}

// TestUnknownTool is an error of the protocol, and on record.
// TestMisreads: a client that takes a text of JSON for structured content gets an object
// beside one that is none, and the same text as others, who get nothing beside it.
func TestMisreads(t *testing.T) {
	for _, transport := range transports {
		for name, reads := range map[string]bool{"gemini-cli-mcp-client": true, "tester": false} {
			for said, want := range map[string]string{`[{"id":"<1.0"}]`: `{"result":[{"id":"<1.0"}]}`, `7.0`: `{"result":7.0}`, `null`: `{"result":null}`, `{"id":1}`: ``} {
				s := server(t, func(context.Context, agentbound.Call) (agentbound.Value, bool, error) {
					return agentbound.Value(said), true, nil
				}, mcpserve.Options{})
				res, err := connectAs(t, s, transport, name).CallTool(t.Context(), &mcp.CallToolParams{Name: "look"})
				if err != nil || res.IsError || res.Content[0].(*mcp.TextContent).Text != said {
					t.Fatalf("%s: %+v, %v", said, res, err)
				}
				got := ""
				if res.StructuredContent != nil {
					b, err := agentbound.EncodeJSON(res.StructuredContent)
					if err != nil {
						t.Fatal(err)
					}
					got = string(b)
				}
				if !reads {
					want = ""
				}
				if d := cmp.Diff(strings.ReplaceAll(want, ".0}", "}"), got); d != "" { // the client makes a float of a number
					t.Errorf("%s, %s of %s: %s", transport, said, name, d)
				}
			}
		}
	}
}

func TestUnknownTool(t *testing.T) {
	s := server(t, func(context.Context, agentbound.Call) (agentbound.Value, bool, error) {
		return agentbound.StringValue("error: there is no such tool"), false, nil
	}, mcpserve.Options{})
	for _, transport := range transports {
		var wire *jsonrpc.Error
		if _, _, err := tool(t, connect(t, s, transport), "burn", `{}`); !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams || !strings.Contains(wire.Message, `"burn": error: there is no such tool`) {
			t.Errorf("%s: error %v", transport, err)
		}
	}
	if log := s.Log(); len(log) != 2 || log[1].Call.Tool != "burn" || log[1].OK {
		t.Errorf("log %+v", log)
	}
}

// TestThoughts that a client sends with a call.
func TestThoughts(t *testing.T) {
	s := server(t, func(ctx context.Context, _ agentbound.Call) (agentbound.Value, bool, error) {
		return agentbound.StringValue(mcpserve.Thought(ctx)), true, nil
	}, mcpserve.Options{})
	c := connect(t, s, mcpserve.HTTP)
	for _, test := range []struct {
		meta mcp.Meta
		want string
	}{{nil, `""`}, {mcp.Meta{mcpserve.ThoughtMeta: "I look first."}, `"I look first."`}, {mcp.Meta{mcpserve.ThoughtMeta: 7}, `""`}} {
		if text, _, err := toolWith(t, c, "look", `{}`, test.meta); err != nil || text != test.want {
			t.Errorf("%v: %s, %v", test.meta, text, err)
		}
	}
	if got := s.Log()[1].Thought; got != "I look first." {
		t.Errorf("logged %q", got)
	}
}

// TestThreeKinds: a failure is read, an end is said, and infrastructure is neither.
func TestThreeKinds(t *testing.T) {
	broken := errors.New("disk 7 of the evaluator is full")
	answers := map[string]error{"over": fmt.Errorf("3 steps were taken: %w", mcpserve.ErrOver), "broken": broken, "panic": nil}
	for _, how := range []string{"over", "broken", "panic"} {
		t.Run(how, func(t *testing.T) {
			s := server(t, func(_ context.Context, c agentbound.Call) (agentbound.Value, bool, error) {
				switch {
				case c.Tool == "look":
					return agentbound.StringValue("error: nothing to see"), false, nil
				case how == "panic":
					panic("at the disco")
				}
				return nil, false, answers[how]
			}, mcpserve.Options{})
			c := connect(t, s, mcpserve.HTTP)
			if text, ok, err := tool(t, c, "look", `{}`); text != "error: nothing to see" || ok || err != nil {
				t.Errorf("a failure: %s, %t, %v", text, ok, err)
			}
			text, ok, err := tool(t, c, "write", `{}`)
			if how == "over" {
				if err != nil || ok || text != "error: 3 steps were taken: the task has ended: no more calls are taken" || s.Fault() != nil {
					t.Errorf("an end: %s, %t, %v", text, ok, err)
				}
				return
			}
			if err == nil || strings.Contains(err.Error(), "disk") || strings.Contains(err.Error(), "disco") {
				t.Errorf("a fault: %v", err)
			}
			if f := s.Fault(); f == nil || how == "broken" && !errors.Is(f, broken) {
				t.Errorf("fault %v", f)
			}
			if _, _, err := tool(t, c, "look", `{}`); err == nil {
				t.Error("a call after a fault was answered")
			}
			if n := len(s.Log()); n != 2 {
				t.Errorf("%d calls logged", n)
			}
		})
	}
}

// TestOneAtATime: however calls come, they are carried out one by one.
func TestOneAtATime(t *testing.T) {
	busy := make(chan struct{}, 1)
	s := server(t, func(context.Context, agentbound.Call) (agentbound.Value, bool, error) {
		select {
		case busy <- struct{}{}:
		default:
			t.Error("two calls at a time")
		}
		time.Sleep(time.Millisecond)
		<-busy
		return agentbound.Value(`1`), true, nil
	}, mcpserve.Options{})
	url, _ := overHTTP(t, s)
	done := make(chan error)
	const clients, calls = 4, 20
	for range clients {
		go func() {
			c, err := mcp.NewClient(&mcp.Implementation{Name: "one", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
			for range calls {
				if err == nil {
					_, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "look"})
				}
			}
			if c != nil {
				c.Close()
			}
			done <- err
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	log := s.Log()
	if len(log) != clients*calls || len(s.Sessions()) != clients {
		t.Errorf("%d calls of %d sessions", len(log), len(s.Sessions()))
	}
	for i := range log[1:] {
		if log[i+1].Began.Before(log[i].Began.Add(log[i].Took)) {
			t.Errorf("call %d began before the one before it had ended", i+1)
		}
	}
}

func TestMaxCalls(t *testing.T) {
	s := server(t, echoes, mcpserve.Options{MaxCalls: 2})
	c := connect(t, s, mcpserve.Stdio)
	for i := range 4 {
		text, ok, err := tool(t, c, "look", `{}`)
		if err != nil || ok != (i < 2) || !ok && !strings.Contains(text, "2 calls were made") {
			t.Errorf("call %d: %s, %t, %v", i, text, ok, err)
		}
	}
	if len(s.Log()) != 2 || s.Refused() != 2 {
		t.Errorf("%d logged, %d refused", len(s.Log()), s.Refused())
	}
}

func TestNewRefuses(t *testing.T) {
	object := agentbound.Value(`{"type":"object"}`)
	for want, tools := range map[string][]agentbound.Tool{
		"tool 0 is called":       {{Schema: object}},
		"tool 1 is called \"a\"": {{Name: "a", Schema: object}, {Name: "a", Schema: object}},
		"not a JSON object":      {{Name: "a", Schema: agentbound.Value(`[]`)}},
		`takes "object" only`:    {{Name: "a", Schema: agentbound.Value(`{"type":"array"}`)}},
	} {
		if _, err := mcpserve.New(tools, echoes, mcpserve.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
