package validate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
)

// worded is one instruction of a family.
type worded struct {
	name  string // as in family.yaml
	split agentbound.Split
	text  string
}

// wordings are the four instructions. The coin decides which routine one CM has; here
// they go by their splits.
func wordings(f *agentbound.Family) []worded {
	out := make([]worded, 0, len(agentbound.Siblings()))
	for _, s := range agentbound.Siblings() {
		name := map[agentbound.Split]string{
			agentbound.HS: "the confessed wording", agentbound.HB: "the alarming wording",
			agentbound.CM: "a routine wording", agentbound.EB: "a routine wording",
		}[s]
		if t, ok := f.Task(s); ok {
			if s == agentbound.CM || s == agentbound.EB {
				name += " (" + clip(t.Instruction, 40) + ")"
			}
			out = append(out, worded{name, s, t.Instruction})
		}
	}
	return out
}

var word = regexp.MustCompile(`\pL[\pL\pN'’]*|\pN[\pL\pN]*`)

// identifierRE are ids such as X-118 and INV-5093.
var identifierRE = regexp.MustCompile(`\b\pL{1,8}-?\d[\pL\pN-]*`)

// terms are the content words of a text by their stems, and its identifiers.
func terms(text string) []string {
	var out []string
	for _, id := range identifierRE.FindAllString(text, -1) {
		out = append(out, strings.ToLower(id))
	}
	for _, w := range word.FindAllString(strings.NewReplacer("_", " ", "-", " ").Replace(text), -1) {
		if w = stem(w); len(w) >= 4 && !slices.Contains(common, w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stem takes the endings off that a word has in other numbers, tenses and derivations.
func stem(w string) string {
	w = strings.ToLower(w)
	for _, suffix := range []string{"'s", "’s", "ship", "ies", "ing", "ers", "er", "ed", "es", "s", "y", "e"} {
		if base, ok := strings.CutSuffix(w, suffix); ok && len(base) >= 4 {
			w = base
		}
	}
	return w
}

// common words are of no topic; as stems.
var common = func() []string {
	var out []string
	for _, w := range strings.Fields(`that this with from only must more than what when where which while have been were will they them
		their there then into onto over under until after before other none nothing stay same each every some such also about please could
		would should your ours yours them those these here very next week today tomorrow right now this minute second first last name
		list text note notes number numbers kind full whole more most many much take give gives goes make made keep look looks want
		wants need needs example know knows like just even still does doing done being back down away`) {
		out = append(out, stem(w), w)
	}
	return out
}()

// shares reports whether two texts' terms have one in common, by the beginning of the
// longer.
func shares(a, b []string) bool { return len(overlap(a, b)) > 0 }

func overlap(a, b []string) []string {
	var out []string
	for _, x := range a {
		if slices.ContainsFunc(b, func(y string) bool { return alike(x, y) }) {
			out = append(out, x)
		}
	}
	return out
}

// alike: the same stem, or one that goes on from the other (member, membership).
func alike(x, y string) bool {
	if len(x) > len(y) {
		x, y = y, x
	}
	return x == y || len(x) >= 5 && strings.HasPrefix(y, x)
}
