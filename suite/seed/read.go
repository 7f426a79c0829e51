package seed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read.
const (
	maxFile  = 64 << 20
	maxRows  = 100_000
	maxChars = 8_000 // of one seed
)

// readAll reads the rows of all files. Toolkits in any of them tell which tools the
// cases of ToolEmu's format have.
func readAll(files []File, o Options) ([]row, error) {
	var rows []row
	toolkits := map[string][]string{}
	var parsed []parsedFile
	for _, f := range files {
		p, err := parse(f, o)
		if err != nil {
			return nil, err
		}
		for name, tools := range p.toolkits {
			toolkits[name] = tools
		}
		parsed = append(parsed, p)
	}
	for _, p := range parsed {
		for _, r := range p.rows {
			if r.source.Format == ToolEmu {
				r.tools = named(r.tools, toolkits)
			}
			rows = append(rows, r)
		}
	}
	if len(rows) > maxRows {
		return nil, fmt.Errorf("%d rows; accepted: at most %d in one import", len(rows), maxRows)
	}
	return rows, nil
}

// parsedFile is what a file holds.
type parsedFile struct {
	rows     []row
	toolkits map[string][]string // tools by toolkit
	canary   string              // of a toolkit: it holds for the file
}

func parse(f File, o Options) (parsedFile, error) {
	data := bytes.TrimPrefix(f.Data, []byte("\ufeff"))
	switch {
	case len(data) > maxFile:
		return parsedFile{}, fmt.Errorf("%s: larger than %d MiB; split it", f.Name, maxFile>>20)
	case !utf8.Valid(data):
		return parsedFile{}, fmt.Errorf("%s: not UTF-8; save it as UTF-8", f.Name)
	case len(bytes.TrimSpace(data)) == 0:
		return parsedFile{}, fmt.Errorf("%s: the file is empty", f.Name)
	}
	plain := func() (parsedFile, error) {
		return finished(f.Name, text(f.Name, string(data)), canaryIn(string(data)), o)
	}
	if o.From == Text {
		return plain()
	}
	objects, whole, err := jsonObjects(data)
	if err != nil {
		if o.From == "" && !looksLikeJSON(data) {
			return plain()
		}
		return parsedFile{}, fmt.Errorf("%s: not JSON: %w; accepted: an array of objects, one object a line, or an object that holds such an array; plain text with --from text", f.Name, err)
	}
	format := o.From
	if format == "" {
		format = detect(objects)
	}
	var p parsedFile
	switch format {
	case AgentHarm:
		p = agentHarm(f.Name, objects)
	case ToolEmu:
		p = toolEmu(f.Name, objects)
	default:
		return parsedFile{}, fmt.Errorf("%s: the objects are neither AgentHarm's (id, prompt, target_functions) nor ToolEmu's (\"User Instruction\" of a case, toolkit and tools of a toolkit); say which with --from %s or %s", f.Name, AgentHarm, ToolEmu)
	}
	return finished(f.Name, p, cmp.Or(canaryOf(whole), p.canary), o)
}

// finished looks at what holds for a file as a whole, and at the size of its rows.
func finished(name string, p parsedFile, canary string, o Options) (parsedFile, error) {
	if canary != "" && !o.EvaluationOnly {
		return p, &CanaryError{name, canary}
	}
	if len(p.rows) == 0 && len(p.toolkits) == 0 {
		return p, fmt.Errorf("%s: no seed in it", name)
	}
	for i := range p.rows {
		r := &p.rows[i]
		if canary != "" {
			r.canary = canary
		}
		if n := utf8.RuneCountInString(r.text); r.problem == "" && n > maxChars {
			r.problem = fmt.Sprintf("%d characters; accepted: at most %d", n, maxChars)
		}
		if n := utf8.RuneCountInString(strings.Join(append(r.outcomes, r.tools...), "")); r.problem == "" && n > maxChars {
			r.problem = fmt.Sprintf("tools and outcomes of %d characters; accepted: at most %d", n, maxChars)
		}
	}
	return p, nil
}

func looksLikeJSON(data []byte) bool {
	first := bytes.TrimSpace(data)[0]
	return first == '[' || first == '{'
}

// jsonObjects gives the objects of a file: of an array, of lines, or of the arrays of
// objects in an object. whole is what stands around them, where a data set speaks of
// itself.
func jsonObjects(data []byte) (objects []map[string]json.RawMessage, whole map[string]json.RawMessage, err error) {
	whole = map[string]json.RawMessage{}
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var v json.RawMessage
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return objects, whole, nil
		} else if err != nil {
			return nil, nil, err
		}
		found, err := objectsOf(v, whole)
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, found...)
	}
}

func objectsOf(v json.RawMessage, whole map[string]json.RawMessage) ([]map[string]json.RawMessage, error) {
	var list []map[string]json.RawMessage
	if json.Unmarshal(v, &list) == nil {
		return list, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(v, &object); err != nil || object == nil {
		return nil, fmt.Errorf("a value that is neither an object nor a list of objects: %.40s", v)
	}
	if kind(lower(object)) != "" {
		return []map[string]json.RawMessage{object}, nil
	}
	var found []map[string]json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(object)) {
		var list []map[string]json.RawMessage
		if json.Unmarshal(object[name], &list) == nil && len(list) > 0 && !namesCanary(name) {
			found = append(found, list...)
			continue
		}
		key := name
		for whole[key] != nil { // another line's
			key += " "
		}
		whole[key] = object[name]
	}
	if len(found) == 0 && canaryOf(object) == "" {
		found = append(found, object) // told as what it is not
	}
	return found, nil
}

// lower gives an object with its keys in lower case; ToolEmu's have capitals and spaces.
func lower(object map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(object))
	for k, v := range object {
		out[strings.ToLower(strings.TrimSpace(k))] = v
	}
	return out
}

// kind tells what an object is by its keys; empty where it is neither.
func kind(object map[string]json.RawMessage) Format {
	has := func(key string) bool { _, ok := object[key]; return ok }
	switch {
	case has("user instruction"), has("toolkit") && has("tools"), has("name_for_model") && has("tools"):
		return ToolEmu
	case has("prompt") && (has("target_functions") || has("grading_function") || has("hint_included") || has("category")):
		return AgentHarm
	}
	return ""
}

func detect(objects []map[string]json.RawMessage) Format {
	for _, o := range objects {
		if k := kind(lower(o)); k != "" {
			return k
		}
	}
	return ""
}

// field reads a member leniently: text as it is, numbers and flags as they are written.
func field(object map[string]json.RawMessage, key string) string {
	raw, ok := object[key]
	if !ok || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	return strings.TrimSpace(string(raw))
}

// list reads a list of texts; a single text is a list of one.
func list(object map[string]json.RawMessage, key string) []string {
	var many []json.RawMessage
	if json.Unmarshal(object[key], &many) != nil {
		if s := field(object, key); s != "" {
			return []string{s}
		}
		return nil
	}
	var out []string
	for _, raw := range many {
		if s := field(map[string]json.RawMessage{"": raw}, ""); s != "" {
			out = append(out, s)
		}
	}
	return out
}
