package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/openai"
)

func hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}
}

func open(t testing.TB, spec string, o openai.Options) *openai.Model {
	t.Helper()
	if o.Retry.Sleep == nil {
		o.Retry = modeltest.Retry()
	}
	m, err := openai.New(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// served gives a model behind a peer that answers with these bodies, and the peer.
func served(t *testing.T, name string, o openai.Options, bodies ...string) (*openai.Model, *modeltest.Peer) {
	t.Helper()
	p := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.Responses{}, Misbehave: func(n int) modeltest.Fault {
		kind := "application/json"
		body := bodies[min(n, len(bodies)-1)]
		if strings.HasPrefix(body, "event:") || strings.HasPrefix(body, "data:") {
			kind = "text/event-stream"
		}
		return modeltest.Body(200, kind, body)
	}})
	return open(t, name+"@"+p.URL, o), p
}

func TestContract(t *testing.T) {
	for name, stream := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, func(t *testing.T, o modeltest.Options) model.Model {
				o.Protocol = modeltest.Responses{}
				p := modeltest.Serve(t, o)
				return open(t, p.Model+"@"+p.URL, openai.Options{Key: o.Key, Stream: stream})
			}, map[bool][]modeltest.Trait{true: {modeltest.Streamed}}[stream]...)
		})
	}
}

func TestNames(t *testing.T) {
	for spec, want := range map[string]string{
		"openai:gpt-5.5": "openai:gpt-5.5", "gpt-5.5": "openai:gpt-5.5", "openai:gpt-5.5@https://api.openai.com/v1/": "openai:gpt-5.5",
		"openai:gpt-5.5@http://127.0.0.1:1/v1/": "openai:gpt-5.5@http://127.0.0.1:1/v1", "openai:ft:gpt-4.1:org::x": "openai:ft:gpt-4.1:org::x",
	} {
		if got := open(t, spec, openai.Options{Key: "hunter2"}).Ref(); got.Name != want || strings.Contains(got.Settings["base_url"], "hunter2") {
			t.Errorf("%s: %+v", spec, got)
		}
	}
	for _, spec := range []string{"", "openai:", "openai:gpt-5.5@llm.example", "openai:gpt 5", "openai:m@https://user:hunter2@llm.example/v1", "openai:m@https://llm.example/v1?key=hunter2"} {
		if _, err := openai.New(spec, openai.Options{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", spec, err)
		}
	}
	if _, err := openai.New("gpt-5.5", openai.Options{Effort: "extreme"}); err == nil || !strings.Contains(err.Error(), `effort "extreme" is not known; accepted: none, minimal, low`) {
		t.Errorf("error %v", err)
	}
}

// TestRef: what is not sent is said, so that no key claims a seed or a temperature that
// the model never saw. Streaming changes nothing.
func TestRef(t *testing.T) {
	for name, test := range map[string]struct {
		model string
		o     openai.Options
		want  map[string]string
	}{
		"a model that reasons":       {"gpt-5.5", openai.Options{Stream: true}, map[string]string{"temperature": "none"}},
		"one told not to":            {"gpt-5.5", openai.Options{Effort: "none"}, map[string]string{"effort": "none"}},
		"one of the first":           {"o3-mini", openai.Options{Effort: "low"}, map[string]string{"effort": "low", "temperature": "none"}},
		"one that does not":          {"gpt-4.1", openai.Options{}, map[string]string{}},
		"one for conversation":       {"gpt-5-chat-latest", openai.Options{}, map[string]string{}},
		"a tuned one":                {"ft:gpt-4.1:org::x", openai.Options{}, map[string]string{}},
		"one that nobody knows here": {"my-model", openai.Options{}, map[string]string{}},
	} {
		want := map[string]string{"model": test.model, "base_url": "https://api.openai.com/v1", "adapter": "openai/1", "seed": "none"}
		for k, v := range test.want {
			want[k] = v
		}
		if d := cmp.Diff(want, open(t, test.model, test.o).Ref().Settings); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

const empty = `{"id":"r","object":"response","status":"completed","output":[]}`

// TestWhatIsSent: nothing is kept; models that reason are asked for their reasoning, and
// are sent no temperature; those that do not are asked for none.
func TestWhatIsSent(t *testing.T) {
	for name, test := range map[string]struct {
		model  string
		o      openai.Options
		want   string
		stream bool
	}{
		"a model that reasons": {"gpt-5.5", openai.Options{Effort: "high"}, `"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"}`, false},
		"one told not to":      {"gpt-5.5", openai.Options{Effort: "none"}, `"temperature":0.5,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"none","summary":"auto"}`, false},
		"one that does not":    {"gpt-4.1", openai.Options{}, `"temperature":0.5`, false},
		"streamed":             {"gpt-4.1", openai.Options{Stream: true}, `"temperature":0.5`, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := served(t, test.model, test.o, empty)
			half, seed := 0.5, int64(7)
			r := hello()
			r.Temperature, r.Seed = &half, &seed
			if _, err := m.Chat(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			rest := `{"model":"` + test.model + `","input":[{"role":"user","content":"hello"}],"store":false,` + test.want + `}`
			if test.stream {
				rest = strings.TrimSuffix(rest, "}") + `,"stream":true}`
			}
			if err := errors.Join(json.Unmarshal(p.Requests()[0], &got), json.Unmarshal([]byte(rest), &want)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestOneMessageEach: what is set up wrongly is said in one line, with what to do.
func TestOneMessageEach(t *testing.T) {
	peer := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.Responses{}, Key: "right", Play: modeltest.Script(modeltest.Says("well"))})
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	failing := func(words string) string {
		return "m@" + modeltest.Serve(t, modeltest.Options{Protocol: modeltest.Responses{}, Misbehave: modeltest.Always(modeltest.Status(400, "", words))}).URL
	}
	for name, test := range map[string]struct {
		spec, key, want string
		fault           model.Fault
	}{
		"a wrong key":      {"test-model@" + peer.URL, "wrong-hunter2", "the server does not accept the key (status 401); check the key in OPENAI_API_KEY", model.FaultKey},
		"no key":           {"test-model@" + peer.URL, "", "the server wants a key (status 401); set OPENAI_API_KEY", model.FaultKey},
		"an unknown model": {"other@" + peer.URL, "right", "check the name \"other\" against " + peer.URL + "/models", model.FaultModel},
		"a wrong base URL": {"test-model@" + strings.TrimSuffix(peer.URL, "/v1"), "right", "check the base URL: most end in /v1", model.FaultAddress},
		"nobody there":     {"test-model@" + down.URL, "right", "connection refused (3 attempts); is the server running?", model.FaultConnection},
		"not verified":     {failing("Your organization must be verified to generate reasoning summaries."), "right", "or ask the model as openai-chat:m", model.FaultRequest},
		"a temperature":    {failing("Unsupported parameter: 'temperature' is not supported with this model."), "right", "leave the temperature out", model.FaultRequest},
		"an effort":        {failing("Unsupported value: 'minimal' is not supported. reasoning.effort"), "right", "try another effort, or none of your own", model.FaultRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, test.spec, openai.Options{Key: test.key}).Chat(t.Context(), hello())
			e, ok := errors.AsType[*model.Error](err)
			if !ok || e.Fault != test.fault || !strings.HasPrefix(err.Error(), "openai:"+test.spec+": ") || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("got  %v\nwant …%s", err, test.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q", err)
			}
		})
	}
}

// TestTheKeyStaysAtHome: other variables of the SDK go nowhere, and what a server repeats
// of the key is cut out, inside of an answer too.
func TestTheKeyStaysAtHome(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "another-accounts")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Other: another-accounts")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
	var headers http.Header
	for name, body := range map[string]string{
		"an answer": empty, "a failure": `{"object":"response","status":"failed","error":{"code":"server_error","message":"key hunter2 failed"}}`,
		"a stream": "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"key hunter2 failed\"}\n\n",
	} {
		peer := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.Responses{}, Misbehave: modeltest.Always(func(w http.ResponseWriter, r *http.Request) {
			headers = r.Header.Clone()
			modeltest.Body(200, "application/json", body)(w, r)
		})})
		_, err := open(t, "m@"+peer.URL, openai.Options{Key: "hunter2"}).Chat(t.Context(), hello())
		if (err == nil) != (name == "an answer") || err != nil && (strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "key [key] failed")) {
			t.Errorf("%s: error %v", name, err)
		}
		for k, v := range headers {
			if strings.Contains(strings.Join(v, " "), "another-accounts") || k != "Authorization" && strings.Contains(strings.Join(v, " "), "hunter2") {
				t.Errorf("%s: header %s: %s", name, k, v)
			}
		}
	}
}

// TestItemsGoBack: a turn goes back byte for byte (but for blanks between its tokens,
// which the encoder leaves out), fields that nobody knows included.
// Where the text was edited the item keeps all but its text; where the loop had to change
// a call, that call is written anew and the rest stays.
func TestItemsGoBack(t *testing.T) {
	const (
		thought = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA<&>é\u00e9","of_a_later_version":[1,2.50,1e400]}`
		message = `{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","annotations":[],"text":"I look <&> read."}]}`
		one     = `{"type":"function_call","id":"fc_1","call_id":"a","name":"read","arguments":"{\"id\": \"A\"}","status":"completed"}`
		two     = `{"type":"function_call","id":"fc_2","call_id":"b","name":"read","arguments":"{\"id\": ","status":"completed"}`
	)
	turn := func(items ...string) string {
		return `{"object":"response","status":"completed","model":"m","output":[` + strings.Join(items, ",") + `]}`
	}
	later := `{"content":"as told","role":"assistant"}`
	for name, test := range map[string]struct {
		items []string
		edit  func(*model.Message)
		want  []string
	}{
		"as it was":       {[]string{thought, message, one, two}, func(*model.Message) {}, []string{thought, message, one, two}},
		"an edited text":  {[]string{thought, message, one}, func(m *model.Message) { m.Text = "I wait <&>." }, []string{thought, `{"content":[{"annotations":[],"text":"I wait <&>.","type":"output_text"}],"id":"msg_1","phase":"commentary","role":"assistant","status":"completed","type":"message"}`, one}},
		"a text left out": {[]string{thought, message, one}, func(m *model.Message) { m.Text = "" }, []string{thought, one}},
		"a text put in":   {[]string{thought, one}, func(m *model.Message) { m.Text = "as told" }, []string{later, thought, one}},
		"two texts":       {[]string{message, thought, message, one}, func(m *model.Message) { m.Text = "as told" }, []string{`{"content":[{"annotations":[],"text":"as told","type":"output_text"}],"id":"msg_1","phase":"commentary","role":"assistant","status":"completed","type":"message"}`, thought, one}},
		"a call left out": {[]string{thought, one, two}, func(m *model.Message) { m.Calls = m.Calls[:1] }, []string{thought, one}},
		"a new id":        {[]string{thought, one, two}, func(m *model.Message) { m.Calls[1].ID = "c" }, []string{thought, one, `{"arguments":"{\"malformed\":\"{\\\"id\\\": \"}","call_id":"c","name":"read","type":"function_call"}`}},
		"args left out":   {[]string{one}, func(m *model.Message) { m.Calls[0].Args = "{}" }, []string{`{"arguments":"{}","call_id":"a","name":"read","type":"function_call"}`}},
		"an odd name":     {[]string{strings.Replace(one, `"read"`, `"functions.read"`, 1)}, func(*model.Message) {}, []string{`{"arguments":"{\"id\": \"A\"}","call_id":"a","name":"functions_read","type":"function_call"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := served(t, "m", openai.Options{}, turn(test.items...), empty)
			r := hello()
			first, err := m.Chat(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			test.edit(&first.Message)
			r.Messages = append(r.Messages, first.Message)
			for _, c := range first.Message.Calls {
				r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Text: "1"})
			}
			if _, err := m.Chat(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			var body struct {
				Input []json.RawMessage `json:"input"`
			}
			if err := json.Unmarshal(p.Requests()[1], &body); err != nil {
				t.Fatal(err)
			}
			got := body.Input[1 : len(body.Input)-len(first.Message.Calls)]
			if len(got) != len(test.want) {
				t.Fatalf("%d items, want %d: %s", len(got), len(test.want), got)
			}
			for i, want := range test.want {
				if !same(got[i], want, slices.Contains(test.items, want)) {
					t.Errorf("item %d\ngot  %s\nwant %s", i, got[i], want)
				}
			}
		})
	}
}

// same compares to the byte, or else as JSON.
func same(got []byte, want string, exactly bool) bool {
	if exactly {
		return string(got) == want
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
		return false
	}
	return cmp.Equal(a, b)
}

func TestAnothersState(t *testing.T) {
	m, p := served(t, "m", openai.Options{}, empty)
	r := hello()
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "So.", State: []byte(`{"reasoning_content":"hm"}`)}, model.Message{Role: model.User, Text: "Go on."})
	_, err := m.Chat(t.Context(), r)
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultRequest || !strings.Contains(err.Error(), "state is not of this adapter") || len(p.Requests()) > 0 {
		t.Errorf("error %v", err)
	}
}

// TestAnswers: the ways in which a response ends, and what it holds.
func TestAnswers(t *testing.T) {
	text := func(s string) string {
		return `{"type":"message","id":"m","role":"assistant","status":"completed","content":[` + s + `]}`
	}
	const call = `{"type":"function_call","id":"f","call_id":"a","name":"f","arguments":"{}"}`
	for name, test := range map[string]struct {
		body    string
		want    model.Message
		stop    model.Stop
		refusal string
	}{
		"two texts":           {`"status":"completed","output":[` + text(`{"type":"output_text","text":"One."}`) + `,` + text(`{"type":"output_text","text":"T"},{"type":"output_text","text":"wo."}`) + `]`, model.Message{Text: "One.\n\nTwo."}, model.StopEnd, ""},
		"summaries":           {`"status":"completed","output":[{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]},` + call + `]`, model.Message{Reasoning: "a\n\nb", Calls: []model.ToolCall{{ID: "a", Name: "f", Args: "{}"}}}, model.StopCalls, ""},
		"reasoning as text":   {`"status":"completed","output":[{"type":"reasoning","id":"r","summary":[],"content":[{"type":"reasoning_text","text":" hm "}]},` + text(`{"type":"output_text","text":"Yes."}`) + `]`, model.Message{Reasoning: "hm", Text: "Yes."}, model.StopEnd, ""},
		"a refusal":           {`"status":"completed","output":[` + text(`{"type":"refusal","refusal":"I can't."}`) + `]`, model.Message{}, model.StopRefusal, "I can't."},
		"calls and a refusal": {`"status":"completed","output":[` + text(`{"type":"refusal","refusal":"I can't."}`) + `,` + call + `]`, model.Message{Calls: []model.ToolCall{{ID: "a", Name: "f", Args: "{}"}}}, model.StopCalls, "I can't."},
		"filtered":            {`"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]`, model.Message{}, model.StopRefusal, ""},
		"cut":                 {`"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + text(`{"type":"output_text","text":"Yes, and"}`) + `]`, model.Message{Text: "Yes, and"}, model.StopLength, ""},
		"no status":           {`"output":[` + call + `]`, model.Message{Calls: []model.ToolCall{{ID: "a", Name: "f", Args: "{}"}}}, model.StopCalls, ""},
		"a policy":            {`"status":"failed","error":{"code":"bio_policy","message":"Blocked by policy."},"output":[]`, model.Message{}, model.StopRefusal, "Blocked by policy."},
		"an invalid prompt":   {`"status":"failed","error":{"code":"invalid_prompt","message":"flagged as violating our usage policy"},"output":[]`, model.Message{}, model.StopRefusal, "usage policy"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := served(t, "m", openai.Options{}, `{"object":"response","model":"m-1",`+test.body+`}`)
			got, err := m.Chat(t.Context(), hello())
			if err != nil {
				t.Fatal(err)
			}
			got.Message.State, test.want.Role = nil, model.Assistant
			if d := cmp.Diff(test.want, got.Message); d != "" || got.Stop != test.stop || !strings.Contains(got.Refusal, test.refusal) || test.refusal == "" && got.Refusal != "" {
				t.Errorf("stop %s, refusal %q: %s", got.Stop, got.Refusal, d)
			}
		})
	}
}

// TestNoAnswer: what is no turn is infrastructure.
func TestNoAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		fault model.Fault
		want  string
	}{
		"another object":       {`{"status":"ok"}`, model.FaultServer, "not complete (ok)"},
		"no output":            {`{"object":"response","status":"completed"}`, model.FaultAnswer, "it has no output"},
		"a list":               {`[1]`, model.FaultAnswer, "it is no JSON object"},
		"in progress":          {`{"status":"in_progress","output":[]}`, model.FaultServer, "not complete (in_progress)"},
		"failed, no word":      {`{"status":"failed","output":[]}`, model.FaultServer, "does not say why"},
		"failed":               {`{"status":"failed","error":{"code":"server_error","message":"the model crashed"},"output":[]}`, model.FaultServer, "the model crashed"},
		"failed by rate":       {`{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"},"output":[]}`, model.FaultRate, "slow"},
		"too long":             {`{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window"},"output":[]}`, model.FaultContext, "does not fit"},
		"no credit":            {`{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, model.FaultQuota, "no credit left"},
		"a broken stream":      {"data: {\"type\":\"response.created\"\n\n", model.FaultAnswer, "an event of it is no JSON object"},
		"a stream of errors":   {"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n", model.FaultServer, "busy"},
		"a stream of a relay":  {"data: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n", model.FaultRate, "slow"},
		"a stream of comments": {"event: x\n: hello\n\n", model.FaultConnection, "ended before the answer was complete"},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := served(t, "m", openai.Options{Stream: true}, test.body)
			got, err := m.Chat(t.Context(), hello())
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != test.fault || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, error %v", got, err)
			}
		})
	}
}

// TestItemsOfAStream: servers that leave the items out of the last event sent them before.
func TestItemsOfAStream(t *testing.T) {
	var b bytes.Buffer
	for _, e := range []string{
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"f","call_id":"a","name":"f","arguments":"{}"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"}}`,
		`{"type":"response.of_a_later_version"}`, `{"type":"response.completed","response":{"status":"completed","output":[]}}`,
	} {
		b.WriteString("data: " + e + "\r\n\r\n")
	}
	m, _ := served(t, "m", openai.Options{Stream: true}, b.String())
	got, err := m.Chat(t.Context(), hello())
	if err != nil || got.Stop != model.StopCalls || string(got.Message.State) != `[{"type":"reasoning","id":"r","summary":[],"encrypted_content":"x"},{"type":"function_call","id":"f","call_id":"a","name":"f","arguments":"{}"}]` {
		t.Errorf("%+v, %s, %v", got, got.Message.State, err)
	}
}
