package suite

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"

	"github.com/agentbound/agentbound"
)

// member is a key of a mapping that is written; one without a value is left out.
type member struct {
	key   string
	value *node
}

func mapping(members ...member) *node {
	n := &node{kind: object}
	for _, m := range members {
		if m.value != nil {
			n.entries = append(n.entries, entry{word(m.key), m.value})
		}
	}
	return n
}

func sequence[T any](items []T, of func(T) *node) *node {
	n := &node{kind: list}
	for _, item := range items {
		n.items = append(n.items, of(item))
	}
	return n
}

func word(s string) *node { return &node{kind: text, style: token.StringType, text: s} }

func number[T int | uint64](i T) *node { return &node{kind: integer, text: fmt.Sprint(i)} }

// optional is a text, or nothing where it is empty.
func optional(s string) *node {
	if s == "" {
		return nil
	}
	return word(s)
}

// emit writes a tree in the subset of YAML that format 1 is written in, so that it
// reads back as the same tree. A library's encoder leaves texts plain that our reader,
// and others, take for something else.
func emit(root *node) string {
	var b strings.Builder
	emitter{&b}.entries(root, "")
	return b.String()
}

type emitter struct{ *strings.Builder }

func (e emitter) entries(n *node, indent string) {
	for _, m := range n.entries {
		e.WriteString(indent)
		e.WriteString(emitText(m.key.text))
		e.WriteByte(':')
		e.value(m.value, indent+"  ")
	}
}

// value writes what stands behind a colon or a dash, and the line's end.
func (e emitter) value(n *node, indent string) {
	switch {
	case n.kind == object && len(n.entries) > 0:
		e.WriteByte('\n')
		e.entries(n, indent)
	case n.kind == list && len(n.items) > 0:
		e.WriteByte('\n')
		for _, item := range n.items {
			e.WriteString(indent)
			e.WriteByte('-')
			e.value(item, indent+"  ")
		}
	case n.kind == text && foldable(n.text):
		e.WriteString(" >-")
		e.fold(n.text, indent)
	default:
		e.WriteByte(' ')
		e.WriteString(n.inline())
		e.WriteByte('\n')
	}
}

// inline is a value that takes one line.
func (n *node) inline() string {
	switch n.kind {
	case object:
		return "{}"
	case list:
		return "[]"
	case text:
		return emitText(n.text)
	case null:
		return "null"
	}
	return n.text
}

// emitText leaves slugs plain and quotes the rest as JSON does, which is YAML too.
func emitText(s string) string {
	if k, _, why := plainScalar(s); slug.MatchString(s) && k == text && why == "" {
		return s
	}
	b, err := agentbound.EncodeJSON(s)
	if err != nil {
		panic(err) // a string always encodes
	}
	return strings.ReplaceAll(string(b), "\u007f", "\\u007f") // which YAML does not print, and JSON does
}

const foldedWidth = 110

// foldable reports whether a long text reads back alike from lines that were broken
// at its spaces.
func foldable(s string) bool {
	return len(s) > foldedWidth && !strings.ContainsAny(s, "\n\t\r") && strings.Join(strings.Fields(s), " ") == s &&
		strings.IndexFunc(s, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == 0x85 || r == 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff
		}) < 0
}

func (e emitter) fold(s, indent string) {
	width := foldedWidth + 1
	for _, w := range strings.Split(s, " ") {
		if width+1+len(w) > foldedWidth {
			e.WriteString("\n" + indent + w)
			width = len(indent) + len(w)
			continue
		}
		e.WriteString(" " + w)
		width += 1 + len(w)
	}
	e.WriteByte('\n')
}
