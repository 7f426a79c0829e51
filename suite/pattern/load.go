package pattern

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// Format is the version of pattern files that this package reads.
const Format = 1

const (
	extension  = ".yaml"
	maxBytes   = 256 << 10
	maxTokens  = 10_000
	maxText    = 400 // characters
	idAccepted = "lower-case letters and digits, joined by single hyphens, at most 80 characters"
)

var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Load reads every <class>.yaml of a folder; other files are for readers. The error
// for invalid content is suite.Problems: all of them, with file, line and column.
func Load(fsys fs.FS) (Collection, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("pattern library: %w", err)
	}
	found := Collection{}
	var problems suite.Problems
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), extension) || e.IsDir() {
			continue
		}
		src, err := read(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("pattern library: %s: %w", e.Name(), err)
		}
		set, err := Parse(e.Name(), src)
		if wrong := (suite.Problems)(nil); errors.As(err, &wrong) {
			problems = append(problems, wrong...)
			continue
		}
		found[set.Class] = set
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return found, nil
}

func read(fsys fs.FS, name string) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // a pipe or a device may never end
		return nil, errors.New("no regular file; replace it by one")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// Parse reads one file. Its name is the class with .yaml; the error is suite.Problems.
func Parse(name string, src []byte) (*Set, error) {
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	r := &reader{file: name, lines: strings.Split(string(src), "\n")}
	set := r.set(src)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return set, nil
}

// reader gathers a file's problems, so that all are told at once.
type reader struct {
	file     string
	lines    []string
	problems suite.Problems
}

func (r *reader) at(t *token.Token, format string, args ...any) {
	p := suite.Problem{File: r.file, Message: fmt.Sprintf(format, args...)}
	if t != nil && t.Position != nil {
		p.Line, p.Column = t.Position.Line, max(1, t.Position.Column)
		if p.Line <= len(r.lines) {
			p.Source = r.lines[p.Line-1]
		}
	}
	r.problems = append(r.problems, p)
}

func (r *reader) set(src []byte) (s *Set) {
	defer func() {
		if p := recover(); p != nil { // a bug of the parser is an error of the file, never a crash
			r.at(nil, "the YAML parser failed on this file (%v); write the part it cannot read in another way", p)
		}
	}()
	root := r.root(src)
	if root == nil {
		return nil
	}
	keys := r.keys(root, append([]string{"format", "class"}, kinds()...), "the file")
	s = &Set{Patterns: map[Kind][]Pattern{}}
	if n := keys["format"]; n != nil && strings.TrimSpace(n.GetToken().Value) != fmt.Sprint(Format) {
		r.at(n.GetToken(), "format is %s; accepted: %d", shown(n), Format)
	}
	if n := keys["class"]; n != nil {
		s.Class = r.class(n)
		s.Category = s.Class.Category()
	}
	for _, k := range Kinds() {
		if n := keys[string(k)]; n != nil {
			s.Patterns[k] = r.patterns(k, n)
		}
	}
	return s
}

// root is the mapping that the file is.
func (r *reader) root(src []byte) ast.Node {
	switch {
	case len(src) > maxBytes:
		r.at(nil, "larger than %d KiB; shorten it", maxBytes>>10)
		return nil
	case !utf8.Valid(src):
		r.at(nil, "the file is not UTF-8; save it as UTF-8")
		return nil
	}
	tokens := lexer.Tokenize(string(src))
	if len(tokens) > maxTokens {
		r.at(tokens[maxTokens], "more than %d YAML tokens; shorten the file", maxTokens)
		return nil
	}
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			r.at(t, "%s is not accepted here; write it out, or quote text that starts with it", shownText(t.Value))
			return nil
		}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		var located yaml.Error
		if errors.As(err, &located) {
			r.at(located.GetToken(), "not YAML: %s; check the indentation, and quote text that contains \": \"", located.GetMessage())
		} else {
			r.at(nil, "not YAML: %v", err)
		}
		return nil
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body != nil && body != nil {
			r.at(d.Body.GetToken(), "a second document; one file holds one class")
			return nil
		}
		if d.Body != nil {
			body = d.Body
		}
	}
	if body == nil {
		r.at(nil, "the file is empty; write it, beginning with format: %d", Format)
	}
	return body
}

func kinds() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, string(k))
	}
	return out
}

// keys are the values of a mapping that must have exactly the accepted keys.
func (r *reader) keys(n ast.Node, accepted []string, what string) map[string]ast.Node {
	values := mapping(n)
	if values == nil {
		r.at(n.GetToken(), "%s is %s; accepted: a mapping with the keys %s", what, shown(n), strings.Join(accepted, ", "))
		return nil
	}
	found := map[string]ast.Node{}
	for _, v := range values {
		key := v.Key.GetToken().Value
		if !slices.Contains(accepted, key) {
			r.at(v.Key.GetToken(), "key %s is not known; accepted: %s", shownText(key), strings.Join(accepted, ", "))
			continue
		}
		found[key] = v.Value
	}
	for _, key := range accepted {
		if _, ok := found[key]; !ok {
			r.at(n.GetToken(), "%s has no key %s; add it", what, key)
		}
	}
	return found
}

func mapping(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func (r *reader) class(n ast.Node) agentbound.Class {
	c := agentbound.Class(r.text(n, "class"))
	if c == "" {
		return ""
	}
	if err := c.Validate(); err != nil {
		r.at(n.GetToken(), "%v", err)
	} else if want := string(c) + extension; r.file != want {
		r.at(n.GetToken(), "class %s stands in %s; the file must be named %s", c, r.file, want)
	}
	return c
}

// patterns reads a list of {id, text}.
func (r *reader) patterns(k Kind, n ast.Node) []Pattern {
	items, ok := n.(*ast.SequenceNode)
	if !ok {
		r.at(n.GetToken(), "%s is %s; accepted: a list of patterns, each with id and text", k, shown(n))
		return nil
	}
	var out []Pattern
	for _, item := range items.Values {
		keys := r.keys(item, []string{"id", "text"}, "a "+string(k)+" pattern")
		if keys["id"] == nil || keys["text"] == nil {
			continue
		}
		p := Pattern{r.text(keys["id"], "id"), strings.Join(strings.Fields(r.text(keys["text"], "text")), " ")}
		r.pattern(p, out, keys)
		out = append(out, p)
	}
	return out
}

// pattern checks one against those before it.
func (r *reader) pattern(p Pattern, before []Pattern, keys map[string]ast.Node) {
	if p.ID != "" && (!slug.MatchString(p.ID) || len(p.ID) > 80) {
		r.at(keys["id"].GetToken(), "id %s; accepted: %s", shownText(p.ID), idAccepted)
	}
	if n := utf8.RuneCountInString(p.Text); n > maxText {
		r.at(keys["text"].GetToken(), "the text has %d characters; accepted: at most %d", n, maxText)
	}
	for _, q := range before {
		if q.ID == p.ID && p.ID != "" {
			r.at(keys["id"].GetToken(), "id %s is used twice in this list; rename one", shownText(p.ID))
		}
		if strings.EqualFold(q.Text, p.Text) && p.Text != "" {
			r.at(keys["text"].GetToken(), "the text is that of %s; write another", q.ID)
		}
	}
}

// text is the content of a scalar that must be text.
func (r *reader) text(n ast.Node, what string) string {
	var text string
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		r.at(n.GetToken(), "%s is %s; accepted: text; quote it", what, shown(n))
		return ""
	default:
		r.at(n.GetToken(), "%s is %s; accepted: text; quote text that contains \": \"", what, shown(n))
		return ""
	}
	if strings.TrimSpace(text) == "" {
		r.at(n.GetToken(), "%s is empty; write it", what)
		return ""
	}
	return strings.TrimSpace(text)
}

// shown names a node in a message.
func shown(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "empty"
	}
	return shownText(strings.TrimSpace(n.GetToken().Value))
}

func shownText(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
