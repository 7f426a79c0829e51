package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// The request as the protocol's reference publishes it, in the part that agents need.
// Fields that are not here are refused, as the reference server refuses them.
type wireRequest struct {
	Model       string        `json:"model"`
	Messages    []wireMessage `json:"messages"`
	Tools       []wireTool    `json:"tools"`
	Temperature *float64      `json:"temperature"`
	Seed        *int64        `json:"seed"`
	MaxTokens1  *int          `json:"max_tokens"`
	MaxTokens2  *int          `json:"max_completion_tokens"`

	Stream        bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	// Of dialects.
	ReasoningEffort    json.RawMessage `json:"reasoning_effort"`
	Reasoning          json.RawMessage `json:"reasoning"`
	Thinking           json.RawMessage `json:"thinking"`
	ChatTemplateKwargs json.RawMessage `json:"chat_template_kwargs"`
}

type wireMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []wireCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
	Reasoning1 string     `json:"reasoning_content"`
	Reasoning2 string     `json:"reasoning"`
	Reasoning3 []struct {
		Type      string `json:"type"`
		ID        any    `json:"id"`
		Format    string `json:"format"`
		Index     int    `json:"index"`
		Text      string `json:"text"`
		Signature string `json:"signature"`
	} `json:"reasoning_details"`
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var wireName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Decode reads a request of the dialect that most servers share, strictly: an error says
// where it leaves the protocol. Reasoning is the field in which assistants' messages with
// calls must show it again; where it is empty no message may have one.
func Decode(body []byte, reasoning string) (r model.Request, name string, err error) {
	r, name, _, err = Chat{}.decode(body, reasoning)
	return r, name, err
}

func (c Chat) decode(body []byte, reasoning string) (r model.Request, name string, stream bool, err error) {
	var w wireRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return r, "", false, err
	}
	if w.Model == "" || len(w.Messages) == 0 {
		return r, "", false, errors.New("model and messages are required")
	}
	if r.Tools, err = w.tools(); err != nil {
		return r, "", false, err
	}
	open := &answers{}
	for i, m := range w.Messages {
		message, err := m.message(open, reasoning)
		if err == nil && m.Role == "system" && i > 0 {
			err = errors.New("system comes first")
		}
		if err != nil {
			return r, "", false, fmt.Errorf("messages[%d]: %w", i, err)
		}
		r.Messages = append(r.Messages, message)
	}
	if len(open.wanted) > 0 {
		return r, "", false, fmt.Errorf("the calls %q were not answered", open.wanted)
	}
	if r.Messages[len(r.Messages)-1].Role == model.Assistant {
		return r, "", false, errors.New("the last message is the assistant's")
	}
	if err := c.settings(w, &r); err != nil {
		return r, "", false, err
	}
	return r, w.Model, w.Stream, nil
}

func (w wireRequest) tools() (all []agentbound.Tool, err error) {
	if w.Tools != nil && len(w.Tools) == 0 {
		return nil, errors.New("tools is empty")
	}
	for i, t := range w.Tools {
		tool, err := t.tool()
		if err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		all = append(all, tool)
	}
	return all, nil
}

// settings are the fields beside the conversation, those of the dialect only.
func (c Chat) settings(w wireRequest, r *model.Request) error {
	most, other, field := w.MaxTokens1, w.MaxTokens2, "max_tokens"
	if c.MaxTokens == "max_completion_tokens" {
		most, other, field = other, most, c.MaxTokens
	}
	if other != nil {
		return errors.New("the field for the most tokens is " + field)
	}
	if most != nil {
		if r.MaxTokens = *most; r.MaxTokens < 1 {
			return errors.New(field + " below 1")
		}
	}
	if w.Temperature != nil && (*w.Temperature < 0 || *w.Temperature > 2) {
		return errors.New("temperature outside of 0 to 2")
	}
	switch {
	case c.NoTemperature && w.Temperature != nil:
		return errors.New("temperature is not taken")
	case c.NoSeed && w.Seed != nil:
		return errors.New("seed is not taken")
	case w.StreamOptions != nil && !w.Stream:
		return errors.New("stream_options without stream")
	case w.Stream && (w.StreamOptions == nil || !w.StreamOptions.IncludeUsage):
		return errors.New("a stream without include_usage, which would not tell its usage")
	}
	for name, raw := range map[string]json.RawMessage{
		"reasoning_effort": w.ReasoningEffort, "reasoning": w.Reasoning, "thinking": w.Thinking, "chat_template_kwargs": w.ChatTemplateKwargs,
	} {
		if raw != nil && !slices.Contains(c.Extra, name) {
			return fmt.Errorf("%s %s is not of this dialect", name, raw)
		}
	}
	r.Temperature, r.Seed = w.Temperature, w.Seed
	return nil
}

func (t wireTool) tool() (agentbound.Tool, error) {
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	switch {
	case t.Type != "function":
		return agentbound.Tool{}, fmt.Errorf("type %q", t.Type)
	case !wireName.MatchString(t.Function.Name):
		return agentbound.Tool{}, fmt.Errorf("name %q", t.Function.Name)
	case json.Unmarshal(t.Function.Parameters, &schema) != nil || schema.Type != "object":
		return agentbound.Tool{}, fmt.Errorf("parameters %s are not the schema of an object", t.Function.Parameters)
	}
	return agentbound.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: agentbound.Value(t.Function.Parameters)}, nil
}

// answers pairs calls and results: each call is answered once, in order of the
// messages, before anyone else speaks; no id is used twice.
type answers struct {
	wanted []string
	tools  map[string]string
}

func (m wireMessage) message(open *answers, reasoning string) (model.Message, error) {
	out := model.Message{Role: model.Role(m.Role)}
	if m.Content != nil {
		out.Text = *m.Content
	}
	if m.Role != "tool" && len(open.wanted) > 0 {
		return out, fmt.Errorf("the calls %q were not answered", open.wanted)
	}
	if m.Role != "tool" && m.ToolCallID != "" || m.Role != "assistant" && (m.ToolCalls != nil || m.Reasoning1+m.Reasoning2 != "" || m.Reasoning3 != nil) {
		return out, fmt.Errorf("a field that %s may not have", m.Role)
	}
	switch m.Role {
	case "system", "user":
		if out.Text == "" {
			return out, errors.New("content is empty")
		}
	case "assistant":
		return m.assistant(out, open, reasoning)
	case "tool":
		if m.Content == nil || len(open.wanted) == 0 || m.ToolCallID != open.wanted[0] {
			return out, fmt.Errorf("tool_call_id %q answers no open call", m.ToolCallID)
		}
		open.wanted = open.wanted[1:]
		out.CallID, out.Tool = m.ToolCallID, open.tools[m.ToolCallID]
	default:
		return out, fmt.Errorf("role %q", m.Role)
	}
	return out, nil
}

func (m wireMessage) assistant(out model.Message, open *answers, reasoning string) (model.Message, error) {
	if len(m.ToolCalls) == 0 && out.Text == "" {
		return out, errors.New("neither content nor tool_calls")
	}
	shown := map[string]string{"reasoning_content": m.Reasoning1, "reasoning": m.Reasoning2, "reasoning_details": ""}
	for i, d := range m.Reasoning3 {
		if d.Index != i || d.Type != "reasoning.text" || d.Signature != signed(d.Text) {
			return out, fmt.Errorf("reasoning_details[%d] is not as it was: %+v", i, d)
		}
		shown["reasoning_details"] += d.Text
	}
	if reasoning == "reasoning_details" {
		delete(shown, "reasoning") // is sent beside them, and may come back
	}
	for field, text := range shown {
		wanted := field == reasoning && len(m.ToolCalls) > 0
		if (text != "") != wanted {
			return out, fmt.Errorf("%s is %q", field, text)
		}
	}
	out.Reasoning = shown[reasoning]
	if open.tools == nil {
		open.tools = map[string]string{}
	}
	for _, c := range m.ToolCalls {
		var args map[string]json.RawMessage
		switch {
		case c.ID == "" || open.tools[c.ID] != "":
			return out, fmt.Errorf("id %q is empty or used", c.ID)
		case c.Type != "function" || !wireName.MatchString(c.Function.Name):
			return out, fmt.Errorf("type %q, name %q", c.Type, c.Function.Name)
		case json.Unmarshal([]byte(c.Function.Arguments), &args) != nil:
			return out, fmt.Errorf("arguments %q are no JSON object", c.Function.Arguments)
		}
		open.wanted, open.tools[c.ID] = append(open.wanted, c.ID), c.Function.Name
		out.Calls = append(out.Calls, model.ToolCall{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
	}
	return out, nil
}

// Encode writes an answer as the protocol's reference has it; tests edit the parts.
func Encode(name, reasoning string, r model.Response) map[string]any {
	m := r.Message
	message := map[string]any{"role": "assistant", "content": any(m.Text), "refusal": nil}
	if m.Text == "" {
		message["content"] = nil
	}
	if r.Refusal != "" {
		message["refusal"] = r.Refusal
	}
	switch {
	case reasoning == "reasoning_details" && m.Reasoning != "":
		message["reasoning"] = m.Reasoning
		message[reasoning] = []any{map[string]any{"type": "reasoning.text", "id": nil, "format": "unknown", "index": 0, "text": m.Reasoning, "signature": signed(m.Reasoning)}}
	case reasoning != "":
		message[reasoning] = m.Reasoning
	}
	var calls []any
	for _, c := range m.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	finish := map[model.Stop]string{model.StopEnd: "stop", model.StopCalls: "tool_calls", model.StopLength: "length", model.StopRefusal: "content_filter"}[r.Stop]
	return map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": name + "-served",
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": finish}},
		"usage": map[string]any{
			"prompt_tokens": r.Usage.Input, "completion_tokens": r.Usage.Output, "total_tokens": r.Usage.Input + r.Usage.Output,
			"prompt_tokens_details":     map[string]any{"cached_tokens": r.Usage.Cached},
			"completion_tokens_details": map[string]any{"reasoning_tokens": r.Usage.Reasoning},
		},
	}
}

// signed is a vendor's mark on reasoning, by which it knows its own again.
func signed(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
