package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Width is the number of columns a table fits in.
const Width = 100

// writeTable draws the blocks for a terminal.
func (r *Report) writeTable(w io.Writer, color bool) error {
	var b strings.Builder
	p := paint(color)
	for i, blk := range r.blocks() {
		if i > 0 {
			b.WriteString("\n")
		}
		if blk.title != "" {
			writeLine(&b, p.bold(blk.title))
		}
		drawGrid(&b, blk, p)
		for _, n := range blk.notes {
			for _, l := range fill(n, Width) {
				writeLine(&b, p.dim(l))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// drawGrid draws a header, a rule and the rows. The first column is flush left and
// wraps where the others leave it too little room; the others are flush right.
func drawGrid(b *strings.Builder, blk block, p paint) {
	if len(blk.columns) == 0 {
		return
	}
	widths, gap := layout(blk)
	head := make([]cell, len(blk.columns))
	for i, c := range blk.columns {
		head[i] = headLines(c)
	}
	drawRow(b, bottom(head), widths, gap, func(_ int, s string) string { return p.bold(s) })
	writeLine(b, p.dim(strings.Repeat("─", total(widths, gap))))
	for i, r := range blk.rows {
		switch {
		case r.section != "":
			if i > 0 {
				b.WriteString("\n")
			}
			for _, l := range fill(r.section, Width) {
				writeLine(b, p.bold(l))
			}
			continue
		case i > 0 && !r.tight:
			b.WriteString("\n")
		}
		across, name := spill(r.cells[0], widths[0])
		for _, l := range across {
			writeLine(b, l)
		}
		cells := append([]cell{wrapAll(name, widths[0])}, r.cells[1:]...)
		drawRow(b, cells, widths, gap, func(line int, s string) string {
			if line > 0 || r.dim {
				return p.dim(s)
			}
			return s
		})
	}
	writeLine(b, p.dim(strings.Repeat("─", total(widths, gap))))
}

// layout gives the widths of the columns and the gap between them.
func layout(blk block) (widths []int, gap int) {
	widths = make([]int, len(blk.columns))
	widen := func(i int, lines []string) {
		for _, l := range lines {
			widths[i] = max(widths[i], displayWidth(l))
		}
	}
	for i, c := range blk.columns {
		widen(i, headLines(c))
	}
	for _, r := range blk.rows {
		for i, c := range r.cells {
			widen(i, c)
		}
	}
	needed := widths[0]
	for gap = 3; gap >= 1; gap-- {
		room := Width - total(append([]int{0}, widths[1:]...), gap)
		if widths[0] = min(needed, room); widths[0] >= min(needed, 20) {
			break
		}
	}
	widths[0] = max(widths[0], 8)
	return widths, max(gap, 1)
}

func total(widths []int, gap int) int {
	n := gap * (len(widths) - 1)
	for _, w := range widths {
		n += w
	}
	return n
}

// bottom pads the cells of a header from above, so that they stand on its rule.
func bottom(head []cell) []cell {
	height := 0
	for _, c := range head {
		height = max(height, len(c))
	}
	for i, c := range head {
		head[i] = append(make(cell, height-len(c)), c...)
	}
	return head
}

func drawRow(b *strings.Builder, cells []cell, widths []int, gap int, style func(line int, s string) string) {
	height := 0
	for _, c := range cells {
		height = max(height, len(c))
	}
	for line := range height {
		var out strings.Builder
		for i, c := range cells {
			text := ""
			if line < len(c) {
				text = c[line]
			}
			pad := strings.Repeat(" ", max(0, widths[i]-displayWidth(text)))
			if text != "" {
				text = style(line, text)
			}
			if i == 0 {
				out.WriteString(text + pad)
			} else {
				out.WriteString(strings.Repeat(" ", gap) + pad + text)
			}
		}
		writeLine(b, out.String())
	}
}

func writeLine(b *strings.Builder, s string) {
	b.WriteString(strings.TrimRight(s, " "))
	b.WriteByte('\n')
}

// wide measures text as most terminals draw it, whatever the locale.
var wide = &runewidth.Condition{StrictEmojiNeutral: true}

func displayWidth(s string) int { return wide.StringWidth(s) }

// spill takes from the top of a name what would break over more than two lines: it stands
// across the table, above the numbers.
func spill(name cell, width int) (across []string, rest cell) {
	for rest = name; len(rest) > 0 && len(wrap(rest[0], width-1)) > 2; rest = rest[1:] {
		for i, part := range wrap(rest[0], Width-1) {
			if i > 0 {
				part = " " + part
			}
			across = append(across, part)
		}
	}
	return across, rest
}

// wrapAll wraps the lines of a cell; what is carried over is indented.
func wrapAll(c cell, width int) cell {
	var out cell
	for _, l := range c {
		for i, part := range wrap(l, width-1) {
			if i > 0 {
				part = " " + part
			}
			out = append(out, part)
		}
	}
	return out
}

// wrap cuts a name after a separator where it can, so that each part fits; one
// column more is allowed where that makes it whole.
func wrap(s string, width int) []string {
	if displayWidth(s) <= width+1 {
		return []string{s}
	}
	var parts []string
	for displayWidth(s) > width {
		cut, used := 0, 0
		hard := 0
		for i, c := range s {
			used += wide.RuneWidth(c)
			if used > width {
				break
			}
			hard = i + len(string(c))
			if strings.ContainsRune(" :/@,-_", c) {
				cut = hard
			}
		}
		if cut == 0 {
			cut = max(hard, 1)
		}
		parts = append(parts, strings.TrimRight(s[:cut], " "))
		s = s[cut:]
	}
	return append(parts, s)
}

// fill breaks prose into lines.
func fill(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && displayWidth(line)+1+displayWidth(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// clean keeps control characters of a name from steering the terminal.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return unicode.ReplacementChar
		}
		return c
	}, s)
}

// paint colours text, or leaves it.
type paint bool

func (p paint) bold(s string) string { return p.ansi("1", s) }
func (p paint) dim(s string) string  { return p.ansi("2", s) }
func (p paint) good(s string) string { return p.ansi("32", s) }
func (p paint) bad(s string) string  { return p.ansi("1;31", s) }

func (p paint) ansi(code, s string) string {
	if !p {
		return s
	}
	return fmt.Sprintf("\x1b[%sm%s\x1b[0m", code, s)
}
