package star

import (
	"errors"
	"maps"
	"sync/atomic"

	"go.starlark.net/starlark"

	"github.com/agentbound/agentbound"
)

// written are the parts at the top of the state that a tool was seen to change. A
// call gets copies of these; the rest it gets as it is, frozen. Where it tries to
// write a part that is not among them, it is run again on a copy of everything, and
// the part is remembered. So most calls copy little, and what a call does never
// depends on what was remembered.
type written struct {
	parts atomic.Pointer[map[string]bool]
}

func (w *written) has(part string) bool {
	m := w.parts.Load()
	return m != nil && (*m)[part]
}

// maxWritten bounds what is remembered of one tool; a tool that writes more parts is
// run on a copy of everything.
const maxWritten = 32

func (w *written) add(part string) {
	for {
		old := w.parts.Load()
		if old != nil && len(*old) >= maxWritten {
			return
		}
		next := map[string]bool{part: true}
		if old != nil {
			maps.Copy(next, *old)
		}
		if w.parts.CompareAndSwap(old, &next) {
			return
		}
	}
}

// workOn gives the state that a call works on: the state itself where the tool is
// not known to write, else one with copies of the parts it writes.
func (w *written) workOn(before State, all bool) (starlark.Value, error) {
	if all {
		return copyTree(before.v)
	}
	if w.parts.Load() == nil {
		return before.v, nil
	}
	top, ok := before.v.(*starlark.Dict)
	if !ok {
		return nil, errors.New("a state must be an object")
	}
	work := starlark.NewDict(top.Len())
	for k, v := range top.Entries() {
		if name, _ := starlark.AsString(k); w.has(name) {
			var err error
			if v, err = copyTree(v); err != nil {
				return nil, err
			}
		}
		if err := work.SetKey(k, v); err != nil {
			return nil, err
		}
	}
	return work, nil
}

// settleState makes a state of what a tool left in its copy, sharing with the state
// before what stayed as it was. changed are the parts at the top that did not; none
// where a part was removed.
func settleState(before State, work starlark.Value) (after State, changed []string, err error) {
	old, isObject := before.v.(*starlark.Dict)
	now, stillObject := work.(*starlark.Dict)
	if !isObject || !stillObject {
		return State{}, nil, errors.New("a state must be an object")
	}
	entries, err := sortedEntries(now)
	if err != nil {
		return State{}, nil, err
	}
	c := copier{}
	next := starlark.NewDict(len(entries))
	kept := 0
	for _, kv := range entries {
		x := kv[1]
		was, found, err := old.Get(kv[0])
		if found {
			kept++
		}
		switch {
		case err != nil:
			return State{}, nil, err
		case found && (identical(was, x) || sameTree(was, x)):
			x = was
		default:
			name, _ := starlark.AsString(kv[0])
			changed = append(changed, name)
			if x, err = c.value(x, 1); err != nil {
				return State{}, nil, err
			}
		}
		if err := next.SetKey(kv[0], x); err != nil {
			return State{}, nil, err
		}
	}
	removed := kept < old.Len()
	if len(changed) == 0 && !removed {
		return before, nil, nil
	}
	if removed {
		changed = nil // not all that changed
	}
	next.Freeze()
	if before.nodes == 0 {
		b := copier{}
		if _, err := b.value(before.v, 0); err != nil {
			return State{}, nil, err
		}
		before.nodes, before.bytes = b.nodes, b.most()
	}
	after = State{v: next, bytes: before.bytes + c.most(), nodes: before.nodes + c.nodes}
	return after, changed, after.bound()
}

// difference gives the operations that turn the state before into the one after, where
// the parts at the top in which they differ are known.
func difference(before, after State, changed []string) (agentbound.Diff, error) {
	old, now := before.v.(*starlark.Dict), after.v.(*starlark.Dict)
	if len(changed) == 0 {
		return Difference(before, after)
	}
	d := differ{}
	for _, part := range changed {
		was, found, _ := old.Get(starlark.String(part))
		is, _, _ := now.Get(starlark.String(part))
		path := "/" + escape(part)
		var err error
		if found {
			err = d.value(path, was, is)
		} else {
			err = d.put(agentbound.OpAdd, path, is)
		}
		if err != nil {
			return Difference(before, after)
		}
	}
	return d.ops, nil
}

// identical tells without a walk that two parts are one.
func identical(a, b starlark.Value) bool {
	switch a.(type) {
	case *starlark.Dict, *starlark.List:
		return a == b
	}
	return false
}

// bound counts the whole state once the sum of its changes could be over the limits.
func (s *State) bound() error {
	if s.bytes <= MaxBytes && s.nodes <= MaxNodes {
		return nil
	}
	e := encoder{}
	if err := e.value(s.v, 0); err != nil {
		return err
	}
	if len(e.buf) > MaxBytes {
		return errBytes
	}
	s.bytes, s.nodes = len(e.buf), e.nodes
	return nil
}
