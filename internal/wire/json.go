package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
)

// object is a JSON object whose values stay as they were written.
type object map[string]json.RawMessage

var errNoObject = errors.New("it is no JSON object")

func parseObject(raw []byte) (object, error) {
	if !valid(raw) {
		return nil, errNoObject
	}
	return split(raw)
}

// split cuts an object up that is known to be valid. Of members of one name the last
// counts, as for encoding/json.
func split(raw []byte) (object, error) {
	if i := blanks(raw, 0); i >= len(raw) || raw[i] != '{' {
		return nil, errNoObject
	}
	o := make(object, 8)
	for name, value := range members(raw) {
		o[unquote(name)] = value
	}
	return o, nil
}

// text is a string member, empty where it is none.
func (o object) text(key string) string { return unquote(o[key]) }

// first is the first of several spellings of a member.
func (o object) first(keys ...string) json.RawMessage {
	for _, k := range keys {
		if given(o[k]) {
			return o[k]
		}
	}
	return nil
}

func (o object) set(key string, v any) { o[key] = encode(v) }

func (o object) object(key string) object {
	m, err := split(o[key])
	if err != nil {
		return object{}
	}
	return m
}

// list is a member's objects; what is none is left out.
func (o object) list(key string) []object { return objects(o[key]) }

func objects(raw json.RawMessage) (all []object) {
	for r := range elements(raw) {
		if e, err := split(r); err == nil {
			all = append(all, e)
		}
	}
	return all
}

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// encode writes what was parsed, or is made of strings: it always encodes.
func encode(v any) json.RawMessage {
	b, err := agentbound.EncodeJSON(v)
	if err != nil {
		panic(fmt.Sprintf("wire: %v", err))
	}
	return b
}

// SchemaDigest is the SHA-256 of a JSON schema in hex, the same for all spellings of it:
// blanks and the order of members do not count.
func SchemaDigest(schema []byte) string {
	canonical := schema
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) == nil {
		if b, err := agentbound.EncodeJSON(v); err == nil {
			canonical = b
		}
	}
	return digest(canonical)
}

// digests remembers those of schemas: a program sends the same ones with every request.
var digests = remembered{most: 4 << 20, all: map[string]string{}}

type remembered struct {
	mu         sync.Mutex
	size, most int // bytes
	all        map[string]string
}

func (r *remembered) of(schema []byte) string {
	r.mu.Lock()
	known, ok := r.all[string(schema)]
	r.mu.Unlock()
	if ok {
		return known
	}
	known = SchemaDigest(schema)
	size := len(schema) + len(known)
	if size > r.most {
		return known
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size += size; r.size > r.most { // begins anew: nothing is worth keeping longer
		clear(r.all)
		r.size = size
	}
	r.all[string(schema)] = known
	return known
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// newTool is a tool with the digest of its schema.
func newTool(kind, namespace, name, description string, schema json.RawMessage) Tool {
	t := Tool{Kind: kind, Namespace: namespace, Name: name, Description: description}
	if given(schema) {
		t.Schema, t.Digest = schema, digests.of(schema)
	}
	return t
}

// plain is the text of a content that is a string or a list of parts.
func plain(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return unquote(raw)
	}
	var b strings.Builder
	for _, p := range objects(raw) {
		b.WriteString(p.text("text"))
		b.WriteString(p.text("refusal"))
	}
	return b.String()
}

// paragraphs joins what stands apart.
func paragraphs(texts []string) string {
	var said []string
	for _, t := range texts {
		if t != "" {
			said = append(said, t)
		}
	}
	return strings.Join(said, "\n\n")
}

// compact drops white space that decides nothing; what is no JSON stays.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// mostTokens bounds each count that a server tells, so that sums stay numbers.
const mostTokens = 1_000_000_000

// count is a number of tokens.
func (o object) count(key string) int64 { return number(o[key]) }

func number(raw []byte) int64 {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0
	}
	return int64(min(max(f, 0), mostTokens))
}

// either is the first that is given.
func either(a, b json.RawMessage) json.RawMessage {
	if given(a) {
		return a
	}
	return b
}

func clone(o object) object { return maps.Clone(o) }

// sum adds up what answers used, number by number. Lists hold a number for each kind of
// content: they follow each other. Of anything else the first counts.
func sum(a, b json.RawMessage) json.RawMessage {
	switch {
	case !given(a):
		return b
	case !given(b):
		return a
	case a[0] == '{' && b[0] == '{':
		all, _ := split(a)
		for name, v := range members(b) {
			k := unquote(name)
			all[k] = sum(all[k], v)
		}
		return encode(all)
	case a[0] == '[' && b[0] == '[':
		list := []json.RawMessage{}
		for _, l := range []json.RawMessage{a, b} {
			for e := range elements(l) {
				list = append(list, e)
			}
		}
		return encode(list)
	}
	x, err := strconv.ParseFloat(string(a), 64)
	y, failed := strconv.ParseFloat(string(b), 64)
	if err != nil || failed != nil || math.IsInf(x+y, 0) {
		return a
	}
	return json.RawMessage(strconv.FormatFloat(x+y, 'f', -1, 64))
}
