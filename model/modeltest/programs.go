package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// What agent programs send is more than the part of a protocol that our own adapters
// use, and differs from version to version. The peers here take what a server would, read
// the conversation and the names of the tools, and leave the rest alone.

// ResponsesProgram is the responses protocol as agent programs use it. A tool in a
// namespace is called NAMESPACE/NAME in requests and answers of a Player.
type ResponsesProgram struct{ Responses }

type programItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Tools     []programItem   `json:"tools"`
}

// Decode implements Protocol.
func (ResponsesProgram) Decode(_ *http.Request, body []byte, _ Options) (r model.Request, name string, stream bool, err error) {
	var w struct {
		Model        string        `json:"model"`
		Instructions string        `json:"instructions"`
		Input        []programItem `json:"input"`
		Tools        []programItem `json:"tools"`
		Stream       bool          `json:"stream"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return r, "", false, err
	}
	if w.Model == "" || len(w.Input) == 0 {
		return r, "", false, errors.New("model and input are required")
	}
	for _, t := range w.Tools {
		if t.Type != "namespace" {
			r.Tools = append(r.Tools, agentbound.Tool{Name: t.Name})
		}
		for _, nested := range t.Tools {
			r.Tools = append(r.Tools, agentbound.Tool{Name: t.Name + "/" + nested.Name})
		}
	}
	if w.Instructions != "" {
		r.Messages = append(r.Messages, model.Message{Role: model.System, Text: w.Instructions})
	}
	names := map[string]string{}
	for i, it := range w.Input {
		m := &model.Message{Role: model.Role(strings.Replace(it.Role, "developer", "system", 1)), Text: parts(it.Content)}
		if last := len(r.Messages) - 1; it.Role == "assistant" || it.Type == "function_call" {
			if m.Role = model.Assistant; last >= 0 && r.Messages[last].Role == model.Assistant {
				m = &r.Messages[last]
				m.Text += parts(it.Content)
			}
		}
		switch it.Type {
		case "function_call":
			if it.CallID == "" || it.Name == "" {
				return r, "", false, fmt.Errorf("input[%d]: a call without an id or a name", i)
			}
			names[it.CallID] = strings.TrimPrefix(it.Namespace+"/"+it.Name, "/")
			m.Calls = append(m.Calls, model.ToolCall{ID: it.CallID, Name: names[it.CallID], Args: it.Arguments})
		case "function_call_output":
			if names[it.CallID] == "" {
				return r, "", false, fmt.Errorf("input[%d]: an answer to no call", i)
			}
			*m = model.Message{Role: model.Result, CallID: it.CallID, Tool: names[it.CallID], Text: parts(it.Output)}
		case "reasoning":
			continue
		}
		if n := len(r.Messages); n == 0 || m != &r.Messages[n-1] {
			r.Messages = append(r.Messages, *m)
		}
	}
	return r, w.Model, w.Stream, nil
}

// Encode implements Protocol.
func (p ResponsesProgram) Encode(name string, o Options, answer model.Response) map[string]any {
	whole := p.Responses.Encode(name, o, answer)
	for _, it := range whole["output"].([]any) {
		it := it.(map[string]any)
		if called, ok := it["name"].(string); ok {
			if namespace, tool, ok := strings.Cut(called, "/"); ok {
				it["namespace"], it["name"] = namespace, tool
			}
		}
	}
	return whole
}

// ChatProgram is chat completions as agent programs use them. Under Below the path
// before /chat/completions is another one.
type ChatProgram struct {
	Chat
	Below string // empty: /v1
}

// Base implements Protocol.
func (p ChatProgram) Base() string {
	if p.Below == "" {
		return p.Chat.Base()
	}
	return strings.TrimSuffix(p.Below, "/")
}

// Serves implements Protocol.
func (p ChatProgram) Serves(path string) bool { return path == p.Base()+"/chat/completions" }

// Decode implements Protocol.
func (ChatProgram) Decode(_ *http.Request, body []byte, _ Options) (r model.Request, name string, stream bool, err error) {
	var w struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string                           `json:"id"`
				Function struct{ Name, Arguments string } `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct{ Name string } `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return r, "", false, err
	}
	if w.Model == "" || len(w.Messages) == 0 {
		return r, "", false, errors.New("model and messages are required")
	}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, agentbound.Tool{Name: t.Function.Name})
	}
	names := map[string]string{}
	for i, m := range w.Messages {
		said := model.Message{Role: model.Role(strings.Replace(m.Role, "developer", "system", 1)), Text: parts(m.Content)}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
			said.Calls = append(said.Calls, model.ToolCall{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		if m.Role == "tool" {
			if names[m.ToolCallID] == "" {
				return r, "", false, fmt.Errorf("messages[%d]: an answer to no call", i)
			}
			said.Role, said.CallID, said.Tool = model.Result, m.ToolCallID, names[m.ToolCallID]
		}
		r.Messages = append(r.Messages, said)
	}
	return r, w.Model, w.Stream, nil
}

// parts is content as a text: one as it is, or those of a list put together.
func parts(content json.RawMessage) string {
	var text string
	if len(content) == 0 || json.Unmarshal(content, &text) == nil {
		return text
	}
	var list []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &list) != nil {
		return string(content)
	}
	for _, p := range list {
		text += p.Text
	}
	return text
}

// Names are how an agent program shows a task's tools to its model.
type Names struct {
	Prefix string // of the task's tools
	// Shown gives the answer to a call out of what the program makes of it; nil: the same.
	Shown func(text string) string
}

// Through has a player that knows the task's tools by their own names play a program's
// model.
func Through(p Player, n Names) Player {
	return func(r model.Request) model.Response {
		plain := r
		plain.Messages = nil
		for _, m := range r.Messages {
			m.Calls = append([]model.ToolCall(nil), m.Calls...)
			for i := range m.Calls {
				m.Calls[i].Name = strings.TrimPrefix(m.Calls[i].Name, n.Prefix)
			}
			m.Tool = strings.TrimPrefix(m.Tool, n.Prefix)
			if m.Role == model.Result && n.Shown != nil {
				m.Text = n.Shown(m.Text)
			}
			plain.Messages = append(plain.Messages, m)
		}
		said := p(plain)
		said.Message.Calls = append([]model.ToolCall(nil), said.Message.Calls...)
		for i := range said.Message.Calls {
			said.Message.Calls[i].Name = n.Prefix + said.Message.Calls[i].Name
		}
		return said
	}
}
