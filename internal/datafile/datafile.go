// Package datafile reads the small YAML files that users write: one document of plain
// values, every mistake told with file and line.
package datafile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Most is how large such a file may be, in bytes.
const Most = 1 << 20

// File is a file that was decoded; it knows the lines of its values.
type File struct {
	name string
	tree *ast.File
}

// Read decodes a file into v, as Decode does.
func Read(path string, v any) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, Most+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return Decode(path, b, v)
}

// Decode decodes one document into v, whose fields are all that is accepted. Anchors,
// aliases, merge keys and tags are refused: with them a small file asks for much.
func Decode(name string, src []byte, v any) (file *File, err error) {
	defer func() {
		if p := recover(); p != nil { // a bug of the parser is an error of the file
			err = fmt.Errorf("%s: the YAML parser failed on this file (%v); write the part that it cannot read in another way", name, p)
		}
	}()
	switch {
	case len(src) > Most:
		return nil, fmt.Errorf("%s: has more than %d bytes", name, Most)
	case !utf8.Valid(src):
		return nil, fmt.Errorf("%s: is not UTF-8; save it as UTF-8", name)
	}
	tokens := lexer.Tokenize(string(src))
	for _, t := range tokens {
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType, token.TagType, token.DirectiveType:
			return nil, fmt.Errorf("%s:%d: anchors (&), aliases (*), merge keys (<<), tags (!) and directives (%%) are not accepted; write the value out, or quote text that starts so", name, t.Position.Line)
		}
	}
	tree, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, located(name, err)
	}
	documents := 0
	for _, d := range tree.Docs {
		if d.Body != nil {
			documents++
		}
	}
	if documents != 1 {
		return nil, fmt.Errorf("%s: holds %d documents; want one", name, documents)
	}
	if err := yaml.UnmarshalWithOptions(src, v, yaml.Strict()); err != nil {
		return nil, located(name, err)
	}
	return &File{name, tree}, nil
}

// located is an error of YAML with its line.
func located(name string, err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", name, at.GetToken().Position.Line, at.GetMessage())
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Errorf is an error about the value at a path such as $.prices[2].input; where there is
// none, about what holds it.
func (f *File) Errorf(path, format string, args ...any) error {
	where := f.name
	if line := f.line(path); line > 0 {
		where = fmt.Sprintf("%s:%d", where, line)
	}
	return fmt.Errorf("%s: %w", where, fmt.Errorf(format, args...))
}

func (f *File) line(path string) int {
	for path != "" && path != "$" {
		if p, err := yaml.PathString(path); err == nil {
			if n, err := p.FilterFile(f.tree); err == nil && n != nil && n.GetToken() != nil {
				return n.GetToken().Position.Line
			}
		}
		path = parent(path)
	}
	return 0
}

// parent is a path without its last step.
func parent(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}
