package suite

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// shown bounds the characters of a text that an error message quotes.
const shown = 60

// quote gives s in quotes, shortened.
func quote(s string) string {
	r := []rune(s)
	if len(r) > shown {
		s = string(r[:shown]) + "…"
	}
	return strconv.Quote(s)
}

// DidYouMean gives `; did you mean "x"?` where one of the names is close to s, for errors
// about names of a suite.
func DidYouMean(s string, names []string) string { return didYouMean(s, names) }

// didYouMean gives `; did you mean "x"?` where one of the names is close to s.
func didYouMean(s string, names []string) string {
	best := nearest(s, names, 1)
	if len(best) == 0 || !partOf(s, best[0]) && distance(lower(s), lower(best[0])) > max(2, len([]rune(s))/3) {
		return ""
	}
	return "; did you mean " + quote(best[0]) + "?"
}

// nearest gives up to n of the names, the closest to s first: those that s is a
// part of, then by edit distance.
func nearest(s string, names []string, n int) []string {
	type scored struct {
		name string
		d    int
	}
	all := make([]scored, 0, len(names))
	for _, name := range names {
		d := distance(lower(s), lower(name))
		if partOf(s, name) {
			d = -1
		}
		all = append(all, scored{name, d})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.name, b.name)) })
	out := make([]string, 0, n)
	for _, x := range all[:min(n, len(all))] {
		out = append(out, x.name)
	}
	return out
}

func partOf(s, name string) bool { return len(s) > 3 && strings.Contains(lower(name), lower(s)) }

// lower folds case over as much of a name as is compared.
func lower(s string) string {
	r := []rune(s)
	return strings.ToLower(string(r[:min(len(r), 64)]))
}

// distance is the Levenshtein distance in characters.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}
