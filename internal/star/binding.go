package star

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

// Bindings are the values that the expressions of an archetype see, with the
// functions of its Starlark file. They have the limits of a toolkit: no input, no
// clock, and no randomness but what is drawn from their seed.
type Bindings struct{ env starlark.StringDict }

// NewBindings reads the functions of a Starlark file; a zero Source has none. The
// seed decides pick, shuffled and between.
func NewBindings(functions agentbound.Source, seed string) (*Bindings, error) {
	env := with(drawing(seed))
	if functions.Text == "" {
		return &Bindings{env}, nil
	}
	f, err := parseFile(functions.Name, functions.Text)
	if err != nil {
		return nil, err
	}
	globals, err := program(f, env)
	if err != nil {
		return nil, positioned(functions.Name, err)
	}
	values := make([]starlark.Value, 0, len(globals))
	for _, name := range slices.Sorted(maps.Keys(globals)) {
		values = append(values, globals[name])
	}
	if err := settle(values); err != nil {
		return nil, fmt.Errorf("%s: %w", functions.Name, err)
	}
	maps.Copy(env, globals)
	return &Bindings{env}, nil
}

// Names are what an expression needs of the bindings that it is given by Bind: its
// free names that are no function.
func (b *Bindings) Names(expr string) ([]string, error) {
	e, err := parseExpr("expression", expr)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	syntax.Walk(e, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			seen[id.Name] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(seen)), nil
}

// Bind names a JSON value. It is frozen: an expression cannot change what another sees.
func (b *Bindings) Bind(name string, v agentbound.Value) error {
	x, err := Decode(v)
	if err != nil {
		return err
	}
	x.Freeze()
	b.env[name] = x
	return nil
}

// Taken reports whether a name is a function or a built-in, which no value may hide.
func (b *Bindings) Taken(name string) bool { return b.env.Has(name) || starlark.Universe.Has(name) }

// Eval gives an expression's value as JSON. Its errors carry line and column within
// the expression.
func (b *Bindings) Eval(ctx context.Context, expr string) (agentbound.Value, error) {
	v, err := b.eval(ctx, expr)
	if err != nil {
		return nil, err
	}
	return Encode(v)
}

// Literal gives an expression's value as Starlark source: "a" for a text, [1, 2] for
// a list.
func (b *Bindings) Literal(ctx context.Context, expr string) (string, error) {
	v, err := b.eval(ctx, expr)
	if err != nil {
		return "", err
	}
	if _, err := Encode(v); err != nil { // a value that no state could hold
		return "", err
	}
	return v.String(), nil
}

func (b *Bindings) eval(ctx context.Context, text string) (starlark.Value, error) {
	expr, err := parseExpr("expression", text)
	if err != nil {
		return nil, err
	}
	start, _ := expr.Span()
	const name = "expression"
	f := &syntax.File{Path: name, Options: dialect, Stmts: []syntax.Stmt{&syntax.DefStmt{
		Def: start, Name: &syntax.Ident{NamePos: start, Name: name}, Lparen: start, Rparen: start,
		Body: []syntax.Stmt{&syntax.ReturnStmt{Return: start, Result: expr}},
	}}}
	if err := rewriteFile(f); err != nil {
		return nil, err
	}
	globals, err := program(f, b.env)
	if err != nil {
		return nil, err
	}
	v, err := run(ctx, name, globals[name], nil, nil)
	if failed := (*starlark.EvalError)(nil); errors.As(err, &failed) {
		return nil, errors.New(failed.Msg)
	}
	return v, err
}

// drawing are the functions that make variation: drawn from a seed and a salt, so
// that a draw depends on nothing but what it is for.
func drawing(seed string) starlark.StringDict {
	number := func(salt string, n int) int {
		sum := sha256.Sum256(fmt.Appendf(nil, "agentbound/draw/1\x00%s\x00%s", seed, salt))
		return int(binary.BigEndian.Uint64(sum[:8]) % uint64(n))
	}
	builtin := func(name string, fn func(*starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)) *starlark.Builtin {
		return starlark.NewBuiltin(name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return fn(b, args, kwargs)
		})
	}
	items := func(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (*starlark.List, string, error) {
		var list *starlark.List
		var salt string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "items", &list, "salt", &salt); err != nil {
			return nil, "", err
		}
		if list.Len() == 0 || list.Len() > 4096 {
			return nil, "", fmt.Errorf("%s: a list of %d items; accepted: 1 to 4096", b.Name(), list.Len())
		}
		return list, salt, nil
	}
	return starlark.StringDict{
		"pick": builtin("pick", func(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			list, salt, err := items(b, args, kwargs)
			if err != nil {
				return nil, err
			}
			return list.Index(number(salt, list.Len())), nil
		}),
		"shuffled": builtin("shuffled", func(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			list, salt, err := items(b, args, kwargs)
			if err != nil {
				return nil, err
			}
			out := slices.Collect(list.Elements())
			for i := len(out) - 1; i > 0; i-- { // Fisher and Yates
				j := number(fmt.Sprintf("%s/%d", salt, i), i+1)
				out[i], out[j] = out[j], out[i]
			}
			return starlark.NewList(out), nil
		}),
		"between": builtin("between", func(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var lo, hi int
			var salt string
			if err := starlark.UnpackArgs(b.Name(), args, kwargs, "lo", &lo, "hi", &hi, "salt", &salt); err != nil {
				return nil, err
			}
			if hi < lo {
				return nil, fmt.Errorf("between: from %d to %d is no range; accepted: the lower number first", lo, hi)
			}
			if hi-lo < 0 || hi-lo >= 1<<40 { // below 0 where the difference itself overflows
				return nil, fmt.Errorf("between: from %d to %d are too many numbers; accepted: at most 2^40", lo, hi)
			}
			return starlark.MakeInt(lo + number(salt, hi-lo+1)), nil
		}),
		"day": builtin("day", func(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			date, days, err := dayArgs(b, args, kwargs)
			if err != nil {
				return nil, err
			}
			return starlark.String(date.AddDate(0, 0, days).Format(time.DateOnly)), nil
		}),
		"spoken": builtin("spoken", func(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			date, days, err := dayArgs(b, args, kwargs)
			if err != nil {
				return nil, err
			}
			return starlark.String(date.AddDate(0, 0, days).Format("2 January")), nil
		}),
	}
}

// dayArgs reads (date, days = 0), the date as 2031-05-19.
func dayArgs(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (time.Time, int, error) {
	var text string
	var days int
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "date", &text, "days?", &days); err != nil {
		return time.Time{}, 0, err
	}
	date, err := time.Parse(time.DateOnly, text)
	if err != nil || days < -100_000 || days > 100_000 {
		return time.Time{}, 0, fmt.Errorf("%s: %q and %d days; accepted: a date such as 2031-05-19 and at most 100,000 days", b.Name(), text, days)
	}
	return date, days, nil
}
