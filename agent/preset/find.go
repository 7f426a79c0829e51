package preset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Find gives the preset of a name, whatever its case, spaces and hyphens. The error names
// those that are near.
func (c Catalogue) Find(name string) (Preset, error) {
	want := squeezed(name)
	for _, p := range c {
		if squeezed(p.Name) == want && want != "" {
			return p, nil
		}
	}
	hint := ""
	if near := c.near(want); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? "
	}
	return Preset{}, fmt.Errorf("no preset is named %q; %ssee: agentbound agents", name, hint)
}

// Bare is the preset of kind model that asks the model of an agent program.
func (c Catalogue) Bare(p Preset) (Preset, bool) {
	i := slices.IndexFunc(c, func(q Preset) bool { return q.Kind == Model && q.ModelID() == p.ModelID() })
	if i < 0 {
		return Preset{}, false
	}
	return c[i], true
}

// squeezed is a name by which equal ones are told: its letters and digits.
func squeezed(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

const mostNear = 3

// near are the names that a misspelt one may have meant, the nearest first.
func (c Catalogue) near(want string) []string {
	if len(want) < 2 {
		return nil
	}
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	for _, p := range c {
		have := squeezed(p.Name)
		far := distance(want, have)
		switch {
		case strings.HasPrefix(have, want) || strings.HasPrefix(want, have):
			far = min(far, 1)
		case strings.Contains(have, want):
			far = min(far, 2)
		}
		if far <= max(2, len(want)/3) {
			found = append(found, candidate{fmt.Sprintf("%q", p.Name), far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, f := range found[:min(len(found), mostNear)] {
		names = append(names, f.name)
	}
	return names
}

// distance is Levenshtein's, over bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
