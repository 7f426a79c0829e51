package compat_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
)

// reply has a server answer with a body, and gives what came of it.
func reply(t *testing.T, status int, body string) (model.Response, error) {
	t.Helper()
	peer := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Body(status, "application/json; charset=utf-8", body))})
	return open(t, "m@"+peer.URL, compat.Options{}).Chat(t.Context(), hello())
}

// TestDialects: what servers of the protocol send beside its letter.
func TestDialects(t *testing.T) {
	turn := func(text, reasoning string, stop model.Stop) model.Response {
		return model.Response{Message: model.Message{Role: model.Assistant, Text: text, Reasoning: reasoning}, Stop: stop}
	}
	calls := func(c ...model.ToolCall) model.Response {
		r := turn("", "", model.StopCalls)
		r.Message.Calls = c
		return r
	}
	state := func(r model.Response, s string) model.Response {
		r.Message.State = []byte(s)
		return r
	}
	refused := turn("", "", model.StopRefusal)
	refused.Refusal = "I can't."
	for name, test := range map[string]struct {
		message, finish string
		want            model.Response
	}{
		"reasoning_content":           {`{"content":"Yes.","reasoning_content":" hm \n"}`, "stop", state(turn("Yes.", "hm", model.StopEnd), `{"reasoning_content":" hm \n"}`)},
		"reasoning":                   {`{"content":"Yes.","reasoning":"hm"}`, "stop", state(turn("Yes.", "hm", model.StopEnd), `{"reasoning":"hm"}`)},
		"reasoning and its details":   {`{"content":"Yes.","reasoning":"hm","reasoning_details":[{"type":"x","data":"AB=="}]}`, "stop", state(turn("Yes.", "hm", model.StopEnd), `{"reasoning":"hm","reasoning_details":[{"type":"x","data":"AB=="}]}`)},
		"empty reasoning":             {`{"content":"Yes.","reasoning_content":"","reasoning":null}`, "stop", turn("Yes.", "", model.StopEnd)},
		"think tags":                  {`{"content":"<think>\nhm\n</think>\n\nYes."}`, "stop", turn("Yes.", "hm", model.StopEnd)},
		"a closing tag only":          {`{"content":"hm\n</think>\nYes."}`, "stop", turn("Yes.", "hm", model.StopEnd)},
		"an opening tag only":         {`{"content":"<think>hm, and"}`, "length", turn("", "hm, and", model.StopLength)},
		"tags in the middle":          {`{"content":"I use <think>x</think> here."}`, "stop", turn("I use <think>x</think> here.", "", model.StopEnd)},
		"content in parts":            {`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"Yes."}]}`, "stop", turn("Yes.", "hm", model.StopEnd)},
		"refusal":                     {`{"content":null,"refusal":"I can't."}`, "stop", refused},
		"filtered":                    {`{"content":""}`, "content_filter", turn("", "", model.StopRefusal)},
		"cut":                         {`{"content":"Yes, and"}`, "length", turn("Yes, and", "", model.StopLength)},
		"an empty turn":               {`{"content":""}`, "stop", turn("", "", model.StopEnd)},
		"another word for the end":    {`{"content":"Yes."}`, "eos", turn("Yes.", "", model.StopEnd)},
		"calls that end with stop":    {`{"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`, "stop", calls(model.ToolCall{ID: "1", Name: "f", Args: "{}"})},
		"malformed arguments":         {`{"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": "}}]}`, "tool_calls", calls(model.ToolCall{ID: "1", Name: "f", Args: `{"a": `})},
		"arguments that are objects":  {`{"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"a": 1}}}]}`, "tool_calls", calls(model.ToolCall{ID: "1", Name: "f", Args: `{"a": 1}`})},
		"no ids and no type":          {`{"content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}]}`, "tool_calls", calls(model.ToolCall{Name: "f", Args: "{}"}, model.ToolCall{Name: "g", Args: "{}"})},
		"no arguments and no content": {`{"tool_calls":[{"id":"1","type":"function","function":{"name":"f"}}]}`, "tool_calls", calls(model.ToolCall{ID: "1", Name: "f"})},
		"two calls of one id":         {`{"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"1","type":"function","function":{"name":"g","arguments":"{}"}}]}`, "tool_calls", calls(model.ToolCall{ID: "1", Name: "f", Args: "{}"}, model.ToolCall{ID: "1", Name: "g", Args: "{}"})},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reply(t, 200, fmt.Sprintf(`{"choices":[{"message":%s,"finish_reason":%q}]}`, test.message, test.finish)) // no usage either
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestNoAnswer: what is no turn is infrastructure, whatever its status.
func TestNoAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		fault  model.Fault
		want   string
	}{
		"no choices":               {200, `{"choices":[]}`, model.FaultAnswer, "it has no choices"},
		"another object":           {200, `{"status":"ok"}`, model.FaultAnswer, "it has no choices"},
		"a list":                   {200, `[1]`, model.FaultAnswer, "it is no JSON object"},
		"no message":               {200, `{"choices":[{"finish_reason":"stop"}]}`, model.FaultAnswer, "its choice has no message"},
		"empty without a reason":   {200, `{"choices":[{"message":{"content":""}}]}`, model.FaultAnswer, "says not why"},
		"text":                     {200, `upstream is warming up`, model.FaultAnswer, "it is no JSON object"},
		"an error with status 200": {200, `{"error":{"message":"upstream is busy","code":503}}`, model.FaultServer, "upstream is busy"},
		"an error in the choice":   {200, `{"choices":[{"message":{"content":"Y"},"finish_reason":"error","error":{"message":"upstream broke off","code":502}}]}`, model.FaultServer, "upstream broke off"},
		"no credit":                {429, `{"error":{"message":"You exceeded your current quota.","code":"insufficient_quota"}}`, model.FaultQuota, "no credit left"},
		"no balance":               {402, `{"error":{"message":"Insufficient Balance"}}`, model.FaultQuota, "no credit left"},
		"unknown model, as 400":    {400, `{"error":{"message":"Model Not Exist","code":"invalid_request_error"}}`, model.FaultModel, "Model Not Exist"},
		"unknown model, flat":      {404, `{"object":"error","message":"The model x does not exist.","type":"NotFoundError","code":404}`, model.FaultModel, "does not exist"},
		"unknown model, as text":   {404, `{"error":"model 'x' not found"}`, model.FaultModel, "not found"},
		"too long":                 {400, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.FaultContext, "does not fit"},
		"a validation error":       {422, `{"detail":[{"loc":["body","seed"],"msg":"extra fields not permitted"}]}`, model.FaultRequest, "extra fields not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reply(t, test.status, test.body)
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != test.fault || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}

// TestFilteredPrompts: a request that the provider's filter rejects is a refusal.
func TestFilteredPrompts(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"The response was filtered due to the prompt triggering the content management policy.","code":"content_filter"}}`,
		`{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","code":"invalid_prompt"}}`,
	} {
		got, err := reply(t, 400, body)
		if err != nil || got.Stop != model.StopRefusal || !strings.Contains(got.Refusal, "policy") {
			t.Errorf("%+v, error %v", got, err)
		}
	}
}

// TestReasoningGoesBack: a model that reasons between calls gets its reasoning back with
// them, in the field it came in; one that made no call does not.
func TestReasoningGoesBack(t *testing.T) {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		play := func(r model.Request) model.Response {
			if len(r.Messages) > 2 {
				return modeltest.Says("I had thought: " + r.Messages[1].Reasoning)
			}
			return model.Response{Stop: model.StopCalls, Message: model.Message{Role: model.Assistant, Reasoning: "hm <&>", Calls: []model.ToolCall{{Name: "f", Args: "{}"}}}}
		}
		m := connect(t, modeltest.Options{Play: play, Reasoning: field})
		r := hello()
		first, err := m.Chat(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, first.Message, model.Message{Role: model.Result, CallID: first.Message.Calls[0].ID, Text: "1"})
		second, err := m.Chat(t.Context(), r)
		if err != nil || second.Message.Text != "I had thought: hm <&>" {
			t.Errorf("%s: %+v, %v", field, second, err)
		}
		first.Message.Text, first.Message.Calls = "Well.", nil
		r.Messages = []model.Message{r.Messages[0], first.Message, {Role: model.User, Text: "Go on."}}
		if second, err = m.Chat(t.Context(), r); err != nil || second.Message.Text != "I had thought:" {
			t.Errorf("%s, without calls: %+v, %v", field, second, err)
		}
	}
}

// TestOddCallsGoBack: names and arguments that a model made up go back in a form that
// servers take, with nothing lost of the arguments.
func TestOddCallsGoBack(t *testing.T) {
	var got []model.ToolCall
	m := connect(t, modeltest.Options{Play: func(r model.Request) model.Response { got = r.Messages[1].Calls; return modeltest.Says("well") }})
	r := hello()
	said := model.Message{Role: model.Assistant}
	for i, c := range []model.ToolCall{
		{Name: "functions.f", Args: `{"a": 1}`}, {Name: "", Args: ""}, {Name: strings.Repeat("é", 70), Args: `{"a": `}, {Name: "f", Args: `[1]`}, {Name: "f", Args: `null`},
	} {
		c.ID = fmt.Sprint(i)
		said.Calls = append(said.Calls, c)
	}
	r.Messages = append(r.Messages, said)
	for _, c := range said.Calls {
		r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Text: "no"})
	}
	if _, err := m.Chat(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	want := []model.ToolCall{
		{ID: "0", Name: "functions_f", Args: `{"a": 1}`}, {ID: "1", Name: "_", Args: `{}`}, {ID: "2", Name: strings.Repeat("_", 64), Args: `{"malformed":"{\"a\": "}`},
		{ID: "3", Name: "f", Args: `{"malformed":"[1]"}`}, {ID: "4", Name: "f", Args: `{"malformed":"null"}`},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// FuzzAnswer: whatever a server sends is a turn or a fault that has a message.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{
		`{"choices":[{"message":{"content":"<think>a</think>b","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`,
		`{"choices":[{"message":{"content":[{"text":"a"}],"reasoning":"b"}}]}`, `{"error":{"code":"x"}}`,
		events(`{"content":"<think>a"}`, `{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}`), "event: error\ndata: {}\n\n", `<html>`, ``, `null`,
	} {
		f.Add(body)
	}
	var body string
	m, err := compat.New("m@http://127.0.0.1:1", compat.Options{Retry: modeltest.Retry(), HTTP: canned{&body}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		body = text
		res, err := m.Chat(t.Context(), hello())
		if e, ok := errors.AsType[*model.Error](err); err != nil && (!ok || e.What == "" || e.Who == "") {
			t.Errorf("error %#v", err)
		}
		if err == nil && (res.Stop == "" || res.Message.Role != model.Assistant) {
			t.Errorf("%+v", res)
		}
	})
}

// canned answers without a server.
type canned struct{ body *string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(*c.body)), Request: r}, nil
}
