package star

import (
	"encoding/json"
	"maps"
	"slices"

	"go.starlark.net/syntax"
)

// fresh is a list, or an object of no known fields, that the program made.
const fresh Origin = "fresh"

// source is where a value comes from, while a program is read.
type source struct {
	from    Origin
	text    json.RawMessage // of Literal
	path    []values        // of State and Argument
	deep    bool            // it is something at or below the path
	copied  bool            // it is a new list or object of what stands there
	folded  bool
	fields  map[string]values // of Record
	changed bool              // of Record: its fields were written after it was made
	items   values            // of fresh
}

// values are what an expression can be.
type values struct {
	alts    []*source
	unknown bool // or else something that is no part of the state but for what escaped
}

func literal_(v any) *source {
	b, err := json.Marshal(v)
	if err != nil {
		return &source{from: fresh}
	}
	return &source{from: Literal, text: b}
}

func (v *values) add(more values) {
	for _, a := range more.alts {
		if !slices.ContainsFunc(v.alts, a.equal) {
			v.alts = append(v.alts, a)
		}
	}
	v.unknown = v.unknown || more.unknown
	const most = 12
	if len(v.alts) > most {
		*v = v.deepened()
	}
}

// exact: it is what stands at one place.
func (s *source) exact() bool {
	return !s.deep && !s.copied && !s.folded && !slices.ContainsFunc(s.path, func(v values) bool { return v.unknown || len(v.alts) != 1 })
}

func (s *source) equal(o *source) bool {
	if s == o {
		return true
	}
	if s.from != o.from || s.deep != o.deep || s.copied != o.copied || s.folded != o.folded || s.from == Record || s.from == fresh || string(s.text) != string(o.text) {
		return false
	}
	return slices.EqualFunc(s.path, o.path, func(a, b values) bool {
		return a.unknown == b.unknown && slices.EqualFunc(a.alts, b.alts, (*source).equal)
	})
}

// below is what stands one segment further down.
func (s *source) below(key values) *source {
	if s.deep {
		return s
	}
	for _, k := range key.alts {
		if k.from != Literal && (k.from != Argument || k.deep) { // a key taken from elsewhere can be any
			key = values{unknown: true}
			break
		}
	}
	return &source{from: s.from, path: append(slices.Clip(s.path), key)}
}

// deepened are all things that a value can be, or hold.
func (v values) deepened() values {
	out := values{unknown: true}
	for _, a := range v.alts {
		switch a.from {
		case Standing, Argument:
			d := &source{from: a.from, path: a.path, deep: true}
			if !slices.ContainsFunc(out.alts, d.equal) {
				out.alts = append(out.alts, d)
			}
		case Record:
			for _, name := range slices.Sorted(maps.Keys(a.fields)) {
				out.join(a.fields[name].deepened())
			}
		case fresh:
			out.join(a.items)
		}
	}
	return out
}

func (v *values) join(more values) {
	for _, a := range more.alts {
		if !slices.ContainsFunc(v.alts, a.equal) {
			v.alts = append(v.alts, a)
		}
	}
}

// at is what a name of the scope can stand for.
func (s *scope) at(w *effectWalk, name string) values {
	if v, ok := s.memo[name]; ok {
		return v
	}
	if s.active[name] { // it is bound to what is made of itself
		w.cuts++
		v := s.given[name].deepened()
		for _, b := range s.bound[name] {
			v.join(w.mentioned(s, b.x).deepened())
		}
		return v
	}
	s.active[name] = true
	defer delete(s.active, name)
	cuts, own := w.cuts, false
	v := values{alts: slices.Clone(s.given[name].alts), unknown: s.given[name].unknown}
	for _, b := range s.bound[name] {
		if own = own || b.self; b.self {
			continue
		}
		x := w.quiet(s, b.x)
		switch b.how {
		case "item":
			x = itemsOf(x)
		case "part":
			x = x.deepened()
		}
		v.add(x)
	}
	if own {
		v.add(v.fold())
	}
	if w.cuts > cuts {
		v = v.deepened()
	}
	if w.cuts == cuts || len(s.active) == 1 {
		s.memo[name] = v
	}
	return v
}

// mentioned is all of the state that the names in an expression can hold, but for those
// that are being worked out: whoever does adds theirs.
func (w *effectWalk) mentioned(s *scope, x syntax.Expr) (v values) {
	syntax.Walk(x, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && !s.active[id.Name] && (len(s.bound[id.Name]) > 0 || len(s.given[id.Name].alts) > 0) {
			v.join(s.at(w, id.Name))
		}
		return true
	})
	return v
}

// quiet reads an expression for its value alone; its writes are noted where it stands.
func (w *effectWalk) quiet(s *scope, x syntax.Expr) values {
	n, blind := len(w.writes), w.blind
	v := w.eval(s, x, false, 0)
	w.writes, w.blind = w.writes[:n], blind
	return v
}

// itemsOf is what a loop over a value gives.
func itemsOf(v values) values {
	out := values{unknown: v.unknown}
	for _, a := range v.alts {
		switch a.from {
		case fresh:
			out.join(a.items)
			out.unknown = true
		case Standing, Argument:
			out.alts = append(out.alts, a.below(values{unknown: true}))
		default:
			out.unknown = true
		}
	}
	return out
}

// fold is a text whose case or outer space may have changed.
func (v values) fold() values {
	out := values{unknown: v.unknown}
	for _, a := range v.alts {
		if a.from == Record || a.from == fresh {
			out.unknown = true
			continue
		}
		f := *a
		f.folded = true
		out.alts = append(out.alts, &f)
	}
	return out
}
