package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
	"github.com/agentbound/agentbound/model/transport"
)

// read reads an answer, which may have come as a stream.
func (m *Model) read(body []byte) (model.Response, error) {
	var done []responses.ResponseOutputItemUnion
	if transport.Streamed(body) {
		var err error
		if body, done, err = m.last(body); err != nil {
			return model.Response{}, err
		}
	}
	return m.decode(body, done)
}

// mostItems of an answer are far more than a model makes.
const mostItems = 10_000

// last is the response as a stream ends with it, and the items that were complete before:
// some servers leave them out of the response.
func (m *Model) last(body []byte) (whole []byte, done []responses.ResponseOutputItemUnion, err error) {
	items := map[int]responses.ResponseOutputItemUnion{}
	err = openaiapi.Events(body, func(name string, data []byte) error {
		if string(data) == "[DONE]" {
			return nil
		}
		var e struct {
			Type     string          `json:"type"`
			Error    json.RawMessage `json:"error"`
			Response json.RawMessage `json:"response"`
			Index    int             `json:"output_index"`
			Item     json.RawMessage `json:"item"`
		}
		if err := json.Unmarshal(data, &e); err != nil {
			return transport.Malformed("an event of it is no JSON object", data)
		}
		switch cmp.Or(e.Type, name) {
		case "response.completed", "response.incomplete", "response.failed":
			whole = e.Response
		case "response.output_item.done":
			var it responses.ResponseOutputItemUnion
			if len(items) == mostItems {
				return transport.Malformed("it has too many items", data)
			}
			if json.Unmarshal(e.Item, &it) == nil {
				items[e.Index] = it
			}
		case "error":
			if len(e.Error) == 0 { // the reference has its fields beside the type
				e.Error = data
			}
			return transport.Inside(e.Error, m.opts.Key)
		case "": // a relay's failure has no type
			if len(e.Error) > 0 {
				return transport.Inside(e.Error, m.opts.Key)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, nil, openaiapi.Fault(err)
	case whole == nil:
		return nil, nil, openaiapi.BrokenOff()
	}
	indexes := make([]int, 0, len(items))
	for i := range items {
		indexes = append(indexes, i)
	}
	slices.Sort(indexes)
	for _, i := range indexes {
		done = append(done, items[i])
	}
	return whole, done, nil
}

// decode reads a response. What is no answer of the protocol is a fault; what the model
// said, however odd, is its turn.
func (m *Model) decode(body []byte, done []responses.ResponseOutputItemUnion) (model.Response, error) {
	var r responses.Response
	if err := json.Unmarshal(body, &r); err != nil {
		return model.Response{}, transport.Malformed("it is no JSON object", body)
	}
	if raw := r.JSON.Error.Raw(); raw != "" && raw != "null" {
		return model.Response{}, transport.Inside([]byte(raw), m.opts.Key)
	}
	switch r.Status {
	case responses.ResponseStatusCompleted, responses.ResponseStatusIncomplete, "":
	case responses.ResponseStatusFailed:
		return model.Response{}, &model.Error{Fault: model.FaultServer, Status: http.StatusOK, Begun: true, What: "the response failed, and does not say why"}
	default:
		return model.Response{}, &model.Error{Fault: model.FaultServer, Status: http.StatusOK, Begun: true, What: fmt.Sprintf("the response is not complete (%.40s)", r.Status)}
	}
	if !r.JSON.Output.Valid() && done == nil {
		return model.Response{}, transport.Malformed("it has no output", body)
	}
	items := r.Output
	if len(items) == 0 {
		items = done
	}
	said := model.Message{Role: model.Assistant, Text: text(items), Reasoning: reasoning(items), State: pack(items)}
	for _, it := range items {
		if it.Type == "function_call" {
			said.Calls = append(said.Calls, model.ToolCall{ID: it.CallID, Name: it.Name, Args: it.Arguments.OfString})
		}
	}
	refusal := refused(items)
	return model.Response{Message: said, Stop: stop(r, said, refusal), Refusal: refusal, Model: r.Model, Usage: usage(r.Usage)}, nil
}

// pack keeps a turn's items as they came. unpack reads them again.
func pack(items []responses.ResponseOutputItemUnion) []byte {
	if len(items) == 0 {
		return nil
	}
	all := make([][]byte, 0, len(items))
	for _, it := range items {
		all = append(all, []byte(it.RawJSON()))
	}
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
}

func unpack(state []byte) (items []responses.ResponseOutputItemUnion, err error) {
	if err := json.Unmarshal(state, &items); err != nil {
		return nil, fmt.Errorf("a message's state is not of this adapter: %w", err)
	}
	return items, nil
}

// text is what the message items say. A model may say something before its calls and
// something after its thoughts: each is a paragraph.
func text(items []responses.ResponseOutputItemUnion) string {
	var said []string
	for _, it := range items {
		if it.Type != "message" {
			continue
		}
		var one strings.Builder
		for _, part := range it.Content {
			if part.Type == "output_text" {
				one.WriteString(part.Text)
			}
		}
		if one.Len() > 0 {
			said = append(said, one.String())
		}
	}
	return strings.Join(said, "\n\n")
}

func refused(items []responses.ResponseOutputItemUnion) string {
	var said []string
	for _, it := range items {
		for _, part := range it.Content {
			if it.Type == "message" && part.Type == "refusal" && part.Refusal != "" {
				said = append(said, part.Refusal)
			}
		}
	}
	return strings.Join(said, "\n\n")
}

// reasoning is what is shown of it: the summaries, or the text of models that show it.
func reasoning(items []responses.ResponseOutputItemUnion) string {
	var shown []string
	for _, it := range items {
		if it.Type != "reasoning" {
			continue
		}
		var summaries, texts []string
		for _, s := range it.Summary {
			summaries = append(summaries, s.Text)
		}
		for _, part := range it.Content {
			texts = append(texts, part.Text)
		}
		if s := cmp.Or(strings.Join(summaries, "\n\n"), strings.Join(texts, "\n\n")); s != "" {
			shown = append(shown, s)
		}
	}
	return strings.TrimSpace(strings.Join(shown, "\n\n"))
}

// stop normalises why a response ended.
func stop(r responses.Response, said model.Message, refusal string) model.Stop {
	switch {
	case r.Status == responses.ResponseStatusIncomplete && r.IncompleteDetails.Reason == "content_filter":
		return model.StopRefusal
	case r.Status == responses.ResponseStatusIncomplete:
		return model.StopLength
	case len(said.Calls) > 0:
		return model.StopCalls
	case refusal != "":
		return model.StopRefusal
	}
	return model.StopEnd
}

func usage(u responses.ResponseUsage) model.Usage {
	tokens := openaiapi.Tokens
	return model.Usage{
		Input: tokens(u.InputTokens), Cached: tokens(u.InputTokensDetails.CachedTokens),
		Output: tokens(u.OutputTokens), Reasoning: tokens(u.OutputTokensDetails.ReasoningTokens),
	}
}
