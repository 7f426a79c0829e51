package screen

import (
	"encoding/base64"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// find gives the places where a pattern matches and that stand alone: no letter or digit
// touches them. Where the pattern has a group, the group is the place.
func find(text string, pattern *regexp.Regexp) [][2]int {
	var out [][2]int
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		start, end := m[0], m[1]
		if len(m) >= 4 && m[2] >= 0 {
			start, end = m[2], m[3]
		}
		if end > start && alone(text, start, end) {
			out = append(out, [2]int{start, end})
		}
	}
	return out
}

// alone reports whether no letter or digit touches a part that begins or ends with one.
func alone(text string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:start])
	first, _ := utf8.DecodeRuneInString(text[start:])
	last, _ := utf8.DecodeLastRuneInString(text[:end])
	after, _ := utf8.DecodeRuneInString(text[end:])
	return !(wordRune(before) && wordRune(first)) && !(wordRune(last) && wordRune(after))
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// hitsOf makes hits of places, for those that accept says are of interest.
func hitsOf(kind Kind, severity Severity, places [][2]int) []hit {
	out := make([]hit, 0, len(places))
	for _, p := range places {
		out = append(out, hit{start: p[0], end: p[1], kind: kind, severity: severity})
	}
	return out
}

// digits keeps the digits of a text.
func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
}

// plain are the shapes of numbers that name nobody: dates, times, versions, ISBNs.
var plain = regexp.MustCompile(`(?i)\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b` +
	`|\b\d{1,2}([./-])\d{1,2}[./-](?:19|20)\d{2}\b|\b(?:19|20)\d{2}[./-]\d{1,2}[./-]\d{1,2}\b|\b\d{1,2}:\d{2}(?::\d{2})?\b` +
	`|\bISBN(?:-1[03])?:? ?[\d][\d -]{8,15}[\dX]\b|\b97[89][- ]\d{1,5}[- ]\d{1,7}[- ]\d{1,7}[- ]\d\b`)

// withoutPlain blanks them.
func withoutPlain(text string) string {
	out := []byte(text)
	for _, m := range plain.FindAllStringIndex(text, -1) {
		for i := m[0]; i < m[1]; i++ {
			out[i] = '~'
		}
	}
	return string(out)
}

var base64Word = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)

// encoded looks into base64, one level deep.
func encoded(v view) []hit {
	var out []hit
	if v.longest < 24 {
		return nil
	}
	for _, p := range base64Word.FindAllStringIndex(v.content, -1) {
		inner, ok := decode(v.content[p[0]:p[1]])
		if !ok {
			continue
		}
		w := newView(Text{Text: inner})
		for _, h := range settle(w, detected(w)).hits {
			if h.kind != Organisation && h.kind != Blob {
				out = append(out, hit{start: p[0], end: p[1], kind: h.kind, severity: h.severity, found: h.found, decoded: true})
			}
		}
	}
	return out
}

// decode gives what a base64 word says, where that is text.
func decode(word string) (string, bool) {
	word = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(word, "="))
	b, err := base64.RawStdEncoding.DecodeString(word)
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	for _, r := range string(b) {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return "", false
		}
	}
	return string(b), true
}

// sums are texts that a program adds together.
var sums = regexp.MustCompile(`["']\s*\+\s*["']`)

// escapes are characters written as URLs or HTML write them.
var escapes = regexp.MustCompile(`%[0-9A-Fa-f]{2}|&(?:#x?[0-9A-Fa-f]{2,6}|[a-z]{2,6});`)

// readings are a text as it reads once its parts are joined or its escapes resolved.
func readings(t Text) []string {
	var out []string
	if t.Code && sums.MatchString(t.Text) {
		out = append(out, sums.ReplaceAllString(t.Text, ""))
	}
	if escapes.MatchString(t.Text) {
		out = append(out, html.UnescapeString(t.Text))
		if plain, err := url.PathUnescape(t.Text); err == nil {
			out = append(out, plain)
		}
	}
	return slices.DeleteFunc(out, func(r string) bool { return r == t.Text })
}

// reread looks through the other readings of a text for what it does not show itself.
func reread(t Text, known []hit) []hit {
	var out []hit
	original := normalise(t.Text)
	for _, reading := range readings(t) {
		w := newView(Text{Name: t.Name, Text: reading, Code: t.Code})
		for _, h := range settle(w, detected(w)).hits {
			if slices.ContainsFunc(known, func(k hit) bool { return k.kind == h.kind && original[k.start:k.end] == w.whole[h.start:h.end] }) {
				continue
			}
			line := min(strings.Count(w.whole[:h.start], "\n"), strings.Count(original, "\n"))
			at := lineStart(original, line)
			out = append(out, hit{start: at, end: at, kind: h.kind, severity: h.severity, found: h.found})
		}
	}
	return out
}

// lineStart is the first byte of a line, counted from 0.
func lineStart(text string, line int) int {
	at := 0
	for ; line > 0; line-- {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return at
}
