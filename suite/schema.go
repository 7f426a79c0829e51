package suite

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	rule "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Format is the version of families and suites that this package reads.
const Format = 1

var (
	//go:embed schema/family-1.schema.json
	familySchema []byte
	//go:embed schema/suite-1.schema.json
	suiteSchema []byte
	//go:embed schema/archetype-1.schema.json
	archetypeSchema []byte
)

// Schema is the published JSON Schema (draft 2020-12) of a family.yaml, for editors.
// It covers structure; predicates, calls and paths are checked in code.
func Schema() []byte { return bytes.Clone(familySchema) }

// ArchetypeSchema is the JSON Schema of an archetype.yaml.
func ArchetypeSchema() []byte { return bytes.Clone(archetypeSchema) }

// SuiteSchema is the JSON Schema of a suite.yaml.
func SuiteSchema() []byte { return bytes.Clone(suiteSchema) }

// schema is a compiled JSON Schema with its document, which the messages quote.
type schema struct {
	compiled *jsonschema.Schema
	document any
}

var (
	familyStructure = sync.OnceValue(func() schema { return mustCompile(familySchema) })
	suiteStructure  = sync.OnceValue(func() schema { return mustCompile(suiteSchema) })

	archetypeStructure = sync.OnceValue(func() schema { return mustCompile(archetypeSchema) })
)

func mustCompile(text []byte) schema {
	s, err := compileSchema(text)
	if err != nil {
		panic("suite: embedded schema: " + err.Error())
	}
	return s
}

func compileSchema(text []byte) (schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return schema{}, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		return schema{}, err
	}
	compiled, err := c.Compile("schema.json")
	return schema{compiled, doc}, err
}

// check validates a tree and reports each violation at its place.
func (s schema) check(r *report, root *node) {
	for _, leaf := range s.violations(root.tree()) {
		s.problem(r, root, leaf)
	}
}

// violations are the leaves of the validator's error.
func (s schema) violations(instance any) []*jsonschema.ValidationError {
	var violated *jsonschema.ValidationError
	if !errors.As(s.compiled.Validate(instance), &violated) {
		return nil
	}
	return leaves(violated)
}

func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var out []*jsonschema.ValidationError
	for _, c := range e.Causes {
		out = append(out, leaves(c)...)
	}
	if _, choice := e.ErrorKind.(*rule.AnyOf); choice {
		return meant(out, len(e.InstanceLocation))
	}
	return out
}

// meant keeps of the violations of alternatives, for a value at depth, those of the
// alternative that has the value's type. Where none has, it gives one violation that
// accepts the types of all.
func meant(all []*jsonschema.ValidationError, depth int) []*jsonschema.ValidationError {
	var want []string
	var typed []*jsonschema.ValidationError
	for _, v := range all {
		if k, ok := v.ErrorKind.(*rule.Type); ok && len(v.InstanceLocation) == depth {
			want = append(want, k.Want...)
			continue
		}
		typed = append(typed, v)
	}
	if len(typed) > 0 || len(want) == 0 {
		return typed
	}
	one := *all[0]
	one.ErrorKind = &rule.Type{Got: one.ErrorKind.(*rule.Type).Got, Want: want}
	return []*jsonschema.ValidationError{&one}
}

// problem words one violation for the author of the file.
func (s schema) problem(r *report, root *node, v *jsonschema.ValidationError) {
	n, name := root.find(v.InstanceLocation), locationName(v.InstanceLocation)
	own := s.own(v)
	switch k := v.ErrorKind.(type) {
	case *rule.AdditionalProperties:
		accepted := properties(own)
		for _, key := range k.Properties {
			r.at(n.keyPos(key), "%skey %s is not known%s; accepted: %s", within(name), quote(key), didYouMean(key, accepted), strings.Join(accepted, ", "))
		}
	case *rule.Required:
		for _, key := range k.Missing {
			r.at(n.pos, "%skey %s is missing; add it%s", within(name), quote(key), described(own, key))
		}
	case *rule.DependentRequired:
		r.at(n.keyPos(k.Prop), "%s%s stands without %s; an event has both: once says after which call, set what changes then", within(name), k.Prop, strings.Join(k.Missing, ", "))
	case *rule.Type:
		hint := ""
		if n == root {
			hint = "; write keys with their values, such as format: 1"
		}
		r.at(n.pos, "%s %s%s", name, violation(n, k, own), hint)
	default:
		r.at(n.pos, "%s %s", name, violation(n, v.ErrorKind, own))
	}
}

// violation words a violation of a single value: what was found and what is accepted.
func violation(n *node, e jsonschema.ErrorKind, own map[string]any) string {
	switch k := e.(type) {
	case *rule.Type:
		return fmt.Sprintf("is %s; accepted: %s%s", n.found(), kinds(k.Want), n.typeHint(k.Want))
	case *rule.Enum:
		accepted := texts(k.Want)
		return fmt.Sprintf("%s is not known%s; accepted: %s", n.found(), didYouMean(n.text, accepted), strings.Join(accepted, ", "))
	case *rule.Const:
		return fmt.Sprintf("is %s; accepted: %v", n.found(), k.Want)
	case *rule.Pattern:
		if n.is(text) && strings.TrimSpace(n.text) == "" {
			return "is empty; write it, or a placeholder that says what belongs here"
		}
		return fmt.Sprintf("is %s; accepted: %s", n.found(), patternName(k.Want))
	case *rule.MinLength:
		return "is empty"
	case *rule.MaxLength:
		return fmt.Sprintf("has %d characters; accepted: at most %d", k.Got, k.Want)
	case *rule.Minimum, *rule.Maximum:
		return fmt.Sprintf("is %s; accepted: %s", n.text, span(own))
	case *rule.MinItems, *rule.MaxItems:
		return fmt.Sprintf("has %s; accepted: %s", counted(len(n.items), "item"), itemSpan(own))
	case *rule.MinProperties:
		return fmt.Sprintf("has %s; accepted: %d or more", counted(k.Got, "key"), k.Want)
	case *rule.UniqueItems:
		return fmt.Sprintf("lists %s twice; remove one", n.items[k.Duplicates[1]].found())
	}
	b, _ := json.Marshal(e)
	return "is not accepted: " + string(b)
}

// own gives the part of the schema document that was violated.
func (s schema) own(v *jsonschema.ValidationError) map[string]any {
	_, fragment, _ := strings.Cut(v.SchemaURL, "#")
	at := s.document
	for _, step := range strings.Split(fragment, "/") {
		if plain, err := url.PathUnescape(step); err == nil {
			step = plain
		}
		switch parent := at.(type) {
		case map[string]any:
			if step != "" {
				at = parent[unescapePointer.Replace(step)]
			}
		case []any:
			at = nil
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(parent) {
				at = parent[i]
			}
		}
	}
	m, _ := at.(map[string]any)
	return m
}

// keyPos is where a key of an object stands; of a repeated key, the last.
func (n *node) keyPos(key string) pos {
	at := n.pos
	for _, e := range n.entries {
		if e.key.text == key {
			at = e.key.pos
		}
	}
	return at
}

// found shows a value in a message.
func (n *node) found() string {
	switch n.kind {
	case text:
		return quote(n.text)
	case boolean, integer, float:
		return n.text
	case null:
		return "empty (null)"
	}
	return n.kind.String()
}

func (n *node) typeHint(want []string) string {
	if len(want) != 1 || want[0] != "string" {
		return ""
	}
	switch n.kind {
	case object:
		return "; quote text that contains \": \", or write it as a block (>-)"
	case list:
		return "; quote text that starts with a bracket"
	case boolean, integer, float:
		return "; quote it"
	}
	return ""
}

func requiredOf(v *jsonschema.ValidationError) []string {
	if k, ok := v.ErrorKind.(*rule.Required); ok {
		return k.Missing
	}
	return nil
}

func extraOf(v *jsonschema.ValidationError) []string {
	if k, ok := v.ErrorKind.(*rule.AdditionalProperties); ok {
		return k.Properties
	}
	return nil
}
