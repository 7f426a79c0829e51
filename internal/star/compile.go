package star

import (
	"context"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// MaxSource is the size of the largest file or expression that is read.
const MaxSource = 256 << 10

// maxBrackets bounds the nesting of brackets in a source, which the parser follows
// by recursion.
const maxBrackets = 200

var dialect = &syntax.FileOptions{}

// parseFile reads and rewrites a source.
func parseFile(name, text string) (*syntax.File, error) {
	if err := plausible(name, text); err != nil {
		return nil, err
	}
	f, err := dialect.Parse(name, text, 0)
	if err != nil {
		return nil, err
	}
	return f, rewriteFile(f)
}

func parseExpr(name, text string) (syntax.Expr, error) {
	if err := plausible(name, text); err != nil {
		return nil, err
	}
	return dialect.ParseExpr(name, text, 0)
}

// plausible refuses what would be too much for a parser that recurses.
func plausible(name, text string) error {
	if len(text) > MaxSource {
		return fmt.Errorf("%s: %d bytes of source; at most %d are read", name, len(text), MaxSource)
	}
	depth, line, run := 0, 1, 0
	for _, c := range text {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\n':
			line++
		}
		switch c { // a run of unary operators recurses too
		case '-', '+', '~', ' ', '\n', '\t':
			run++
		default:
			run = 0
		}
		if depth > maxBrackets {
			return fmt.Errorf("%s:%d: brackets nested deeper than %d", name, line, maxBrackets)
		}
	}
	if n := strings.Count(text, "not not"); n > maxBrackets || run > 1<<14 {
		return fmt.Errorf("%s: operators nested deeper than %d", name, maxBrackets)
	}
	return nil
}

// program compiles a rewritten file whose free names are in env.
func program(f *syntax.File, env starlark.StringDict) (starlark.StringDict, error) {
	p, err := starlark.FileProgram(f, env.Has)
	if err != nil {
		return nil, err
	}
	return p.Init(newThread(f.Path), env)
}

func newThread(name string) *starlark.Thread {
	t := &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	t.SetMaxExecutionSteps(MaxSteps)
	return t
}

// run calls fn on a fresh budget. Cancelling ctx stops it with ctx's error, so that
// a wall clock can make a trial unscored and never decides a verdict.
func run(ctx context.Context, name string, fn starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := newThread(name)
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { t.Cancel("the trial was stopped") })
		defer stop()
	}
	v, err := starlark.Call(t, fn, args, kwargs)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return v, err
}
