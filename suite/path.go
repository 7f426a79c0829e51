package suite

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Path is a place in a family's state, as facts name it:
//
//	path    = start { "." key | index }
//	start   = key | index
//	key     = bare | quoted
//	bare    = characters other than . [ ] " = and not white space at either end
//	quoted  = a JSON string: "report.pdf", with \" and \\ inside
//	index   = "[" ( number | quoted | key "=" value ) "]"
//	value   = quoted | any characters but ]
//
// A key names a member of an object; a bare key of digits also names an item of a
// list, from 0. An index with a number names an item of a list, one in quotes a
// member of an object, and name=value the one item of a list of objects whose
// member of that name is that text, number, true or false:
//
//	accounts.A-9.remark
//	files."report.pdf".status        files["report.pdf"].status
//	contacts[0].address              contacts.0.address
//	contacts[name=Northwind intake].address
//
// Everything but the last segment must exist. The last may name a new member of an
// object, never a new item of a list.
type Path struct {
	source   string
	segments []segment
}

// String gives the path as it was written.
func (p Path) String() string { return p.source }

// segment is one step of a path. Exactly one of the three forms holds: an index, a
// match, or (otherwise) a key.
type segment struct {
	key   string // name of a member; in a match, the name that is compared
	bare  bool   // the key was not quoted and may stand for an index
	index int    // -1 for none
	match bool
	value string // of a match
	at    int    // offset in the source, in characters
	end   int    // offset after it
}

// PathError says what is wrong with a path, or with a state it is resolved in.
type PathError struct {
	Path    string
	Offset  int // where in Path, in characters from 0
	Message string
}

// Error gives the message with the path and the place in it.
func (e *PathError) Error() string {
	return fmt.Sprintf("path %s, character %d: %s", quote(e.Path), e.Offset+1, e.Message)
}

// ParsePath parses the grammar of [Path]. Its error is a *PathError.
func ParsePath(source string) (Path, error) {
	p := &pathParser{source: source, rest: source}
	for first := true; first || p.rest != ""; first = false {
		s, err := p.segment(first)
		if err != nil {
			return Path{}, err
		}
		s.end = p.offset()
		p.segments = append(p.segments, s)
		if len(p.segments) > MaxDepth {
			return Path{}, p.fail("more than %d segments", MaxDepth)
		}
	}
	return Path{source, p.segments}, nil
}

type pathParser struct {
	source, rest string
	segments     []segment
}

func (p *pathParser) offset() int {
	return utf8.RuneCountInString(p.source[:len(p.source)-len(p.rest)])
}

func (p *pathParser) fail(format string, args ...any) error {
	return &PathError{p.source, p.offset(), fmt.Sprintf(format, args...)}
}

func (p *pathParser) take(prefix string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, prefix)
	return ok
}

func (p *pathParser) segment(first bool) (segment, error) {
	at := p.offset()
	if p.take("[") {
		s, err := p.bracket()
		s.at = at
		return s, err
	}
	if !first && !p.take(".") {
		return segment{}, p.fail("a dot or [ is wanted here; put a key with quotes or brackets in it in quotes")
	}
	at = p.offset()
	key, bare, err := p.key()
	return segment{key: key, bare: bare, index: -1, at: at}, err
}

func (p *pathParser) key() (key string, bare bool, err error) {
	if strings.HasPrefix(p.rest, `"`) {
		key, err = p.quoted()
		return key, false, err
	}
	end := strings.IndexAny(p.rest, `.[]"=`)
	if end < 0 {
		end = len(p.rest)
	}
	key = p.rest[:end]
	if strings.TrimSpace(key) == "" {
		return "", false, p.fail("a key is wanted here, such as accounts or \"report.pdf\"")
	}
	if key != strings.TrimSpace(key) {
		return "", false, p.fail("key %s has white space at an end; remove it, or put the key in quotes", quote(key))
	}
	p.rest = p.rest[end:]
	return key, true, nil
}

// quoted reads a JSON string.
func (p *pathParser) quoted() (string, error) {
	for i := 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '"':
			var s string
			if err := json.Unmarshal([]byte(p.rest[:i+1]), &s); err != nil {
				return "", p.fail("%s is not a JSON string; escape quotes and backslashes with a backslash", p.rest[:i+1])
			}
			p.rest = p.rest[i+1:]
			return s, nil
		}
	}
	return "", p.fail("the quote is not closed")
}

func (p *pathParser) bracket() (segment, error) {
	s := segment{index: -1}
	var err error
	if s.key, s.bare, err = p.key(); err != nil {
		return s, err
	}
	if p.take("=") {
		s.match = true
		if s.value, err = p.matched(); err != nil {
			return s, err
		}
	} else if s.bare {
		if s.index, err = strconv.Atoi(s.key); err != nil || s.index < 0 || strconv.Itoa(s.index) != s.key {
			return s, p.fail("[%s] is no item; accepted: [0], [\"key\"] or [name=value]", s.key)
		}
	}
	if !p.take("]") {
		return s, p.fail("the bracket is not closed")
	}
	return s, nil
}

func (p *pathParser) matched() (string, error) {
	if strings.HasPrefix(p.rest, `"`) {
		return p.quoted()
	}
	end := strings.IndexByte(p.rest, ']')
	if end < 0 {
		return "", p.fail("the bracket is not closed")
	}
	value := p.rest[:end]
	p.rest = p.rest[end:]
	return strings.TrimSpace(value), nil
}

// Resolve finds the path in a state made of map[string]any, []any and scalars, and
// gives it as a JSON Pointer (RFC 6901). Its error is a *PathError that names the
// segment at fault and the nearest keys there are.
func (p Path) Resolve(state any) (pointer string, err error) {
	var b strings.Builder
	for i := range p.segments {
		token, next, err := p.step(i, state)
		if err != nil {
			return "", err
		}
		b.WriteString("/" + escapePointer.Replace(token))
		state = next
	}
	return b.String(), nil
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// step goes from the parent into segment i.
func (p Path) step(i int, parent any) (token string, next any, err error) {
	s := p.segments[i]
	switch parent := parent.(type) {
	case map[string]any:
		if s.match || s.index >= 0 {
			return "", nil, p.fault(i, "%s is an object, not a list; name one of its keys%s", p.parent(i), existing(s.key, parent))
		}
		next, ok := parent[s.key]
		if !ok && i < len(p.segments)-1 {
			return "", nil, p.fault(i, "%s has no key %s%s", p.parent(i), quote(s.key), existing(s.key, parent))
		}
		return s.key, next, nil
	case []any:
		n, err := p.item(i, parent)
		if err != nil {
			return "", nil, err
		}
		return strconv.Itoa(n), parent[n], nil
	}
	return "", nil, p.fault(i, "%s is %s and has nothing inside", p.parent(i), describe(parent))
}

// item finds the item of a list that segment i means.
func (p Path) item(i int, parent []any) (int, error) {
	s := p.segments[i]
	if s.match {
		return p.matching(i, parent)
	}
	n := s.index
	if n < 0 {
		var err error
		if n, err = strconv.Atoi(s.key); !s.bare || err != nil || strconv.Itoa(n) != s.key {
			return 0, p.fault(i, "%s is a list, and %s no item of it; accepted: a number from 0 to %d, or [name=value]", p.parent(i), quote(s.key), len(parent)-1)
		}
	}
	if n < 0 || n >= len(parent) {
		return 0, p.fault(i, "%s has %d items, and no item %d; items count from 0, and a fact adds none", p.parent(i), len(parent), n)
	}
	return n, nil
}

func (p Path) matching(i int, parent []any) (int, error) {
	s := p.segments[i]
	var found []int
	var values []string
	for n, item := range parent {
		member, _ := item.(map[string]any)
		if v, ok := scalarText(member[s.key]); ok {
			values = append(values, v)
			if v == s.value {
				found = append(found, n)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		slices.Sort(values)
		return 0, p.fault(i, "%s has no item with %s = %s%s", p.parent(i), s.key, quote(s.value), near("nearest", s.value, slices.Compact(values)))
	}
	return 0, p.fault(i, "%s has %d items with %s = %s; name one by its number, such as [%d]", p.parent(i), len(found), s.key, quote(s.value), found[0])
}

func (p Path) fault(i int, format string, args ...any) error {
	return &PathError{p.source, p.segments[i].at, fmt.Sprintf(format, args...)}
}

// parent names what segment i is looked up in.
func (p Path) parent(i int) string {
	if i == 0 {
		return "the state"
	}
	return string([]rune(p.source)[:p.segments[i-1].end])
}

// existing lists the nearest keys of an object.
func existing(key string, m map[string]any) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return "; it is empty"
	}
	return near("nearest", key, keys)
}

func near(word, key string, names []string) string {
	best := nearest(key, names, 3)
	if len(best) == 0 {
		return ""
	}
	return "; " + word + ": " + strings.Join(best, ", ")
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return null.String()
	case string:
		return text.String()
	case bool:
		return boolean.String()
	}
	return "a number"
}

// assign sets what a resolved pointer names. The parent exists.
func assign(state any, pointer string, value any) {
	tokens := strings.Split(pointer, "/")[1:]
	for i, t := range tokens {
		t = unescapePointer.Replace(t)
		last := i == len(tokens)-1
		switch parent := state.(type) {
		case map[string]any:
			if last {
				parent[t] = value
			}
			state = parent[t]
		case []any:
			n, _ := strconv.Atoi(t)
			if last {
				parent[n] = value
			}
			state = parent[n]
		}
	}
}
