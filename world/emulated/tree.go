package emulated

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// Trees are JSON as encoding/json reads it, with numbers as json.Number: an integer has
// neither point nor exponent.

func decode(v agentbound.Value) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return tree, nil
}

// object is the tree of a state.
func object(s star.State) (map[string]any, error) {
	v, err := s.Value()
	if err != nil {
		return nil, err
	}
	tree, err := decode(v)
	if err != nil {
		return nil, err
	}
	return tree.(map[string]any), nil
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, x := range v {
			m[k] = clone(x)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = clone(x)
		}
		return list
	}
	return v
}

// same compares two trees by their canonical form.
func same(a, b any) bool {
	x, errX := star.Canonical(a)
	y, errY := star.Canonical(b)
	return errX == nil && errY == nil && x.Equal(y)
}

// split gives the segments of a JSON Pointer.
func split(pointer string) ([]string, error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("path %q: a path begins with /, as in /records/R-1/status", clip(pointer))
	}
	segments := strings.Split(pointer[1:], "/")
	for i, s := range segments {
		segments[i] = star.Unescape(s)
	}
	return segments, nil
}

func join(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// at gives what stands at a place. The error names what there is instead.
func at(tree any, segments []string) (any, error) {
	for i, seg := range segments {
		switch v := tree.(type) {
		case map[string]any:
			next, ok := v[seg]
			if !ok {
				return nil, fmt.Errorf("%s has no %q; there are %s", place(segments[:i]), clip(seg), listed(slices.Sorted(maps.Keys(v))))
			}
			tree = next
		case []any:
			n, ok := index(seg, len(v))
			if !ok {
				return nil, fmt.Errorf("%s has no item %q: it is a list of %d, counted from 0", place(segments[:i]), clip(seg), len(v))
			}
			tree = v[n]
		default:
			return nil, fmt.Errorf("%s is a %s and has nothing below it", place(segments[:i]), kindOf(tree))
		}
	}
	return tree, nil
}

func index(seg string, length int) (int, bool) {
	n, err := strconv.Atoi(seg)
	return n, err == nil && n >= 0 && n < length && strconv.Itoa(n) == seg
}

// put sets, adds or (with remove) deletes what stands at a place, whose parent is there.
// Lists above it are replaced by longer or shorter ones.
func put(tree map[string]any, segments []string, change func(parent any, last string) any) {
	if len(segments) == 1 {
		change(tree, segments[0])
		return
	}
	above, _ := at(tree, segments[:len(segments)-1])
	changed := change(above, segments[len(segments)-1])
	if _, isList := above.([]any); !isList {
		return
	}
	holder, _ := at(tree, segments[:len(segments)-2])
	switch h := holder.(type) {
	case map[string]any:
		h[segments[len(segments)-2]] = changed
	case []any:
		n, _ := strconv.Atoi(segments[len(segments)-2])
		h[n] = changed
	}
}

// leaves calls f with every scalar and every key.
func leaves(v any, f func(leaf any)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			f(k)
			leaves(x, f)
		}
	case []any:
		for _, x := range v {
			leaves(x, f)
		}
	default:
		f(v)
	}
}

// texts are all strings and keys of a tree.
func texts(v any) map[string]bool {
	all := map[string]bool{}
	leaves(v, func(leaf any) {
		if s, ok := leaf.(string); ok {
			all[s] = true
		}
	})
	return all
}

func isInteger(n json.Number) bool { return !strings.ContainsAny(string(n), ".eE") }

// whole is the value of an integer that fits.
func whole(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok || !isInteger(n) {
		return 0, false
	}
	i, err := strconv.Atoi(string(n))
	return i, err == nil
}

// amount names a number's value, whatever way it is written.
func amount(n json.Number) string {
	if len(n) > 400 {
		return string(n)
	}
	if isInteger(n) {
		return string(n)
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return string(n)
	}
	if f == float64(int64(f)) {
		return big.NewInt(int64(f)).String()
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

var digits = regexp.MustCompile(`\d+(?:\.\d+)?`)

func place(segments []string) string {
	if len(segments) == 0 {
		return "the state"
	}
	return join(segments)
}

func listed(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// clip keeps an echo short.
func clip(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
