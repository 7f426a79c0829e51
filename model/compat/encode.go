package compat

import (
	"encoding/json"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
)

func (m *Model) encode(r model.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{Model: m.at.Model}
	for _, said := range r.Messages {
		sent, err := message(said)
		if err != nil {
			return p, err
		}
		p.Messages = append(p.Messages, sent)
	}
	for _, t := range r.Tools {
		sent, err := tool(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, sent)
	}
	if r.Temperature != nil && !m.cold() {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.Seed != nil && !m.dialect.NoSeed {
		p.Seed = param.NewOpt(*r.Seed)
	}
	switch {
	case r.MaxTokens > 0 && m.dialect.MaxTokens == "max_completion_tokens":
		p.MaxCompletionTokens = param.NewOpt(int64(r.MaxTokens))
	case r.MaxTokens > 0:
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens)) // the field that every server knows
	}
	if m.opts.Stream {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if m.opts.Effort != "" {
		p.SetExtraFields(m.dialect.effort(m.opts.Effort))
	}
	return p, nil
}

func message(m model.Message) (openai.ChatCompletionMessageParamUnion, error) {
	switch m.Role {
	case model.System:
		return openai.SystemMessage(m.Text), nil
	case model.User:
		return openai.UserMessage(m.Text), nil
	case model.Result:
		return openai.ToolMessage(m.Text, m.CallID), nil
	case model.Assistant:
		return assistant(m)
	}
	return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("role %q is not known", m.Role)
}

func assistant(m model.Message) (openai.ChatCompletionMessageParamUnion, error) {
	var a openai.ChatCompletionAssistantMessageParam
	if m.Text != "" || len(m.Calls) == 0 {
		a.Content.OfString = param.NewOpt(m.Text)
	}
	for _, c := range m.Calls {
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID:       c.ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: openaiapi.Name(c.Name), Arguments: openaiapi.Object(c.Args)},
			},
		})
	}
	// Models that reason between calls want their reasoning back with the calls; with
	// a turn that made none, some servers reject it.
	if len(m.State) > 0 && len(m.Calls) > 0 {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(m.State, &fields); err != nil {
			return openai.ChatCompletionMessageParamUnion{}, fmt.Errorf("a message's state is not of this adapter: %w", err)
		}
		extra := map[string]any{}
		for k, v := range fields {
			extra[k] = v
		}
		a.SetExtraFields(extra)
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &a}, nil
}

func tool(t agentbound.Tool) (openai.ChatCompletionToolUnionParam, error) {
	schema, err := openaiapi.Schema(t)
	return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: t.Name, Description: param.NewOpt(t.Description), Parameters: schema,
	}), err
}
