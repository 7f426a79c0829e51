package star

import (
	"maps"
	"slices"

	"github.com/agentbound/agentbound"
)

// done gives what a walk found. Of what more than one write can reach no value is told, nor
// is a value that is read where the call writes.
func (w *effectWalk) done() Effects {
	if w.blind {
		for _, a := range w.escaped.alts {
			if a.from == Standing {
				w.put(values{alts: []*source{a}}, Any, values{unknown: true}, false, true)
			}
		}
	}
	if w.open {
		return Effects{Open: true}
	}
	var e Effects
	for i, x := range w.writes {
		out := Write{Kind: x.kind, Path: path(x.at.path), Value: w.sources(x.value), Sure: x.sure, Loop: x.loop}
		for k, y := range w.writes {
			if i != k && disturbs(x, y) {
				out.Value, out.Sure = nil, false
				if out.Kind == Omit {
					out.Kind = Any
				}
			}
		}
		e.Writes = append(e.Writes, out)
	}
	return e
}

// disturbs reports whether a write can change what another one wrote: only two items that
// are added to the same list leave each other alone.
func disturbs(x, y write) bool {
	if x.kind == Add && y.kind == Add && len(x.at.path) == len(y.at.path) {
		return false
	}
	return compatible(x.at.path, y.at.path)
}

// compatible reports whether one of two paths can lead through the other.
func compatible(a, b []values) bool {
	for i := range min(len(a), len(b)) {
		if len(a[i].alts) != 1 || len(b[i].alts) != 1 || a[i].unknown || b[i].unknown {
			continue
		}
		x, y := a[i].alts[0], b[i].alts[0]
		if x.from == Literal && y.from == Literal && x.key() != y.key() {
			return false
		}
	}
	return true
}

func path(segments []values) []Source {
	out := make([]Source, len(segments))
	for i, v := range segments {
		out[i] = Source{From: Unknown}
		if len(v.alts) != 1 || v.unknown {
			continue
		}
		switch a := v.alts[0]; a.from {
		case Literal:
			out[i] = Source{From: Literal, Value: agentbound.Value(a.text)}
		case Argument:
			out[i] = Source{From: Argument, Path: path(a.path), Folded: a.folded}
		}
	}
	return out
}

// sources are what a value can be; none where that is not known.
func (w *effectWalk) sources(v values) []Source {
	if v.unknown || len(v.alts) == 0 {
		return nil
	}
	var all []Source
	for _, a := range v.alts {
		s, ok := w.source(a)
		if !ok {
			return nil
		}
		all = append(all, s)
	}
	return all
}

func (w *effectWalk) source(a *source) (Source, bool) {
	switch {
	case a.from == Literal:
		return Source{From: Literal, Value: agentbound.Value(a.text)}, true
	case a.from == Record && !a.changed:
		s := Source{From: Record, Fields: map[string][]Source{}}
		for _, name := range slices.Sorted(maps.Keys(a.fields)) {
			s.Fields[name] = w.sources(a.fields[name])
		}
		return s, true
	case a.from == Argument && !a.deep:
		return Source{From: Argument, Path: path(a.path), Folded: a.folded}, true
	case a.from == Standing && !a.deep && len(a.path) > 0:
		written := func(x write) bool { return compatible(x.at.path, a.path) }
		return Source{From: Standing, Path: path(a.path), Folded: a.folded}, !slices.ContainsFunc(w.writes, written)
	}
	return Source{}, false
}
