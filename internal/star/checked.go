package star

import (
	"fmt"
	"maps"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Bounds of one value while a program runs, and of the whole run.
const (
	MaxSteps   = 1_000_000 // of one tool call or predicate; checked operations add their work
	maxString  = 1 << 18   // bytes
	maxItems   = 1 << 16   // of a list, tuple or object
	maxIntBits = 4096
	bytesStep  = 16 // bytes of text that count as one step
)

// checked are the built-ins behind the rewritten forms.
func checked() starlark.StringDict {
	d := starlark.StringDict{
		fnBinary:  starlark.NewBuiltin("operator", binary),
		fnAugment: starlark.NewBuiltin("operator", augment),
		fnUpdate:  starlark.NewBuiltin("operator", update),
		fnMethod:  starlark.NewBuiltin("method", method),
		fnAttr:    starlark.NewBuiltin("attribute", attribute),
		fnSlice:   starlark.NewBuiltin("slice", slice),
		fnSpread:  starlark.NewBuiltin("spread", spread),
		fnTuple:   starlark.NewBuiltin("tuple", tuple),
	}
	for _, name := range []string{"all", "any", "bytes", "dict", "enumerate", "fail", "float", "hash", "int", "list", "max", "min",
		"print", "repr", "reversed", "sorted", "str", "tuple", "zip"} {
		d[name] = guard(name, starlark.Universe[name])
	}
	for _, name := range []string{"getattr", "hasattr", "dir", "set"} {
		d[name] = absent(name)
	}
	return d
}

var universe = checked()

// with gives the checked built-ins and the extra names.
func with(extra starlark.StringDict) starlark.StringDict {
	d := maps.Clone(universe)
	maps.Copy(d, extra)
	return d
}

func absent(name string) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
		return nil, fmt.Errorf("%s is not available", name)
	})
}

// charge adds work to the thread's steps. The interpreter looks at them before its
// next instruction; work that alone is over the limit is refused here.
func charge(thread *starlark.Thread, work int) error {
	if work < 0 || uint64(work) > MaxSteps {
		return errWork
	}
	thread.Steps += uint64(work)
	if thread.Steps > MaxSteps {
		return errWork
	}
	return nil
}

var errWork = fmt.Errorf("too many steps: more than %d", MaxSteps)

func binary(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return operate(thread, string(args[0].(starlark.String)), args[1], args[2])
}

func operate(thread *starlark.Thread, op string, x, y starlark.Value) (starlark.Value, error) {
	switch op {
	case "==":
		return compare(thread, syntax.EQL, x, y)
	case "!=":
		return compare(thread, syntax.NEQ, x, y)
	case "<":
		return compare(thread, syntax.LT, x, y)
	case "<=":
		return compare(thread, syntax.LE, x, y)
	case ">":
		return compare(thread, syntax.GT, x, y)
	case ">=":
		return compare(thread, syntax.GE, x, y)
	case "in":
		return member(thread, syntax.IN, x, y)
	case "not in":
		return member(thread, syntax.NOT_IN, x, y)
	}
	if err := growth(thread, op, x, y); err != nil {
		return nil, err
	}
	switch op {
	case "+":
		return starlark.Binary(syntax.PLUS, x, y)
	case "*":
		return starlark.Binary(syntax.STAR, x, y)
	case "%":
		return starlark.Binary(syntax.PERCENT, x, y)
	case "|":
		return starlark.Binary(syntax.PIPE, x, y)
	case "<<":
		return starlark.Binary(syntax.LTLT, x, y)
	}
	return nil, fmt.Errorf("unknown operator %s", op)
}

// compare charges what a deep comparison may walk.
func compare(thread *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	work, err := weigh(x)
	if err != nil {
		return nil, err
	}
	if err := charge(thread, work); err != nil {
		return nil, err
	}
	if _, err := weigh(y); err != nil {
		return nil, err
	}
	ok, err := starlark.Compare(op, x, y)
	return starlark.Bool(ok), err
}

func member(thread *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	work := 1
	if _, isDict := y.(*starlark.Dict); !isDict {
		var err error
		if work, err = weigh(y); err != nil {
			return nil, err
		}
	}
	if err := charge(thread, work); err != nil {
		return nil, err
	}
	return starlark.Binary(op, x, y)
}

// growth refuses an operation whose result would be too large, and charges it.
func growth(thread *starlark.Thread, op string, x, y starlark.Value) error {
	switch x := x.(type) {
	case starlark.Int:
		if n, ok := y.(starlark.Int); ok {
			return growInt(op, x, n)
		}
		if op == "*" {
			return growRepeat(thread, y, x)
		}
	case starlark.String:
		switch op {
		case "+":
			return growString(thread, len(x)+lengthOf(y))
		case "*":
			return growRepeat(thread, x, y)
		case "%":
			n, err := printed(y)
			if err != nil {
				return err
			}
			return growString(thread, len(x)+n)
		}
	case *starlark.List, starlark.Tuple, *starlark.Dict, starlark.Bytes:
		if op == "*" {
			return growRepeat(thread, x, y)
		}
		return growItems(thread, lengthOf(x)+lengthOf(y))
	}
	return nil
}

func growInt(op string, x, y starlark.Int) error {
	a, b := bits(x), bits(y)
	switch op {
	case "*":
		a += b
	case "<<":
		shift, ok := y.Int64()
		if !ok || shift > maxIntBits {
			shift = maxIntBits
		}
		a += int(max(shift, 0))
	default:
		a = max(a, b) + 1
	}
	if a > maxIntBits {
		return fmt.Errorf("a number of more than %d bits", maxIntBits)
	}
	return nil
}

func bits(i starlark.Int) int {
	if _, ok := i.Int64(); ok {
		return 64
	}
	return i.BigInt().BitLen()
}

func growRepeat(thread *starlark.Thread, x, times starlark.Value) error {
	n, ok := times.(starlark.Int)
	if !ok {
		return nil // Starlark's own type error is the better message
	}
	count, ok := n.Int64()
	if !ok || count > MaxSteps {
		count = MaxSteps
	}
	size := lengthOf(x) * int(max(count, 0))
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		return growString(thread, size)
	}
	return growItems(thread, size)
}

func growString(thread *starlark.Thread, n int) error {
	if n > maxString {
		return fmt.Errorf("a text of %d bytes; at most %d are accepted", n, maxString)
	}
	return charge(thread, 1+n/bytesStep)
}

func growItems(thread *starlark.Thread, n int) error {
	if n > maxItems {
		return fmt.Errorf("a collection of %d items; at most %d are accepted", n, maxItems)
	}
	return charge(thread, 1+n)
}

// lengthOf is the number of items or bytes at the top, 0 for what has none.
func lengthOf(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	}
	return max(starlark.Len(v), 0)
}

// weigh is the work of walking a tree: one step a value and one for each 16 bytes
// of text. A part that is shared counts each time it is met, as a walk would.
func weigh(v starlark.Value) (int, error) {
	w := weigher{}
	err := w.walk(v, 0)
	return w.work, err
}

// printed bounds the length of str(v): names, quotes and commas included.
func printed(v starlark.Value) (int, error) {
	work, err := weigh(v)
	if i, ok := v.(starlark.Int); ok {
		return bits(i)/3 + 2, nil
	}
	return work * (4 + bytesStep + 8), err
}

type weigher struct{ work int }

func (w *weigher) walk(v starlark.Value, depth int) error {
	w.work++
	if depth > MaxDepth {
		return errDepth
	}
	if w.work > MaxNodes {
		return errNodes
	}
	switch v := v.(type) {
	case starlark.String:
		w.work += len(v) / bytesStep
	case starlark.Bytes:
		w.work += len(v) / bytesStep
	case starlark.Int:
		w.work += bits(v) / 128
	case *starlark.List:
		return w.items(v, depth)
	case starlark.Tuple:
		return w.items(v, depth)
	case *starlark.Dict:
		for k, e := range v.Entries() {
			if err := w.walk(k, depth+1); err != nil {
				return err
			}
			if err := w.walk(e, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *weigher) items(v starlark.Indexable, depth int) error {
	for i := range v.Len() {
		if err := w.walk(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// augment is x op= y for a name: a list grows in place, as Starlark has it.
func augment(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return inPlace(thread, string(args[0].(starlark.String)), args[1], args[2])
}

func inPlace(thread *starlark.Thread, op string, x, y starlark.Value) (starlark.Value, error) {
	if list, ok := x.(*starlark.List); ok && op == "+" {
		if _, iterable := y.(starlark.Iterable); iterable {
			_, err := invoke(thread, list, "extend", starlark.Tuple{y}, nil)
			return list, err
		}
	}
	return operate(thread, op, x, y)
}

// update is container[key] op= y.
func update(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	op, container, key, y := string(args[0].(starlark.String)), args[1], args[2], args[3]
	old, err := index(container, key)
	if err != nil {
		return nil, err
	}
	x, err := inPlace(thread, op, old, y)
	if err != nil {
		return nil, err
	}
	switch c := container.(type) {
	case starlark.HasSetKey:
		return starlark.None, c.SetKey(key, x)
	case starlark.HasSetIndex:
		i, err := position(key, c.Len())
		if err != nil {
			return nil, err
		}
		return starlark.None, c.SetIndex(i, x)
	}
	return nil, fmt.Errorf("%s value does not support item assignment", container.Type())
}

func index(container, key starlark.Value) (starlark.Value, error) {
	switch c := container.(type) {
	case starlark.Mapping:
		v, found, err := c.Get(key)
		if err == nil && !found {
			err = fmt.Errorf("key %s not in %s", key, c.Type())
		}
		return v, err
	case starlark.Indexable:
		i, err := position(key, c.Len())
		if err != nil {
			return nil, err
		}
		return c.Index(i), nil
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", container.Type(), key.Type())
}

func position(key starlark.Value, n int) (int, error) {
	i, err := starlark.AsInt32(key)
	if err != nil {
		return 0, err
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return 0, fmt.Errorf("index %s out of range for %d items", key, n)
	}
	return i, nil
}

func method(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return invoke(thread, args[0], string(args[1].(starlark.String)), args[2:], kwargs)
}

// attribute gives a bound method that is checked when it is called.
func attribute(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, name := args[0], string(args[1].(starlark.String))
	if _, err := lookUp(x, name); err != nil {
		return nil, err
	}
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return invoke(thread, x, name, args, kwargs)
	}), nil
}

func lookUp(x starlark.Value, name string) (starlark.Value, error) {
	if o, ok := x.(starlark.HasAttrs); ok {
		fn, err := o.Attr(name)
		if err != nil {
			return nil, err
		}
		if fn != nil {
			return fn, nil
		}
	}
	return nil, fmt.Errorf("%s has no .%s", x.Type(), name)
}

// invoke calls a method of a built-in value: refused where it would grow a value
// too far, charged for what it walks and for what it makes.
func invoke(thread *starlark.Thread, x starlark.Value, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	fn, err := lookUp(x, name)
	if err != nil {
		return nil, err
	}
	if err := beforeMethod(thread, x, name, operands(args, kwargs)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	v, err := starlark.Call(thread, fn, args, kwargs)
	if err != nil {
		return nil, err
	}
	return v, charge(thread, lengthOf(v)/bytesStep)
}

// operands are the values of a call, named ones last.
func operands(args starlark.Tuple, kwargs []starlark.Tuple) starlark.Tuple {
	if len(kwargs) == 0 {
		return args
	}
	all := append(starlark.Tuple(nil), args...)
	for _, kv := range kwargs {
		all = append(all, kv[1])
	}
	return all
}

func beforeMethod(thread *starlark.Thread, x starlark.Value, name string, args starlark.Tuple) error {
	switch x := x.(type) {
	case starlark.String:
		return beforeText(thread, string(x), name, args)
	case *starlark.List:
		return beforeList(thread, x, name, args)
	case *starlark.Dict:
		switch name {
		case "update":
			n := x.Len()
			for _, a := range args {
				n += lengthOf(a)
			}
			return growItems(thread, n)
		case "items": // makes tuples, see tuple
			work, err := weigh(x)
			if err != nil {
				return err
			}
			return charge(thread, work)
		case "keys", "values", "clear":
			return charge(thread, 1+2*x.Len())
		case "setdefault":
			return growItems(thread, 1)
		}
	}
	return charge(thread, 1)
}

func beforeList(thread *starlark.Thread, l *starlark.List, name string, args starlark.Tuple) error {
	switch name {
	case "append":
		if l.Len() >= maxItems {
			return growItems(thread, l.Len()+1)
		}
		return charge(thread, 1)
	case "insert":
		return growItems(thread, l.Len()+1)
	case "extend":
		n := l.Len()
		for _, a := range args {
			n += lengthOf(a)
		}
		return growItems(thread, n)
	case "index", "remove":
		work, err := weigh(l)
		if err != nil {
			return err
		}
		return charge(thread, work)
	}
	return charge(thread, 1+l.Len())
}

func beforeText(thread *starlark.Thread, s, name string, args starlark.Tuple) error {
	switch name {
	case "join":
		return beforeJoin(thread, s, args)
	case "replace":
		if len(args) < 2 {
			return nil
		}
		old, with := lengthOf(args[0]), lengthOf(args[1])
		times := len(s) + 1
		if text, ok := args[0].(starlark.String); ok && old > 0 {
			times = strings.Count(s, string(text))
		}
		return growString(thread, len(s)+times*with)
	case "format":
		longest := 0
		for _, a := range args {
			n, err := printed(a)
			if err != nil {
				return err
			}
			longest = max(longest, n)
		}
		return growString(thread, len(s)+strings.Count(s, "{")*longest)
	case "split", "rsplit", "splitlines", "elems", "codepoints", "elem_ords", "codepoint_ords":
		return charge(thread, 1+len(s))
	}
	return charge(thread, 1+len(s)/bytesStep)
}

func beforeJoin(thread *starlark.Thread, sep string, args starlark.Tuple) error {
	if len(args) != 1 {
		return nil
	}
	items, ok := args[0].(starlark.Indexable)
	if !ok {
		return charge(thread, 1+lengthOf(args[0]))
	}
	n := 0
	for i := range items.Len() {
		n += len(sep) + lengthOf(items.Index(i))
		if n > maxString {
			break
		}
	}
	if err := charge(thread, items.Len()); err != nil {
		return err
	}
	return growString(thread, n)
}

func slice(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n := lengthOf(args[0])
	if _, text := args[0].(starlark.String); text {
		n /= bytesStep
	}
	return args[0], charge(thread, 1+n)
}

func spread(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], growItems(thread, lengthOf(args[0]))
}

// tuple looks at a tuple when it is made: it is the one nested value that can be a
// key, and hashing walks it.
func tuple(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	work, err := weigh(args[0])
	if err != nil {
		return nil, err
	}
	return args[0], charge(thread, work)
}

// guard checks a built-in function that walks or copies its arguments natively.
func guard(name string, fn starlark.Value) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, a := range operands(args, kwargs) {
			if err := beforeBuiltin(thread, name, a); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return starlark.Call(thread, fn, args, kwargs)
	})
}

func beforeBuiltin(thread *starlark.Thread, name string, a starlark.Value) error {
	switch name {
	case "int", "float":
		if n := lengthOf(a); n > maxIntDigits {
			return fmt.Errorf("a number of %d digits; at most %d are accepted", n, maxIntDigits)
		}
		return nil
	case "str", "repr", "fail", "print":
		n, err := printed(a)
		if err != nil {
			return err
		}
		if s, ok := a.(starlark.String); ok {
			n = 4 * len(s)
		}
		return growString(thread, n)
	case "sorted", "max", "min", "zip", "enumerate", "tuple":
		work, err := weigh(a)
		if err != nil {
			return err
		}
		if err := growItems(thread, lengthOf(a)); err != nil {
			return err
		}
		return charge(thread, 16*work) // about n log n comparisons
	}
	if _, text := a.(starlark.String); text {
		return charge(thread, 1+lengthOf(a)/bytesStep)
	}
	return growItems(thread, lengthOf(a))
}
