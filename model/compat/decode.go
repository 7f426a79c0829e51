package compat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// read reads an answer, which may have come as a stream.
func (m *Model) read(body []byte) (model.Response, error) {
	if transport.Streamed(body) {
		var err error
		if body, err = m.assemble(body); err != nil {
			return model.Response{}, err
		}
	}
	return m.decode(body)
}

// decode reads an answer. What is no answer of the protocol is a fault; what the model
// said, however odd, is its turn.
func (m *Model) decode(body []byte) (model.Response, error) {
	if e := transport.Dense(body); e != nil { // one that was put together, too
		return model.Response{}, e
	}
	var c openai.ChatCompletion
	if err := json.Unmarshal(body, &c); err != nil {
		return model.Response{}, transport.Malformed("it is no JSON object", body)
	}
	if e := m.inside(c.JSON.ExtraFields["error"]); e != nil {
		return model.Response{}, e
	}
	if len(c.Choices) == 0 {
		return model.Response{}, transport.Malformed("it has no choices", body)
	}
	choice := c.Choices[0]
	if e := m.inside(choice.JSON.ExtraFields["error"]); e != nil {
		return model.Response{}, e
	}
	if e := m.dialect.brokeOff(choice.FinishReason); e != nil {
		return model.Response{}, e
	}
	if !choice.JSON.Message.Valid() {
		return model.Response{}, transport.Malformed("its choice has no message", body)
	}
	said := m.said(choice.Message)
	if said.Text == "" && said.Reasoning == "" && len(said.Calls) == 0 && choice.Message.Refusal == "" && choice.FinishReason == "" {
		return model.Response{}, transport.Malformed("its message is empty and says not why", body)
	}
	return model.Response{
		Message: said, Stop: m.dialect.stop(choice, said), Refusal: choice.Message.Refusal, Model: c.Model, Usage: m.dialect.usage(c.Usage),
	}, nil
}

// inside is a failure that came with a status of success, as relays send them.
func (m *Model) inside(f respjson.Field) error {
	if raw := f.Raw(); raw != "" && raw != "null" {
		return transport.Inside([]byte(raw), m.opts.Key)
	}
	return nil
}

// said is the message: what it says, what it reasons, what it calls.
func (m *Model) said(c openai.ChatCompletionMessage) model.Message {
	text, thinking := c.Content, ""
	if raw := c.JSON.Content.Raw(); strings.HasPrefix(raw, "[") {
		text, thinking = parts(raw)
	}
	thought, text := think(text)
	said := model.Message{Role: model.Assistant, Text: text}
	said.Reasoning, said.State = reasoning(c.JSON.ExtraFields, m.dialect.Returns)
	said.Reasoning = cmp.Or(said.Reasoning, thinking, thought)
	for _, call := range c.ToolCalls {
		said.Calls = append(said.Calls, model.ToolCall{ID: call.ID, Name: call.Function.Name, Args: arguments(call.Function)})
	}
	return said
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
	var texts, thoughts strings.Builder
	for _, p := range list {
		texts.WriteString(p.Text)
		for _, t := range p.Thinking {
			thoughts.WriteString(t.Text)
		}
	}
	return texts.String(), thoughts.String()
}

// reasoningFields are where servers show reasoning.
var reasoningFields = []string{"reasoning_content", "reasoning", "reasoning_details"}

// reasoning reads those fields; state is those that the server wants back, as they came.
func reasoning(extra map[string]respjson.Field, returns []string) (shown string, state []byte) {
	fields := map[string]json.RawMessage{}
	for _, name := range reasoningFields {
		raw := extra[name].Raw()
		if raw == "" || raw == "null" || raw == `""` {
			continue
		}
		if slices.Contains(returns, name) {
			fields[name] = json.RawMessage(raw)
		}
		if text := ""; shown == "" && json.Unmarshal([]byte(raw), &text) == nil {
			shown = strings.TrimSpace(text)
		}
	}
	if len(fields) == 0 {
		return shown, nil
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
