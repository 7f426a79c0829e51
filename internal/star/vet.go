package star

import (
	"fmt"
	"math/big"

	"go.starlark.net/syntax"
)

// Bounds of a source. A call takes stack for the whole of the function's body and
// looks for itself among the calls in progress, in one step.
const (
	maxParts     = 8192 // expressions and statements of one function
	maxFunctions = 500  // of one file, lambdas included
	maxParams    = 255
)

// vet refuses what the checked forms would not bound.
func vet(f *syntax.File) error {
	v := vetter{bodies: []body{{of: f}}}
	var open []syntax.Node
	syntax.Walk(f, func(n syntax.Node) bool {
		if n != nil {
			open = append(open, n)
			v.enter(n)
			return true
		}
		n, open = open[len(open)-1], open[:len(open)-1]
		if last := len(v.bodies) - 1; v.bodies[last].of == n {
			v.bodies = v.bodies[:last]
		}
		return true
	})
	return v.err
}

type vetter struct {
	bodies    []body // the functions around, innermost last
	functions int
	err       error
}

type body struct {
	of    syntax.Node
	parts int
}

func (v *vetter) refuse(pos syntax.Position, format string, args ...any) {
	if v.err == nil {
		v.err = at(pos, fmt.Sprintf(format, args...))
	}
}

func (v *vetter) enter(n syntax.Node) {
	inner := &v.bodies[len(v.bodies)-1]
	if inner.parts++; inner.parts == maxParts+1 && len(v.bodies) > 1 {
		v.refuse(syntax.Start(inner.of), "a function of more than %d parts; split it", maxParts)
	}
	switch n := n.(type) {
	case *syntax.DefStmt:
		v.function(n, n.Def, n.Params)
	case *syntax.LambdaExpr:
		v.function(n, n.Lambda, n.Params)
	case *syntax.Literal:
		if i, ok := n.Value.(*big.Int); ok && i.BitLen() > maxIntBits {
			v.refuse(n.TokenPos, "a number of more than %d bits", maxIntBits)
		}
	}
}

func (v *vetter) function(n syntax.Node, pos syntax.Position, params []syntax.Expr) {
	v.bodies = append(v.bodies, body{of: n})
	if v.functions++; v.functions > maxFunctions {
		v.refuse(pos, "more than %d functions; split the file", maxFunctions)
	}
	if len(params) > maxParams {
		v.refuse(pos, "more than %d parameters", maxParams)
	}
	for _, p := range params {
		if u, star := p.(*syntax.UnaryExpr); star && u.X != nil { // they would make tuples and objects unseen
			v.refuse(u.OpPos, "*args and **kwargs are not available; name each parameter")
		}
	}
}
