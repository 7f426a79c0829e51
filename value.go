package agentbound

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Value is a JSON tree in canonical form: object keys sorted by their bytes, no
// insignificant white space, integers written without and floats always with a
// point or an exponent. Two equal trees have equal bytes, so values are compared
// and digested as they stand. The zero Value is no value at all (it encodes as
// null); use Null for an explicit null.
type Value []byte

// Null is the JSON null.
var Null = Value("null")

// String gives the canonical JSON text.
func (v Value) String() string { return string(v) }

// Equal reports whether both hold the same tree.
func (v Value) Equal(w Value) bool { return bytes.Equal(v, w) }

// MarshalJSON returns the bytes as they are.
func (v Value) MarshalJSON() ([]byte, error) {
	if len(v) == 0 {
		return Null, nil
	}
	return v, nil
}

// UnmarshalJSON keeps the bytes as they stand: what this module writes is
// canonical, and reading it back must not change a byte.
func (v *Value) UnmarshalJSON(b []byte) error {
	if v == nil {
		return errors.New("agentbound.Value: UnmarshalJSON on a nil pointer")
	}
	*v = append((*v)[:0:0], b...)
	return nil
}

// StringValue is the JSON string of s, in canonical form. Bytes that are not UTF-8
// become U+FFFD, as itself: encoding/json would escape it, and the same text read
// back would have other bytes.
func StringValue(s string) Value {
	b, err := EncodeJSON(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil { // a string always encodes
		panic(err)
	}
	return b
}

// EncodeJSON encodes v on one line as this module stores JSON: no HTML escapes
// (they would change the bytes of canonical values) and no trailing newline.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Diff is what a call changed in the state: operations of RFC 6902 (JSON Patch),
// of which only add, remove and replace occur. Applied in order to the state
// before, they give the state after.
type Diff []Op

// Op is one operation. Path is a JSON Pointer (RFC 6901).
type Op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value Value  `json:"value,omitempty"`
}

// The operations a Diff may hold.
const (
	OpAdd     = "add"
	OpRemove  = "remove"
	OpReplace = "replace"
)
