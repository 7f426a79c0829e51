package star

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"github.com/agentbound/agentbound"
)

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

// Unescape reads a segment of a JSON Pointer.
func Unescape(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
}
