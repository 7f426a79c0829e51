package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// messages is Anthropic's Messages protocol.
type messages struct{}

func (messages) request(body object, _ string) Request {
	r := Request{Model: body.text("model"), Stream: string(body["stream"]) == "true", Choices: 1, Most: int(body.count("max_tokens"))}
	for _, t := range body.list("tools") {
		kind := cmp.Or(t.text("type"), "function")
		if kind == "custom" {
			kind = "function"
		}
		r.Tools = append(r.Tools, newTool(kind, "", cmp.Or(t.text("name"), kind), t.text("description"), t["input_schema"]))
	}
	if s := plain(body["system"]); s != "" {
		r.Messages = append(r.Messages, Message{Role: model.System, Text: s})
	}
	names := map[string]string{}
	for _, m := range body.list("messages") {
		said := Message{Role: model.Role(m.text("role")), Text: m.text("content")}
		var texts, thoughts []string
		for _, b := range m.list("content") {
			switch b.text("type") {
			case "text":
				texts = append(texts, b.text("text"))
			case "thinking":
				thoughts = append(thoughts, b.text("thinking"))
			case "tool_use":
				c := Call{ID: b.text("id"), Kind: "function", Name: b.text("name"), Args: messagesInput(b["input"])}
				said.Calls, names[c.ID] = append(said.Calls, c), c.Name
			case "tool_result":
				id := b.text("tool_use_id")
				r.Messages = append(r.Messages, Message{Role: model.Result, CallID: id, Tool: names[id], Text: plain(b["content"]), Failed: string(b["is_error"]) == "true"})
			}
		}
		said.Text = cmp.Or(said.Text, paragraphs(texts))
		said.Reasoning = paragraphs(thoughts)
		if said.Text != "" || said.Reasoning != "" || said.Calls != nil {
			r.Messages = append(r.Messages, said)
		}
	}
	return r
}

// again puts messages to the end. What one side says in a row is one message.
func (messages) again(body object, extra []Message) error {
	var all []json.RawMessage
	if json.Unmarshal(body["messages"], &all) != nil {
		return errors.New("messages is no list")
	}
	for _, m := range extra {
		block := encode(map[string]any{"type": "text", "text": m.Text})
		if n := len(all) - 1; n >= 0 {
			if last, err := split(all[n]); err == nil && last.text("role") == string(m.Role) {
				content, err := listed(last["content"])
				if err != nil {
					return err
				}
				last.set("content", append(content, block))
				all[n] = encode(last)
				continue
			}
		}
		all = append(all, encode(map[string]any{"role": m.Role, "content": []json.RawMessage{block}}))
	}
	body.set("messages", all)
	return nil
}

// listed is content as a list of blocks.
func listed(raw json.RawMessage) (list []json.RawMessage, err error) {
	if len(raw) > 0 && raw[0] == '"' {
		return []json.RawMessage{encode(map[string]any{"type": "text", "text": unquote(raw)})}, nil
	}
	if json.Unmarshal(raw, &list) != nil {
		return nil, errors.New("content is neither a text nor a list")
	}
	return list, nil
}

func (messages) decode(whole object, t *Turn) error {
	if whole.text("type") == "error" || given(whole["error"]) {
		return &inside{either(whole["error"], encode(whole))}
	}
	stop := whole.text("stop_reason")
	if !given(whole["content"]) || stop == "" {
		return malformed("it has no content, or no reason why it ended")
	}
	content := whole.list("content")
	for _, b := range content {
		switch kind := b.text("type"); kind {
		case "tool_use":
			t.Calls = append(t.Calls, Call{ID: b.text("id"), Kind: "function", Name: b.text("name"), Args: messagesInput(b["input"])})
		case "server_tool_use", "mcp_tool_use":
			t.Hosted = append(t.Hosted, Call{ID: b.text("id"), Kind: kind, Name: b.text("name"), Args: messagesInput(b["input"])})
		}
	}
	t.Model = whole.text("model")
	t.Text, t.Reasoning = messagesTexts(content)
	u := whole.object("usage")
	cached := u.count("cache_read_input_tokens")
	t.Usage = model.Usage{
		Input: min(u.count("input_tokens")+u.count("cache_creation_input_tokens")+cached, mostTokens), Cached: cached,
		Output: u.count("output_tokens"), Reasoning: u.object("output_tokens_details").count("thinking_tokens"),
	}
	switch {
	case stop == "refusal":
		t.Stop, t.Refused = model.StopRefusal, whole.object("stop_details").text("explanation")
	case stop == "max_tokens" || stop == "model_context_window_exceeded":
		t.Stop = model.StopLength
	case len(t.Calls) > 0:
		t.Stop = model.StopCalls
	default:
		t.Stop = model.StopEnd
	}
	t.settle(false)
	return nil
}

// messagesTexts are what blocks say, and think: texts in a row run on.
func messagesTexts(content []object) (said, thought string) {
	var texts, thoughts []string
	apart := true
	for _, b := range content {
		kind := b.text("type")
		switch kind {
		case "text":
			if apart {
				texts = append(texts, "")
			}
			texts[len(texts)-1] += b.text("text")
		case "thinking":
			thoughts = append(thoughts, b.text("thinking"))
		}
		apart = kind != "text"
	}
	return paragraphs(texts), paragraphs(thoughts)
}

// messagesInput is a call's arguments: JSON, or where a stream brought what is none, a
// string that holds what came (see messagesStream).
func messagesInput(raw json.RawMessage) string {
	if !given(raw) || raw[0] == '"' {
		return cmp.Or(unquote(raw), "{}")
	}
	return compact(raw)
}

func (messages) usage() string { return "usage" }

func (messages) only(whole object, text string) {
	content := []any{}
	if text != "" {
		content = append(content, map[string]any{"type": "text", "text": text})
	}
	if whole.set("content", content); whole.text("stop_reason") == "tool_use" {
		whole.set("stop_reason", "end_turn")
	}
}

func (messages) edit(whole object, e Edit) {
	var out []object
	said := e.Thought == nil
	say := func(b object) {
		if said {
			return
		}
		if said = true; strings.TrimSpace(*e.Thought) == "" {
			return
		}
		if b == nil {
			b = object{"type": encode("text")}
		}
		b.set("text", *e.Thought)
		delete(b, "citations")
		out = append(out, b)
	}
	for _, b := range whole.list("content") {
		switch kind := b.text("type"); {
		case kind == "text" && e.Thought != nil:
			say(b)
		case kind == "tool_use":
			say(nil)
			if !e.Withhold {
				out = append(out, b)
			}
		default:
			out = append(out, b)
		}
	}
	say(nil)
	if e.Withhold {
		// A message may not go back with thinking at its end.
		for len(out) > 0 && strings.HasSuffix(out[len(out)-1].text("type"), "thinking") {
			out = out[:len(out)-1]
		}
		if whole.text("stop_reason") == "tool_use" {
			whole.set("stop_reason", "end_turn")
		}
	}
	whole.set("content", append([]object{}, out...))
}

// messagesStream puts the events of a stream together.
type messagesStream struct {
	message object
	blocks  []*messagesBlock
	done    bool
	holds   bool
	before  int  // blocks that began before it held
	inside  bool // see within
}

type messagesBlock struct {
	index int64
	start object
	texts map[string]*strings.Builder // by the field that they are pieces of
	cites []json.RawMessage
	ended bool
}

func (messages) assemble() assembler { return &messagesStream{} }

func (s *messagesStream) event(name string, data []byte) (mark, error) {
	blocks := len(s.blocks)
	s.inside = false
	at, err := s.read(name, data)
	if !s.holds && at > going {
		s.holds, s.before = true, blocks
	}
	return at, err
}

func (s *messagesStream) flowed() string {
	content := make([]object, 0, s.before)
	for _, b := range s.blocks[:s.before] {
		content = append(content, b.whole())
	}
	text, _ := messagesTexts(content)
	return text
}

func (s *messagesStream) within() bool { return s.holds && s.inside }

func (*messagesStream) several() bool { return false }

// splice implements assembler: the blocks come after those that have flowed.
func (s *messagesStream) splice(whole object, text string) [][]byte {
	w := clone(whole)
	messages{}.edit(w, Edit{Thought: &text})
	var f messagesFrames
	f.blocks(w.list("content"), s.before)
	f.end(w)
	return f.all
}

// of is the block of an event. It remembers whether that began before the stream held.
func (s *messagesStream) of(index int64, ends bool) *messagesBlock {
	for i := len(s.blocks) - 1; i >= 0; i-- {
		if b := s.blocks[i]; b.index == index {
			s.inside = i < s.before && !b.ended
			b.ended = b.ended || ends
			return b
		}
	}
	return nil
}

func (s *messagesStream) read(name string, data []byte) (mark, error) {
	if !valid(data) {
		return going, malformed("an event of its stream: %w", errNoObject)
	}
	if piece, ok := newMessagesPiece(data); ok && s.message != nil { // most events are
		return going, s.piece(piece)
	}
	e, err := split(data)
	if err != nil {
		return going, malformed("an event of its stream: %w", err)
	}
	kind := cmp.Or(e.text("type"), name)
	if s.message == nil && strings.HasPrefix(kind, "content_block") {
		return going, malformed("the events of its stream are out of order")
	}
	switch kind {
	case "error":
		return going, &inside{either(e["error"], data)}
	case "message_start":
		if s.message, err = split(e["message"]); err != nil {
			return going, malformed("message_start: %w", err)
		}
		if len(s.message.list("content")) > 0 {
			return going, malformed("message_start has content already")
		}
	case "content_block_start":
		s.blocks = append(s.blocks, &messagesBlock{index: e.count("index"), start: e.object("content_block"), texts: map[string]*strings.Builder{}})
		if s.blocks[len(s.blocks)-1].start.text("type") == "tool_use" {
			return calling, nil
		}
	case "content_block_delta":
		return going, malformed("a piece of a block is none")
	case "content_block_stop":
		b := s.of(e.count("index"), true)
		if b == nil {
			return going, malformed("the events of its stream are out of order")
		}
		if b.start.text("type") == "tool_use" {
			return acting, nil
		}
	case "message_delta":
		if s.message == nil {
			return going, malformed("the events of its stream are out of order")
		}
		for k, v := range e.object("delta") {
			s.message[k] = v
		}
		usage := s.message.object("usage")
		for k, v := range e.object("usage") {
			if given(v) || usage[k] == nil {
				usage[k] = v
			}
		}
		s.message.set("usage", usage)
		return acting, nil
	case "":
		if given(e["error"]) { // a relay's failure has no type
			return going, &inside{e["error"]}
		}
	case "message_stop":
		s.done = true
		return ended, nil
	}
	return going, nil
}

// messagesPiece is a piece of a block.
type messagesPiece struct {
	index int64
	kind  string
	delta []byte // as it stands in the event
}

func newMessagesPiece(data []byte) (p messagesPiece, ok bool) {
	for name, v := range members(data) {
		switch {
		case named(name, "type"):
			ok = string(v) == `"content_block_delta"` || unquote(v) == "content_block_delta"
		case named(name, "index"):
			p.index = number(v)
		case named(name, "delta"):
			p.delta = v
		}
	}
	for name, v := range members(p.delta) {
		if named(name, "type") {
			p.kind = unquote(v)
		}
	}
	return p, ok && (!given(p.delta) || p.delta[0] == '{')
}

// messagesDeltas are the kinds of pieces, the field that a piece has, and the block's.
var messagesDeltas = []struct{ kind, from, field string }{
	{"text_delta", "text", "text"},
	{"thinking_delta", "thinking", "thinking"},
	{"signature_delta", "signature", "signature"},
	{"input_json_delta", "partial_json", "input"},
}

func (s *messagesStream) piece(p messagesPiece) error {
	b := s.of(p.index, false)
	if b == nil {
		return malformed("the events of its stream are out of order")
	}
	if p.kind == "citations_delta" {
		for name, v := range members(p.delta) {
			if named(name, "citation") && given(v) {
				b.cites = append(b.cites, v)
			}
		}
		return nil
	}
	for _, d := range messagesDeltas {
		if p.kind != d.kind {
			continue
		}
		if b.texts[d.field] == nil {
			b.texts[d.field] = &strings.Builder{}
		}
		for name, v := range members(p.delta) {
			if v[0] == '"' && named(name, d.from) {
				say(b.texts[d.field], v)
			}
		}
	}
	return nil
}

func (b *messagesBlock) whole() object {
	o := clone(b.start)
	for field, t := range b.texts {
		switch text := t.String(); {
		case field != "input":
			o.set(field, b.start.text(field)+text)
		case json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimSpace(text), "{"):
			o[field] = json.RawMessage(text)
		case text != "":
			o.set(field, text) // no JSON object: kept as it came
		}
	}
	if b.cites != nil {
		o.set("citations", b.cites)
	}
	return o
}

func (s *messagesStream) whole() (object, error) {
	if !s.done || s.message == nil {
		return nil, errBroken
	}
	content := make([]object, 0, len(s.blocks))
	for _, b := range s.blocks {
		content = append(content, b.whole())
	}
	whole := clone(s.message)
	whole.set("content", content)
	return whole, nil
}

// events implements codec.
func (messages) events(whole object) [][]byte {
	var f messagesFrames
	begun := clone(whole)
	begun.set("content", []any{})
	for _, k := range messagesEnds {
		if _, ok := whole[k]; ok {
			begun.set(k, nil)
		}
	}
	f.send("message_start", map[string]any{"message": begun})
	f.blocks(whole.list("content"), 0)
	f.end(whole)
	return f.all
}

// messagesEnds are the members that come with the end of a stream.
var messagesEnds = []string{"stop_reason", "stop_sequence", "stop_details", "container"}

// messagesFrames are the events of a stream.
type messagesFrames struct{ all [][]byte }

func (f *messagesFrames) send(kind string, fields map[string]any) {
	fields["type"] = kind
	f.all = append(f.all, event(kind, encode(fields)))
}

// blocks sends blocks of content, of which the first has a place.
func (f *messagesFrames) blocks(content []object, place int) {
	for i, b := range content {
		start := clone(b)
		var deltas []map[string]any
		for _, d := range messagesDeltas {
			raw := b[d.field]
			if !given(raw) {
				continue
			}
			text := b.text(d.field)
			if d.field == "input" {
				text = messagesInput(raw)
				start.set("input", object{})
			} else {
				start.set(d.field, "")
			}
			deltas = append(deltas, map[string]any{"type": d.kind, d.from: text})
		}
		var cites []json.RawMessage
		if json.Unmarshal(b["citations"], &cites) == nil && len(cites) > 0 {
			start.set("citations", []any{})
			for _, c := range cites {
				deltas = append(deltas, map[string]any{"type": "citations_delta", "citation": c})
			}
		}
		f.send("content_block_start", map[string]any{"index": place + i, "content_block": start})
		for _, d := range deltas {
			f.send("content_block_delta", map[string]any{"index": place + i, "delta": d})
		}
		f.send("content_block_stop", map[string]any{"index": place + i})
	}
}

func (f *messagesFrames) end(whole object) {
	ended := object{}
	for _, k := range messagesEnds {
		if v, ok := whole[k]; ok {
			ended[k] = v
		}
	}
	f.send("message_delta", map[string]any{"delta": ended, "usage": either(whole["usage"], encode(object{}))})
	f.send("message_stop", map[string]any{})
}

func (m messages) broke(status int, message string) []byte {
	return event("error", m.fail(status, message))
}

func (messages) fail(status int, message string) []byte {
	kinds := map[int]string{401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error"}
	kind := cmp.Or(kinds[status], "invalid_request_error")
	if status >= 500 && kinds[status] == "" {
		kind = "api_error"
	}
	return encode(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": message}})
}
