package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainLine is a text on one line of a terminal: what would act on it, or begin a line
// of its own, is shown as a mark.
func plainLine(text string) string {
	return strings.Join(strings.Fields(plainText(text)), " ")
}

// plainText is plainLine that keeps lines.
func plainText(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// plainError is an error as a terminal may show it: its text may hold what files and
// servers said.
type plainError struct{ error }

func (e plainError) Error() string { return plainText(e.error.Error()) }
func (e plainError) Unwrap() error { return e.error }

func plainly(err error) error {
	if err == nil {
		return nil
	}
	return plainError{err}
}
