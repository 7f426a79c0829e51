package transport_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model/transport"
)

// TestEvents: streams as servers write them.
func TestEvents(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"LF":                       {"data: {\"a\":1}\n\ndata: [DONE]\n\n", []string{`{"a":1}`, "[DONE]"}},
		"CRLF":                     {"event: x\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n", []string{"x {\"a\":\n1}"}},
		"CR":                       {"event: x\rdata: {\"a\":\rdata: 1}\r\r", []string{"x {\"a\":\n1}"}},
		"a mark of byte order":     {"\xef\xbb\xbfdata: 1\n\n", []string{"1"}},
		"comments":                 {": OPENROUTER PROCESSING\n\n:\ndata: 1\n: between\ndata: 2\n\n", []string{"1\n2"}},
		"other fields":             {"id: 7\nretry: 10\ndata\ndata: 1\nnonsense\n\n", []string{"1"}},
		"a name without data":      {"event: ping\n\ndata: 1\n\n", []string{"1"}},
		"no space":                 {"data:1\n\n", []string{"1"}},
		"no blank line at the end": {"data: 1\n\ndata: [DONE]", []string{"1", "[DONE]"}},
		"no line end at the end":   {"data: 1\n\ndata: {\"a\":1}", []string{"1"}},
		"cut at the end":           {"data: 1\n\ndata: {\"a\":1", []string{"1"}},
		"nothing":                  {"", nil},
	} {
		if d := cmp.Diff(test.want, told(test.body)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestEventsOfAnySize: no line is too long, and no place in a stream is a bad one for the
// end of a line.
func TestEventsOfAnySize(t *testing.T) {
	for pad := range 20 {
		body := "data: {\"a\":\r\ndata: \"" + strings.Repeat("x", 4070+pad) + "\"\r\ndata: }\r\n\r\n"
		if got := told(strings.Repeat(body, 3)); len(got) != 3 || got[0] != got[2] || !strings.HasSuffix(got[1], "\"\n}") {
			t.Errorf("%d: %d events", pad, len(got))
		}
	}
	long := strings.Repeat("x", 33<<20)
	if got := told("data: " + long + "\n\n"); len(got) != 1 || len(got[0]) != len(long) {
		t.Errorf("%d events", len(got))
	}
}

func told(body string) (events []string) {
	for e := range transport.Events([]byte(body)) {
		events = append(events, strings.TrimSpace(e.Name+" "+string(e.Data)))
	}
	return events
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: {\"a\":\rdata: 1}\n\n: c\n\ndata: [DONE]"))
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		for e := range transport.Events(body) {
			n += len(e.Data)
		}
		if n > len(body) {
			t.Errorf("%d bytes of %d", n, len(body))
		}
	})
}

func TestStreamed(t *testing.T) {
	for body, want := range map[string]bool{
		"data: x": true, "data:x": true, "event: x": true, ": comment": true, "\n\ndata: x": true, "\ufeffdata: x": true, "id: 1\ndata: x": true,
		"": false, "{}": false, ` {"data": 1}`: false, "<html>": false, "database": false, "null": false, "upstream: down": false,
	} {
		if got := transport.Streamed([]byte(body)); got != want {
			t.Errorf("%q: %v", body, got)
		}
	}
}
