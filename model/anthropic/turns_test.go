package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/modeltest"
)

// modes are the two ways in which an answer comes.
var modes = map[string]bool{"whole": false, "streamed": true}

// thinking is a player's turn that thinks and calls twice.
func thinking() model.Response {
	return model.Response{Stop: model.StopCalls, Message: model.Message{Role: model.Assistant, Text: "I look.", Reasoning: "hm <&>\n“so”",
		Calls: []model.ToolCall{{ID: "a", Name: "read", Args: `{"id":"A"}`}, {ID: "b", Name: "read", Args: `{"id":"B"}`}}}}
}

// goOn is the conversation after a turn: each call answered.
func goOn(first model.Message, failed bool) model.Request {
	r := hello()
	r.Messages = append(r.Messages, first)
	for _, c := range first.Calls {
		r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Tool: c.Name, Text: `{"n":1}`, Failed: failed})
	}
	return r
}

// TestThinkingGoesBack: a model that thinks gets its thinking back as it was, signed or
// encrypted, with the calls it led to; the text between may be another by then, and calls
// at the end may be missing. The peer refuses anything else.
func TestThinkingGoesBack(t *testing.T) {
	for mode, stream := range modes {
		for _, kind := range []string{"thinking", "redacted"} {
			for name, edit := range map[string]func(*model.Message){
				"as it was":       func(*model.Message) {},
				"another text":    func(m *model.Message) { m.Text = "I read the record first." },
				"no text":         func(m *model.Message) { m.Text = "" },
				"a call less":     func(m *model.Message) { m.Calls = m.Calls[:1] },
				"no arguments":    func(m *model.Message) { m.Calls = slices.Clone(m.Calls); m.Calls[1].Args = "{}" },
				"other ids":       func(m *model.Message) { m.Calls = slices.Clone(m.Calls); m.Calls[0].ID = "call_1" },
				"a text unsigned": func(m *model.Message) { m.Text, m.Calls = "Enough.", nil },
			} {
				t.Run(mode+"/"+kind+"/"+name, func(t *testing.T) {
					var got model.Request
					peer := serve(t, modeltest.Options{Reasoning: kind, Play: func(r model.Request) model.Response {
						got = r
						if len(r.Messages) > 1 {
							return modeltest.Says("well")
						}
						return thinking()
					}})
					m := open(t, "test-model@"+peer.URL, anthropic.Options{Stream: stream, Effort: "low"})
					first, err := m.Chat(t.Context(), hello())
					if err != nil {
						t.Fatal(err)
					}
					if want := map[string]string{"thinking": "hm <&>\n“so”"}[kind]; first.Message.Reasoning != want || len(first.Message.State) == 0 {
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
}

// TestBothModesAgree: the same turn comes of a stream, wherever it is cut, state and all.
func TestBothModesAgree(t *testing.T) {
	for _, kind := range []string{"", "thinking", "redacted"} {
		var want model.Response
		for i, o := range []struct {
			stream bool
			piece  int
		}{{false, 0}, {true, 0}, {true, 1}, {true, 7}, {true, 1000}} {
			peer := serve(t, modeltest.Options{Reasoning: kind, Piece: o.piece, Play: modeltest.Script(thinking())})
			got, err := open(t, "test-model@"+peer.URL, anthropic.Options{Stream: o.stream}).Chat(t.Context(), hello())
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				want = got
			}
			// A stream's block may name its fields in another order.
			if d := cmp.Diff(parsed(t, want.Message.State), parsed(t, got.Message.State)); d != "" {
				t.Errorf("%s, %+v: state %s", kind, o, d)
			}
			got.Message.State = want.Message.State
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, %+v: %s", kind, o, d)
			}
		}
	}
}

func parsed(t *testing.T, state []byte) (v any) {
	t.Helper()
	if state == nil {
		return nil
	}
	if err := json.Unmarshal(state, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestParametersOfThinking: each effort as it is sent, for models of either kind.
func TestParametersOfThinking(t *testing.T) {
	hot := 0.5
	for name, test := range map[string]struct {
		model, effort string
		temperature   *float64
		limit         int
		want          string // beside model and messages
		version       string
	}{
		"nothing asked for":         {"claude-opus-4-8", "", nil, 0, `{"max_tokens":16384}`, "2026-10-21"},
		"adaptive":                  {"claude-opus-4-8", "high", nil, 50, `{"max_tokens":50,"output_config":{"effort":"high"},"thinking":{"display":"summarized","type":"adaptive"}}`, "2026-10-21"},
		"as the model likes":        {"claude-fable-5", "auto", nil, 0, `{"max_tokens":16384,"thinking":{"display":"summarized","type":"adaptive"}}`, "2026-10-21"},
		"none":                      {"claude-opus-4-8", "none", nil, 0, `{"max_tokens":16384,"thinking":{"type":"disabled"}}`, "2026-10-21"},
		"a budget":                  {"claude-opus-4-1", "low", nil, 100, `{"max_tokens":2148,"thinking":{"budget_tokens":2048,"type":"enabled"}}`, "2026-10-21"},
		"a budget of tokens":        {"claude-haiku-4-5-20251001", "5000", nil, 0, `{"max_tokens":21384,"thinking":{"budget_tokens":5000,"type":"enabled"}}`, "2026-10-21"},
		"a temperature":             {"claude-sonnet-4-6", "", &hot, 0, `{"max_tokens":16384,"temperature":0.5}`, "2023-06-01"},
		"a temperature not taken":   {"claude-opus-4-7", "", &hot, 0, `{"max_tokens":16384}`, "2026-10-21"},
		"a temperature by thinking": {"claude-sonnet-4-5", "low", &hot, 0, `{"max_tokens":18432,"thinking":{"budget_tokens":2048,"type":"enabled"}}`, "2026-10-21"},
	} {
		t.Run(name, func(t *testing.T) {
			var version string
			peer := serve(t, modeltest.Options{Model: test.model, Play: modeltest.Script(modeltest.Says("well"))})
			m := open(t, test.model+"@"+peer.URL, anthropic.Options{Effort: test.effort, HTTP: watch{func(r *http.Request) { version = r.Header.Get("Anthropic-Version") }}})
			r := hello()
			r.Temperature, r.MaxTokens = test.temperature, test.limit
			if _, err := m.Chat(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			var sent map[string]json.RawMessage
			if err := json.Unmarshal(peer.Requests()[0], &sent); err != nil {
				t.Fatal(err)
			}
			delete(sent, "model")
			delete(sent, "messages")
			got, err := agentbound.EncodeJSON(sent)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(parsed(t, []byte(test.want)), parsed(t, got)); d != "" {
				t.Error(d)
			}
			if version != test.version {
				t.Errorf("version %s", version)
			}
		})
	}
}

// watch sees requests on their way.
type watch struct{ see func(*http.Request) }

func (w watch) RoundTrip(r *http.Request) (*http.Response, error) {
	w.see(r)
	return http.DefaultTransport.RoundTrip(r)
}

func TestEffortsThatAreNone(t *testing.T) {
	for spec, effort := range map[string]string{"claude-opus-4-8": "5000", "claude-fable-5": "very", "claude-opus-4-1": "xhigh", "claude-sonnet-4": "1000"} {
		_, err := anthropic.New(spec, anthropic.Options{Effort: effort})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("anthropic:%s: effort %q is not known", spec, effort)) || !strings.Contains(err.Error(), "accepted: ") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestRef: what decides answers, and nothing secret.
func TestRef(t *testing.T) {
	for spec, want := range map[string]map[string]string{
		"anthropic:claude-opus-4-6":                   {"model": "claude-opus-4-6", "base_url": "https://api.anthropic.com"},
		"claude-fable-5@https://llm.example/v1/":      {"model": "claude-fable-5", "base_url": "https://llm.example", "temperature": "none"},
		"anthropic:claude-fable-5@http://127.0.0.1:1": {"model": "claude-fable-5", "base_url": "http://127.0.0.1:1", "temperature": "none"},
	} {
		want["adapter"], want["seed"] = "anthropic/1", "none"
		got := open(t, spec, anthropic.Options{Key: "hunter2"}).Ref()
		if d := cmp.Diff(want, got.Settings); d != "" {
			t.Error(d)
		}
	}
	if got := open(t, "anthropic:claude-fable-5", anthropic.Options{Effort: "max"}).Ref(); got.Name != "anthropic:claude-fable-5" || got.Settings["effort"] != "max" {
		t.Errorf("%+v", got)
	}
}

// TestStops: why turns end, in either mode.
func TestStops(t *testing.T) {
	for reason, want := range map[string]model.Stop{
		"end_turn": model.StopEnd, "stop_sequence": model.StopEnd, "max_tokens": model.StopLength, "model_context_window_exceeded": model.StopLength,
		"refusal": model.StopRefusal, "something_new": model.StopEnd,
	} {
		for mode, stream := range modes {
			peer := serve(t, modeltest.Options{Play: modeltest.Script(modeltest.Says("So")), Edit: func(a map[string]any) { a["stop_reason"] = reason }})
			got, err := open(t, "test-model@"+peer.URL, anthropic.Options{Stream: stream}).Chat(t.Context(), hello())
			if err != nil || got.Stop != want || got.Message.Text != "So" {
				t.Errorf("%s, %s: %+v, %v", reason, mode, got, err)
			}
		}
	}
}

// TestPausedTurns are taken up again and come back as one; a server that pauses without
// end is left at some time.
func TestPausedTurns(t *testing.T) {
	for mode, stream := range modes {
		t.Run(mode, func(t *testing.T) {
			peer := &pausing{ends: 2}
			m := open(t, "m@http://127.0.0.1:1", anthropic.Options{Stream: stream, HTTP: peer})
			got, err := m.Chat(t.Context(), hello())
			if err != nil || got.Stop != model.StopCalls || got.Message.Text != "part 0\n\npart 1\n\npart 2" || got.Usage.Output != 9 || len(peer.bodies) != 3 {
				t.Fatalf("%+v, %v, after %d requests", got, err, len(peer.bodies))
			}
			if last := peer.bodies[2]; !strings.Contains(last, `{"type":"server_tool_use","id":"s0"`) || !strings.Contains(last, `"text":"part 1"`) {
				t.Errorf("what was paused did not go back: %s", last)
			}
			r := goOn(got.Message, false)
			if _, err := m.Chat(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if last := peer.bodies[3]; strings.Count(last, "server_tool_use") != 3 || !strings.Contains(last, `"text":"part 2"`) {
				t.Errorf("what the turn held did not go back: %s", last)
			}
			peer = &pausing{ends: 1000}
			if _, err := open(t, "m@http://127.0.0.1:1", anthropic.Options{HTTP: peer}).Chat(t.Context(), hello()); err != nil || len(peer.bodies) > 20 {
				t.Errorf("%v after %d requests", err, len(peer.bodies))
			}
		})
	}
}

// pausing answers with paused turns, and after some with one that ends in a call.
type pausing struct {
	ends   int
	bodies []string
}

func (p *pausing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	n := len(p.bodies)
	p.bodies = append(p.bodies, string(body))
	content := fmt.Sprintf(`{"type":"server_tool_use","id":"s%d","name":"web_search","input":{"q":"<x>"}},{"type":"text","text":"part %d"}`, n, n)
	stop := "pause_turn"
	if n >= p.ends {
		content, stop = content+`,{"type":"tool_use","id":"a","name":"f","input":{}}`, "tool_use"
	}
	return canned(200, fmt.Sprintf(`{"type":"message","model":"m","content":[%s],"stop_reason":%q,"usage":{"input_tokens":1,"output_tokens":3}}`, content, stop)), nil
}

// canned is an answer without a server.
func canned(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

type always struct{ body string }

func (a *always) RoundTrip(*http.Request) (*http.Response, error) { return canned(200, a.body), nil }

// TestMalformedArguments can come in a stream only: they reach the tool as they are, and
// go back inside of an object.
func TestMalformedArguments(t *testing.T) {
	var got model.Request
	peer := serve(t, modeltest.Options{Play: func(r model.Request) model.Response {
		got = r
		if len(r.Messages) > 1 {
			return modeltest.Says("well")
		}
		return model.Response{Stop: model.StopCalls, Message: model.Message{Role: model.Assistant, Calls: []model.ToolCall{{Name: "functions.f", Args: `{"id": "B`}, {Name: "g"}}}}
	}})
	m := open(t, "test-model@"+peer.URL, anthropic.Options{Stream: true})
	first, err := m.Chat(t.Context(), hello())
	if err != nil || first.Message.Calls[0].Args != `{"id": "B` || first.Message.Calls[1].Args != "{}" {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := m.Chat(t.Context(), goOn(first.Message, true)); err != nil {
		t.Fatal(err)
	}
	if c := got.Messages[1].Calls[0]; c.Name != "functions_f" || c.Args != `{"malformed":"{\"id\": \"B"}` {
		t.Errorf("%+v", c)
	}
}

// TestSchemasPassUnchanged, and everything else of a tool.
func TestSchemasPassUnchanged(t *testing.T) {
	schema := `{"type":"object","required":["z","a"],"properties":{"z":{"type":"integer","maximum":12345678901234567890},"a":{"description":"<b> & “c”","enum":[1.0,1e3]}},"$defs":{},"additionalProperties":false}`
	peer := serve(t, modeltest.Options{Play: modeltest.Script(modeltest.Says("well"))})
	r := hello()
	r.Tools = []agentbound.Tool{{Name: "Read-it_2", Description: "Read <it>.", Schema: agentbound.Value(schema)}}
	if _, err := open(t, "test-model@"+peer.URL, anthropic.Options{}).Chat(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	escaped := strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(schema) // the same JSON
	if sent := string(peer.Requests()[0]); !strings.Contains(sent, escaped) || !strings.Contains(sent, `"name":"Read-it_2"`) {
		t.Errorf("sent %s", sent)
	}
}

// TestFaultsInside: errors that come with a status of success, and streams that end
// before their end.
func TestFaultsInside(t *testing.T) {
	const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"content\":[],\"model\":\"m\"}}\n\n"
	for name, test := range map[string]struct {
		body, want string
		fault      model.Fault
	}{
		"an error event":           {start + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded hunter2\"}}\n\n", "Overloaded [key]", model.FaultServer},
		"a rate limit":             {start + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n", "too many requests", model.FaultRate},
		"an error of a new kind":   {start + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"odd_error\",\"message\":\"odd\"}}\n\n", "odd", model.FaultServer},
		"an error object":          {`{"type":"error","error":{"type":"api_error","message":"oops"}}`, "oops", model.FaultServer},
		"it broke off":             {start, "the stream broke off", model.FaultConnection},
		"it broke off in an event": {start + "event: content_block_start\ndata: {\"type\":\"content_bl", "the stream broke off", model.FaultConnection},
		"it broke off by the end":  {start + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{}}\n\n", "the stream broke off", model.FaultConnection},
		"no reason":                {start + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "does not say why", model.FaultAnswer},
		"out of order":             {start + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n", "out of order", model.FaultAnswer},
		"no JSON":                  {start + "event: message_delta\ndata: {\n\n", "is no JSON object", model.FaultAnswer},
		"another object":           {`{"status":"ok"}`, "no content", model.FaultAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, "m@http://127.0.0.1:1", anthropic.Options{Key: "hunter2", Stream: true, HTTP: &always{test.body}}).Chat(t.Context(), hello())
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.fault || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestOneMessageEach: what is set up wrongly is said in one line, with what to do.
func TestOneMessageEach(t *testing.T) {
	peer := serve(t, modeltest.Options{Key: "right", Play: modeltest.Script(modeltest.Says("well"))})
	large := serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Status(413, "", "Request exceeds the maximum size"))})
	for name, test := range map[string]struct {
		spec, key, want string
		fault           model.Fault
	}{
		"a wrong key":      {"test-model@" + peer.URL, "wrong-hunter2", "the server does not accept the key (status 401); check the key in ANTHROPIC_API_KEY", model.FaultKey},
		"no key":           {"test-model@" + peer.URL, "", "the server wants a key (status 401); set ANTHROPIC_API_KEY", model.FaultKey},
		"an unknown model": {"other@" + peer.URL, "right", `check the name "other" against the models that ` + peer.URL + " serves", model.FaultModel},
		"a wrong base URL": {"test-model@" + peer.URL + "/x", "right", "this server has no /v1/messages (status 404): 404 page not found; check the base URL " + peer.URL + "/x: the vendor's own is https://api.anthropic.com", model.FaultAddress},
		"too large":        {"test-model@" + large.URL, "", "Request exceeds the maximum size", model.FaultContext},
	} {
		for mode, stream := range modes {
			_, err := open(t, test.spec, anthropic.Options{Key: test.key, Stream: stream}).Chat(t.Context(), hello())
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.fault || !strings.HasPrefix(err.Error(), "anthropic:"+test.spec+": ") || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("%s, %s: %v", name, mode, err)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %q", name, err)
			}
		}
	}
}

// TestTheKeyStaysAtHome: nothing of the environment is sent or followed.
func TestTheKeyStaysAtHome(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN"} {
		t.Setenv(name, "another-vendors")
	}
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: another-vendors")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	for _, key := range []string{"", "hunter2"} {
		var headers http.Header
		peer := serve(t, modeltest.Options{Key: key, Play: modeltest.Script(modeltest.Says("well"))})
		m := open(t, "test-model@"+peer.URL, anthropic.Options{Key: key, HTTP: watch{func(r *http.Request) { headers = r.Header.Clone() }}})
		if _, err := m.Chat(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		for k, v := range headers {
			if strings.Contains(strings.Join(v, " "), "another-vendors") {
				t.Errorf("header %s: %s", k, v)
			}
		}
	}
}

// FuzzAnswer: whatever a server sends is a turn or a fault that has a message, and what is
// a turn can be sent back.
func FuzzAnswer(f *testing.F) {
	for _, kind := range []string{"", "thinking", "redacted"} {
		answer := modeltest.Anthropic{}.Encode("m", modeltest.Options{Reasoning: kind}, thinking())
		f.Add(strings.Join(modeltest.Anthropic{}.Stream(answer), ""))
		whole, err := json.Marshal(answer)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(whole))
	}
	for _, body := range []string{"", "null", "[]", "<html>", `{"type":"error"}`, "event: message_start\ndata: null\n\n", "data: {}\n\n", `{"content":[null],"stop_reason":"x"}`} {
		f.Add(body)
	}
	served := &always{}
	m := open(f, "m@http://127.0.0.1:1", anthropic.Options{HTTP: served})
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
