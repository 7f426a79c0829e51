package transport

import (
	"bytes"
	"iter"
	"regexp"
)

// Event is one of a stream of server-sent events.
type Event struct {
	Name string // empty: it has none
	Data []byte // without white space around
}

var (
	mark     = []byte("\xef\xbb\xbf") // of byte order
	streamed = regexp.MustCompile(`^(?:\x{FEFF})?\s*(?:data|event|id|retry)?:`)
)

// Streamed reports whether a body is a stream of events, whatever its content type says.
// Servers that do not stream answer as if they had not been asked to.
func Streamed(body []byte) bool { return streamed.Match(body) }

// Events takes a stream apart (WHATWG HTML, 9.2.6): lines end in CR, LF or both, lines of
// data are joined, comments and events without data are passed over. A last event that no
// blank line ends was cut, and is none; but the mark of the end may lack it: some servers
// write nothing after that.
func Events(body []byte) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		var e Event
		some := false
		for rest := bytes.TrimPrefix(body, mark); len(rest) > 0; {
			var line []byte
			line, rest = cutLine(rest)
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch {
			case len(line) == 0:
				if some && !yield(e.trimmed()) {
					return
				}
				e, some = Event{}, false
			case string(name) == "event":
				e.Name = string(value)
			case string(name) == "data":
				if some {
					e.Data = append(e.Data, '\n')
				}
				e.Data, some = append(e.Data, value...), true
			}
		}
		if e = e.trimmed(); string(e.Data) == "[DONE]" {
			yield(e)
		}
	}
}

func (e Event) trimmed() Event {
	e.Data = bytes.TrimSpace(e.Data)
	return e
}

// cutLine gives the first line, and what follows its end.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return b, nil
	case bytes.HasPrefix(b[i:], []byte("\r\n")):
		return b[:i], b[i+2:]
	}
	return b[:i], b[i+1:]
}
