package star

import (
	"context"
	"fmt"
	"strings"

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
	Text  string // what it means, for people
	fn    *starlark.Function
	vars  []string
	calls bool // it reads them
}

// CompilePredicate compiles a criterion over the given names.
func CompilePredicate(c agentbound.Criterion, vars ...string) (*Predicate, error) {
	fn, err := compileExpr(c.Holds, vars)
	if err != nil {
		return nil, fmt.Errorf("predicate %q: %w", c.Text, err)
	}
	return &Predicate{Text: c.Text, fn: fn, vars: vars, calls: strings.Contains(c.Holds, "calls")}, nil
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

// noCalls stands for calls where a predicate does not read them.
var noCalls = func() *starlark.List {
	l := starlark.NewList(nil)
	l.Freeze()
	return l
}()

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
			args[i] = noCalls
			if p.calls {
				l, err := env.Calls.list()
				if err != nil {
					return false, fmt.Errorf("predicate %q: %w", p.Text, err)
				}
				args[i] = l
			}
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
// gives a longer list and leaves the shorter one as it was. It is for one goroutine.
type Calls struct{ made []*seenCall }

// seenCall is a call, in Starlark once a predicate asks for it: most do not.
type seenCall struct {
	tool         string
	args, result agentbound.Value
	ok           bool
	value        starlark.Value
}

// Add appends a call as {tool, args, ok, result}. args and result are JSON.
func (c Calls) Add(tool string, args agentbound.Value, ok bool, result agentbound.Value) Calls {
	n := len(c.made)
	return Calls{append(c.made[:n:n], &seenCall{tool: tool, args: args, ok: ok, result: result})}
}

// Len is the number of calls.
func (c Calls) Len() int { return len(c.made) }

func (c Calls) list() (*starlark.List, error) {
	elems := make([]starlark.Value, len(c.made))
	for i, call := range c.made {
		if err := call.decode(); err != nil {
			return nil, err
		}
		elems[i] = call.value
	}
	l := starlark.NewList(elems)
	l.Freeze()
	return l, nil
}

func (c *seenCall) decode() error {
	if c.value != nil {
		return nil
	}
	args, err := Decode(c.args)
	if err != nil {
		return fmt.Errorf("arguments of %s: %w", c.tool, err)
	}
	result, err := Decode(c.result)
	if err != nil {
		return fmt.Errorf("observation of %s: %w", c.tool, err)
	}
	d := starlark.NewDict(4)
	for _, kv := range []struct {
		k string
		v starlark.Value
	}{{"tool", starlark.String(c.tool)}, {"args", args}, {"ok", starlark.Bool(c.ok)}, {"result", result}} {
		if err := d.SetKey(starlark.String(kv.k), kv.v); err != nil {
			return err
		}
	}
	d.Freeze()
	c.value = d
	return nil
}
