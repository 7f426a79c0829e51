package star

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/agentbound/agentbound"
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
