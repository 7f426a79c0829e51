package star

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

// Difference gives the operations that turn before into after. Lists are compared
// after their common head and tail are set aside, which keeps an appended or a
// removed item one operation.
func Difference(before, after State) (agentbound.Diff, error) {
	d := differ{}
	if err := d.value("", before.v, after.v); err != nil {
		return nil, err
	}
	return d.ops, nil
}

type differ struct{ ops agentbound.Diff }

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
	d.ops = append(d.ops, agentbound.Op{Op: op, Path: path, Value: enc})
	return nil
}

// object walks both objects in key order (states are kept sorted).
func (d *differ) object(path string, a, b *starlark.Dict) error {
	for _, k := range a.Keys() {
		va, _, _ := a.Get(k)
		p := path + "/" + escape(string(k.(starlark.String)))
		vb, found, _ := b.Get(k)
		if !found {
			d.ops = append(d.ops, agentbound.Op{Op: agentbound.OpRemove, Path: p})
			continue
		}
		if err := d.value(p, va, vb); err != nil {
			return err
		}
	}
	for _, k := range b.Keys() {
		if _, found, _ := a.Get(k); found {
			continue
		}
		vb, _, _ := b.Get(k)
		if err := d.put(agentbound.OpAdd, path+"/"+escape(string(k.(starlark.String))), vb); err != nil {
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
		d.ops = append(d.ops, agentbound.Op{Op: agentbound.OpRemove, Path: path + "/" + strconv.Itoa(head+i-1)})
	}
	for i := oldMid; i < newMid; i++ {
		if err := d.put(agentbound.OpAdd, path+"/"+strconv.Itoa(head+i), b.Index(head+i)); err != nil {
			return err
		}
	}
	return nil
}

// sameTree compares without Starlark's depth limit and, unlike its ==, keeps 1 and
// 1.0 apart.
func sameTree(a, b starlark.Value) bool {
	switch a := a.(type) {
	case starlark.String:
		b, ok := b.(starlark.String)
		return ok && a == b
	case *starlark.List:
		b, ok := b.(*starlark.List)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !sameTree(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case *starlark.Dict:
		b, ok := b.(*starlark.Dict)
		return ok && sameObject(a, b)
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

// Apply gives the state after the operations. It shares what they leave alone with
// the state before; both are immutable.
func Apply(s State, diff agentbound.Diff) (State, error) {
	v := s.v
	for _, op := range diff {
		segments, err := splitPointer(op.Path)
		if err != nil {
			return State{}, err
		}
		var x starlark.Value
		if op.Op != agentbound.OpRemove {
			if x, err = Decode(op.Value); err != nil {
				return State{}, fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
			}
		}
		if v, err = applyAt(v, segments, op.Op, x); err != nil {
			return State{}, fmt.Errorf("%s %s: %w", op.Op, op.Path, err)
		}
	}
	v.Freeze()
	return State{v}, nil
}

func applyAt(v starlark.Value, path []string, op string, x starlark.Value) (starlark.Value, error) {
	if len(path) == 0 {
		if op == agentbound.OpRemove {
			return nil, fmt.Errorf("the whole state cannot be removed")
		}
		return x, nil
	}
	switch v := v.(type) {
	case *starlark.Dict:
		return applyToObject(v, path, op, x)
	case *starlark.List:
		return applyToList(v, path, op, x)
	}
	return nil, fmt.Errorf("%q leads into a %s", path[0], v.Type())
}

func applyToObject(d *starlark.Dict, path []string, op string, x starlark.Value) (starlark.Value, error) {
	key := starlark.String(path[0])
	old, found, _ := d.Get(key)
	last := len(path) == 1
	if !found && !(last && op == agentbound.OpAdd) {
		return nil, fmt.Errorf("no key %q", path[0])
	}
	var err error
	if !last {
		if x, err = applyAt(old, path[1:], op, x); err != nil {
			return nil, err
		}
	}
	remove := last && op == agentbound.OpRemove
	out := starlark.NewDict(d.Len() + 1)
	placed := remove
	for k, val := range d.Entries() {
		switch {
		case k == key && remove:
			continue
		case k == key:
			val, placed = x, true
		case !placed && k.(starlark.String) > key:
			placed = true
			_ = out.SetKey(key, x) // a string key always hashes
		}
		_ = out.SetKey(k, val)
	}
	if !placed {
		_ = out.SetKey(key, x)
	}
	return out, nil
}

func applyToList(l *starlark.List, path []string, op string, x starlark.Value) (starlark.Value, error) {
	i, err := strconv.Atoi(path[0])
	last := len(path) == 1
	limit := l.Len()
	if last && op == agentbound.OpAdd {
		limit++
	}
	if err != nil || i < 0 || i >= limit {
		return nil, fmt.Errorf("no item %q in a list of %d", path[0], l.Len())
	}
	elems := make([]starlark.Value, 0, l.Len()+1)
	for j := range l.Len() {
		elems = append(elems, l.Index(j))
	}
	switch {
	case !last:
		if elems[i], err = applyAt(elems[i], path[1:], op, x); err != nil {
			return nil, err
		}
	case op == agentbound.OpAdd:
		elems = append(elems[:i], append([]starlark.Value{x}, elems[i:]...)...)
	case op == agentbound.OpRemove:
		elems = append(elems[:i], elems[i+1:]...)
	default:
		elems[i] = x
	}
	return starlark.NewList(elems), nil
}

// Assign applies assignments, which may create a key in an object.
func Assign(s State, set []agentbound.Assignment) (State, error) {
	diff := make(agentbound.Diff, len(set))
	for i, a := range set {
		op := agentbound.OpReplace
		if _, err := Get(s, a.Pointer); err != nil {
			op = agentbound.OpAdd
		}
		diff[i] = agentbound.Op{Op: op, Path: a.Pointer, Value: a.Value}
	}
	return Apply(s, diff)
}

// Get gives the value at a JSON Pointer.
func Get(s State, pointer string) (agentbound.Value, error) {
	v, err := find(s, pointer)
	if err != nil {
		return nil, err
	}
	return Encode(v)
}

func find(s State, pointer string) (starlark.Value, error) {
	segments, err := splitPointer(pointer)
	if err != nil {
		return nil, err
	}
	v := s.v
	for _, seg := range segments {
		switch x := v.(type) {
		case *starlark.Dict:
			item, found, _ := x.Get(starlark.String(seg))
			if !found {
				return nil, fmt.Errorf("%s: no key %q", pointer, seg)
			}
			v = item
		case *starlark.List:
			i, err := strconv.Atoi(seg)
			if err != nil || i < 0 || i >= x.Len() {
				return nil, fmt.Errorf("%s: no item %q in a list of %d", pointer, seg, x.Len())
			}
			v = x.Index(i)
		default:
			return nil, fmt.Errorf("%s: %q leads into a %s", pointer, seg, v.Type())
		}
	}
	return v, nil
}

func splitPointer(p string) ([]string, error) {
	if p == "" {
		return nil, nil
	}
	if p[0] != '/' {
		return nil, fmt.Errorf("%q is not a JSON Pointer: it must begin with /", p)
	}
	segments := strings.Split(p[1:], "/")
	for i, s := range segments {
		segments[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return segments, nil
}

func escape(s string) string {
	if !strings.ContainsAny(s, "~/") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
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
