package star

import (
	"errors"
	"math"
	"strconv"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

// maxOps bounds a difference; a larger one replaces the whole state.
const maxOps = 4096

// Difference gives the operations that turn before into after. Lists are compared
// after their common head and tail are set aside, which keeps an appended or a
// removed item one operation. A change of more than a few thousand places, or of
// more text than a state may have, is one replacement of the state.
func Difference(before, after State) (agentbound.Diff, error) {
	if before.Zero() || after.Zero() {
		return nil, errNoState
	}
	d := differ{}
	err := d.value("", before.v, after.v)
	if errors.Is(err, errTooLong) {
		d = differ{}
		err = d.put(agentbound.OpReplace, "", after.v)
	}
	if err != nil {
		return nil, err
	}
	return d.ops, nil
}

type differ struct {
	ops   agentbound.Diff
	bytes int
}

var errTooLong = errors.New("a long difference")

func (d *differ) add(op, path string, v agentbound.Value) error {
	d.ops = append(d.ops, agentbound.Op{Op: op, Path: path, Value: v})
	if d.bytes += len(path) + len(v); path != "" && (d.bytes > MaxBytes || len(d.ops) > maxOps) {
		return errTooLong
	}
	return nil
}

func (d *differ) value(path string, a, b starlark.Value) error {
	switch a := a.(type) {
	case *starlark.Dict:
		if b, ok := b.(*starlark.Dict); ok {
			return d.object(path, a, b)
		}
	case *starlark.List:
		if b, ok := b.(*starlark.List); ok {
			return d.list(path, a, b)
		}
	}
	if sameTree(a, b) {
		return nil
	}
	return d.put(agentbound.OpReplace, path, b)
}

func (d *differ) put(op, path string, v starlark.Value) error {
	enc, err := Encode(v)
	if err != nil {
		return err
	}
	return d.add(op, path, enc)
}

// object walks both objects in key order (states are kept sorted).
func (d *differ) object(path string, a, b *starlark.Dict) error {
	below := func(k starlark.Value) string { return path + "/" + escape(string(k.(starlark.String))) }
	for k, va := range a.Entries() {
		vb, found, _ := b.Get(k)
		var err error
		switch {
		case !found:
			err = d.add(agentbound.OpRemove, below(k), nil)
		case !sameTree(va, vb):
			err = d.value(below(k), va, vb)
		}
		if err != nil {
			return err
		}
	}
	for k, vb := range b.Entries() {
		if _, found, _ := a.Get(k); found {
			continue
		}
		if err := d.put(agentbound.OpAdd, below(k), vb); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) list(path string, a, b *starlark.List) error {
	n, m := a.Len(), b.Len()
	head := 0
	for head < n && head < m && sameTree(a.Index(head), b.Index(head)) {
		head++
	}
	tail := 0
	for tail < n-head && tail < m-head && sameTree(a.Index(n-1-tail), b.Index(m-1-tail)) {
		tail++
	}
	oldMid, newMid := n-head-tail, m-head-tail
	for i := range min(oldMid, newMid) {
		if err := d.value(path+"/"+strconv.Itoa(head+i), a.Index(head+i), b.Index(head+i)); err != nil {
			return err
		}
	}
	for i := oldMid; i > newMid; i-- {
		if err := d.add(agentbound.OpRemove, path+"/"+strconv.Itoa(head+i-1), nil); err != nil {
			return err
		}
	}
	for i := oldMid; i < newMid; i++ {
		if err := d.put(agentbound.OpAdd, path+"/"+strconv.Itoa(head+i), b.Index(head+i)); err != nil {
			return err
		}
	}
	return nil
}

// sameTree compares without Starlark's depth limit and, unlike its ==, keeps apart
// what is encoded apart: 1 and 1.0, 0.0 and -0.0.
func sameTree(a, b starlark.Value) bool {
	switch a := a.(type) {
	case starlark.String:
		b, ok := b.(starlark.String)
		return ok && a == b
	case starlark.Float:
		b, ok := b.(starlark.Float)
		return ok && math.Float64bits(float64(a)) == math.Float64bits(float64(b))
	case *starlark.List:
		b, ok := b.(*starlark.List)
		if !ok || a.Len() != b.Len() {
			return false
		}
		if a == b {
			return true
		}
		for i := range a.Len() {
			if !sameTree(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case *starlark.Dict:
		b, ok := b.(*starlark.Dict)
		return ok && (a == b || sameObject(a, b))
	}
	if a.Type() != b.Type() {
		return false
	}
	same, err := starlark.Compare(syntax.EQL, a, b)
	return err == nil && same
}

func sameObject(a, b *starlark.Dict) bool {
	if a.Len() != b.Len() {
		return false
	}
	for k, va := range a.Entries() {
		vb, found, _ := b.Get(k)
		if !found || !sameTree(va, vb) {
			return false
		}
	}
	return true
}
