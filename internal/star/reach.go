package star

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// reach is what a tool's program can touch of the state: the parts at the top that it
// names. A program that uses the state in any other way than state["part"], or hands it
// to a function of its file that does, can touch all.
type reach struct {
	all   bool
	parts []string
}

// Reaches reports whether a tool can touch one of the parts at the top of the state. It
// may say yes where the tool never does, and never no where it could.
func (k *Kit) Reaches(tool string, parts []string) bool {
	t, known := k.byName[tool]
	if !known {
		return false // the state is not looked at
	}
	return t.reach.all || slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(t.reach.parts, p) })
}

// reaching works out the reach of the functions of a file, before it is rewritten.
type reaching struct {
	defs   map[string]*syntax.DefStmt
	values map[string]syntax.Node // what else is named at the top
}

func newReaching(f *syntax.File) reaching {
	r := reaching{map[string]*syntax.DefStmt{}, map[string]syntax.Node{}}
	for _, s := range f.Stmts {
		switch s := s.(type) {
		case *syntax.DefStmt:
			r.defs[s.Name.Name] = s
		case *syntax.AssignStmt:
			syntax.Walk(s.LHS, func(n syntax.Node) bool {
				if id, ok := n.(*syntax.Ident); ok {
					r.values[id.Name] = s
				}
				return true
			})
		}
	}
	return r
}

// of is the reach of a function of the file, whose first parameter is the state.
func (r reaching) of(fn *starlark.Function) reach {
	d, ok := r.defs[fn.Name()]
	if !ok || d.Def.Line != fn.Position().Line || d.Def.Col != fn.Position().Col { // made by another function
		return reach{all: true}
	}
	w := reachWalk{reaching: r, seen: map[string]bool{}}
	w.function(fn.Name(), 0)
	return w.reach
}

type reachWalk struct {
	reaching
	reach
	seen map[string]bool // by function and the place of the state among its parameters
}

func (w *reachWalk) function(name string, param int) {
	key := name + "/" + string(rune('0'+param))
	if w.seen[key] || w.all {
		return
	}
	w.seen[key] = true
	d, ok := w.defs[name]
	if !ok || param > 9 || param >= len(d.Params) {
		w.all = true
		return
	}
	state, ok := d.Params[param].(*syntax.Ident)
	if !ok { // the state has a default
		w.all = true
		return
	}
	w.body(d, state.Name)
}

// body looks at each use of the state in a function.
func (w *reachWalk) body(d *syntax.DefStmt, state string) {
	var above []syntax.Node
	syntax.Walk(d, func(n syntax.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if id, ok := n.(*syntax.Ident); ok && id.Name == state {
			w.use(id, above, d)
		}
		above = append(above, n)
		return true
	})
}

// use reads one mention of the state: as a parameter of the function itself, as
// state["part"], or as an argument of a function of the file. Any other can be anything.
func (w *reachWalk) use(id *syntax.Ident, above []syntax.Node, d *syntax.DefStmt) {
	switch parent := above[len(above)-1].(type) {
	case *syntax.DefStmt:
		if parent == d && slices.Contains(d.Params, syntax.Expr(id)) {
			return
		}
	case *syntax.IndexExpr:
		if part, ok := parent.Y.(*syntax.Literal); ok && parent.X == syntax.Expr(id) && part.Token == syntax.STRING {
			if name := part.Value.(string); !slices.Contains(w.parts, name) {
				w.parts = append(w.parts, name)
			}
			return
		}
	case *syntax.CallExpr:
		fn, ok := parent.Fn.(*syntax.Ident)
		if i := slices.Index(parent.Args, syntax.Expr(id)); ok && i >= 0 && w.defs[fn.Name] != nil {
			w.function(fn.Name, i)
			return
		}
	}
	w.all = true
}

// Touches gives the parts at the top of the state that a tool can touch; all reports
// that it can touch any.
func (k *Kit) Touches(tool string) (parts []string, all bool) {
	t, known := k.byName[tool]
	if !known {
		return nil, false
	}
	return slices.Clone(t.reach.parts), t.reach.all
}

// ReadOnly reports whether a tool certainly changes nothing: neither its program nor a
// function of its file that it names has a form that could change a value. It may say no
// of a tool that never does, and never yes of one that could.
func (k *Kit) ReadOnly(tool string) bool {
	t, known := k.byName[tool]
	return known && t.reads
}

// changing are the methods that change the list or object they are called on.
var changing = []string{"append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}

func (r reaching) readOnly(fn *starlark.Function) bool {
	d, ok := r.defs[fn.Name()]
	if !ok || d.Def.Line != fn.Position().Line || d.Def.Col != fn.Position().Col {
		return false
	}
	pure, seen, queue := true, map[string]bool{fn.Name(): true}, []syntax.Node{d}
	for len(queue) > 0 && pure {
		next := queue[0]
		queue = queue[1:]
		syntax.Walk(next, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.AssignStmt:
				pure = pure && n.Op == syntax.EQ && plainTarget(n.LHS) // x += y changes the list that x names
			case *syntax.ForStmt:
				pure = pure && plainTarget(n.Vars)
			case *syntax.ForClause:
				pure = pure && plainTarget(n.Vars)
			case *syntax.DotExpr: // called, or kept to be called
				pure = pure && !slices.Contains(changing, n.Name.Name)
			case *syntax.Ident:
				pure = pure && n.Name != "getattr"
				if !seen[n.Name] {
					seen[n.Name] = true
					queue = append(queue, r.named(n.Name)...)
				}
			}
			return true
		})
	}
	return pure
}

// named is what a name at the top of the file stands for, as far as it is written there.
func (r reaching) named(name string) []syntax.Node {
	var nodes []syntax.Node
	if d := r.defs[name]; d != nil {
		nodes = append(nodes, d)
	}
	if v := r.values[name]; v != nil {
		nodes = append(nodes, v)
	}
	return nodes
}

// plainTarget reports whether what is assigned to are names alone.
func plainTarget(target syntax.Node) bool {
	plain := true
	syntax.Walk(target, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.IndexExpr, *syntax.DotExpr, *syntax.SliceExpr:
			plain = false
		}
		return true
	})
	return plain
}
