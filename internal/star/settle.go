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
	next := starlark.NewDict(now.Len())
	kept := 0
	for _, kv := range entries {
		k := kv[0]
		was, found, err := old.Get(k)
		if err != nil {
			return State{}, nil, err
		}
		if found {
			kept++
		}
		x, same, err := c.settle(was, kv[1], found, 1)
		if err != nil {
			return State{}, nil, err
		}
		if !same {
			name, _ := starlark.AsString(k)
			changed = append(changed, name)
		}
		if err := next.SetKey(k, x); err != nil {
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
		b := copier{} // a state from Apply
		if _, err := b.value(before.v, 0); err != nil {
			return State{}, nil, err
		}
		before.nodes, before.bytes = b.nodes, b.most()
	}
	after = State{v: next, bytes: before.bytes + c.most(), nodes: before.nodes + c.nodes}
	if err := after.bound(); err != nil {
		return State{}, nil, err
	}
	return after, changed, nil
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

// settle copies x, which stands where was stood (if anything did), and keeps of it
// what did not change, so that two states share that and differ visibly elsewhere.
func (c *copier) settle(was, x starlark.Value, found bool, depth int) (settled starlark.Value, same bool, err error) {
	if !found {
		settled, err = c.value(x, depth)
		return settled, false, err
	}
	switch x := x.(type) {
	case *starlark.List:
		if old, ok := was.(*starlark.List); ok {
			return c.settleList(old, x, depth)
		}
	case *starlark.Dict:
		if old, ok := was.(*starlark.Dict); ok {
			return c.settleObject(old, x, depth)
		}
	default:
		if sameTree(was, x) {
			return was, true, nil
		}
	}
	settled, err = c.value(x, depth)
	return settled, false, err
}

func (c *copier) settleList(old, l *starlark.List, depth int) (starlark.Value, bool, error) {
	if old == l {
		return old, true, nil
	}
	elems := make([]starlark.Value, l.Len())
	same := old.Len() == l.Len()
	for i := range elems {
		var was starlark.Value
		if i < old.Len() {
			was = old.Index(i)
		}
		x, kept, err := c.settle(was, l.Index(i), was != nil, depth+1)
		if err != nil {
			return nil, false, err
		}
		elems[i], same = x, same && kept
	}
	if same {
		return old, true, nil
	}
	c.nodes++
	return starlark.NewList(elems), false, nil
}

func (c *copier) settleObject(old, d *starlark.Dict, depth int) (starlark.Value, bool, error) {
	if old == d {
		return old, true, nil
	}
	entries, err := sortedEntries(d)
	if err != nil {
		return nil, false, err
	}
	next := starlark.NewDict(d.Len())
	same := old.Len() == d.Len()
	for _, kv := range entries {
		k := kv[0]
		was, found, err := old.Get(k)
		if err != nil {
			return nil, false, err
		}
		x, kept, err := c.settle(was, kv[1], found, depth+1)
		if err != nil {
			return nil, false, err
		}
		if !found {
			c.bytes += len(k.(starlark.String))
		}
		same = same && kept
		if err := next.SetKey(k, x); err != nil {
			return nil, false, err
		}
	}
	if same {
		return old, true, nil
	}
	c.nodes++
	return next, false, nil
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
