package modeltest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// TestProgramPeers: what programs send beyond the part of a protocol that our adapters
// use is taken, and what no server takes is not.
func TestProgramPeers(t *testing.T) {
	asked := []model.Message{
		{Role: model.System, Text: "Be brief."},
		{Role: model.User, Text: "Look."},
		{Role: model.Assistant, Text: "I look.", Calls: []model.ToolCall{{ID: "c1", Name: "look", Args: `{"n":1.0}`}}},
		{Role: model.Result, CallID: "c1", Tool: "look", Text: "[1]"},
	}
	for _, test := range []struct {
		protocol   modeltest.Protocol
		path, good string
		bad        map[string]string // replaced in good, by what the error says
	}{
		{
			modeltest.AnthropicProgram{}, "/v1/messages?beta=true",
			`{"model":"m","max_tokens":9,"stream":true,"metadata":{},"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"look","defer_loading":true}],
			"messages":[{"role":"user","content":"Look."},{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"c1","name":"look","input":{"n":1.0}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"[1]"}]}]}]}`,
			map[string]string{
				`"max_tokens":9`: "are required", `"tool_use_id":"c1"`: "an answer to no call", `"type":"tool_result"`: "1 calls are not answered", `"name":"look","defer`: "the tool name",
				`"id":"c1"`: "a call without an id",
			},
		},
		{
			modeltest.GeminiProgram{}, "/v1beta/models/m:streamGenerateContent?alt=sse",
			`{"generationConfig":{"topK":64},"systemInstruction":{"parts":[{"text":"Be brief."}],"role":"user"},"tools":[{"functionDeclarations":[{"name":"look"}]}],
			"contents":[{"parts":[{"text":"Look."}],"role":"user"},{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"c1","name":"look","args":{"n":1.0}},"thoughtSignature":"skip"}]},
			{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"output":"[1]"}}}]}]}`,
			map[string]string{
				`"output":`: "neither output nor error", `"id":"c1","name":"look","response"`: "does not answer the call of look", `[{"name":"look"}]`: "the function name", `"role":"model"`: "is not valid",
			},
		},
	} {
		decode := func(body string) ([]model.Message, error) {
			r := httptest.NewRequest(http.MethodPost, test.path, nil)
			r.Header.Set("Anthropic-Version", "2023-06-01")
			got, name, stream, err := test.protocol.Decode(r, []byte(body), modeltest.Options{})
			if err == nil && (name != "m" || !stream || len(got.Tools) != 1 || got.Tools[0].Name != "look") {
				t.Errorf("%T: %q, %t, %+v", test.protocol, name, stream, got.Tools)
			}
			return got.Messages, err
		}
		got, err := decode(test.good)
		if d := cmp.Diff(asked, got); d != "" || err != nil {
			t.Errorf("%T: %v %s", test.protocol, err, d)
		}
		for part, want := range test.bad {
			broken := strings.Replace(part, `:"`, `:"<`, 1)
			if broken == part {
				broken = strings.Replace(part, `"`, `"un`, 1)
			}
			if part == `"id":"c1"` {
				broken = `"id":""`
			}
			if _, err := decode(strings.Replace(test.good, part, broken, 1)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%T without %s: error %v, want %s", test.protocol, part, err, want)
			}
		}
	}
}
