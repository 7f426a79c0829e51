package suite

import (
	"encoding/json"
	"strconv"

	"github.com/goccy/go-yaml/token"
)

// pos is a place in a file, both from 1, columns in characters.
type pos struct{ line, col int }

// kind is the JSON type of a node. Integers and floats stay distinct.
type kind uint8

const (
	null kind = iota
	boolean
	integer
	float
	text
	list
	object
)

// String names the kind as an author would.
func (k kind) String() string {
	return [...]string{"null", "true or false", "a whole number", "a decimal number", "text", "a list", "a mapping"}[k]
}

// node is a value of a YAML file with the place it stands at. Every value of a tree
// has one parent: anchors and aliases are refused, so that a tree is no larger than
// its file.
type node struct {
	kind    kind
	pos     pos
	style   token.Type // how a scalar is written
	text    string     // content of a text, source of another scalar
	items   []*node    // of a list
	entries []entry    // of an object, in the order of the file
	made    bool       // not spelled at its place: it comes from an expansion
}

// entry is a key with its value. The key is a node too, for its place and style.
type entry struct {
	key   *node
	value *node
}

// get walks keys; it is nil where one is missing or its parent no object.
func (n *node) get(keys ...string) *node {
	for _, key := range keys {
		n = n.child(key)
	}
	return n
}

func (n *node) child(key string) *node {
	if n == nil || n.kind != object {
		return nil
	}
	for _, e := range n.entries {
		if e.key.text == key {
			return e.value
		}
	}
	return nil
}

// list gives the items at a place, none where there is no list.
func (n *node) list(keys ...string) []*node {
	if m := n.get(keys...); m.is(list) {
		return m.items
	}
	return nil
}

func (n *node) is(k kind) bool { return n != nil && n.kind == k }

// str gives the text at a place, empty where there is none.
func (n *node) str(keys ...string) string {
	if m := n.get(keys...); m.is(text) {
		return m.text
	}
	return ""
}

// number gives the small integer at a place, 0 where there is none.
func (n *node) number(keys ...string) int {
	m := n.get(keys...)
	if !m.is(integer) {
		return 0
	}
	i, _ := strconv.Atoi(m.text)
	return i
}

// tree gives the value in Go's generic types, numbers as json.Number.
func (n *node) tree() any {
	switch n.kind {
	case boolean:
		return n.text == "true"
	case integer, float:
		return json.Number(n.text)
	case text:
		return n.text
	case list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.tree()
		}
		return items
	case object:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key.text] = e.value.tree()
		}
		return m
	}
	return nil
}

// find follows an instance location of the JSON Schema validator. Where a step is
// missing it gives the last node there is.
func (n *node) find(location []string) *node {
	for _, step := range location {
		next := n.child(step)
		if i, err := strconv.Atoi(step); err == nil && n.is(list) && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
