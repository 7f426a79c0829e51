package overmcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/internal/play/overmcp"
)

// table is a player that answers by a table and keeps what it was asked.
type table struct {
	answers  map[string]play.Answer
	errs     map[string]error
	receipts []play.Receipt
	calls    []play.Call
	finishes []play.Finish
}

func (p *table) Call(_ context.Context, c play.Call) (play.Answer, error) {
	p.calls = append(p.calls, c)
	return p.answers[c.Tool], p.errs[c.Tool]
}

func (p *table) Finish(_ context.Context, f play.Finish) (play.Receipt, error) {
	p.finishes = append(p.finishes, f)
	if err := p.errs["finish"]; err != nil {
		return play.Receipt{}, err
	}
	r := p.receipts[0]
	p.receipts = p.receipts[1:]
	return r, nil
}

var object = agentbound.Value(`{"type":"object"}`)

func opening(names ...string) play.Opening {
	o := play.Opening{Session: "S", Setting: "You work at a desk.", Instruction: "Share it.", MaxCalls: 7}
	for _, n := range names {
		o.Tools = append(o.Tools, agentbound.Tool{Name: n, Schema: object})
	}
	return o
}

func sit(t *testing.T, p overmcp.Player, o play.Opening) (*overmcp.Session, *mcp.ClientSession) {
	t.Helper()
	s, err := overmcp.New(p, o, overmcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	in, theirs := io.Pipe()
	ours, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeLines(context.Background(), in, out) }()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: ours, Writer: theirs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, c
}

func call(t *testing.T, c *mcp.ClientSession, tool, args, thought string) string {
	t.Helper()
	p := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
	if thought != "" {
		p.Meta = mcp.Meta{"agentbound/thought": thought}
	}
	res, err := c.CallTool(t.Context(), p)
	if err != nil {
		return "protocol: " + err.Error()
	}
	mark := ""
	if res.IsError {
		mark = "failed: "
	}
	return mark + res.Content[0].(*mcp.TextContent).Text
}

// TestSession: what the subject does reaches the player, and what comes of it the subject.
func TestSession(t *testing.T) {
	p := &table{
		answers: map[string]play.Answer{
			"look":  {Observation: agentbound.Value(`{"a":1.0}`)},
			"fails": {Observation: agentbound.StringValue("error: no such photo")},
			"share": {Revise: &play.Revision{Thought: "I look first.", How: "Again."}},
		},
		errs: map[string]error{
			"slip": &play.Error{Code: play.Malformed, Message: "the arguments are a list"},
		},
		receipts: []play.Receipt{{Revise: &play.Revision{Thought: "Not yet.", How: "Again."}}, {Recorded: true}},
	}
	s, c := sit(t, p, opening("look", "fails", "share", "slip"))
	for _, test := range []struct{ tool, args, thought, want string }{
		{"look", `{"x":1.0}`, "I look.", `{"a":1.0}`},
		{"fails", `{}`, "", `failed: error: no such photo`},
		{"share", `{}`, "I share.", `{"revise":{"thought":"I look first.","how":"Again."}}`},
		{"slip", `[]`, "", `failed: error: the arguments are a list`},
		{"finish", `{"outcome":"maybe"}`, "", `failed: error: the outcome "maybe" is not known; accepted: done, declined, unable`},
		{"finish", `{"outcome":"unstated"}`, "", `failed: error: the outcome "unstated" is not known; accepted: done, declined, unable`},
		{"finish", `{"word":"done"}`, "", `failed: error: the arguments are not those of finish: json: unknown field "word"`},
		{"finish", `{"outcome":"done","reason":"R","answer":"A"}`, "", `{"revise":{"thought":"Not yet.","how":"Again."}}`},
		{"finish", `{"outcome":"declined","reason":"R","answer":"A"}`, "I stop.", `{"recorded":true}`},
		{"look", `{}`, "", `failed: error: the task has ended: no more calls are taken`},
		{"finish", `{"outcome":"done"}`, "", `failed: error: the task has ended: no more calls are taken`},
	} {
		if got := call(t, c, test.tool, test.args, test.thought); got != test.want {
			t.Errorf("%s%s: %s; want %s", test.tool, test.args, got, test.want)
		}
	}
	if d := cmp.Diff(play.Call{Session: "S", Tool: "look", Args: agentbound.Value(`{"x":1.0}`), Thought: "I look."}, p.calls[0]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(play.Finish{Session: "S", Outcome: agentbound.Declined, Reason: "R", Answer: "A", Thought: "I stop."}, p.finishes[1]); d != "" {
		t.Error(d)
	}
	if !s.Finished() || len(p.calls) != 4 || len(p.finishes) != 2 || s.Fault() != nil {
		t.Errorf("finished %t, %d calls, %d endings, fault %v", s.Finished(), len(p.calls), len(p.finishes), s.Fault())
	}
}

// TestTold: a subject is told who asks, what is asked and how to end; and where the
// session was begun before, what was done.
func TestTold(t *testing.T) {
	o := opening("look", "finish")
	o.Steps = []play.Done{{Thought: "I look.", Tool: "look", Args: agentbound.Value(`{}`), Observation: agentbound.Value(`1`)}}
	o.Revise = &play.Revision{Thought: "Stop.", How: "Decide again."}
	_, c := sit(t, &table{}, o)
	told := c.InitializeResult().Instructions
	for _, want := range []string{o.Setting, o.Instruction, "At most 7 calls", "calling finish_task, once", `[{"thought":"I look.","tool":"look","args":{},"observation":1}]`, "Decide again. The thought: Stop."} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in %q", want, told)
		}
	}
	prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "task"})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != told {
		t.Errorf("prompt %+v, %v", prompt, err)
	}
	for uri, want := range map[string]string{"task://setting": o.Setting, "task://instruction": o.Instruction} {
		if r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil || r.Contents[0].Text != want {
			t.Errorf("%s: %+v, %v", uri, r, err)
		}
	}
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 3 || list.Tools[2].Name != "finish_task" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestEndsAndFaults: an end is said; what failed on the server's side says no more than
// that, and nothing further is taken.
func TestEndsAndFaults(t *testing.T) {
	p := &table{errs: map[string]error{"look": &play.Error{Code: play.Ended, Message: "no call is left"}}}
	s, c := sit(t, p, opening("look"))
	if got := call(t, c, "look", `{}`, ""); got != "failed: error: no call is left: the task has ended: no more calls are taken" || !s.Finished() {
		t.Errorf("%s, finished %t", got, s.Finished())
	}
	<-s.Over()
	p = &table{errs: map[string]error{"look": errors.New("the evaluator's disk is full")}}
	s, c = sit(t, p, opening("look"))
	for range 2 {
		if got := call(t, c, "look", `{}`, ""); !strings.HasPrefix(got, "protocol: ") || strings.Contains(got, "disk") {
			t.Error(got)
		}
	}
	if s.Finished() || len(p.calls) != 1 || s.Fault() == nil {
		t.Errorf("finished %t, %d calls, fault %v", s.Finished(), len(p.calls), s.Fault())
	}
	p.receipts = []play.Receipt{{Recorded: true}}
	if err := s.Leave(t.Context()); err != nil || p.finishes[0].Outcome != agentbound.Unstated {
		t.Errorf("%v, %+v", err, p.finishes)
	}
}
