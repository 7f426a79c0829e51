package star

import (
	"fmt"

	"go.starlark.net/syntax"
)

// Names of the checked forms. They hold characters that no source can spell, so a
// program can neither call nor shadow them.
const (
	fnBinary  = "<binary>"  // (op, x, y)
	fnMethod  = "<method>"  // (x, name, args…)
	fnAttr    = "<attr>"    // (x, name), a method not called at once
	fnSlice   = "<slice>"   // (x[lo:hi:step])
	fnSpread  = "<spread>"  // (x), for *x and **x
	fnAugment = "<augment>" // (op, x, y), for x op= y
	fnUpdate  = "<update>"  // (op, container, key, y), for container[key] op= y
	fnTuple   = "<tuple>"   // ((a, b, …))
)

// checkedOps are the operators that can grow a value or walk one natively. The rest
// of the arithmetic works on numbers that these keep small.
var checkedOps = map[syntax.Token]bool{
	syntax.PLUS: true, syntax.STAR: true, syntax.PERCENT: true, syntax.PIPE: true, syntax.LTLT: true,
	syntax.EQL: true, syntax.NEQ: true, syntax.LT: true, syntax.LE: true, syntax.GT: true, syntax.GE: true,
	syntax.IN: true, syntax.NOT_IN: true,
}

// augmented maps op= to op.
var augmented = map[syntax.Token]syntax.Token{
	syntax.PLUS_EQ: syntax.PLUS, syntax.STAR_EQ: syntax.STAR, syntax.PERCENT_EQ: syntax.PERCENT,
	syntax.PIPE_EQ: syntax.PIPE, syntax.LTLT_EQ: syntax.LTLT,
}

// rewriteFile puts the checked forms into a file, in place.
func rewriteFile(f *syntax.File) error {
	if err := refuseStarLambdas(f); err != nil {
		return err
	}
	return rewriteBlock(f.Stmts)
}

func refuseStarLambdas(n syntax.Node) (err error) {
	syntax.Walk(n, func(n syntax.Node) bool {
		lambda, ok := n.(*syntax.LambdaExpr)
		if !ok {
			return true
		}
		for _, p := range lambda.Params {
			if u, star := p.(*syntax.UnaryExpr); star && u.X != nil && err == nil {
				err = at(u.OpPos, "*args and **kwargs are not available; name each parameter")
			}
		}
		return true
	})
	return err
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
		if err := rewriteParams(s.Params); err != nil {
			return nil, err
		}
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

// rewriteAssign keeps the single evaluation of the target of x op= y.
func rewriteAssign(s *syntax.AssignStmt) syntax.Stmt {
	op, checked := augmented[s.Op]
	if !checked {
		s.LHS, s.RHS = rewriteTarget(s.LHS), rewrite(s.RHS)
		return s
	}
	lhs := s.LHS
	for {
		p, ok := lhs.(*syntax.ParenExpr)
		if !ok {
			break
		}
		lhs = p.X
	}
	opLit := stringLit(op.String(), s.OpPos)
	if index, ok := lhs.(*syntax.IndexExpr); ok {
		return &syntax.ExprStmt{X: call(fnUpdate, s.OpPos, opLit, rewrite(index.X), rewrite(index.Y), rewrite(s.RHS))}
	}
	name, ok := lhs.(*syntax.Ident)
	if !ok { // the resolver reports it
		return s
	}
	read := &syntax.Ident{NamePos: name.NamePos, Name: name.Name}
	return &syntax.AssignStmt{OpPos: s.OpPos, Op: syntax.EQ, LHS: name, RHS: call(fnAugment, s.OpPos, opLit, read, rewrite(s.RHS))}
}

// rewriteTarget is for what is assigned to: its tuples and lists are patterns.
func rewriteTarget(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.TupleExpr:
		for i, e := range x.List {
			x.List[i] = rewriteTarget(e)
		}
		return x
	case *syntax.ListExpr:
		for i, e := range x.List {
			x.List[i] = rewriteTarget(e)
		}
		return x
	case *syntax.ParenExpr:
		x.X = rewriteTarget(x.X)
		return x
	case *syntax.IndexExpr:
		x.X, x.Y = rewrite(x.X), rewrite(x.Y)
		return x
	}
	return x
}

// rewriteParams refuses *args and **kwargs: they would make tuples unseen.
func rewriteParams(params []syntax.Expr) error {
	for i, p := range params {
		if u, ok := p.(*syntax.UnaryExpr); ok && u.X != nil {
			return at(u.OpPos, "*args and **kwargs are not available; name each parameter")
		}
		params[i] = rewrite(p)
	}
	return nil
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
		x.X, x.Y = rewrite(x.X), rewrite(x.Y)
	case *syntax.ListExpr:
		rewriteAll(x.List)
	case *syntax.TupleExpr:
		rewriteAll(x.List)
		start, _ := x.Span()
		return call(fnTuple, start, x)
	case *syntax.DictExpr:
		rewriteAll(x.List)
	case *syntax.DictEntry:
		x.Key, x.Value = rewrite(x.Key), rewrite(x.Value)
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

// rewriteBinary also meets name=value, in a call's arguments and a function's
// parameters: there only the value is an expression.
func rewriteBinary(x *syntax.BinaryExpr) syntax.Expr {
	if x.Op == syntax.EQ {
		x.Y = rewrite(x.Y)
		return x
	}
	x.X, x.Y = rewrite(x.X), rewrite(x.Y)
	if !checkedOps[x.Op] {
		return x
	}
	return call(fnBinary, x.OpPos, stringLit(x.Op.String(), x.OpPos), x.X, x.Y)
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
