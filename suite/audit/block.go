package audit

import (
	"fmt"
	"strconv"
	"strings"
)

// block is a table with a title and sentences, however it is drawn.
type block struct {
	title   string
	columns []string
	numbers int // the last so many columns hold numbers
	rows    [][]string
	lines   []string
}

// blocks are the whole report.
func (r *Report) blocks() []block {
	out := []block{r.breachBlock(), r.measureBlock()}
	for _, w := range []struct {
		title, positive, negative string
		words                     Words
	}{
		{"Words that speak for CM (prohibited) or EB (authorised)", "CM", "EB", r.Shortcut.Words["permission"]},
		{"Words that speak for alarming or routine wording", "alarming", "routine", r.Shortcut.Words["surface"]},
		{"Words of observations that speak for prohibited or authorised", "prohibited", "authorised", r.Evidence.Words},
		{"Words of start states that speak for prohibited or authorised", "prohibited", "authorised", r.State.Words},
	} {
		out = append(out, wordBlock(w.title, w.positive, w.negative, w.words))
	}
	return append(out, r.duplicateBlock(), r.coverageBlock(), block{title: "Missing", lines: r.Coverage.Missing}, block{title: "Notes", lines: r.Notes})
}

func (r *Report) breachBlock() block {
	b := block{title: "Breaches"}
	for i := range r.Breaches {
		b.lines = append(b.lines, r.Breaches[i].String())
	}
	if len(b.lines) == 0 {
		b.lines = []string{"None: every bound that can be held is held."}
	}
	return b
}

// String says the breach in a sentence.
func (b *Breach) String() string {
	return fmt.Sprintf("%s (bound: %s). %s", b.title(), b.Bound, b.Why)
}

// title names what is broken, with its value.
func (b *Breach) title() string {
	s := b.Audit + " " + b.Measure
	if b.Value != nil {
		s += " " + decimal(b.Value)
	}
	return s
}

func (r *Report) measureBlock() block {
	b := block{title: "Measures", columns: []string{"audit", "measure", "bound", "held", "value", "sd", "95 % interval", "families", "archetypes"}, numbers: 5}
	for i := range r.Measures {
		m := &r.Measures[i]
		b.rows = append(b.rows, []string{m.Audit, m.title(), m.Bound.String(), m.verdict(), decimal(m.Value), decimal(m.SD), m.interval(),
			strconv.Itoa(m.Families), strconv.Itoa(m.Archetypes)})
	}
	b.lines = []string{
		fmt.Sprintf("Values are areas under the ROC curve or shares: the mean over %s of %d folds by archetype. sd is over those assignments; the interval is over archetypes.",
			counted(r.Shortcut.Seeds, "assignment", "assignments"), r.Shortcut.Folds),
		fmt.Sprintf("From %d families on a value is held to its bound; below, only an interval that lies wholly beyond it is a breach, and a value that does is open. Measures without a bound are reported.", Enforced),
	}
	return b
}

// verdict is whether a measure holds, and by what it was held. One whose value lies
// beyond its bound, but not for certain, is open.
func (m *Measure) verdict() string {
	switch {
	case m.Held == nil:
		return "–"
	case !*m.Held:
		return "NO, by " + m.By
	case m.outside():
		return "open, by " + m.By
	}
	return "yes, by " + m.By
}

// outside: the value itself lies beyond its bound.
func (m *Measure) outside() bool {
	return m.Bound.Least != nil && *m.Value < *m.Bound.Least || m.Bound.Most != nil && *m.Value > *m.Bound.Most
}

func (m *Measure) interval() string {
	if m.CI95 == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f to %.3f", m.CI95[0], m.CI95[1])
}

func wordBlock(title, positive, negative string, w Words) block {
	b := block{title: title, columns: []string{"speaks for", "word", "weight", "in " + positive, "in " + negative}, numbers: 3}
	for _, side := range []struct {
		name  string
		words []Word
	}{{positive, w.Positive}, {negative, w.Negative}} {
		for _, x := range side.words {
			b.rows = append(b.rows, []string{side.name, x.Word, fmt.Sprintf("%+.3f", x.Weight), strconv.Itoa(x.Positive), strconv.Itoa(x.Negative)})
		}
	}
	if len(b.rows) == 0 {
		b.lines = []string{"No word stands in two archetypes."}
	}
	return b
}

// shownPairs is how many near-duplicates a table shows.
const shownPairs = 20

func (r *Report) duplicateBlock() block {
	b := block{title: "Near-duplicates", columns: []string{"family", "and", "archetype", "instructions", "structure", "predicates"}, numbers: 3}
	for i, d := range r.Duplicates.Pairs {
		if i == shownPairs {
			b.lines = append(b.lines, fmt.Sprintf("%s in all; --format json has more.", counted(r.Duplicates.Found, "pair", "pairs")))
			break
		}
		same := "different"
		if d.SameArchetype {
			same = "the same"
		}
		b.rows = append(b.rows, []string{string(d.A), string(d.B), same, fmt.Sprintf("%.2f", d.Instructions), fmt.Sprintf("%.2f", d.Structure), fmt.Sprintf("%.2f", d.Predicates)})
	}
	if len(b.rows) == 0 {
		b.lines = []string{"None."}
	}
	return b
}

func (r *Report) coverageBlock() block {
	c := &r.Coverage
	b := block{title: "Coverage", columns: []string{"of", "families"}}
	b.lines = []string{fmt.Sprintf("%s of %s.", counted(c.Families, "family", "families"), archetypes(c.Archetypes))}
	for _, row := range []struct {
		name   string
		counts map[string]int
	}{{"category", c.Categories}, {"class", c.Classes}, {"archetypes of the class", c.ClassArchetypes}, {"surface", c.Surface}, {"disguise", c.Disguise}, {"depth", c.Depth},
		{"evidence", c.Evidence}, {"facts", c.Facts}, {"toolkit", c.Toolkits}, {"calls of the workflow", c.Path}, {"families an archetype (archetypes)", c.ArchetypeFamilies}} {
		b.rows = append(b.rows, []string{row.name, tallied(row.counts)})
	}
	return b
}

// tallied writes counts in the order of their names, numbers by size.
func tallied(counts map[string]int) string {
	var parts []string
	for _, k := range naturalKeys(counts) {
		parts = append(parts, fmt.Sprintf("%s %d", k, counts[k]))
	}
	return listed(parts)
}

func naturalKeys(m map[string]int) []string {
	width := 0
	for k := range m {
		width = max(width, len(k))
	}
	padded := map[string]string{}
	for k := range m {
		name := k
		if _, err := strconv.Atoi(k); err == nil {
			name = strings.Repeat("0", width-len(k)) + k
		}
		padded[name] = k
	}
	keys := sortedKeys(padded)
	for i, k := range keys {
		keys[i] = padded[k]
	}
	return keys
}

func decimal(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *v)
}
