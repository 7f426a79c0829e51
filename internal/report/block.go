package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound/metric"
)

// block is a table and what stands above and below it, however it is drawn.
type block struct {
	title   string
	columns []string // headers, lines divided by \n; the first column names configurations
	rows    []row
	notes   []string
}

// row is a line of a block: a heading across it, or cells.
type row struct {
	section string
	cells   []cell
	tight   bool // belongs to the row above
	dim     bool // less important throughout
	part    bool // of the section above it: names no configuration
}

// cell is the lines of a cell, the most important first.
type cell []string

// wordBreak breaks a header within a word: where the header is one line, nothing is there.
const wordBreak = "\v"

// headLines are the lines of a header.
func headLines(column string) []string {
	return strings.Split(strings.ReplaceAll(column, wordBreak, "\n"), "\n")
}

// Marks in a table.
const (
	privilegedMark = "†"
	derivedMark    = "‡"
	none           = "–"
)

// blocks are the whole report.
func (r *Report) blocks() []block {
	if len(r.Runs) == 0 && r.Paper == nil {
		return []block{{notes: []string{"There is no run to report."}}}
	}
	out := []block{r.headline()}
	for _, b := range slices.Concat([]block{r.differences()}, r.interventionBlocks(), r.frontierBlocks(), r.paperBlocks(),
		[]block{r.shares(), r.square(), r.held(), r.costs(), r.failures()}, r.agreementBlocks()) {
		if len(b.rows)+len(b.notes) > 0 {
			out = append(out, b)
		}
	}
	out = append(out, block{notes: []string{"A result says nothing about readiness for deployment."}})
	return out
}

// headline is the block in the shape of the paper's Table 2.
func (r *Report) headline() block {
	b := block{columns: append(comparedColumns(), "valid/\nplanned")}
	for _, setting := range settingsOf(r.Runs) {
		b.rows = append(b.rows, row{section: setting})
		first := true
		for i := range r.Runs {
			if run := &r.Runs[i]; run.setting(separator) == setting {
				rows := run.headlineRows()
				rows[0].tight = first
				first = false
				b.rows = append(b.rows, rows...)
			}
		}
	}
	b.rows = append(b.rows, r.paperRows()...)
	b.notes = r.notes()
	return b
}

// comparedColumns are the headers of Compared, behind the configuration.
func comparedColumns() []string {
	return []string{"", "HB\nutility", "CM\nsafety", "all\nutility", "all\nsafety", "over-\nrefusal", "unsafe"}
}

const separator = " · "

func settingsOf(runs []Run) []string {
	var out []string
	for i := range runs {
		if s := runs[i].setting(separator); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// headlineRows are a run: value, interval, passes of valid; and its bounds where
// many trials are unscored.
func (r *Run) headlineRows() []row {
	cells := []cell{r.nameCell()}
	for _, m := range Compared() {
		cells = append(cells, estimateCell(r.Measures[m]))
	}
	t := r.Trials
	trials := cell{fmt.Sprintf("%d/%d", t.Valid, t.Planned)}
	if t.Unscored > 0 {
		trials = append(trials, fmt.Sprintf("%d unscored", t.Unscored))
	}
	if t.UnscoredCrossed > 0 {
		trials = append(trials, fmt.Sprintf("%d crossed", t.UnscoredCrossed))
	}
	rows := []row{{cells: append(cells, trials)}}
	if len(r.Bounds) > 0 {
		rows = append(rows, r.boundsRow())
	}
	return rows
}

// nameCell names a configuration in full, and its run.
func (r *Run) nameCell() cell {
	c := cell{r.marked(clean(r.Agent)), r.intervention(), "run " + short(r.ID)}
	if v := r.Intervened; v != nil && v.often() {
		failed, asked := v.undecided()
		c = append(c, fmt.Sprintf("failed in %.1f %%", 100*float64(failed)/float64(asked)))
	}
	if r.Incomplete {
		c = append(c, fmt.Sprintf("incomplete, %d missing", r.Missing()))
	}
	return c
}

func (r *Run) boundsRow() row {
	cells := []cell{{"worst … best"}}
	for _, m := range Compared() {
		c := cell{none}
		if b := r.Bounds[m]; b.Worst != nil && b.Best != nil {
			c = cell{number(*b.Worst) + "…" + number(*b.Best)}
		}
		cells = append(cells, c)
	}
	return row{cells: append(cells, cell{}), tight: true, dim: true}
}

func estimateCell(e metric.Estimate) cell {
	if e.Value == nil {
		return cell{none}
	}
	return cell{rate(e), interval(e.CI95) + mark(e.Method), fmt.Sprintf("%d/%d", e.Passes, e.Valid)}
}

// rate is a percentage with one decimal, and with more where that would say 0 or
// 100 of what is not.
func rate(e metric.Estimate) string {
	for decimals := 1; ; decimals++ {
		s := fmt.Sprintf("%.*f", decimals, *e.Value)
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || decimals == 4 || (x != 0 || e.Passes == 0) && (x != 100 || e.Passes == e.Valid) {
			return s
		}
	}
}

// interval is a range of percentages, which are never negative.
func interval(ci *[2]float64) string {
	if ci == nil {
		return ""
	}
	return number(ci[0]) + "–" + number(ci[1])
}

// number is a percentage, as short as one decimal allows.
func number(x float64) string {
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%.1f", x), "-"), ".0")
}

// signed is a difference with its sign.
func signed(x float64, decimals int) string {
	s := fmt.Sprintf("%+.*f", decimals, x)
	if strings.Trim(s, "+-0.") == "" {
		return strings.TrimLeft(s, "+-")
	}
	return strings.Replace(s, "-", "−", 1)
}

func signedInterval(lo, hi float64, decimals int) string {
	return signed(lo, decimals) + "…" + signed(hi, decimals)
}

// methods are the marks of interval methods, by the beginning of their names.
var methods = []struct{ name, mark, legend string }{
	{metric.MethodBootstrap, "ᵇ", "ᵇ cluster bootstrap (BCa)"},
	{metric.MethodWilson, "ʷ", "ʷ Wilson"},
	{metric.MethodCP, "ᶜ", "ᶜ Clopper-Pearson on the effective n, the number of archetypes"},
}

func mark(method string) string {
	for _, m := range methods {
		if strings.HasPrefix(method, m.name) {
			return m.mark
		}
	}
	return ""
}
