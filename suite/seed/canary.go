package seed

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// canary is a text by which data sets ask to be kept out of training, without its white
// space: where lines break says nothing.
var canary = regexp.MustCompile(`(?i)canary[^"]{0,60}?(?:guid|string|[0-9a-f]{8}-[0-9a-f]{4}-)[^"]{0,60}|(?:should|must)(?:never|not)(?:appear|be(?:used|included))intraining(?:corpora|data)[^"]{0,40}`)

var (
	lineMark = regexp.MustCompile(`(?m)^[\s#*>/;-]+`) // of comments and quotations
	escape   = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)
)

// canaryIn finds a canary in a text, also where it is escaped as JSON has it, written in
// compatibility forms or with characters that show nothing, or broken over lines.
func canaryIn(text string) string {
	text = escape.ReplaceAllStringFunc(text, func(e string) string {
		code, _ := strconv.ParseUint(e[2:], 16, 16) // four hexadecimal digits, by the pattern
		return string(rune(code))
	})
	text = lineMark.ReplaceAllString(norm.NFKC.String(text), "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	return shortened(canary.FindString(text))
}

func shortened(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strings.TrimSpace(s)
}

// canaryOf is the canary of an object: a member named so, or a text, at any depth.
func canaryOf(object map[string]json.RawMessage) string {
	for _, k := range slices.Sorted(maps.Keys(object)) {
		var v any
		if json.Unmarshal(object[k], &v) != nil {
			v = string(object[k])
		}
		if c := canaryAt(k, v); c != "" {
			return c
		}
	}
	return ""
}

// canaryAt looks at a member and all within it.
func canaryAt(key string, v any) string {
	if namesCanary(key) && v != nil && v != "" {
		b, _ := json.Marshal(v) // it was decoded from JSON
		return shortened(key + " " + strings.Trim(string(b), `"`))
	}
	if c := canaryIn(key); c != "" {
		return c
	}
	switch v := v.(type) {
	case string:
		return canaryIn(v)
	case []any:
		for _, item := range v {
			if c := canaryAt("", item); c != "" {
				return c
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if c := canaryAt(k, v[k]); c != "" {
				return c
			}
		}
	}
	return ""
}

func namesCanary(key string) bool {
	return strings.Contains(strings.ToLower(norm.NFKC.String(key)), "canary")
}
