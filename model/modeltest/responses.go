package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Responses is OpenAI's responses protocol, as a server speaks it that keeps nothing:
// whatever it should know again stands in the request. It follows the published reference
// (POST /v1/responses, and its streaming events) in the part that agents need.
type Responses struct{}

// Base implements Protocol.
func (Responses) Base() string { return "/v1" }

// Serves implements Protocol.
func (Responses) Serves(path string) bool { return path == "/v1/responses" }

// Key implements Protocol.
func (Responses) Key(r *http.Request) (string, bool) { return Chat{}.Key(r) }

// Fail implements Protocol.
func (Responses) Fail(w http.ResponseWriter, status int, code, message string) {
	Chat{}.Fail(w, status, code, message)
}

// FailEvent is a response that failed, as the last event of a stream.
func (Responses) FailEvent(code, message string) string {
	return event("response.failed", map[string]any{"type": "response.failed", "sequence_number": 99, "response": map[string]any{
		"id": "resp_1", "object": "response", "status": "failed", "output": []any{}, "error": map[string]any{"code": code, "message": message},
	}})
}

// The request. Fields that are not here are refused, as the reference server does.
type responsesRequest struct {
	Model           string            `json:"model"`
	Input           []json.RawMessage `json:"input"`
	Tools           []json.RawMessage `json:"tools"`
	Temperature     *float64          `json:"temperature"`
	MaxOutputTokens *int              `json:"max_output_tokens"`
	Store           *bool             `json:"store"`
	Include         []string          `json:"include"`
	Stream          bool              `json:"stream"`
	Reasoning       *struct {
		Effort  string `json:"effort"`
		Summary string `json:"summary"`
	} `json:"reasoning"`
}

// strictly reads JSON that has no field but the known ones.
func strictly(b []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(to)
}

// Decode implements Protocol.
func (Responses) Decode(_ *http.Request, body []byte, o Options) (r model.Request, name string, stream bool, err error) {
	var w responsesRequest
	if err := strictly(body, &w); err != nil {
		return r, "", false, err
	}
	if w.Model == "" || len(w.Input) == 0 {
		return r, "", false, errors.New("model and input are required")
	}
	// By default the server would keep the response, and give reasoning only by its id.
	if w.Store == nil || *w.Store {
		return r, "", false, errors.New("store is not false: this server keeps nothing")
	}
	for _, i := range w.Include {
		if i != "reasoning.encrypted_content" {
			return r, "", false, fmt.Errorf("include %q", i)
		}
	}
	if o.Reasoning != "" && len(w.Include) == 0 {
		return r, "", false, errors.New("reasoning.encrypted_content is not included")
	}
	if w.Tools != nil && len(w.Tools) == 0 {
		return r, "", false, errors.New("tools is empty")
	}
	for i, t := range w.Tools {
		tool, err := responsesTool(t)
		if err != nil {
			return r, "", false, fmt.Errorf("tools[%d]: %w", i, err)
		}
		r.Tools = append(r.Tools, tool)
	}
	if r.Messages, err = responsesInput(w.Input, o); err != nil {
		return r, "", false, err
	}
	if w.MaxOutputTokens != nil {
		if r.MaxTokens = *w.MaxOutputTokens; r.MaxTokens < 16 {
			return r, "", false, errors.New("max_output_tokens below 16")
		}
	}
	if w.Temperature != nil && (*w.Temperature < 0 || *w.Temperature > 2) {
		return r, "", false, errors.New("temperature outside of 0 to 2")
	}
	r.Temperature = w.Temperature
	return r, w.Model, w.Stream, nil
}

func responsesTool(b []byte) (agentbound.Tool, error) {
	var t struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	}
	if err := strictly(b, &t); err != nil {
		return agentbound.Tool{}, err
	}
	if t.Strict == nil || *t.Strict {
		return agentbound.Tool{}, errors.New("strict is not false: the schema is none of the strict subset")
	}
	var w wireTool
	w.Type, w.Function.Name, w.Function.Description, w.Function.Parameters = t.Type, t.Name, t.Description, t.Parameters
	return w.tool()
}

// item is one of input, in each of its forms.
type item struct {
	Type      string            `json:"type"`
	ID        string            `json:"id"`
	Status    string            `json:"status"`
	Role      string            `json:"role"`
	Content   json.RawMessage   `json:"content"`
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments *string           `json:"arguments"`
	Output    *string           `json:"output"`
	Summary   []json.RawMessage `json:"summary"`
	Encrypted string            `json:"encrypted_content"`
}

// conversation is what input comes to, item by item.
type conversation struct {
	messages []model.Message
	wanted   []string          // calls that are not answered yet
	tools    map[string]string // of calls, by id
	turn     bool              // the last message is the assistant's, and goes on
	bare     bool              // a reasoning item that nothing follows yet
	reasons  bool              // the server shows reasoning, and wants it back with calls
}

func responsesInput(input []json.RawMessage, o Options) ([]model.Message, error) {
	c := &conversation{tools: map[string]string{}, reasons: o.Reasoning != ""}
	for i, raw := range input {
		var it item
		err := strictly(raw, &it)
		if err == nil {
			err = c.add(it)
		}
		if err == nil && it.Role == "system" && i > 0 {
			err = errors.New("system comes first")
		}
		if err != nil {
			return nil, fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	switch {
	case c.bare:
		return nil, errors.New("a reasoning item without the item that followed it")
	case len(c.wanted) > 0:
		return nil, fmt.Errorf("the calls %q were not answered", c.wanted)
	case c.turn:
		return nil, errors.New("the last message is the assistant's")
	}
	return c.messages, nil
}

// said is the assistant's message that items belong to.
func (c *conversation) said() *model.Message {
	if !c.turn {
		c.messages, c.turn = append(c.messages, model.Message{Role: model.Assistant}), true
	}
	return &c.messages[len(c.messages)-1]
}

func (c *conversation) add(it item) error {
	if len(c.wanted) > 0 && it.Type != "function_call_output" && it.Type != "function_call" && !(c.turn && it.Role == "assistant") {
		return fmt.Errorf("the calls %q were not answered", c.wanted)
	}
	switch {
	case it.Type == "reasoning":
		return c.reasoning(it)
	case it.Type == "function_call":
		return c.call(it)
	case it.Type == "function_call_output":
		return c.result(it)
	case it.Type != "" && it.Type != "message":
		return fmt.Errorf("type %q", it.Type)
	case it.Role == "assistant":
		return c.text(it)
	}
	var text string
	if it.Role != "system" && it.Role != "developer" && it.Role != "user" || json.Unmarshal(it.Content, &text) != nil || text == "" {
		return fmt.Errorf("role %q, content %s", it.Role, it.Content)
	}
	if c.bare {
		return errors.New("it comes after a reasoning item, which nothing followed")
	}
	c.turn = false
	c.messages = append(c.messages, model.Message{Role: model.Role(strings.Replace(it.Role, "developer", "system", 1)), Text: text})
	return nil
}

// reasoning is an item of the server's own, which it knows again by its mark.
func (c *conversation) reasoning(it item) error {
	text, ok := strings.CutPrefix(it.Encrypted, sealed)
	if !ok || it.ID == "" || it.Summary == nil {
		return fmt.Errorf("reasoning with id %q, encrypted_content %q, summary %s", it.ID, it.Encrypted, it.Summary)
	}
	c.said().Reasoning += text
	c.bare = true
	return nil
}

const sealed = "sealed:"

func (c *conversation) text(it item) error {
	var text string
	if json.Unmarshal(it.Content, &text) != nil {
		var parts []struct {
			Type        string            `json:"type"`
			Text        string            `json:"text"`
			Refusal     string            `json:"refusal"`
			Annotations []json.RawMessage `json:"annotations"`
			Logprobs    []json.RawMessage `json:"logprobs"`
		}
		if err := strictly(it.Content, &parts); err != nil {
			return err
		}
		if it.ID == "" || it.Status == "" {
			return errors.New("an output message has an id and a status")
		}
		for _, p := range parts {
			if p.Type != "output_text" && p.Type != "refusal" {
				return fmt.Errorf("content of type %q", p.Type)
			}
			text += p.Text + p.Refusal
		}
	}
	if text == "" {
		return errors.New("a message of no text")
	}
	c.said().Text += text
	c.bare = false
	return nil
}

func (c *conversation) call(it item) error {
	switch {
	case it.CallID == "" || c.tools[it.CallID] != "":
		return fmt.Errorf("call_id %q is empty or used", it.CallID)
	case !wireName.MatchString(it.Name):
		return fmt.Errorf("name %q", it.Name)
	case it.Arguments == nil || !json.Valid([]byte(*it.Arguments)) && it.ID == "":
		return fmt.Errorf("arguments %v are no JSON, and not the server's own", it.Arguments)
	}
	m := c.said()
	if c.reasons && m.Reasoning == "" {
		return errors.New("a call without the reasoning that came before it")
	}
	m.Calls = append(m.Calls, model.ToolCall{ID: it.CallID, Name: it.Name, Args: *it.Arguments})
	c.wanted, c.tools[it.CallID], c.bare = append(c.wanted, it.CallID), it.Name, false
	return nil
}

func (c *conversation) result(it item) error {
	if it.Output == nil || len(c.wanted) == 0 || it.CallID != c.wanted[0] {
		return fmt.Errorf("call_id %q answers no open call", it.CallID)
	}
	c.wanted, c.turn = c.wanted[1:], false
	c.messages = append(c.messages, model.Message{Role: model.Result, CallID: it.CallID, Tool: c.tools[it.CallID], Text: *it.Output})
	return nil
}

// Encode implements Protocol.
func (Responses) Encode(name string, o Options, r model.Response) map[string]any {
	status, details := "completed", any(nil)
	switch {
	case r.Stop == model.StopLength:
		status, details = "incomplete", map[string]any{"reason": "max_output_tokens"}
	case r.Stop == model.StopRefusal && r.Refusal == "":
		status, details = "incomplete", map[string]any{"reason": "content_filter"}
	}
	output := []any{}
	if o.Reasoning != "" && r.Message.Reasoning != "" {
		output = append(output, map[string]any{"type": "reasoning", "id": "rs_1", "summary": []any{map[string]any{"type": "summary_text", "text": r.Message.Reasoning}}, "encrypted_content": sealed + r.Message.Reasoning})
	}
	var content []any
	if r.Message.Text != "" {
		content = append(content, map[string]any{"type": "output_text", "text": r.Message.Text, "annotations": []any{}, "logprobs": []any{}})
	}
	if r.Refusal != "" {
		content = append(content, map[string]any{"type": "refusal", "refusal": r.Refusal})
	}
	if content != nil {
		output = append(output, map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content})
	}
	for i, c := range r.Message.Calls {
		output = append(output, map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d", i), "call_id": c.ID, "name": c.Name, "arguments": c.Args, "status": status})
	}
	return map[string]any{
		"id": "resp_1", "object": "response", "created_at": 1700000000, "model": name + "-served", "status": status, "error": nil,
		"incomplete_details": details, "output": output, "parallel_tool_calls": true, "store": false, "tool_choice": "auto", "tools": []any{},
		"usage": map[string]any{
			"input_tokens": r.Usage.Input, "output_tokens": r.Usage.Output, "total_tokens": r.Usage.Input + r.Usage.Output,
			"input_tokens_details": map[string]any{"cached_tokens": r.Usage.Cached}, "output_tokens_details": map[string]any{"reasoning_tokens": r.Usage.Reasoning},
		},
	}
}

// Stream implements Protocol: the response as it begins, each item with its text in
// pieces, and the response as it ended.
func (Responses) Stream(answer map[string]any) []string {
	var events []string
	send := func(kind string, fields map[string]any) {
		fields["type"], fields["sequence_number"] = kind, len(events)
		events = append(events, event(kind, fields))
	}
	begun := maps.Clone(answer)
	begun["status"], begun["output"], begun["usage"], begun["incomplete_details"] = "in_progress", []any{}, nil, nil
	send("response.created", map[string]any{"response": begun})
	send("response.in_progress", map[string]any{"response": begun})
	output, _ := answer["output"].([]any)
	for i, it := range output {
		it := it.(map[string]any)
		at := func(rest map[string]any) map[string]any {
			rest["output_index"], rest["item_id"] = i, it["id"]
			return rest
		}
		send("response.output_item.added", map[string]any{"output_index": i, "item": it})
		for _, field := range []string{"summary", "content"} {
			parts, _ := it[field].([]any)
			for j, p := range parts {
				text, _ := p.(map[string]any)["text"].(string)
				for _, piece := range pieces(text) {
					if field == "summary" {
						send("response.reasoning_summary_text.delta", at(map[string]any{"summary_index": j, "delta": piece}))
					} else {
						send("response.output_text.delta", at(map[string]any{"content_index": j, "delta": piece}))
					}
				}
			}
		}
		args, _ := it["arguments"].(string)
		for _, piece := range pieces(args) {
			send("response.function_call_arguments.delta", at(map[string]any{"delta": piece}))
		}
		send("response.output_item.done", map[string]any{"output_index": i, "item": it})
	}
	send(fmt.Sprintf("response.%s", answer["status"]), map[string]any{"response": answer})
	return events
}
