package openai

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
)

type input = responses.ResponseInputItemUnionParam

func (m *Model) encode(r model.Request) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{Model: m.at.Model, Store: param.NewOpt(false)}
	if !openaiapi.Talks(m.at.Model) { // models that never reason reject both
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
		p.Reasoning.Summary = shared.ReasoningSummaryAuto
	}
	if m.opts.Effort != "" {
		p.Reasoning.Effort = shared.ReasoningEffort(m.opts.Effort)
	}
	for _, said := range r.Messages {
		items, err := message(said)
		if err != nil {
			return p, err
		}
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, items...)
	}
	for _, t := range r.Tools {
		schema, err := openaiapi.Schema(t)
		if err != nil {
			return p, err
		}
		// Not strict: that takes a subset of JSON Schema, and changes what models call.
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: param.NewOpt(t.Description), Parameters: schema, Strict: param.NewOpt(false),
		}})
	}
	if r.Temperature != nil && !m.cold() {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.MaxTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(r.MaxTokens))
	}
	return p, nil
}

func message(m model.Message) ([]input, error) {
	switch m.Role {
	case model.System, model.User:
		return []input{responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRole(m.Role))}, nil
	case model.Result:
		answer := responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(m.CallID)}
		answer.Output.OfString = param.NewOpt(m.Text)
		return []input{{OfFunctionCallOutput: &answer}}, nil
	case model.Assistant:
		if len(m.State) > 0 && (m.Text != "" || len(m.Calls) > 0) {
			return replay(m)
		}
		return plain(m), nil
	}
	return nil, fmt.Errorf("role %q is not known", m.Role)
}

// plain is an assistant's message that came from elsewhere.
func plain(m model.Message) (items []input) {
	if m.Text != "" || len(m.Calls) == 0 {
		items = append(items, responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRoleAssistant))
	}
	for _, c := range m.Calls {
		items = append(items, call(c))
	}
	return items
}

func call(c model.ToolCall) input {
	return responses.ResponseInputItemParamOfFunctionCall(openaiapi.Object(c.Args), c.ID, openaiapi.Name(c.Name))
}

// raw sends an item as it came, byte for byte.
func raw(item []byte) input { return param.Override[input](json.RawMessage(item)) }

// replay sends back the items of a turn. Those of reasoning go as they came; so do
// messages, unless the text was edited, and calls, unless the loop had to change or drop
// one (an id twice, arguments past its limit) or no server would take their name.
func replay(m model.Message) (sent []input, err error) {
	items, err := unpack(m.State)
	if err != nil {
		return nil, err
	}
	edited, placed, calls := m.Text != text(items), m.Text == "", 0
	for _, it := range items {
		switch {
		case it.Type == "message" && edited:
			if !placed {
				body, err := reworded(it.RawJSON(), m.Text)
				if err != nil {
					return nil, err
				}
				sent, placed = append(sent, raw(body)), true
			}
		case it.Type == "function_call":
			if calls < len(m.Calls) {
				sent = append(sent, sameCall(it, m.Calls[calls]))
			}
			calls++
		default:
			sent = append(sent, raw([]byte(it.RawJSON())))
		}
	}
	if edited && !placed {
		// Before the reasoning: that must stand right before what it led to.
		sent = append([]input{responses.ResponseInputItemParamOfMessage(m.Text, responses.EasyInputMessageRoleAssistant)}, sent...)
	}
	for ; calls < len(m.Calls); calls++ {
		sent = append(sent, call(m.Calls[calls]))
	}
	return sent, nil
}

func sameCall(it responses.ResponseOutputItemUnion, c model.ToolCall) input {
	if it.CallID == c.ID && it.Name == c.Name && it.Arguments.OfString == c.Args && openaiapi.Name(c.Name) == c.Name {
		return raw([]byte(it.RawJSON()))
	}
	return call(c)
}

// reworded is a message item with another text; its id, status and phase stay.
func reworded(item, text string) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(item), &fields); err != nil {
		return nil, err
	}
	content, err := agentbound.EncodeJSON([]any{map[string]any{"type": "output_text", "text": text, "annotations": []any{}}})
	if err != nil {
		return nil, err
	}
	fields["content"] = content
	return agentbound.EncodeJSON(fields)
}
