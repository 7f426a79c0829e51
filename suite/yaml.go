package suite

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of a suite's files. The bound on tokens keeps the YAML parser, which is
// quadratic in some of them, within two seconds on the worst input; the example
// families have about 300.
const (
	MaxFamilyBytes  = 1 << 20
	MaxToolkitBytes = 256 << 10
	MaxDepth        = 64
	maxTokens       = 30_000
)

// parseYAML reads one document of the subset of YAML that format 1 is written in:
// no anchors, aliases, merge keys, tags, directives or further documents. It reports
// what is wrong and gives nil where nothing can be said about the rest.
func parseYAML(r *report, src []byte) (root *node) {
	defer func() {
		if p := recover(); p != nil { // a bug of the parser is an error of the file, never a crash
			r.whole("the YAML parser failed on this file (%v); write the part it cannot read in another way", p)
			root = nil
		}
	}()
	if !plainText(r, src) {
		return nil
	}
	tokens := lexer.Tokenize(string(src))
	if !allowedTokens(r, tokens) {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		syntaxProblem(r, err)
		return nil
	}
	b := builder{r: r}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			root = b.node(doc.Body, 1)
		}
	}
	if root == nil && len(r.problems) == 0 {
		r.whole("the file is empty; write it, beginning with format: 1 (agentbound suite new makes an example), or remove it")
	}
	return root
}

const deeper = "nested deeper than %d levels; flatten it: give the inner parts names, and refer to them by name"

// byteOrderMark is what some editors put before UTF-8.
const (
	byteOrderMark = "\ufeff"
	unmarked      = "the file starts with a byte order mark; save it as UTF-8 without one"
)

// plainText refuses bytes that no editor shows.
func plainText(r *report, src []byte) bool {
	if bytes.HasPrefix(src, []byte(byteOrderMark)) {
		r.at(pos{1, 1}, "%s", unmarked)
		return false
	}
	if !utf8.Valid(src) {
		r.whole("the file is not UTF-8; save it as UTF-8")
		return false
	}
	for i, line := range strings.Split(string(src), "\n") {
		for j, c := range []rune(line) {
			if c < ' ' && c != '\t' || c == 0x7f {
				r.at(pos{i + 1, j + 1}, "control character %U; remove it, or write it as an escape in double quotes", c)
				return false
			}
		}
	}
	return true
}

// refusedTokens are parts of YAML that format 1 does without, with the remedy.
var refusedTokens = map[token.Type]string{
	token.AnchorType:    "anchors (&) are not accepted; write the value out where it is used, or quote text that starts with &",
	token.AliasType:     "aliases (*) are not accepted; write the value out, or quote text that starts with *",
	token.MergeKeyType:  "merge keys (<<) are not accepted; write the keys out",
	token.TagType:       "tags (!) are not accepted; quote what is text",
	token.DirectiveType: "directives (%) are not accepted; remove the line",
}

// allowedTokens enforces the limits before the recursive parser sees the file.
func allowedTokens(r *report, tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		r.at(place(tokens[maxTokens]), "more than %d YAML tokens; split the state or shorten it", maxTokens)
		return false
	}
	before := len(r.problems)
	flow, line, onLine, content := 0, 0, 0, false
	for _, t := range tokens {
		if why, refused := refusedTokens[t.Type]; refused {
			r.at(place(t), "%s", why)
			if r.full() {
				return false
			}
			continue
		}
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.DocumentHeaderType, token.DocumentEndType:
			if content {
				r.at(place(t), "a second document (%s); one file holds one family", t.Value)
				return false
			}
			continue
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			onLine++
		case token.MappingValueType:
			if flow == 0 {
				onLine++
			}
		}
		content = content || t.Type != token.CommentType
		if flow > MaxDepth || onLine > MaxDepth {
			r.at(place(t), deeper, MaxDepth)
			return false
		}
	}
	return len(r.problems) == before
}

func place(t *token.Token) pos { return pos{t.Position.Line, max(1, t.Position.Column)} }

func syntaxProblem(r *report, err error) {
	var located yaml.Error
	if !errors.As(err, &located) || located.GetToken() == nil {
		r.whole("not YAML: %v", err)
		return
	}
	r.at(place(located.GetToken()), "not YAML: %s%s", located.GetMessage(), yamlHint(located.GetMessage()))
}

// yamlHint gives the remedy for the mistakes that families invite.
func yamlHint(message string) string {
	switch {
	case strings.Contains(message, "mapping value is not allowed"), strings.Contains(message, "value is not allowed in this context"),
		strings.Contains(message, "unexpected key name"):
		return "; check the indentation, and quote text that contains \": \" or starts with a quote or bracket"
	case strings.Contains(message, "\t"):
		return "; indent with spaces"
	}
	return "; check the commas, brackets, quotes and indentation here and in the line above"
}

// builder turns the parser's AST into nodes.
type builder struct{ r *report }

func (b builder) node(n ast.Node, depth int) *node {
	if depth > MaxDepth {
		b.r.at(place(n.GetToken()), deeper, MaxDepth)
		return &node{pos: place(n.GetToken())}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.object(place(n.GetToken()), n.IsFlowStyle, n.Values, depth)
	case *ast.MappingValueNode:
		return b.object(place(n.GetToken()), n.IsFlowStyle, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out := &node{kind: list, pos: place(n.GetToken())}
		for _, item := range n.Values {
			out.items = append(out.items, b.node(item, depth+1))
		}
		return out
	case *ast.LiteralNode:
		return &node{kind: text, pos: place(n.Start), style: n.Start.Type, text: n.Value.Value}
	case *ast.StringNode:
		return b.scalar(n.Token, n.Value)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return b.scalar(n.GetToken(), n.GetToken().Value)
	}
	b.r.at(place(n.GetToken()), "%s is not accepted here", n.Type())
	return &node{pos: place(n.GetToken())}
}

func (b builder) object(at pos, flow bool, values []*ast.MappingValueNode, depth int) *node {
	out := &node{kind: object, pos: at}
	seen := map[string]pos{}
	for _, v := range values {
		key := b.key(v.Key)
		if first, twice := seen[key.text]; twice {
			b.r.at(key.pos, "key %s is already set in line %d; remove one of the two", quote(key.text), first.line)
		}
		seen[key.text] = key.pos
		value := b.node(v.Value, depth+1)
		if flow && value.style == token.ImplicitNullType {
			b.r.at(key.pos, "%s has no value: a comma ends plain text within { }; quote the text that it belongs to, or write null", quote(key.text))
		}
		out.entries = append(out.entries, entry{key, value})
	}
	if !flow && len(out.entries) > 0 {
		out.pos = out.entries[0].key.pos // the parser gives the colon
	}
	return out
}

// key reads a mapping key as text. Whole numbers keep their source, so that an id
// such as 0012 stays what was written.
func (b builder) key(k ast.MapKeyNode) *node {
	t := k.GetToken()
	switch k := k.(type) {
	case *ast.StringNode:
		return &node{kind: text, pos: place(t), style: t.Type, text: k.Value}
	case *ast.IntegerNode:
		return &node{kind: text, pos: place(t), style: token.StringType, text: strings.TrimSpace(t.Value)}
	case *ast.MappingKeyNode:
		b.r.at(place(t), "complex keys (?) are not accepted; write \"key: value\"")
	default:
		b.r.at(place(t), "key %s is not text; quote it", fmt.Sprint(t.Value))
	}
	return &node{kind: text, pos: place(t), style: t.Type, text: t.Value}
}

// scalar types a scalar: quoted ones are text, plain ones go by YAML 1.2 where all
// readers agree and are refused where they do not.
func (b builder) scalar(t *token.Token, value string) *node {
	n := &node{kind: text, pos: place(t), style: t.Type, text: value}
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		return n
	}
	if t.Type == token.ImplicitNullType {
		n.kind, n.text = null, ""
		return n
	}
	plain := strings.TrimSpace(value)
	k, canonical, why := plainScalar(plain)
	if why != "" {
		b.r.at(n.pos, "%s is ambiguous: %s; quote it where it is text", plain, why)
	}
	n.kind, n.text = k, canonical
	return n
}
