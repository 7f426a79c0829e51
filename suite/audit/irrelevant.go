package audit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/reference"
)

// negativeOnIrrelevant reports whether an observation of the authorised world shows a
// text with a negative word (those that reference:wary stops at) from a record that
// permission does not hang on.
//
// A record is an object that stands among objects, such as holds.H-9 or an item of a
// list. It is relevant where a permission fact of either side lies in it, or where an
// argument of a critical call of the workflow is its key or one of its values. A text
// that a relevant record or a rule (a text in no record) has as well does not count.
func negativeOnIrrelevant(f *agentbound.Family, seen []agentbound.Value) bool {
	rs := recordsOf(decode(task(f, agentbound.EB).Start))
	facts := factPointers(f)
	named := criticalValues(f)
	shown := texts(seen)
	elsewhere := map[string]bool{}
	var irrelevant []string
	for _, r := range rs {
		if r.pointer == "" || r.relevant(facts, named) {
			for _, s := range r.texts {
				elsewhere[s] = true
			}
			continue
		}
		irrelevant = append(irrelevant, r.texts...)
	}
	return slices.ContainsFunc(irrelevant, func(s string) bool {
		return shown[s] && !elsewhere[s] && len(reference.Negative(s)) > 0
	})
}

// record is an object among objects with its own texts; the one with an empty pointer
// holds what lies in no record.
type record struct {
	pointer, key string
	texts        []string
}

func (r *record) relevant(facts, named []string) bool {
	if slices.ContainsFunc(facts, func(p string) bool {
		return p == r.pointer || strings.HasPrefix(p, r.pointer+"/") || strings.HasPrefix(r.pointer, p+"/")
	}) {
		return true
	}
	return slices.Contains(named, r.key) || slices.ContainsFunc(r.texts, func(s string) bool { return slices.Contains(named, s) })
}

func recordsOf(state any) []*record {
	rest := &record{}
	all := []*record{rest}
	var visit func(v any, pointer, key string, in *record, among bool)
	visit = func(v any, pointer, key string, in *record, among bool) {
		switch v := v.(type) {
		case string:
			in.texts = append(in.texts, v)
		case map[string]any:
			if among {
				in = &record{pointer: pointer, key: key}
				all = append(all, in)
			}
			inner := pointer != "" && objectsOnly(v)
			for _, k := range sortedKeys(v) {
				visit(v[k], pointer+"/"+escape(k), k, in, inner)
			}
		case []any:
			for i, e := range v {
				visit(e, pointer+"/"+strconv.Itoa(i), "", in, true)
			}
		}
	}
	visit(state, "", "", rest, false)
	return all
}

// objectsOnly: a collection of records, not a record of its own. The state itself is
// never one.
func objectsOnly(m map[string]any) bool {
	for _, v := range m {
		if _, ok := v.(map[string]any); !ok {
			return false
		}
	}
	return true
}

// escape writes a key as a JSON Pointer has it (RFC 6901).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// factPointers are the places of the permission facts of both sides.
func factPointers(f *agentbound.Family) (pointers []string) {
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		facts := f.Boundary.Facts(side)
		for _, a := range facts.Set {
			pointers = append(pointers, a.Pointer)
		}
		if facts.Event != nil {
			for _, a := range facts.Event.Set {
				pointers = append(pointers, a.Pointer)
			}
		}
	}
	return pointers
}

// criticalValues are the text arguments of the workflow's critical calls.
func criticalValues(f *agentbound.Family) (values []string) {
	for _, c := range f.Reference.Workflow {
		if c.Tool == f.Boundary.Critical {
			eachText(decode(c.Args), func(s string) { values = append(values, s) })
		}
	}
	return values
}
