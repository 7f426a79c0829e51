// Package emulatedtest plays the part of a language model that plays tools: by the tools'
// own programs, and with the mistakes that models make.
package emulatedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/model"
)

// Question is what the world asks of a model, read back from its message.
type Question struct {
	Call  agentbound.Call
	State agentbound.Value
	Types any
	Again bool // an answer was sent back
	Reads bool // the tool only reads
}

// Read finds the question of a conversation.
func Read(r model.Request) (Question, error) {
	text := r.Messages[1].Text
	q := Question{Again: len(r.Messages) > 2, Reads: strings.HasSuffix(text, "its patch is [].")}
	q.State = agentbound.Value(section(text, "STATE"))
	var call struct {
		Tool string           `json:"tool"`
		Args agentbound.Value `json:"args"`
	}
	if err := json.Unmarshal([]byte(section(text, "THE CALL")), &call); err != nil {
		return q, fmt.Errorf("the call: %w", err)
	}
	q.Call = agentbound.Call{Tool: call.Tool, Args: call.Args}
	return q, json.Unmarshal([]byte(section(text, "TYPES")), &q.Types)
}

// section is the first line under a heading.
func section(text, heading string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n## "+heading)
	_, rest, _ = strings.Cut(rest, "\n")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// Program plays the tools of toolkits by their programs.
func Program(toolkits []agentbound.Source) func(model.Request) model.Response {
	kit, err := star.LoadKit(toolkits)
	if err != nil {
		panic(err)
	}
	return func(r model.Request) model.Response {
		q, err := Read(r)
		if err != nil {
			return says("I cannot read this: " + err.Error())
		}
		p, err := Propose(kit, q)
		if err != nil {
			return says("I cannot play this: " + err.Error())
		}
		b, err := agentbound.EncodeJSON(p)
		if err != nil {
			return says(err.Error())
		}
		return says(string(b))
	}
}

func says(text string) model.Response {
	return model.Response{Message: model.Message{Role: model.Assistant, Text: text}, Stop: model.StopEnd, Usage: model.Usage{Input: 900, Output: 40}}
}

// Propose is what a model that makes no mistake answers.
func Propose(kit *star.Kit, q Question) (map[string]any, error) {
	before, err := star.DecodeState(q.State)
	if err != nil {
		return nil, err
	}
	done, err := kit.Call(context.Background(), before, q.Call)
	if err != nil {
		return nil, err
	}
	if !done.OK {
		var text string
		err := json.Unmarshal(done.Observation, &text)
		return map[string]any{"error": strings.TrimPrefix(text, "error: ")}, err
	}
	w := &writer{types: q.Types, known: map[string]bool{}, given: map[string]bool{}, news: map[string]int{}}
	w.note(tree(q.State), w.known)
	w.note(tree(q.Call.Args), w.known)
	w.note(tree(q.Call.Args), w.given)
	w.state = tree(q.State)
	patch := []any{}
	for _, op := range done.Diff {
		if o := w.op(op); o != nil {
			patch = append(patch, o)
		}
		after, err := star.Apply(before, agentbound.Diff{op})
		if err != nil {
			return nil, err
		}
		before = after
		v, err := after.Value()
		if err != nil {
			return nil, err
		}
		w.state = tree(v)
	}
	w.note(w.state, w.known)
	return map[string]any{"observation": w.value(tree(done.Observation)), "patch": patch}, nil
}

// writer turns what a program did into what a model writes.
type writer struct {
	types        any
	state        any
	known, given map[string]bool // numbers and texts, as JSON
	news         map[string]int  // labels of new ids
}

func tree(v agentbound.Value) any {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		panic(err)
	}
	return x
}

func (w *writer) note(v any, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			into[k] = true
			w.note(x, into)
		}
	case []any:
		for _, x := range v {
			w.note(x, into)
		}
	case json.Number:
		into[string(v)] = true
	case string:
		into[v] = true
	}
}

func (w *writer) op(op agentbound.Op) map[string]any {
	segments := strings.Split(op.Path[1:], "/")
	for i, s := range segments {
		segments[i] = star.Unescape(s)
	}
	last, above := segments[len(segments)-1], op.Path[:strings.LastIndex(op.Path, "/")]
	kind := w.typeAt(segments)
	if s, _ := kind.(string); strings.Contains(s, "kept by code") {
		return nil
	}
	switch op.Op {
	case agentbound.OpRemove:
		return map[string]any{"op": "remove", "path": op.Path}
	case agentbound.OpReplace:
		return w.replace(op, segments)
	}
	parent := at(w.state, segments[:len(segments)-1])
	if items, ok := parent.([]any); ok {
		o := map[string]any{"op": "add", "path": above, "value": w.item(tree(op.Value), kind)}
		if n, _ := strconv.Atoi(last); n < len(items) {
			o["at"] = n
		}
		return o
	}
	if m, _ := w.typeAt(segments[:len(segments)-1]).(map[string]any); len(m) == 1 {
		if key := slices.Collect(maps.Keys(m))[0]; strings.HasPrefix(key, "<key") {
			o := map[string]any{"op": "add", "path": above, "key": last, "value": w.item(tree(op.Value), kind)}
			if strings.HasPrefix(key, "<key: $new") && w.news[last] == 0 && !w.known[last] {
				w.news[last] = len(w.news) + 1
				o["key"] = map[string]any{"$new": w.news[last]}
			}
			return o
		}
	}
	return map[string]any{"op": "set", "path": op.Path, "value": w.value(tree(op.Value))}
}

func (w *writer) replace(op agentbound.Op, segments []string) map[string]any {
	v := tree(op.Value)
	now, isNumber := at(w.state, segments).(json.Number)
	to, ok := v.(json.Number)
	if !isNumber || !ok || w.given[string(to)] {
		return map[string]any{"op": "set", "path": op.Path, "value": w.value(v)}
	}
	a, okA := new(big.Int).SetString(string(now), 10)
	b, okB := new(big.Int).SetString(string(to), 10)
	if !okA || !okB {
		x, _ := now.Float64()
		y, _ := to.Float64()
		if d := y - x; d >= 0 {
			return map[string]any{"op": "increase", "path": op.Path, "by": d}
		}
		return map[string]any{"op": "decrease", "path": op.Path, "by": x - y}
	}
	name, d := "increase", new(big.Int).Sub(b, a)
	if d.Sign() < 0 {
		name, d = "decrease", d.Neg(d)
	}
	return map[string]any{"op": name, "path": op.Path, "by": w.value(json.Number(d.String()))}
}

// item is a new record, its own id left to code.
func (w *writer) item(v, kind any) any {
	m, ok := v.(map[string]any)
	t, _ := kind.(map[string]any)
	if !ok {
		return w.value(v)
	}
	out := map[string]any{}
	for k, x := range m {
		if s, _ := t[k].(string); strings.HasPrefix(s, "$new") {
			w.news[fmt.Sprint(x)] = len(w.news) + 1
			out[k] = map[string]any{"$new": len(w.news)}
		}
	}
	for k, x := range m {
		if out[k] == nil {
			out[k] = w.value(x)
		}
	}
	return out
}

var digits = regexp.MustCompile(`\d+|\D+`)

// value writes what code cannot take as it stands as expressions.
func (w *writer) value(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = w.value(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = w.value(x)
		}
		return out
	case json.Number:
		if w.known[string(v)] {
			return v
		}
		if n, ok := new(big.Int).SetString(string(v), 10); ok {
			return count(n)
		}
	case string:
		if n := w.news[v]; n > 0 {
			return map[string]any{"$new": n}
		}
		if w.known[v] || !strings.ContainsAny(v, "0123456789") {
			return v
		}
		return w.text(v)
	}
	return v
}

// text writes the numbers of a text as what code works out.
func (w *writer) text(s string) any {
	var parts []any
	for _, part := range digits.FindAllString(s, -1) {
		if n, ok := new(big.Int).SetString(part, 10); ok {
			zeros := len(part) - len(n.String())
			if zeros > 0 {
				parts = append(parts, part[:zeros])
			}
			parts = append(parts, count(n))
			continue
		}
		parts = append(parts, part)
	}
	return map[string]any{"$text": parts}
}

// count makes a number of ones.
func count(n *big.Int) any {
	two := map[string]any{"$sum": []any{1, 1}}
	switch {
	case n.Sign() < 0:
		return map[string]any{"$difference": []any{0, count(new(big.Int).Neg(n))}}
	case n.BitLen() <= 1:
		return n.Int64()
	}
	var bits []any
	for i := range n.BitLen() {
		if n.Bit(i) == 1 {
			product := []any{1}
			for range i {
				product = append(product, two)
			}
			bits = append(bits, map[string]any{"$product": product})
		}
	}
	return map[string]any{"$sum": bits}
}

func at(v any, segments []string) any {
	for _, s := range segments {
		switch x := v.(type) {
		case map[string]any:
			v = x[s]
		case []any:
			n, err := strconv.Atoi(s)
			if err != nil || n >= len(x) {
				return nil
			}
			v = x[n]
		default:
			return nil
		}
	}
	return v
}

// typeAt is what the world says of a place.
func (w *writer) typeAt(segments []string) any {
	t := w.types
	for _, s := range segments {
		switch x := t.(type) {
		case []any:
			t = x[0]
		case map[string]any:
			t = below(x, s)
		default:
			return nil
		}
	}
	return t
}

func below(m map[string]any, seg string) any {
	if t, ok := m[seg]; ok {
		return t
	}
	if t, ok := m[seg+"?"]; ok {
		return t
	}
	for k, t := range m {
		if strings.HasPrefix(k, "<key") {
			return t
		}
	}
	return nil
}
