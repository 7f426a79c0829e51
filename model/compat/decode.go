package compat

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// decode reads an answer. What is no answer of the protocol is a fault; what the model
// said, however odd, is its turn.
func decode(body []byte) (model.Response, error) {
	var c openai.ChatCompletion
	if err := json.Unmarshal(body, &c); err != nil {
		return model.Response{}, transport.Malformed("it is no JSON object", body)
	}
	if e := inner(c.JSON.ExtraFields["error"]); e != nil {
		return model.Response{}, e
	}
	if len(c.Choices) == 0 {
		return model.Response{}, transport.Malformed("it has no choices", body)
	}
	choice := c.Choices[0]
	if e := inner(choice.JSON.ExtraFields["error"]); e != nil {
		return model.Response{}, e
	}
	if !choice.JSON.Message.Valid() {
		return model.Response{}, transport.Malformed("its choice has no message", body)
	}
	m := said(choice.Message)
	if m.Text == "" && m.Reasoning == "" && len(m.Calls) == 0 && choice.Message.Refusal == "" && choice.FinishReason == "" {
		return model.Response{}, transport.Malformed("its message is empty and says not why", body)
	}
	return model.Response{
		Message: m, Stop: stop(choice, m), Refusal: choice.Message.Refusal, Model: c.Model, Usage: usage(c.Usage),
	}, nil
}

// inner is a failure that came with a status of success, as relays send them.
func inner(f respjson.Field) *model.Error {
	if raw := f.Raw(); raw != "" && raw != "null" {
		var known struct {
			Code json.Number `json:"code"`
		}
		status := 502
		if json.Unmarshal([]byte(raw), &known) == nil {
			if n, err := known.Code.Int64(); err == nil && n >= 400 && n < 600 {
				status = int(n)
			}
		}
		return transport.Status(status, transport.Said([]byte(`{"error":`+raw+`}`), ""))
	}
	return nil
}

// said is the message: what it says, what it reasons, what it calls.
func said(c openai.ChatCompletionMessage) model.Message {
	text, thinking := c.Content, ""
	if raw := c.JSON.Content.Raw(); strings.HasPrefix(raw, "[") {
		text, thinking = parts(raw)
	}
	thought, text := think(text)
	m := model.Message{Role: model.Assistant, Text: text}
	m.Reasoning, m.State = reasoning(c.JSON.ExtraFields)
	for _, also := range []string{thinking, thought} {
		if m.Reasoning == "" {
			m.Reasoning = also
		}
	}
	for _, call := range c.ToolCalls {
		m.Calls = append(m.Calls, model.ToolCall{ID: call.ID, Name: call.Function.Name, Args: arguments(call.Function)})
	}
	return m
}

// arguments are a string that holds JSON; some servers send the JSON itself.
func arguments(f openai.ChatCompletionMessageFunctionToolCallFunction) string {
	if raw := f.JSON.Arguments.Raw(); strings.HasPrefix(raw, "{") {
		return raw
	}
	return f.Arguments
}

// parts reads content that came as a list of parts.
func parts(raw string) (text, thinking string) {
	var list []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	if json.Unmarshal([]byte(raw), &list) != nil {
		return "", ""
	}
	for _, p := range list {
		text += p.Text
		for _, t := range p.Thinking {
			thinking += t.Text
		}
	}
	return text, thinking
}

// reasoningFields are where servers show reasoning, and what they want back.
var reasoningFields = []string{"reasoning_content", "reasoning", "reasoning_details"}

// reasoning reads those fields; state is all of them, to be sent back as they came.
func reasoning(extra map[string]respjson.Field) (shown string, state []byte) {
	fields := map[string]json.RawMessage{}
	for _, name := range reasoningFields {
		raw := extra[name].Raw()
		if raw == "" || raw == "null" || raw == `""` {
			continue
		}
		fields[name] = json.RawMessage(raw)
		if text := ""; shown == "" && json.Unmarshal([]byte(raw), &text) == nil {
			shown = strings.TrimSpace(text)
		}
	}
	if len(fields) == 0 {
		return "", nil
	}
	state, _ = agentbound.EncodeJSON(fields) // what was parsed encodes
	return shown, state
}

// think takes reasoning out of a text that shows it in <think> tags. The opening tag may
// be missing, where the template wrote it, and the closing one, where the turn was cut.
func think(text string) (thought, rest string) {
	text = strings.TrimSpace(text)
	inside, after, closed := strings.Cut(text, "</think>")
	inside, opened := strings.CutPrefix(inside, "<think>")
	switch {
	case closed && (opened || !strings.Contains(inside, "<think>")):
		return strings.TrimSpace(inside), strings.TrimSpace(after)
	case opened:
		return strings.TrimSpace(inside), ""
	}
	return "", text
}

// stop normalises the reason. What was called outranks the word: servers say "stop" of a
// turn with calls, and odd things of others.
func stop(c openai.ChatCompletionChoice, m model.Message) model.Stop {
	switch {
	case c.FinishReason == "content_filter":
		return model.StopRefusal
	case c.FinishReason == "length":
		return model.StopLength
	case len(m.Calls) > 0:
		return model.StopCalls
	case c.Message.Refusal != "":
		return model.StopRefusal
	}
	return model.StopEnd
}

// mostTokens bounds each count that a server tells, so that sums over a run stay numbers.
const mostTokens = 1_000_000_000

func usage(u openai.CompletionUsage) model.Usage {
	tokens := func(n int64) int64 { return min(max(n, 0), mostTokens) }
	return model.Usage{
		Input: tokens(u.PromptTokens), Cached: tokens(u.PromptTokensDetails.CachedTokens),
		Output: tokens(u.CompletionTokens), Reasoning: tokens(u.CompletionTokensDetails.ReasoningTokens),
	}
}
