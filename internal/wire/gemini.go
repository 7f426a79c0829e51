package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// gemini is generateContent and streamGenerateContent. Members may be written in snake
// case, as Google's servers take both.
type gemini struct{}

func (gemini) request(body object, name string) Request {
	r := Request{Model: name, Choices: 1}
	config, _ := split(body.first("generationConfig", "generation_config"))
	r.Choices = max(1, int(max(config.count("candidateCount"), config.count("candidate_count"))))
	r.Most = int(cmp.Or(config.count("maxOutputTokens"), config.count("max_output_tokens")))
	for _, t := range body.list("tools") {
		kinds := make([]string, 0, len(t))
		for k, v := range t {
			if k != "functionDeclarations" && k != "function_declarations" && given(v) {
				kinds = append(kinds, k)
			}
		}
		for _, f := range objects(t.first("functionDeclarations", "function_declarations")) {
			schema := f.first("parametersJsonSchema", "parameters_json_schema", "parameters")
			r.Tools = append(r.Tools, newTool("function", "", f.text("name"), f.text("description"), schema))
		}
		slices.Sort(kinds)
		for _, k := range kinds {
			r.Tools = append(r.Tools, Tool{Kind: k, Name: k})
		}
	}
	if system, err := split(body.first("systemInstruction", "system_instruction")); err == nil {
		r.Messages = append(r.Messages, Message{Role: model.System, Text: geminiText(system.list("parts"), false)})
	} else if s := cmp.Or(body.text("systemInstruction"), body.text("system_instruction")); s != "" {
		r.Messages = append(r.Messages, Message{Role: model.System, Text: s})
	}
	for _, c := range body.list("contents") {
		r.Messages = append(r.Messages, geminiContent(c)...)
	}
	return r
}

func geminiContent(c object) (all []Message) {
	parts := c.list("parts")
	if c.text("role") == "model" {
		m := Message{Role: model.Assistant, Text: geminiText(parts, false), Reasoning: geminiText(parts, true)}
		for _, p := range parts {
			if call, ok := geminiCall(p); ok {
				m.Calls = append(m.Calls, call)
			}
		}
		return []Message{m}
	}
	for _, p := range parts {
		if f, err := split(p.first("functionResponse", "function_response")); err == nil {
			res := f.object("response")
			output, failed := res["output"], false
			if !given(output) && given(res["error"]) {
				output, failed = res["error"], true
			}
			text := string(either(output, f["response"]))
			if s := ""; json.Unmarshal(output, &s) == nil {
				text = s
			}
			all = append(all, Message{Role: model.Result, CallID: f.text("id"), Tool: f.text("name"), Text: text, Failed: failed})
		}
	}
	if text := geminiText(parts, false); text != "" {
		all = append(all, Message{Role: model.User, Text: text})
	}
	return all
}

func geminiCall(p object) (Call, bool) {
	f, err := split(p.first("functionCall", "function_call"))
	if err != nil {
		return Call{}, false
	}
	args := "{}"
	if given(f["args"]) {
		args = compact(f["args"])
	}
	return Call{ID: f.text("id"), Kind: "function", Name: f.text("name"), Args: args}, true
}

// geminiText is what parts say, or think: parts in a row run on, others are paragraphs.
func geminiText(parts []object, thoughts bool) string {
	var texts []string
	apart := true
	for _, p := range parts {
		if !given(p["text"]) || geminiThought(p) != thoughts {
			apart = true
			continue
		}
		if apart {
			texts = append(texts, "")
		}
		texts[len(texts)-1] += p.text("text")
		apart = apart && p.text("text") == ""
	}
	return paragraphs(texts)
}

func geminiThought(p object) bool { return string(p["thought"]) == "true" }

func (gemini) again(body object, extra []Message) error {
	var all []json.RawMessage
	if json.Unmarshal(body["contents"], &all) != nil {
		return errors.New("contents is no list")
	}
	for _, m := range extra {
		role := string(m.Role)
		if m.Role == model.Assistant {
			role = "model"
		}
		part := object{"text": encode(m.Text)}
		if n := len(all) - 1; n >= 0 {
			last, err := split(all[n])
			answers := err == nil && slices.ContainsFunc(last.list("parts"), func(p object) bool { return given(p.first("functionResponse", "function_response")) })
			// Answers to calls are as many parts as there were calls, and no more.
			if err == nil && !answers && cmp.Or(last.text("role"), "user") == role {
				last.set("parts", append(last.list("parts"), part))
				all[n] = encode(last)
				continue
			}
		}
		all = append(all, encode(map[string]any{"role": role, "parts": []object{part}}))
	}
	body.set("contents", all)
	return nil
}

func (gemini) decode(whole object, t *Turn) error {
	if given(whole["error"]) {
		return &inside{whole["error"]}
	}
	t.Model = whole.text("modelVersion")
	u := whole.object("usageMetadata")
	t.Usage = model.Usage{
		Input: min(u.count("promptTokenCount")+u.count("toolUsePromptTokenCount"), mostTokens), Cached: u.count("cachedContentTokenCount"),
		Output: min(u.count("candidatesTokenCount")+u.count("thoughtsTokenCount"), mostTokens), Reasoning: u.count("thoughtsTokenCount"),
	}
	blocked := whole.object("promptFeedback")
	candidates := whole.list("candidates")
	if len(candidates) == 0 {
		if blocked.text("blockReason") == "" {
			return malformed("it has no candidate that says why it ended")
		}
		t.Stop, t.Refused = model.StopRefusal, "the prompt was blocked: "+cmp.Or(blocked.text("blockReasonMessage"), blocked.text("blockReason"))
		t.settle(false)
		return nil
	}
	first := candidates[0]
	reason := first.text("finishReason")
	if reason == "" {
		return malformed("its candidate does not say why it ended")
	}
	parts := first.object("content").list("parts")
	t.Text, t.Reasoning, t.Others = geminiText(parts, false), geminiText(parts, true), len(candidates)-1
	for _, p := range parts {
		if c, ok := geminiCall(p); ok {
			t.Calls = append(t.Calls, c)
		}
		if code := p.first("executableCode", "executable_code"); code != nil {
			t.Hosted = append(t.Hosted, Call{Kind: "executableCode", Name: "code_execution", Args: string(code)})
		}
	}
	switch {
	case reason == "MAX_TOKENS":
		t.Stop = model.StopLength
	case slices.Contains([]string{"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"}, reason):
		t.Stop, t.Refused = model.StopRefusal, first.text("finishMessage")
	case len(t.Calls) > 0:
		t.Stop = model.StopCalls
	default:
		t.Stop = model.StopEnd
	}
	t.settle(false)
	return nil
}

func (gemini) usage() string { return "usageMetadata" }

func (gemini) only(whole object, text string) {
	candidates := whole.list("candidates")
	if len(candidates) == 0 {
		return
	}
	first := candidates[0]
	parts := []any{}
	if text != "" {
		parts = append(parts, map[string]any{"text": text})
	}
	first.set("index", 0)
	first.set("content", map[string]any{"role": "model", "parts": parts})
	whole.set("candidates", []object{first})
}

func (gemini) edit(whole object, e Edit) {
	candidates := whole.list("candidates")
	if len(candidates) == 0 {
		return // the prompt was blocked: there is nothing to edit
	}
	first := candidates[0]
	content := first.object("content")
	var out []object
	said := e.Thought == nil
	say := func() {
		if !said && strings.TrimSpace(*e.Thought) != "" {
			out = append(out, object{"text": encode(*e.Thought)})
		}
		said = true
	}
	for _, p := range content.list("parts") {
		_, calls := geminiCall(p)
		switch {
		case calls:
			say()
			if !e.Withhold {
				out = append(out, p)
			}
		case given(p["text"]) && !geminiThought(p) && e.Thought != nil:
			say()
		default:
			out = append(out, p)
		}
	}
	say()
	content.set("parts", append([]object{}, out...))
	if content.text("role") == "" {
		content.set("role", "model")
	}
	first.set("index", 0)
	first.set("content", content)
	whole.set("candidates", []object{first})
}

// geminiStream puts the chunks of a stream together: parts follow each other, text runs
// on where neither part is signed, of anything else the last counts.
type geminiStream struct {
	base      object
	candidate object
	content   object
	parts     []*geminiPart
	others    map[string]bool
	finish    bool
	blocked   bool
	holds     bool
	said      string // before it held
}

func (gemini) assemble() assembler {
	return &geminiStream{base: object{}, candidate: object{}, content: object{}, others: map[string]bool{}}
}

func (s *geminiStream) event(_ string, data []byte) (mark, error) {
	c, err := parseObject(data)
	if err != nil {
		return going, malformed("an event of its stream: %w", err)
	}
	parts, last := len(s.parts), 0
	if parts > 0 {
		last = s.parts[parts-1].text.Len()
	}
	at, err := s.chunk(c)
	if !s.holds && at > going {
		s.holds, s.said = true, s.upTo(parts, last)
	}
	return at, err
}

// upTo is what so many parts say, the last of which had so many bytes of text.
func (s *geminiStream) upTo(parts, last int) string {
	before := make([]object, parts)
	for i := range before {
		before[i] = s.parts[i].whole()
		if p := s.parts[i]; i == parts-1 && p.unsigned {
			before[i] = clone(p.object)
			before[i].set("text", p.text.String()[:last])
		}
	}
	return geminiText(before, false)
}

func (s *geminiStream) flowed() string { return s.said }

func (*geminiStream) within() bool { return false } // a chunk has no parts that could be open

func (s *geminiStream) several() bool { return len(s.others) > 0 }

// splice implements assembler.
func (s *geminiStream) splice(whole object, text string) [][]byte {
	w := clone(whole)
	for _, k := range []string{"responseId", "modelVersion"} {
		if delete(w, k); given(s.base[k]) {
			w[k] = s.base[k]
		}
	}
	gemini{}.edit(w, Edit{Thought: &text})
	return gemini{}.events(w)
}

func (s *geminiStream) chunk(c object) (mark, error) {
	if given(c["error"]) {
		return going, &inside{c["error"]}
	}
	for k, v := range c {
		if k != "candidates" {
			s.base[k] = v
		}
	}
	s.blocked = s.blocked || c.object("promptFeedback").text("blockReason") != ""
	acts := s.blocked
	for _, candidate := range c.list("candidates") {
		if i := string(candidate["index"]); given(candidate["index"]) && i != "0" {
			s.others[i] = true
			continue
		}
		for k, v := range candidate {
			if k != "content" {
				s.candidate[k] = v
			}
		}
		s.finish = s.finish || candidate.text("finishReason") != ""
		content := candidate.object("content")
		for k, v := range content {
			if k != "parts" {
				s.content[k] = v
			}
		}
		for _, p := range content.list("parts") {
			_, calls := geminiCall(p)
			acts = acts || calls
			s.add(p)
		}
	}
	if acts || s.finish {
		return acting, nil // a chunk may come after the reason to end: the end of the stream is the end
	}
	return going, nil
}

// geminiPart is a part, and the text that ran on in it.
type geminiPart struct {
	object
	unsigned bool
	text     strings.Builder
}

func (p *geminiPart) whole() object {
	if !p.unsigned {
		return p.object
	}
	o := clone(p.object)
	o.set("text", p.text.String())
	return o
}

func (s *geminiStream) add(p object) {
	part := &geminiPart{object: p, unsigned: given(p["text"])}
	for k := range p {
		part.unsigned = part.unsigned && (k == "text" || k == "thought")
	}
	if part.unsigned {
		if n := len(s.parts) - 1; n >= 0 && s.parts[n].unsigned && geminiThought(p) == geminiThought(s.parts[n].object) {
			part = s.parts[n]
		} else if p.text("text") == "" {
			return
		} else {
			s.parts = append(s.parts, part)
		}
		part.text.WriteString(p.text("text"))
		return
	}
	s.parts = append(s.parts, part)
}

func (s *geminiStream) whole() (object, error) {
	if !s.finish && !s.blocked {
		return nil, errBroken
	}
	if !s.finish && slices.ContainsFunc(s.parts, func(p *geminiPart) bool { _, calls := geminiCall(p.object); return calls }) {
		return nil, malformed("it calls, and says that the prompt was blocked")
	}
	whole := clone(s.base)
	if s.finish {
		content, candidate := clone(s.content), clone(s.candidate)
		parts := make([]object, len(s.parts))
		for i, p := range s.parts {
			parts[i] = p.whole()
		}
		content.set("parts", parts)
		candidate.set("content", content)
		all := []object{candidate}
		for range s.others {
			all = append(all, object{})
		}
		whole.set("candidates", all)
	}
	return whole, nil
}

// geminiList reads the other form of a stream: one list of chunks.
func geminiList(raw []byte) (object, error) {
	var chunks []json.RawMessage
	if err := json.Unmarshal(raw, &chunks); err != nil {
		return nil, malformed("it is no list of JSON objects")
	}
	s := gemini{}.assemble()
	for _, c := range chunks {
		if _, err := s.event("", c); err != nil {
			return nil, err
		}
	}
	return s.whole()
}

// events implements codec: a chunk for each part, the last with the reason to end.
func (gemini) events(whole object) [][]byte {
	var frames [][]byte
	for _, c := range geminiChunks(whole) {
		frames = append(frames, event("", encode(c)))
	}
	return frames
}

func geminiChunks(whole object) []object {
	candidates := whole.list("candidates")
	if len(candidates) == 0 {
		return []object{whole}
	}
	first := candidates[0]
	content := first.object("content")
	parts := content.list("parts")
	var chunks []object
	for i, p := range parts {
		c, candidate, said := clone(whole), object{"index": encode(0)}, clone(content)
		said.set("parts", []object{p})
		if i == len(parts)-1 {
			candidate = clone(first)
		} else {
			delete(c, "usageMetadata")
		}
		candidate.set("content", said)
		c.set("candidates", []object{candidate})
		chunks = append(chunks, c)
	}
	if len(parts) == 0 {
		return []object{whole}
	}
	return chunks
}

// geminiListed is an answer in the other form of a stream.
func geminiListed(whole object) []byte {
	var all [][]byte
	for _, c := range geminiChunks(whole) {
		all = append(all, encode(c))
	}
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",\r\n")), []byte("]"))
}

func (g gemini) broke(status int, message string) []byte { return event("", g.fail(status, message)) }

func (gemini) fail(status int, message string) []byte {
	statuses := map[int]string{401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 405: "UNIMPLEMENTED", 429: "RESOURCE_EXHAUSTED", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}
	return encode(map[string]any{"error": map[string]any{"code": status, "message": message, "status": cmp.Or(statuses[status], "INVALID_ARGUMENT")}})
}
