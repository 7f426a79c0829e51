package suite

import (
	"strings"
	"unicode"

	"github.com/goccy/go-yaml/token"
)

// locate gives the place in the file of the character at offset (in characters) of
// a text's content. Folding and indentation change white space only, so it counts
// the other characters.
func locate(lines []string, n *node, offset int) pos {
	if n.made || n.pos.line == 0 { // no file spells it
		return n.pos
	}
	content := []rune(n.text)
	skip := 0
	for _, c := range content[:min(max(offset, 0), len(content))] {
		if !unicode.IsSpace(c) {
			skip++
		}
	}
	line, col := n.pos.line, n.pos.col
	switch n.style {
	case token.FoldedType, token.LiteralType:
		line, col = line+1, 1
	case token.SingleQuoteType, token.DoubleQuoteType:
		col++
	}
	for ; line <= len(lines); line, col = line+1, 1 {
		row := []rune(lines[line-1])
		for i := col - 1; i < len(row); {
			width, visible := sourceChar(row[i:], n.style)
			if visible && skip == 0 {
				return pos{line, i + 1}
			}
			if visible {
				skip--
			}
			i += width
		}
		if skip == 0 && offset >= len(content) { // just past the end
			return pos{line, len(strings.TrimRight(lines[line-1], " ")) + 1}
		}
	}
	return n.pos
}

// sourceChar gives how many characters the next content character takes in the
// source, and whether it is more than white space.
func sourceChar(row []rune, style token.Type) (width int, visible bool) {
	switch {
	case style == token.SingleQuoteType && len(row) > 1 && row[0] == '\'' && row[1] == '\'':
		return 2, true
	case style == token.DoubleQuoteType && row[0] == '\\':
		return escape(row)
	}
	return 1, !unicode.IsSpace(row[0])
}

func escape(row []rune) (width int, visible bool) {
	if len(row) < 2 {
		return 1, false // an escaped line break
	}
	switch row[1] {
	case 'n', 't', 'r', 'v', 'f', ' ', '\t', 'N', '_', 'L', 'P':
		return 2, false
	case 'x':
		return min(4, len(row)), true
	case 'u':
		return min(6, len(row)), true
	case 'U':
		return min(10, len(row)), true
	}
	return 2, true
}

// offsetOf gives the offset in characters of a 1-based line and column in s.
func offsetOf(s string, line, col int) int {
	offset := 0
	for i, row := range strings.Split(s, "\n") {
		if i == line-1 {
			return offset + col - 1
		}
		offset += len([]rune(row)) + 1
	}
	return offset
}
