package compat_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
)

func TestContractStreamed(t *testing.T) {
	modeltest.Run(t, func(t *testing.T, o modeltest.Options) model.Model {
		t.Helper()
		return open(t, "test-model@"+modeltest.Serve(t, o).URL, compat.Options{Key: o.Key, Stream: true})
	}, modeltest.Streamed)
}

// events are deltas as a stream that ends in order.
func events(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString(`data: {"model":"m","choices":[{"index":0,"delta":` + d + `}]}` + "\n\n")
	}
	return b.String() + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
}

// TestStreams: what servers send beside the reference comes to the same turn.
func TestStreams(t *testing.T) {
	says := func(m model.Message) model.Message { m.Role = model.Assistant; return m }
	calls := func(c ...model.ToolCall) model.Message { return says(model.Message{Calls: c}) }
	f := func(id, name, args string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + args + `}}`
	}
	at := func(index, call string) string { return `{"index":` + index + `,` + call[1:] }
	tools := func(c ...string) string { return `{"tool_calls":[` + strings.Join(c, ",") + `]}` }
	for name, test := range map[string]struct {
		body string
		want model.Message
	}{
		"pieces in turns":       {events(tools(at("0", f("a", "f", `""`))), tools(at("1", f("b", "g", `""`))), tools(`{"index":0,"function":{"arguments":"{\"x\""}}`, `{"index":1,"function":{"arguments":"{}"}}`), tools(`{"index":0,"function":{"arguments":":1}"}}`)), calls(model.ToolCall{ID: "a", Name: "f", Args: `{"x":1}`}, model.ToolCall{ID: "b", Name: "g", Args: "{}"})},
		"out of order":          {events(tools(at("1", f("b", "g", `"{}"`))), tools(at("0", f("a", "f", `"{}"`)))), calls(model.ToolCall{ID: "a", Name: "f", Args: "{}"}, model.ToolCall{ID: "b", Name: "g", Args: "{}"})},
		"no index":              {events(tools(f("a", "f", `"{"`)), tools(`{"function":{"arguments":"}"}}`), tools(f("b", "g", `"{}"`))), calls(model.ToolCall{ID: "a", Name: "f", Args: "{}"}, model.ToolCall{ID: "b", Name: "g", Args: "{}"})},
		"neither index nor id":  {events(tools(f("", "f", `"{}"`), f("", "g", `"{}"`))), calls(model.ToolCall{Name: "f", Args: "{}"}, model.ToolCall{Name: "g", Args: "{}"})},
		"one index for all":     {events(tools(at("0", f("a", "f", `"{}"`))), tools(at("0", f("b", "g", `"{}"`)))), calls(model.ToolCall{ID: "a", Name: "f", Args: "{}"}, model.ToolCall{ID: "b", Name: "g", Args: "{}"})},
		"id and name each time": {events(tools(at("0", f("a", "f", `"{"`))), tools(at("0", f("a", "f", `"}"`)))), calls(model.ToolCall{ID: "a", Name: "f", Args: "{}"})},
		"arguments as JSON":     {events(tools(at("0", f("a", "f", `{"x": 1}`)))), calls(model.ToolCall{ID: "a", Name: "f", Args: `{"x": 1}`})},
		"no arguments":          {events(tools(`{"index":0,"id":"a","function":{"name":"f"}}`)), calls(model.ToolCall{ID: "a", Name: "f"})},
		"think tags in pieces":  {events(`{"content":"<th"}`, `{"content":"ink>hm</thi"}`, `{"content":"nk>Yes."}`), says(model.Message{Text: "Yes.", Reasoning: "hm"})},
		"content in parts":      {events(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, `{"content":"Yes"}`, `{"content":"."}`), says(model.Message{Text: "Yes.", Reasoning: "hm"})},
		"text, then parts":      {events(`{"content":"Y"}`, `{"content":[{"type":"text","text":"es."}]}`), says(model.Message{Text: "Yes."})},
		"reasoning":             {events(`{"reasoning_content":"h"}`, `{"reasoning_content":"m","content":null}`, `{"content":"Yes."}`), says(model.Message{Text: "Yes.", Reasoning: "hm", State: []byte(`{"reasoning_content":"hm"}`)})},
		"details in pieces":     {events(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"h","signature":null}]}`, `{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"m","signature":"S="}]}`, `{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"QQ"}]}`, `{"content":"Yes."}`), says(model.Message{Text: "Yes.", State: []byte(`{"reasoning_details":[{"index":0,"signature":"S=","text":"hm","type":"reasoning.text"},{"type":"reasoning.encrypted","index":1,"data":"QQ"}]}`)})},
		"details without place": {events(`{"reasoning_details":[{"type":"x","data":"A"}]}`, `{"reasoning_details":[{"type":"x","data":"B"}]}`), says(model.Message{State: []byte(`{"reasoning_details":[{"type":"x","data":"A"},{"type":"x","data":"B"}]}`)})},
		"CRLF, comments, names": {": ping\r\n\r\nevent: message\r\nid: 1\r\n" + strings.ReplaceAll(events(`{"content":"Yes."}`), "\n", "\r\n"), says(model.Message{Text: "Yes."})},
		"no blank after colon":  {strings.ReplaceAll(events(`{"content":"Yes."}`), "data: ", "data:"), says(model.Message{Text: "Yes."})},
		"a mark at the front":   {"\ufeff" + events(`{"content":"Yes."}`), says(model.Message{Text: "Yes."})},
		"another choice":        {`data: {"choices":[{"index":1,"delta":{"content":"No."}}]}` + "\n\n" + events(`{"content":"Yes."}`), says(model.Message{Text: "Yes."})},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reply(t, 200, test.body)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got.Message); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestUsageOfStreams: in the last chunk, or where Moonshot has it.
func TestUsageOfStreams(t *testing.T) {
	for _, chunk := range []string{
		`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":9,"completion_tokens":4}}]}`,
	} {
		got, err := reply(t, 200, "data: "+chunk+"\n\n"+events(`{"content":"Yes."}`))
		if want := (model.Usage{Input: 9, Output: 4}); err != nil || got.Usage != want {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestBrokenStreams: what is no whole answer is a fault that says so.
func TestBrokenStreams(t *testing.T) {
	whole := events(`{"content":"Yes."}`)
	for name, test := range map[string]struct {
		body  string
		fault model.Fault
		want  string
	}{
		"no mark of the end":   {strings.TrimSuffix(whole, "data: [DONE]\n\n"), model.FaultConnection, "ended before the answer was complete (3 attempts)"},
		"no reason to end":     {strings.ReplaceAll(whole, `"finish_reason":"stop"`, `"finish_reason":null`), model.FaultConnection, "ended before"},
		"cut within an event":  {whole[:len(whole)-4], model.FaultConnection, "ended before"},
		"comments only":        {": ping\n\n: ping\n\n", model.FaultConnection, "ended before"},
		"no JSON":              {"data: {\"choices\n\n", model.FaultAnswer, "an event of it is no JSON object"},
		"no choices":           {"data: {}\n\ndata: [DONE]\n\n", model.FaultConnection, "ended before"},
		"an error":             {`data: {"error":{"message":"upstream is busy","code":503}}` + "\n\n" + whole, model.FaultServer, "upstream is busy"},
		"an error event":       {"event: error\ndata: {\"message\":\"too many\",\"code\":429}\n\n", model.FaultRate, "too many"},
		"an error in a choice": {`data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"Provider disconnected"}}]}` + "\n\n", model.FaultServer, "Provider disconnected"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reply(t, 200, test.body)
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != test.fault || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}
