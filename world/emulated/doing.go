package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// doing holds a call that succeeded to what its tool's program does, as far as that
// program's text tells: where it writes, what of it comes from the arguments, from the
// state or from the program itself, and what every such call does. So a world can neither
// do for a call what was not asked of it nor leave undone what was.
type doing struct {
	does          star.Effects
	args          any
	before, after map[string]any
}

// check reports the first thing that the tool would not have done, or not have left out.
func (d doing) check(diff agentbound.Diff) error {
	if d.does.Open {
		return nil
	}
	for _, op := range diff {
		segments, err := split(op.Path)
		if err != nil {
			return err
		}
		if err := d.covered(op, segments); err != nil {
			return err
		}
	}
	for i, w := range d.does.Writes {
		if err := d.done(i, w); err != nil {
			return err
		}
	}
	return nil
}

// covered reports why none of the tool's writes makes a change.
func (d doing) covered(op agentbound.Op, segments []string) error {
	var why error
	for _, w := range d.does.Writes {
		near, reason := d.explains(w, op, segments)
		if reason == nil {
			return nil
		}
		if near && why == nil {
			why = reason
		}
	}
	if why != nil {
		return why
	}
	return fmt.Errorf("%s: this tool changes nothing there; what it changes is %s", op.Path, d.places())
}

// explains reports why a write does not make a change; near: it is one to the same place.
func (d doing) explains(w star.Write, op agentbound.Op, segments []string) (near bool, reason error) {
	n := len(w.Path)
	if len(segments) < n || !d.leads(w.Path, segments[:n]) {
		return false, errors.New("it writes elsewhere")
	}
	switch w.Kind {
	case star.Any:
		return true, nil
	case star.Omit:
		return true, d.omitted(segments[:n])
	case star.Put:
		if len(segments) > n {
			return true, nil
		}
		if op.Op == agentbound.OpRemove {
			return true, fmt.Errorf("%s: this tool removes nothing there", op.Path)
		}
		return true, d.value(w.Value, d.after, segments)
	}
	if len(segments) != n+1 || op.Op != agentbound.OpAdd || !d.atEnd(segments) {
		return true, fmt.Errorf("%s: this tool only adds items at the end of %s, and leaves the others as they are", op.Path, join(segments[:n]))
	}
	return true, d.value(w.Value, d.after, segments)
}

// atEnd reports whether an item was put behind those that a list had. A difference may
// show it further up where its like stands at the end as well.
func (d doing) atEnd(segments []string) bool {
	list := segments[:len(segments)-1]
	now, _ := at(d.after, list)
	items, _ := now.([]any)
	item, err := at(d.after, segments)
	had := min(d.length(d.before, list), len(items))
	return err == nil && slices.ContainsFunc(items[had:], func(x any) bool { return same(x, item) })
}

// omitted reports where a list holds what it did not hold before, or in another order.
func (d doing) omitted(list []string) error {
	was, _ := at(d.before, list)
	now, _ := at(d.after, list)
	had, ok := was.([]any)
	left, okNow := now.([]any)
	if !ok || !okNow {
		return fmt.Errorf("%s: this tool only removes items of it", join(list))
	}
	for _, x := range left {
		i := slices.IndexFunc(had, func(y any) bool { return same(x, y) })
		if i < 0 {
			return fmt.Errorf("%s: this tool only removes items of it, and the others stay as they are", join(list))
		}
		had = had[i+1:]
	}
	return nil
}

// done reports what every call that succeeds does and this one did not.
func (d doing) done(i int, w star.Write) error {
	if !d.named(w.Path) {
		return nil
	}
	where := d.where(w.Path)
	switch {
	case w.Kind == star.Put && w.Sure && len(w.Value) > 0:
		if _, err := at(d.after, where); err != nil {
			return fmt.Errorf("%s is missing: every call of this tool that succeeds writes it", join(where))
		}
		return d.value(w.Value, d.after, where)
	case w.Kind == star.Add:
		return d.added(i, w, where)
	}
	return nil
}

// added counts the items that came to a list.
func (d doing) added(i int, w star.Write, list []string) error {
	least, most := 0, 0
	for k, x := range d.does.Writes {
		if len(x.Path) != len(w.Path) || !d.leads(x.Path, list) {
			if n := min(len(x.Path), len(w.Path)); d.leads(x.Path[:n], list[:n]) && x.Kind == star.Any {
				return nil
			}
			continue
		}
		if x.Kind != star.Add || !d.named(x.Path) {
			return nil // more than this can come or go
		}
		if k < i {
			return nil // they were counted with the first
		}
		if x.Sure {
			least++
		}
		most++
		if x.Loop {
			most += maxOps
		}
	}
	grown := d.length(d.after, list) - d.length(d.before, list)
	switch {
	case grown < least:
		return fmt.Errorf("%s: every call of this tool that succeeds adds %s to it, and the patch adds %s", join(list), items(least), items(grown))
	case grown > most:
		return fmt.Errorf("%s: a call of this tool adds %s to it, and the patch adds %s", join(list), items(most), items(grown))
	}
	return nil
}

func items(n int) string {
	if n == 1 {
		return "one item"
	}
	return fmt.Sprintf("%d items", n)
}

func (d doing) length(state map[string]any, list []string) int {
	v, _ := at(state, list)
	x, _ := v.([]any)
	return len(x)
}

// named reports whether a path names one place.
func (d doing) named(path []star.Source) bool {
	return !slices.ContainsFunc(path, func(s star.Source) bool {
		return s.From == star.Unknown || s.Folded || len(d.candidates(s)) != 1
	})
}

func (d doing) where(path []star.Source) []string {
	out := make([]string, len(path))
	for i, s := range path {
		out[i], _ = segment(d.candidates(s)[0])
	}
	return out
}

// leads reports whether a path can be that of some segments.
func (d doing) leads(path []star.Source, segments []string) bool {
	for i, s := range path {
		if s.From == star.Unknown {
			continue
		}
		can := d.candidates(s)
		if len(can) > 0 && !slices.ContainsFunc(can, func(v any) bool {
			name, ok := segment(v)
			return !ok || name == segments[i] || s.Folded && folded(name, segments[i])
		}) {
			return false
		}
	}
	return true
}

// segment is how a value names a place; not ok where it could name one in another way.
func segment(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return string(v), !strings.HasPrefix(string(v), "-") && isInteger(v)
	}
	return "", false
}

// candidates are the values that a source can have in this call; none: any.
func (d doing) candidates(s star.Source) []any {
	switch s.From {
	case star.Literal:
		if v, err := decode(s.Value); err == nil {
			return []any{v}
		}
	case star.Argument:
		return d.reached(d.args, s.Path)
	case star.Standing:
		return d.reached(d.before, s.Path)
	}
	return nil
}

// reached is what stands at a path of a tree; of an unknown segment all that it can name,
// keys as well, since a loop over an object gives those.
func (d doing) reached(tree any, path []star.Source) []any {
	found := []any{tree}
	for _, s := range path {
		var next []any
		for _, v := range found {
			if s.From == star.Unknown {
				next = append(next, parts(v)...)
				continue
			}
			for _, c := range d.candidates(s) {
				name, _ := segment(c)
				if x, err := at(v, []string{name}); err == nil {
					next = append(next, x)
				}
			}
		}
		found = next
	}
	return found
}

func parts(v any) (all []any) {
	switch v := v.(type) {
	case []any:
		return v
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			all = append(all, k, v[k])
		}
	}
	return all
}

// value reports where what stands at a place is none of what the tool puts there.
func (d doing) value(sources []star.Source, state map[string]any, segments []string) error {
	v, err := at(state, segments)
	if err != nil {
		return err
	}
	return d.comes(sources, v, segments)
}

func (d doing) comes(sources []star.Source, v any, segments []string) error {
	var why error
	for _, s := range sources {
		reason := d.from(s, v, segments)
		if reason == nil {
			return nil
		}
		if why == nil {
			why = reason
		}
	}
	return why
}

// from reports why a value cannot come from a source.
func (d doing) from(s star.Source, v any, segments []string) error {
	if s.From == star.Record {
		m, ok := v.(map[string]any)
		if !ok {
			return fmt.Errorf("%s: this tool puts a record there, found %s", join(segments), article(kindOf(v)))
		}
		names := slices.Sorted(maps.Keys(s.Fields))
		if !slices.Equal(names, slices.Sorted(maps.Keys(m))) {
			return fmt.Errorf("%s: the fields of what this tool puts there are %s", join(segments), listed(names))
		}
		for _, name := range names {
			x := m[name]
			if len(s.Fields[name]) == 0 {
				continue
			}
			if err := d.comes(s.Fields[name], x, append(slices.Clip(segments), name)); err != nil {
				return err
			}
		}
		return nil
	}
	can := d.candidates(s)
	switch {
	case len(can) == 0 && s.From == star.Standing && d.named(s.Path):
		return fmt.Errorf("%s: this tool puts there what stands at %s, and nothing does: the call fails", join(segments), join(d.where(s.Path)))
	case len(can) == 0:
		return nil
	}
	for _, c := range can {
		if alike(c, v) || s.Folded && folded(c, v) {
			return nil
		}
	}
	return fmt.Errorf("%s: this tool puts %s there, found %s", join(segments), origin(s, can), clip(line(v)))
}

// origin says where a value comes from, for the model to read.
func origin(s star.Source, can []any) string {
	shown := ""
	if len(can) == 1 {
		shown = ", " + clip(line(can[0]))
	}
	switch s.From {
	case star.Argument:
		return "its argument " + dotted(s.Path) + shown
	case star.Standing:
		return "what stands at " + pattern(s.Path) + shown
	}
	return strings.TrimPrefix(shown, ", ")
}

func dotted(path []star.Source) string { return strings.ReplaceAll(pattern(path)[1:], "/", ".") }

// pattern is a path as text, with arguments in brackets and * for what is not known.
func pattern(path []star.Source) string {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		switch s.From {
		case star.Literal:
			v, _ := decode(s.Value)
			name, _ := segment(v)
			b.WriteString(name)
		case star.Argument:
			b.WriteString("<" + dotted(s.Path) + ">")
		default:
			b.WriteByte('*')
		}
	}
	return b.String()
}

// places are where a tool writes.
func (d doing) places() string {
	var all []string
	for _, w := range d.does.Writes {
		if p := pattern(w.Path); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return listed(all)
}

// alike compares two values, numbers by their amount.
func alike(a, b any) bool {
	x, okX := a.(json.Number)
	y, okY := b.(json.Number)
	if okX && okY {
		return amount(x) == amount(y)
	}
	return same(a, b)
}

// folded compares two texts but for their case and the space around them.
func folded(a, b any) bool {
	x, okX := a.(string)
	y, okY := b.(string)
	return okX && okY && strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y))
}
