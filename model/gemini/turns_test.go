package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/gemini"
	"github.com/agentbound/agentbound/model/modeltest"
)

// modes are the two ways in which an answer comes.
var modes = map[string]bool{"whole": false, "streamed": true}

// thinking is a player's turn that thinks and calls twice.
func thinking() model.Response {
	return model.Response{Stop: model.StopCalls, Message: model.Message{Role: model.Assistant, Text: "I look.", Reasoning: "hm <&>\n“so”",
		Calls: []model.ToolCall{{ID: "a", Name: "read", Args: `{"id":"<A>","n":12345678901234567890}`}, {ID: "b", Name: "read", Args: `{"id":"B"}`}}}}
}

// goOn is the conversation after a turn: each call answered.
func goOn(first model.Message, failed bool) model.Request {
	r := hello()
	r.Messages = append(r.Messages, first)
	for i, c := range first.Calls {
		if c.ID == "" { // as whoever sends it back does
			first.Calls[i].ID = fmt.Sprint("made-up-", i)
		}
		r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: first.Calls[i].ID, Tool: c.Name, Text: `{"n":1}`, Failed: failed})
	}
	return r
}

// TestSignaturesGoBack on the part they came on, and thoughts with them; the text between
// may be another by then, and calls at the end may be missing. The peer refuses anything
// else.
func TestSignaturesGoBack(t *testing.T) {
	for mode, stream := range modes {
		for name, edit := range map[string]func(*model.Message){
			"as it was":    func(*model.Message) {},
			"another text": func(m *model.Message) { m.Text = "I read the record first." },
			"no text":      func(m *model.Message) { m.Text = "" },
			"a call less":  func(m *model.Message) { m.Calls = m.Calls[:1] },
			"no arguments": func(m *model.Message) { m.Calls = slices.Clone(m.Calls); m.Calls[1].Args = "{}" },
			"no calls":     func(m *model.Message) { m.Text, m.Calls = "Enough.", nil },
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				var got model.Request
				peer := serve(t, modeltest.Options{Reasoning: "signed", Play: func(r model.Request) model.Response {
					got = r
					if len(r.Messages) > 1 {
						return modeltest.Says("well")
					}
					return thinking()
				}})
				m := open(t, "test-model@"+peer.URL, gemini.Options{Stream: stream, Effort: "low"})
				first, err := m.Chat(t.Context(), hello())
				if err != nil {
					t.Fatal(err)
				}
				if first.Message.Reasoning != "hm <&>\n“so”" || len(first.Message.State) == 0 {
					t.Errorf("first %+v", first)
				}
				edit(&first.Message)
				r := goOn(first.Message, true)
				if len(first.Message.Calls) == 0 {
					r.Messages = append(r.Messages, model.Message{Role: model.User, Text: "Go on."})
				}
				if _, err := m.Chat(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				first.Message.State = nil
				if d := cmp.Diff(first.Message, got.Messages[1]); d != "" {
					t.Error(d)
				}
				if last := got.Messages[len(got.Messages)-1]; last.Role == model.Result && !last.Failed {
					t.Errorf("the failure of a result was lost: %+v", last)
				}
			})
		}
	}
}

// TestSignedTextGoesBack, though nothing was called.
func TestSignedTextGoesBack(t *testing.T) {
	for mode, stream := range modes {
		peer := serve(t, modeltest.Options{Reasoning: "signed", Play: modeltest.Script(modeltest.Says("I think so."))})
		m := open(t, "test-model@"+peer.URL, gemini.Options{Stream: stream})
		first, err := m.Chat(t.Context(), hello())
		if err != nil || first.Message.Text != "I think so." {
			t.Fatalf("%s: %+v, %v", mode, first, err)
		}
		r := hello()
		r.Messages = append(r.Messages, first.Message, model.Message{Role: model.User, Text: "Go on."})
		if _, err := m.Chat(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if sent := string(peer.Requests()[1]); !strings.Contains(sent, `"thoughtSignature"`) {
			t.Errorf("%s: sent %s", mode, sent)
		}
	}
}

// TestBothModesAgree: the same turn comes of a stream, wherever it is cut, state and all.
func TestBothModesAgree(t *testing.T) {
	var want model.Response
	for i, o := range []struct {
		stream bool
		piece  int
	}{{false, 0}, {true, 0}, {true, 1}, {true, 7}, {true, 1000}} {
		peer := serve(t, modeltest.Options{Reasoning: "signed", Piece: o.piece, Play: modeltest.Script(thinking())})
		got, err := open(t, "test-model@"+peer.URL, gemini.Options{Stream: o.stream}).Chat(t.Context(), hello())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			want = got
		}
		if d := cmp.Diff(parsed(t, want.Message.State), parsed(t, got.Message.State)); d != "" {
			t.Errorf("%+v: state %s", o, d)
		}
		got.Message.State = want.Message.State
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%+v: %s", o, d)
		}
	}
}

func parsed(t *testing.T, state []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(state, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCallsWithoutIDs: where the server gives none, none go back, whatever id they have
// in the conversation.
func TestCallsWithoutIDs(t *testing.T) {
	for mode, stream := range modes {
		peer := serve(t, modeltest.Options{Reasoning: "signed", Play: func(r model.Request) model.Response {
			if len(r.Messages) > 1 {
				return modeltest.Says("well")
			}
			return thinking()
		}, Edit: func(a map[string]any) {
			for _, p := range a["candidates"].([]any)[0].(map[string]any)["content"].(map[string]any)["parts"].([]any) {
				if c, ok := p.(map[string]any)["functionCall"].(map[string]any); ok {
					delete(c, "id")
				}
			}
		}})
		m := open(t, "test-model@"+peer.URL, gemini.Options{Stream: stream})
		first, err := m.Chat(t.Context(), hello())
		if err != nil || len(first.Message.Calls) != 2 || first.Message.Calls[0].ID != "" {
			t.Fatalf("%s: %+v, %v", mode, first, err)
		}
		if _, err := m.Chat(t.Context(), goOn(first.Message, false)); err != nil {
			t.Fatal(err)
		}
		if sent := string(peer.Requests()[1]); strings.Contains(sent, "made-up") {
			t.Errorf("%s: sent %s", mode, sent)
		}
	}
}

// TestForeignCalls: calls that did not come from the server say so in place of a
// signature.
func TestForeignCalls(t *testing.T) {
	peer := serve(t, modeltest.Options{Reasoning: "signed", Play: modeltest.Script(modeltest.Says("well"))})
	m := model.Message{Role: model.Assistant, Calls: []model.ToolCall{{ID: "1", Name: "9 of them", Args: `[1]`}, {ID: "2", Name: "f"}}}
	if _, err := open(t, "test-model@"+peer.URL, gemini.Options{}).Chat(t.Context(), goOn(m, false)); err != nil {
		t.Fatal(err)
	}
	sent := string(peer.Requests()[0])
	if strings.Count(sent, "skip_thought_signature_validator") != 1 || !strings.Contains(sent, `"name":"_9_of_them"`) || !strings.Contains(sent, `{"malformed":"[1]"}`) {
		t.Errorf("sent %s", sent)
	}
}

// TestParametersOfThinking: each effort as it is sent, for models of either kind.
func TestParametersOfThinking(t *testing.T) {
	for name, test := range map[string]struct{ model, effort, want string }{
		"nothing asked for":  {"gemini-3-pro", "", `null`},
		"a level":            {"gemini-3-pro", "high", `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		"as the model likes": {"gemini-3-pro", "auto", `{"includeThoughts":true}`},
		"a budget":           {"gemini-2.5-flash", "low", `{"includeThoughts":true,"thinkingBudget":1024}`},
		"a budget of tokens": {"gemini-2.5-pro", "5000", `{"includeThoughts":true,"thinkingBudget":5000}`},
		"none":               {"gemini-2.5-flash", "none", `{"thinkingBudget":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			peer := serve(t, modeltest.Options{Model: test.model, Play: modeltest.Script(modeltest.Says("well"))})
			if _, err := open(t, test.model+"@"+peer.URL, gemini.Options{Effort: test.effort}).Chat(t.Context(), hello()); err != nil {
				t.Fatal(err)
			}
			var sent struct {
				Generation struct {
					Thinking any `json:"thinkingConfig"`
				} `json:"generationConfig"`
			}
			if err := json.Unmarshal(peer.Requests()[0], &sent); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(parsed(t, []byte(test.want)), sent.Generation.Thinking); d != "" {
				t.Error(d)
			}
		})
	}
	for spec, effort := range map[string]string{"gemini-3-pro": "5000", "gemini-3-flash": "none", "gemini-2.5-pro": "99999", "gemini-2.5-flash": "max"} {
		_, err := gemini.New(spec, gemini.Options{Effort: effort})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("gemini:%s: effort %q is not known", spec, effort)) || !strings.Contains(err.Error(), "accepted: ") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestRef: what decides answers, and nothing secret. A version at the end of a base URL
// is one of the API.
func TestRef(t *testing.T) {
	for spec, want := range map[string][2]string{
		"gemini:gemini-3-pro":                     {"gemini:gemini-3-pro", "https://generativelanguage.googleapis.com"},
		"gemini-3-pro@https://llm.example/v1beta": {"gemini:gemini-3-pro@https://llm.example", "https://llm.example"},
	} {
		got := open(t, spec, gemini.Options{Key: "hunter2", Effort: "low"}).Ref()
		if d := cmp.Diff(model.Ref{Name: want[0], Settings: map[string]string{"model": "gemini-3-pro", "base_url": want[1], "adapter": "gemini/1", "effort": "low"}}, got); d != "" {
			t.Error(d)
		}
	}
}

// TestStops: why turns end, in either mode.
func TestStops(t *testing.T) {
	for reason, want := range map[string]model.Stop{
		"STOP": model.StopEnd, "MAX_TOKENS": model.StopLength, "SAFETY": model.StopRefusal, "RECITATION": model.StopRefusal, "BLOCKLIST": model.StopRefusal,
		"PROHIBITED_CONTENT": model.StopRefusal, "SPII": model.StopRefusal, "LANGUAGE": model.StopRefusal, "OTHER": model.StopEnd, "SOMETHING_NEW": model.StopEnd,
	} {
		for mode, stream := range modes {
			peer := serve(t, modeltest.Options{Play: modeltest.Script(modeltest.Says("So")), Edit: func(a map[string]any) {
				c := a["candidates"].([]any)[0].(map[string]any)
				c["finishReason"], c["finishMessage"] = reason, "because"
			}})
			got, err := open(t, "test-model@"+peer.URL, gemini.Options{Stream: stream}).Chat(t.Context(), hello())
			if err != nil || got.Stop != want || got.Message.Text != "So" || got.Refusal != map[bool]string{true: "because"}[want == model.StopRefusal] {
				t.Errorf("%s, %s: %+v, %v", reason, mode, got, err)
			}
		}
	}
}

// TestMalformedFunctionCall is the model's own doing: a call that no tool can read, whose
// answer the model gets.
func TestMalformedFunctionCall(t *testing.T) {
	for message, name := range map[string]string{"Malformed function call: print(default_api.share(photo=P-1))": "share", "Malformed function call: x": "malformed_function_call"} {
		for mode, stream := range modes {
			peer := serve(t, modeltest.Options{Reasoning: "signed", Play: modeltest.Script(modeltest.Says("")), Edit: func(a map[string]any) {
				c := a["candidates"].([]any)[0].(map[string]any)
				c["finishReason"], c["finishMessage"] = "MALFORMED_FUNCTION_CALL", message
			}})
			m := open(t, "test-model@"+peer.URL, gemini.Options{Stream: stream})
			got, err := m.Chat(t.Context(), hello())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]model.ToolCall{{Name: name, Args: message}}, got.Message.Calls); d != "" || got.Stop != model.StopCalls {
				t.Errorf("%s: %+v %s", mode, got, d)
			}
			if _, err := m.Chat(t.Context(), goOn(got.Message, true)); err != nil {
				t.Errorf("%s: it does not go back: %v", mode, err)
			}
		}
	}
}

// TestBlockedPrompts are refusals.
func TestBlockedPrompts(t *testing.T) {
	for mode, stream := range modes {
		peer := serve(t, modeltest.Options{Play: modeltest.Script(modeltest.Says("")), Edit: func(a map[string]any) {
			delete(a, "candidates")
			a["promptFeedback"] = map[string]any{"blockReason": "PROHIBITED_CONTENT"}
		}})
		got, err := open(t, "test-model@"+peer.URL, gemini.Options{Stream: stream}).Chat(t.Context(), hello())
		if err != nil || got.Stop != model.StopRefusal || got.Refusal != "the prompt was blocked: PROHIBITED_CONTENT" || got.Message.Role != model.Assistant {
			t.Errorf("%s: %+v, %v", mode, got, err)
		}
	}
}

// TestSchemasPassUnchanged, and everything else of a tool.
func TestSchemasPassUnchanged(t *testing.T) {
	schema := `{"type":"object","required":["z","a"],"properties":{"z":{"type":"integer","maximum":12345678901234567890},"a":{"description":"<b> & “c”","enum":[1.0,1e3]}},"$defs":{},"additionalProperties":false}`
	peer := serve(t, modeltest.Options{Play: modeltest.Script(modeltest.Says("well"))})
	r := hello()
	r.Tools = []agentbound.Tool{{Name: "Read-it.2", Description: "Read <it>.", Schema: agentbound.Value(schema)}}
	if _, err := open(t, "test-model@"+peer.URL, gemini.Options{}).Chat(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	escaped := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(schema) // the same JSON
	if sent := string(peer.Requests()[0]); !strings.Contains(sent, `"parametersJsonSchema":`+escaped) || !strings.Contains(sent, `"name":"Read-it.2"`) {
		t.Errorf("sent %s", sent)
	}
}

// canned is an answer without a server.
func canned(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

type always struct {
	status int
	body   string
}

func (a *always) RoundTrip(*http.Request) (*http.Response, error) {
	return canned(a.status, a.body), nil
}

// TestFaultsInside: errors that come with a status of success, and streams that end
// before their end.
func TestFaultsInside(t *testing.T) {
	const start = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"He\"}]}}]}\r\n\r\n"
	for name, test := range map[string]struct {
		body, want string
		fault      model.Fault
	}{
		"an error event":    {start + "data: {\"error\":{\"code\":503,\"message\":\"Overloaded hunter2\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n", "Overloaded [key]", model.FaultServer},
		"a rate limit":      {start + "data: {\"error\":{\"code\":429,\"message\":\"slow\",\"status\":\"RESOURCE_EXHAUSTED\"}}\r\n\r\n", "too many requests", model.FaultRate},
		"an error object":   {`{"error":{"code":500,"message":"oops","status":"INTERNAL"}}`, "oops", model.FaultServer},
		"it broke off":      {start, "the stream broke off", model.FaultConnection},
		"within an event":   {start + "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}", "the stream broke off", model.FaultConnection},
		"no JSON":           {start + "data: {\r\n\r\n", "no JSON object", model.FaultAnswer},
		"another object":    {`{"status":"ok"}`, "no candidate", model.FaultAnswer},
		"no reason":         {`{"candidates":[{"content":{"parts":[{"text":"x"}]}}]}`, "no candidate that says why", model.FaultAnswer},
		"empty without one": {`{"candidates":[{"finishReason":"OTHER"}]}`, "says not why", model.FaultAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, "m@http://127.0.0.1:1", gemini.Options{Key: "hunter2", Stream: true, HTTP: &always{200, test.body}}).Chat(t.Context(), hello())
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.fault || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestStreamsOfOtherForms: what the standard of server-sent events allows.
func TestStreamsOfOtherForms(t *testing.T) {
	const one, two = `{"candidates":[{"content":{"parts":[{"text":"He"}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"llo"}]},"finishReason":"STOP"}]}`
	for name, body := range map[string]string{
		"line feeds":       "data: " + one + "\n\ndata: " + two + "\n\n",
		"carriage returns": "data: " + one + "\r\rdata: " + two + "\r\r",
		"comments":         ": ping\n\ndata: " + one + "\n: ping\n\nevent: x\nid: 1\ndata:" + two + "\n\n",
		"data in lines":    "data: " + strings.Replace(one, ",", ",\ndata: ", 1) + "\n\ndata: " + strings.Replace(two, ":[", ":\ndata: [", 1) + "\n\n",
		"a whole answer":   strings.Replace(two, "llo", "Hello", 1),
	} {
		got, err := open(t, "m@http://127.0.0.1:1", gemini.Options{Stream: true, HTTP: &always{200, body}}).Chat(t.Context(), hello())
		if err != nil || got.Message.Text != "Hello" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestRetryInfo: how long to wait stands in the body.
func TestRetryInfo(t *testing.T) {
	body := `{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3600s"}]}}`
	_, err := open(t, "m@http://127.0.0.1:1", gemini.Options{HTTP: &always{429, body}}).Chat(t.Context(), hello())
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultRate || e.After != time.Hour || !strings.Contains(err.Error(), "it asks to wait 1h0m0s") {
		t.Errorf("error %v", err)
	}
}

// TestOneMessageEach: what is set up wrongly is said in one line, with what to do.
func TestOneMessageEach(t *testing.T) {
	peer := serve(t, modeltest.Options{Key: "right", Play: modeltest.Script(modeltest.Says("well"))})
	closed := serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Status(403, "", "Method doesn't allow unregistered callers"))})
	for name, test := range map[string]struct {
		spec, key, want string
		fault           model.Fault
	}{
		"a wrong key":      {"test-model@" + peer.URL, "wrong-hunter2", "the server does not accept the key (status 400); check the key in GEMINI_API_KEY", model.FaultKey},
		"no key":           {"test-model@" + closed.URL, "", "the server wants a key (status 403); set GEMINI_API_KEY", model.FaultKey},
		"an unknown model": {"other@" + peer.URL, "right", `check the name "other" against the models that ` + peer.URL + " serves", model.FaultModel},
		"a wrong base URL": {"test-model@" + peer.URL + "/x", "right", "this server has no /v1beta/models/test-model:generateContent (status 404): 404 page not found; check the base URL " + peer.URL + "/x: the vendor's own is https://generativelanguage.googleapis.com", model.FaultAddress},
		"an odd name":      {"a?b@" + peer.URL, "right", "the request could not be made", model.FaultRequest},
	} {
		for mode, stream := range modes {
			_, err := open(t, test.spec, gemini.Options{Key: test.key, Stream: stream}).Chat(t.Context(), hello())
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.fault || !strings.HasPrefix(err.Error(), "gemini:"+test.spec+": ") || !strings.HasSuffix(strings.Replace(err.Error(), "streamGenerateContent", "generateContent", 1), test.want) {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %q", name, err)
			}
		}
	}
}

// watch sees requests on their way.
type watch struct{ see func(*http.Request) }

func (w watch) RoundTrip(r *http.Request) (*http.Response, error) {
	w.see(r)
	return http.DefaultTransport.RoundTrip(r)
}

// TestTheKeyStaysAtHome: it goes into a header, never into the address; nothing of the
// environment is sent or followed.
func TestTheKeyStaysAtHome(t *testing.T) {
	for _, name := range []string{"GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT"} {
		t.Setenv(name, "another-vendors")
	}
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
	for _, key := range []string{"", "hunter2"} {
		for mode, stream := range modes {
			var seen *http.Request
			peer := serve(t, modeltest.Options{Key: key, Play: modeltest.Script(modeltest.Says("well"))})
			m := open(t, "test-model@"+peer.URL, gemini.Options{Key: key, Stream: stream, HTTP: watch{func(r *http.Request) { seen = r.Clone(r.Context()) }}})
			if _, err := m.Chat(t.Context(), hello()); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(seen.URL.String(), "hunter2") {
				t.Errorf("%s: address %s", mode, seen.URL)
			}
			for k, v := range seen.Header {
				if strings.Contains(strings.Join(v, " "), "another-vendors") || strings.Contains(strings.Join(v, " "), "unused") {
					t.Errorf("%s: header %s: %s", mode, k, v)
				}
			}
		}
	}
}

// FuzzAnswer: whatever a server sends is a turn or a fault that has a message, and what is
// a turn can be sent back.
func FuzzAnswer(f *testing.F) {
	answer := modeltest.Gemini{}.Encode("m", modeltest.Options{Reasoning: "signed"}, thinking())
	f.Add(strings.Join(modeltest.Gemini{}.Stream(answer), ""))
	whole, err := json.Marshal(answer)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(whole))
	for _, body := range []string{
		"", "null", "[]", "<html>", `{"error":{}}`, "data: {}\n\n", `{"candidates":[null]}`, `{"candidates":[{"content":{"parts":[null,{"functionCall":{}}]},"finishReason":"STOP"}]}`,
		`{"candidates":{"content":1}}`, "data: x\r\r\n\n:\n", `{"promptFeedback":{"blockReason":"SAFETY"}}`,
	} {
		f.Add(body)
	}
	served := &always{status: 200}
	m := open(f, "m@http://127.0.0.1:1", gemini.Options{Stream: true, HTTP: served})
	f.Fuzz(func(t *testing.T, body string) {
		served.body = body
		res, err := m.Chat(t.Context(), hello())
		if e, ok := errors.AsType[*model.Error](err); err != nil && (!ok || e.What == "" || e.Who == "") {
			t.Errorf("error %#v", err)
		}
		if err != nil {
			return
		}
		if res.Stop == "" || res.Message.Role != model.Assistant {
			t.Errorf("%+v", res)
		}
		_, err = m.Chat(t.Context(), goOn(res.Message, false))
		if e, ok := errors.AsType[*model.Error](err); ok && e.Fault == model.FaultRequest && !strings.Contains(e.What, "status") {
			t.Errorf("it does not go back: %v", err)
		}
	})
}
