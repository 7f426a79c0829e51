package screen

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the list
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed data/words.txt
var wordList string

// longestPhrase is how many words an entry of the list may have.
const longestPhrase = 3

// barred is an entry of the list of words.
type barred struct {
	kind     Kind
	severity Severity
}

// barredWords is the list by digest: the repository holds none of its words in the clear.
// Whoever guesses a word can look it up; that is no secret, only out of sight.
var barredWords = sync.OnceValue(func() map[string]barred {
	m := map[string]barred{}
	for line := range strings.Lines(wordList) {
		if f := strings.Fields(line); len(f) == 3 && !strings.HasPrefix(line, "#") {
			m[f[0]] = barred{Kind(f[1]), Severity(f[2])}
		}
	}
	return m
})

// WordDigest is what the list holds of a word or phrase: the first 8 bytes of the
// SHA-256 of its plain form behind a salt, in hex. It is empty for one of no letters or
// of more than three words.
func WordDigest(phrase string) string {
	var plain []string
	for _, w := range words(normalise(phrase)) {
		plain = append(plain, plainWord(w.text))
	}
	if len(plain) == 0 || len(plain) > longestPhrase {
		return ""
	}
	return digestOf(strings.Join(plain, " "))
}

func digestOf(plain string) string {
	sum := sha256.Sum256([]byte("agentbound/screen/words/1 " + plain))
	return hex.EncodeToString(sum[:8])
}

// WriteWordLines reads words or phrases, one a line, and writes the lines that bar them
// for data/words.txt. The error names the line that cannot be barred.
func WriteWordLines(w io.Writer, r io.Reader, kind Kind, severity Severity) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		phrase := strings.TrimSpace(lines.Text())
		if phrase == "" {
			continue
		}
		digest := WordDigest(phrase)
		if digest == "" {
			return fmt.Errorf("line %d: not a word or a phrase of at most %d words; write one a line", n, longestPhrase)
		}
		if _, err := fmt.Fprintf(w, "%s %s %s\n", digest, kind, severity); err != nil {
			return err
		}
	}
	return lines.Err()
}

// spaced is a word with something between its letters.
var spaced = regexp.MustCompile(`\b\p{L}(?:[ .*_-]\p{L}){3,15}\b`)

// listedWords looks up words and phrases, as they are and as they are written to pass
// such a list: with figures for letters, letters repeated or set apart.
func listedWords(v view) []hit {
	var out []hit
	add := func(start, end int, forms ...string) {
		for _, form := range forms {
			if b, ok := barredWords()[digestOf(form)]; ok {
				out = append(out, hit{start: start, end: end, kind: b.kind, severity: b.severity})
				return
			}
		}
	}
	all := words(v.content)
	plain := make([]string, len(all))
	for i, w := range all {
		plain[i] = plainWord(w.text)
	}
	for i, w := range all {
		phrase := ""
		for n := 0; n < longestPhrase && i+n < len(all); n++ {
			if phrase = strings.TrimSpace(phrase + " " + plain[i+n]); n == 0 {
				add(w.start, w.end(), disguises(phrase)...)
				continue
			}
			add(w.start, all[i+n].end(), phrase)
		}
	}
	for _, p := range spaced.FindAllStringIndex(v.content, -1) {
		add(p[0], p[1], plainWord(strings.NewReplacer(" ", "", ".", "", "*", "", "_", "", "-", "").Replace(v.content[p[0]:p[1]])))
	}
	for _, p := range figured.FindAllStringIndex(v.content, -1) {
		if form, ok := unfigured(v.content[p[0]:p[1]]); ok && alone(v.content, p[0], p[1]) {
			add(p[0], p[1], form)
		}
	}
	return out
}

// disguises are a word, and what it is with repeated letters written once or twice.
func disguises(word string) []string {
	forms := []string{word}
	if once, twice := squeeze(word, 1), squeeze(word, 2); twice != word {
		forms = append(forms, once, twice)
	}
	return forms
}

// squeeze cuts runs of three or more of one letter to n.
func squeeze(word string, n int) string {
	runes := []rune(word)
	var b strings.Builder
	for i := 0; i < len(runes); {
		j := i
		for j < len(runes) && runes[j] == runes[i] {
			j++
		}
		count := j - i
		if count >= 3 {
			count = n
		}
		b.WriteString(strings.Repeat(string(runes[i]), count))
		i = j
	}
	return b.String()
}

// figured is a word with figures or signs for letters.
var (
	figured  = regexp.MustCompile(`[\p{L}0-9@$!|]{4,24}`)
	unfigure = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "9", "g", "@", "a", "$", "s", "!", "i", "|", "i")
)

// unfigured gives the word that is meant, where letters outnumber figures: an id such as
// A-55 is none.
func unfigured(text string) (string, bool) {
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
		}
	}
	form := unfigure.Replace(plainWord(text))
	return form, letters > utf8.RuneCountInString(text)/2 && form != plainWord(text)
}
