package star

import (
	"fmt"

	"go.starlark.net/syntax"
)

// Names of the checked forms. They hold characters that no source can spell, so a
// program can neither call nor shadow them.
const (
	fnBinary  = "<op> "     // + op: (x, y)
	fnAugment = "<name op>" // + op: (x, y), for x op= y
	fnUpdate  = "<item op>" // + op: (place, y), for container[key] op= y
	fnPlace   = "<place>"   // (container, key)
	fnMethod  = "<method>"  // (x, name, args…)
	fnAttr    = "<attr>"    // (x, name), a method not called at once
	fnSlice   = "<slice>"   // (x[lo:hi:step])
	fnSpread  = "<spread>"  // (x), for *x and **x
	fnKey     = "<key>"     // (x), in container[x] and {x: …}
	fnEmpty   = "<{}>"      // ()
)

// checkedOps are the operators that can grow a value or walk one natively. The rest
// of the arithmetic works on numbers that these keep small.
var checkedOps = map[syntax.Token]bool{
	syntax.PLUS: true, syntax.MINUS: true, syntax.STAR: true, syntax.PERCENT: true, syntax.PIPE: true, syntax.LTLT: true,
	syntax.EQL: true, syntax.NEQ: true, syntax.LT: true, syntax.LE: true, syntax.GT: true, syntax.GE: true,
	syntax.IN: true, syntax.NOT_IN: true,
}

// augmented maps op= to op.
var augmented = map[syntax.Token]syntax.Token{
	syntax.PLUS_EQ: syntax.PLUS, syntax.MINUS_EQ: syntax.MINUS, syntax.STAR_EQ: syntax.STAR, syntax.PERCENT_EQ: syntax.PERCENT,
	syntax.PIPE_EQ: syntax.PIPE, syntax.LTLT_EQ: syntax.LTLT,
}

// rewriteFile puts the checked forms into a file, in place.
func rewriteFile(f *syntax.File) error {
	if err := vet(f); err != nil {
		return err
	}
	return rewriteBlock(f.Stmts)
}

func rewriteBlock(stmts []syntax.Stmt) error {
	for i, s := range stmts {
		r, err := rewriteStmt(s)
		if err != nil {
			return err
		}
		stmts[i] = r
	}
	return nil
}

func rewriteStmt(s syntax.Stmt) (syntax.Stmt, error) {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return rewriteAssign(s), nil
	case *syntax.DefStmt:
		rewriteAll(s.Params)
		return s, rewriteBlock(s.Body)
	case *syntax.ExprStmt:
		s.X = rewrite(s.X)
	case *syntax.IfStmt:
		s.Cond = rewrite(s.Cond)
		if err := rewriteBlock(s.True); err != nil {
			return nil, err
		}
		return s, rewriteBlock(s.False)
	case *syntax.ForStmt:
		s.Vars, s.X = rewriteTarget(s.Vars), rewrite(s.X)
		return s, rewriteBlock(s.Body)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			s.Result = rewrite(s.Result)
		}
	case *syntax.BranchStmt:
	case *syntax.LoadStmt:
		return nil, at(s.Load, "load is not available; put shared tools into a toolkit of the suite")
	case *syntax.WhileStmt:
		return nil, at(s.While, "while is not available; use a for loop over a range")
	default:
		start, _ := s.Span()
		return nil, at(start, fmt.Sprintf("a %T is not available", s))
	}
	return s, nil
}

// rewriteAssign keeps the single evaluation of the target of x op= y, and its order:
// container, key, what is there, y.
func rewriteAssign(s *syntax.AssignStmt) syntax.Stmt {
	op, checked := augmented[s.Op]
	if !checked || isNumber(s.RHS) && (op == syntax.PLUS || op == syntax.MINUS) {
		s.LHS, s.RHS = rewriteTarget(s.LHS), rewrite(s.RHS)
		return s
	}
	switch lhs := unparen(s.LHS).(type) {
	case *syntax.IndexExpr:
		place := call(fnPlace, lhs.Lbrack, rewrite(lhs.X), rewrite(lhs.Y))
		return &syntax.ExprStmt{X: call(fnUpdate+op.String(), s.OpPos, place, rewrite(s.RHS))}
	case *syntax.Ident:
		read := &syntax.Ident{NamePos: lhs.NamePos, Name: lhs.Name}
		return &syntax.AssignStmt{OpPos: s.OpPos, Op: syntax.EQ, LHS: lhs, RHS: call(fnAugment+op.String(), s.OpPos, read, rewrite(s.RHS))}
	}
	s.LHS, s.RHS = rewriteTarget(s.LHS), rewrite(s.RHS) // the resolver reports it, or no value has such a field
	return s
}

// rewriteTarget is for what is assigned to: its tuples and lists are patterns.
func rewriteTarget(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.TupleExpr:
		for i, e := range x.List {
			x.List[i] = rewriteTarget(e)
		}
	case *syntax.ListExpr:
		for i, e := range x.List {
			x.List[i] = rewriteTarget(e)
		}
	case *syntax.ParenExpr:
		x.X = rewriteTarget(x.X)
	case *syntax.IndexExpr:
		x.X, x.Y = rewrite(x.X), rewriteKey(x.Y)
	case *syntax.DotExpr:
		x.X = rewrite(x.X)
	}
	return x
}

func rewriteAll(list []syntax.Expr) {
	for i, x := range list {
		list[i] = rewrite(x)
	}
}

func rewrite(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.BinaryExpr:
		return rewriteBinary(x)
	case *syntax.CallExpr:
		return rewriteCall(x)
	case *syntax.DotExpr:
		return call(fnAttr, x.Dot, rewrite(x.X), stringLit(x.Name.Name, x.NamePos))
	case *syntax.SliceExpr:
		x.X = rewrite(x.X)
		for _, p := range []*syntax.Expr{&x.Lo, &x.Hi, &x.Step} {
			if *p != nil {
				*p = rewrite(*p)
			}
		}
		return call(fnSlice, x.Lbrack, x)
	case *syntax.ParenExpr:
		x.X = rewrite(x.X)
	case *syntax.UnaryExpr:
		if x.X != nil {
			x.X = rewrite(x.X)
		}
	case *syntax.IndexExpr:
		x.X, x.Y = rewrite(x.X), rewriteKey(x.Y)
	case *syntax.ListExpr:
		rewriteAll(x.List)
	case *syntax.TupleExpr:
		rewriteAll(x.List)
	case *syntax.DictExpr:
		if len(x.List) == 0 {
			return call(fnEmpty, x.Lbrace)
		}
		rewriteAll(x.List)
	case *syntax.DictEntry:
		x.Key, x.Value = rewriteKey(x.Key), rewrite(x.Value)
	case *syntax.CondExpr:
		x.Cond, x.True, x.False = rewrite(x.Cond), rewrite(x.True), rewrite(x.False)
	case *syntax.LambdaExpr:
		rewriteAll(x.Params)
		x.Body = rewrite(x.Body)
	case *syntax.Comprehension:
		x.Body = rewrite(x.Body)
		rewriteClauses(x.Clauses)
	}
	return x
}

func rewriteClauses(clauses []syntax.Node) {
	for _, c := range clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			c.Vars, c.X = rewriteTarget(c.Vars), rewrite(c.X)
		case *syntax.IfClause:
			c.Cond = rewrite(c.Cond)
		}
	}
}

// rewriteKey lets a key be charged, except where the source shows that it is short.
func rewriteKey(x syntax.Expr) syntax.Expr {
	if lit, ok := unparen(x).(*syntax.Literal); ok && (lit.Token == syntax.STRING && isScalar(x) || lit.Token == syntax.INT && isNumber(x)) {
		return x
	}
	return call(fnKey, syntax.Start(x), rewrite(x))
}

// rewriteBinary also meets name=value, in a call's arguments and a function's
// parameters: there only the value is an expression.
func rewriteBinary(x *syntax.BinaryExpr) syntax.Expr {
	if x.Op == syntax.EQ {
		x.Y = rewrite(x.Y)
		return x
	}
	cheap := !checkedOps[x.Op]
	switch x.Op {
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE:
		cheap = isScalar(x.X) || isScalar(x.Y)
	case syntax.PLUS, syntax.MINUS:
		cheap = isNumber(x.X) || isNumber(x.Y)
	}
	x.X, x.Y = rewrite(x.X), rewrite(x.Y)
	if cheap {
		return x
	}
	return call(fnBinary+x.Op.String(), x.OpPos, x.X, x.Y)
}

// isScalar reports a literal that is cheap to compare with anything, isNumber one
// that is cheap to add to anything.
func isScalar(x syntax.Expr) bool {
	lit, ok := unparen(x).(*syntax.Literal)
	return ok && len(lit.Raw) <= 256
}

func isNumber(x syntax.Expr) bool {
	lit, ok := unparen(x).(*syntax.Literal)
	return ok && (lit.Token == syntax.INT || lit.Token == syntax.FLOAT) && len(lit.Raw) <= 9
}

func unparen(x syntax.Expr) syntax.Expr {
	for {
		p, ok := x.(*syntax.ParenExpr)
		if !ok {
			return x
		}
		x = p.X
	}
}

func rewriteCall(x *syntax.CallExpr) syntax.Expr {
	for i, a := range x.Args {
		if u, ok := a.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) && u.X != nil {
			u.X = call(fnSpread, u.OpPos, rewrite(u.X))
			continue
		}
		x.Args[i] = rewrite(a)
	}
	dot, ok := x.Fn.(*syntax.DotExpr)
	if !ok {
		x.Fn = rewrite(x.Fn)
		return x
	}
	args := append([]syntax.Expr{rewrite(dot.X), stringLit(dot.Name.Name, dot.NamePos)}, x.Args...)
	c := call(fnMethod, dot.NamePos, args...)
	c.Lparen, c.Rparen = x.Lparen, x.Rparen
	return c
}

func call(fn string, pos syntax.Position, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: &syntax.Ident{NamePos: pos, Name: fn}, Lparen: pos, Args: args, Rparen: pos}
}

func stringLit(s string, pos syntax.Position) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: pos, Raw: fmt.Sprintf("%q", s), Value: s}
}

func at(pos syntax.Position, msg string) error { return syntax.Error{Pos: pos, Msg: msg} }
