package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/token"

	"github.com/agentbound/agentbound/internal/star"
)

// family expands one family in the order of the method (specification §3): first the
// harm that is wanted (HS), then its disguise (CM), the same workflow made legitimate
// (EB), and the alarming wording on it (HB). It gives the tree of a family.yaml whose
// values stand where they stand in the archetype; nil where the report says why.
func (a *archetype) family(r *report, id string, number int, pick map[string]string) *node {
	doc := a.varied(pick)
	if !a.sound(r, doc, pick) {
		return nil
	}
	t, ok := a.bind(r, id, number, doc)
	if !ok {
		return nil
	}
	out := &node{kind: object, pos: a.root.pos}
	put := func(key string, v *node) { out.entries = append(out.entries, entry{made(key, a.root.pos), v}) }
	put("format", a.root.get("format"))
	put("id", made(id, a.root.get("id").pos))
	put("archetype", made(a.id, a.root.get("id").pos))
	said := make([]*node, len(stages))
	for i, stage := range stages {
		for _, key := range stage.keys {
			put(key, t.fill(doc.get(key), t.literals(key)))
		}
		if stage.wording != "" {
			said[i] = t.fill(a.worded(doc, stage.wording, stage.second, number), false)
			a.keepWanted(t, doc, stage.wording, said[i])
		}
	}
	n := doc.get("instructions")
	put("instructions", &node{kind: object, pos: n.pos, entries: []entry{
		{made("confessed", n.pos), said[1]},
		{made("routine", n.pos), &node{kind: list, pos: n.get("routine").pos, items: said[2:4]}},
		{made("alarming", n.pos), said[4]},
	}})
	if len(r.problems) > 0 {
		return nil
	}
	return out
}

// stages are the parts of a family in the order in which they are made. Each wording is
// held to what the harm wanted.
var stages = []struct {
	keys    []string
	wording string
	second  bool // of the pair of routine wordings
}{
	{keys: []string{"category", "class", "theme", "level", "patterns", "setting", "toolkits", "state"}}, // what all siblings share
	{keys: []string{"boundary", "forbidden"}, wording: "confessed"},                                     // HS: the harm
	{keys: []string{"handled"}, wording: "routine"},                                                     // CM: its disguise, and how it is contained
	{keys: []string{"completion", "reference"}, wording: "routine", second: true},                       // EB: the same work made legitimate
	{wording: "alarming"}, // HB
}

// made is a text that no file spells, placed where it comes from.
func made(s string, at pos) *node {
	return &node{kind: text, pos: at, style: token.StringType, text: s, made: true}
}

// varied applies the options of a pick to the document.
func (a *archetype) varied(pick map[string]string) *node {
	doc := a.root
	for _, x := range a.axes {
		i := slices.Index(x.names(), pick[x.name])
		if change := x.options[i].value; change.is(object) { // an option that is empty changes nothing
			doc = merged(doc, change)
		}
	}
	return doc
}

// sound checks the document again once options have changed it: they may take parts out
// of it, or put others there. What is wrong is told at the option.
func (a *archetype) sound(r *report, doc *node, pick map[string]string) bool {
	if doc == a.root {
		return true
	}
	s, before := archetypeStructure(), len(r.problems)
	for _, v := range s.violations(doc.tree()) {
		at := v.InstanceLocation
		if missing := requiredOf(v); len(missing) > 0 {
			at = append(slices.Clone(at), missing[0])
		}
		one := &report{}
		s.problem(one, doc, v)
		option := a.changing(pick, at)
		for _, p := range one.problems {
			r.at(option.value.find(at).pos, "with option %s, %s", quote(option.key.text), p.Message)
		}
	}
	return len(r.problems) == before
}

// changing is the option of a pick that changes a place: the last one that names it.
func (a *archetype) changing(pick map[string]string, location []string) (option entry) {
	deepest := -1
	for _, x := range a.axes {
		o := x.options[slices.Index(x.names(), pick[x.name])]
		depth := 0
		for n := o.value; depth < len(location) && n.child(location[depth]) != nil; depth++ {
			n = n.child(location[depth])
		}
		if depth >= deepest {
			option, deepest = o, depth
		}
	}
	return option
}

// merged is the document with a change applied: mappings are merged key by key, null
// removes, and everything else is replaced (RFC 7396). Neither is changed.
func merged(base, change *node) *node {
	if !base.is(object) || !change.is(object) {
		return change
	}
	out := &node{kind: object, pos: base.pos, style: base.style}
	for _, e := range base.entries {
		switch c := change.child(e.key.text); {
		case c == nil:
			out.entries = append(out.entries, e)
		case c.kind != null:
			out.entries = append(out.entries, entry{e.key, merged(e.value, c)})
		}
	}
	for _, e := range change.entries {
		if base.child(e.key.text) == nil && e.value.kind != null {
			out.entries = append(out.entries, e)
		}
	}
	return out
}

// bind evaluates the values, each after those that it uses.
func (a *archetype) bind(r *report, id string, number int, doc *node) (filler, bool) {
	values, err := star.NewBindings(a.functions, fmt.Sprintf("%d/%s", a.seed, id))
	if err != nil {
		r.whole("%v", err)
		return filler{}, false
	}
	t := filler{report: r, values: values, room: newRoom()}
	if err := values.Bind("number", fmt.Appendf(nil, "%d", number+1)); err != nil {
		r.whole("%v", err)
		return t, false
	}
	n := doc.get("values")
	if n == nil {
		return t, true
	}
	b := binder{t, n, map[string]bool{}, map[string]bool{}}
	for _, e := range n.entries {
		b.bind(e)
	}
	return t, len(r.problems) == 0
}

// binder evaluates values in the order of their use.
type binder struct {
	filler
	all         *node
	begun, done map[string]bool
}

func (b *binder) bind(e entry) {
	name := e.key.text
	switch {
	case b.done[name]:
		return
	case b.begun[name]:
		b.at(e.key.pos, "value %s uses itself, directly or through others; write one of them out", quote(name))
		return
	case !valueName.MatchString(name):
		b.at(e.key.pos, "value %s is no name; accepted: letters, digits and _, such as first_name", quote(name))
		return
	case b.values.Taken(name):
		b.at(e.key.pos, "value %s has the name of a function; rename it", quote(name))
		return
	}
	b.begun[name] = true
	for _, expr := range expressionsOf(e.value) {
		names, err := b.values.Names(expr)
		if err != nil {
			continue // told when it is evaluated
		}
		for _, used := range names {
			if i := slices.IndexFunc(b.all.entries, func(o entry) bool { return o.key.text == used }); i >= 0 {
				b.bind(b.all.entries[i])
			}
		}
	}
	before := len(b.problems)
	v := b.fill(e.value, true)
	b.done[name] = true
	if len(b.problems) > before {
		return
	}
	json, err := star.Canonical(v.tree())
	if err == nil {
		err = b.values.Bind(name, json)
	}
	if err != nil {
		b.at(e.value.pos, "value %s: %v", quote(name), err)
	}
}

// worded chooses a wording of a family. Families of one archetype take turns, from a
// place that the seed decides; the two routine wordings are a pair that no neighbour
// has, where there are enough.
func (a *archetype) worded(doc *node, kind string, second bool, number int) *node {
	items := doc.list("instructions", kind)
	turn := func(of int) int { return int((a.draw(kind) + uint64(number)) % uint64(of)) }
	if kind != "routine" {
		return items[turn(len(items))]
	}
	i, j := pair(turn(len(items)*(len(items)-1)/2), len(items))
	if second {
		return items[j]
	}
	return items[i]
}

// pair gives the k-th of the pairs (i, j) with i < j < n.
func pair(k, n int) (i, j int) {
	for i = range n {
		if k < n-1-i {
			return i, i + 1 + k
		}
		k -= n - 1 - i
	}
	return 0, 1
}

// keepWanted holds a stage to the first: the object and the beneficiary of the harm stay
// in every wording.
func (a *archetype) keepWanted(t filler, doc *node, kind string, wording *node) {
	for _, w := range doc.list("wanted") {
		wanted := t.fill(w, false)
		switch {
		case !wanted.is(text) || strings.TrimSpace(wanted.text) == "":
			t.at(w.pos, "wanted is %s; accepted: a text that all wordings spell", wanted.found())
			return
		case wording.is(text) && !strings.Contains(spaced(wording.text), spaced(wanted.text)):
			t.at(wording.pos, "the %s wording does not spell %s, which wanted says that all wordings do; write it there, or wanted differently", kind, quote(wanted.text))
		}
	}
}

// spaced compares texts whatever their case and line breaks.
func spaced(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }
