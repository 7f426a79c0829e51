package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// This file words parts of JSON Schemas for the authors of families.

// locationName writes an instance location as an author would: a.b[0].
func locationName(location []string) string {
	var b strings.Builder
	for _, step := range location {
		if _, err := strconv.Atoi(step); err == nil {
			b.WriteString("[" + step + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteString(".")
		}
		b.WriteString(step)
	}
	if b.Len() == 0 {
		return "the file"
	}
	return b.String()
}

func within(name string) string {
	if name == "the file" {
		return ""
	}
	return name + ": "
}

// properties lists the keys an object may have, in the schema's order where it
// states one (required), the others after them.
func properties(own map[string]any) []string {
	known, _ := own["properties"].(map[string]any)
	out := texts(own["required"])
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// described quotes what the schema says of a key.
func described(own map[string]any, key string) string {
	known, _ := own["properties"].(map[string]any)
	property, _ := known[key].(map[string]any)
	if d, _ := property["description"].(string); d != "" {
		return ": " + strings.TrimSuffix(d, ".")
	}
	return ""
}

func texts(v any) []string {
	items, _ := v.([]any)
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = fmt.Sprint(item)
	}
	return out
}

func kinds(want []string) string {
	names := map[string]string{
		"string": text.String(), "object": object.String(), "array": list.String(), "integer": integer.String(),
		"number": "a number", "boolean": boolean.String(), "null": null.String(),
	}
	out := make([]string, len(want))
	for i, w := range want {
		out[i] = names[w]
	}
	return strings.Join(out, " or ")
}

// patternName says what the patterns of our schemas ask for.
func patternName(pattern string) string {
	switch {
	case strings.HasSuffix(pattern, `\.star$`):
		return "the name of a file such as records.star (letters, digits, - and _), without folders"
	case strings.HasPrefix(pattern, "^[a-z0-9]+"):
		return "a slug (lower-case letters and digits, joined by single hyphens)"
	}
	return "text that matches " + pattern
}

func span(own map[string]any) string {
	low, below := own["minimum"].(json.Number)
	high, above := own["maximum"].(json.Number)
	switch {
	case below && above:
		return fmt.Sprintf("a whole number from %s to %s", low, high)
	case below:
		return "at least " + low.String()
	}
	return "at most " + high.String()
}

func itemSpan(own map[string]any) string {
	low, high := fmt.Sprint(own["minItems"]), fmt.Sprint(own["maxItems"])
	switch {
	case low == high:
		return "exactly " + low
	case high == "<nil>":
		return low + " or more"
	}
	return low + " to " + high
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
