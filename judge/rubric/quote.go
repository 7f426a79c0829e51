package rubric

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
)

// quoted writes a value on one line of plain text: nothing in it can end the line, begin
// a label, close a fence or a tag, or be a model's special token. The JSON it gives means
// the same. What is no JSON at all becomes a JSON string.
func quoted(v agentbound.Value) string {
	if len(v) == 0 {
		v = agentbound.Null
	}
	var line bytes.Buffer
	if json.Compact(&line, v) != nil {
		return quoted(agentbound.StringValue(string(v)))
	}
	var b strings.Builder
	for rest := line.Bytes(); len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		switch { // these stand inside strings only, where an escape means the same
		case r == '<' || r == '>' || r == '`' || !unicode.IsPrint(r):
			escape(&b, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func escape(b *strings.Builder, r rune) {
	if r > 0xffff {
		high, low := utf16.EncodeRune(r)
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}

// A cut shortens what is too long to show: of lists and objects with more than items
// entries the first and the last halves of that number stay, of strings with more than
// runes characters as many from the start. The zero cut leaves all as it is.
type cut struct{ items, runes int }

// cuts are tried in order, until a record fits.
var cuts = []cut{{}, {200, 8000}, {60, 3000}, {24, 1200}, {10, 500}}

func (c cut) String() string {
	return fmt.Sprintf("of lists and objects with more than %d entries the first and the last %d are shown, of strings with more than %d characters the first %d", c.items, c.items/2, c.runes, c.runes)
}

// of shortens a value. One that is no JSON is shortened as the string that it becomes.
func (c cut) of(v agentbound.Value) agentbound.Value {
	if c == (cut{}) || len(v) == 0 {
		return v
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		tree = string(v)
	}
	short, err := agentbound.EncodeJSON(c.tree(tree))
	if err != nil { // what was decoded encodes
		return v
	}
	return short
}

func (c cut) tree(v any) any {
	switch v := v.(type) {
	case string:
		if r := []rune(v); len(r) > c.runes {
			return fmt.Sprintf("%s… (%d more characters are not shown)", string(r[:c.runes]), len(r)-c.runes)
		}
	case []any:
		return c.list(v)
	case map[string]any:
		return c.object(v)
	}
	return v
}

func (c cut) list(v []any) []any {
	var out []any
	for i, x := range v {
		if c.leavesOut(i, len(v)) {
			if i == c.items/2 {
				out = append(out, c.mark(len(v)))
			}
			continue
		}
		out = append(out, c.tree(x))
	}
	return out
}

func (c cut) object(v map[string]any) map[string]any {
	out := map[string]any{}
	for i, key := range sortedKeys(v) {
		if c.leavesOut(i, len(v)) {
			if i == c.items/2 {
				out[key+" …"] = c.mark(len(v))
			}
			continue
		}
		out[key] = c.tree(v[key])
	}
	return out
}

func (c cut) leavesOut(i, n int) bool { return n > c.items && i >= c.items/2 && i < n-c.items/2 }

func (c cut) mark(n int) string {
	return fmt.Sprintf("… (%d of %d entries are not shown)", n-c.items/2*2, n)
}
