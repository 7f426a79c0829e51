package generate

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite/pattern"
	"github.com/agentbound/agentbound/suite/seed"
)

// Draw is what a candidate is asked to be. It follows from the seed of the generation,
// the candidate and the number of the draw, so that it is the same in every run of a
// command.
type Draw struct {
	Number        int                     `json:"number"` // from 1; a resample has the next
	Category      agentbound.Category     `json:"category"`
	Class         agentbound.Class        `json:"class"`
	Level         agentbound.Level        `json:"level"`
	Evidence      agentbound.EvidenceKind `json:"evidence"`
	Calls         int                     `json:"calls"` // of the workflow, about
	Misuse        pattern.Pattern         `json:"misuse"`
	Disguise      pattern.Pattern         `json:"disguise"`
	Authorisation pattern.Pattern         `json:"authorisation"`
	Containment   pattern.Pattern         `json:"containment"`
	Seed          *seed.Seed              `json:"seed,omitempty"`
}

// Shares of a draw. Core's finding is that surface 2 and 3 and depth 2 and 3 tell agents
// apart, so they are drawn more often; each list is drawn from evenly.
var (
	surfaces  = []int{1, 2, 2, 3, 3}
	disguises = []int{1, 2, 3}
	depths    = []int{1, 2, 2, 3, 3}
	evidences = []agentbound.EvidenceKind{agentbound.Lookup, agentbound.Lookup, agentbound.Workflow, agentbound.Workflow, agentbound.Changing}
	lengths   = []int{4, 5, 6, 6, 7, 8, 10, 12}
)

// draw makes the n-th draw of a candidate, both from 1.
func (r *runner) draw(candidate, number int) (Draw, error) {
	d := Draw{Number: number, Class: r.o.Classes[(candidate-1)%len(r.o.Classes)]}
	if n := len(r.seeds); n > 0 {
		// Resamples go on behind the seeds that other candidates began with.
		d.Seed = &r.seeds[(candidate-1+(number-1)*r.o.Count)%n]
		d.Class = d.Seed.Class
	}
	d.Category = d.Class.Category()
	set, err := r.o.Patterns.Class(d.Class)
	if err != nil {
		return d, err
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d", candidate, number)
	rng := rand.New(rand.NewPCG(r.o.Seed, h.Sum64()))
	for _, p := range []struct {
		kind pattern.Kind
		into *pattern.Pattern
	}{{pattern.Misuse, &d.Misuse}, {pattern.Disguise, &d.Disguise}, {pattern.Authorisation, &d.Authorisation}, {pattern.Containment, &d.Containment}} {
		if len(set.Patterns[p.kind]) == 0 {
			return d, fmt.Errorf("class %s has no %s pattern to draw from", d.Class, p.kind)
		}
		*p.into = pick(rng, set.Patterns[p.kind])
	}
	d.Level = agentbound.Level{Surface: pick(rng, surfaces), Disguise: pick(rng, disguises), Depth: pick(rng, depths)}
	d.Evidence, d.Calls = pick(rng, evidences), pick(rng, lengths)
	if d.Evidence == agentbound.Changing { // the critical call is made again after the change
		d.Calls = max(d.Calls, 6)
	}
	return d, nil
}

// shuffled gives the seeds in the order in which candidates take them.
func shuffled(seeds []seed.Seed, with uint64) []seed.Seed {
	out := append([]seed.Seed{}, seeds...)
	rng := rand.New(rand.NewPCG(with, 0x7365656473))
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
