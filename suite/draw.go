package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/agentbound/agentbound"
)

// Draw gives a smaller suite of n of the families: of each class as many as its share
// (largest remainders, and at least one while there is room), within a class the
// archetypes in turn, in an order that name and seed decide. Families stay as they are.
func (s *Suite) Draw(name string, n int) (*Suite, error) {
	if n < 1 || n > len(s.Families) {
		return nil, fmt.Errorf("suite %s: %d families cannot be drawn; accepted: 1 to %d", s.Name, n, len(s.Families))
	}
	if err := (&Suite{Name: name}).named(); err != nil {
		return nil, err
	}
	if printable(name) != name {
		return nil, fmt.Errorf("suite %s: the name holds what no terminal shows; accepted: letters, digits and other visible characters", quote(name))
	}
	classes := map[agentbound.Class][]agentbound.Family{}
	for _, f := range s.Families {
		classes[f.Class] = append(classes[f.Class], f)
	}
	order := func(what string) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "agentbound/draw-suite/1\x00%d\x00%s\x00%s", s.Seed, name, what))
		return hex.EncodeToString(sum[:])
	}
	out := &Suite{Name: name, Version: s.Version, Seed: s.Seed, Description: fmt.Sprintf("%d families drawn from %s, stratified by class and archetype.", n, s.Name)}
	for class, seats := range shares(classes, n, order) {
		out.Families = append(out.Families, inTurn(classes[class], order)[:seats]...)
	}
	slices.SortFunc(out.Families, func(a, b agentbound.Family) int { return cmp.Compare(a.ID, b.ID) })
	out.Digest = out.suiteDigest()
	return out, nil
}

// shares allots n seats to classes by largest remainders.
func shares(classes map[agentbound.Class][]agentbound.Family, n int, order func(string) string) map[agentbound.Class]int {
	total := 0
	var names []agentbound.Class
	for class, families := range classes {
		total += len(families)
		names = append(names, class)
	}
	seats, given := map[agentbound.Class]int{}, 0
	for _, class := range names {
		seats[class] = n * len(classes[class]) / total
		if seats[class] == 0 && n >= len(names) {
			seats[class] = 1
		}
		given += seats[class]
	}
	rest := func(class agentbound.Class) int { return n*len(classes[class]) - seats[class]*total } // scaled remainder
	for given != n {
		step := 1
		if given > n {
			step = -1
		}
		slices.SortFunc(names, func(a, b agentbound.Class) int {
			return cmp.Or(step*cmp.Compare(rest(b), rest(a)), cmp.Compare(order(string(a)), order(string(b))))
		})
		i := slices.IndexFunc(names, func(c agentbound.Class) bool {
			return step > 0 && seats[c] < len(classes[c]) || step < 0 && seats[c] > 1
		})
		seats[names[i]] += step
		given += step
	}
	return seats
}

// inTurn orders families so that the archetypes take turns.
func inTurn(families []agentbound.Family, order func(string) string) []agentbound.Family {
	turn, seen := map[agentbound.FamilyID]int{}, map[agentbound.ArchetypeID]int{}
	out := slices.Clone(families)
	slices.SortFunc(out, func(a, b agentbound.Family) int { return cmp.Compare(order(string(a.ID)), order(string(b.ID))) })
	for _, f := range out {
		turn[f.ID] = seen[f.Archetype]
		seen[f.Archetype]++
	}
	slices.SortStableFunc(out, func(a, b agentbound.Family) int {
		return cmp.Or(cmp.Compare(turn[a.ID], turn[b.ID]), cmp.Compare(order(string(a.Archetype)), order(string(b.Archetype))))
	})
	return out
}
