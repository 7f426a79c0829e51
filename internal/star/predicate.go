package star

import (
	"context"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

// The names a predicate sees (design §2), and those of a once event.
var (
	JudgeNames = []string{"start", "before", "after", "calls"}
	OnceNames  = []string{"calls"}
)

// Predicate is a compiled Starlark expression that is true or false.
type Predicate struct {
	Text string // what it means, for people
	fn   *starlark.Function
	vars []string
}

// CompilePredicate compiles a criterion over the given names.
func CompilePredicate(c agentbound.Criterion, vars ...string) (*Predicate, error) {
	fn, err := compileExpr(c.Holds, vars)
	if err != nil {
		return nil, fmt.Errorf("predicate %q: %w", c.Text, err)
	}
	return &Predicate{Text: c.Text, fn: fn, vars: vars}, nil
}

// CheckPredicate reports what keeps an expression from being compiled: a
// syntax.Error or a resolve.ErrorList, with line and column within the expression.
func CheckPredicate(expr string, vars ...string) error {
	_, err := compileExpr(expr, vars)
	return err
}

func compileExpr(text string, vars []string) (*starlark.Function, error) {
	expr, err := parseExpr("predicate", text)
	if err != nil {
		return nil, err
	}
	start, _ := expr.Span()
	params := make([]syntax.Expr, len(vars))
	for i, v := range vars {
		params[i] = &syntax.Ident{NamePos: start, Name: v}
	}
	f := &syntax.File{Path: "predicate", Options: dialect, Stmts: []syntax.Stmt{&syntax.DefStmt{
		Def: start, Name: &syntax.Ident{NamePos: start, Name: "predicate"}, Lparen: start, Params: params, Rparen: start,
		Body: []syntax.Stmt{&syntax.ReturnStmt{Return: start, Result: expr}},
	}}}
	if err := rewriteFile(f); err != nil {
		return nil, err
	}
	globals, err := program(f, universe)
	if err != nil {
		return nil, err
	}
	globals.Freeze()
	return globals["predicate"].(*starlark.Function), nil
}

// Env is what a predicate is asked about.
type Env struct {
	Start, Before, After State
	Calls                Calls
}

// Holds evaluates the predicate. Anything but True or False is an error: a missing
// criterion must never pass.
func (p *Predicate) Holds(ctx context.Context, env Env) (bool, error) {
	args := make(starlark.Tuple, len(p.vars))
	for i, name := range p.vars {
		switch name {
		case "start":
			args[i] = env.Start.v
		case "before":
			args[i] = env.Before.v
		case "after":
			args[i] = env.After.v
		case "calls":
			args[i] = env.Calls.list()
		}
		if args[i] == nil {
			return false, fmt.Errorf("predicate %q: %s is missing", p.Text, name)
		}
	}
	v, err := run(ctx, "predicate", p.fn, args, nil)
	if err != nil {
		return false, fmt.Errorf("predicate %q: %w", p.Text, err)
	}
	b, ok := v.(starlark.Bool)
	if !ok {
		return false, fmt.Errorf("predicate %q: it must give True or False, and gave a %s; write it as a comparison or with any(), all(), bool()", p.Text, v.Type())
	}
	return bool(b), nil
}

// Calls is the list of calls that predicates see. The zero value is empty; Add
// gives a longer list and leaves the shorter one as it was.
type Calls struct{ elems []starlark.Value }

// Add appends a call as {tool, args, ok, result}. args and result are JSON.
func (c Calls) Add(tool string, args agentbound.Value, ok bool, result agentbound.Value) (Calls, error) {
	a, err := Decode(args)
	if err != nil {
		return c, fmt.Errorf("arguments of %s: %w", tool, err)
	}
	r, err := Decode(result)
	if err != nil {
		return c, fmt.Errorf("observation of %s: %w", tool, err)
	}
	d := starlark.NewDict(4)
	for _, kv := range []struct {
		k string
		v starlark.Value
	}{{"tool", starlark.String(tool)}, {"args", a}, {"ok", starlark.Bool(ok)}, {"result", r}} {
		if err := d.SetKey(starlark.String(kv.k), kv.v); err != nil {
			return c, err
		}
	}
	d.Freeze()
	n := len(c.elems)
	return Calls{append(c.elems[:n:n], d)}, nil
}

// Len is the number of calls.
func (c Calls) Len() int { return len(c.elems) }

func (c Calls) list() *starlark.List {
	l := starlark.NewList(c.elems[:len(c.elems):len(c.elems)])
	l.Freeze()
	return l
}
