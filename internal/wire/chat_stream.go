package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// chatStream puts the chunks of a stream together. Texts are joined, lists extended, of
// anything else the last one counts; of choices the first.
type chatStream struct {
	base   object // of the first chunk that has it
	choice object // what stands beside the delta
	texts  map[string]*strings.Builder
	lists  map[string][]json.RawMessage
	rest   object
	calls  []*chatCall
	others map[string]bool
	finish bool
	done   bool
	said   int // bytes of content before the event
	holds  bool
}

type chatCall struct {
	index  *int
	fields object // as they came first
	kind   string
	fn     object
	args   strings.Builder
	depth  depth
}

func (chat) assemble() assembler {
	return &chatStream{base: object{}, choice: object{}, texts: map[string]*strings.Builder{}, lists: map[string][]json.RawMessage{}, rest: object{}, others: map[string]bool{}}
}

func (s *chatStream) event(name string, data []byte) (mark, error) {
	if !s.holds {
		if t := s.texts["content"]; t != nil {
			s.said = t.Len()
		}
	}
	at, err := s.read(name, data)
	s.holds = s.holds || at > going
	return at, err
}

func (s *chatStream) flowed() string {
	t := s.texts["content"]
	if t == nil {
		return ""
	}
	_, _, text := thinking(t.String()[:s.said])
	return text
}

// thinks reports whether what has flowed ends within reasoning that tags show.
func (s *chatStream) thinks() bool {
	t := s.texts["content"]
	if t == nil {
		return false
	}
	before, _, _ := thinking(t.String()[:s.said])
	return before != "" && !strings.Contains(before, "</think>")
}

func (*chatStream) within() bool { return false } // a chunk has no parts that could be open

func (s *chatStream) several() bool { return len(s.others) > 0 }

// splice implements assembler. Details of reasoning name their places: those of the answer
// come after those that have flowed.
func (s *chatStream) splice(whole object, text string) [][]byte {
	w := clone(whole)
	for _, k := range []string{"id", "object", "created", "model", "provider", "service_tier", "system_fingerprint"} {
		if delete(w, k); given(s.base[k]) {
			w[k] = s.base[k]
		}
	}
	first := w.list("choices")[0]
	m := first.object("message")
	if text != "" && s.thinks() {
		text = "\n</think>\n\n" + text // or it would be taken for more of the reasoning
	}
	m.set("content", text)
	if details := m.list("reasoning_details"); len(details) > 0 {
		for _, d := range details {
			if given(d["index"]) {
				d.set("index", d.count("index")+int64(len(s.lists["reasoning_details"])))
			}
		}
		m.set("reasoning_details", details)
	}
	first.set("message", m)
	w.set("choices", []object{first})
	return chat{}.events(w)[1:] // the role is told
}

func (s *chatStream) read(name string, data []byte) (mark, error) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		s.done = true
		return ended, nil
	}
	if !valid(data) {
		return going, malformed("an event of its stream: %w", errNoObject)
	}
	if name == "" && len(s.base) > 0 && s.piece(data) { // most events are
		if s.finish {
			return acting, nil
		}
		return going, nil
	}
	c, err := split(data)
	if err != nil {
		return going, malformed("an event of its stream: %w", err)
	}
	if given(c["error"]) {
		return going, &inside{c["error"]}
	}
	if name == "error" {
		return going, &inside{data}
	}
	for k, v := range c {
		if k != "choices" && (given(v) || s.base[k] == nil) {
			s.base[k] = v
		}
	}
	at := going
	for _, choice := range c.list("choices") {
		if given(choice["error"]) {
			return going, &inside{choice["error"]}
		}
		if i := string(choice["index"]); given(choice["index"]) && i != "0" {
			s.others[i] = true
			continue
		}
		at = max(at, s.add(choice))
	}
	return at, nil
}

// piece takes a chunk that adds to texts and to nothing else, or says that it is none.
func (s *chatStream) piece(data []byte) bool {
	var choices, delta []byte
	for name, v := range members(data) {
		switch {
		case named(name, "choices"):
			choices = v
		case (named(name, "error") || named(name, "usage")) && given(v):
			return false
		}
	}
	n := 0
	for choice := range elements(choices) {
		if n++; n > 1 {
			return false
		}
		for name, v := range members(choice) {
			switch {
			case named(name, "delta"):
				delta = v
			case named(name, "index"):
				if given(v) && string(v) != "0" {
					return false
				}
			case given(v) && string(v) != `""`: // a reason to end, or anything else
				return false
			}
		}
	}
	texts := 0
	for name, v := range members(delta) {
		if given(v) && (v[0] != '"' || bytes.IndexByte(name, '\\') >= 0) {
			return false
		}
		texts++
	}
	for name, v := range members(delta) {
		if given(v) && len(v) > 2 && !named(name, "role") {
			say(s.text(string(name[1:len(name)-1])), v)
		}
	}
	return texts > 0
}

// say adds what a string says.
func say(to *strings.Builder, raw []byte) {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		to.Write(inner)
		return
	}
	to.WriteString(unquote(raw))
}

// text is a field that comes in pieces.
func (s *chatStream) text(field string) *strings.Builder {
	if s.texts[field] == nil {
		s.texts[field] = &strings.Builder{}
	}
	return s.texts[field]
}

// add adds a piece of the choice.
func (s *chatStream) add(choice object) (at mark) {
	for k, v := range choice {
		if k != "delta" && k != "index" && (given(v) || s.choice[k] == nil) {
			s.choice[k] = v
		}
	}
	s.finish = s.finish || choice.text("finish_reason") != ""
	if m := choice.object("message"); len(s.calls) == 0 { // some servers end with the whole message
		delete(s.choice, "message")
		at = max(at, s.call(m.list("tool_calls")))
	}
	for k, v := range choice.object("delta") {
		switch {
		case !given(v) || k == "role":
		case k == "tool_calls":
			at = max(at, s.call(objects(v)))
		case k == "function_call":
			f, _ := split(v)
			at = max(at, s.call([]object{{"index": []byte("-1"), "function": encode(f)}}))
		case v[0] == '"':
			say(s.text(k), v)
		case v[0] == '[':
			s.list(k, v)
		default:
			s.rest[k] = v
		}
	}
	if s.finish {
		return acting
	}
	return at
}

// list extends a list. Details of reasoning name their place: the pieces of one become
// one again.
func (s *chatStream) list(k string, list json.RawMessage) {
	for raw := range elements(list) {
		n := len(s.lists[k]) - 1
		piece, err := split(raw)
		if k != "reasoning_details" || err != nil || n < 0 {
			s.lists[k] = append(s.lists[k], raw)
			continue
		}
		last, err := split(s.lists[k][n])
		if err != nil || !given(piece["index"]) || string(last["index"]) != string(piece["index"]) || last.text("type") != piece.text("type") {
			s.lists[k] = append(s.lists[k], raw)
			continue
		}
		for f, v := range piece {
			switch before := last.text(f); {
			case !given(v):
			case before != "" && slices.Contains([]string{"text", "summary", "data"}, f):
				last.set(f, before+piece.text(f))
			default:
				last[f] = v
			}
		}
		s.lists[k][n] = encode(last)
	}
}

// call adds pieces of calls, by their index where there is one, or else to the last. A
// new id begins a new call: some servers give all calls the same index.
func (s *chatStream) call(pieces []object) (at mark) {
	for _, p := range pieces {
		at = max(at, calling)
		kind := "function"
		if given(p["custom"]) {
			kind = "custom"
		}
		fn := p.object(kind)
		var index *int
		var n int
		if given(p["index"]) && json.Unmarshal(p["index"], &n) == nil {
			index = &n
		}
		c := s.open(index, p.text("id"), fn.text("name"))
		for k, v := range p {
			if k != kind && k != "index" && given(v) && string(v) != `""` {
				c.fields[k] = v
			}
		}
		field := "arguments"
		if kind == "custom" {
			c.kind, field = kind, "input"
		}
		for k, v := range fn {
			if k != field && given(v) && string(v) != `""` {
				c.fn[k] = v
			}
		}
		text := fn.text(field)
		if raw := fn[field]; given(raw) && raw[0] == '{' {
			text = string(raw) // the JSON itself
		}
		c.args.WriteString(text)
		if c.depth.closes(text) {
			at = acting
		}
	}
	return at
}

// open is the call that a piece belongs to.
func (s *chatStream) open(index *int, id, name string) *chatCall {
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := s.calls[i]
		known := c.fields.text("id")
		if index != nil && (c.index == nil || *c.index != *index) {
			continue
		}
		if id != "" && known != "" && id != known || index == nil && id == "" && name != "" {
			if index != nil {
				continue
			}
			break
		}
		return c
	}
	c := &chatCall{index: index, fields: object{}, fn: object{}, kind: "function"}
	s.calls = append(s.calls, c)
	return c
}

func (s *chatStream) whole() (object, error) {
	if !s.finish && !s.done || len(s.choice) == 0 {
		return nil, errBroken
	}
	m := clone(s.rest)
	m.set("role", "assistant")
	for k, t := range s.texts {
		m.set(k, t.String())
	}
	for k, l := range s.lists {
		if t := s.texts[k]; t != nil && t.Len() > 0 {
			l = append(slices.Clone(l), encode(map[string]any{"type": "text", "text": t.String()}))
		}
		m.set(k, l)
	}
	calls := slices.Clone(s.calls)
	if !slices.ContainsFunc(calls, func(c *chatCall) bool { return c.index == nil }) {
		slices.SortStableFunc(calls, func(a, b *chatCall) int { return *a.index - *b.index })
	}
	var list []object
	for _, c := range calls {
		fn := clone(c.fn)
		if c.kind == "custom" {
			fn.set("input", c.args.String())
		} else {
			fn.set("arguments", c.args.String())
		}
		if c.index != nil && *c.index == -1 && len(c.fields) == 0 {
			m.set("function_call", fn)
			continue
		}
		call := clone(c.fields)
		call.set(c.kind, fn)
		if call.text("type") == "" {
			call.set("type", c.kind)
		}
		list = append(list, call)
	}
	if list != nil {
		m.set("tool_calls", list)
	}
	choice := clone(s.choice)
	choice.set("index", 0)
	choice.set("message", m)
	whole := clone(s.base)
	whole.set("object", "chat.completion")
	all := []object{choice}
	for range s.others {
		all = append(all, object{}) // is there; what it says is not followed
	}
	whole.set("choices", all)
	return whole, nil
}

// depth follows JSON that comes in pieces, to know when its object or list closes: some
// programs run a call as soon as its arguments parse.
type depth struct {
	open            int
	quoted, escaped bool
}

func (d *depth) closes(piece string) (closed bool) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case d.escaped:
			d.escaped = false
		case d.quoted && c == '\\':
			d.escaped = true
		case c == '"':
			d.quoted = !d.quoted
		case d.quoted:
		case c == '{', c == '[':
			d.open++
		case c == '}', c == ']':
			d.open--
			closed = closed || d.open <= 0
		}
	}
	return closed
}
