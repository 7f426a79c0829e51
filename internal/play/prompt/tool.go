package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
)

// tool is a tool with its arguments as the schema tells them, the required ones first.
type tool struct {
	agentbound.Tool
	args []argument
}

type argument struct {
	name, about string
	kind        string // of JSON Schema
	item        string // kind of a list's items
	values      []string
	fallback    string // the default as JSON; empty: none
	required    bool
}

func readTools(from []agentbound.Tool) ([]tool, error) {
	var all []tool
	for _, t := range from {
		var schema struct {
			Properties map[string]struct {
				Type        string          `json:"type"`
				Description string          `json:"description"`
				Enum        []string        `json:"enum"`
				Default     json.RawMessage `json:"default"`
				Items       struct {
					Type string `json:"type"`
				} `json:"items"`
			} `json:"properties"`
			Required []string `json:"required"`
		}
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		u := tool{Tool: t}
		names := slices.Clone(schema.Required)
		for name := range schema.Properties {
			if !slices.Contains(schema.Required, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names[len(schema.Required):])
		for i, name := range names {
			p := schema.Properties[name]
			u.args = append(u.args, argument{
				name: name, about: p.Description, kind: p.Type, item: p.Items.Type, values: p.Enum,
				fallback: string(p.Default), required: i < len(schema.Required),
			})
		}
		all = append(all, u)
	}
	return all, nil
}

func (s *session) tool(name string) (tool, bool) {
	i := slices.IndexFunc(s.tools, func(t tool) bool { return t.Name == name })
	if i < 0 {
		return tool{}, false
	}
	return s.tools[i], true
}

// meant names the tools and commands that begin like a mistyped word.
func (s *session) meant(word string) string {
	var like []string
	for n := len(word); n > 1 && len(like) == 0; n-- {
		for _, name := range s.words() {
			if strings.HasPrefix(name, word[:n]) {
				like = append(like, name)
			}
		}
	}
	if len(like) == 0 {
		return "; tools lists the tools, help what else there is"
	}
	return "; did you mean " + strings.Join(like, " or ") + "?"
}

func (s *session) words() []string {
	var all []string
	for _, t := range s.tools {
		all = append(all, t.Name)
	}
	for _, c := range commands {
		if c.name != "TOOL" {
			all = append(all, c.name)
		}
	}
	return append(all, "help")
}

// given is what a line gives of a call's arguments.
type given struct {
	values map[string]any
	json   agentbound.Value
	ask    bool // nothing was given: ask for all
}

func (g given) encode() agentbound.Value {
	if g.json != nil {
		return g.json
	}
	b, err := agentbound.EncodeJSON(g.values)
	if err != nil { // texts, numbers and what was JSON already
		panic(err)
	}
	return b
}

// parse reads name=value … or a JSON object.
func (t tool) parse(line string) (given, error) {
	g := given{values: map[string]any{}, ask: line == "" && len(t.args) > 0}
	if strings.HasPrefix(line, "{") {
		g.json = agentbound.Value(line)
		return g, play.CheckArgs(g.json)
	}
	words, err := split(line)
	if err != nil {
		return g, err
	}
	if len(t.args) == 1 && len(words) > 0 && !strings.HasPrefix(line, t.args[0].name+"=") { // there is no doubt what it is
		g.values[t.args[0].name], err = t.args[0].read(strings.Join(words, " "))
		return g, err
	}
	for _, w := range words {
		name, text, ok := strings.Cut(w, "=")
		i := slices.IndexFunc(t.args, func(a argument) bool { return a.name == name })
		switch {
		case !ok:
			return g, fmt.Errorf("%q: want name=value, with quotes around a value that has spaces, or a JSON object", w)
		case i < 0:
			return g, fmt.Errorf("%s has no argument %q; %s", t.Name, name, t.accepts())
		}
		if g.values[name], err = t.args[i].read(text); err != nil {
			return g, err
		}
	}
	return g, nil
}

func (t tool) accepts() string {
	if len(t.args) == 0 {
		return "it takes none"
	}
	var names []string
	for _, a := range t.args {
		names = append(names, a.name)
	}
	return "it takes " + strings.Join(names, ", ")
}

// split cuts a line at spaces outside of quotes, single or double; a backslash in
// double quotes keeps what follows it.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote == '"' && r == '\\':
			escaped = true
		case quote != 0:
			if r == quote {
				quote = 0
				break
			}
			word.WriteRune(r)
		case (r == '"' || r == '\'') && (!begun || strings.HasSuffix(word.String(), "=")):
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if begun {
				words = append(words, word.String())
				word.Reset()
			}
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

// read makes a value of what was typed.
func (a argument) read(text string) (any, error) {
	wrong := func(want string) error { return fmt.Errorf("%s: %q is not %s", a.name, text, want) }
	switch {
	case len(a.values) > 0:
		if choice := strings.TrimSpace(text); slices.Contains(a.values, choice) {
			return choice, nil
		}
		return nil, wrong("one of " + strings.Join(a.values, ", "))
	case a.kind == "integer":
		if n := json.Number(strings.TrimSpace(text)); isInteger(n) {
			return n, nil
		}
		return nil, wrong("a whole number")
	case a.kind == "number":
		if n := strings.TrimSpace(text); json.Valid([]byte(n)) && strings.Trim(n, "+-.eE0123456789") == "" {
			return json.Number(n), nil
		}
		return nil, wrong("a number")
	case a.kind == "boolean":
		return truth(strings.ToLower(strings.TrimSpace(text)), wrong)
	case a.kind == "array" && a.item == "string" && !strings.HasPrefix(text, "["):
		return items(text), nil
	case a.kind == "array" || a.kind == "object":
		return a.nested(text)
	}
	return text, nil
}

func isInteger(n json.Number) bool {
	_, err := strconv.ParseInt(string(n), 10, 64)
	return (err == nil || errors.Is(err, strconv.ErrRange)) && json.Valid([]byte(n))
}

func truth(text string, wrong func(string) error) (any, error) {
	switch text {
	case "yes", "y", "true":
		return true, nil
	case "no", "n", "false":
		return false, nil
	}
	return nil, wrong("yes or no")
}

func items(text string) []string {
	list := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

func (a argument) nested(text string) (any, error) {
	open := map[string]string{"array": "[", "object": "{"}[a.kind]
	if raw := strings.TrimSpace(text); strings.HasPrefix(raw, open) && json.Valid([]byte(raw)) {
		return json.RawMessage(raw), nil
	}
	return nil, fmt.Errorf("%s: want %s in JSON", a.name, map[string]string{"array": "a list […]", "object": "an object {…}"}[a.kind])
}

// hint says in a few words what to type.
func (a argument) hint() string {
	var parts []string
	switch {
	case len(a.values) > 0:
		parts = append(parts, strings.Join(a.values, " | "))
	case a.kind == "integer":
		parts = append(parts, "whole number")
	case a.kind == "number":
		parts = append(parts, "number")
	case a.kind == "boolean":
		parts = append(parts, "yes or no")
	case a.kind == "array" && a.item == "string":
		parts = append(parts, "texts, separated by commas")
	case a.kind == "array":
		parts = append(parts, "list in JSON")
	case a.kind == "object":
		parts = append(parts, "object in JSON")
	}
	switch {
	case a.required:
	case a.fallback == "" || a.fallback == `""`:
		parts = append(parts, "Enter: leave out")
	default:
		parts = append(parts, "Enter: "+a.fallback)
	}
	return strings.Join(parts, "; ")
}

func (s *session) describe(t tool) {
	s.text(t.Description)
	width := 0
	for _, a := range t.args {
		width = max(width, columns(a.name))
	}
	for _, a := range t.args {
		about := a.about
		if h := a.hint(); h != "" {
			about = strings.TrimSpace(about + " (" + h + ")")
		}
		s.hanging("  "+s.strong(pad(a.name, width))+"  ", width+4, about)
	}
}

// complete gives the whole lines that a line may become.
func (s *session) complete(line string) []string {
	if s.asking != nil {
		return begin(s.asking.values, "", line)
	}
	head, last := "", line
	if i := strings.LastIndexByte(line, ' '); i >= 0 {
		head, last = line[:i+1], line[i+1:]
	}
	word, _, _ := strings.Cut(line, " ")
	t, ok := s.tool(word)
	switch {
	case head == "":
		return begin(s.words(), "", last)
	case word == "tools":
		return begin(s.words()[:len(s.tools)], head, last)
	case !ok:
		return nil
	}
	if name, text, ok := strings.Cut(last, "="); ok {
		for _, a := range t.args {
			if a.name == name {
				return begin(a.values, head+name+"=", text)
			}
		}
		return nil
	}
	var names []string
	for _, a := range t.args {
		if !strings.Contains(head, " "+a.name+"=") {
			names = append(names, a.name+"=")
		}
	}
	return begin(names, head, last)
}

// begin gives those words that begin with typed, after what stands before them.
func begin(words []string, before, typed string) []string {
	var all []string
	for _, w := range words {
		if strings.HasPrefix(w, typed) {
			all = append(all, before+w)
		}
	}
	return all
}
