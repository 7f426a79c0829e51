package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
)

// TestRequests: what each protocol's requests ask, tools and conversation alike.
func TestRequests(t *testing.T) {
	schema := []byte(`{"type":"object"}`)
	read := Tool{Kind: "function", Name: "read", Description: "Read.", Schema: schema, Digest: SchemaDigest(schema)}
	call := func(namespace string) []Call {
		return []Call{{ID: "a", Kind: "function", Namespace: namespace, Name: "read", Args: "{}"}}
	}
	result := Message{Role: model.Result, CallID: "a", Tool: "read", Text: "1"}
	failed := result
	failed.Failed = true
	want := map[Protocol]Request{
		Responses: {
			Model: "m", Stream: true, Choices: 1,
			Tools: []Tool{
				{Kind: "function", Namespace: "mcp__world", Name: "read", Description: "Read.", Schema: schema, Digest: read.Digest},
				{Kind: "function", Namespace: "mcp__world", Name: "write", Schema: schema, Digest: read.Digest},
				{Kind: "function", Name: "request_user_input", Schema: schema, Digest: read.Digest},
				{Kind: "web_search", Name: "web_search"},
				{Kind: "custom", Name: "apply_patch", Schema: []byte(`{"type":"grammar"}`), Digest: SchemaDigest([]byte(`{"type":"grammar"}`))},
			},
			Messages: []Message{
				{Role: model.System, Text: "Keep the records."}, {Role: model.System, Text: "d"}, {Role: model.User, Text: "Compare."},
				{Role: model.Assistant, Text: "I read.", Reasoning: "hm", Calls: call("mcp__world")},
				{Role: model.Result, CallID: "a", Tool: "read", Text: `{"n":1}`},
			},
		},
		ChatCompletions: {
			Model: "m", Stream: true, Choices: 1, Usage: true, Tools: []Tool{read},
			Messages: []Message{{Role: model.System, Text: "s"}, {Role: model.User, Text: "u"}, {Role: model.Assistant, Reasoning: "hm", Calls: call("")}, result},
		},
		Messages: {
			Model: "m", Stream: true, Choices: 1, Most: 9, Tools: []Tool{read, {Kind: "web_search_20250305", Name: "web_search"}},
			Messages: []Message{{Role: model.System, Text: "s"}, {Role: model.User, Text: "u"}, {Role: model.Assistant, Reasoning: "hm", Calls: call("")}, failed},
		},
		GenerateContent: {
			Model: "in-the-path", Choices: 1, Tools: []Tool{read, {Kind: "googleSearch", Name: "googleSearch"}},
			Messages: []Message{{Role: model.System, Text: "s"}, {Role: model.User, Text: "u"}, {Role: model.Assistant, Calls: call("")}, result},
		},
	}
	for protocol, want := range want {
		body, err := parseObject([]byte(requests4[protocol][0]))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, codecOf(protocol).request(body, "in-the-path")); d != "" {
			t.Errorf("%s: %s", protocol, d)
		}
	}
}

// TestAnswers: what each protocol's answers say, whole and as the stream that is made of
// them.
func TestAnswers(t *testing.T) {
	usage := model.Usage{Input: 9, Cached: 4, Output: 7, Reasoning: 2}
	turn := func(change func(*Turn)) Turn {
		want := Turn{
			Model: "m", Text: "I read both.", Reasoning: "hm", Thought: "I read both.", Source: "text", Stop: model.StopCalls, Usage: usage,
			Calls: []Call{{ID: "a", Kind: "function", Name: "read", Args: `{"id":"A"}`}, {ID: "b", Kind: "function", Name: "read", Args: "{}"}},
		}
		change(&want)
		return want
	}
	want := map[Protocol][]Turn{
		Responses: {
			turn(func(w *Turn) {
				w.Calls[0].Namespace = "mcp__world"
				w.Calls[1] = Call{ID: "b", Kind: "custom", Name: "patch", Args: "*** Begin"}
			}),
			{Stop: model.StopLength, Refused: "No.", Source: "none", Hosted: []Call{{Kind: "web_search_call", Name: "web_search_call", Args: `{"type":"search","query":"q"}`}}},
			{Stop: model.StopCalls, Source: "none", Calls: []Call{{ID: "c", Kind: "local_shell_call", Name: "local_shell_call", Args: `{"type":"exec","command":["ls"]}`}}},
		},
		ChatCompletions: {
			turn(func(w *Turn) { w.Calls[1].Args = `{"id":` }),
			{Text: "All is done.", Thought: "All is done.", Reasoning: "hm", Source: "text", Stop: model.StopEnd},
			{Text: "a", Thought: "a", Reasoning: "t", Source: "text", Stop: model.StopLength, Others: 1},
			{Source: "none", Stop: model.StopCalls, Calls: []Call{{Kind: "function", Name: "read", Args: "{}"}}},
		},
		Messages: {
			turn(func(w *Turn) { w.Usage.Reasoning = 0 }),
			{Text: "ab", Thought: "ab", Source: "text", Stop: model.StopEnd, Hosted: []Call{{ID: "s", Kind: "server_tool_use", Name: "web_search", Args: `{"q":1}`}}},
			{Source: "none", Stop: model.StopRefusal, Refused: "No."},
		},
		GenerateContent: {
			turn(func(w *Turn) { w.Calls[1].ID = "" }),
			{Text: "ab", Thought: "ab", Source: "text", Stop: model.StopLength, Hosted: []Call{{Kind: "executableCode", Name: "code_execution", Args: `{"code":"1"}`}}},
			{Source: "none", Stop: model.StopRefusal, Refused: "the prompt was blocked: SAFETY"},
			{Source: "none", Stop: model.StopRefusal, Refused: "No."},
		},
	}
	for protocol, want := range want {
		c := codecOf(protocol)
		for i, raw := range answers4[protocol] {
			whole, err := parseObject([]byte(raw))
			if err != nil {
				t.Fatal(err)
			}
			var got Turn
			if err := c.decode(whole, &got); err != nil {
				t.Errorf("%s %d: %v", protocol, i, err)
			}
			if d := cmp.Diff(want[i], got); d != "" {
				t.Errorf("%s %d: %s", protocol, i, d)
			}
			s := c.assemble()
			for _, frame := range c.events(whole) {
				name, data, _ := parse(frame)
				if _, err := s.event(name, data); err != nil {
					t.Fatalf("%s %d: %v", protocol, i, err)
				}
			}
			if whole, err = s.whole(); err != nil {
				t.Fatalf("%s %d: %v", protocol, i, err)
			}
			var streamed Turn
			if err := c.decode(whole, &streamed); err != nil {
				t.Errorf("%s %d: %v", protocol, i, err)
			}
			streamed.Others = got.Others // an edited stream has one
			if d := cmp.Diff(got, streamed); d != "" {
				t.Errorf("%s %d, streamed: %s", protocol, i, d)
			}
		}
	}
}

// TestSummaries: a Thought that is a summary says so, and so does one that is not.
func TestSummaries(t *testing.T) {
	for raw, want := range map[string]string{
		`{"output":[{"type":"reasoning","summary":[{"text":"s"}]}]}`:                            "summary",
		`{"output":[{"type":"reasoning","summary":[],"content":[{"text":"s"}]}]}`:               "reasoning",
		`{"output":[{"type":"reasoning","summary":[{"text":"x"}]},{"type":"function_call"}]}`:   "summary",
		`{"output":[{"type":"message","content":[{"text":"s"}]},{"type":"reasoning"}]}`:         "text",
		`{"output":[{"type":"function_call","call_id":"c","name":"n","arguments":{"id":"A"}}]}`: "none",
	} {
		whole, _ := parseObject([]byte(raw))
		var got Turn
		if err := (responses{}).decode(whole, &got); err != nil || string(got.Source) != want {
			t.Errorf("%s: %q, %v", raw, got.Source, err)
		}
	}
}

// TestSchemaDigest: spelling does not count, meaning does.
func TestSchemaDigest(t *testing.T) {
	a, b := SchemaDigest([]byte(`{"type":"object","required":["a"]}`)), SchemaDigest([]byte("{ \"required\": [ \"a\" ],\n\"type\":\"object\" }"))
	if a != b || a == SchemaDigest([]byte(`{"type":"object","required":["b"]}`)) || len(a) != 64 {
		t.Error(a, b)
	}
}

// TestDigestsRemembered: what is remembered is what is made, and memory has a bound.
func TestDigestsRemembered(t *testing.T) {
	r := remembered{most: 1000, all: map[string]string{}}
	for i := range 3 * 40 {
		schema := fmt.Appendf(nil, `{ "maximum":%d}`, i%40)
		if got := r.of(schema); got != SchemaDigest(schema) {
			t.Errorf("%s: %s", schema, got)
		}
		kept := 0
		for k, v := range r.all {
			kept += len(k) + len(v)
		}
		if kept > r.most || kept == 0 {
			t.Fatalf("%d bytes are remembered", kept)
		}
	}
	before := len(r.all)
	if r.of(bytes.Repeat([]byte(" "), 2000)); len(r.all) != before {
		t.Error("what is larger than all that may be remembered is kept")
	}
}

// TestDifferingItems: a stream whose items hold other calls than the response that ends
// it is none: programs read the one or the other.
func TestDifferingItems(t *testing.T) {
	s := responses{}.assemble()
	for _, e := range []string{
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"x","name":"delete","arguments":"{}"}}`,
		`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"I do nothing."}]}]}}`,
	} {
		if _, err := s.event("", []byte(e)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.whole(); err == nil {
		t.Error("it is taken")
	}
}

// TestActing: from which event on a program can know a whole call, as those know it that
// run calls before a turn is complete.
func TestActing(t *testing.T) {
	for _, c := range []struct {
		codec  codec
		events []string
	}{
		{responses{}, []string{`{"type":"response.created"}`, `{"type":"response.function_call_arguments.delta","delta":"{}"}`, `{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a"}}`}},
		{responses{}, []string{`{"type":"response.output_item.done","item":{"type":"message"}}`, `{"type":"response.output_item.done","item":{"type":"custom_tool_call","call_id":"a"}}`}},
		{chat{}, []string{`{"choices":[{"delta":{"content":"{}"}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"}"}}]}}]}`}},
		{chat{}, []string{`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`}},
		{messages{}, []string{`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}`, `{"type":"content_block_stop","index":0}`}},
		{gemini{}, []string{`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a"}}]}}]}`}},
	} {
		s := c.codec.assemble()
		for i, e := range c.events {
			at, err := s.event("", []byte(e))
			if last := i == len(c.events)-1; err != nil || (at == acting) != last {
				t.Errorf("%T, %s: %v, %v", c.codec, e, at, err)
			}
		}
	}
}
