package star

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

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
	if s.Zero() {
		return nil, errNoState
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
			i, ok := listIndex(seg, x.Len())
			if !ok {
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
		return nil, fmt.Errorf("%q is not a JSON Pointer: it must begin with /", clip(p))
	}
	segments := strings.Split(p[1:], "/")
	for i, s := range segments {
		if !strings.Contains(s, "~") {
			continue
		}
		for j := range len(s) {
			if s[j] == '~' && (j+1 == len(s) || s[j+1] != '0' && s[j+1] != '1') {
				return nil, fmt.Errorf("%q is not a JSON Pointer: after ~ comes 0 or 1", clip(p))
			}
		}
		segments[i] = Unescape(s)
	}
	return segments, nil
}

// listIndex reads the index of a list as a JSON Pointer has it: digits, no leading 0.
func listIndex(s string, limit int) (int, bool) {
	i, err := strconv.Atoi(s)
	return i, err == nil && i >= 0 && i < limit && strconv.Itoa(i) == s
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

// Unescape reads a segment of a JSON Pointer.
func Unescape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}
