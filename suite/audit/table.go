package audit

import (
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
)

// widest is where the last column of a table is broken into lines.
const widest = 110

// WriteTable writes the report for a terminal.
func (r *Report) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "suite %s, %s, %s, digest %.12s\n", r.Suite.Name, counted(r.Suite.Families, "family", "families"), archetypes(r.Coverage.Archetypes), r.Suite.Digest)
	for _, blk := range r.blocks() {
		if len(blk.rows)+len(blk.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n%s\n", blk.title)
		grid(&b, blk)
		for _, l := range blk.lines {
			wrapped(&b, "  ", l)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func grid(b *strings.Builder, blk block) {
	if len(blk.rows) == 0 {
		return
	}
	rows := append([][]string{blk.columns}, blk.rows...)
	widths := make([]int, len(blk.columns))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], runewidth.StringWidth(c))
		}
	}
	for _, r := range rows {
		line := " "
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-runewidth.StringWidth(c))
			switch {
			case i >= len(r)-blk.numbers:
				line += " " + pad + c + " "
			case i == len(r)-1: // prose
				indent := runewidth.StringWidth(line) + 1
				parts := wrap(c, max(widest-indent, 40))
				line += " " + strings.Join(parts, "\n"+strings.Repeat(" ", indent))
			default:
				line += " " + c + pad + " "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func wrapped(b *strings.Builder, indent, text string) {
	for i, l := range wrap(text, widest) {
		if i > 0 {
			b.WriteString("  ")
		}
		b.WriteString(indent + l + "\n")
	}
}

// wrap breaks a text between words into lines of at most width columns, where it can.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && runewidth.StringWidth(line)+1+runewidth.StringWidth(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}

// WriteMarkdown writes the report as GitHub's tables.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Audit of suite %s\n\n%s, %s, digest `%.12s`\n", escaped(r.Suite.Name), counted(r.Suite.Families, "family", "families"), archetypes(r.Coverage.Archetypes), r.Suite.Digest)
	for _, blk := range r.blocks() {
		if len(blk.rows)+len(blk.lines) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n", escaped(blk.title))
		if len(blk.rows) > 0 {
			b.WriteString("\n" + markdownRow(blk.columns))
			for i := range blk.columns {
				b.WriteString("|---")
				if i >= len(blk.columns)-blk.numbers {
					b.WriteString(":")
				}
			}
			b.WriteString("|\n")
			for _, row := range blk.rows {
				b.WriteString(markdownRow(row))
			}
		}
		for _, l := range blk.lines {
			fmt.Fprintf(&b, "\n%s\n", escaped(l))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownRow(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		fmt.Fprintf(&b, "| %s ", escaped(c))
	}
	return b.String() + "|\n"
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "\n", " ")

func escaped(s string) string { return markdownEscapes.Replace(s) }
