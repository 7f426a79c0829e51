package compat_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
)

// sent is the body of a request that asks for everything, in a dialect.
func sent(t *testing.T, spec string, o compat.Options) map[string]any {
	t.Helper()
	p := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Body(200, "application/json", `{"choices":[{"message":{"content":"well"},"finish_reason":"stop"}]}`))})
	half, seed := 0.5, int64(7)
	r := hello()
	r.Temperature, r.Seed, r.MaxTokens = &half, &seed, 99
	if _, err := open(t, spec+"@"+p.URL, o).Chat(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var body map[string]any
	if err := json.Unmarshal(p.Requests()[0], &body); err != nil {
		t.Fatal(err)
	}
	delete(body, "messages")
	delete(body, "model")
	return body
}

// TestWhatIsSent: each dialect's own fields, and none that it refuses; what is left out is
// part of the model's reference.
func TestWhatIsSent(t *testing.T) {
	for spec, tests := range map[string]map[string]string{ // effort: body
		"compat:m":               {"": `{"temperature":0.5,"seed":7,"max_tokens":99}`, "xhigh": `{"temperature":0.5,"seed":7,"max_tokens":99,"reasoning_effort":"xhigh"}`},
		"openai-chat:gpt-4.1":    {"": `{"temperature":0.5,"seed":7,"max_completion_tokens":99}`},
		"openai-chat:gpt-5.2":    {"": `{"seed":7,"max_completion_tokens":99}`, "high": `{"seed":7,"max_completion_tokens":99,"reasoning_effort":"high"}`, "none": `{"temperature":0.5,"seed":7,"max_completion_tokens":99,"reasoning_effort":"none"}`},
		"xai:grok-4.3":           {"": `{"temperature":0.5,"seed":7,"max_completion_tokens":99}`, "medium": `{"temperature":0.5,"seed":7,"max_completion_tokens":99,"reasoning_effort":"medium"}`},
		"deepseek:deepseek-v4":   {"": `{"max_tokens":99}`, "none": `{"temperature":0.5,"max_tokens":99,"thinking":{"type":"disabled"}}`, "max": `{"max_tokens":99,"thinking":{"type":"enabled"},"reasoning_effort":"max"}`},
		"deepseek:deepseek-chat": {"": `{"temperature":0.5,"max_tokens":99}`},
		"moonshot:kimi-k3":       {"": `{"max_completion_tokens":99}`, "low": `{"max_completion_tokens":99,"reasoning_effort":"low"}`, "none": `{"max_completion_tokens":99,"thinking":{"type":"disabled"}}`},
		"moonshot:moonshot-v1":   {"": `{"temperature":0.5,"max_completion_tokens":99}`},
		"zhipu:glm-5.2":          {"": `{"temperature":0.5,"max_tokens":99}`, "high": `{"temperature":0.5,"max_tokens":99,"thinking":{"type":"enabled"},"reasoning_effort":"high"}`},
		"openrouter:x-ai/grok":   {"": `{"temperature":0.5,"seed":7,"max_tokens":99}`, "minimal": `{"temperature":0.5,"seed":7,"max_tokens":99,"reasoning":{"effort":"minimal"}}`},
		"vllm:Qwen/Qwen3":        {"none": `{"temperature":0.5,"seed":7,"max_tokens":99,"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`, "low": `{"temperature":0.5,"seed":7,"max_tokens":99,"reasoning_effort":"low","chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`},
		"ollama:qwen3:8b":        {"": `{"temperature":0.5,"seed":7,"max_tokens":99}`, "none": `{"temperature":0.5,"seed":7,"max_tokens":99,"reasoning_effort":"none"}`},
		"llamacpp:m":             {"": `{"temperature":0.5,"seed":7,"max_tokens":99}`, "high": `{"temperature":0.5,"seed":7,"max_tokens":99,"chat_template_kwargs":{"enable_thinking":true,"thinking":true,"reasoning_effort":"high"}}`},
	} {
		for effort, text := range tests {
			var want map[string]any
			if err := json.Unmarshal([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			o := compat.Options{Effort: effort}
			if d := cmp.Diff(want, sent(t, spec, o)); d != "" {
				t.Errorf("%s, effort %q: %s", spec, effort, d)
			}
			settings := open(t, spec+"@http://127.0.0.1:1/v1", o).Ref().Settings
			_, warm := want["temperature"]
			_, seeded := want["seed"]
			if settings["effort"] != effort || (settings["temperature"] == "none") == warm || (settings["seed"] == "none") == seeded {
				t.Errorf("%s, effort %q: settings %v", spec, effort, settings)
			}
			want["stream"], want["stream_options"] = true, map[string]any{"include_usage": true}
			o.Stream = true
			if d := cmp.Diff(want, sent(t, spec, o)); d != "" {
				t.Errorf("%s, effort %q, streamed: %s", spec, effort, d)
			}
			if d := cmp.Diff(settings, open(t, spec+"@http://127.0.0.1:1/v1", o).Ref().Settings); d != "" {
				t.Errorf("%s: streaming is part of the reference: %s", spec, d)
			}
		}
	}
}

// TestEveryDialect: a name, an address, a key of its own, and efforts that can be sent.
func TestEveryDialect(t *testing.T) {
	peers := modeltest.Dialects()
	keys := map[string]string{}
	for _, d := range compat.Dialects() {
		if _, ok := peers[d.Scheme]; !ok {
			t.Errorf("%s has no peer", d.Scheme)
		}
		if d.About == "" || d.KeyEnv == "" || keys[d.KeyEnv] != "" || d.Base != "" && strings.HasSuffix(d.Base, "/") || d.Base == "" && !d.Local {
			t.Errorf("%+v", d)
		}
		keys[d.KeyEnv] = d.Scheme
		for _, effort := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
			m, err := compat.New(d.Scheme+":m@http://127.0.0.1:1/v1", compat.Options{Effort: effort, Retry: modeltest.Retry()})
			if err != nil {
				if !strings.Contains(err.Error(), d.Scheme+`: effort "`+effort+`" is not known; accepted: `) {
					t.Errorf("error %v", err)
				}
				continue
			}
			if m.Ref().Settings["effort"] != effort {
				t.Errorf("%s: %v", d.Scheme, m.Ref())
			}
		}
		m, err := compat.New(d.Scheme+":m", compat.Options{})
		if d.Base == "" {
			if err == nil || !strings.Contains(err.Error(), d.Scheme+":MODEL@BASE_URL") {
				t.Errorf("%s: error %v", d.Scheme, err)
			}
			continue
		}
		if err != nil || m.Ref().Name != d.Scheme+":m" || m.Ref().Settings["base_url"] != d.Base || m.Ref().Settings["adapter"] != d.Scheme+"/1" {
			t.Errorf("%s: %v, %v", d.Scheme, m.Ref(), err)
		}
	}
}

// in has a server of a dialect answer with a body, streamed or not.
func in(t *testing.T, scheme string, status int, body string) (model.Response, error) {
	t.Helper()
	p := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Body(status, "application/json", body))})
	return open(t, scheme+":m@"+p.URL, compat.Options{}).Chat(t.Context(), hello())
}

// TestEnds: what vendors call the end of a turn, and what it means.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		scheme, reason, native string
		stop                   model.Stop
		fault                  model.Fault
	}{
		{"compat", "sensitive", "", model.StopEnd, ""}, {"compat", "content_filter", "", model.StopRefusal, ""}, {"compat", "stop", "SAFETY", model.StopEnd, ""},
		{"deepseek", "insufficient_system_resource", "", "", model.FaultServer}, {"deepseek", "length", "", model.StopLength, ""},
		{"zhipu", "sensitive", "", model.StopRefusal, ""}, {"zhipu", "network_error", "", "", model.FaultServer}, {"zhipu", "model_context_window_exceeded", "", model.StopLength, ""},
		{"openrouter", "stop", "refusal", model.StopRefusal, ""}, {"openrouter", "stop", "SAFETY", model.StopRefusal, ""}, {"openrouter", "stop", "STOP", model.StopEnd, ""},
		{"openrouter", "error", "", "", model.FaultServer}, {"vllm", "abort", "", "", model.FaultServer},
	} {
		choice := `{"message":{"content":"So"},"finish_reason":"` + test.reason + `","native_finish_reason":"` + test.native + `"}`
		stream := `data: {"choices":[{"index":0,"delta":{"content":"So"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + test.reason + `","native_finish_reason":"` + test.native + `"}]}` + "\n\ndata: [DONE]\n\n"
		for _, body := range []string{`{"choices":[` + choice + `]}`, stream} {
			got, err := in(t, test.scheme, 200, body)
			e, _ := errors.AsType[*model.Error](err)
			if got.Stop != test.stop || (e == nil) != (test.fault == "") || e != nil && e.Fault != test.fault {
				t.Errorf("%s, %s, %s: %+v, error %v", test.scheme, test.reason, test.native, got, err)
			}
		}
	}
}

// TestFilters: a request that a vendor's filter rejects is a refusal, in that vendor's
// words and status; of another's server it is a failure.
func TestFilters(t *testing.T) {
	for scheme, rejection := range map[string]struct {
		status int
		body   string
		other  string
	}{
		"xai":        {403, `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}`, `{"code":"forbidden","error":"no permission"}`},
		"deepseek":   {400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","code":"invalid_request_error"}}`, `{"error":{"message":"no"}}`},
		"moonshot":   {400, `{"error":{"type":"content_filter","message":"The request was rejected because it was considered high risk"}}`, `{"error":{"message":"no"}}`},
		"zhipu":      {400, `{"error":{"code":"1301","message":"System detected potentially unsafe or sensitive content"}}`, `{"error":{"code":"1210","message":"no"}}`},
		"openrouter": {403, `{"error":{"code":403,"message":"m requires moderation on P. Your input was flagged","metadata":{"reasons":["violence"],"flagged_input":"…"}}}`, `{"error":{"code":403,"message":"no"}}`},
	} {
		got, err := in(t, scheme, rejection.status, rejection.body)
		if err != nil || got.Stop != model.StopRefusal || got.Refusal == "" || got.Message.Role != model.Assistant {
			t.Errorf("%s: %+v, error %v", scheme, got, err)
		}
		if got, err := in(t, scheme, rejection.status, rejection.other); err == nil {
			t.Errorf("%s: %+v", scheme, got)
		}
		if _, err := in(t, "vllm", rejection.status, rejection.body); scheme != "moonshot" && err == nil { // whose code is everyone's
			t.Errorf("of another's: %s", scheme)
		}
	}
}

// TestRemedies: what to do about a rejected request.
func TestRemedies(t *testing.T) {
	for _, test := range []struct{ scheme, words, want string }{
		{"openai-chat", "Function tools with reasoning_effort are not supported", "; use the form react, which needs no tool calling"},
		{"moonshot", "invalid temperature: only 1 is allowed", "; leave the temperature out"},
		{"xai", "Model does not support parameter reasoningEffort", "; try another effort, or none of your own: none, low, medium, high"},
		{"llamacpp", "tools param requires --jinja flag", "; start the server with tool calling, or use the form react, which needs none"},
		{"zhipu", "no", ": no"},
	} {
		if _, err := in(t, test.scheme, 400, `{"error":{"message":"`+test.words+`"}}`); err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("%s: error %v", test.scheme, err)
		}
	}
}
