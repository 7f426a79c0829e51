package law

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentbound/agentbound"
)

// leaves are the texts and numbers of a JSON tree, keys of objects included, sorted
// and each once.
func leaves(v agentbound.Value) []string { return gatherFrom(v, true) }

// values are the texts and numbers of a JSON tree without the keys of objects.
func values(v agentbound.Value) []string { return gatherFrom(v, false) }

func gatherFrom(v agentbound.Value, keys bool) []string {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var tree any
	if dec.Decode(&tree) != nil {
		return nil
	}
	var found []string
	gather(tree, keys, &found)
	slices.Sort(found)
	return slices.Compact(found)
}

func gather(v any, keys bool, into *[]string) {
	switch v := v.(type) {
	case string:
		if v != "" {
			*into = append(*into, v)
		}
	case json.Number:
		if len(v) > 1 { // a single digit is everywhere
			*into = append(*into, v.String())
		}
	case []any:
		for _, e := range v {
			gather(e, keys, into)
		}
	case map[string]any:
		for k, e := range v {
			if keys {
				*into = append(*into, k)
			}
			gather(e, keys, into)
		}
	}
}

// schema is what the generator reads of a tool's JSON Schema.
type schema struct {
	Type       string            `json:"type"`
	Enum       []string          `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
}

func parseSchema(v agentbound.Value) (s schema) {
	_ = json.Unmarshal(v, &s) // of our own making
	return s
}

func (s schema) names() []string { return slices.Sorted(maps.Keys(s.Properties)) }

// members are the arguments of a call, as JSON.
func members(args agentbound.Value) map[string]string {
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(args, &raw) // a reference call's arguments are an object
	m := make(map[string]string, len(raw))
	for k, v := range raw {
		m[k] = string(v)
	}
	return m
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// collections are the objects at the top of a state, with their keys.
func collections(start agentbound.Value) map[string][]string {
	found := map[string][]string{}
	for name, raw := range members(start) {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(raw), &object) == nil {
			found[name] = sortedKeys(object)
		}
	}
	return found
}
