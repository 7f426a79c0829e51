package suite

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// placedFact is an assignment with the generic value it sets, for applying it.
type placedFact struct {
	agentbound.Assignment
	value any
}

// sideFacts are the facts of one side with the state it starts from.
type sideFacts struct {
	facts agentbound.Facts
	start agentbound.Value
}

// facts resolves the facts of both sides against the state. It reports paths that
// do not resolve.
func (c *checker) facts() (out [2]sideFacts) {
	state := c.root.get("state")
	if !state.is(object) {
		return out
	}
	for i, side := range sides {
		n := c.root.get("boundary", "facts", string(side))
		if n.is(object) {
			out[i] = c.side(state, n)
		}
	}
	return out
}

// side resolves one side: overrides in the state, the event's in the state that
// the overrides give.
func (c *checker) side(state, n *node) (out sideFacts) {
	var overrides []entry
	for _, e := range n.entries {
		if e.key.text != "once" && e.key.text != "set" {
			overrides = append(overrides, e)
		}
	}
	start := state.tree()
	set := c.assignments(start, overrides)
	for _, f := range set {
		assign(start, f.Pointer, f.value)
		out.facts.Set = append(out.facts.Set, f.Assignment)
	}
	var err error
	if out.start, err = star.Canonical(start); err != nil {
		c.at(faulty(state).pos, "state: %v", err)
	}
	if once := n.get("once"); once.is(text) {
		out.facts.Event = &agentbound.Event{Once: strings.TrimSpace(once.text)}
		if m := n.get("set"); m.is(object) {
			for _, f := range c.assignments(start, m.entries) {
				out.facts.Event.Set = append(out.facts.Event.Set, f.Assignment)
			}
		}
	}
	return out
}

// assignments resolves paths and orders them by pointer. None may lie in another,
// so that their order does not matter.
func (c *checker) assignments(state any, entries []entry) []placedFact {
	var out []placedFact
	place := map[string]pos{}
	for _, e := range entries {
		f, ok := c.assignment(state, e)
		if !ok {
			continue
		}
		for pointer, first := range place {
			if inside(pointer, f.Pointer) || inside(f.Pointer, pointer) {
				c.at(e.key.pos, "%s and the path of line %d set the same place, or one lies in the other; keep one", quote(e.key.text), first.line)
			}
		}
		place[f.Pointer] = e.key.pos
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b placedFact) int { return cmp.Compare(a.Pointer, b.Pointer) })
	return out
}

func inside(inner, outer string) bool {
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}

func (c *checker) assignment(state any, e entry) (f placedFact, ok bool) {
	path, err := ParsePath(e.key.text)
	var pointer string
	if err == nil {
		pointer, err = path.Resolve(state)
	}
	var fault *PathError
	if errors.As(err, &fault) {
		c.at(locate(c.lines, e.key, fault.Offset), "path %s: %s", quote(e.key.text), fault.Message)
		return f, false
	}
	f.value = e.value.tree()
	value, err := star.Canonical(f.value)
	if err != nil {
		c.at(faulty(e.value).pos, "the value of %s: %v", quote(e.key.text), err)
		return f, false
	}
	f.Assignment = agentbound.Assignment{Path: e.key.text, Pointer: pointer, Value: value}
	return f, true
}

// faulty is the innermost part of a value that has no canonical form.
func faulty(n *node) *node {
	parts := slices.Clone(n.items)
	for _, e := range n.entries {
		parts = append(parts, e.value)
	}
	for _, part := range parts {
		if _, err := star.Canonical(part.tree()); err != nil {
			return faulty(part)
		}
	}
	return n
}
