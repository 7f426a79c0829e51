package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/minhash"
)

// Duplicates are families that are too much alike.
type Duplicates struct {
	Found int         `json:"found"`
	Pairs []Duplicate `json:"pairs"` // alike in instructions first, then most alike first; at most mostPairs
}

// mostPairs bounds the list: a suite over one toolkit may have a pair for every two
// families.
const mostPairs = 500

// Duplicate is a pair of families with the similarity of what they are made of, each
// an estimate of the Jaccard index.
type Duplicate struct {
	A             agentbound.FamilyID `json:"a"`
	B             agentbound.FamilyID `json:"b"`
	SameArchetype bool                `json:"same_archetype"`
	Similarity    float64             `json:"similarity"` // the largest of those that are over their bound
	Instructions  float64             `json:"instructions"`
	Structure     float64             `json:"structure"`
	Predicates    float64             `json:"predicates"`
	Over          []string            `json:"over"` // which are over their bound
}

// signed is a family's signatures.
type signed struct{ instructions, structure, predicates minhash.Signature }

func sign(f *agentbound.Family) signed {
	var instructions, predicates minhash.Set
	for _, s := range agentbound.Siblings() {
		instructions = instructions.Union(minhash.Text(task(f, s).Instruction))
	}
	for _, set := range [][]agentbound.Criterion{f.Completion, f.Handled, f.Forbidden} {
		for _, c := range set {
			predicates = predicates.Union(minhash.Text(c.Holds))
		}
	}
	return signed{minhash.Sign(instructions), minhash.Sign(structure(f)), minhash.Sign(predicates)}
}

// structure is the set of runs of tools in the workflow, and of the state's keys.
func structure(f *agentbound.Family) minhash.Set {
	tools := []string{""} // a run that tells the beginning
	for _, c := range f.Reference.Workflow {
		tools = append(tools, c.Tool)
	}
	keys := map[string]bool{}
	eachKey(decode(task(f, agentbound.EB).Start), func(k string) { keys[k] = true })
	set := minhash.Shingles(append(tools, ""), 2)
	for _, k := range sortedKeys(keys) {
		set = set.Union(minhash.Shingles([]string{"key", k}, 2))
	}
	return set
}

// eachKey gives the keys of objects that are names of fields: ids, which have a digit,
// differ between copies and say nothing.
func eachKey(tree any, do func(string)) {
	switch v := tree.(type) {
	case []any:
		for _, e := range v {
			eachKey(e, do)
		}
	case map[string]any:
		for k, e := range v {
			if t := minhash.Tokens(k); len(t) == 1 && t[0] != "0" {
				do(k)
			}
			eachKey(e, do)
		}
	}
}

// duplicates compares all pairs of families.
func (r *Report) duplicates(families []*agentbound.Family) {
	r.Duplicates.Pairs = []Duplicate{}
	all := make([]signed, len(families))
	for i, f := range families {
		all[i] = sign(f)
	}
	for i := range families {
		for j := range i {
			if d, alike := compare(families[j], families[i], &all[j], &all[i]); alike {
				r.Duplicates.Pairs = append(r.Duplicates.Pairs, d)
			}
		}
	}
	slices.SortStableFunc(r.Duplicates.Pairs, func(a, b Duplicate) int {
		return cmp.Or(b.copies()-a.copies(), cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
	})
	r.duplicateBreaches()
	r.Duplicates.Found = len(r.Duplicates.Pairs)
	r.Duplicates.Pairs = r.Duplicates.Pairs[:min(r.Duplicates.Found, mostPairs)]
}

// copies is 1 where the instructions are alike, else 0.
func (d *Duplicate) copies() int {
	if slices.Contains(d.Over, "instructions") {
		return 1
	}
	return 0
}

func compare(f, g *agentbound.Family, a, b *signed) (Duplicate, bool) {
	d := Duplicate{A: f.ID, B: g.ID, SameArchetype: archetypeOf(f) == archetypeOf(g), Instructions: a.instructions.Similarity(&b.instructions)}
	over := func(name string, value, bound float64) {
		if value >= bound {
			d.Over = append(d.Over, name)
			d.Similarity = max(d.Similarity, value)
		}
	}
	if d.SameArchetype {
		over("instructions", d.Instructions, duplicateTwin)
		if len(d.Over) == 0 {
			return d, false
		}
	}
	d.Structure, d.Predicates = a.structure.Similarity(&b.structure), a.predicates.Similarity(&b.predicates)
	if !d.SameArchetype {
		over("instructions", d.Instructions, duplicateText)
		over("structure", d.Structure, duplicateStructure)
		over("predicates", d.Predicates, duplicatePredicate)
	}
	return d, len(d.Over) > 0
}

// mostCopies bounds the breaches, so that they do not bury those of other audits.
const mostCopies = 20

// duplicateBreaches: near-copies of instructions are breaches. Families of different
// archetypes that are alike in workflow or predicates alone may be so on purpose, over
// one toolkit; but folds and intervals then count one workflow as two, which is noted.
func (r *Report) duplicateBreaches() {
	bound := fmt.Sprintf("under %.2f in instructions, under %.2f within an archetype", duplicateText, duplicateTwin)
	copies, like := 0, 0
	var alike *Duplicate
	for i := range r.Duplicates.Pairs {
		d := &r.Duplicates.Pairs[i]
		if d.copies() == 0 {
			if alike == nil {
				alike = d
			}
			like++
			continue
		}
		if copies++; copies > mostCopies {
			continue
		}
		why := fmt.Sprintf("%s and %s are of different archetypes and alike in %s: give them one archetype, or write one of them anew", d.A, d.B, listed(d.Over))
		if d.SameArchetype {
			why = fmt.Sprintf("%s and %s have nearly the same instructions: leave one of them out, or write it anew", d.A, d.B)
		}
		r.Breaches = append(r.Breaches, Breach{"near_duplicates", "similarity", &d.Similarity, bound, why})
	}
	if more := copies - mostCopies; more > 0 {
		r.Breaches = append(r.Breaches, Breach{"near_duplicates", "similarity", nil, bound, fmt.Sprintf("and %s more", counted(more, "pair", "pairs"))})
	}
	if alike != nil {
		r.note("%s of different archetypes %s alike in workflow or predicates, such as %s and %s (%s): where they are one workflow, give them one archetype.",
			counted(like, "pair of families", "pairs of families"), verb(like), alike.A, alike.B, listed(alike.Over))
	}
}

func verb(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
