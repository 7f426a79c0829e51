package compat

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

func encode(name string, r model.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{Model: name}
	for _, m := range r.Messages {
		sent, err := message(m)
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
	if r.Temperature != nil {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.Seed != nil {
		p.Seed = param.NewOpt(*r.Seed)
	}
	if r.MaxTokens > 0 {
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens)) // the field that every server knows
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
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: sendable(c.Name), Arguments: object(c.Args)},
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

// object is a call's arguments as servers take them back: many parse them for the
// model's template, and fail where they are no JSON object. What is none goes inside
// of one.
func object(args string) string {
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(args), &fields); {
	case args == "":
		return "{}"
	case err == nil && fields != nil:
		return args
	}
	b, _ := agentbound.EncodeJSON(map[string]string{"malformed": args}) // strings encode
	return string(b)
}

// sendable is a name as the protocol allows it: models make names up, and a server
// rejects the whole conversation for one.
func sendable(name string) string {
	name = unsendable.ReplaceAllString(name, "_")
	if name == "" {
		return "_"
	}
	return name[:min(len(name), 64)]
}

var unsendable = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// tool keeps the schema's parts byte for byte.
func tool(t agentbound.Tool) (openai.ChatCompletionToolUnionParam, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(t.Schema, &parts); err != nil {
		return openai.ChatCompletionToolUnionParam{}, fmt.Errorf("the schema of tool %s is no JSON object: %w", t.Name, err)
	}
	schema := shared.FunctionParameters{}
	for k, v := range parts {
		schema[k] = v
	}
	return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: t.Name, Description: param.NewOpt(t.Description), Parameters: schema,
	}), nil
}
