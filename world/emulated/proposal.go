package emulated

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/internal/star"
)

// Bounds of a proposal.
const (
	maxAnswer = 256 << 10 // bytes of the model's text
	maxOps    = 128
)

// proposal is what the model says a call does: an answer and a patch, or a failure.
type proposal struct {
	Observation any
	Patch       []op
	Failure     string // the tool's own words; empty where it succeeds
}

// op is one operation of a patch. Values may hold expressions ($arg and so on).
type op struct {
	Op    string
	Path  string
	Key   any // of add: the name of the new record in a table; nil: none is given
	Value any
	By    any
	At    *int // of add: the place in a list; nil: at its end
}

// The operations, and the members that each takes beside op and path.
var operations = map[string][]string{
	"add":      {"value", "key", "at"},
	"set":      {"value"},
	"remove":   {},
	"increase": {"by"},
	"decrease": {"by"},
}

// parseProposal finds the JSON object in a model's answer, whatever stands around it, and
// reads it strictly. The errors are for the model to read.
func parseProposal(answer string, readOnly bool) (proposal, error) {
	if len(answer) > maxAnswer {
		return proposal{}, fmt.Errorf("the answer has %d bytes; at most %d are read", len(answer), maxAnswer)
	}
	m, err := findObject(answer)
	if err != nil {
		return proposal{}, err
	}
	if err := members("the answer", m, "observation", "patch", "error"); err != nil {
		return proposal{}, err
	}
	if _, err := star.Canonical(any(m)); err != nil {
		return proposal{}, fmt.Errorf("the answer is %w", err)
	}
	var p proposal
	if raw, ok := m["patch"]; ok {
		if p.Patch, err = parsePatch(raw); err != nil {
			return proposal{}, err
		}
	}
	if raw, failed := m["error"]; failed {
		return p.failure(raw, m)
	}
	observation, ok := m["observation"]
	_, patched := m["patch"]
	switch {
	case !ok:
		return proposal{}, errors.New(`the answer has neither "observation" nor "error"`)
	case !patched && !readOnly:
		return proposal{}, errors.New(`the answer has an observation and no "patch"; where the call changes nothing, write "patch": []`)
	}
	p.Observation = observation
	return p, nil
}

func (p proposal) failure(raw any, m map[string]any) (proposal, error) {
	text, ok := raw.(string)
	_, observed := m["observation"]
	switch {
	case !ok || strings.TrimSpace(text) == "":
		return proposal{}, errors.New(`"error" must be a text that says why the call failed`)
	case observed:
		return proposal{}, errors.New(`a call either fails ("error") or answers ("observation"), not both`)
	case len(p.Patch) > 0:
		return proposal{}, errors.New("a call that fails changes nothing: leave the patch out")
	}
	p.Failure = text
	return p, nil
}

// findObject gives the last object of a text that is an answer by its members; the last,
// since models think aloud before they settle.
func findObject(text string) (map[string]any, error) {
	var found map[string]any
	var broken error
	rest := text
	for range maxTries {
		i := strings.IndexByte(rest, '{')
		if i < 0 {
			break
		}
		rest = rest[i:]
		dec := json.NewDecoder(strings.NewReader(rest))
		dec.UseNumber()
		var m map[string]any
		err := dec.Decode(&m)
		switch {
		case err != nil && begun.MatchString(rest): // not to take a part of it for the whole
			return nil, fmt.Errorf("the answer is no well-formed JSON object: %w", err)
		case err != nil:
			broken, rest = err, rest[1:]
			continue
		case has(m, "observation") || has(m, "error") || has(m, "patch"):
			found = m
		}
		rest = rest[dec.InputOffset():]
	}
	switch {
	case found != nil:
		return found, nil
	case broken != nil:
		return nil, fmt.Errorf("the answer is no well-formed JSON object: %w", broken)
	}
	return nil, errors.New(`the answer holds no JSON object with "observation" and "patch", or "error"`)
}

// maxTries bounds the objects that are looked at in one answer.
const maxTries = 64

var begun = regexp.MustCompile(`^\{\s*"(?:observation|patch|error)"`)

func has(m map[string]any, key string) bool { _, ok := m[key]; return ok }

// members refuses members of an object that are not accepted there.
func members(what string, m map[string]any, accepted ...string) error {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(accepted, k) {
			return fmt.Errorf("%s has a member %q; accepted: %s", what, clip(k), strings.Join(accepted, ", "))
		}
	}
	return nil
}

func parsePatch(raw any) ([]op, error) {
	items, ok := raw.([]any)
	if !ok {
		return nil, errors.New(`"patch" must be a list of operations; [] for none`)
	}
	if len(items) > maxOps {
		return nil, fmt.Errorf("the patch has %d operations; at most %d are taken", len(items), maxOps)
	}
	ops := make([]op, len(items))
	for i, item := range items {
		var err error
		if ops[i], err = parseOp(item); err != nil {
			return nil, fmt.Errorf("operation %d of the patch: %w", i+1, err)
		}
	}
	return ops, nil
}

func parseOp(raw any) (op, error) {
	m, ok := raw.(map[string]any)
	if !ok {
		return op{}, errors.New(`an operation is an object, as in {"op": "set", "path": "/records/R-1/status", "value": "closed"}`)
	}
	name, _ := m["op"].(string)
	takes, ok := operations[name]
	if !ok {
		return op{}, fmt.Errorf("op %q is not known; accepted: add, set, remove, increase, decrease", clip(name))
	}
	if err := members("it", m, append([]string{"op", "path"}, takes...)...); err != nil {
		return op{}, err
	}
	path, ok := m["path"].(string)
	if !ok || path == "" || path == "/" {
		return op{}, errors.New(`"path" must be a text that names a place below the top of the state`)
	}
	o := op{Op: name, Path: path, Key: m["key"], Value: m["value"], By: m["by"]}
	for _, needed := range takes[:min(1, len(takes))] {
		if !has(m, needed) {
			return op{}, fmt.Errorf("%s needs %q", name, needed)
		}
	}
	if has(m, "at") {
		n, ok := whole(m["at"])
		if !ok || n < 0 {
			return op{}, errors.New(`"at" must be a whole number from 0`)
		}
		o.At = &n
	}
	return o, nil
}

// asText is how an operation is named in a message to the model.
func (o op) asText() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(o.Path)
	return o.Op + " " + clip(strings.TrimSpace(b.String()))
}
