package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// chat is the chat-completions protocol, as OpenAI and the many servers like it speak it.
type chat struct{}

func (chat) request(body object, _ string) Request {
	r := Request{Model: body.text("model"), Stream: string(body["stream"]) == "true", Choices: max(1, int(body.count("n")))}
	r.Most = int(cmp.Or(body.count("max_completion_tokens"), body.count("max_tokens")))
	r.Usage = string(body.object("stream_options")["include_usage"]) == "true"
	for _, t := range body.list("tools") {
		kind := t.text("type")
		f := t.object(cmp.Or(kind, "function"))
		r.Tools = append(r.Tools, newTool(kind, "", cmp.Or(f.text("name"), kind), f.text("description"), f.first("parameters", "format")))
	}
	for _, f := range body.list("functions") { // before there were tools
		r.Tools = append(r.Tools, newTool("function", "", f.text("name"), f.text("description"), f["parameters"]))
	}
	names := map[string]string{}
	for _, m := range body.list("messages") {
		msg := Message{Role: model.Role(strings.Replace(m.text("role"), "developer", "system", 1)), Text: plain(m["content"])}
		switch msg.Role {
		case model.Assistant:
			_, _, msg.Text = thinking(msg.Text)
			msg.Reasoning = chatReasoning(m)
			msg.Calls = chatCalls(m)
			for _, c := range msg.Calls {
				names[c.ID] = c.Name
			}
		case model.Result, "function":
			msg.Role, msg.CallID = model.Result, m.text("tool_call_id")
			msg.Tool = cmp.Or(names[msg.CallID], m.text("name"))
		}
		r.Messages = append(r.Messages, msg)
	}
	return r
}

// chatCalls are a message's calls, of all kinds and of the form before there were tools.
func chatCalls(m object) (all []Call) {
	for _, c := range m.list("tool_calls") {
		kind := cmp.Or(c.text("type"), "function")
		f := c.object(kind)
		call := Call{ID: c.text("id"), Kind: kind, Name: f.text("name"), Args: f.text("arguments")}
		if raw := f["arguments"]; call.Args == "" && given(raw) && raw[0] != '"' {
			call.Args = string(raw) // some servers send the JSON itself
		}
		if kind == "custom" {
			call.Args = f.text("input")
		}
		all = append(all, call)
	}
	if f := m.object("function_call"); len(f) > 0 {
		all = append(all, Call{Kind: "function", Name: f.text("name"), Args: f.text("arguments")})
	}
	return all
}

// chatReasoning is the reasoning that a message shows, in the fields in which servers do.
func chatReasoning(m object) string {
	if s := cmp.Or(m.text("reasoning_content"), m.text("reasoning")); s != "" {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	for _, p := range m.list("content") {
		for _, t := range p.list("thinking") {
			b.WriteString(t.text("text"))
		}
	}
	return b.String()
}

// thinking takes reasoning out of a text that shows it in <think> tags: before is all up
// to the end of the tags. The opening tag may be missing, where the template wrote it.
func thinking(text string) (before, thought, rest string) {
	inner, after, closed := strings.Cut(text, "</think>")
	trimmed := strings.TrimSpace(inner)
	opened := strings.HasPrefix(trimmed, "<think>")
	switch {
	case closed && (opened || !strings.Contains(inner, "<think>")):
		return inner + "</think>", strings.TrimSpace(strings.TrimPrefix(trimmed, "<think>")), strings.TrimSpace(after)
	case opened:
		return text, strings.TrimSpace(strings.TrimPrefix(trimmed, "<think>")), ""
	}
	return "", "", text
}

func (chat) again(body object, extra []Message) error {
	var all []json.RawMessage
	if json.Unmarshal(body["messages"], &all) != nil {
		return errors.New("messages is no list")
	}
	for _, m := range extra {
		all = append(all, encode(map[string]any{"role": m.Role, "content": m.Text}))
	}
	body.set("messages", all)
	return nil
}

func (chat) decode(whole object, t *Turn) error {
	if given(whole["error"]) {
		return &inside{whole["error"]}
	}
	choices := whole.list("choices")
	if len(choices) == 0 {
		return malformed("it has no choices")
	}
	first := choices[0]
	if given(first["error"]) {
		return &inside{first["error"]}
	}
	if !given(first["message"]) {
		return malformed("its choice has no message")
	}
	m := first.object("message")
	_, thought, text := thinking(plainText(m["content"]))
	t.Model, t.Text, t.Reasoning, t.Refused = whole.text("model"), text, cmp.Or(chatReasoning(m), thought), m.text("refusal")
	t.Calls, t.Others = chatCalls(m), len(choices)-1
	t.Usage = chatUsage(cmpObject(whole.object("usage"), first.object("usage")))
	switch finish := first.text("finish_reason"); {
	case slices.Contains([]string{"length", "model_context_window_exceeded", "model_length"}, finish):
		t.Stop = model.StopLength
	case slices.Contains([]string{"content_filter", "sensitive", "refusal"}, finish),
		slices.Contains([]string{"content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST", "SPII"}, first.text("native_finish_reason")):
		t.Stop = model.StopRefusal
	case len(t.Calls) > 0:
		t.Stop = model.StopCalls
	case t.Refused != "":
		t.Stop = model.StopRefusal
	default:
		t.Stop = model.StopEnd
	}
	t.settle(false)
	return nil
}

// plainText is content's text alone: a refusal among its parts is none.
func plainText(raw json.RawMessage) string {
	s := unquote(raw)
	for _, p := range objects(raw) {
		s += p.text("text")
	}
	return s
}

func cmpObject(a, b object) object {
	if len(a) > 0 {
		return a
	}
	return b
}

func chatUsage(u object) model.Usage {
	cached := max(u.object("prompt_tokens_details").count("cached_tokens"), u.count("prompt_cache_hit_tokens"), u.count("cached_tokens"))
	return model.Usage{
		Input: u.count("prompt_tokens"), Cached: cached,
		Output: u.count("completion_tokens"), Reasoning: u.object("completion_tokens_details").count("reasoning_tokens"),
	}
}

func (chat) usage() string { return "usage" }

func (chat) only(whole object, text string) {
	first := whole.list("choices")[0]
	if f := first.text("finish_reason"); f == "tool_calls" || f == "function_call" {
		first.set("finish_reason", "stop")
		delete(first, "native_finish_reason")
	}
	first.set("message", map[string]any{"role": "assistant", "content": text})
	whole.set("choices", []object{first})
}

func (chat) edit(whole object, e Edit) {
	choices := whole.list("choices")
	first := choices[0]
	m := first.object("message")
	if e.Thought != nil {
		before, _, _ := thinking(plainText(m["content"]))
		text := *e.Thought
		if before != "" {
			text = before + "\n\n" + text
		}
		if m.set("content", text); text == "" {
			m.set("content", nil)
		}
	}
	if e.Withhold {
		delete(m, "tool_calls")
		delete(m, "function_call")
		if f := first.text("finish_reason"); f == "tool_calls" || f == "function_call" {
			first.set("finish_reason", "stop")
			delete(first, "native_finish_reason")
		}
	}
	first.set("message", m)
	whole.set("choices", []object{first})
}

// events implements codec: a chunk with the role, one for each field, the calls, the
// reason to end, the usage in a chunk of its own, and the mark that ends a stream.
func (chat) events(whole object) [][]byte {
	base := clone(whole)
	delete(base, "choices")
	delete(base, "usage")
	base.set("object", "chat.completion.chunk")
	var frames [][]byte
	chunk := func(choices []any, usage json.RawMessage) {
		c := clone(base)
		c.set("choices", choices)
		if usage != nil {
			c["usage"] = usage
		}
		frames = append(frames, event("", encode(c)))
	}
	first := whole.list("choices")[0]
	delta := func(d map[string]any) {
		chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}}, nil)
	}
	m := first.object("message")
	delta(map[string]any{"role": "assistant", "content": ""})
	fields := []string{"reasoning_content", "reasoning", "reasoning_details"}
	for k := range m {
		if !slices.Contains([]string{"role", "content", "tool_calls"}, k) && !slices.Contains(fields, k) {
			fields = append(fields, k)
		}
	}
	slices.Sort(fields[3:])
	for _, k := range append(fields, "content") {
		if given(m[k]) && string(m[k]) != `""` {
			delta(map[string]any{k: m[k]})
		}
	}
	for i, c := range m.list("tool_calls") {
		c.set("index", i)
		delta(map[string]any{"tool_calls": []any{c}})
	}
	last := clone(first)
	delete(last, "message")
	last.set("index", 0)
	last.set("delta", map[string]any{})
	chunk([]any{last}, nil)
	if given(whole["usage"]) {
		chunk([]any{}, whole["usage"])
	}
	return append(frames, event("", []byte("[DONE]")))
}

func (c chat) broke(status int, message string) []byte { return event("", c.fail(status, message)) }

func (chat) fail(status int, message string) []byte {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusTooManyRequests:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case status == http.StatusNotFound:
		code = "not_found"
	case status >= 500:
		kind, code = "server_error", "proxy_error"
	}
	return encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": code}})
}
