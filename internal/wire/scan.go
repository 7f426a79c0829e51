package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"unicode/utf8"
)

// A stream is hundreds of small JSON texts, each of which must be read before it may pass.
// encoding/json scans a text once to check it, once more for each level that is looked at,
// and copies; this file checks a text once and then cuts it up where it lies. What is valid
// here is valid there (FuzzScan).

// deepest is how far lists and objects may be nested, as in encoding/json.
const deepest = 10_000

// valid reports whether a text is one JSON value, with blanks around it.
func valid(b []byte) bool {
	i := check(b, blanks(b, 0), 0)
	return i >= 0 && blanks(b, i) == len(b)
}

func blanks(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// check is where the value that begins at i ends, or -1 where it is none.
func check(b []byte, i, depth int) int {
	if i >= len(b) || depth > deepest {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return checkString(b, i)
	case c == '{':
		return checkMembers(b, i, depth, true)
	case c == '[':
		return checkMembers(b, i, depth, false)
	case c == 't':
		return word(b, i, "true")
	case c == 'f':
		return word(b, i, "false")
	case c == 'n':
		return word(b, i, "null")
	case c == '-', c >= '0' && c <= '9':
		return checkNumber(b, i)
	}
	return -1
}

func word(b []byte, i int, w string) int {
	if len(b)-i < len(w) || string(b[i:i+len(w)]) != w {
		return -1
	}
	return i + len(w)
}

// checkMembers checks an object or a list.
func checkMembers(b []byte, i, depth int, named bool) int {
	closes := byte(']')
	if named {
		closes = '}'
	}
	i = blanks(b, i+1)
	if i < len(b) && b[i] == closes {
		if depth >= deepest {
			return -1
		}
		return i + 1
	}
	for i < len(b) {
		if named {
			if b[i] != '"' {
				return -1
			}
			if i = checkString(b, i); i < 0 {
				return -1
			}
			if i = blanks(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = blanks(b, i+1)
		}
		if i = check(b, i, depth+1); i < 0 {
			return -1
		}
		if i = blanks(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case closes:
			return i + 1
		case ',':
			i = blanks(b, i+1)
		default:
			return -1
		}
	}
	return -1
}

func checkString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c != '\\':
			continue
		}
		if i++; i >= len(b) {
			return -1
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for range 4 {
				if i++; i >= len(b) || !hexadecimal(b[i]) {
					return -1
				}
			}
		default:
			return -1
		}
	}
	return -1
}

func hexadecimal(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func checkNumber(b []byte, i int) int {
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}

// end is where a value that is valid ends.
func end(b []byte, i int) int {
	switch b[i] {
	case '"':
		return endString(b, i)
	case '{', '[':
		for open := 0; ; {
			switch b[i] {
			case '"':
				i = endString(b, i)
				continue
			case '{', '[':
				open++
			case '}', ']':
				if open--; open == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\r', '\t':
			return i
		}
		i++
	}
	return i
}

func endString(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// members are those of an object that is valid, in order, as they stand there; of anything
// else there are none.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := blanks(b, 0)
		if i >= len(b) || b[i] != '{' {
			return
		}
		for i = blanks(b, i+1); b[i] != '}'; {
			n := endString(b, i)
			name := b[i:n:n]
			i = blanks(b, blanks(b, n)+1)
			v := end(b, i)
			if !yield(name, b[i:v:v]) {
				return
			}
			if i = blanks(b, v); b[i] == ',' {
				i = blanks(b, i+1)
			}
		}
	}
}

// elements are those of a list that is valid; of anything else there are none.
func elements(b []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		i := blanks(b, 0)
		if i >= len(b) || b[i] != '[' {
			return
		}
		for i = blanks(b, i+1); b[i] != ']'; {
			v := end(b, i)
			if !yield(b[i:v:v]) {
				return
			}
			if i = blanks(b, v); b[i] == ',' {
				i = blanks(b, i+1)
			}
		}
	}
}

// unquote is what a string that is valid says; of anything else it is empty.
func unquote(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// named reports whether the name of a member is this one. Names that are written with
// escapes are read.
func named(name []byte, is string) bool {
	if bytes.IndexByte(name, '\\') >= 0 {
		return unquote(name) == is
	}
	return string(name[1:len(name)-1]) == is
}
