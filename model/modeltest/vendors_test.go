package modeltest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// TestAnthropicIsStrict: what the protocol does not allow is refused, with the place.
func TestAnthropicIsStrict(t *testing.T) {
	block := func(role, blocks string) string { return `{"role":"` + role + `","content":[` + blocks + `]}` }
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	const call, other = `{"type":"tool_use","id":"1","name":"f","input":{}}`, `{"type":"tool_use","id":"2","name":"f","input":{}}`
	const result, second = `{"type":"tool_result","tool_use_id":"1"}`, `{"type":"tool_result","tool_use_id":"2","content":[{"type":"text","text":"x"}],"is_error":true}`
	messages := func(m ...string) string {
		return `{"model":"m","max_tokens":9,"messages":[` + strings.Join(m, ",") + `]}`
	}
	user, calling := block("user", text("hi")), block("assistant", call+","+other)
	with := func(fields string) string {
		return strings.Replace(messages(user), `"max_tokens":9`, fields, 1)
	}
	for name, test := range map[string]struct{ body, version, reasoning, want string }{
		"a question":                {messages(user), "", "", ""},
		"calls and answers":         {messages(user, calling, block("user", result+","+second+","+text("so"))), "", "", ""},
		"an unknown field":          {with(`"max_tokens":9,"seed":1`), "", "", `unknown field "seed"`},
		"two values":                {messages(user) + "{}", "", "", "more than one"},
		"no version":                {messages(user), "1", "", "anthropic-version"},
		"no limit":                  {with(`"stream":false`), "", "", "max_tokens and messages are required"},
		"a temperature":             {with(`"max_tokens":9,"temperature":1`), "", "", "temperature: Extra inputs"},
		"a temperature as before":   {with(`"max_tokens":9,"temperature":1`), "2023-06-01", "", ""},
		"a hot one":                 {with(`"max_tokens":9,"temperature":1.5`), "2023-06-01", "", "outside of 0 to 1"},
		"one while it thinks":       {with(`"max_tokens":9000,"temperature":1,"thinking":{"type":"enabled","budget_tokens":1024}`), "2023-06-01", "", "when thinking is enabled"},
		"a budget too large":        {with(`"max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024}`), "", "", "less than max_tokens"},
		"a budget too small":        {with(`"max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":1000}`), "", "", "at least 1024"},
		"no budget":                 {with(`"max_tokens":9,"thinking":{"type":"enabled"}`), "", "", "budget_tokens: of type enabled"},
		"an effort":                 {with(`"max_tokens":9,"output_config":{"effort":"very"}`), "", "", "output_config.effort"},
		"an empty system":           {with(`"max_tokens":9,"system":[{"type":"text","text":" "}]`), "", "", "system.0"},
		"no tools":                  {with(`"max_tokens":9,"tools":[]`), "", "", "an empty list"},
		"a tool without a schema":   {with(`"max_tokens":9,"tools":[{"name":"f"}]`), "", "", "tools.0"},
		"an assistant first":        {messages(block("assistant", text("x")), user), "", "", "messages.0: first message must use the user role"},
		"the same role again":       {messages(user, user), "", "", "messages.1: roles must alternate"},
		"a system role":             {messages(user, block("system", text("x"))), "", "", `messages.1: role "system"`},
		"an empty message":          {messages(block("user", "")), "", "", "messages.0: content is empty"},
		"an empty text":             {messages(block("user", text(" "))), "", "", "messages.0: content.0"},
		"the assistant's last":      {messages(user, block("assistant", text("x"))), "", "", "prefill"},
		"a call unanswered":         {messages(user, calling, block("user", result)), "", "", "without `tool_result` blocks immediately after: 2"},
		"a text before answers":     {messages(user, calling, block("user", text("x")+","+result+","+second)), "", "", "messages.2: `tool_use` ids were found without"},
		"an answer to none":         {messages(user, block("assistant", call), block("user", result+","+second)), "", "", "unexpected `tool_use_id`"},
		"an id used again":          {messages(user, block("assistant", call+","+call)), "", "", "messages.1: content.1"},
		"arguments that are none":   {messages(user, block("assistant", strings.Replace(call, "{}", `"x"`, 1))), "", "", "messages.1: content.0"},
		"thinking left out":         {messages(user, calling, block("user", result+","+second)), "", "thinking", "Expected `thinking`"},
		"thinking of a turn before": {messages(user, calling, block("user", result+","+second+","+text("so"))), "", "thinking", ""},
		"thinking of another's":     {messages(user, block("assistant", `{"type":"thinking","thinking":"hm","signature":"x"},`+call), block("user", result)), "", "thinking", "Invalid `signature`"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
			r.Header.Set("Anthropic-Version", "2026-10-21")
			if test.version != "" {
				r.Header.Set("Anthropic-Version", test.version)
			}
			_, _, _, err := modeltest.Anthropic{}.Decode(r, []byte(test.body), modeltest.Options{Reasoning: test.reasoning})
			wanted(t, err, test.want)
		})
	}
}

func wanted(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestGeminiIsStrict: what the protocol does not allow is refused, with the place.
func TestGeminiIsStrict(t *testing.T) {
	content := func(role, parts string) string { return `{"role":"` + role + `","parts":[` + parts + `]}` }
	const text, call, other = `{"text":"hi"}`, `{"functionCall":{"id":"1","name":"f","args":{}}}`, `{"functionCall":{"name":"g","args":{}}}`
	const result, second = `{"functionResponse":{"id":"1","name":"f","response":{"output":1}}}`, `{"functionResponse":{"name":"g","response":{"error":"x"}}}`
	contents := func(c ...string) string { return `{"contents":[` + strings.Join(c, ",") + `]}` }
	user, calling := content("user", text), content("model", call+","+other)
	with := func(fields string) string { return `{"contents":[` + user + `],` + fields + `}` }
	for name, test := range map[string]struct{ body, query, reasoning, want string }{
		"a question":               {contents(user), "", "", ""},
		"calls and answers":        {contents(user, calling, content("user", result+","+second)), "", "", ""},
		"an unknown field":         {with(`"model":"m"`), "", "", `unknown field "model"`},
		"a key in the address":     {contents(user), "key=x", "", "the query"},
		"a hot temperature":        {with(`"generationConfig":{"temperature":3}`), "", "", "temperature outside"},
		"a long seed":              {with(`"generationConfig":{"seed":4294967296}`), "", "", "no int32"},
		"no room":                  {with(`"generationConfig":{"maxOutputTokens":0}`), "", "", "must be positive"},
		"a level and a budget":     {with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":1}}`), "", "", "only one of"},
		"an unknown level":         {with(`"generationConfig":{"thinkingConfig":{"thinkingLevel":"VERY"}}`), "", "", "thinking_level"},
		"a system that is none":    {with(`"systemInstruction":{"parts":[{"text":""}]}`), "", "", "systemInstruction.parts[0]"},
		"a tool without a schema":  {with(`"tools":[{"functionDeclarations":[{"name":"f"}]}]`), "", "", "tools[0]"},
		"no contents":              {contents(), "", "", "end with the user's"},
		"no parts":                 {contents(content("user", "")), "", "", "must not be empty"},
		"the model first":          {contents(content("model", text)), "", "", "contents.0: a model's content comes after"},
		"the model's last":         {contents(user, content("model", text)), "", "", "end with the user's"},
		"another role":             {contents(content("tool", text)), "", "", `role "tool"`},
		"an answer less":           {contents(user, calling, content("user", result)), "", "", "number of function response parts"},
		"a text beside":            {contents(user, calling, content("user", result+","+text)), "", "", "does not answer the call of g"},
		"another name":             {contents(user, content("model", call), content("user", strings.Replace(result, `"f"`, `"h"`, 1))), "", "", "does not answer the call of f"},
		"another id":               {contents(user, content("model", call), content("user", strings.Replace(result, `"1"`, `"2"`, 1))), "", "", "does not answer the call of f"},
		"an answer without output": {contents(user, content("model", call), content("user", strings.Replace(result, "output", "result", 1))), "", "", "neither output nor error"},
		"an answer to none":        {contents(user, content("model", text), content("user", result)), "", "", "number of function response parts"},
		"a call without arguments": {contents(user, content("model", `{"functionCall":{"name":"f"}}`)), "", "", "parts[0] is no part"},
		"a signature left out":     {contents(user, calling, content("user", result+","+second)), "", "signed", "missing a thought_signature"},
		"one of a turn before":     {contents(user, calling, content("user", result+","+second), content("model", text), user), "", "signed", ""},
		"another's signature":      {contents(user, content("model", strings.Replace(call, `{"f`, `{"thoughtSignature":"eA==","f`, 1)), content("user", result)), "", "signed", "not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/v1beta/models/m:generateContent?"+test.query, nil)
			_, _, _, err := modeltest.Gemini{}.Decode(r, []byte(test.body), modeltest.Options{Reasoning: test.reasoning})
			wanted(t, err, test.want)
		})
	}
}

// TestStreamsOfPeers hold the whole of an answer, in events that end.
func TestStreamsOfPeers(t *testing.T) {
	turn := model.Response{Stop: model.StopCalls, Message: model.Message{Role: model.Assistant, Text: "“Ü”", Reasoning: "hm", Calls: []model.ToolCall{{ID: "1", Name: "f", Args: "{}"}}}}
	for name, p := range map[string]modeltest.Protocol{"anthropic": modeltest.Anthropic{}, "gemini": modeltest.Gemini{}} {
		events := p.Stream(p.Encode("m", modeltest.Options{Reasoning: "thinking"}, turn))
		if len(events) < 4 {
			t.Errorf("%s: %d events", name, len(events))
		}
		for _, e := range events {
			if !strings.HasSuffix(strings.ReplaceAll(e, "\r", ""), "\n\n") || strings.Contains(e, "�") {
				t.Errorf("%s: %q", name, e)
			}
		}
	}
}
