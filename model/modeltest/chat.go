package modeltest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// Chat is the chat-completions protocol as OpenAI publishes it, and the dialects of other
// servers: what theirs has beyond the reference, and what it has not. The zero value is
// what most servers share.
type Chat struct {
	MaxTokens     string   // the field for the most tokens; empty: max_tokens
	Extra         []string // fields of a request that the dialect adds
	NoSeed        bool     // a seed is refused
	NoTemperature bool     // a temperature is refused
	Shows         string   // the field of reasoning, whatever Options.Reasoning names; empty: that
	Filtered      string   // the reason to end of a filtered turn; empty: content_filter
	Usage         func(u model.Usage, told map[string]any)
}

// reasoning is the field that shows it; empty: none.
func (c Chat) reasoning(o Options) string {
	if o.Reasoning == "" {
		return ""
	}
	return cmp.Or(c.Shows, o.Reasoning)
}

// Base implements Protocol.
func (Chat) Base() string { return "/v1" }

// Serves implements Protocol.
func (Chat) Serves(path string) bool { return path == "/v1/chat/completions" }

// Key implements Protocol.
func (Chat) Key(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// Decode implements Protocol.
func (c Chat) Decode(_ *http.Request, body []byte, o Options) (model.Request, string, bool, error) {
	return c.decode(body, c.reasoning(o))
}

// Encode implements Protocol.
func (c Chat) Encode(name string, o Options, answer model.Response) map[string]any {
	whole := Encode(name, c.reasoning(o), answer)
	if choice := whole["choices"].([]any)[0].(map[string]any); c.Filtered != "" && choice["finish_reason"] == "content_filter" {
		choice["finish_reason"] = c.Filtered
	}
	if c.Usage != nil {
		c.Usage(answer.Usage, whole["usage"].(map[string]any))
	}
	return whole
}

// Fail implements Protocol.
func (Chat) Fail(w http.ResponseWriter, status int, code, message string) {
	fail(w, status, map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}})
}

func fail(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// FailEvent is a failure in the middle of a stream, as OpenAI and most relays send it.
func (Chat) FailEvent(code, message string) string {
	return event("", map[string]any{"error": map[string]any{"message": message, "type": "server_error", "code": code}})
}

// Stream implements Protocol: a first chunk with the role, then each text in pieces of a
// few letters, the arguments of parallel calls in turns, the reason to end, the usage in
// a chunk without choices, and the mark that ends the stream.
func (Chat) Stream(answer map[string]any) []string {
	choice := answer["choices"].([]any)[0].(map[string]any)
	message := choice["message"].(map[string]any)
	chunk := func(rest map[string]any) string {
		c := map[string]any{"id": answer["id"], "object": "chat.completion.chunk", "created": answer["created"], "model": answer["model"], "usage": nil}
		for k, v := range rest {
			c[k] = v
		}
		return event("", c)
	}
	delta := func(d map[string]any, finish any) string {
		return chunk(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}})
	}
	events := []string{": this comment keeps the connection\n\n", delta(map[string]any{"role": "assistant", "content": "", "refusal": nil}, nil)}
	for _, d := range deltas(message) {
		events = append(events, delta(d, nil))
	}
	return append(events, delta(map[string]any{}, choice["finish_reason"]), chunk(map[string]any{"choices": []any{}, "usage": answer["usage"]}), "data: [DONE]\n\n")
}

// deltas are a message's fields in the pieces in which a server would send them:
// reasoning first, calls last.
func deltas(message map[string]any) (all []map[string]any) {
	fields := []string{"reasoning_content", "reasoning", "content", "refusal"}
	for _, f := range fields {
		text, _ := message[f].(string)
		for _, piece := range pieces(text) {
			all = append(all, map[string]any{f: piece})
		}
	}
	if details, ok := message["reasoning_details"].([]any); ok {
		all = append(all, detailDeltas(details)...)
	}
	for k, v := range message {
		if !slices.Contains(append(fields, "role", "tool_calls", "reasoning_details"), k) {
			all = append(all, map[string]any{k: v})
		}
	}
	calls, _ := message["tool_calls"].([]any)
	return append(all, callDeltas(calls)...)
}

// detailDeltas send the text of each detail in pieces and its signature with the last.
func detailDeltas(details []any) (all []map[string]any) {
	for i, d := range details {
		d := d.(map[string]any)
		text, _ := d["text"].(string)
		for _, piece := range append(pieces(text), "") {
			part := map[string]any{"type": d["type"], "index": i, "text": piece}
			if piece == "" {
				part["signature"], part["format"], part["id"] = d["signature"], d["format"], d["id"]
			}
			all = append(all, map[string]any{"reasoning_details": []any{part}})
		}
	}
	return all
}

// callDeltas begin all calls and then send their arguments a piece of each in turn.
func callDeltas(calls []any) (all []map[string]any) {
	add := func(i int, call map[string]any) {
		call["index"] = i
		all = append(all, map[string]any{"tool_calls": []any{call}})
	}
	args := make([][]string, len(calls))
	for i, c := range calls {
		c := c.(map[string]any)
		f := c["function"].(map[string]any)
		add(i, map[string]any{"id": c["id"], "type": "function", "function": map[string]any{"name": f["name"], "arguments": ""}})
		text, _ := f["arguments"].(string)
		args[i] = pieces(text)
	}
	for sent := true; sent; {
		sent = false
		for i := range args {
			if len(args[i]) > 0 {
				add(i, map[string]any{"function": map[string]any{"arguments": args[i][0]}})
				args[i], sent = args[i][1:], true
			}
		}
	}
	return all
}

// pieces cuts a text every few letters, as tokens do.
func pieces(text string) (all []string) {
	letters := []rune(text)
	for len(letters) > 0 {
		n := min(4, len(letters))
		all, letters = append(all, string(letters[:n])), letters[n:]
	}
	return all
}

// event is one server-sent event, with the blank line that ends it.
func event(name string, data any) string {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // the data are this package's own
	}
	text := "data: " + string(b) + "\n\n"
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	return text
}
