package gateway

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"short": func(digest string) string { return digest[:min(12, len(digest))] },
	"side":  func(s Side) *Side { return &s },
}).Parse(pageText))

// most is how many entries a page holds, newest first.
const most = 2000

// WritePage writes a log as one page that needs nothing else.
func WritePage(w io.Writer, entries []Entry, unread []string) error {
	type count struct {
		Result Result
		Word   string
		N      int
	}
	view := struct {
		Title   string
		Shadow  bool // some of it
		Entries []Entry
		All     int
		Counts  []count
		Unread  []string
	}{Title: "What the gateway changed", All: len(entries), Unread: unread}
	watched := 0
	for _, e := range entries {
		if e.Mode == Shadow {
			watched++
		}
	}
	switch view.Shadow = watched > 0; {
	case !view.Shadow:
	case watched == len(entries):
		view.Title = "What the gateway would have changed"
	default:
		view.Title = "What the gateway changed, or would have"
	}
	for _, r := range []Result{Changed, Opened, Closed, Failed, Undelivered, Kept} {
		n, words := 0, []string(nil)
		for _, e := range entries {
			if e.Result != r {
				continue
			}
			if n++; !slices.Contains(words, e.Word()) {
				words = append(words, e.Word())
			}
		}
		if n > 0 {
			slices.Sort(words)
			view.Counts = append(view.Counts, count{r, strings.Join(words, ", "), n})
		}
	}
	for i := len(entries) - 1; i >= 0 && len(view.Entries) < most; i-- {
		view.Entries = append(view.Entries, entries[i])
	}
	return page.Execute(w, view)
}
