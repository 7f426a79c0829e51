package star

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// attribute gives a bound method that is checked when it is called. Its receiver is
// bound, so that freezing the method freezes it.
func attribute(x starlark.Value, name string) (starlark.Value, error) {
	if _, err := lookUp(x, name); err != nil {
		return nil, err
	}
	m := starlark.NewBuiltin(name, func(thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return invoke(thread, b.Receiver(), name, args, kwargs)
	})
	return m.BindReceiver(x), nil
}

func lookUp(x starlark.Value, name string) (*starlark.Builtin, error) {
	if o, ok := x.(starlark.HasAttrs); ok {
		fn, err := o.Attr(name)
		if err != nil {
			return nil, err
		}
		if b, ok := fn.(*starlark.Builtin); ok {
			return b, nil
		}
	}
	return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
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
	v, err := fn.CallInternal(thread, args, kwargs)
	if err != nil {
		return nil, err
	}
	return v, charge(thread, max(starlark.Len(v), 0)/bytesStep)
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
		return beforeObject(thread, x, name, args)
	}
	return charge(thread, 1)
}

func beforeObject(thread *starlark.Thread, d *starlark.Dict, name string, args starlark.Tuple) error {
	work, err := 1, error(nil)
	switch name {
	case "get", "pop", "setdefault":
		if len(args) > 0 {
			work, err = keyWork(args[0])
		}
	case "popitem":
		for k := range d.Entries() {
			work, err = keyWork(k)
			break
		}
	case "update":
		for _, a := range args {
			if err := growEntries(thread, d.Len(), a); err != nil {
				return err
			}
		}
	case "keys", "values", "items":
		work = 1 + 3*d.Len()
	case "clear":
		work = 256 + d.Len() // it also wipes the room that the object once took
	}
	if err != nil {
		return err
	}
	return charge(thread, work)
}

func beforeList(thread *starlark.Thread, l *starlark.List, name string, args starlark.Tuple) error {
	work := 1
	switch name {
	case "append", "insert":
		if l.Len() >= maxItems {
			return growItems(thread, l.Len()+1)
		}
	case "extend":
		for _, a := range args {
			n := lengthOf(a)
			if l.Len()+n > maxItems {
				return growItems(thread, l.Len()+n)
			}
			work += n
		}
	case "index", "remove":
		if len(args) > 0 {
			w, err := searchWork(args[0], l)
			if err != nil {
				return err
			}
			work += w
		}
	case "clear":
		work += l.Len()
	}
	if name == "insert" || name == "remove" || name == "pop" && len(args) > 0 {
		work += l.Len() / 4 // the rest moves
	}
	return charge(thread, work)
}

func beforeText(thread *starlark.Thread, s, name string, args starlark.Tuple) error {
	work := 1 + len(s)/bytesStep
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
			n, err := shown(a, strings.Contains(s, "!r"))
			if err != nil {
				return err
			}
			longest = max(longest, n)
		}
		return growString(thread, len(s)+strings.Count(s, "{")*longest)
	case "split", "rsplit", "splitlines":
		if len(args) > 1 { // rsplit makes room for as many as it is told
			if n, ok := args[1].(starlark.Int); ok && n.Sign() > 0 {
				if i, ok := n.Int64(); !ok || i > maxItems {
					return fmt.Errorf("at most %d splits are accepted", maxItems)
				}
			}
		}
		return charge(thread, 1+len(s))
	case "strip", "lstrip", "rstrip":
		for _, a := range args { // each character is looked for in the cutset
			work *= 1 + lengthOf(a)/bytesStep
		}
		return charge(thread, work)
	}
	for _, a := range args {
		w, err := weigh(a)
		if err != nil {
			return err
		}
		work += w
	}
	return charge(thread, work)
}

func beforeJoin(thread *starlark.Thread, sep string, args starlark.Tuple) error {
	if len(args) != 1 {
		return nil
	}
	n, count := 0, 0
	for i, x := range elements(args[0]) {
		s, ok := x.(starlark.String)
		if !ok {
			return nil // where join fails
		}
		n += len(sep) + len(s)
		count = i + 1
		if n > maxString || count > maxItems {
			break
		}
	}
	if err := growItems(thread, count); err != nil {
		return err
	}
	return growString(thread, n)
}
