package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
)

// difference is the first place at which two values differ, as a sentence; empty where
// they do not.
func difference(recorded, now any) string {
	return walk("", tree(recorded), tree(now))
}

// tree is a value as its JSON has it.
func tree(v any) any {
	b, err := agentbound.EncodeJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	var t any
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	_ = dec.Decode(&t) // what was encoded decodes
	return t
}

func walk(path string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return walkObject(path, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return walkList(path, x, y)
		}
	}
	if agentbound.DigestJSON(a) == agentbound.DigestJSON(b) {
		return ""
	}
	x, y := excerpts(shown(a), shown(b))
	return fmt.Sprintf("%s was %s when it was recorded, and is %s", path, x, y)
}

func walkObject(path string, a, b map[string]any) string {
	keys := slices.Sorted(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		if d := walk(strings.TrimPrefix(path+"."+k, "."), a[k], b[k]); d != "" {
			return d
		}
	}
	return ""
}

func walkList(path string, a, b []any) string {
	for i := range max(len(a), len(b)) {
		at := fmt.Sprintf("%s[%d]", path, i)
		var x, y any
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if d := walk(at, x, y); d != "" {
			return d
		}
	}
	return ""
}

// shown is a value in a sentence; what is absent is nothing.
func shown(v any) string {
	if v == nil {
		return "absent"
	}
	b, err := agentbound.EncodeJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Of a long value the part around the first difference is shown.
const (
	around = 40
	most   = 100
)

func excerpts(a, b string) (x, y string) {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return excerpt(a, at), excerpt(b, at)
}

func excerpt(s string, at int) string {
	if len(s) <= most {
		return s
	}
	from, to := max(0, at-around), min(len(s), at+most-around)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	text := s[from:to]
	if from > 0 {
		text = "…" + text
	}
	if to < len(s) {
		text += "…"
	}
	return text
}
