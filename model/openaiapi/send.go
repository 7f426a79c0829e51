package openaiapi

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/agentbound/agentbound"
)

// Object is a call's arguments as servers take them back: many parse them for the
// model's template, and fail where they are no JSON object. What is none goes inside
// of one.
func Object(args string) string {
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(args), &fields); {
	case args == "":
		return "{}"
	case err == nil && fields != nil:
		return args
	}
	b, _ := agentbound.EncodeJSON(map[string]string{"malformed": args}) // strings encode
	return string(b)
}

// Name is a tool's name as the protocols allow it: models make names up, and a server
// rejects the whole conversation for one.
func Name(name string) string {
	name = unsendable.ReplaceAllString(name, "_")
	if name == "" {
		return "_"
	}
	return name[:min(len(name), 64)]
}

var unsendable = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// Schema is a tool's, with its parts byte for byte.
func Schema(t agentbound.Tool) (map[string]any, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(t.Schema, &parts); err != nil {
		return nil, fmt.Errorf("the schema of tool %s is no JSON object: %w", t.Name, err)
	}
	schema := map[string]any{}
	for k, v := range parts {
		schema[k] = v
	}
	return schema, nil
}

// OpenAI's models by name, as its reference tells them apart (2026-11): those that reason
// refuse a temperature unless their effort is none; those that do not refuse to include
// encrypted reasoning. A model of another name is let be: it gets what it is asked for.
var (
	reasoners = regexp.MustCompile(`^(?:ft:)?(?:o\d|gpt-(?:[5-9]|\d\d)|codex|computer-use)`)
	talkers   = regexp.MustCompile(`^(?:ft:)?(?:gpt-(?:3|4)|chatgpt-)|-chat\b`)
)

// Talks reports whether a model of OpenAI's is one that never reasons.
func Talks(name string) bool { return talkers.MatchString(name) }

// Cold reports whether a model of OpenAI's refuses a temperature.
func Cold(name, effort string) bool {
	return reasoners.MatchString(name) && !Talks(name) && effort != "none"
}

// mostTokens bounds each count that a server tells, so that sums over a run stay numbers.
const mostTokens = 1_000_000_000

// Tokens is a server's count within its bounds.
func Tokens(n int64) int64 { return min(max(n, 0), mostTokens) }
