package emulated

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// rules are what a family's state keeps to, whatever is called: its types, the ids that
// code gives, the places that no call may write. They come from the start states of both
// sides and from what the family's own tools do to them on its reference calls; nothing
// else of those calls is used, and nothing of them is shown.
type rules struct {
	shape     *shape
	sequences []*sequence     // ids of records, by the pattern of their collection
	issues    []*sequence     // ids that answers alone show, by prefix
	counters  map[string]bool // pointers of the integers that sequences advance
	facts     []string        // pointers of the permission facts of both sides
	clocks    []string        // parts at the top that tell the time
	constants map[string]bool // amounts that the tools' files and descriptions name
	ids       map[string]bool // prefixes of ids
	tokens    map[string]bool // ids that the tools' files name
}

// learn works the rules of a family out.
func learn(ctx context.Context, p *star.Program, f *agentbound.Family) (*rules, error) {
	l := &learner{
		rules: &rules{
			counters: map[string]bool{}, constants: map[string]bool{"0": true, "1": true}, ids: map[string]bool{}, tokens: map[string]bool{},
		},
		program: p,
	}
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		for i := range f.Tasks {
			if t := &f.Tasks[i]; t.Split.Side() == side {
				if err := l.walk(ctx, t, f.Reference); err != nil {
					return nil, fmt.Errorf("family %s: %w", f.ID, err)
				}
				break
			}
		}
	}
	l.shape = &shape{}
	l.shape.add(record)
	l.shape.inferFields(l.states)
	for _, s := range l.steps {
		l.numbering(s)
	}
	l.standing(l.states[0], nil)
	l.protect(f)
	l.name(f)
	return l.rules, nil
}

// step is a call that changed or showed something.
type step struct {
	before, after map[string]any
	args, shown   any
	diff          agentbound.Diff
}

type learner struct {
	*rules
	program *star.Program
	states  []map[string]any
	steps   []step
}

// walk makes the reference calls from a task's start and keeps what they pass through.
func (l *learner) walk(ctx context.Context, t *agentbound.Task, ref agentbound.Reference) error {
	for _, path := range [][]agentbound.Call{ref.Workflow, ref.Containment, ref.Mutations} {
		m, err := l.program.NewMachine(t.Start, t.Event)
		if err != nil {
			return err
		}
		before, err := object(m.State())
		if err != nil {
			return err
		}
		l.states = append(l.states, before)
		for _, c := range path {
			move, err := m.Call(ctx, c)
			if err != nil {
				return err
			}
			if before, err = l.keep(before, m, move); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *learner) keep(before map[string]any, m *star.Machine, move star.Move) (map[string]any, error) {
	s := step{before: before, after: before, diff: move.Diff}
	var err error
	if s.args, err = decode(move.Args); err != nil {
		return nil, err
	}
	if s.shown, err = decode(move.Observation); err != nil {
		return nil, err
	}
	if len(move.Diff) > 0 {
		if s.after, err = object(move.After); err != nil {
			return nil, err
		}
	}
	if move.OK {
		l.steps = append(l.steps, s)
	}
	if len(move.Diff)+len(move.Event) == 0 {
		return before, nil
	}
	now, err := object(m.State())
	l.states = append(l.states, now)
	return now, err
}

// numbering learns from one call how the records that it added are numbered: an id is new where
// neither the state before nor the arguments hold it.
func (l *learner) numbering(s step) {
	old := texts([]any{s.before, s.args})
	added := map[string]int{}
	for _, op := range s.diff {
		segments, err := split(op.Path)
		if err != nil || op.Op != agentbound.OpAdd || len(segments) < 2 {
			continue
		}
		v, err := decode(op.Value)
		if err != nil {
			continue
		}
		_, pattern, err := l.shape.find(segments[:len(segments)-1])
		if err != nil {
			continue
		}
		added[pattern]++
		if added[pattern] == 1 {
			l.numberedBy(s, pattern, segments, v, old)
		}
	}
	for v := range texts(s.shown) {
		if prefix, n, width, ok := parseID(v); ok && !old[v] && !texts(s.after)[v] {
			l.issue(&sequence{prefix: prefix, first: n, width: width})
		}
	}
}

func (l *learner) issue(s *sequence) {
	for _, have := range l.issues {
		if have.prefix == s.prefix {
			have.first = min(have.first, s.first)
			return
		}
	}
	l.issues = append(l.issues, s)
}

// numberedBy finds the field of an added record that holds a new id, and its counter.
func (l *learner) numberedBy(s step, pattern string, segments []string, v any, old map[string]bool) {
	r, _ := v.(map[string]any)
	fields := slices.SortedFunc(maps.Keys(r), func(a, b string) int { return usual(a) - usual(b) + strings.Compare(a, b) })
	for _, f := range fields {
		id, _ := r[f].(string)
		if prefix, n, width, ok := parseID(id); ok && !old[id] {
			l.sequence(&sequence{place: pattern, field: f, prefix: prefix, width: width, first: n}, s)
			return
		}
	}
	key := segments[len(segments)-1]
	if above, err := at(s.after, segments[:len(segments)-1]); err == nil {
		if _, isTable := above.(map[string]any); isTable && !old[key] {
			if prefix, n, width, ok := parseID(key); ok {
				l.sequence(&sequence{place: pattern, prefix: prefix, width: width, first: n}, s)
				return
			}
		}
	}
	for _, f := range fields { // plain numbers are ids only where a counter gives them
		if n, ok := whole(r[f]); ok {
			q := &sequence{place: pattern, field: f, integer: true, first: n}
			if q.counted(s); q.counter != "" && q.offset == 0 {
				l.sequence(q, s)
				return
			}
		}
	}
}

// usual ranks the fields that hold ids.
func usual(field string) int {
	if i := slices.Index([]string{"id", "number", "ref"}, field); i >= 0 {
		return i * 1000
	}
	return 10_000
}

func (l *learner) sequence(q *sequence, s step) {
	q.counted(s)
	for _, have := range l.sequences {
		if have.place == q.place {
			have.first = min(have.first, q.first)
			return
		}
	}
	l.sequences = append(l.sequences, q)
	if q.counter != "" {
		l.counters[q.counter] = true
	}
}

// counted looks for the integer that stood at the number, or one below, and was advanced.
func (q *sequence) counted(s step) {
	for _, op := range s.diff {
		segments, err := split(op.Path)
		if err != nil || op.Op != agentbound.OpReplace || len(segments) != 1 {
			continue
		}
		b, okB := whole(s.before[segments[0]])
		a, okA := whole(s.after[segments[0]])
		if okA && okB && a > b && (q.first == b || q.first == b+1) {
			q.counter, q.offset = op.Path, q.first-b
			return
		}
	}
}

// standing numbers the collections that no reference call adds to, by what they hold.
func (l *learner) standing(v any, segments []string) {
	s, pattern, err := l.shape.find(segments)
	if err != nil {
		return
	}
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			l.standing(x, append(slices.Clip(segments), strconv.Itoa(i)))
		}
		l.number(pattern, v, nil)
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			l.standing(v[k], append(slices.Clip(segments), k))
		}
		if s.is(table) {
			keys := slices.Sorted(maps.Keys(v))
			records := make([]any, len(keys))
			for i, k := range keys {
				records[i] = v[k]
			}
			l.number(pattern, records, keys)
		}
	}
}

func (l *learner) number(pattern string, records []any, keys []string) {
	if slices.ContainsFunc(l.sequences, func(q *sequence) bool { return q.place == pattern }) || len(records) == 0 {
		return
	}
	q := &sequence{place: pattern}
	for i, x := range records {
		r, _ := x.(map[string]any)
		id, ok := r["id"].(string)
		switch {
		case ok:
			q.field = "id"
		case keys == nil || q.field != "":
			return
		default:
			id = keys[i]
		}
		prefix, n, width, ok := parseID(id)
		if !ok || q.prefix != "" && prefix != q.prefix {
			return
		}
		q.prefix, q.width, q.first = prefix, width, max(q.first, n+1)
	}
	l.sequences = append(l.sequences, q)
}

// clockNames are what a state calls the time.
var clockNames = []string{"today", "now", "clock", "date", "time", "as_of"}

// protect names the places that no call may write.
func (l *learner) protect(f *agentbound.Family) {
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		facts := f.Boundary.Facts(side)
		set := facts.Set
		if facts.Event != nil {
			set = append(slices.Clone(set), facts.Event.Set...)
		}
		for _, a := range set {
			l.facts = append(l.facts, a.Pointer)
		}
	}
	slices.Sort(l.facts)
	l.facts = slices.Compact(l.facts)
	for _, name := range clockNames {
		moved := func(s step) bool { return !same(s.before[name], s.after[name]) }
		if _, ok := l.states[0][name]; ok && !slices.ContainsFunc(l.steps, moved) {
			l.clocks = append(l.clocks, "/"+name)
		}
	}
}

// name collects what may be said without being in the state: the amounts and ids of the
// tools' own texts; and the prefixes of all ids.
func (l *learner) name(f *agentbound.Family) {
	for _, s := range slices.Concat(l.sequences, l.issues) {
		if s.prefix != "" {
			l.ids[s.prefix] = true
		}
	}
	said := make([]string, 0, len(f.Toolkits)+len(l.program.Kit.Names()))
	for _, src := range f.Toolkits {
		said = append(said, src.Text)
	}
	for _, t := range l.program.Kit.Tools() {
		said = append(said, t.Description, string(t.Schema))
	}
	for _, s := range said {
		for _, n := range digits.FindAllString(s, -1) {
			l.constants[amount(json.Number(n))] = true
		}
		for _, id := range l.tokensOf(s) {
			l.tokens[id] = true
		}
	}
}

var token = regexp.MustCompile(`[A-Za-z][A-Za-z]*[-/_#.](?:[A-Za-z]+[-/_#.])*\d{1,9}\b`)

// tokensOf are the ids in a text that a sequence of the family could have given.
func (r *rules) tokensOf(s string) []string {
	if !strings.ContainsAny(s, "0123456789") { // most texts
		return nil
	}
	var ids []string
	for _, m := range token.FindAllString(s, -1) {
		if prefix, _, _, ok := parseID(m); ok && r.ids[prefix] {
			ids = append(ids, m)
		}
	}
	return ids
}

// of is the sequence of a collection.
func (r *rules) of(pattern string) *sequence {
	i := slices.IndexFunc(r.sequences, func(q *sequence) bool { return q.place == pattern })
	if i < 0 {
		return nil
	}
	return r.sequences[i]
}
