package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// answer is a turn, or a part of one that the server paused.
type answer struct {
	blocks      []block
	stop        string
	explanation string
	model       string
	usage       model.Usage
}

// block is one of its blocks.
type block struct {
	kind     string
	raw      json.RawMessage
	text     string
	thinking string
	call     model.ToolCall
}

// read reads a body: an answer, or a stream of events that make one. What is neither is
// a fault; what the model said, however odd, is its turn.
func read(ctx context.Context, body []byte, key string) (answer, error) {
	var said anthropic.Message
	if err := json.Unmarshal(body, &said); err == nil {
		return readWhole(said, body, key)
	}
	if !transport.Streamed(body) {
		return answer{}, transport.Malformed("it is neither a JSON object nor a stream of events", body)
	}
	return readStream(ctx, body, key)
}

func readWhole(said anthropic.Message, body []byte, key string) (answer, error) {
	if said.Type == "error" {
		return answer{}, inner(body, key)
	}
	if !said.JSON.Content.Valid() || said.StopReason == "" {
		return answer{}, transport.Malformed("it has no content, or no reason why it ended", body)
	}
	return decoded(said, nil), nil
}

// readStream puts a streamed answer together. One that ends before its last event broke
// off. Where its time is over in the middle of that, the error is ctx's.
func readStream(ctx context.Context, body []byte, key string) (answer, error) {
	a := assembly{inputs: map[int64]string{}}
	begun := false
	for event := range transport.Events(body) {
		if ctx.Err() != nil {
			return answer{}, context.Cause(ctx)
		}
		if event.Name == "error" {
			return answer{}, transport.Midway(inner(event.Data, key), begun)
		}
		begun = true
		var e anthropic.MessageStreamEventUnion
		if err := json.Unmarshal(event.Data, &e); err != nil {
			return answer{}, transport.Malformed("an event of its stream is no JSON object", event.Data)
		}
		if err := a.add(e); err != nil {
			return answer{}, transport.Malformed("the events of its stream are out of order", body)
		}
		if e.Type == "message_stop" {
			if a.said.StopReason == "" {
				return answer{}, transport.Malformed("its stream does not say why it ended", body)
			}
			return decoded(a.said, a.inputs), nil
		}
	}
	return answer{}, &model.Error{Fault: model.FaultConnection, What: "the stream broke off before its end", Err: io.ErrUnexpectedEOF}
}

// statuses are what errors inside of a stream would have been as answers.
var statuses = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
	"request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504, "overloaded_error": 529,
}

// inner is a failure that came with a status of success.
func inner(body []byte, key string) *model.Error {
	said := transport.Said(body, key)
	status := statuses[said.Code]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	if filtered(status, body) {
		return &model.Error{Fault: model.FaultRequest, Status: status, Code: transport.Filter, Begun: true, What: cmp.Or(said.Message, "the provider's filter rejects the request")}
	}
	e := transport.Status(status, said)
	e.Begun = e.Fault == model.FaultServer || e.Fault == model.FaultRequest
	return e
}

func decoded(said anthropic.Message, inputs map[int64]string) answer {
	a := answer{stop: string(said.StopReason), explanation: said.StopDetails.Explanation, model: said.Model, usage: usage(said.Usage)}
	for i, c := range said.Content {
		b := block{kind: c.Type, raw: json.RawMessage(c.RawJSON()), text: c.Text, thinking: c.Thinking}
		if c.Type == "tool_use" {
			args := string(c.Input)
			if came := inputs[int64(i)]; came != "" {
				args = came
			}
			b.call = model.ToolCall{ID: c.ID, Name: c.Name, Args: compact(args)}
		}
		a.blocks = append(a.blocks, b)
	}
	return a
}

// add puts the next part of a paused turn to those before it. Each was a request of its
// own, and is counted as one.
func (a *answer) add(b answer) {
	b.usage.Output, b.usage.Reasoning = a.usage.Output+b.usage.Output, a.usage.Reasoning+b.usage.Reasoning
	b.usage.Input, b.usage.Cached = a.usage.Input+b.usage.Input, a.usage.Cached+b.usage.Cached
	b.blocks = append(a.blocks, b.blocks...)
	*a = b
}

// paused reports whether the server asks to be sent the turn back and go on.
func (a answer) paused() bool {
	if a.stop != string(anthropic.StopReasonPauseTurn) || len(a.blocks) == 0 {
		return false
	}
	for _, b := range a.blocks {
		if b.kind == "tool_use" { // wants an answer first
			return false
		}
	}
	return true
}

// raw is its blocks as they came.
func (a answer) raw() (raw []byte) {
	for _, b := range a.blocks {
		raw = append(raw, b.raw...)
	}
	return raw
}

func (a answer) response() model.Response {
	m := model.Message{Role: model.Assistant}
	var parts []part
	var thoughts []string
	carry := false
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			if b.text != "" {
				parts = append(parts, part{Text: b.text})
			}
		case "tool_use":
			m.Calls = append(m.Calls, b.call)
			parts = append(parts, part{Call: true})
		default: // thinking, and what servers add to the protocol
			if b.thinking != "" {
				thoughts = append(thoughts, b.thinking)
			}
			parts, carry = append(parts, part{AsCame: b.raw}), true
		}
	}
	m.Text, m.Reasoning = joined(parts), strings.Join(thoughts, "\n\n")
	if carry {
		m.State, _ = agentbound.EncodeJSON(parts) // what was parsed encodes
	}
	return model.Response{Message: m, Stop: a.normalised(len(m.Calls) > 0), Refusal: a.refusal(), Model: a.model, Usage: a.usage}
}

// normalised is the reason in the port's words. A turn that met the end of the window is
// a cut one.
func (a answer) normalised(calls bool) model.Stop {
	switch anthropic.StopReason(a.stop) {
	case anthropic.StopReasonRefusal:
		return model.StopRefusal
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return model.StopLength
	}
	if calls {
		return model.StopCalls
	}
	return model.StopEnd
}

func (a answer) refusal() string {
	if a.stop == string(anthropic.StopReasonRefusal) {
		return a.explanation
	}
	return ""
}

// mostTokens bounds each count that a server tells, so that sums over a run stay numbers.
const mostTokens = 1_000_000_000

// usage: what went in is counted in three parts: read from the cache, written to it, and
// the rest.
func usage(u anthropic.Usage) model.Usage {
	tokens := func(n int64) int64 { return min(max(n, 0), mostTokens) }
	cached := tokens(u.CacheReadInputTokens)
	return model.Usage{
		Input: tokens(tokens(u.InputTokens) + tokens(u.CacheCreationInputTokens) + cached), Cached: cached,
		Output: tokens(u.OutputTokens), Reasoning: tokens(u.OutputTokensDetails.ThinkingTokens),
	}
}
