package screen

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// AllowFile is the allow list of a suite, in its folder.
const AllowFile = "screen.yaml"

// Allowance lets findings pass that a person has looked at. Kind and Found are as a
// finding shows them; Why is for the next reader, and required.
type Allowance struct {
	ID    string `json:"id,omitempty" yaml:"id"` // of one family; empty for all
	Kind  Kind   `json:"kind" yaml:"kind"`
	Found string `json:"found" yaml:"found"`
	Why   string `json:"why" yaml:"why"`
}

// ReadAllowances reads an allow list: YAML with a list allow of {kind, found, why} and,
// where it is meant for one family, id. The error names file, line, what is accepted.
func ReadAllowances(name string, text []byte) ([]Allowance, error) {
	var file struct {
		Allow []Allowance `yaml:"allow"`
	}
	if err := sound(text); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: not an allow list; accepted: allow: [{kind, found, why, id}], id may be left out\n%s", name, yaml.FormatError(err, false, false))
	}
	var problems []error
	for i, a := range file.Allow {
		problem := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s: entry %d: %s", name, i+1, fmt.Sprintf(format, args...)))
		}
		if _, known := infoOf[a.Kind]; !known {
			problem("kind %q is not known; accepted: %s", a.Kind, kindList())
		}
		if strings.TrimSpace(a.Found) == "" {
			problem("found is empty; write what the finding shows as found")
		}
		if strings.TrimSpace(a.Why) == "" {
			problem("why is empty; say why this may stay")
		}
	}
	return file.Allow, errors.Join(problems...)
}

// Bounds of an allow list. Nested brackets cost a parser far more than their bytes.
const (
	MaxAllowBytes  = 256 << 10
	maxAllowTokens = 20_000
	maxAllowDepth  = 16
)

// sound refuses a text before a parser looks at it that would cost it memory out of
// proportion, or that means more than it says.
func sound(text []byte) error {
	if len(text) > MaxAllowBytes {
		return fmt.Errorf("larger than %d KiB; allow less, or split the suite", MaxAllowBytes>>10)
	}
	tokens := lexer.Tokenize(string(text))
	if len(tokens) > maxAllowTokens {
		return fmt.Errorf("more than %d YAML tokens; allow less, or split the suite", maxAllowTokens)
	}
	depth := 0
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			return fmt.Errorf("line %d: %s is not accepted here; write it out, or quote text that starts with it", t.Position.Line, clip(t.Value))
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		}
		if depth > maxAllowDepth {
			return fmt.Errorf("line %d: brackets nested deeper than %d; accepted: allow: [{kind, found, why, id}]", t.Position.Line, maxAllowDepth)
		}
	}
	return nil
}

// unmarshal has a fault of the parser be one of the file.
func unmarshal(text []byte, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the YAML parser failed on it: %v", p)
		}
	}()
	return yaml.UnmarshalWithOptions(text, into, yaml.Strict())
}

func kindList() string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

// Allowed is a finding that an allowance lets pass.
type Allowed struct {
	Finding
	Why string `json:"why"`
}

// allow splits findings by an allow list, and gives the allowances that met none.
func allow(found []Finding, list []Allowance) (left []Finding, allowed []Allowed, unused []Allowance) {
	used := make([]bool, len(list))
	for _, f := range found {
		i := slices.IndexFunc(list, func(a Allowance) bool {
			return a.Kind == f.Kind && clip(a.Found) == f.Found && (a.ID == "" || a.ID == f.ID)
		})
		if i < 0 {
			left = append(left, f)
			continue
		}
		used[i] = true
		allowed = append(allowed, Allowed{f, list[i].Why})
	}
	for i, a := range list {
		if !used[i] {
			unused = append(unused, a)
		}
	}
	return left, allowed, unused
}
