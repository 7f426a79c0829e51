package suite

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// filler fills ${…} in a tree with the values of Starlark expressions:
//
//   - a text that is nothing but ${…} becomes the value, whatever its type;
//   - an item ${*…} of a list becomes the items of the list that it gives;
//   - within a longer text, or a key, text and numbers stand as they are; other values
//     stand as Starlark writes them, and only where Starlark is read;
//   - $${ stands for ${.
type filler struct {
	*report
	values *star.Bindings
	room   *room
}

// room is what expressions may still put into a family. A short archetype could make a
// tree of any size otherwise.
type room struct {
	nodes, bytes int
	told         bool
}

// Bounds of what the expressions of one family give, all together. A family that is
// written by hand has at most as many bytes.
const (
	maxFilledNodes = 1 << 17
	maxFilledBytes = MaxFamilyBytes
)

func newRoom() *room { return &room{nodes: maxFilledNodes, bytes: maxFilledBytes} }

// takes accounts for a filled value; false where there is no room for it.
func (t filler) takes(at pos, expr string, nodes, bytes int) bool {
	t.room.nodes -= nodes
	t.room.bytes -= bytes
	if t.room.nodes >= 0 && t.room.bytes >= 0 {
		return true
	}
	if !t.room.told {
		t.room.told = true
		t.at(at, "with ${%s} the family grows larger than %d KiB or %d values; use fewer or smaller values", expr, maxFilledBytes>>10, maxFilledNodes)
	}
	return false
}

func (t filler) spent() bool { return t.room.nodes < 0 || t.room.bytes < 0 }

// size counts the values in a tree.
func (n *node) size() int {
	sum := 1
	for _, item := range n.items {
		sum += item.size()
	}
	for _, e := range n.entries {
		sum += e.value.size()
	}
	return sum
}

var valueName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// literals reports whether a part of a family is read as Starlark.
func (filler) literals(key string) bool {
	return slices.Contains([]string{"boundary", "completion", "handled", "forbidden", "reference"}, key)
}

// fill gives the tree with every ${…} replaced. What has none stays the same node.
func (t filler) fill(n *node, literal bool) *node {
	switch {
	case n == nil:
		return nil
	case n.is(text):
		return t.text(n, literal)
	case n.is(list):
		out := *n
		out.items = nil
		for _, item := range n.items {
			out.items = append(out.items, t.item(item, literal)...)
		}
		return &out
	case n.is(object):
		out := *n
		out.entries = make([]entry, 0, len(n.entries))
		for _, e := range n.entries {
			key := t.plain(e.key, literal)
			if other := out.child(key.text); other != nil {
				t.at(e.key.pos, "key %s is already set; two keys come out alike: rename one", quote(key.text))
			}
			out.entries = append(out.entries, entry{key, t.fill(e.value, literal)})
		}
		return &out
	}
	return n
}

// item fills an item of a list; ${*…} gives any number of them.
func (t filler) item(n *node, literal bool) []*node {
	if n.is(text) {
		if parts, ok := t.parts(n); ok && len(parts) == 1 && strings.HasPrefix(parts[0].expr, "*") {
			v := t.eval(n, strings.TrimPrefix(parts[0].expr, "*"))
			if v != nil && !v.is(list) {
				t.at(n.pos, "${%s} is %s; accepted: a list, whose items take its place", parts[0].expr, v.kind)
				return nil
			}
			if v == nil {
				return nil
			}
			return v.items
		}
	}
	return []*node{t.fill(n, literal)}
}

func (t filler) text(n *node, literal bool) *node {
	parts, ok := t.parts(n)
	if !ok || len(parts) == 0 || len(parts) == 1 && parts[0].expr == "" && parts[0].text == n.text {
		return n
	}
	if len(parts) == 1 && parts[0].expr != "" {
		if v := t.eval(n, parts[0].expr); v != nil {
			return v
		}
		return n
	}
	return t.join(n, parts, literal)
}

// plain fills a text that must stay one, such as a key.
func (t filler) plain(n *node, literal bool) *node {
	parts, ok := t.parts(n)
	if !ok || len(parts) == 0 || len(parts) == 1 && parts[0].expr == "" && parts[0].text == n.text {
		return n
	}
	return t.join(n, parts, literal)
}

func (t filler) join(n *node, parts []part, literal bool) *node {
	var b strings.Builder
	for _, p := range parts {
		if p.expr == "" {
			b.WriteString(p.text)
			continue
		}
		v := t.eval(n, p.expr)
		switch {
		case v == nil:
		case v.is(text), v.is(integer), v.is(float):
			b.WriteString(v.text)
		case literal:
			if t.spent() {
				break
			}
			s, err := t.values.Literal(context.Background(), p.expr)
			if err != nil {
				t.at(n.pos, "${%s}: %v", p.expr, strip(err.Error()))
			}
			if t.takes(n.pos, p.expr, 0, len(s)) {
				b.WriteString(s)
			}
		default:
			t.at(n.pos, "${%s} is %s and stands within a text; accepted there: text or a number", p.expr, v.kind)
		}
	}
	out := *n
	out.text, out.made = b.String(), true
	return &out
}

// eval gives the value of an expression as a tree placed at n; nil where it has none.
func (t filler) eval(n *node, expr string) *node {
	if t.spent() {
		return nil
	}
	v, err := t.values.Eval(context.Background(), expr)
	if err != nil {
		t.at(n.pos, "${%s}: %v", expr, strip(err.Error()))
		return nil
	}
	if !t.takes(n.pos, expr, 0, len(v)) {
		return nil
	}
	out, err := nodeOf(v, n.pos)
	if err != nil {
		t.at(n.pos, "${%s}: %v", expr, err)
		return nil
	}
	if !t.takes(n.pos, expr, out.size(), 0) {
		return nil
	}
	return out
}

// strip takes the place within the expression from a message: the text's is told.
func strip(message string) string {
	if m := placed.FindStringSubmatch(message); m != nil {
		return m[3]
	}
	return message
}

// nodeOf is a JSON value as a tree, all of it at one place.
func nodeOf(v agentbound.Value, at pos) (*node, error) {
	d := json.NewDecoder(strings.NewReader(string(v)))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return nil, err
	}
	return treeNode(x, at), nil
}

func treeNode(x any, at pos) *node {
	n := &node{pos: at, style: token.StringType, made: true}
	switch x := x.(type) {
	case bool:
		n.kind, n.text = boolean, "false"
		if x {
			n.text = "true"
		}
	case json.Number:
		n.kind, n.text = integer, x.String()
		if strings.ContainsAny(n.text, ".eE") {
			n.kind = float
		}
	case string:
		n.kind, n.text = text, x
	case []any:
		n.kind = list
		for _, item := range x {
			n.items = append(n.items, treeNode(item, at))
		}
	case map[string]any:
		n.kind = object
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			n.entries = append(n.entries, entry{made(k, at), treeNode(x[k], at)})
		}
	}
	return n
}

// part is a piece of a text: plain, or an expression.
type part struct{ text, expr string }

// parts splits a text at its ${…}; ok is false where one is not closed or empty.
func (t filler) parts(n *node) ([]part, bool) {
	parts, open := split(n.text)
	if open >= 0 {
		t.at(n.pos, "${ at character %d of the text has no expression or no closing }; write $${ where ${ is meant as it is", open+1)
		return nil, false
	}
	return parts, true
}

// split cuts a text into its parts. open is where a faulty ${ begins, -1 without one.
func split(s string) (parts []part, open int) {
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			return append(parts, plainPart(s)...), -1
		}
		if i > 0 && s[i-1] == '$' {
			parts, s = append(parts, part{text: s[:i-1] + "${"}), s[i+2:]
			continue
		}
		end := closing(s[i+2:])
		if end <= 0 || strings.TrimSpace(s[i+2:i+2+end]) == "" {
			return nil, i
		}
		parts = append(append(parts, plainPart(s[:i])...), part{expr: strings.TrimSpace(s[i+2 : i+2+end])})
		s = s[i+2+end+1:]
	}
}

func plainPart(s string) []part {
	if s == "" {
		return nil
	}
	return []part{{text: s}}
}

// closing finds the } that ends an expression, past braces and quoted texts in it.
func closing(s string) int {
	depth := 0
	var quoted byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted != 0 && c == '\\':
			i++
		case quoted != 0:
			if c == quoted {
				quoted = 0
			}
		case c == '"' || c == '\'':
			quoted = c
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}':
			return i
		}
	}
	return -1
}

// expressionsOf are the expressions in a tree.
func expressionsOf(n *node) []string {
	var out []string
	add := func(s string) {
		parts, _ := split(s)
		for _, p := range parts {
			if p.expr != "" {
				out = append(out, strings.TrimPrefix(p.expr, "*"))
			}
		}
	}
	switch n.kind {
	case text:
		add(n.text)
	case list:
		for _, item := range n.items {
			out = append(out, expressionsOf(item)...)
		}
	case object:
		for _, e := range n.entries {
			add(e.key.text)
			out = append(out, expressionsOf(e.value)...)
		}
	}
	return out
}
