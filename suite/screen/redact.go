package screen

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a finding shows.
const (
	longestFound = 80 // characters
	tailShown    = 4  // of a number
	tailLeast    = 10 // a number this short shows none of it
	prefixShown  = 4  // of a secret: names the kind of key, such as ghp_
	prefixLeast  = 20 // a secret this short shows nothing
)

// redacted gives what may be shown of a finding. A short digest tells two apart, so that
// an allow list can name one of them.
func redacted(how redaction, text string) string {
	n := utf8.RuneCountInString(text)
	runes := []rune(text)
	sum := sha256.Sum256([]byte("agentbound screen " + text))
	mark := hex.EncodeToString(sum[:3])
	switch how {
	case hidden:
		prefix := ""
		if n >= prefixLeast {
			prefix = printable(string(runes[:prefixShown]))
		}
		return fmt.Sprintf("%s… (%d characters, %s)", prefix, n, mark)
	case tail:
		end := ""
		if n >= tailLeast {
			end = printable(string(runes[n-tailShown:]))
		}
		return fmt.Sprintf("…%s (%d characters, %s)", end, n, mark)
	case veiled:
		return fmt.Sprintf("%s… (%d letters, %s)", printable(string(runes[:min(1, n)])), n, mark)
	}
	return clip(text)
}

// clip makes one printable line of at most longestFound characters.
func clip(text string) string {
	text = printable(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > longestFound {
		return string(runes[:longestFound-1]) + "…"
	}
	return text
}

// printableLines is printable that keeps lines: a page may end on a terminal.
func printableLines(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		lines[i] = []byte(printable(string(line)))
	}
	return bytes.Join(lines, []byte("\n"))
}

// printable replaces what would act on a terminal instead of showing.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
