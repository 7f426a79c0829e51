package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// AnthropicProgram is the Messages protocol as agent programs use it: content may be a
// plain text, messages of one role may follow each other, and some are the system's.
type AnthropicProgram struct{ Anthropic }

// Decode implements Protocol.
func (AnthropicProgram) Decode(r *http.Request, body []byte, _ Options) (asked model.Request, name string, stream bool, err error) {
	var w struct {
		Model     string          `json:"model"`
		MaxTokens int             `json:"max_tokens"`
		System    json.RawMessage `json:"system"`
		Messages  []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return asked, "", false, err
	}
	if r.Header.Get("Anthropic-Version") == "" || w.Model == "" || w.MaxTokens < 1 || len(w.Messages) == 0 {
		return asked, "", false, errors.New("anthropic-version, model, max_tokens and messages are required")
	}
	for _, t := range w.Tools {
		if !anthropicName.MatchString(t.Name) {
			return asked, "", false, fmt.Errorf("the tool name %q", t.Name)
		}
		asked.Tools = append(asked.Tools, agentbound.Tool{Name: t.Name})
	}
	if text := parts(w.System); text != "" {
		asked.Messages = append(asked.Messages, model.Message{Role: model.System, Text: text})
	}
	names, open := map[string]string{}, map[string]bool{}
	for i, m := range w.Messages {
		said, err := anthropicSaid(m.Role, m.Content, names, open)
		if err != nil {
			return asked, "", false, fmt.Errorf("messages.%d: %w", i, err)
		}
		asked.Messages = append(asked.Messages, said...)
	}
	if len(open) > 0 {
		return asked, "", false, fmt.Errorf("%d calls are not answered", len(open))
	}
	return asked, w.Model, w.Stream, nil
}

// anthropicSaid reads one message. names are the tools of calls by id, open the calls
// that wait for their answers, which come with the next message of the user's.
func anthropicSaid(role string, content json.RawMessage, names map[string]string, open map[string]bool) (all []model.Message, err error) {
	var blocks []struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
	}
	said := model.Message{Role: model.Role(role)}
	if text := ""; json.Unmarshal(content, &text) == nil {
		said.Text = text
		return []model.Message{said}, nil
	}
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, err
	}
	for _, b := range blocks {
		switch b.Type {
		case "text":
			said.Text += b.Text
		case "tool_use":
			if b.ID == "" || b.Name == "" || !object(b.Input) {
				return nil, fmt.Errorf("a call without an id, a name or arguments: %s", content)
			}
			names[b.ID], open[b.ID] = b.Name, true
			said.Calls = append(said.Calls, model.ToolCall{ID: b.ID, Name: b.Name, Args: unescaped(b.Input)})
		case "tool_result":
			if !open[b.ToolUseID] {
				return nil, fmt.Errorf("an answer to no call: %s", b.ToolUseID)
			}
			delete(open, b.ToolUseID)
			all = append(all, model.Message{Role: model.Result, CallID: b.ToolUseID, Tool: names[b.ToolUseID], Text: parts(b.Content), Failed: b.IsError})
		}
	}
	if said.Text != "" || said.Calls != nil {
		all = append(all, said)
	}
	return all, nil
}
