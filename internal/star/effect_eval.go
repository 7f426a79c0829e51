package star

import (
	"math/big"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

// eval reads an expression: what it can be, and what it writes.
func (w *effectWalk) eval(s *scope, x syntax.Expr, sure bool, loops int) values {
	const most = 50_000 // of one tool; the largest of the suites takes some hundred
	if w.steps++; w.steps > most || w.open {
		w.open = true
		return values{}
	}
	part := func(x syntax.Expr) values { return w.eval(s, x, false, loops) }
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return w.eval(s, x.X, sure, loops)
	case *syntax.Literal:
		return literalValue(x)
	case *syntax.Ident:
		return w.name(s, x)
	case *syntax.IndexExpr:
		return indexed(part(x.X), part(x.Y))
	case *syntax.SliceExpr:
		v := part(x.X)
		for _, bound := range []syntax.Expr{x.Lo, x.Hi, x.Step} {
			if bound != nil {
				part(bound)
			}
		}
		return v.deepened()
	case *syntax.CallExpr:
		return w.call(s, x, sure, loops)
	case *syntax.DotExpr: // kept to be called later
		w.open = w.open || slices.Contains(changing, x.Name.Name)
		return part(x.X).deepened()
	case *syntax.DictExpr:
		return w.object(s, x, loops)
	case *syntax.ListExpr:
		return w.collection(s, x.List, loops)
	case *syntax.TupleExpr:
		return w.collection(s, x.List, loops)
	case *syntax.Comprehension:
		return w.comprehension(s, x, loops)
	case *syntax.BinaryExpr:
		a, b := part(x.X), part(x.Y)
		if x.Op != syntax.AND && x.Op != syntax.OR {
			a, b = a.deepened(), b.deepened()
		}
		a.add(b)
		return a
	case *syntax.CondExpr:
		part(x.Cond)
		v := part(x.True)
		v.add(part(x.False))
		return v
	case *syntax.UnaryExpr:
		if x.X != nil {
			part(x.X)
		}
		return values{unknown: true}
	case *syntax.LambdaExpr:
		w.lambda(x)
		return values{unknown: true}
	}
	w.open = true
	return values{}
}

func literalValue(x *syntax.Literal) values {
	switch v := x.Value.(type) {
	case string:
		if x.Token == syntax.STRING {
			return values{alts: []*source{literal_(v)}}
		}
	case int64:
		return values{alts: []*source{literal_(v)}}
	case *big.Int:
	}
	return values{unknown: true}
}

func (w *effectWalk) name(s *scope, x *syntax.Ident) values {
	switch x.Name {
	case "True":
		return values{alts: []*source{literal_(true)}}
	case "False":
		return values{alts: []*source{literal_(false)}}
	case "None":
		return values{alts: []*source{literal_(nil)}}
	}
	_, given := s.given[x.Name]
	if given || len(s.bound[x.Name]) > 0 {
		return s.at(w, x.Name)
	}
	if w.defs[x.Name] != nil { // a function that somebody else may call
		w.open = true
	}
	return values{unknown: true} // frozen: it cannot be changed
}

// indexed is what stands under a key.
func indexed(holder, key values) values {
	out := values{unknown: holder.unknown}
	for _, h := range holder.alts {
		switch {
		case h.from == Standing || h.from == Argument:
			out.alts = append(out.alts, h.below(key))
		case h.from == Record && !h.changed && len(key.alts) == 1 && !key.unknown && key.alts[0].from == Literal:
			name := key.alts[0].key()
			if f, ok := h.fields[name]; ok {
				out.add(f)
			}
		case h.from == Record || h.from == fresh:
			out.join(values{alts: []*source{h}}.deepened())
			out.unknown = true
		default:
			out.unknown = true
		}
	}
	return out
}

// key is a literal as it names a field.
func (s *source) key() string {
	name, err := Decode(agentbound.Value(s.text))
	if err != nil || name.Type() != "string" {
		return string(s.text)
	}
	text, _ := starlark.AsString(name)
	return text
}

func (w *effectWalk) object(s *scope, x *syntax.DictExpr, loops int) values {
	r := s.records[x]
	if r == nil {
		r = &source{from: Record}
		s.records[x] = r
	}
	fields, odd := map[string]values{}, values{}
	for _, e := range x.List {
		entry := e.(*syntax.DictEntry)
		k, v := w.eval(s, entry.Key, false, loops), w.eval(s, entry.Value, false, loops)
		if len(k.alts) == 1 && !k.unknown && k.alts[0].from == Literal {
			fields[k.alts[0].key()] = v
			continue
		}
		odd.add(v.deepened())
		odd.unknown = true
	}
	if odd.unknown {
		for _, v := range fields {
			odd.join(v.deepened())
		}
		return values{alts: []*source{{from: fresh, items: odd}}}
	}
	r.fields = fields
	return values{alts: []*source{r}}
}

func (w *effectWalk) collection(s *scope, items []syntax.Expr, loops int) values {
	f := &source{from: fresh}
	for _, x := range items {
		f.items.join(w.eval(s, x, false, loops).deepened())
	}
	return values{alts: []*source{f}}
}

func (w *effectWalk) comprehension(s *scope, x *syntax.Comprehension, loops int) values {
	for _, c := range x.Clauses {
		switch c := c.(type) {
		case *syntax.ForClause:
			w.eval(s, c.X, false, loops)
		case *syntax.IfClause:
			w.eval(s, c.Cond, false, loops+1)
		}
	}
	f := &source{from: fresh}
	if entry, ok := x.Body.(*syntax.DictEntry); ok {
		w.eval(s, entry.Key, false, loops+1)
		f.items.join(w.eval(s, entry.Value, false, loops+1).deepened())
	} else {
		f.items.join(w.eval(s, x.Body, false, loops+1).deepened())
	}
	return values{alts: []*source{f}}
}

// lambda: one that could write is not followed.
func (w *effectWalk) lambda(x *syntax.LambdaExpr) {
	syntax.Walk(x.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr:
			w.open = w.open || slices.Contains(changing, n.Name.Name)
		case *syntax.Ident:
			w.open = w.open || w.defs[n.Name] != nil
		}
		return true
	})
}

func (w *effectWalk) call(s *scope, x *syntax.CallExpr, sure bool, loops int) values {
	switch fn := unparen(x.Fn).(type) {
	case *syntax.Ident:
		if _, local := s.given[fn.Name]; local || len(s.bound[fn.Name]) > 0 {
			break
		}
		if d := w.defs[fn.Name]; d != nil {
			return w.follow(s, x, d, sure, loops)
		}
		if w.values[fn.Name] != nil || fn.Name == "getattr" {
			break
		}
		return w.builtin(s, fn.Name, x, loops)
	case *syntax.DotExpr:
		return w.method(s, fn, x, sure, loops)
	}
	w.open = true
	return values{}
}

// arguments are those of a call; a name's value is looked through.
func (w *effectWalk) arguments(s *scope, x *syntax.CallExpr, loops int) []values {
	args := make([]values, len(x.Args))
	for i, a := range x.Args {
		switch a := a.(type) {
		case *syntax.BinaryExpr:
			if a.Op == syntax.EQ {
				args[i] = w.eval(s, a.Y, false, loops)
				continue
			}
		case *syntax.UnaryExpr:
			if a.X != nil && (a.Op == syntax.STAR || a.Op == syntax.STARSTAR) {
				args[i] = w.eval(s, a.X, false, loops).deepened()
				continue
			}
		}
		args[i] = w.eval(s, a, false, loops)
	}
	return args
}

// builtin is a function of the language: it changes nothing.
func (w *effectWalk) builtin(s *scope, name string, x *syntax.CallExpr, loops int) values {
	args := w.arguments(s, x, loops)
	if name == "fail" { // does not go on
		return values{}
	}
	if (name == "list" || name == "dict") && len(args) == 1 {
		return copied(args[0])
	}
	f := &source{from: fresh}
	out := values{unknown: true}
	for _, a := range args {
		out.join(a.deepened())
	}
	f.items = out
	out.join(values{alts: []*source{f}})
	return out
}

// copied is a new list or object of the same things.
func copied(v values) values {
	out := values{unknown: v.unknown}
	for _, a := range v.alts {
		if (a.from == Standing || a.from == Argument) && !a.deep {
			c := *a
			c.copied = true
			out.alts = append(out.alts, &c)
			continue
		}
		out.alts = append(out.alts, &source{from: fresh, items: values{alts: []*source{a}}.deepened()})
	}
	return out
}

// method is a call of a value's own function.
func (w *effectWalk) method(s *scope, fn *syntax.DotExpr, x *syntax.CallExpr, sure bool, loops int) values {
	on, args := w.eval(s, fn.X, false, loops), w.arguments(s, x, loops)
	name := fn.Name.Name
	switch {
	case name == "append" && len(args) == 1:
		w.put(on, Add, args[0], sure, loops > 0)
		w.kept(on, args)
		return values{alts: []*source{literal_(nil)}}
	case slices.Contains(changing, name):
		w.put(on, Any, values{unknown: true}, false, true)
		for _, a := range args {
			w.escape(a)
		}
		return on.deepened()
	case slices.Contains(foldings, name) && len(args) == 0:
		return on.fold()
	case name == "values" && len(args) == 0:
		return values{alts: []*source{{from: fresh, items: itemsOf(on).deepened()}}}
	case name == "get" && len(args) > 0:
		v := indexed(on, args[0])
		for _, a := range args[1:] {
			v.add(a)
		}
		v.unknown = true
		return v
	}
	v := on.deepened()
	for _, a := range args {
		v.join(a.deepened())
	}
	return v
}

// kept notes what is put into a container that is not the state's.
func (w *effectWalk) kept(on values, args []values) {
	for _, o := range on.alts {
		if o.from == Standing && !o.copied && !o.deep {
			continue
		}
		for _, a := range args {
			w.escape(a)
		}
	}
	if on.unknown {
		for _, a := range args {
			w.escape(a)
		}
	}
}

// follow goes into a function of the file.
func (w *effectWalk) follow(s *scope, x *syntax.CallExpr, d *syntax.DefStmt, sure bool, loops int) values {
	args := w.arguments(s, x, loops)
	inner := newScope(d)
	for i, p := range d.Params {
		name, ok := paramName(p)
		if !ok {
			w.open = true
			return values{}
		}
		if b, ok := p.(*syntax.BinaryExpr); ok { // may be left out
			inner.given[name] = w.eval(inner, b.Y, false, loops)
		}
		if i < len(args) {
			if _, named := argumentName(x.Args[i]); !named {
				inner.given[name] = args[i]
			}
		}
	}
	for i, a := range x.Args {
		if name, named := argumentName(a); named {
			inner.given[name] = args[i]
		} else if u, ok := a.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			w.open = true
		}
	}
	return w.function(inner, sure, loops)
}

func argumentName(x syntax.Expr) (string, bool) {
	b, ok := x.(*syntax.BinaryExpr)
	if !ok || b.Op != syntax.EQ {
		return "", false
	}
	id, ok := b.X.(*syntax.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}
