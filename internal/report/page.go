package report

import (
	"context"
	"crypto/sha256"
	_ "embed" // the page's template, style and script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
)

// PageOptions bound the page. The zero value is usable.
type PageOptions struct {
	Trials int // shown in full, failing ones first; 0 means DefaultTrials
	Cells  int // of the matrix of outcomes; 0 means DefaultCells
}

// The bounds of a page, which keep it within some megabytes.
const (
	DefaultTrials = 300
	DefaultCells  = 30_000
)

// WriteHTML writes the report as one page that needs nothing else: style, script and
// figures are inside, and it asks no other place for anything. The trials come from
// the store that the report was collected from. The page is for evaluators: it names
// splits, facts and verdicts.
func (r *Report) WriteHTML(ctx context.Context, w io.Writer, s store.Store, o PageOptions) error {
	if o.Trials <= 0 {
		o.Trials = DefaultTrials
	}
	if o.Cells <= 0 {
		o.Cells = DefaultCells
	}
	m, err := r.gather(ctx, s)
	if err != nil {
		return err
	}
	p := r.page()
	shown := m.choose(o.Trials)
	if err := p.tell(ctx, r, m, shown); err != nil {
		return err
	}
	p.Matrices = r.matrices(m, shown, o.Cells)
	p.Failures = r.pageFailures(shown)
	return pageTemplate().Execute(w, p)
}

// page is what the template draws.
type page struct {
	Style              template.CSS
	Script             template.JS
	ScriptHash         string
	Settings           []string
	Blocks, Agreement  []pageBlock
	Contents           []pageBlock // the results with a title
	Figure3a, Figure3b template.HTML
	Splits, Short      []string
	Failures           []pageFailures
	Legend             []sign
	Matrices           []matrix
	Families           []pageFamily
	Shown, Omitted     string
	AllCommand         string
}

// page is what the report alone gives.
func (r *Report) page() *page {
	p := &page{
		Style: template.CSS(pageStyle), Script: template.JS(pageScript), ScriptHash: scriptHash(), Settings: settingsOf(r.Runs), //nolint:gosec // constants of ours
		Short: []string{"HS", "CM", "EB", "HB", "hp", "ca"}, Legend: signs,
	}
	for _, s := range agentbound.Splits() {
		p.Splits = append(p.Splits, splitName(s))
	}
	for i, b := range r.blocks() {
		x := htmlBlock(b)
		x.Anchor = fmt.Sprintf("table-%d", i+1)
		switch {
		case b.title == failuresTitle: // it has a section of its own
		case slices.Contains([]string{agreementTitle, confusionTitle, readingTitle}, b.title):
			p.Agreement = append(p.Agreement, x)
		default:
			p.Blocks = append(p.Blocks, x)
			if b.title != "" {
				p.Contents = append(p.Contents, x)
			}
		}
	}
	if len(r.Runs) > 0 {
		// Both are our own drawings, whose texts are escaped where they are drawn.
		p.Figure3a, p.Figure3b = template.HTML(r.Figure3a().Inline()), template.HTML(r.Figure3b().Inline()) //nolint:gosec // as said above
	}
	return p
}

// splitName is a split as the page writes it: siblings are initials, probes words.
func splitName(s agentbound.Split) string {
	if s.Probe() {
		return string(s)
	}
	return strings.ToUpper(string(s))
}

// pageBlock is a block of the table as HTML draws it.
type pageBlock struct {
	Title, Label string
	Anchor       string
	Columns      []string
	Rows         []pageRow
	Notes        []string
}

type pageRow struct {
	Section string
	Span    int
	Cells   [][]string
	Dim     bool
	Part    bool
}

func htmlBlock(b block) pageBlock {
	out := pageBlock{Title: b.title, Label: b.title, Notes: b.notes}
	if out.Label == "" {
		out.Label = "Results by configuration"
	}
	for _, c := range b.columns {
		out.Columns = append(out.Columns, oneLine.Replace(c))
	}
	for _, r := range b.rows {
		line := pageRow{Section: r.section, Span: len(b.columns), Dim: r.dim, Part: r.part}
		for _, c := range r.cells {
			var lines []string
			for _, l := range c {
				if l != "" {
					lines = append(lines, l)
				}
			}
			line.Cells = append(line.Cells, lines)
		}
		out.Rows = append(out.Rows, line)
	}
	return out
}

// pageFailures are the failures of a run, with links to the trials shown.
type pageFailures struct {
	Run  string
	Rows []pageFailure
}

type pageFailure struct {
	Kind     metric.FailureKind
	Meaning  string
	Counts   []string // by split
	Examples []pageKey
}

// pageKey is a trial's key, with its anchor where the trial is shown.
type pageKey struct{ Short, Anchor string }

func (r *Report) pageFailures(shown *choice) []pageFailures {
	var out []pageFailures
	names := r.distinctLabels()
	for i := range r.Runs {
		run := &r.Runs[i]
		if len(run.Failures) == 0 {
			continue
		}
		set := pageFailures{Run: names[i]}
		for _, kind := range metric.FailureKinds() {
			f := pageFailure{Kind: kind, Meaning: kind.Meaning()}
			for _, split := range agentbound.Splits() {
				count := none
				for _, x := range run.Failures {
					if x.Kind == kind && x.Split == split {
						count = fmt.Sprint(x.Count)
						f.Examples = append(f.Examples, pageKey{short(x.Examples[0]), shown.anchor(i, x.Examples[0])})
					}
				}
				f.Counts = append(f.Counts, count)
			}
			f.Examples = shownFirst(f.Examples)
			if len(f.Examples) > 0 {
				set.Rows = append(set.Rows, f)
			}
		}
		out = append(out, set)
	}
	return out
}

// examples bounds the links of a line: more would want a line as wide as the rest of it.
const examples = 3

// shownFirst are some of the examples, those that are shown in full before others.
func shownFirst(all []pageKey) []pageKey {
	slices.SortStableFunc(all, func(a, b pageKey) int { return count1(a.Anchor == "") - count1(b.Anchor == "") })
	return all[:min(len(all), examples)]
}

// The parts of the page.
var (
	//go:embed page/page.html
	pageHTML string
	//go:embed page/style.css
	pageStyle string
	//go:embed page/script.js
	pageScript string
)

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// scriptHash lets the page's own script run and no other, even if one slipped through.
func scriptHash() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// plain keeps control characters out of a text, but for line ends and tabs.
func plain(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for k := range cells {
			cells[k] = clean(cells[k])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}
