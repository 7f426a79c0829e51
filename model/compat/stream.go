package compat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model/openaiapi"
	"github.com/agentbound/agentbound/model/transport"
)

// chunk is an event of a stream.
type chunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Usage   json.RawMessage `json:"usage"`
	Choices []struct {
		Index  int                        `json:"index"`
		Delta  map[string]json.RawMessage `json:"delta"`
		Finish string                     `json:"finish_reason"`
		Native json.RawMessage            `json:"native_finish_reason"`
		Error  json.RawMessage            `json:"error"`
		Usage  json.RawMessage            `json:"usage"` // as Moonshot has it
	} `json:"choices"`
}

// assembly is the answer so far.
type assembly struct {
	model, finish string
	native, usage json.RawMessage
	texts         map[string]*strings.Builder
	parts         map[string][]json.RawMessage // fields that came as lists
	others        map[string]json.RawMessage
	detail        *detail // the last of reasoning_details, while pieces of it come
	calls         []*callAssembly
	byIndex       map[int]*callAssembly // the last call of each index
	done          bool
}

type callAssembly struct {
	index    *int
	id, name string
	args     strings.Builder
}

// assemble makes of an event stream the answer that would have come without one, so that
// both are read by the same rules. A stream without a reason to end or without the mark
// of its end was cut: where, nobody knows.
func (m *Model) assemble(body []byte) ([]byte, error) {
	a := &assembly{texts: map[string]*strings.Builder{}, parts: map[string][]json.RawMessage{}, others: map[string]json.RawMessage{}, byIndex: map[int]*callAssembly{}}
	err := openaiapi.Events(body, func(name string, data []byte) error {
		if string(data) == "[DONE]" {
			a.done = true
			return nil
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return transport.Malformed("an event of it is no JSON object", data)
		}
		if given(c.Error) {
			return transport.Inside(c.Error, m.opts.Key)
		}
		if name == "error" {
			return transport.Inside(data, m.opts.Key)
		}
		for _, choice := range c.Choices {
			if given(choice.Error) {
				return transport.Inside(choice.Error, m.opts.Key)
			}
		}
		a.add(c)
		return nil
	})
	switch {
	case err != nil:
		return nil, openaiapi.Fault(err)
	case !a.done || a.finish == "":
		return nil, openaiapi.BrokenOff()
	}
	return a.answer(), nil
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (a *assembly) add(c chunk) {
	if c.Model != "" {
		a.model = c.Model
	}
	if given(c.Usage) {
		a.usage = c.Usage
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.Finish != "" {
			a.finish = choice.Finish
		}
		if given(choice.Native) {
			a.native = choice.Native
		}
		if given(choice.Usage) {
			a.usage = choice.Usage
		}
		for field, raw := range choice.Delta {
			a.field(field, raw)
		}
	}
}

// field adds a piece of a message's field: texts are joined, lists extended, of anything
// else the last one counts.
func (a *assembly) field(name string, raw json.RawMessage) {
	var text string
	var list []json.RawMessage
	switch {
	case !given(raw) || name == "role":
	case name == "tool_calls":
		a.call(raw)
	case json.Unmarshal(raw, &text) == nil:
		if name == "reasoning_details" {
			a.seal()
		}
		if text == "" && len(a.parts[name]) > 0 {
			return
		}
		if len(a.parts[name]) > 0 { // a list that goes on as text
			part, _ := agentbound.EncodeJSON(map[string]string{"type": "text", "text": text}) // strings encode
			a.parts[name] = append(a.parts[name], part)
			return
		}
		if a.texts[name] == nil {
			a.texts[name] = &strings.Builder{}
		}
		a.texts[name].WriteString(text)
	case json.Unmarshal(raw, &list) == nil:
		if a.texts[name] != nil && a.texts[name].Len() > 0 { // a text that goes on as a list
			before, _ := agentbound.EncodeJSON(map[string]string{"type": "text", "text": a.texts[name].String()}) // strings encode
			a.parts[name] = append(a.parts[name], before)
			delete(a.texts, name)
		}
		for _, part := range list {
			a.part(name, part)
		}
	default:
		a.others[name] = raw
	}
}

// part adds to a list. Details of reasoning come in pieces that name their place: the
// pieces of one are joined as its fields.
func (a *assembly) part(name string, raw json.RawMessage) {
	if name == "reasoning_details" {
		if a.detail.take(raw) {
			return
		}
		a.seal()
		if a.detail = newDetail(raw); a.detail != nil {
			return
		}
	}
	a.parts[name] = append(a.parts[name], raw)
}

// seal ends the detail that pieces were joined to.
func (a *assembly) seal() {
	if a.detail != nil {
		a.parts["reasoning_details"] = append(a.parts["reasoning_details"], a.detail.whole())
		a.detail = nil
	}
}

// detail is a detail of reasoning as its pieces come.
type detail struct {
	index  int
	kind   string
	first  json.RawMessage
	joined bool // there was more than the first piece
	fields map[string]any
	texts  map[string]*strings.Builder // of the fields that pieces go on with
}

// newDetail begins one; nil where a piece does not say which it belongs to.
func newDetail(raw json.RawMessage) *detail {
	index, kind, ok := place(raw)
	d := &detail{index: index, kind: kind, first: raw, fields: map[string]any{}, texts: map[string]*strings.Builder{}}
	if !ok || !d.add(raw) {
		return nil
	}
	return d
}

func place(raw json.RawMessage) (index int, kind string, ok bool) {
	var at struct {
		Index *int   `json:"index"`
		Type  string `json:"type"`
	}
	if json.Unmarshal(raw, &at) != nil || at.Index == nil {
		return 0, "", false
	}
	return *at.Index, at.Type, true
}

// take adds a piece, if it is one of this detail.
func (d *detail) take(raw json.RawMessage) bool {
	if d == nil {
		return false
	}
	index, kind, ok := place(raw)
	if !ok || index != d.index || kind != d.kind {
		return false
	}
	d.joined = true
	return d.add(raw)
}

func (d *detail) add(raw json.RawMessage) bool {
	var piece map[string]any
	if json.Unmarshal(raw, &piece) != nil {
		return false
	}
	for k, v := range piece {
		text, isText := v.(string)
		switch {
		case v == nil && d.joined:
		case isText && slices.Contains([]string{"text", "summary", "data"}, k):
			if d.texts[k] == nil {
				d.texts[k] = &strings.Builder{}
			}
			d.texts[k].WriteString(text)
			delete(d.fields, k)
		default:
			d.fields[k] = v
			delete(d.texts, k)
		}
	}
	return true
}

// whole is the detail; of one piece it is what came.
func (d *detail) whole() json.RawMessage {
	if !d.joined {
		return d.first
	}
	for k, t := range d.texts {
		d.fields[k] = t.String()
	}
	b, err := agentbound.EncodeJSON(d.fields)
	if err != nil {
		return d.first
	}
	return b
}

// call adds pieces of calls: by their index, where the server tells it, or else to the
// last one. A new id begins a new call: some servers give all calls the same index.
func (a *assembly) call(raw json.RawMessage) {
	var pieces []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &pieces) != nil {
		return
	}
	for _, p := range pieces {
		c := a.open(p.Index, p.ID, p.Function.Name)
		if c.id == "" {
			c.id = p.ID
		}
		if c.name == "" {
			c.name = p.Function.Name
		}
		var text string
		if json.Unmarshal(p.Function.Arguments, &text) != nil {
			text = string(p.Function.Arguments) // the JSON itself
		}
		c.args.WriteString(text)
	}
}

// open is the call that a piece belongs to.
func (a *assembly) open(index *int, id, name string) *callAssembly {
	var last *callAssembly
	switch {
	case index != nil:
		last = a.byIndex[*index]
	case len(a.calls) > 0:
		last = a.calls[len(a.calls)-1]
	}
	another := last == nil || !(id != "" && id == last.id) && (id != "" && last.id != "" || index == nil && name != "")
	if !another {
		return last
	}
	c := &callAssembly{index: index}
	a.calls = append(a.calls, c)
	if index != nil {
		a.byIndex[*index] = c
	}
	return c
}

// answer is the whole, as a server that does not stream would have written it.
func (a *assembly) answer() []byte {
	a.seal()
	message := map[string]any{"role": "assistant"}
	for k, v := range a.others {
		message[k] = v
	}
	for k, t := range a.texts {
		message[k] = t.String()
	}
	for k, list := range a.parts {
		message[k] = list
	}
	if a.calls != nil {
		var calls []any
		for _, c := range a.inOrder() {
			calls = append(calls, map[string]any{"id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.args.String()}})
		}
		message["tool_calls"] = calls
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": a.finish}
	whole := map[string]any{"model": a.model, "choices": []any{choice}}
	if given(a.native) {
		choice["native_finish_reason"] = a.native
	}
	if given(a.usage) {
		whole["usage"] = a.usage
	}
	b, _ := agentbound.EncodeJSON(whole) // what was parsed encodes
	return b
}

// inOrder are the calls by their index, where all have one.
func (a *assembly) inOrder() []*callAssembly {
	calls := slices.Clone(a.calls)
	if !slices.ContainsFunc(calls, func(c *callAssembly) bool { return c.index == nil }) {
		slices.SortStableFunc(calls, func(x, y *callAssembly) int { return *x.index - *y.index })
	}
	return calls
}
