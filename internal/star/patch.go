package star

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/agentbound/agentbound"
)

// Apply gives the state after the operations. It shares what they leave alone with
// the state before; both are immutable.
func Apply(s State, diff agentbound.Diff) (State, error) {
	if s.Zero() {
		return State{}, errNoState
	}
	if len(diff) == 0 {
		return s, nil
	}
	if len(diff) > maxOps {
		return State{}, fmt.Errorf("%d operations; at most %d are accepted", len(diff), maxOps)
	}
	p := newPatcher()
	v := s.v
	for _, op := range diff {
		var err error
		if v, err = p.apply(v, op); err != nil {
			return State{}, fmt.Errorf("%s %s: %w", op.Op, clip(op.Path), err)
		}
	}
	return p.settle(v)
}

// Transplant gives a state with what another one holds at some places (JSON
// Pointers), and without what it does not hold there.
func Transplant(into, from State, places []string) (State, error) {
	p := newPatcher()
	v := into.v
	for _, place := range places {
		path, err := splitPointer(place)
		if err != nil {
			return State{}, err
		}
		there, errThere := find(from, place)
		here, errHere := find(into, place)
		op := agentbound.OpReplace
		switch {
		case errThere != nil && errHere != nil, errThere == nil && errHere == nil && sameTree(there, here):
			continue
		case errThere != nil:
			op = agentbound.OpRemove
		case errHere != nil:
			op = agentbound.OpAdd
		}
		if v, err = p.at(v, path, op, there); err != nil {
			return State{}, fmt.Errorf("%s: %w", clip(place), err)
		}
	}
	return p.settle(v)
}

// settle ends a patch.
func (p *patcher) settle(v starlark.Value) (State, error) {
	if err := p.sort(); err != nil {
		return State{}, err
	}
	if _, ok := v.(*starlark.Dict); !ok {
		return State{}, fmt.Errorf("a state is a JSON object, and the operations leave a %s", v.Type())
	}
	v.Freeze()
	return State{v: v}, nil
}

// patcher copies each list and object that an operation changes, once.
type patcher struct {
	own   map[starlark.Value]bool // copies, which may be changed in place
	grown map[*starlark.Dict]bool // with new keys, not yet in order
}

func newPatcher() *patcher {
	return &patcher{own: map[starlark.Value]bool{}, grown: map[*starlark.Dict]bool{}}
}

func (p *patcher) apply(v starlark.Value, op agentbound.Op) (starlark.Value, error) {
	path, err := splitPointer(op.Path)
	if err != nil {
		return nil, err
	}
	switch op.Op {
	case agentbound.OpAdd, agentbound.OpReplace:
		x, err := Decode(op.Value)
		if err != nil {
			return nil, err
		}
		return p.at(v, path, op.Op, x)
	case agentbound.OpRemove:
		return p.at(v, path, op.Op, nil)
	}
	return nil, fmt.Errorf("unknown operation; accepted: %s, %s, %s", agentbound.OpAdd, agentbound.OpRemove, agentbound.OpReplace)
}

func (p *patcher) at(v starlark.Value, path []string, op string, x starlark.Value) (starlark.Value, error) {
	if len(path) == 0 {
		if op == agentbound.OpRemove {
			return nil, errors.New("the whole state cannot be removed")
		}
		return x, nil
	}
	switch v := v.(type) {
	case *starlark.Dict:
		return p.object(v, path, op, x)
	case *starlark.List:
		return p.list(v, path, op, x)
	}
	return nil, fmt.Errorf("%q leads into a %s", clip(path[0]), v.Type())
}

func (p *patcher) object(d *starlark.Dict, path []string, op string, x starlark.Value) (starlark.Value, error) {
	key := starlark.String(path[0])
	old, found, _ := d.Get(key)
	last := len(path) == 1
	if !found && !(last && op == agentbound.OpAdd) {
		return nil, fmt.Errorf("no key %q", clip(path[0]))
	}
	var err error
	if !last {
		if x, err = p.at(old, path[1:], op, x); err != nil {
			return nil, err
		}
	}
	if !p.own[d] {
		fresh := starlark.NewDict(d.Len() + 1)
		for k, v := range d.Entries() {
			_ = fresh.SetKey(k, v) // a string key always hashes
		}
		d = fresh
		p.own[d] = true
	}
	if last && op == agentbound.OpRemove {
		_, _, err = d.Delete(key)
		return d, err
	}
	if !found {
		p.grown[d] = true
	}
	err = d.SetKey(key, x)
	return d, err
}

func (p *patcher) list(l *starlark.List, path []string, op string, x starlark.Value) (starlark.Value, error) {
	last := len(path) == 1
	limit := l.Len()
	if last && op == agentbound.OpAdd {
		limit++
	}
	i, ok := listIndex(path[0], limit)
	if path[0] == "-" && last && op == agentbound.OpAdd {
		i, ok = l.Len(), true
	}
	if !ok {
		return nil, fmt.Errorf("no item %q in a list of %d", clip(path[0]), l.Len())
	}
	if !last {
		var err error
		if x, err = p.at(l.Index(i), path[1:], op, x); err != nil {
			return nil, err
		}
		op = agentbound.OpReplace
	}
	if op == agentbound.OpReplace && p.own[l] {
		err := l.SetIndex(i, x)
		return l, err
	}
	elems := make([]starlark.Value, 0, l.Len()+1)
	for e := range l.Elements() {
		elems = append(elems, e)
	}
	switch op {
	case agentbound.OpAdd:
		elems = slices.Insert(elems, i, x)
	case agentbound.OpRemove:
		elems = slices.Delete(elems, i, i+1)
	default:
		elems[i] = x
	}
	l = starlark.NewList(elems)
	p.own[l] = true
	return l, nil
}

// sort puts the objects with new keys in order.
func (p *patcher) sort() error {
	for d := range p.grown {
		entries, err := sortedEntries(d)
		if err != nil {
			return err
		}
		if err := d.Clear(); err != nil {
			return err
		}
		for _, kv := range entries {
			_ = d.SetKey(kv[0], kv[1])
		}
	}
	return nil
}

// Assign applies assignments in order; one may create a key in an object.
func Assign(s State, set []agentbound.Assignment) (State, error) {
	for _, a := range set {
		op := agentbound.OpReplace
		if _, err := Get(s, a.Pointer); err != nil {
			op = agentbound.OpAdd
		}
		var err error
		if s, err = Apply(s, agentbound.Diff{{Op: op, Path: a.Pointer, Value: a.Value}}); err != nil {
			return State{}, err
		}
	}
	return s, nil
}

// Restored reports whether the place an operation changed holds at the end what it
// held before. An item put into a list is looked for by its value, since what was
// done later may have moved it.
func Restored(before, end State, op agentbound.Op) bool {
	was, errWas := Get(before, op.Path)
	now, errNow := Get(end, op.Path)
	if (errWas != nil) == (errNow != nil) && was.Equal(now) {
		return true
	}
	slash := strings.LastIndex(op.Path, "/")
	if op.Op != agentbound.OpAdd || slash < 0 {
		return false
	}
	then, _ := find(before, op.Path[:slash])
	list, err := find(end, op.Path[:slash])
	if _, isList := list.(*starlark.List); err != nil || !isList {
		return false
	}
	return count(list, op.Value) <= count(then, op.Value)
}

func count(v starlark.Value, item agentbound.Value) int {
	list, ok := v.(*starlark.List)
	if !ok {
		return 0
	}
	n := 0
	for i := range list.Len() {
		if enc, err := Encode(list.Index(i)); err == nil && enc.Equal(item) {
			n++
		}
	}
	return n
}
