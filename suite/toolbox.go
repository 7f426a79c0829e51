package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/agentbound/agentbound"
)

// toolbox checks calls against the tools of a family. Argument schemas are compiled
// when a call first needs one.
type toolbox struct {
	tools    []agentbound.Tool
	compiled map[string]schema // by the schema's text, shared by the families of a suite
}

func (t *toolbox) names() []string {
	names := make([]string, len(t.tools))
	for i, tool := range t.tools {
		names[i] = tool.Name
	}
	return names
}

func (t *toolbox) has(name string) bool { return slices.Contains(t.names(), name) }

func (t *toolbox) unknown(name string) string {
	return fmt.Sprintf("the toolkits have no tool %s%s; accepted: %s", quote(name), didYouMean(name, t.names()), strings.Join(t.names(), ", "))
}

// check says what is wrong with a call: its tool, the names of its arguments, their
// values.
func (t *toolbox) check(call agentbound.Call) []string {
	if !t.has(call.Tool) {
		return []string{t.unknown(call.Tool)}
	}
	s, err := t.schema(call.Tool)
	if err != nil {
		return []string{err.Error()}
	}
	args, err := jsonschema.UnmarshalJSON(bytes.NewReader(call.Args))
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, v := range s.violations(args) {
		out = append(out, s.argument(call.Tool, args, v)...)
	}
	slices.Sort(out)
	return out
}

func (t *toolbox) schema(name string) (schema, error) {
	i := slices.IndexFunc(t.tools, func(tool agentbound.Tool) bool { return tool.Name == name })
	source := t.tools[i].Schema
	if s, ok := t.compiled[string(source)]; ok {
		return s, nil
	}
	s, err := compileSchema(source)
	if err != nil {
		return schema{}, fmt.Errorf("the argument schema of %s does not compile: %w", name, err)
	}
	t.compiled[string(source)] = s
	return s, nil
}

// argument words a violation in the arguments of a call.
func (s schema) argument(tool string, args any, v *jsonschema.ValidationError) []string {
	own := s.own(v)
	where := tool
	if len(v.InstanceLocation) > 0 {
		where += ", argument " + locationName(v.InstanceLocation)
	}
	if missing, extra := requiredOf(v), extraOf(v); len(missing)+len(extra) > 0 {
		return names(where, own, missing, extra)
	}
	n := valueNode(args, v.InstanceLocation)
	return []string{where + " " + violation(n, v.ErrorKind, own)}
}

// names words missing and unknown arguments.
func names(where string, own map[string]any, missing, extra []string) []string {
	accepted := properties(own)
	var out []string
	for _, key := range missing {
		out = append(out, fmt.Sprintf("%s lacks argument %s; add it%s", where, key, described(own, key)))
	}
	for _, key := range extra {
		takes := "accepted: " + strings.Join(accepted, ", ")
		if len(accepted) == 0 {
			takes = "it takes none"
		}
		out = append(out, fmt.Sprintf("%s takes no argument %s%s; %s", where, quote(key), didYouMean(key, accepted), takes))
	}
	return out
}

// valueNode makes a node of the value at a location, so that values of calls and
// of files are worded alike.
func valueNode(v any, location []string) *node {
	for _, step := range location {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err == nil && i < len(parent) {
				v = parent[i]
			}
		}
	}
	switch v := v.(type) {
	case string:
		return &node{kind: text, text: v}
	case json.Number:
		return &node{kind: integer, text: v.String()}
	case bool:
		return &node{kind: boolean, text: fmt.Sprint(v)}
	case []any:
		n := &node{kind: list}
		for i := range v {
			n.items = append(n.items, valueNode(v[i], nil))
		}
		return n
	case map[string]any:
		return &node{kind: object}
	}
	return &node{kind: null}
}
