package classify

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words are the runs of two or more letters, digits and underscores of a text, in
// lower case (scikit-learn's token pattern).
func Words(text string) []string {
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	kept := all[:0]
	for _, w := range all {
		if utf8.RuneCountInString(w) > 1 {
			kept = append(kept, w)
		}
	}
	return kept
}

// Lengths of the n-grams.
const (
	longestPhrase           = 2 // words
	shortestRun, longestRun = 3, 5
)

// phrases are a text's runs of one and two words.
func phrases(words []string) []string {
	out := append([]string{}, words...)
	for n := 2; n <= longestPhrase; n++ {
		for i := range len(words) - n + 1 {
			out = append(out, strings.Join(words[i:i+n], " "))
		}
	}
	return out
}

// runs are the runs of three to five characters within a word and the spaces around it
// (scikit-learn's char_wb). A word shorter than that counts once as a whole.
func runs(word string) []string {
	padded := []rune(" " + word + " ")
	var out []string
	for n := shortestRun; n <= longestRun; n++ {
		if len(padded) <= n {
			return append(out, string(padded))
		}
		for i := range len(padded) - n + 1 {
			out = append(out, string(padded[i:i+n]))
		}
	}
	return out
}
