package audit

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/agentbound/agentbound"
)

// decode reads a JSON tree with its numbers as written; nil where it is none.
func decode(v agentbound.Value) (tree any) {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	if dec.Decode(&tree) != nil {
		return nil
	}
	return tree
}

// prose writes a JSON tree as words: keys and values in their order, without the marks
// of the notation.
func prose(values ...agentbound.Value) string {
	var b strings.Builder
	for _, v := range values {
		eachLeaf(decode(v), nil, func(path []string, text string) {
			if len(path) > 0 && path[len(path)-1] != "" {
				b.WriteString(path[len(path)-1])
				b.WriteByte(' ')
			}
			b.WriteString(text)
			b.WriteByte('\n')
		})
	}
	return b.String()
}

// texts are the texts of JSON trees, without keys and numbers.
func texts(values []agentbound.Value) map[string]bool {
	found := map[string]bool{}
	for _, v := range values {
		eachText(decode(v), func(s string) { found[s] = true })
	}
	return found
}

func eachText(tree any, do func(string)) {
	switch v := tree.(type) {
	case string:
		do(v)
	case []any:
		for _, e := range v {
			eachText(e, do)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			eachText(v[k], do)
		}
	}
}

// eachLeaf calls do for every text, number, true, false and null, in the order of keys.
// The path has an empty name for an item of a list.
func eachLeaf(tree any, path []string, do func(path []string, text string)) {
	switch v := tree.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			eachLeaf(v[k], append(path, k), do)
		}
	case []any:
		for _, e := range v {
			eachLeaf(e, append(path, ""), do)
		}
	case string:
		do(path, v)
	case json.Number:
		do(path, v.String())
	case bool:
		if v {
			do(path, "true")
		} else {
			do(path, "false")
		}
	}
}
