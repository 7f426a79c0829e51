package star

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// Encode writes a Starlark value as canonical JSON. Tuples become lists; a value
// that has no JSON form (a function, NaN, a key that is no string) is an error.
func Encode(v starlark.Value) (agentbound.Value, error) {
	e := encoder{buf: make([]byte, 0, 256)}
	if err := e.value(v, 0); err != nil {
		return nil, err
	}
	if len(e.buf) > MaxBytes {
		return nil, errBytes
	}
	return e.buf, nil
}

type encoder struct {
	buf   []byte
	nodes int
}

func (e *encoder) value(v starlark.Value, depth int) error {
	e.nodes++
	switch {
	case depth > MaxDepth:
		return errDepth
	case e.nodes > MaxNodes:
		return errNodes
	case len(e.buf) > MaxBytes:
		return errBytes
	}
	switch v := v.(type) {
	case starlark.NoneType:
		e.buf = append(e.buf, "null"...)
	case starlark.Bool:
		e.buf = strconv.AppendBool(e.buf, bool(v))
	case starlark.Int:
		return e.integer(v)
	case starlark.Float:
		return e.float(float64(v))
	case starlark.String:
		e.string(string(v))
	case *starlark.List:
		return e.list(v, depth)
	case starlark.Tuple:
		return e.list(v, depth)
	case *starlark.Dict:
		return e.object(v, depth)
	default:
		return noForm(v)
	}
	return nil
}

func (e *encoder) integer(v starlark.Int) error {
	if i, ok := v.Int64(); ok {
		e.buf = strconv.AppendInt(e.buf, i, 10)
		return nil
	}
	i := v.BigInt()
	if i.BitLen() > maxIntBits {
		return errBits
	}
	e.buf = i.Append(e.buf, 10)
	return nil
}

func (e *encoder) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v has no JSON form", f)
	}
	n := len(e.buf)
	e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
	if !bytes.ContainsAny(e.buf[n:], ".e") {
		e.buf = append(e.buf, ".0"...)
	}
	return nil
}

// string writes s quoted; the plain case is the common one, the rest is left to
// encoding/json so that there is one rule for escapes.
func (e *encoder) string(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			e.buf = append(e.buf, agentbound.StringValue(valid(s))...)
			return
		}
	}
	e.buf = append(e.buf, '"')
	e.buf = append(e.buf, s...)
	e.buf = append(e.buf, '"')
}

// valid puts U+FFFD for each byte that is not UTF-8, as a JSON decoder does. (The
// escape that encoding/json writes in its stead would change when read back.)
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func (e *encoder) list(v starlark.Indexable, depth int) error {
	e.buf = append(e.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if err := e.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, ']')
	return nil
}

func (e *encoder) object(v *starlark.Dict, depth int) error {
	entries, err := sortedEntries(v)
	if err != nil {
		return err
	}
	e.buf = append(e.buf, '{')
	for i, kv := range entries {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.string(string(kv[0].(starlark.String)))
		e.buf = append(e.buf, ':')
		if err := e.value(kv[1], depth+1); err != nil {
			return err
		}
	}
	e.buf = append(e.buf, '}')
	return nil
}

// sortedEntries gives the items of an object by key.
func sortedEntries(d *starlark.Dict) ([]starlark.Tuple, error) {
	items := d.Items() // one array for all; an iterator takes more
	sorted, last := true, ""
	for _, kv := range items {
		k, ok := starlark.AsString(kv[0])
		if !ok {
			return nil, fmt.Errorf("an object's key must be a string, found a %s", kv[0].Type())
		}
		if !utf8.ValidString(k) {
			return nil, fmt.Errorf("an object's key must be UTF-8, found %q", clip(k))
		}
		sorted, last = sorted && last <= k, k
	}
	if !sorted {
		slices.SortFunc(items, func(a, b starlark.Tuple) int {
			return strings.Compare(string(a[0].(starlark.String)), string(b[0].(starlark.String)))
		})
	}
	return items, nil
}

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
