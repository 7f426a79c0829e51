package star

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

// ParseCall reads a call as families write it, tool(name = literal, …).
func ParseCall(text string) (agentbound.Call, error) {
	expr, err := parseExpr("call", text)
	if err != nil {
		return agentbound.Call{}, err
	}
	c, ok := expr.(*syntax.CallExpr)
	if !ok {
		return agentbound.Call{}, at(syntax.Start(expr), "a call is written tool(name = value, …)")
	}
	tool, ok := c.Fn.(*syntax.Ident)
	if !ok {
		return agentbound.Call{}, at(syntax.Start(c.Fn), "a call begins with the name of a tool")
	}
	args := starlark.NewDict(len(c.Args))
	for _, a := range c.Args {
		if err := parseArg(args, a); err != nil {
			return agentbound.Call{}, err
		}
	}
	enc, err := Encode(args)
	return agentbound.Call{Tool: tool.Name, Args: enc}, err
}

func parseArg(args *starlark.Dict, a syntax.Expr) error {
	b, ok := a.(*syntax.BinaryExpr)
	if !ok || b.Op != syntax.EQ {
		return at(syntax.Start(a), "arguments are named: name = value")
	}
	name := starlark.String(b.X.(*syntax.Ident).Name) // the parser admits nothing else
	if _, twice, _ := args.Get(name); twice {
		return at(syntax.Start(a), fmt.Sprintf("argument %s is given twice", string(name)))
	}
	v, err := literal(b.Y)
	if err != nil {
		return err
	}
	return args.SetKey(name, v)
}

func literal(x syntax.Expr) (starlark.Value, error) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return literal(x.X)
	case *syntax.Literal:
		if x.Token == syntax.BYTES {
			break
		}
		if v, ok := x.Value.(*big.Int); ok && v.BitLen() > maxIntBits {
			return nil, at(x.TokenPos, errBits.Error())
		}
		return fromGo(x.Value)
	case *syntax.Ident:
		switch x.Name {
		case "True":
			return starlark.True, nil
		case "False":
			return starlark.False, nil
		case "None":
			return starlark.None, nil
		}
	case *syntax.UnaryExpr:
		if x.Op == syntax.MINUS && x.X != nil {
			v, err := literal(x.X)
			if err != nil {
				return nil, err
			}
			if minus, err := starlark.Unary(syntax.MINUS, v); err == nil {
				return minus, nil
			}
		}
	case *syntax.BinaryExpr: // "a" + "b", to fold a long text
		if x.Op == syntax.PLUS {
			return literalSum(x)
		}
	case *syntax.ListExpr:
		elems := make([]starlark.Value, len(x.List))
		for i, e := range x.List {
			v, err := literal(e)
			if err != nil {
				return nil, err
			}
			elems[i] = v
		}
		return starlark.NewList(elems), nil
	case *syntax.DictExpr:
		return literalDict(x)
	}
	return nil, at(syntax.Start(x), "a value is a literal: a text, a number, True, False, None, a list or an object of them")
}

// literalSum walks down the left of a + b + c, which may be long.
func literalSum(x *syntax.BinaryExpr) (starlark.Value, error) {
	var parts []string
	add := func(x syntax.Expr, pos syntax.Position) error {
		v, err := literal(x)
		if err != nil {
			return err
		}
		s, ok := starlark.AsString(v)
		if !ok {
			return at(pos, "only texts are added in a call; write the value out")
		}
		parts = append(parts, s)
		return nil
	}
	for {
		if err := add(x.Y, x.OpPos); err != nil {
			return nil, err
		}
		left, ok := x.X.(*syntax.BinaryExpr)
		if !ok || left.Op != syntax.PLUS {
			break
		}
		x = left
	}
	if err := add(x.X, x.OpPos); err != nil {
		return nil, err
	}
	slices.Reverse(parts)
	return starlark.String(strings.Join(parts, "")), nil
}

func literalDict(x *syntax.DictExpr) (starlark.Value, error) {
	d := starlark.NewDict(len(x.List))
	for _, e := range x.List {
		entry := e.(*syntax.DictEntry)
		k, err := literal(entry.Key)
		if err != nil {
			return nil, err
		}
		if k.Type() != "string" {
			return nil, at(syntax.Start(entry.Key), "a key is a text")
		}
		if _, twice, _ := d.Get(k); twice {
			return nil, at(syntax.Start(entry.Key), fmt.Sprintf("key %s is given twice", k))
		}
		v, err := literal(entry.Value)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(k, v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// FormatCall writes a call as ParseCall reads it; what has no such form (a name that
// is none in Starlark, malformed arguments) as agentbound.Call has it.
func FormatCall(c agentbound.Call) string {
	v, err := Decode(c.Args)
	d, ok := v.(*starlark.Dict)
	if err != nil || !ok {
		return c.String()
	}
	parts := make([]string, 0, d.Len())
	for k, v := range d.Entries() {
		parts = append(parts, string(k.(starlark.String))+" = "+v.String())
	}
	text := c.Tool + "(" + strings.Join(parts, ", ") + ")"
	back, err := ParseCall(text)
	if err != nil || back.Tool != c.Tool {
		return c.String()
	}
	if again, err := Decode(back.Args); err != nil || !sameTree(again, v) {
		return c.String()
	}
	return text
}
