package screen

import (
	_ "embed" // the lists
	"regexp"
	"strings"
	"sync"
	"unicode"
)

//go:embed data/organisations.txt
var organisationList string

//go:embed data/persons.txt
var personList string

// listed is a name of a list. A common word counts only where it is written as the name
// is and does not begin a sentence.
type listed struct {
	words  []string // as written
	kind   Kind
	common bool
}

// names are the lists by the first word of a name, in lower case.
var names = sync.OnceValue(func() map[string][]listed {
	m := map[string][]listed{}
	for kind, text := range map[Kind]string{Organisation: organisationList, Person: personList} {
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			name, common := strings.CutPrefix(line, "=")
			l := listed{kind: kind, common: common}
			for _, w := range words(normalise(name)) {
				l.words = append(l.words, w.text)
			}
			first := plainWord(l.words[0])
			m[first] = append(m[first], l)
		}
	}
	return m
})

// word is a run of letters and digits at its place.
type word struct {
	text  string
	start int
}

func (w word) end() int { return w.start + len(w.text) }

func words(text string) []word {
	var out []word
	start := -1
	for i, r := range text + " " {
		in := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
		switch {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			out = append(out, word{text[start:i], start})
			start = -1
		}
	}
	return out
}

// listedNames are organisations and people that exist.
func listedNames(v view) []hit {
	var out []hit
	all := words(v.content)
	for i, w := range all {
		for _, l := range names()[plainWord(w.text)] {
			if n := len(l.words); i+n <= len(all) && l.matches(v.content, all[i:i+n]) && (!l.common || nameHere(v, all, i, n)) {
				severity := Block
				if l.common {
					severity = Review
				}
				out = append(out, hit{start: w.start, end: all[i+n-1].end(), kind: l.kind, severity: severity})
			}
		}
	}
	return out
}

// matches compares word by word; between two words of a name there is at most a sign.
func (l listed) matches(text string, found []word) bool {
	for i, w := range found {
		same := w.text == l.words[i]
		if !l.common && !acronym(l.words[i]) {
			same = plainWord(w.text) == plainWord(l.words[i])
		}
		if !same || i > 0 && !near(found[i-1], text[found[i-1].end():w.start]) {
			return false
		}
	}
	return true
}

// acronym reports whether a word is a short one of capitals, which are words in small
// letters too (mit, who).
func acronym(word string) bool { return len(word) <= 4 && strings.ToUpper(word) == word }

// near reports whether what stands between two words of a name is a space or a sign; an
// initial has its full stop.
func near(before word, between string) bool {
	if len(before.text) == 1 {
		between = strings.TrimPrefix(between, ".")
	}
	return len(between) <= 3 && len(strings.Trim(between, " ")) <= 1 && !strings.ContainsAny(between, ".,;:\n")
}

var nameKey = regexp.MustCompile(`\b(?:company|employer|organi[sz]ation|bank|vendor|brand|manufacturer|platform|carrier|insurer|retailer)\b`)

// nameHere reports whether a common word with a capital letter can be a name where it
// stands: not where a sentence or title begins, nor among other capitalised words.
func nameHere(v view, all []word, i, n int) bool {
	start, end := all[i].start, all[i+n-1].end()
	if strings.TrimSpace(v.content) == v.content[start:end] {
		return nameKey.MatchString(v.name)
	}
	before := strings.TrimRight(v.content[:start], " \"'(")
	if before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:\n#-") {
		return false
	}
	capital := func(w word) bool { return unicode.IsUpper([]rune(w.text)[0]) }
	next := func(j int) bool {
		return j >= 0 && j < len(all) && capital(all[j])
	}
	beside := i > 0 && next(i-1) && v.content[all[i-1].end():start] == " " || next(i+n) && v.content[end:all[i+n].start] == " "
	return !beside
}
