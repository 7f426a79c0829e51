package screen

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template and style
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/style.css
var pageStyle string

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// page is what the template draws.
type page struct {
	Style    template.CSS
	Suite    agentbound.SuiteRef
	Summary  string
	Findings []pageFinding
	Allowed  []Allowed
	Unused   []Allowance
	Passages []passages
}

// pageFinding is a finding with its anchor, and whether the page has its family.
type pageFinding struct {
	Finding
	Anchor string
	Known  bool
}

// WriteHTML writes the review page: all findings, and every text that a person must
// read. It is one file that asks no other place for anything.
func (r *Report) WriteHTML(w io.Writer) error {
	p := page{
		Style: template.CSS(pageStyle), //nolint:gosec // a constant of ours
		Suite: r.Suite, Summary: r.Summary(), Findings: r.anchored(), Allowed: r.Allowed, Unused: r.Unused, Passages: r.passages,
	}
	var b bytes.Buffer
	if err := pageTemplate().Execute(&b, p); err != nil {
		return err
	}
	_, err := w.Write(printableLines(b.Bytes()))
	return err
}

func (r *Report) anchored() []pageFinding {
	known := map[string]bool{}
	for _, p := range r.passages {
		known[p.Family] = true
	}
	out := make([]pageFinding, len(r.Findings))
	for i, f := range r.Findings {
		out[i] = pageFinding{f, f.anchor(), known[f.ID]}
	}
	return out
}

// anchor is the same for a finding in every page that has it.
func (f Finding) anchor() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{f.ID, f.Where, string(f.Kind), f.Found}, "\x00")))
	return "finding-" + hex.EncodeToString(sum[:4])
}

// Summary says in a sentence or two what came out.
func (r *Report) Summary() string {
	s := fmt.Sprintf("%s of %s: ", many(r.Texts, "text"), many(r.Suite.Families, "family"))
	if len(r.Findings) == 0 {
		s += "nothing found"
	} else {
		s += fmt.Sprintf("%d blocking, %d to review", r.Blocked, r.Review)
	}
	if len(r.Allowed) > 0 {
		s += fmt.Sprintf(", %d allowed", len(r.Allowed))
	}
	if len(r.Unused) > 0 {
		s += fmt.Sprintf(", %s unused", many(len(r.Unused), "allowance"))
	}
	return s + "."
}

func many(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "y"):
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(noun, "y"))
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Class is the page's class of a passage.
func (p passageText) Class() string {
	for _, split := range []agentbound.Split{agentbound.HS, agentbound.HB} {
		if strings.HasSuffix(p.Anchor, "-"+string(split)) {
			return string(split)
		}
	}
	return ""
}
