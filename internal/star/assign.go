package star

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// inPlace is x op= y for a name: a list or an object grows in place, as Starlark
// has it.
func inPlace(thread *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case *starlark.List:
		if _, iterable := y.(starlark.Iterable); iterable && op == syntax.PLUS {
			_, err := invoke(thread, x, "extend", starlark.Tuple{y}, nil)
			return x, err
		}
	case *starlark.Dict:
		if _, object := y.(*starlark.Dict); object && op == syntax.PIPE {
			_, err := invoke(thread, x, "update", starlark.Tuple{y}, nil)
			return x, err
		}
	}
	return operate(thread, op, x, y)
}

// place is container[key] with what stood there before the right-hand side of
// container[key] op= y was evaluated.
type place struct{ container, key, old starlark.Value }

func (place) String() string        { return "place" }
func (place) Type() string          { return "place" }
func (place) Freeze()               {}
func (place) Truth() starlark.Bool  { return true }
func (place) Hash() (uint32, error) { return 0, errors.New("unhashable: place") }

func newPlace(thread *starlark.Thread, container, key starlark.Value) (starlark.Value, error) {
	work, err := keyWork(key)
	if err != nil {
		return nil, err
	}
	if err := charge(thread, work); err != nil {
		return nil, err
	}
	old, err := index(container, key)
	if err != nil {
		return nil, err
	}
	return place{container, key, old}, nil
}

// update is container[key] op= y.
func update(thread *starlark.Thread, op syntax.Token, p place, y starlark.Value) error {
	x, err := inPlace(thread, op, p.old, y)
	if err != nil {
		return err
	}
	switch c := p.container.(type) {
	case starlark.HasSetKey:
		return c.SetKey(p.key, x)
	case starlark.HasSetIndex:
		i, err := position(p.key, c.Len())
		if err != nil {
			return err
		}
		return c.SetIndex(i, x)
	}
	return fmt.Errorf("%s value does not support item assignment", p.container.Type())
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
