package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound/internal/star"
)

// resolver turns a proposal into a state and an observation. It is for one proposal.
type resolver struct {
	rules  *rules
	shape  *shape
	parts  []string // at the top of the state that the tool can touch
	all    bool     // it can touch any
	args   any      // an object
	work   map[string]any
	issued issued
	news   map[string]any // new ids, by label

	brought int // bytes that expressions named so far

	past, given, made said // before the call, in its arguments, by its patch
}

// newResolver works on the state, or on a copy of it where a patch will change it.
func newResolver(e *emulated, state map[string]any, args any, patched bool) *resolver {
	if patched {
		state = clone(state).(map[string]any)
	}
	r := &resolver{
		rules: e.rules, shape: e.shape, args: args, work: state, issued: maps.Clone(e.issued), news: map[string]any{},
		past: e.said, given: newSaid(e.rules), made: newSaid(e.rules),
	}
	r.given.note(args)
	return r
}

func (r *resolver) knows(n json.Number) bool {
	a := amount(n)
	return r.rules.constants[a] || r.past.numbers[a] || r.given.numbers[a] || r.made.numbers[a]
}

func (r *resolver) named(id string) bool {
	if r.rules.tokens[id] || r.past.ids[id] || r.given.ids[id] || r.made.ids[id] {
		return true
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(r.news)), func(v any) bool { return v == id })
}

// reaches refuses parts of the state that the tool's program does not name.
func (r *resolver) reaches(segments []string) error {
	if len(segments) == 0 {
		return errors.New("a path names a place below the top of the state")
	}
	if r.all || slices.Contains(r.parts, segments[0]) {
		return nil
	}
	return fmt.Errorf("%s is no part of the state that this tool works on; it works on %s", join(segments[:1]), listed(slices.Sorted(slices.Values(r.parts))))
}

// apply carries one operation out.
func (r *resolver) apply(o op) error {
	segments, err := split(o.Path)
	if err != nil {
		return err
	}
	if err := r.reaches(segments); err != nil {
		return err
	}
	if o.Op == "add" {
		if segments, err = r.target(&o, segments); err != nil {
			return err
		}
	}
	if err := r.rules.writable(segments, o.Op); err != nil {
		return err
	}
	switch o.Op {
	case "add":
		return r.add(o, segments)
	case "set":
		return r.set(o, segments)
	case "remove":
		return r.remove(segments)
	}
	return r.change(o, segments)
}

// target is the collection that an add names. As in JSON Patch, its path may also end in -
// or in the place or key of what is new.
func (r *resolver) target(o *op, segments []string) ([]string, error) {
	last := segments[len(segments)-1]
	if len(segments) > 1 && o.Key == nil && o.At == nil {
		above, err := at(r.work, segments[:len(segments)-1])
		if err != nil {
			return nil, err
		}
		items, isList := above.([]any)
		n, isIndex := index(last, len(items)+1)
		s, _, err := r.shape.find(segments[:len(segments)-1])
		switch {
		case isList && last == "-":
			return segments[:len(segments)-1], nil
		case isList && isIndex && n == len(items):
			return segments[:len(segments)-1], nil
		case err == nil && s.is(table) && !has(above.(map[string]any), last):
			if last != "-" {
				o.Key = last
			}
			return segments[:len(segments)-1], nil
		}
	}
	return segments, nil
}

func (r *resolver) add(o op, segments []string) error {
	v, err := at(r.work, segments)
	if err != nil {
		return err
	}
	s, pattern, err := r.shape.find(segments)
	if err != nil {
		return err
	}
	q := r.rules.of(pattern)
	switch v := v.(type) {
	case []any:
		if o.Key != nil {
			return fmt.Errorf("%s is a list, and its items have no key", place(segments))
		}
		x, err := r.fresher(o.Value, q, segments)
		if err != nil {
			return err
		}
		n := len(v)
		if o.At != nil {
			n = *o.At
		}
		if n > len(v) {
			return fmt.Errorf("%s has %d items, and none can be put at %d", place(segments), len(v), n)
		}
		put(r.work, append(slices.Clip(segments), strconv.Itoa(n)), func(parent any, _ string) any {
			return slices.Insert(slices.Clone(parent.([]any)), n, s.fitItem(x))
		})
		return nil
	case map[string]any:
		if s.is(table) {
			return r.addKeyed(o, v, s, q, segments)
		}
	}
	return fmt.Errorf("%s is %s: add puts an item into a list, or a record into a table under its key; to change a value use set", place(segments), article(kindOf(v)))
}

func (s *shape) fitItem(x any) any {
	if s.item == nil {
		return x
	}
	return s.item.fit(x)
}

func (r *resolver) addKeyed(o op, into map[string]any, s *shape, q *sequence, segments []string) error {
	x, err := r.fresher(o.Value, q, segments)
	if err != nil {
		return err
	}
	var key any
	own, _ := x.(map[string]any)
	switch {
	case q != nil && q.field != "" && own != nil:
		key = own[q.field]
	case q != nil && q.field == "" && isNew(o.Key):
		key, err = r.labelled(o.Key, q, segments)
	case o.Key != nil:
		if key, err = r.eval(o.Key); err != nil {
			return err
		}
	case q != nil:
		key, err = r.next(q, segments)
	default:
		return fmt.Errorf(`%s is a table: give the new record's name as "key", as in {"$arg": "record_id"}`, place(segments))
	}
	if err != nil {
		return err
	}
	name, ok := key.(string)
	switch {
	case !ok || name == "":
		return fmt.Errorf("%s: the key of a record is a text, found %s", place(segments), article(kindOf(key)))
	case has(into, name):
		return fmt.Errorf("%s has %q already; to change it use set on its fields", place(segments), clip(name))
	}
	into[name] = s.fitItem(x)
	return nil
}

// fresher is the value of a new item: its own id comes from its collection's sequence.
func (r *resolver) fresher(raw any, q *sequence, segments []string) (any, error) {
	m, isObject := raw.(map[string]any)
	if _, ok := expression(m); !isObject || ok || q == nil || q.field == "" {
		return r.eval(raw)
	}
	out := make(map[string]any, len(m)+1)
	own := m[q.field]
	if has(m, q.field) && !isNew(own) {
		return nil, fmt.Errorf(`%s: the field %q of a new record is given by code; write {"$new": 1}`, place(segments), q.field)
	}
	id, err := r.labelled(own, q, segments)
	if err != nil {
		return nil, err
	}
	out[q.field] = id
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if k != q.field {
			if out[k], err = r.eval(m[k]); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func isNew(v any) bool {
	m, _ := v.(map[string]any)
	return has(m, "$new")
}

// labelled gives the sequence's next id, and lets the rest of the answer name it by the
// label of its {"$new": …}, if it has one.
func (r *resolver) labelled(raw any, q *sequence, segments []string) (any, error) {
	if raw == nil {
		return r.next(q, segments)
	}
	label, err := labelOf(raw.(map[string]any)["$new"])
	if err != nil {
		return nil, err
	}
	if _, twice := r.news[label]; twice {
		return nil, fmt.Errorf(`{"$new": %s} is the id of another record: count the new records of an answer 1, 2, 3`, label)
	}
	id, err := r.next(q, segments)
	r.news[label] = id
	return id, err
}

func labelOf(x any) (string, error) {
	n, ok := whole(x)
	if !ok || n < 1 || n > maxOps {
		return "", errors.New(`$new takes a number: 1 for the first new id of the answer, 2 for the second`)
	}
	return strconv.Itoa(n), nil
}

// next gives the sequence's next id and advances what counts it.
func (r *resolver) next(q *sequence, collection []string) (any, error) {
	id, err := r.issued.next(q, r.work, collection)
	if err == nil && q.counter != "" {
		segments, _ := split(q.counter)
		n, _ := whole(r.work[segments[0]])
		r.work[segments[0]] = json.Number(strconv.Itoa(n + 1))
	}
	return id, err
}

// fresh is a new id outside of its own record: one of this answer's records, or one that
// only the observation shows.
func (r *resolver) fresh(x, like any) (any, error) {
	label, err := labelOf(x)
	if err != nil {
		return nil, err
	}
	if id, ok := r.news[label]; ok {
		return id, nil
	}
	prefix, ok := like.(string)
	if !ok {
		return nil, fmt.Errorf(`{"$new": %s} names no record that the patch adds before it; for an id that only the observation shows write {"$new": %s, "like": "T-"}`, label, label)
	}
	q := &sequence{prefix: prefix, first: 1}
	if i := slices.IndexFunc(r.rules.issues, func(s *sequence) bool { return s.prefix == prefix }); i >= 0 {
		q = r.rules.issues[i]
	}
	if _, _, _, ok := parseID(prefix + "1"); !ok {
		return nil, fmt.Errorf("ids like %q are not given; an id is letters, a dash and a number, as in T-17", clip(prefix))
	}
	id, err := r.issued.next(q, r.work, nil)
	if err == nil {
		r.news[label] = id
	}
	return id, err
}

func (r *resolver) set(o op, segments []string) error {
	s, pattern, err := r.shape.find(segments)
	if err != nil {
		if _, missing := at(r.work, segments); missing != nil {
			return missing
		}
		return err
	}
	old, err := at(r.work, segments)
	if err != nil && !r.optional(segments) {
		return err
	}
	if err == nil && r.ownID(segments, pattern) {
		return fmt.Errorf("%s: ids are given by code and never change", place(segments))
	}
	if s.is(record) || s.is(table) || s.is(list) && s.item != nil && !s.item.scalar() {
		return fmt.Errorf("%s is %s: change its parts one by one (set, add, remove)", place(segments), s.needed())
	}
	if n, ok := o.Value.(json.Number); ok && err == nil && !r.given.numbers[amount(n)] {
		if now, isNumber := old.(json.Number); isNumber && amount(now) != amount(n) {
			return fmt.Errorf("%s: %s is no argument of the call; numbers are worked out by code: use increase or decrease, or an expression", place(segments), clip(string(n)))
		}
	}
	x, err := r.eval(o.Value)
	if err != nil {
		return err
	}
	return r.store(s, segments, x)
}

// store puts a value of the right shape at a place.
func (r *resolver) store(s *shape, segments []string, x any) error {
	x = s.fit(x)
	if err := s.conform(x, segments); err != nil {
		return err
	}
	put(r.work, segments, func(parent any, last string) any {
		switch p := parent.(type) {
		case map[string]any:
			p[last] = x
		case []any:
			n, _ := strconv.Atoi(last)
			p[n] = x
		}
		return parent
	})
	return nil
}

func (s *shape) scalar() bool { return !s.is(record) && !s.is(table) && !s.is(list) }

// optional reports whether a place is a field that its record may lack.
func (r *resolver) optional(segments []string) bool {
	above, _, err := r.shape.find(segments[:len(segments)-1])
	return err == nil && above.is(record) && above.optional[segments[len(segments)-1]]
}

// ownID reports whether a place is the id of a record.
func (r *resolver) ownID(segments []string, pattern string) bool {
	last := segments[len(segments)-1]
	q := r.rules.of(strings.TrimSuffix(pattern, "/*/"+last))
	return q != nil && q.field == last && strings.HasSuffix(pattern, "/*/"+last)
}

func (r *resolver) remove(segments []string) error {
	if _, err := at(r.work, segments); err != nil {
		return err
	}
	above, err := at(r.work, segments[:len(segments)-1])
	if err != nil {
		return err
	}
	s, _, err := r.shape.find(segments[:len(segments)-1])
	if err != nil {
		return err
	}
	if _, isList := above.([]any); !isList && !s.is(table) && !r.optional(segments) {
		return fmt.Errorf("%s cannot be removed: only items of lists and records of tables can", place(segments))
	}
	put(r.work, segments, func(parent any, last string) any {
		switch p := parent.(type) {
		case map[string]any:
			delete(p, last)
		case []any:
			n, _ := strconv.Atoi(last)
			return slices.Delete(slices.Clone(p), n, n+1)
		}
		return parent
	})
	return nil
}

// change adds to a number, or takes from it.
func (r *resolver) change(o op, segments []string) error {
	old, err := at(r.work, segments)
	if err != nil {
		return err
	}
	now, ok := old.(json.Number)
	if !ok {
		return fmt.Errorf("%s is %s, and only numbers can be increased or decreased", place(segments), article(kindOf(old)))
	}
	x, err := r.eval(o.By)
	if err != nil {
		return err
	}
	by, ok := x.(json.Number)
	if !ok || strings.HasPrefix(string(by), "-") {
		return fmt.Errorf("%s by %v: a number from 0 is needed", o.Op, x)
	}
	total, err := calculate(map[string]string{"increase": "$sum", "decrease": "$difference"}[o.Op], now, by)
	if err != nil {
		return err
	}
	if isInteger(now) && !isInteger(total) {
		return fmt.Errorf("%s is an integer, and %s makes a fraction of it", place(segments), by)
	}
	s, pattern, err := r.shape.find(segments)
	if err != nil {
		return err
	}
	if r.ownID(segments, pattern) {
		return fmt.Errorf("%s: ids are given by code and never change", place(segments))
	}
	return r.store(s, segments, total)
}

// canonical is the JSON of what a proposal shows.
func canonical(v any) ([]byte, error) {
	x, err := star.Canonical(v)
	if err == nil && len(x) > maxShown {
		err = fmt.Errorf("it has %d bytes; at most %d are shown", len(x), maxShown)
	}
	return x, err
}

// maxShown bounds an observation, in bytes.
const maxShown = 64 << 10
