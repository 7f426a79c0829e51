package star

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

// Effects are what a tool's program can do to the state, as far as its text tells: all
// places that it can write, and of what it writes there where it comes from. They hold
// for every call: what the text does not tell is left open, never guessed.
type Effects struct {
	Open   bool // the text does not tell: it can write wherever it can reach
	Writes []Write
}

// Write is one place in a program that writes.
type Write struct {
	Kind  WriteKind
	Path  []Source // from the top of the state; of Add: of the list
	Value []Source // what it can be; none: not known
	Sure  bool     // every call that succeeds does it
	Loop  bool     // a call can do it more than once
}

// WriteKind says what a program does at a place.
type WriteKind string

// Add puts an item at the end of a list, Put a value at a place, Omit leaves items of a
// list out, Any may do all of that there and below.
const (
	Add  WriteKind = "add"
	Put  WriteKind = "put"
	Omit WriteKind = "omit"
	Any  WriteKind = "any"
)

// Source is where a value, or a segment of a path, comes from.
type Source struct {
	From   Origin
	Value  agentbound.Value    // of Literal
	Path   []Source            // below From, of Argument and State
	Folded bool                // its case and the space around it may have changed
	Fields map[string][]Source // of Record, by name; a field with none is not known
}

// Origin is what a value is taken from.
type Origin string

// The origins. Unknown, of a segment, stands for any.
const (
	Unknown  Origin = "unknown"
	Literal  Origin = "literal"
	Argument Origin = "argument"
	Standing Origin = "state" // what stands there before the call
	Record   Origin = "record"
)

// Effects gives what a tool can do to the state.
func (k *Kit) Effects(tool string) Effects {
	t, known := k.byName[tool]
	if !known {
		return Effects{}
	}
	return t.effects
}

// effects reads the text of a function of the file, whose first parameter is the state.
func (r reaching) effects(fn *starlark.Function) Effects {
	d, ok := r.defs[fn.Name()]
	if !ok || d.Def.Line != fn.Position().Line || d.Def.Col != fn.Position().Col || len(d.Params) == 0 {
		return Effects{Open: true}
	}
	w := &effectWalk{reaching: r}
	env := newScope(d)
	for i, p := range d.Params {
		name, ok := paramName(p)
		if !ok {
			return Effects{Open: true}
		}
		from := &source{from: Argument, path: []values{{alts: []*source{literal_(name)}}}}
		if i == 0 {
			from = &source{from: Standing}
		}
		env.given[name] = values{alts: []*source{from}}
	}
	w.function(env, true, 0)
	if w.open {
		return Effects{Open: true}
	}
	return w.done()
}

func paramName(p syntax.Expr) (string, bool) {
	switch p := p.(type) {
	case *syntax.Ident:
		return p.Name, true
	case *syntax.BinaryExpr: // name = default
		id, ok := p.X.(*syntax.Ident)
		if ok {
			return id.Name, true
		}
	}
	return "", false
}

// effectWalk follows a tool and the functions that it calls.
type effectWalk struct {
	reaching
	open    bool
	writes  []write
	escaped values // parts of the state that were put into other containers
	blind   bool   // something was written that could be any of those
	inside  []string
	steps   int
	cuts    int // names that were bound to what is made of themselves
}

type write struct {
	kind  WriteKind
	at    *source // of the state
	value values
	sure  bool
	loop  bool
}

// scope is a function at work: what its names can stand for.
type scope struct {
	def     *syntax.DefStmt
	given   map[string]values // of parameters
	bound   map[string][]binding
	memo    map[string]values
	active  map[string]bool
	records map[*syntax.DictExpr]*source
}

// binding is one way in which a name gets its value.
type binding struct {
	x    syntax.Expr
	how  string // "": the value of x; "item": an item of it; "part": something below it
	self bool   // x folds the name's own text
}

func newScope(d *syntax.DefStmt) *scope {
	s := &scope{
		def: d, given: map[string]values{}, bound: map[string][]binding{}, memo: map[string]values{}, active: map[string]bool{},
		records: map[*syntax.DictExpr]*source{},
	}
	syntax.Walk(d, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			how := ""
			if n.Op != syntax.EQ {
				how = "part"
			}
			s.bind(n.LHS, n.RHS, how)
		case *syntax.ForStmt:
			s.bind(n.Vars, n.X, "item")
		case *syntax.ForClause:
			s.bind(n.Vars, n.X, "item")
		}
		return true
	})
	return s
}

func (s *scope) bind(target, x syntax.Expr, how string) {
	switch target := unparen(target).(type) {
	case *syntax.Ident:
		self := how == "" && folds(x, target.Name)
		s.bound[target.Name] = append(s.bound[target.Name], binding{x, how, self})
	case *syntax.TupleExpr:
		s.bindAll(target.List, x, how)
	case *syntax.ListExpr:
		s.bindAll(target.List, x, how)
	}
}

func (s *scope) bindAll(targets []syntax.Expr, x syntax.Expr, how string) {
	tuple, ok := unparen(x).(*syntax.TupleExpr)
	for i, t := range targets {
		if ok && how == "" && len(tuple.List) == len(targets) {
			s.bind(t, tuple.List[i], "")
		} else {
			s.bind(t, x, "part")
		}
	}
}

// foldings are the methods that change the case of a text or the space around it.
var foldings = []string{"lower", "lstrip", "rstrip", "strip", "title", "upper"}

// folds reports whether an expression is a name's own text but for its case and the space
// around it.
func folds(x syntax.Expr, name string) bool {
	c, ok := unparen(x).(*syntax.CallExpr)
	if !ok || len(c.Args) > 0 {
		return false
	}
	dot, ok := c.Fn.(*syntax.DotExpr)
	if !ok || !slices.Contains(foldings, dot.Name.Name) {
		return false
	}
	if id, ok := unparen(dot.X).(*syntax.Ident); ok {
		return id.Name == name
	}
	return folds(dot.X, name)
}

// function walks a body. sure: each statement is reached by every call that succeeds, until
// one that may end it. It gives what the function can return.
func (w *effectWalk) function(s *scope, sure bool, loops int) values {
	const deepest = 6
	if len(w.inside) >= deepest || slices.Contains(w.inside, s.def.Name.Name) {
		w.open = true
		return values{}
	}
	w.inside = append(w.inside, s.def.Name.Name)
	defer func() { w.inside = w.inside[:len(w.inside)-1] }()
	return w.block(s, s.def.Body, sure, loops)
}

func (w *effectWalk) block(s *scope, stmts []syntax.Stmt, sure bool, loops int) (returned values) {
	for _, st := range stmts {
		switch st := st.(type) {
		case *syntax.AssignStmt:
			w.assign(s, st, sure, loops)
		case *syntax.ExprStmt:
			w.eval(s, st.X, sure, loops)
		case *syntax.ReturnStmt:
			if st.Result != nil {
				returned.add(w.eval(s, st.Result, sure, loops))
			}
		case *syntax.IfStmt:
			w.eval(s, st.Cond, false, loops)
			returned.add(w.block(s, st.True, false, loops))
			returned.add(w.block(s, st.False, false, loops))
		case *syntax.ForStmt:
			w.eval(s, st.X, false, loops)
			returned.add(w.block(s, st.Body, false, loops+1))
		case *syntax.BranchStmt:
		default:
			w.open = true
		}
		sure = sure && !leaves(st)
	}
	return returned
}

// leaves reports whether a statement may end its function, but by failing.
func leaves(s syntax.Stmt) (yes bool) {
	syntax.Walk(s, func(n syntax.Node) bool {
		_, ret := n.(*syntax.ReturnStmt)
		yes = yes || ret
		return true
	})
	return yes
}

// assign is a statement that binds names, which the scope knows, or writes.
func (w *effectWalk) assign(s *scope, a *syntax.AssignStmt, sure bool, loops int) {
	v := w.eval(s, a.RHS, sure, loops)
	switch target := unparen(a.LHS).(type) {
	case *syntax.Ident:
		if a.Op != syntax.EQ { // x += y changes the list that x names
			w.put(s.at(w, target.Name), Any, values{unknown: true}, false, true)
			w.escape(v)
		}
	case *syntax.IndexExpr:
		w.store(s, a, target, v, sure, loops)
	default:
		w.open = w.open || !plainTarget(target)
	}
}

func (w *effectWalk) store(s *scope, a *syntax.AssignStmt, target *syntax.IndexExpr, v values, sure bool, loops int) {
	holder, key := w.eval(s, target.X, false, loops), w.eval(s, target.Y, false, loops)
	sure = sure && len(holder.alts) == 1 && !holder.unknown && !holder.alts[0].copied
	for _, h := range holder.alts {
		switch h.from {
		case Record:
			h.changed = true
			w.escape(v)
		case fresh:
			w.escape(v)
		case Standing:
			kind, what := Put, v
			if a.Op != syntax.EQ {
				what = values{unknown: true}
				w.escape(v)
			}
			if left := w.omits(s, a, h, key); left {
				kind = Omit
			}
			w.put(values{alts: []*source{h.below(key)}}, kind, what, sure && a.Op == syntax.EQ, loops > 0)
		}
	}
	if holder.unknown {
		w.blind = true
		w.escape(v)
	}
}

// omits reports whether state["x"] = [i for i in state["x"] if …] is assigned, which only
// leaves items out.
func (w *effectWalk) omits(s *scope, a *syntax.AssignStmt, holder *source, key values) bool {
	c, ok := unparen(a.RHS).(*syntax.Comprehension)
	if !ok || c.Curly || a.Op != syntax.EQ || len(c.Clauses) == 0 {
		return false
	}
	first, ok := c.Clauses[0].(*syntax.ForClause)
	if !ok {
		return false
	}
	for _, more := range c.Clauses[1:] {
		if _, isIf := more.(*syntax.IfClause); !isIf {
			return false
		}
	}
	item, ok := first.Vars.(*syntax.Ident)
	body, plain := unparen(c.Body).(*syntax.Ident)
	if !ok || !plain || body.Name != item.Name {
		return false
	}
	from := w.eval(s, first.X, false, 0)
	return len(from.alts) == 1 && !from.unknown && from.alts[0].exact() && from.alts[0].equal(holder.below(key))
}

// put notes a write to what can be at a place.
func (w *effectWalk) put(at values, kind WriteKind, v values, sure, loop bool) {
	for _, a := range at.alts {
		switch {
		case a.from == Record:
			a.changed = true
		case a.from == Standing && len(a.path) == 0:
			w.open = true
		case a.from == Standing && (a.deep || a.copied):
			w.writes = append(w.writes, write{kind: Any, at: a, value: values{unknown: true}, loop: true})
		case a.from == Standing:
			w.writes = append(w.writes, write{kind, a, v, sure && len(at.alts) == 1 && !at.unknown, loop})
		}
	}
	w.blind = w.blind || at.unknown
}

// escape notes what of the state is put into another container: it may come out of it
// under another name.
func (w *effectWalk) escape(v values) {
	w.escaped.add(v.deepened())
}
