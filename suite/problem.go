package suite

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is one thing wrong in a file. Line and Column count from 1, columns in
// characters; both are 0 where the problem is the file or folder as a whole.
type Problem struct {
	File    string
	Line    int
	Column  int
	Message string
	Source  string // the line as written, for the snippet; may be empty
}

// Error gives "file:line:column: message" and, where the line is known, the line
// with a caret under the place.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.message()
	}
	head := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.message())
	return head + p.snippet()
}

// message is the message as one line; it may quote what the file, or a program in it, says.
func (p Problem) message() string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r // harmless, and the fault itself in some messages
		}
		return visible(r)
	}, p.Message)
}

// snippetWidth bounds the characters of a line that a snippet shows.
const snippetWidth = 120

func (p Problem) snippet() string {
	line := []rune(Visible(p.Source))
	at := p.Column - 1
	if at < 0 || at > len(line) || strings.TrimSpace(p.Source) == "" {
		return ""
	}
	from, lead := 0, ""
	if at > snippetWidth*2/3 {
		from, lead = at-snippetWidth/2, "…"
	}
	shown := line[from:min(len(line), from+snippetWidth)]
	gutter := fmt.Sprintf("%4d", p.Line)
	caret := strings.Repeat(" ", at-from+utf8.RuneCountInString(lead))
	return fmt.Sprintf("\n%s | %s%s\n%s | %s^", gutter, lead, strings.TrimRight(string(shown), " "), strings.Repeat(" ", len(gutter)), caret)
}

// Visible gives a text of a suite as one line that a terminal shows and does not obey:
// white space as spaces, other control and format characters as U+FFFD. Each character
// stays one.
func Visible(s string) string { return strings.Map(visible, s) }

// visible keeps what a line holds from reaching the terminal as a command.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r):
		return utf8.RuneError
	}
	return r
}

// Problems are all the things wrong in a suite, sorted by place. It is the error
// that [Load] and [Open] return for invalid content.
type Problems []Problem

// Error gives the problems one after the other.
func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap gives the single problems, for errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted orders by file, place and message, and drops repetitions.
func (ps Problems) sorted() Problems {
	slices.SortFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ps)
}

// report gathers the problems of one file.
type report struct {
	file     string
	lines    []string
	problems Problems
}

func newReport(file string, text []byte) *report {
	return &report{file: file, lines: strings.Split(string(text), "\n")}
}

// maxProblems bounds what is told of one file.
const maxProblems = 100

func (r *report) full() bool { return len(r.problems) >= maxProblems }

// at adds a problem at a place of the file.
func (r *report) at(p pos, format string, args ...any) {
	if r.full() {
		return
	}
	if len(r.problems) == maxProblems-1 {
		p, format, args = pos{}, "more problems than are shown; mend these first", nil
	}
	q := Problem{File: r.file, Line: p.line, Column: p.col, Message: fmt.Sprintf(format, args...)}
	if p.line >= 1 && p.line <= len(r.lines) {
		q.Source = r.lines[p.line-1]
	}
	r.problems = append(r.problems, q)
}

// whole adds a problem of the file as a whole.
func (r *report) whole(format string, args ...any) { r.at(pos{}, format, args...) }
