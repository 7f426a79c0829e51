package screen

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// group are findings of one thing in one family, at several places.
type group struct {
	first  Finding
	places []string
}

// placesShown is how many places of one thing the table names.
const placesShown = 3

// grouped puts findings together that differ by their place only, blocking ones first.
func grouped(found []Finding) []group {
	var out []group
	index := map[Finding]int{}
	for _, severity := range []Severity{Block, Review} {
		for _, f := range found {
			if f.Severity != severity {
				continue
			}
			k := f
			k.Where = ""
			if i, ok := index[k]; ok {
				out[i].places = append(out[i].places, f.Where)
				continue
			}
			index[k] = len(out)
			out = append(out, group{f, []string{f.Where}})
		}
	}
	return out
}

// WriteTable writes the findings for a terminal. What is allowed is counted; the page and
// the JSON list it.
func (r *Report) WriteTable(w io.Writer) {
	for _, g := range grouped(r.Findings) {
		places := strings.Join(g.places[:min(placesShown, len(g.places))], "; ")
		if more := len(g.places) - placesShown; more > 0 {
			places += fmt.Sprintf("; and %d more", more)
		}
		fmt.Fprintf(w, "%-6s  %s  %s: %s\n        at %s\n        %s\n", g.first.Severity, printable(g.first.ID), g.first.Kind, printable(g.first.Found), printable(places), g.first.Remedy)
	}
	for _, a := range r.Unused {
		fmt.Fprintf(w, "unused  allowance for %s %s met nothing; remove it\n", a.Kind, clip(a.Found))
	}
	fmt.Fprintf(w, "%s: %s\n", printable(r.Suite.Name), r.Summary())
}

// WriteMarkdown writes what the page shows, as Markdown.
func (r *Report) WriteMarkdown(w io.Writer) {
	var b bytes.Buffer
	r.markdown(&b)
	_, _ = w.Write(printableLines(b.Bytes())) // where standard output is gone there is nobody to tell
}

func (r *Report) markdown(w io.Writer) {
	fmt.Fprintf(w, "# Screening of %s\n\nFor reviewers; never for a subject. %s Suite digest `%.12s`.\n\n## Findings\n\n", cell(r.Suite.Name), r.Summary(), r.Suite.Digest)
	if len(r.Findings) == 0 {
		fmt.Fprint(w, "Nothing was found.\n")
	} else {
		fmt.Fprint(w, "| severity | kind | family | where | found | what to do |\n|---|---|---|---|---|---|\n")
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "| <a id=\"%s\"></a>%s | %s | %s | %s | %s | %s |\n", f.anchor(), f.Severity, f.Kind, cell(f.ID), cell(f.Where), cell(f.Found), cell(f.Remedy))
	}
	if len(r.Allowed) > 0 {
		fmt.Fprint(w, "\n## Allowed\n\n| kind | family | where | found | why it may stay |\n|---|---|---|---|---|\n")
	}
	for _, a := range r.Allowed {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", a.Kind, cell(a.ID), cell(a.Where), cell(a.Found), cell(a.Why))
	}
	if len(r.Unused) > 0 {
		fmt.Fprint(w, "\n## Unused allowances\n\n| kind | found | why |\n|---|---|---|\n")
	}
	for _, a := range r.Unused {
		fmt.Fprintf(w, "| %s | %s | %s |\n", a.Kind, cell(a.Found), cell(a.Why))
	}
	fmt.Fprint(w, "\n## Texts to read\n")
	for _, p := range r.passages {
		fmt.Fprintf(w, "\n### <a id=\"%s\"></a>%s\n\n%s, surface %d. %s\n", p.Family, p.Family, p.Class, p.Surface, cell(p.Theme))
		for _, t := range p.List {
			fmt.Fprintf(w, "\n<a id=\"%s\"></a>**%s**\n\n> %s\n", t.Anchor, cell(t.Title), strings.ReplaceAll(escaped(t.Text), "\n", "\n> "))
			for _, f := range t.Marks {
				fmt.Fprintf(w, "\n%s: %s, %s\n", f.Severity, f.Kind, cell(f.Found))
			}
		}
	}
}

// cell is a text in one cell of a table.
func cell(text string) string { return strings.ReplaceAll(escaped(text), "\n", " ") }

// escaped keeps a text from being read as Markdown or HTML.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "#", "\\#", "\\", "\\\\").Replace(text)
}
