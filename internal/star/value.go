package star

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/agentbound/agentbound"
)

// Bounds of a JSON tree, whether a state, an observation or an argument.
const (
	MaxDepth = 64      // nesting of lists and objects
	MaxNodes = 1 << 16 // values in one tree
	MaxBytes = 4 << 20 // bytes of its encoding
)

// State is an immutable state of a world.
type State struct {
	v     starlark.Value
	bytes int // what its encoding takes at most, see settleState
	nodes int // values in it at most; 0: neither is counted
}

// DecodeState reads a state from its JSON.
func DecodeState(v agentbound.Value) (State, error) {
	x, nodes, err := decode(v)
	if err != nil {
		return State{}, fmt.Errorf("state: %w", err)
	}
	if _, ok := x.(*starlark.Dict); !ok {
		return State{}, fmt.Errorf("state: a JSON object is needed, found %s", x.Type())
	}
	return State{v: x, bytes: 6 * len(v), nodes: nodes}, nil
}

// Value is the canonical JSON of the state.
func (s State) Value() (agentbound.Value, error) {
	if s.Zero() {
		return nil, errNoState
	}
	return Encode(s.v)
}

// Zero reports whether s is no state at all.
func (s State) Zero() bool { return s.v == nil }

// Canonical encodes a Go tree (as a JSON or YAML decoder gives it) in canonical
// form. Integers of any width stay integers, floats stay floats.
func Canonical(v any) (agentbound.Value, error) {
	x, err := fromGo(v)
	if err != nil {
		return nil, err
	}
	return Encode(x)
}

// Decode reads JSON into a frozen Starlark value with object keys in order.
func Decode(v agentbound.Value) (starlark.Value, error) {
	x, _, err := decode(v)
	return x, err
}

func decode(v agentbound.Value) (x starlark.Value, nodes int, err error) {
	if len(v) > MaxBytes {
		return nil, 0, errBytes
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, 0, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, 0, errors.New("not JSON: more than one value")
	}
	r := reader{}
	if x, err = r.value(tree, 0); err != nil {
		return nil, 0, err
	}
	x.Freeze()
	return x, r.nodes, nil
}

func fromGo(v any) (starlark.Value, error) {
	r := reader{}
	return r.value(v, 0)
}

type reader struct{ nodes int }

func (r *reader) value(v any, depth int) (starlark.Value, error) {
	r.nodes++
	switch {
	case depth > MaxDepth:
		return nil, errDepth
	case r.nodes > MaxNodes:
		return nil, errNodes
	}
	switch v := v.(type) {
	case nil:
		return starlark.None, nil
	case bool:
		return starlark.Bool(v), nil
	case string:
		return starlark.String(v), nil
	case json.Number:
		return number(string(v))
	case int:
		return starlark.MakeInt(v), nil
	case int64:
		return starlark.MakeInt64(v), nil
	case uint64:
		return starlark.MakeUint64(v), nil
	case *big.Int:
		return starlark.MakeBigInt(v), nil
	case float64:
		return starlark.Float(v), nil
	case []any:
		elems := make([]starlark.Value, len(v))
		for i, e := range v {
			x, err := r.value(e, depth+1)
			if err != nil {
				return nil, err
			}
			elems[i] = x
		}
		return starlark.NewList(elems), nil
	case map[string]any:
		return r.object(v, depth)
	}
	return nil, fmt.Errorf("a %T has no JSON form", v)
}

func (r *reader) object(m map[string]any, depth int) (starlark.Value, error) {
	d := starlark.NewDict(len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		x, err := r.value(m[k], depth+1)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(k), x); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// toGo is the Go tree of a JSON value, with integers as json.Number.
func toGo(v starlark.Value) any {
	switch v := v.(type) {
	case starlark.Bool:
		return bool(v)
	case starlark.Int:
		return json.Number(v.String())
	case starlark.Float:
		return float64(v)
	case starlark.String:
		return string(v)
	case *starlark.List:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = toGo(v.Index(i))
		}
		return list
	case *starlark.Dict:
		m := make(map[string]any, v.Len())
		for k, x := range v.Entries() {
			m[string(k.(starlark.String))] = toGo(x)
		}
		return m
	}
	return nil
}

// number keeps integers and floats apart: 4200 is an int, 4200.0 and 1e3 are floats.
func number(s string) (starlark.Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		if len(s) > maxIntDigits {
			return nil, fmt.Errorf("a number of %d digits; at most %d are accepted", len(s), maxIntDigits)
		}
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return starlark.MakeInt64(i), nil
		}
		i, ok := new(big.Int).SetString(s, 10)
		if !ok {
			return nil, fmt.Errorf("%q is not a number", s)
		}
		if i.BitLen() > maxIntBits {
			return nil, errBits
		}
		return starlark.MakeBigInt(i), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is not a number that fits", s)
	}
	return starlark.Float(f), nil
}

const maxIntDigits = 1235 // of maxIntBits, with a sign

var (
	errDepth = fmt.Errorf("nested deeper than %d levels", MaxDepth)
	errNodes = fmt.Errorf("larger than %d values", MaxNodes)
	errBytes = fmt.Errorf("larger than %d bytes", MaxBytes)

	errBits    = fmt.Errorf("a number of more than %d bits", maxIntBits)
	errNoState = errors.New("there is no state")
)
