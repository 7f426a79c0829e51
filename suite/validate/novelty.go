package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/minhash"
)

// Similarities from which a family counts as one that is there already, by what is
// compared. Families of one archetype share their workflow by design, so only their
// wordings are held against them. Two sound families with one toolkit and one rule have
// 0.02, 0.77 and 0.95 (TestSound); a family that was copied and dressed anew has 1 in the
// last two.
var (
	thresholds    = map[string]float64{instructionsOf: 0.30, structureOf: 0.85, predicatesOf: 0.98}
	ownThresholds = map[string]float64{instructionsOf: 0.60, structureOf: 1.01, predicatesOf: 1.01}
)

// What is compared.
const (
	instructionsOf = "instructions" // the four wordings: runs of 3 words
	structureOf    = "structure"    // the calls of the reference paths in order, and the keys of the state
	predicatesOf   = "predicates"   // completion, handled, forbidden: runs of 5 words
)

func aspects() []string { return []string{instructionsOf, structureOf, predicatesOf} }

// seedRun is how many words in a row a wording may not have in common with the seed
// that it was made after.
const seedRun = 8

// Index knows the accepted families. It may be used by several goroutines.
type Index struct {
	mu       sync.Mutex
	families []entry
}

type entry struct {
	id        agentbound.FamilyID
	archetype agentbound.ArchetypeID
	theme     string
	sketches  map[string]minhash.Signature
}

// NewIndex makes one that knows families already.
func NewIndex(families ...agentbound.Family) *Index {
	x := &Index{}
	for i := range families {
		x.Add(&families[i])
	}
	return x
}

// Add accepts a family.
func (x *Index) Add(f *agentbound.Family) {
	e := entryOf(f)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.families = append(x.families, e)
}

func entryOf(f *agentbound.Family) entry {
	e := entry{id: f.ID, archetype: f.Archetype, theme: f.Theme, sketches: map[string]minhash.Signature{}}
	for aspect, set := range shingled(f) {
		e.sketches[aspect] = minhash.Sign(set)
	}
	return e
}

// Near says to which accepted family a candidate is too near, one message a family.
func (x *Index) Near(f *agentbound.Family) (messages []string) {
	candidate := entryOf(f)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range x.families {
		if e.id == f.ID {
			messages = append(messages, fmt.Sprintf("family.yaml: the id %s is taken; choose another, after what is particular to this family", f.ID))
		}
		limits, kin := thresholds, ""
		if e.archetype == f.Archetype {
			limits, kin = ownThresholds, " of the same archetype"
		}
		var like []string
		for _, a := range aspects() {
			mine, theirs := candidate.sketches[a], e.sketches[a]
			if s := mine.Similarity(&theirs); s >= limits[a] {
				like = append(like, fmt.Sprintf("%s %.2f (below %.2f is accepted)", a, s, limits[a]))
			}
		}
		if len(like) > 0 {
			messages = append(messages, fmt.Sprintf("too near to the accepted family %s%s (%s): %s; choose another world and workflow, with other tools, records and rules",
				e.id, kin, e.theme, strings.Join(like, ", ")))
		}
	}
	return messages
}

// Novel is the gate of novelty. It is asked once more right before a family is
// accepted, since others may have been accepted meanwhile.
func (v Validator) Novel(f *agentbound.Family, seed string) Result {
	messages := repeatsSeed(f, seed)
	if v.Index == nil && len(messages) == 0 {
		return skipped(Novelty, "nothing to compare with")
	}
	if v.Index != nil {
		messages = append(messages, v.Index.Near(f)...)
	}
	return result(Novelty, messages)
}

// repeatsSeed: a seed gives the topic, its words are another's.
func repeatsSeed(f *agentbound.Family, seed string) (messages []string) {
	theirs := runs(seed, seedRun)
	for _, w := range wordings(f) {
		for _, run := range runs(w.text, seedRun) {
			if slices.Contains(theirs, run) {
				messages = append(messages, fmt.Sprintf("%s repeats the words of the seed, %q; a seed gives the topic, write it anew", w.name, run))
				break
			}
		}
	}
	return messages
}

// runs are the runs of n words of a text.
func runs(text string, n int) (out []string) {
	words := minhash.Tokens(text)
	for i := range max(0, len(words)-n+1) {
		out = append(out, strings.Join(words[i:i+n], " "))
	}
	return out
}

// shingled gives the set of each aspect of a family.
func shingled(f *agentbound.Family) map[string]minhash.Set {
	out := map[string]minhash.Set{structureOf: minhash.Shingles(structure(f), 1)}
	for _, w := range wordings(f) {
		out[instructionsOf] = out[instructionsOf].Union(minhash.Shingles(minhash.Tokens(w.text), 3))
	}
	for _, set := range [][]agentbound.Criterion{f.Completion, f.Handled, f.Forbidden} {
		for _, c := range set {
			out[predicatesOf] = out[predicatesOf].Union(minhash.Text(c.Holds))
		}
	}
	return out
}

// structure: the calls of each path with those that come up to three later, and the state's keys by their places, ids
// and list positions left out.
func structure(f *agentbound.Family) []string {
	var out []string
	for _, path := range [][]agentbound.Call{f.Reference.Workflow, f.Reference.Containment} {
		for i, c := range path {
			out = append(out, c.Tool)
			for n := 1; n <= 3 && i+n < len(path); n++ {
				out = append(out, c.Tool+fmt.Sprintf(" >%d ", n)+path[i+n].Tool)
			}
		}
	}
	if t, ok := f.Task(agentbound.EB); ok {
		dec := json.NewDecoder(bytes.NewReader(t.Start))
		dec.UseNumber()
		var tree any
		if dec.Decode(&tree) == nil {
			out = append(out, places(tree, "")...)
		}
	}
	return out
}

// places are the paths of a tree's keys; the key of a record (one that holds a digit or
// a capital) stands as *.
func places(v any, at string) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, places(e, at+"[]")...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			name := k
			if strings.ContainsFunc(k, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' }) {
				name = "*"
			}
			out = append(out, at+"/"+name)
			out = append(out, places(v[k], at+"/"+name)...)
		}
	}
	return out
}
