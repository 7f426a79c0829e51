package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/agentbound/agentbound"
)

// page writes text to the width of a terminal.
type page struct {
	out    io.Writer
	width  int
	colour bool
}

const (
	bold  = "\x1b[1m"
	faint = "\x1b[2m"
	red   = "\x1b[31m"
	plain = "\x1b[0m"
)

func (p page) paint(style, text string) string {
	if !p.colour || text == "" {
		return text
	}
	return style + text + plain
}

func (p page) strong(text string) string { return p.paint(bold, text) }
func (p page) line(text string)          { fmt.Fprintln(p.out, text) }
func (p page) heading(text string)       { p.line("\n" + p.strong(text)) }
func (p page) text(text string)          { p.hanging("  ", 2, text) }

func (p page) hint(text string) {
	for _, l := range wrap(text, p.width) {
		p.line(p.paint(faint, l))
	}
}

func (p page) bad(text string) {
	for _, l := range strings.Split(text, "\n") { // a caret below a line stays where it is
		p.line(p.paint(red, l))
	}
}

// hanging writes a text behind a head of so many columns, and its further lines below
// its first.
func (p page) hanging(head string, indent int, text string) {
	for i, l := range wrap(text, p.width-indent) {
		if i > 0 {
			head = strings.Repeat(" ", indent)
		}
		p.line(strings.TrimRight(head+l, " "))
	}
}

// narrowest is the least width that text is wrapped to, however deep it stands.
const narrowest = 24

// wrap cuts a text into lines at spaces; a word that is too long has a line of its own.
// It drops what would move a terminal's cursor.
func wrap(text string, width int) []string {
	width = max(width, narrowest)
	var lines []string
	for _, paragraph := range strings.Split(harmless(text), "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			switch {
			case line == "":
				line = word
			case columns(line)+1+columns(word) <= width:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '�'
		}
		return r
	}, text)
}

func columns(text string) int { return runewidth.StringWidth(text) }

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// observation prints what a call brought.
func (p page) observation(v agentbound.Value) {
	var text string
	if err := json.Unmarshal(v, &text); err == nil && strings.HasPrefix(text, "error: ") {
		for _, l := range wrap(text, p.width-2) {
			p.line("  " + p.paint(red, l))
		}
		return
	}
	n, err := parse(v)
	if err != nil { // a world gives JSON
		p.line("  " + string(v))
		return
	}
	p.node("  ", 2, n)
}

// node is a JSON value with its keys in the order written.
type node struct {
	kind   json.Delim // '{', '[' or 0
	text   string     // of what is neither
	keys   []string
	values []node
}

func parse(v agentbound.Value) (node, error) {
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	return next(dec)
}

func next(dec *json.Decoder) (node, error) {
	token, err := dec.Token()
	if err != nil {
		return node{}, err
	}
	switch x := token.(type) {
	case json.Delim:
		n := node{kind: x}
		for dec.More() {
			if x == '{' {
				key, err := dec.Token()
				if err != nil {
					return node{}, err
				}
				name, ok := key.(string)
				if !ok {
					return node{}, errors.New("a key is no text")
				}
				n.keys = append(n.keys, name)
			}
			v, err := next(dec)
			if err != nil {
				return node{}, err
			}
			n.values = append(n.values, v)
		}
		_, err := dec.Token()
		return n, err
	case nil:
		return node{text: "–"}, nil
	case bool:
		return node{text: map[bool]string{true: "yes", false: "no"}[x]}, nil
	case string:
		if x == "" {
			x = `""`
		}
		return node{text: x}, nil
	}
	return node{text: fmt.Sprint(token)}, nil
}

// flat reports whether a value fits behind its key: a scalar, or nothing at all.
func (n node) flat() bool { return len(n.values) == 0 }

func (n node) inline() string {
	switch n.kind {
	case '{':
		return "(nothing)"
	case '[':
		return "(none)"
	}
	return n.text
}

// node prints a value behind a head of so many columns: keys aligned, lists bulleted.
func (p page) node(head string, indent int, n node) {
	below := strings.Repeat(" ", indent)
	switch {
	case n.flat():
		p.hanging(head, indent, n.inline())
	case n.kind == '[':
		for i, v := range n.values {
			if i > 0 && !v.flat() { // records stand apart
				p.line("")
			}
			p.node(head+"• ", indent+2, v)
			head = below
		}
	default:
		width := 0
		for i, k := range n.keys {
			if n.values[i].flat() {
				width = max(width, columns(harmless(k)))
			}
		}
		for i, k := range n.keys {
			k, v := harmless(k), n.values[i]
			if v.flat() {
				p.node(head+p.paint(faint, k)+strings.Repeat(" ", max(0, width-columns(k)))+"  ", indent+width+2, v)
			} else {
				p.line(head + p.strong(k))
				p.node(below+"  ", indent+2, v)
			}
			head = below
		}
	}
}
