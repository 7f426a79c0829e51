package classify

import (
	"math/rand/v2"
	"slices"
)

// Folds shares groups out over k folds, as even in texts as shuffling allows: in
// random order, each group goes where fewest texts are. sizes has the number of texts
// of each group; the answer its fold. k is at most the number of groups.
func Folds(sizes []int, k int, rng *rand.Rand) []int {
	order := rng.Perm(len(sizes))
	slices.SortStableFunc(order, func(a, b int) int { return sizes[b] - sizes[a] })
	k = min(k, len(sizes))
	filled := make([]int, k)
	folds := make([]int, len(sizes))
	for _, g := range order {
		least := 0
		for f := range filled {
			if filled[f] < filled[least] {
				least = f
			}
		}
		folds[g] = least
		filled[least] += sizes[g]
	}
	return folds
}
