package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Anthropic is the Messages protocol, as its reference has it in the versions of
// 2023-06-01 and 2026-10-21. Options.Reasoning "thinking" makes a model that thinks,
// "redacted" one whose thinking is encrypted: either wants it back, as it was, before
// the calls of an unfinished turn.
type Anthropic struct{}

// Base implements Protocol.
func (Anthropic) Base() string { return "" }

// Serves implements Protocol.
func (Anthropic) Serves(path string) bool { return path == "/v1/messages" }

// Key implements Protocol: a bearer token, or the header of the older version.
func (Anthropic) Key(r *http.Request) (string, bool) {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return key, true
	}
	key := r.Header.Get("X-Api-Key")
	return key, key != ""
}

type anthropicRequest struct {
	Model       string             `json:"model"`
	MaxTokens   *int               `json:"max_tokens"`
	System      []anthropicText    `json:"system"`
	Messages    []anthropicMessage `json:"messages"`
	Tools       []anthropicTool    `json:"tools"`
	Temperature *float64           `json:"temperature"`
	Stream      bool               `json:"stream"`
	Thinking    *struct {
		Type    string `json:"type"`
		Budget  *int   `json:"budget_tokens"`
		Display string `json:"display"`
	} `json:"thinking"`
	Output *struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

type anthropicMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

var anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// Decode implements Protocol.
func (Anthropic) Decode(r *http.Request, body []byte, o Options) (asked model.Request, name string, stream bool, err error) {
	var w anthropicRequest
	if err := strict(body, &w); err != nil {
		return asked, "", false, err
	}
	if err := w.limits(r.Header.Get("Anthropic-Version")); err != nil {
		return asked, "", false, err
	}
	for i, s := range w.System {
		if s.Type != "text" || strings.TrimSpace(s.Text) == "" {
			return asked, "", false, fmt.Errorf("system.%d: text content blocks must be non-empty", i)
		}
		asked.Messages = append(asked.Messages, model.Message{Role: model.System, Text: s.Text})
	}
	for i, t := range w.Tools {
		if !anthropicName.MatchString(t.Name) || !isObjectSchema(t.Schema) {
			return asked, "", false, fmt.Errorf("tools.%d: name %q, schema %s", i, t.Name, t.Schema)
		}
		asked.Tools = append(asked.Tools, agentbound.Tool{Name: t.Name, Description: t.Description, Schema: agentbound.Value(unescaped(t.Schema))})
	}
	c := anthropicTalk{thinks: o.Reasoning != "" && (w.Thinking == nil || w.Thinking.Type != "disabled"), tools: map[string]string{}}
	for i, m := range w.Messages {
		if err := number("messages", i, c.message(m, i)); err != nil {
			return asked, "", false, err
		}
	}
	if err := c.end(); err != nil {
		return asked, "", false, err
	}
	asked.Messages = append(asked.Messages, c.messages...)
	asked.MaxTokens, asked.Temperature = *w.MaxTokens, w.Temperature
	return asked, w.Model, w.Stream, nil
}

func isObjectSchema(raw json.RawMessage) bool {
	var schema struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(raw, &schema) == nil && schema.Type == "object"
}

// limits holds the request to what stands beside its messages.
func (w anthropicRequest) limits(version string) error {
	budget := 0
	if w.Thinking != nil && w.Thinking.Budget != nil {
		budget = *w.Thinking.Budget
	}
	thinks := w.Thinking != nil && w.Thinking.Type != "disabled"
	switch {
	case version != "2023-06-01" && version != "2026-10-21":
		return fmt.Errorf("anthropic-version: %q is not a valid version", version)
	case w.Model == "" || w.MaxTokens == nil || *w.MaxTokens < 1 || len(w.Messages) == 0:
		return errors.New("model, max_tokens and messages are required")
	case w.Temperature != nil && version != "2023-06-01":
		return errors.New("temperature: Extra inputs are not permitted")
	case w.Temperature != nil && (*w.Temperature < 0 || *w.Temperature > 1):
		return errors.New("temperature: outside of 0 to 1")
	case w.Temperature != nil && thinks:
		return errors.New("temperature may only be set to 1 when thinking is enabled")
	case w.Tools != nil && len(w.Tools) == 0, w.System != nil && len(w.System) == 0:
		return errors.New("an empty list")
	case w.Thinking != nil && !slices.Contains([]string{"enabled", "disabled", "adaptive"}, w.Thinking.Type):
		return fmt.Errorf("thinking.type: %q", w.Thinking.Type)
	case w.Thinking != nil && (w.Thinking.Budget != nil) != (w.Thinking.Type == "enabled"):
		return errors.New("thinking.budget_tokens: of type enabled, and required there")
	case budget > 0 && (budget < 1024 || budget >= *w.MaxTokens):
		return errors.New("thinking.budget_tokens: at least 1024 and less than max_tokens")
	case w.Thinking != nil && !slices.Contains([]string{"", "summarized", "omitted"}, w.Thinking.Display):
		return fmt.Errorf("thinking.display: %q", w.Thinking.Display)
	case w.Output != nil && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, w.Output.Effort):
		return fmt.Errorf("output_config.effort: %q", w.Output.Effort)
	}
	return nil
}

// anthropicTalk reads messages one after the other: roles alternate, and the calls of
// one are all answered at the beginning of the next.
type anthropicTalk struct {
	thinks   bool
	messages []model.Message
	last     string            // role
	open     []string          // calls to be answered
	tools    map[string]string // by the id of the call
	bare     []int             // messages with calls but no thinking, in the turn that is not finished
}

func (c *anthropicTalk) message(m anthropicMessage, i int) error {
	switch {
	case i == 0 && m.Role != "user":
		return errors.New("first message must use the user role")
	case m.Role == c.last:
		return errors.New("roles must alternate")
	case len(m.Content) == 0:
		return errors.New("content is empty")
	}
	c.last = m.Role
	switch m.Role {
	case "user":
		return c.user(m.Content)
	case "assistant":
		return c.assistant(m.Content, i)
	}
	return fmt.Errorf("role %q", m.Role)
}

func (c *anthropicTalk) user(content []json.RawMessage) error {
	for i, raw := range content {
		var b struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			ToolUseID string          `json:"tool_use_id"`
			Content   []anthropicText `json:"content"`
			IsError   bool            `json:"is_error"`
		}
		if err := strict(raw, &b); err != nil {
			return number("content", i, err)
		}
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) != "" && b.ToolUseID == "" && b.Content == nil && !b.IsError:
			if err := c.answered(); err != nil {
				return err
			}
			c.bare = nil // a new turn begins
			c.messages = append(c.messages, model.Message{Role: model.User, Text: b.Text})
		case b.Type == "tool_result" && b.Text == "":
			at := slices.Index(c.open, b.ToolUseID)
			if at < 0 {
				return fmt.Errorf("content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", i, b.ToolUseID)
			}
			c.open = slices.Delete(c.open, at, at+1)
			text := ""
			for _, t := range b.Content {
				if t.Type != "text" || t.Text == "" {
					return fmt.Errorf("content.%d: content is %+v", i, t)
				}
				text += t.Text
			}
			c.messages = append(c.messages, model.Message{Role: model.Result, CallID: b.ToolUseID, Tool: c.tools[b.ToolUseID], Text: text, Failed: b.IsError})
		default:
			return fmt.Errorf("content.%d: %s", i, raw)
		}
	}
	return c.answered()
}

func (c *anthropicTalk) answered() error {
	if len(c.open) > 0 {
		return fmt.Errorf("`tool_use` ids were found without `tool_result` blocks immediately after: %s", strings.Join(c.open, ", "))
	}
	return nil
}

func (c *anthropicTalk) assistant(content []json.RawMessage, i int) error {
	m := model.Message{Role: model.Assistant}
	thought, apart := false, false
	for j, raw := range content {
		var b struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			Thinking  *string         `json:"thinking"`
			Signature string          `json:"signature"`
			Data      string          `json:"data"`
			ID        string          `json:"id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
		}
		if err := strict(raw, &b); err != nil {
			return number("content", j, err)
		}
		switch {
		case b.Type == "thinking" && b.Thinking != nil && b.Signature == signature("thinking", *b.Thinking):
			m.Reasoning += *b.Thinking
		case b.Type == "redacted_thinking" && redacted.MatchString(b.Data):
		case b.Type == "thinking" || b.Type == "redacted_thinking":
			return fmt.Errorf("content.%d: Invalid `signature` in `thinking` block", j)
		case b.Type == "text" && strings.TrimSpace(b.Text) != "":
			if apart && m.Text != "" {
				m.Text += "\n\n"
			}
			m.Text += b.Text
		case b.Type == "tool_use" && object(b.Input) && anthropicName.MatchString(b.Name) && anthropicName.MatchString(b.ID) && c.tools[b.ID] == "":
			c.open, c.tools[b.ID] = append(c.open, b.ID), b.Name
			m.Calls = append(m.Calls, model.ToolCall{ID: b.ID, Name: b.Name, Args: unescaped(b.Input)})
		default:
			return fmt.Errorf("content.%d: %s", j, raw)
		}
		apart = b.Type != "text"
		thought = thought || j == 0 && strings.HasSuffix(b.Type, "thinking")
	}
	if len(m.Calls) > 0 && !thought {
		c.bare = append(c.bare, i)
	}
	c.messages = append(c.messages, m)
	return nil
}

func (c *anthropicTalk) end() error {
	switch {
	case c.last == "assistant":
		return errors.New("this model does not support assistant message prefill: the conversation must end with a user message")
	case c.thinks && len(c.bare) > 0:
		return fmt.Errorf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`", c.bare[0])
	}
	return nil
}

// redacted is the form of what stands for encrypted thinking here.
var redacted = regexp.MustCompile(`^[A-Za-z0-9+/]{43}=$`)

// Encode implements Protocol.
func (Anthropic) Encode(name string, o Options, answer model.Response) map[string]any {
	m := answer.Message
	content := []any{}
	switch o.Reasoning {
	case "":
	case "redacted":
		content = append(content, map[string]any{"type": "redacted_thinking", "data": signature("redacted", m.Reasoning)})
	default:
		content = append(content, map[string]any{"type": "thinking", "thinking": m.Reasoning, "signature": signature("thinking", m.Reasoning)})
	}
	if m.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": m.Text, "citations": nil})
	}
	for _, c := range m.Calls {
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": written(c.Args), "caller": map[string]any{"type": "direct"}})
	}
	stop := map[model.Stop]string{model.StopEnd: "end_turn", model.StopCalls: "tool_use", model.StopLength: "max_tokens", model.StopRefusal: "refusal"}[answer.Stop]
	var details any
	if answer.Stop == model.StopRefusal {
		refusal := map[string]any{"type": "refusal", "category": nil, "explanation": nil}
		if answer.Refusal != "" {
			refusal["explanation"] = answer.Refusal
		}
		details = refusal
	}
	return map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": name + "-served", "content": content, "container": nil, "diagnostics": nil,
		"stop_reason": stop, "stop_sequence": nil, "stop_details": details,
		"usage": map[string]any{
			"input_tokens": answer.Usage.Input - answer.Usage.Cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": answer.Usage.Cached,
			"output_tokens": answer.Usage.Output, "output_tokens_details": map[string]any{"thinking_tokens": answer.Usage.Reasoning},
			"cache_creation": nil, "server_tool_use": nil, "service_tier": "standard",
		},
	}
}

// Stream implements Protocol.
func (Anthropic) Stream(answer map[string]any) []string {
	var events []string
	send := func(kind string, fields map[string]any) {
		fields["type"] = kind
		data, _ := json.Marshal(fields)
		events = append(events, fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data))
	}
	started := map[string]any{}
	for k, v := range answer {
		started[k] = v
	}
	started["content"], started["stop_reason"], started["stop_details"] = []any{}, nil, nil
	send("message_start", map[string]any{"message": started})
	send("ping", map[string]any{})
	for i, c := range answer["content"].([]any) {
		start, deltas := anthropicDeltas(c.(map[string]any))
		send("content_block_start", map[string]any{"index": i, "content_block": start})
		for _, d := range deltas {
			send("content_block_delta", map[string]any{"index": i, "delta": d})
		}
		send("content_block_stop", map[string]any{"index": i})
	}
	delta := map[string]any{"container": nil, "stop_reason": answer["stop_reason"], "stop_sequence": nil, "stop_details": answer["stop_details"]}
	send("message_delta", map[string]any{"delta": delta, "usage": answer["usage"]})
	send("message_stop", map[string]any{})
	return events
}

// anthropicDeltas are a block as a stream has it: how it starts, and what is added.
func anthropicDeltas(block map[string]any) (start map[string]any, deltas []map[string]any) {
	start = map[string]any{}
	for k, v := range block {
		start[k] = v
	}
	add := func(kind, field, text string) {
		for _, p := range pieces(text) {
			deltas = append(deltas, map[string]any{"type": kind, field: p})
		}
	}
	switch block["type"] {
	case "text":
		start["text"] = ""
		add("text_delta", "text", block["text"].(string))
	case "thinking":
		start["thinking"], start["signature"] = "", ""
		add("thinking_delta", "thinking", block["thinking"].(string))
		deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": block["signature"]})
	case "tool_use":
		start["input"] = map[string]any{}
		add("input_json_delta", "partial_json", string(block["input"].(written)))
	}
	return start, deltas
}

// Fail implements Protocol.
func (Anthropic) Fail(w http.ResponseWriter, status int, code, message string) {
	kinds := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 504: "timeout_error", 529: "overloaded_error",
	}
	if code == "model_not_found" {
		message = "model: " + message
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": map[string]any{"type": kinds[status], "message": message}, "request_id": "req_1"})
}
