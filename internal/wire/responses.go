package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound/model"
)

// responses is OpenAI's responses protocol.
type responses struct{}

func (responses) request(body object, _ string) Request {
	r := Request{Model: body.text("model"), Previous: body.text("previous_response_id"), Stored: string(body["store"]) != "false", Stream: string(body["stream"]) == "true", Choices: 1, Most: int(body.count("max_output_tokens"))}
	for _, t := range body.list("tools") {
		r.Tools = append(r.Tools, responsesTools(t, "")...)
	}
	if s := body.text("instructions"); s != "" {
		r.Messages = append(r.Messages, Message{Role: model.System, Text: s})
	}
	if s := body.text("input"); s != "" {
		r.Messages = append(r.Messages, Message{Role: model.User, Text: s})
	}
	names := map[string]string{}
	for _, it := range body.list("input") {
		r.Messages = responsesInput(r.Messages, it, names)
	}
	return r
}

// responsesTools is a tool, or those of a namespace.
func responsesTools(t object, namespace string) (all []Tool) {
	kind, name := t.text("type"), t.text("name")
	if kind == "namespace" {
		for _, nested := range t.list("tools") {
			all = append(all, responsesTools(nested, strings.TrimPrefix(namespace+"."+name, "."))...)
		}
		return all
	}
	return []Tool{newTool(kind, namespace, cmp.Or(name, kind), t.text("description"), t.first("parameters", "input_schema", "format"))}
}

// responsesInput adds an item. What the model said in a row is one message.
func responsesInput(all []Message, it object, names map[string]string) []Message {
	said := func() *Message {
		if n := len(all); n == 0 || all[n-1].Role != model.Assistant {
			all = append(all, Message{Role: model.Assistant})
		}
		return &all[len(all)-1]
	}
	kind, role := it.text("type"), it.text("role")
	switch {
	case kind == "reasoning":
		m := said()
		shown, _ := responsesReasoning(it)
		m.Reasoning = paragraphs([]string{m.Reasoning, shown})
	case strings.HasSuffix(kind, "_output"):
		id := it.text("call_id")
		text := plain(it["output"])
		if out := it["output"]; text == "" && given(out) && out[0] == '{' {
			text = string(out)
		}
		all = append(all, Message{Role: model.Result, CallID: id, Tool: names[id], Text: text})
	case kind == "" && role != "", kind == "message":
		text := plain(it["content"])
		if role == "assistant" {
			m := said()
			m.Text = paragraphs([]string{m.Text, text})
			break
		}
		all = append(all, Message{Role: model.Role(strings.Replace(role, "developer", "system", 1)), Text: text})
	default:
		if c, mine := responsesCall(it); mine && kind != "" {
			m := said()
			m.Calls = append(m.Calls, c)
			names[c.ID] = c.Name
		}
	}
	return all
}

// responsesCall is an item that is a call; mine: the program runs it, not the provider.
func responsesCall(it object) (c Call, mine bool) {
	kind := it.text("type")
	c = Call{ID: it.text("call_id"), Kind: kind, Namespace: it.text("namespace"), Name: cmp.Or(it.text("name"), kind)}
	switch kind {
	case "function_call":
		c.Kind, c.Args = "function", it.text("arguments")
		if c.Args == "" && given(it["arguments"]) && it["arguments"][0] != '"' {
			c.Args = string(it["arguments"]) // some servers send the JSON itself
		}
		return c, true
	case "custom_tool_call":
		c.Kind, c.Args = "custom", it.text("input")
		return c, true
	}
	c.Args = string(it.first("action", "arguments", "input", "operation"))
	return c, c.ID != "" || kind == "local_shell_call" || kind == "shell_call" || kind == "computer_call" || kind == "mcp_approval_request"
}

// responsesReasoning is what an item shows: its summaries, or its text.
func responsesReasoning(it object) (shown string, summary bool) {
	var summaries, texts []string
	for _, s := range it.list("summary") {
		summaries = append(summaries, s.text("text"))
	}
	for _, s := range it.list("content") {
		texts = append(texts, s.text("text"))
	}
	if s := paragraphs(summaries); s != "" {
		return s, true
	}
	return paragraphs(texts), false
}

func (responses) again(body object, extra []Message) error {
	var input []json.RawMessage
	if s := body.text("input"); s != "" {
		input = append(input, encode(map[string]any{"role": "user", "content": s}))
	} else if err := json.Unmarshal(body["input"], &input); err != nil && given(body["input"]) {
		return errors.New("input is neither a text nor a list")
	}
	for _, m := range extra {
		input = append(input, encode(map[string]any{"role": m.Role, "content": m.Text}))
	}
	body.set("input", input)
	return nil
}

func (responses) decode(whole object, t *Turn) error {
	if given(whole["error"]) {
		return &inside{whole["error"]}
	}
	status := whole.text("status")
	switch status {
	case "completed", "incomplete", "":
	case "failed":
		return &inside{[]byte(`{"message":"the response failed, and does not say why"}`)}
	default:
		return malformed("its status is %.40q", status)
	}
	if !given(whole["output"]) {
		return malformed("it has no output")
	}
	var texts, refusals, shown []string
	summary := false
	for _, it := range whole.list("output") {
		kind := it.text("type")
		switch kind {
		case "message":
			text := ""
			for _, p := range it.list("content") {
				text += p.text("text")
				refusals = append(refusals, p.text("refusal"))
			}
			texts = append(texts, text)
		case "reasoning":
			s, sum := responsesReasoning(it)
			shown, summary = append(shown, s), summary || sum
		default:
			c, mine := responsesCall(it)
			switch {
			case mine:
				t.Calls = append(t.Calls, c)
			case kind != "":
				t.Hosted = append(t.Hosted, c)
			}
		}
	}
	t.Model, t.Text, t.Reasoning, t.Refused = whole.text("model"), paragraphs(texts), paragraphs(shown), paragraphs(refusals)
	t.Usage = responsesUsage(whole.object("usage"))
	switch {
	case status == "incomplete" && whole.object("incomplete_details").text("reason") == "content_filter":
		t.Stop = model.StopRefusal
	case status == "incomplete":
		t.Stop = model.StopLength
	case len(t.Calls) > 0:
		t.Stop = model.StopCalls
	case t.Refused != "":
		t.Stop = model.StopRefusal
	default:
		t.Stop = model.StopEnd
	}
	t.settle(summary)
	return nil
}

func responsesUsage(u object) model.Usage {
	return model.Usage{
		Input: u.count("input_tokens"), Cached: u.object("input_tokens_details").count("cached_tokens"),
		Output: u.count("output_tokens"), Reasoning: u.object("output_tokens_details").count("reasoning_tokens"),
	}
}

func (responses) usage() string { return "usage" }

func (responses) only(whole object, text string) {
	whole.set("output", []any{})
	responses{}.edit(whole, Edit{Thought: &text})
}

func (responses) edit(whole object, e Edit) {
	var out []object
	said := e.Thought == nil
	say := func(it object) {
		if said {
			return
		}
		if said = true; strings.TrimSpace(*e.Thought) == "" {
			return
		}
		if it == nil {
			it = object{"type": encode("message"), "id": encode("msg_" + digest([]byte(*e.Thought))[:32]), "role": encode("assistant"), "status": encode("completed")}
		}
		it.set("content", []any{map[string]any{"type": "output_text", "text": *e.Thought, "annotations": []any{}, "logprobs": []any{}}})
		out = append(out, it)
	}
	for _, it := range whole.list("output") {
		kind := it.text("type")
		_, mine := responsesCall(it)
		switch {
		case kind == "message" && e.Thought != nil:
			say(it)
		case kind != "message" && kind != "reasoning" && mine:
			say(nil)
			if !e.Withhold {
				out = append(out, it)
			}
		default:
			out = append(out, it)
		}
	}
	say(nil)
	// A reasoning item goes back with the item that follows it, or is rejected.
	for len(out) > 0 && out[len(out)-1].text("type") == "reasoning" && (e.Withhold || e.Thought != nil) {
		out = out[:len(out)-1]
	}
	whole.set("output", append([]object{}, out...))
}

// responsesStream puts the events of a stream together: the response as it ended, with
// the items that were complete before it, where it has none.
type responsesStream struct {
	last  object
	done  map[int]object
	begun object // the response, as it began
	next  int64  // the number of the event that comes next
	holds bool
	calls bool           // it tells of a call
	open  map[int64]bool // items that began before it held, and have not ended
	items int            // how many began before
	inner bool           // see within
	said  []*responsesText
}

// responsesText is the text of an item, as far as it came.
type responsesText struct {
	item int64
	text strings.Builder
}

func (responses) assemble() assembler {
	return &responsesStream{done: map[int]object{}, open: map[int64]bool{}}
}

func (s *responsesStream) event(name string, data []byte) (mark, error) {
	if s.inner = false; string(bytes.TrimSpace(data)) == "[DONE]" {
		return going, nil
	}
	if !valid(data) {
		return going, malformed("an event of its stream: %w", errNoObject)
	}
	var head, delta []byte
	place := int64(-1)
	for name, v := range members(data) {
		switch {
		case named(name, "type"):
			head = v
		case named(name, "delta"):
			delta = v
		case named(name, "output_index"):
			place = number(v)
		case named(name, "sequence_number"):
			s.next = max(s.next, number(v)+1)
		}
	}
	s.inner = s.holds && s.open[place]
	kind := unquote(head)
	at := going
	var err error
	switch {
	case kind == "response.output_text.delta":
		if !s.holds && len(delta) > 1 && delta[0] == '"' {
			say(s.text(place), delta)
		}
	case kind == "response.function_call_arguments.delta", kind == "response.custom_tool_call_input.delta":
		at = calling
	case strings.HasPrefix(kind, "response.") && strings.HasSuffix(kind, ".delta"):
		// Most events are pieces: the items and the response come whole in the end.
	default:
		at, err = s.read(name, data, place)
	}
	s.holds = s.holds || at > going
	s.calls = s.calls || at == calling || at == acting
	return at, err
}

// text is that of an item.
func (s *responsesStream) text(item int64) *strings.Builder {
	if n := len(s.said) - 1; n < 0 || s.said[n].item != item {
		s.said = append(s.said, &responsesText{item: item})
	}
	return &s.said[len(s.said)-1].text
}

func (s *responsesStream) flowed() string {
	var texts []string
	for _, t := range s.said {
		texts = append(texts, t.text.String())
	}
	return paragraphs(texts)
}

func (s *responsesStream) within() bool { return s.inner }

func (*responsesStream) several() bool { return false }

// splice implements assembler. The items come after those that have flowed, which are the
// first of the response that ends the stream. Clients refuse two items of one id, and a
// response that ends under another id than it began with: see renamed.
func (s *responsesStream) splice(whole object, text string) [][]byte {
	w := clone(whole)
	responses{}.edit(w, Edit{Thought: &text})
	more := w.list("output")
	flowed := s.last.list("output")
	flowed = flowed[:min(s.items, len(flowed))]
	known := map[string]bool{}
	for _, it := range flowed {
		known[it.text("id")] = true
	}
	for _, it := range more {
		id := it.text("id")
		for id != "" && known[id] { // of a server that counts anew in each answer
			id += "_2"
			it.set("id", id)
		}
		known[id] = true
	}
	f := &responsesWriter{from: s.next}
	for i, it := range more {
		f.item(s.items+i, it)
	}
	w.set("output", append(slices.Clone(flowed), more...))
	for _, k := range []string{"id", "created_at", "previous_response_id"} {
		if given(s.begun[k]) {
			w[k] = s.begun[k]
		}
	}
	f.send("response."+cmp.Or(w.text("status"), "completed"), map[string]any{"response": w})
	return f.frames
}

func (s *responsesStream) read(name string, data []byte, place int64) (mark, error) {
	e, err := split(data)
	if err != nil {
		return going, malformed("an event of its stream: %w", err)
	}
	switch kind := cmp.Or(e.text("type"), name); kind {
	case "response.completed", "response.incomplete":
		if s.last, err = split(e["response"]); err != nil {
			return going, malformed("the response that ends its stream: %w", err)
		}
		return ended, nil
	case "response.failed":
		return going, &inside{either(e.object("response")["error"], data)}
	case "error":
		return going, &inside{either(e["error"], data)}
	case "response.created", "response.in_progress", "response.queued":
		if kind == "response.created" {
			s.begun = e.object("response")
		}
		if len(callIDs(e.object("response").list("output"))) > 0 {
			return going, malformed("its response begins with calls")
		}
	case "response.output_item.added":
		it := e.object("item")
		if _, mine := responsesCall(it); mine && it.text("type") != "message" && it.text("type") != "reasoning" {
			return calling, nil
		}
		if !s.holds {
			s.open[place], s.items = true, max(s.items, int(place)+1)
		}
	case "response.output_item.done":
		it := e.object("item")
		s.ended(it, place)
		var at int
		_ = json.Unmarshal(e["output_index"], &at)
		s.done[at] = it
		if _, mine := responsesCall(it); mine && it.text("type") != "message" && it.text("type") != "reasoning" {
			return acting, nil
		}
	case "response.function_call_arguments.done", "response.custom_tool_call_input.done":
		return acting, nil
	case "":
		if given(e["error"]) { // a relay's failure has no type
			return going, &inside{e["error"]}
		}
	default:
		if it := e.object("item"); len(it) > 0 && len(callIDs([]object{it})) > 0 {
			return calling, nil // of an event that is not known
		}
	}
	return going, nil
}

// ended: an item is complete. A server that sends no pieces of a text sends it here.
func (s *responsesStream) ended(it object, place int64) {
	delete(s.open, place)
	if s.holds {
		return
	}
	if _, mine := responsesCall(it); mine && it.text("type") != "message" && it.text("type") != "reasoning" {
		return
	}
	s.items = max(s.items, int(place)+1)
	if t := s.text(place); t.Len() == 0 && it.text("type") == "message" {
		for _, p := range it.list("content") {
			t.WriteString(p.text("text"))
		}
	}
}

func (s *responsesStream) whole() (object, error) {
	if s.last == nil {
		return nil, errBroken
	}
	places := make([]int, 0, len(s.done))
	for i := range s.done {
		places = append(places, i)
	}
	slices.Sort(places)
	items := make([]object, 0, len(places))
	for _, i := range places {
		items = append(items, s.done[i])
	}
	switch said := s.last.list("output"); {
	case len(said) == 0:
		s.last.set("output", items)
	case len(items) > 0 && !slices.Equal(callIDs(said), callIDs(items)):
		return nil, malformed("the items of its stream and those of its response hold other calls")
	}
	if s.calls && len(callIDs(s.last.list("output"))) == 0 {
		return nil, malformed("its stream tells of a call that its response does not hold")
	}
	return s.last, nil
}

func callIDs(items []object) (ids []string) {
	for _, it := range items {
		if c, mine := responsesCall(it); mine && c.Kind != "message" && c.Kind != "reasoning" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// events implements codec: the response as it begins, each item with its parts, and the
// response as it ended.
func (responses) events(whole object) [][]byte {
	s := &responsesWriter{}
	begun := clone(whole)
	begun["status"], begun["output"], begun["usage"], begun["incomplete_details"] = encode("in_progress"), encode([]any{}), encode(nil), encode(nil)
	s.send("response.created", map[string]any{"response": begun})
	s.send("response.in_progress", map[string]any{"response": begun})
	for i, it := range whole.list("output") {
		s.item(i, it)
	}
	s.send("response."+cmp.Or(whole.text("status"), "completed"), map[string]any{"response": whole})
	return s.frames
}

type responsesWriter struct {
	frames [][]byte
	from   int64 // the number of the first event
}

func (s *responsesWriter) send(kind string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = kind, s.from+int64(len(s.frames))
	s.frames = append(s.frames, event(kind, encode(fields)))
}

func (s *responsesWriter) item(i int, it object) {
	begun := clone(it)
	if given(it["status"]) {
		begun.set("status", "in_progress")
	}
	for _, field := range []string{"content", "summary"} {
		if given(it[field]) {
			begun.set(field, []any{})
		}
	}
	for _, field := range []string{"arguments", "input"} {
		if it.text(field) != "" {
			begun.set(field, "")
		}
	}
	s.send("response.output_item.added", map[string]any{"output_index": i, "item": begun})
	at := func(rest map[string]any) map[string]any {
		rest["output_index"], rest["item_id"] = i, it.text("id")
		return rest
	}
	for j, p := range it.list("summary") {
		empty := clone(p)
		empty.set("text", "")
		s.send("response.reasoning_summary_part.added", at(map[string]any{"summary_index": j, "part": empty}))
		s.send("response.reasoning_summary_text.delta", at(map[string]any{"summary_index": j, "delta": p.text("text")}))
		s.send("response.reasoning_summary_text.done", at(map[string]any{"summary_index": j, "text": p.text("text")}))
		s.send("response.reasoning_summary_part.done", at(map[string]any{"summary_index": j, "part": p}))
	}
	for j, p := range it.list("content") {
		s.part(j, p, at)
	}
	if args := it.text("arguments"); it.text("type") == "function_call" {
		s.send("response.function_call_arguments.delta", at(map[string]any{"delta": args}))
		s.send("response.function_call_arguments.done", at(map[string]any{"arguments": args, "name": it.text("name")}))
	}
	if input := it.text("input"); it.text("type") == "custom_tool_call" {
		s.send("response.custom_tool_call_input.delta", at(map[string]any{"delta": input}))
		s.send("response.custom_tool_call_input.done", at(map[string]any{"input": input}))
	}
	s.send("response.output_item.done", map[string]any{"output_index": i, "item": it})
}

// part is a part of a message, or of reasoning that is shown as it is.
func (s *responsesWriter) part(j int, p object, at func(map[string]any) map[string]any) {
	kind, field := p.text("type"), "text"
	if kind == "refusal" {
		field = "refusal"
	}
	empty := clone(p)
	empty.set(field, "")
	s.send("response.content_part.added", at(map[string]any{"content_index": j, "part": empty}))
	delta, done := map[string]any{"content_index": j, "delta": p.text(field)}, map[string]any{"content_index": j, field: p.text(field)}
	if kind == "output_text" {
		delta["logprobs"], done["logprobs"] = []any{}, []any{}
	}
	s.send(fmt.Sprintf("response.%s.delta", kind), at(delta))
	s.send(fmt.Sprintf("response.%s.done", kind), at(done))
	s.send("response.content_part.done", at(map[string]any{"content_index": j, "part": p}))
}

func (responses) fail(status int, message string) []byte { return chat{}.fail(status, message) }

// renamed are answers that a server keeps, and that clients know by another id: a turn that
// went on with a second answer has the id of the first, which is how its stream began. A
// request that goes on from it is told to the server by the id of the second. Of many the
// newest are remembered.
type renamed struct {
	mu   sync.Mutex
	ids  map[string]string
	made []string // oldest first
}

const mostRenamed = 10_000

func (r *renamed) put(known, kept string) {
	if known == "" || kept == "" || known == kept {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids == nil {
		r.ids = map[string]string{}
	}
	if len(r.made) >= mostRenamed {
		delete(r.ids, r.made[0])
		r.made = r.made[1:]
	}
	r.ids[known], r.made = kept, append(r.made, known)
}

func (r *renamed) get(known string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept, ok := r.ids[known]
	return kept, ok
}

func (responses) broke(status int, message string) []byte {
	code := "server_error"
	if status < 500 {
		code = "invalid_request_error"
	}
	return event("error", encode(map[string]any{"type": "error", "code": code, "message": message, "param": nil, "sequence_number": 0}))
}
