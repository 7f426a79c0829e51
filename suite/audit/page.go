package audit

import (
	_ "embed" // the page's template and style
	"fmt"
	"html/template"
	"io"
)

//go:embed page/page.html
var pageText string

//go:embed page/style.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template draws.
type page struct {
	Style    template.CSS
	Suite    string
	About    string
	Breaches []pageBreach
	Bounds   string
	Strips   []strip
	Blocks   []pageBlock
}

type pageBreach struct{ Title, Bound, Why string }

type pageBlock struct {
	Title   string
	Columns []pageCell
	Rows    [][]pageCell
	Lines   []string
}

type pageCell struct {
	Text    string
	Number  bool
	Heading bool
}

// strip draws one measure: its interval, value and bound on a line from 0 to 1.
type strip struct {
	Audit, Title, About, Value, Bound, Class, Verdict string
	X, Lo, Width, BoundLo, BoundWidth                 float64 // in percent of the line
	Bounded                                           bool
}

// WriteHTML writes the report as one page that needs nothing else and asks no other
// place for anything. It is for makers of suites: it names what tells permission.
func (r *Report) WriteHTML(w io.Writer) error {
	p := page{Style: template.CSS(pageStyle), Suite: r.Suite.Name, //nolint:gosec // a constant of ours
		About: fmt.Sprintf("%s, %s, digest %.12s, seed %d", counted(r.Suite.Families, "family", "families"), archetypes(r.Coverage.Archetypes), r.Suite.Digest, r.Seed)}
	for i := range r.Breaches {
		b := &r.Breaches[i]
		p.Breaches = append(p.Breaches, pageBreach{b.title(), b.Bound, b.Why})
	}
	blocks := r.blocks()
	p.Bounds = blocks[1].lines[0] + " " + blocks[1].lines[1]
	for i := range r.Measures {
		if m := &r.Measures[i]; m.Value != nil {
			p.Strips = append(p.Strips, m.strip())
		}
	}
	for _, b := range blocks[2:] {
		if len(b.rows)+len(b.lines) > 0 {
			p.Blocks = append(p.Blocks, b.page())
		}
	}
	return pageTemplate.Execute(w, p)
}

func (b *block) page() pageBlock {
	out := pageBlock{Title: b.title, Lines: b.lines}
	cells := func(row []string) (line []pageCell) {
		for i, c := range row {
			line = append(line, pageCell{Text: c, Number: i >= len(row)-b.numbers, Heading: i == 0})
		}
		return line
	}
	out.Columns = cells(b.columns)
	for _, r := range b.rows {
		out.Rows = append(out.Rows, cells(r))
	}
	return out
}

func (m *Measure) strip() strip {
	s := strip{Audit: m.Audit, Title: m.title(), About: m.About, Value: decimal(m.Value), Bound: m.Bound.String(), Class: "none", Verdict: "reported",
		X: 100 * *m.Value, Lo: 100 * m.CI95[0], Width: 100 * (m.CI95[1] - m.CI95[0])}
	if m.Held != nil {
		s.Class, s.Verdict = "pass", "held"
		switch {
		case !*m.Held:
			s.Class, s.Verdict = "bad", "missed"
		case m.outside():
			s.Class, s.Verdict = "short", "open"
		}
	}
	if m.Bound != nil {
		lo, hi := 0.0, 1.0
		if m.Bound.Least != nil {
			lo = *m.Bound.Least
		}
		if m.Bound.Most != nil {
			hi = *m.Bound.Most
		}
		s.Bounded, s.BoundLo, s.BoundWidth = true, 100*lo, 100*(hi-lo)
	}
	return s
}
