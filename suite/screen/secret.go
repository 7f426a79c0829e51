package screen

import (
	"math"
	"regexp"
	"strings"
	"sync"

	"github.com/zricethezav/gitleaks/v8/detect"
)

// leaks is gitleaks with its own rules, made when it is first needed: compiling them
// takes some 30 ms, and most verbs look for nothing.
var leaks = sync.OnceValue(func() *detect.Detector {
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		panic("the rules that gitleaks brings do not load: " + err.Error()) // they are embedded in it and tested with it
	}
	d.IgnoreGitleaksAllow = true // an allowance in the text itself would need no reason
	return d
})

// secrets are keys and tokens, by the rules of gitleaks. They are told by their shape,
// or by the name they are given, and so the key of a text goes with it.
func secrets(v view) []hit {
	text := v.whole
	if v.name != "" {
		text = strings.ReplaceAll(v.name, " ", "_") + ` = "` + v.whole + `"`
	}
	out := hitsOf(Secret, Block, find(v.whole, keyShape))
	for _, leak := range leaks().DetectString(text) {
		secret := strings.TrimSpace(leak.Secret)
		if secret == "" || sameAsKey(v, secret) {
			continue
		}
		for at := 0; ; {
			i := strings.Index(v.whole[at:], secret)
			if i < 0 {
				break
			}
			at += i
			out = append(out, hit{start: at, end: at + len(secret), kind: Secret, severity: Block})
			at += len(secret)
		}
	}
	return out
}

// keyShape are keys by their prefix and length alone. gitleaks lets those pass that look
// made up, or that a vendor's own documentation uses; in a suite they are still keys that
// an agent's guard, or a scanner of the repository, will take for real.
var keyShape = regexp.MustCompile(`(?:AKIA|ASIA)[ -]?[A-Z0-9]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{40,90}|glpat-[\w-]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AIza[\w-]{35}` +
	`|sk-(?:proj-|ant-|svcacct-)?[\w-]{20,}|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}` +
	`|-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\s:,-]*|(?i:aws_?secret(?:_?access)?_?key)["' ]*[:=]["' ]*([A-Za-z0-9/+]{40})`)

// sameAsKey keeps the general rule of gitleaks, for which any long word after "key =" is
// a secret, from taking plain identifiers for one: words of small letters in a row.
func sameAsKey(_ view, secret string) bool { return identifierWords.MatchString(secret) }

var identifierWords = regexp.MustCompile(`^(?:[a-z]+[-_. ])*[a-z]+$|^[A-Z]{1,6}-?\d{1,6}$`)

// A password told in prose, or under a key that says so.
var (
	passwordSaid = regexp.MustCompile(`(?i)\b(?:pass ?(?:word|phrase|code)|passwd|pwd|pin|otp|api[ _-]?key|(?:access|auth|api|bearer)[ _-]?token|secret(?: key)?|private key|credentials?)s?["']?` +
		`(?: (?:is|was|reads|now))*(?: ?[:=] ?| (?:is|was|reads) )["'(]?([^\s"',;()]{6,64})`)
	passwordKey   = regexp.MustCompile(`^(?:.* )?(?:pass ?(?:word|phrase|code)|passwd|pwd|otp|api key|(?:access|auth|api|bearer) token|secret(?: key)?|private key)$`)
	inURL         = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,15}://[^\s/:@"']{1,64}:([^\s/@"']{3,64})@`)
	recordNumber  = regexp.MustCompile(`^(?:[A-Z]{1,6}[-_]?|[A-Za-z]{1,6}[-_])\d{1,6}$`)
	passwordSigns = regexp.MustCompile(`[A-Za-z].*[\d!$%&*+=?@^]|[\d!$%&*+=?@^].*[A-Za-z]`)
)

// passwords are findings to review: an invented one harms nobody, and nobody can tell.
func passwords(v view) []hit {
	var places [][2]int
	for _, m := range passwordSaid.FindAllStringSubmatchIndex(v.content, -1) {
		end := m[2] + len(strings.TrimRight(v.content[m[2]:m[3]], ".!?"))
		if likePassword(v.content[m[2]:end]) {
			places = append(places, [2]int{m[2], end})
		}
	}
	for _, m := range inURL.FindAllStringSubmatchIndex(v.content, -1) {
		places = append(places, [2]int{m[2], m[3]})
	}
	if value := strings.TrimSpace(v.whole); !v.code && passwordKey.MatchString(v.name) && !strings.ContainsAny(value, " \n") && likePassword(value) {
		start := strings.Index(v.whole, value)
		places = append(places, [2]int{start, start + len(value)})
	}
	return hitsOf(Password, Review, places)
}

// likePassword reports whether a word has letters and digits or signs in no plain order.
func likePassword(word string) bool {
	return len(word) >= 6 && passwordSigns.MatchString(word) && !recordNumber.MatchString(word) && !plain.MatchString(word) &&
		!strings.ContainsAny(word, "/\\[]{}<>") && entropy(word) >= 2.3
}

// entropy is Shannon's, in bits a character.
func entropy(text string) float64 {
	count := map[rune]float64{}
	n := 0.0
	for _, r := range text {
		count[r]++
		n++
	}
	h := 0.0
	for _, c := range count {
		h -= c / n * math.Log2(c/n)
	}
	return h
}
