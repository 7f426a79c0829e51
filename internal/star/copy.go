package star

import (
	"fmt"
	"math"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// copyTree makes a deep copy with objects in key order and nothing shared, so that
// a tool may change it freely and a shared or cyclic part becomes plain tree or an
// error. What it gives can be encoded.
func copyTree(v starlark.Value) (starlark.Value, error) {
	c := copier{}
	x, err := c.value(v, 0)
	if err != nil {
		return nil, err
	}
	if c.most() > MaxBytes {
		if _, err := Encode(x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// most is what the encoding of all that was copied takes at most: escapes and
// punctuation at their worst.
func (c *copier) most() int { return 6*c.bytes + 32*c.nodes }

type copier struct{ nodes, bytes int }

func (c *copier) value(x starlark.Value, depth int) (starlark.Value, error) {
	c.nodes++
	switch {
	case depth > MaxDepth:
		return nil, errDepth
	case c.nodes > MaxNodes:
		return nil, errNodes
	case c.bytes > MaxBytes:
		return nil, errBytes
	}
	switch v := x.(type) {
	case starlark.String:
		c.bytes += len(v)
		if s := string(v); !utf8.ValidString(s) {
			return starlark.String(valid(s)), nil
		}
	case starlark.Int:
		n := bits(v)
		if n > maxIntBits {
			return nil, errBits
		}
		c.bytes += n / 8
	case starlark.NoneType, starlark.Bool:
	case starlark.Float:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%v has no JSON form", v)
		}
	case *starlark.List:
		return c.list(v, depth)
	case starlark.Tuple:
		return c.list(v, depth)
	case *starlark.Dict:
		return c.object(v, depth)
	default:
		return nil, noForm(x)
	}
	return x, nil
}

func noForm(v starlark.Value) error {
	if v == nil {
		return errNoState
	}
	return fmt.Errorf("a %s has no JSON form", v.Type())
}

func (c *copier) list(v starlark.Indexable, depth int) (starlark.Value, error) {
	elems := make([]starlark.Value, v.Len())
	for i := range elems {
		x, err := c.value(v.Index(i), depth+1)
		if err != nil {
			return nil, err
		}
		elems[i] = x
	}
	return starlark.NewList(elems), nil
}

func (c *copier) object(v *starlark.Dict, depth int) (starlark.Value, error) {
	entries, err := sortedEntries(v)
	if err != nil {
		return nil, err
	}
	d := starlark.NewDict(v.Len())
	for _, kv := range entries {
		c.bytes += len(kv[0].(starlark.String))
		x, err := c.value(kv[1], depth+1)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(kv[0], x); err != nil {
			return nil, err
		}
	}
	return d, nil
}
