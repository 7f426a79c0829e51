package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"

	"google.golang.org/genai"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// chunk is an answer, or what a stream holds of one, in the part that agents need.
type chunk struct {
	Candidates []struct {
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason  genai.FinishReason `json:"finishReason"`
		FinishMessage string             `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		Reason  genai.BlockedReason `json:"blockReason"`
		Message string              `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *counts         `json:"usageMetadata"`
	Model string          `json:"modelVersion"`
	Error json.RawMessage `json:"error"`
}

type counts struct {
	Prompt     count `json:"promptTokenCount"`
	ToolPrompt count `json:"toolUsePromptTokenCount"`
	Cached     count `json:"cachedContentTokenCount"`
	Candidates count `json:"candidatesTokenCount"`
	Thoughts   count `json:"thoughtsTokenCount"`
}

// count is a number of tokens. What is none is not told: a turn is not lost for it.
type count int64

// UnmarshalJSON implements json.Unmarshaler.
func (c *count) UnmarshalJSON(raw []byte) error {
	var x float64
	*c = 0
	if json.Unmarshal(bytes.Trim(raw, `"`), &x) == nil {
		*c = count(min(max(x, 0), mostTokens))
	}
	return nil
}

// part is one of a content's, with the bytes that it came as.
type part struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *call   `json:"functionCall"`

	raw json.RawMessage
}

type call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func parse(raw json.RawMessage) (p part, err error) {
	err = json.Unmarshal(raw, &p)
	p.raw = raw
	return p, err
}

func parsed(raw []json.RawMessage) (parts []part, err error) {
	for _, r := range raw {
		p, err := parse(r)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// joined is the text of a message, or its thoughts: parts in a row run on, others are
// paragraphs.
func joined(parts []part, thoughts bool) string {
	var b strings.Builder
	apart := false
	for _, p := range parts {
		if p.Text == nil || p.Thought != thoughts {
			apart = true
			continue
		}
		if apart && b.Len() > 0 && *p.Text != "" {
			b.WriteString("\n\n")
		}
		b.WriteString(*p.Text)
		apart = apart && *p.Text == ""
	}
	return b.String()
}

// turn is an answer as it is put together.
type turn struct {
	parts   []part
	run     strings.Builder // the last part's text, where pieces run on in it
	reason  genai.FinishReason
	message string
	blocked string
	model   string
	usage   counts
}

// read reads a body: an answer, or a stream of events that make one. What is neither is
// a fault; what the model said, however odd, is its turn.
func read(body []byte, key string, stream bool) (model.Response, error) {
	var t turn
	if !stream || !transport.Streamed(body) {
		if err := t.take(body, key); err != nil {
			return model.Response{}, err
		}
		return t.response(body)
	}
	begun := false
	for e := range transport.Events(body) {
		if err := t.take(e.Data, key); err != nil {
			return model.Response{}, transport.Midway(err, begun)
		}
		begun = true
	}
	if t.reason == "" && t.blocked == "" {
		return model.Response{}, &model.Error{Fault: model.FaultConnection, What: "the stream broke off before its end", Err: io.ErrUnexpectedEOF}
	}
	return t.response(body)
}

// take adds a chunk.
func (t *turn) take(body []byte, key string) error {
	var c chunk
	if err := json.Unmarshal(body, &c); err != nil {
		return transport.Malformed("it is no JSON object of the protocol", body)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return inner(body, key)
	}
	t.model, t.blocked = cmp.Or(c.Model, t.model), cmp.Or(t.blocked, c.Feedback.Message, string(c.Feedback.Reason))
	if c.Usage != nil {
		t.usage = *c.Usage // counts of the whole so far
	}
	if len(c.Candidates) == 0 {
		return nil
	}
	first := c.Candidates[0]
	t.reason, t.message = cmp.Or(first.FinishReason, t.reason), cmp.Or(first.FinishMessage, t.message)
	parts, err := parsed(first.Content.Parts)
	if err != nil {
		return transport.Malformed("a part of it is not of the protocol", body)
	}
	for _, p := range parts {
		t.add(p)
	}
	return nil
}

// inner is a failure that came with a status of success.
func inner(body []byte, key string) *model.Error {
	var known struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	status := http.StatusInternalServerError
	if json.Unmarshal(body, &known) == nil && known.Error.Code >= 400 && known.Error.Code < 600 {
		status = known.Error.Code
	}
	e := transport.Status(status, transport.Said(body, key))
	e.Begun = e.Fault == model.FaultServer || e.Fault == model.FaultRequest
	return e
}

// add puts a part to the others. Text runs on in the part before where neither is signed:
// a signature holds for the part it came on.
func (t *turn) add(p part) {
	plain := func(q part) bool { return q.Text != nil && q.Signature == "" && q.Call == nil }
	if plain(p) && *p.Text == "" {
		return
	}
	if n := len(t.parts); n > 0 && plain(p) && plain(t.parts[n-1]) && t.parts[n-1].Thought == p.Thought {
		if t.run.Len() == 0 {
			t.run.WriteString(*t.parts[n-1].Text)
		}
		t.run.WriteString(*p.Text)
		return
	}
	t.seal()
	t.parts = append(t.parts, p)
}

// seal ends the text that runs on in the last part.
func (t *turn) seal() {
	if t.run.Len() == 0 {
		return
	}
	last, text := &t.parts[len(t.parts)-1], t.run.String()
	whole := map[string]any{"text": text}
	if last.Thought {
		whole["thought"] = true
	}
	last.Text, last.raw = &text, encoded(whole)
	t.run.Reset()
}

func (t *turn) response(body []byte) (model.Response, error) {
	t.seal()
	if t.reason == "" && t.blocked == "" {
		return model.Response{}, transport.Malformed("it has no candidate that says why it ended", body)
	}
	if len(t.parts) == 0 && (t.reason == genai.FinishReasonOther || t.reason == genai.FinishReasonUnspecified) {
		return model.Response{}, transport.Malformed("it is empty and says not why", body)
	}
	m := model.Message{Role: model.Assistant, Text: joined(t.parts, false), Reasoning: joined(t.parts, true)}
	var state []json.RawMessage
	carry := false
	for _, p := range t.parts {
		state = append(state, p.raw)
		carry = carry || p.Text == nil || p.Thought || p.Signature != ""
		if p.Call != nil {
			m.Calls = append(m.Calls, model.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Args: compact(cmp.Or(string(p.Call.Args), "{}"))})
		}
	}
	if carry {
		m.State = encoded(state)
	}
	res := model.Response{Message: m, Model: t.model, Usage: t.usage.normalised()}
	t.stop(&res)
	return res, nil
}

// stop normalises the reason. A call that the server could not read is the model's own
// doing, and comes back as a call that no tool can read.
func (t *turn) stop(res *model.Response) {
	m := &res.Message
	switch t.reason {
	case "":
		res.Stop, res.Refusal = model.StopRefusal, "the prompt was blocked: "+t.blocked
		return
	case genai.FinishReasonMaxTokens, genai.FinishReasonContinuation:
		res.Stop = model.StopLength
		return
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonLanguage, genai.FinishReasonBlocklist, genai.FinishReasonProhibitedContent,
		genai.FinishReasonSPII, genai.FinishReasonImageSafety, genai.FinishReasonImageProhibitedContent, genai.FinishReasonImageRecitation:
		res.Stop, res.Refusal = model.StopRefusal, t.message
		return
	case genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall, genai.FinishReasonTooManyToolCalls:
		if len(m.Calls) == 0 {
			m.Calls, m.State = []model.ToolCall{unread(t.message)}, nil
		}
	}
	res.Stop = model.StopEnd
	if len(m.Calls) > 0 {
		res.Stop = model.StopCalls
	}
}

// unread is a call as far as the server tells what the model wrote.
func unread(message string) model.ToolCall {
	name := "malformed_function_call"
	if said := calledName.FindStringSubmatch(message); said != nil {
		name = said[1]
	}
	return model.ToolCall{Name: name, Args: message}
}

var calledName = regexp.MustCompile(`default_api\.([A-Za-z_][A-Za-z0-9_]*)\s*\(`)

// compact is arguments without white space, which decides nothing.
func compact(args string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(args)) != nil {
		return args
	}
	return b.String()
}

// mostTokens bounds each count that a server tells, so that sums over a run stay numbers.
const mostTokens = 1_000_000_000

// normalised: what the vendor counts as prompt holds what was cached; thoughts are
// counted beside the candidates.
func (c counts) normalised() model.Usage {
	tokens := func(n ...count) int64 {
		var sum count
		for _, m := range n {
			sum += m
		}
		return int64(min(sum, mostTokens))
	}
	return model.Usage{
		Input: tokens(c.Prompt, c.ToolPrompt), Cached: tokens(c.Cached),
		Output: tokens(c.Candidates, c.Thoughts), Reasoning: tokens(c.Thoughts),
	}
}
