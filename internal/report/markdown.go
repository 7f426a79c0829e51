package report

import (
	"fmt"
	"io"
	"strings"
)

// writeMarkdown draws the blocks as GitHub's tables. A cell of several lines is
// broken with <br>.
func (r *Report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	for i, blk := range r.blocks() {
		if i > 0 {
			b.WriteString("\n")
		}
		if blk.title != "" {
			fmt.Fprintf(&b, "### %s\n\n", markdownText(blk.title))
		}
		markdownGrid(&b, blk)
		for _, n := range blk.notes {
			fmt.Fprintf(&b, "\n%s\n", markdownText(n))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownGrid(b *strings.Builder, blk block) {
	if len(blk.columns) == 0 {
		return
	}
	for _, c := range blk.columns {
		fmt.Fprintf(b, "| %s ", markdownText(oneLine.Replace(c)))
	}
	b.WriteString("|\n|---" + strings.Repeat("|---:", len(blk.columns)-1) + "|\n")
	for _, r := range blk.rows {
		if r.section != "" {
			fmt.Fprintf(b, "| **%s** %s|\n", markdownText(r.section), strings.Repeat("| ", len(blk.columns)-1))
			continue
		}
		for _, c := range r.cells {
			fmt.Fprintf(b, "| %s ", markdownCell(c))
		}
		b.WriteString("|\n")
	}
}

// oneLine joins the lines of a header, also where they break a word.
var oneLine = strings.NewReplacer("-\n", "-", "/\n", "/", wordBreak, "", "\n", " ")

func markdownCell(c cell) string {
	var lines []string
	for _, l := range c {
		if l != "" {
			lines = append(lines, markdownText(l))
		}
	}
	return strings.Join(lines, "<br>")
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "`", "\\`", "[", `\[`)

func markdownText(s string) string { return markdownEscapes.Replace(s) }
