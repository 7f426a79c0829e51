package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// maxGrowth bounds how much longer one call may make the state, in bytes.
const maxGrowth = 64 << 10

// issued are the highest numbers that were given in a trial, by sequence: an id is not
// given twice, also where its record is gone.
type issued map[string]int

// next gives the sequence's next id in a collection of a state, by its counter or one past
// the highest.
func (i issued) next(q *sequence, state map[string]any, collection []string) (any, error) {
	if q.counter != "" {
		segments, err := split(q.counter)
		if err != nil {
			return nil, err
		}
		n, ok := whole(state[segments[0]])
		if !ok {
			return nil, fmt.Errorf("%s counts the ids of %s and is no integer", q.counter, place(collection))
		}
		return q.id(n + q.offset), nil
	}
	key := q.place + " " + q.prefix
	n := max(q.first, i[key]+1)
	if collection != nil {
		if v, err := at(state, collection); err == nil {
			for _, id := range q.held(v) {
				if m, ok := q.number(id); ok {
					n = max(n, m+1)
				}
			}
		}
	}
	i[key] = n
	return q.id(n), nil
}

// held are the ids of a collection, in order.
func (q *sequence) held(collection any) []any {
	var ids []any
	own := func(v any) {
		if r, ok := v.(map[string]any); ok && has(r, q.field) {
			ids = append(ids, r[q.field])
		}
	}
	switch c := collection.(type) {
	case []any:
		for _, v := range c {
			own(v)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(c)) {
			if q.field == "" {
				ids = append(ids, k)
			} else {
				own(c[k])
			}
		}
	}
	return ids
}

// writable refuses the places that no call may write.
func (r *rules) writable(segments []string, op string) error {
	path := join(segments)
	switch {
	case slices.Contains(r.clocks, path):
		return fmt.Errorf("%s is the clock: only the world moves it", path)
	case r.counters[path]:
		return fmt.Errorf("%s counts the ids that code gives: leave it alone, it is advanced with them", path)
	}
	for _, f := range r.facts {
		if within(path, f) || op != "add" && within(f, path) {
			return fmt.Errorf("%s cannot be changed by a call: no tool writes there", path)
		}
	}
	return nil
}

func within(path, place string) bool { return path == place || strings.HasPrefix(path, place+"/") }

// effect is what is checked of a call's effect, whoever proposed it: a model now, or the
// store of a trial that is proved again.
type effect struct {
	before, after map[string]any
	diff          agentbound.Diff
	readOnly      bool
	reach         func(segments []string) error
	does          star.Effects // of the tool
	args          any          // of the call, completed
}

// check holds an effect to the rules, and advances the ids that were given.
func (r *rules) check(s *shape, e effect, is issued) error {
	if e.readOnly && len(e.diff) > 0 {
		return errors.New("this tool only reads: its patch must be empty")
	}
	if len(e.diff) > 0 {
		if err := r.places(e); err != nil {
			return err
		}
		if err := s.conform(e.after, nil); err != nil {
			return err
		}
	}
	if !e.readOnly {
		if err := (doing{e.does, e.args, e.before, e.after}).check(e.diff); err != nil {
			return err
		}
	}
	if err := r.numbers(s, e, is); err != nil {
		return err
	}
	grown := size(e.after) - size(e.before)
	if grown > maxGrowth {
		return fmt.Errorf("the patch makes the state %d bytes longer; at most %d are taken from one call", grown, maxGrowth)
	}
	return nil
}

// places: parts at the top stay, what the tool has nothing to do with is left alone, and so
// are clocks and permission facts.
func (r *rules) places(e effect) error {
	for _, op := range e.diff {
		segments, err := split(op.Path)
		if err != nil {
			return err
		}
		if err := e.reach(segments); err != nil {
			return err
		}
		for _, f := range r.facts {
			if within(op.Path, f) || within(f, op.Path) {
				return fmt.Errorf("%s cannot be changed by a call: no tool writes there", op.Path)
			}
		}
	}
	for _, p := range slices.Concat(r.clocks, r.facts) {
		segments, err := split(p)
		if err != nil {
			return err
		}
		before, errBefore := at(e.before, segments)
		after, errAfter := at(e.after, segments)
		if (errBefore == nil) != (errAfter == nil) || errBefore == nil && !same(before, after) {
			return fmt.Errorf("%s cannot be changed by a call: no tool writes there", p)
		}
	}
	return nil
}

// numbers: new ids are the next ones of their sequences, none stands twice, and counters
// were advanced by what was given and nothing else.
func (r *rules) numbers(s *shape, e effect, is issued) error {
	old := texts(e.before)
	counted := map[string]int{}
	state := clone(e.before).(map[string]any) // its counters are advanced in step
	for _, q := range r.sequences {
		given, err := q.given(s, e, old)
		if err != nil {
			return err
		}
		for _, g := range given {
			next, err := is.next(q, state, g.in)
			if err != nil {
				return err
			}
			if next != g.id {
				return fmt.Errorf("%s: the id %v is not the next one, which is %v", place(g.in), g.id, next)
			}
			if q.counter != "" {
				counted[q.counter]++
				segments, _ := split(q.counter)
				n, _ := whole(state[segments[0]])
				state[segments[0]] = json.Number(strconv.Itoa(n + 1))
			}
		}
	}
	for c := range r.counters {
		segments, _ := split(c)
		before, _ := whole(e.before[segments[0]])
		after, ok := whole(e.after[segments[0]])
		if !ok || after != before+counted[c] {
			return fmt.Errorf("%s counts the ids that code gives, and %d were given: it goes from %d to %d", c, counted[c], before, before+counted[c])
		}
	}
	return nil
}

// newID is an id that a collection holds after an effect and nothing held before it.
type newID struct {
	id any
	in []string
	n  int
}

// given are the new ids of a sequence, in its order.
func (q *sequence) given(s *shape, e effect, old map[string]bool) ([]newID, error) {
	var all []newID
	for _, c := range s.collections(e.after, q.place) {
		after, _ := at(e.after, c)
		before, _ := at(e.before, c)
		was, seen := q.held(before), map[any]bool{}
		for _, id := range q.held(after) {
			name, isText := id.(string)
			switch {
			case kindOf(id) == list || kindOf(id) == record:
				continue // of another type, which the shape refuses
			case seen[id]:
				return nil, fmt.Errorf("%s holds %v twice", place(c), id)
			}
			seen[id] = true
			if slices.Contains(was, id) || isText && old[name] {
				continue
			}
			n, _ := q.number(id)
			all = append(all, newID{id, c, n})
		}
	}
	slices.SortStableFunc(all, func(a, b newID) int { return a.n - b.n })
	return all, nil
}

// collections are the places of a state that have a pattern.
func (s *shape) collections(state any, pattern string) [][]string {
	want, err := split(pattern)
	if err != nil {
		return nil
	}
	found := [][]string{nil}
	for _, seg := range want {
		var next [][]string
		for _, c := range found {
			v, err := at(state, c)
			if err != nil {
				continue
			}
			for _, name := range segmentsOf(v, seg) {
				next = append(next, append(slices.Clip(c), name))
			}
		}
		found = next
	}
	return found
}

// segmentsOf are what a segment of a pattern stands for below a place.
func segmentsOf(v any, seg string) []string {
	m, isObject := v.(map[string]any)
	switch items, _ := v.([]any); {
	case isObject && has(m, seg):
		return []string{seg}
	case isObject && seg == "*":
		return slices.Sorted(maps.Keys(m))
	case seg == "*":
		names := make([]string, len(items))
		for i := range names {
			names[i] = strconv.Itoa(i)
		}
		return names
	}
	return nil
}

func size(v any) int {
	x, err := star.Canonical(v)
	if err != nil {
		return star.MaxBytes
	}
	return len(x)
}
