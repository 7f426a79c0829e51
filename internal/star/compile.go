package star

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// MaxSource is the size of the largest file or expression that is read.
const MaxSource = 256 << 10

var dialect = &syntax.FileOptions{}

// parseFile reads and rewrites a source.
func parseFile(name, text string) (*syntax.File, error) {
	if err := checkSource(name, text); err != nil {
		return nil, err
	}
	f, err := dialect.Parse(name, text, 0)
	if err != nil {
		return nil, err
	}
	return f, rewriteFile(f)
}

func parseExpr(name, text string) (syntax.Expr, error) {
	if err := checkSource(name, text); err != nil {
		return nil, err
	}
	return dialect.ParseExpr(name, text, 0)
}

// checkSource refuses a source that is too large, and control characters: the
// scanner takes NUL for the end, and no editor shows the others.
func checkSource(name, text string) error {
	if len(text) > MaxSource {
		return fmt.Errorf("%s: %d bytes of source; at most %d are read", name, len(text), MaxSource)
	}
	i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f })
	if i < 0 {
		return nil
	}
	line, col := 1+strings.Count(text[:i], "\n"), 1+utf8.RuneCountInString(text[1+strings.LastIndexByte(text[:i], '\n'):i])
	return syntax.Error{
		Pos: syntax.MakePosition(&name, int32(line), int32(col)),
		Msg: fmt.Sprintf("control character %U; remove it, or write it as an escape in a text (\\x%02x)", text[i], text[i]),
	}
}

// program compiles a rewritten file whose free names are in env, and executes it.
func program(f *syntax.File, env starlark.StringDict) (globals starlark.StringDict, err error) {
	defer contain(&err)
	unknown := 0
	known := func(name string) bool {
		if env.Has(name) || starlark.Universe.Has(name) {
			return env.Has(name)
		}
		unknown++
		return unknown > 20 // the resolver looks for a near name for each, in time that grows with all others
	}
	p, err := starlark.FileProgram(f, known)
	if err != nil {
		return nil, err
	}
	return p.Init(newThread(f.Path), env)
}

// contain makes an error of a panic: a program found a hole in the interpreter, and
// that is the program's failure.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the interpreter broke: %v", p)
	}
}

func newThread(name string) *starlark.Thread {
	t := &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	t.SetMaxExecutionSteps(MaxSteps)
	return t
}

// run calls fn on a fresh budget. Cancelling ctx stops it with ctx's error, so that
// a wall clock can make a trial unscored and never decides a verdict.
func run(ctx context.Context, name string, fn starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (v starlark.Value, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	defer contain(&err)
	t := newThread(name)
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { t.Cancel("the trial was stopped") })
		defer stop()
	}
	v, err = starlark.Call(t, fn, args, kwargs)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return v, err
}

// settle freezes what a file leaves behind. Freeze marks lists and objects, but
// follows functions and tuples each time it meets them, so a cycle or a thicket of
// them would not end: they are walked first, in the same way, within bounds.
func settle(values []starlark.Value) error {
	w := settler{seen: map[starlark.Value]bool{}}
	for _, v := range values {
		if err := w.walk(v, 0); err != nil {
			return err
		}
	}
	for _, v := range values {
		v.Freeze()
	}
	return nil
}

type settler struct {
	seen map[starlark.Value]bool
	work int
}

func (s *settler) walk(v starlark.Value, depth int) error {
	if s.work++; s.work > maxWork {
		return fmt.Errorf("global values: %w", errWork)
	}
	if depth > 2*MaxDepth {
		return errors.New("global values are nested too deep, or a function refers to itself; there is no recursion")
	}
	var parts []starlark.Value
	switch v := v.(type) {
	case *starlark.List:
		if !s.seen[v] {
			s.seen[v] = true
			for x := range v.Elements() {
				parts = append(parts, x)
			}
		}
	case *starlark.Dict:
		if !s.seen[v] {
			s.seen[v] = true
			for k, x := range v.Entries() {
				parts = append(parts, k, x)
			}
		}
	case starlark.Tuple:
		parts = v
	case *starlark.Function:
		parts = held(v)
	case *starlark.Builtin:
		parts = []starlark.Value{v.Receiver()}
	}
	for _, x := range parts {
		if x == nil {
			continue
		}
		if err := s.walk(x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// held are the defaults and the captured variables of a function; nil for none.
func held(fn *starlark.Function) []starlark.Value {
	var parts []starlark.Value
	for i := range fn.NumParams() {
		parts = append(parts, fn.ParamDefault(i))
	}
	for i := range fn.NumFreeVars() {
		_, x := fn.FreeVar(i)
		parts = append(parts, x)
	}
	return parts
}
