package wire_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/wire"
)

// sample is a protocol, asked and answered by hand.
type sample struct {
	protocol wire.Protocol
	path     string // with its query
	body     string // with blanks and an order that no encoder writes
	whole    string
	events   []string // the answer as a stream; calls and the end come from the event hold on
	hold     int
}

func samples() []sample {
	return []sample{
		{
			wire.Responses, "/v1/responses?trace=%31", "{ \"stream\" : true,\"model\":\"m\",\n \"input\":\"hi\", \"input\":\"hi\",\"later\":1.50e0 }\n",
			`{ "status":"completed", "later":1.0,"output":[ {"type":"message","content":[{"type":"output_text","text":"\u0041 look"}]},{"type":"function_call","call_id":"c","name":"read","arguments":"{}"}] }` + "\n",
			[]string{
				": hello\n\n", "event: response.created\ndata: {\"type\":\"response.created\"}\n\n",
				"data: {\"type\":\"response.output_text.delta\",\"delta\":\"A look\"}\r\n\r\n", "event: later.event\ndata: {\ndata: \"x\":1}\n\n",
				"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"read\",\"arguments\":\"{}\"}}\n\n",
				"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"A look\"}]},{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"read\",\"arguments\":\"{}\"}]}}\n\n",
				"data: [DONE]\n\n", "\n",
			}, 4,
		},
		{
			wire.ChatCompletions, "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`,
			`{"choices":[{"message":{"content":"A look","tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			[]string{
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A look\"}}]}\n\n", ": PROCESSING\n\n",
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"read\",\"arguments\":\"\"}}]}}]}\n\n",
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\n",
				"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n", "data: [DONE]\n\n",
			}, 3,
		},
		{
			wire.Messages, "/v1/messages?beta=true", `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
			`{"type":"message","content":[{"type":"text","text":"A look"},{"type":"tool_use","id":"c","name":"read","input":{}}],"stop_reason":"tool_use"}`,
			[]string{
				"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[]}}\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n",
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"A look\"}}\n\n",
				"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"read\",\"input\":{}}}\n\n",
				"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{}}\n\n", "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			}, 6,
		},
		{
			wire.GenerateContent, "/v1beta/models/m:streamGenerateContent?alt=sse&$x=%20", `{"contents":[{"parts":[{"text":"hi"}]}]}`,
			`[{"candidates":[{"content":{"parts":[{"text":"A "},{"text":"look"}]}}]},` + "\r\n" + `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"c","name":"read","args":{}}}]},"finishReason":"STOP"}]}]`,
			[]string{
				"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"A \"}]}}]}\r\n\r\n", "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"look\"}]}}]}\r\n\r\n",
				"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"c\",\"name\":\"read\",\"args\":{}}}]},\"finishReason\":\"STOP\"}]}\r\n\r\n",
			}, 2,
		},
	}
}

// log gathers what a proxy tells.
type log struct {
	mu     sync.Mutex
	turns  []wire.Turn
	asides []wire.Aside
	faults []wire.Fault
}

func (l *log) options() wire.Options {
	return wire.Options{
		OnTurn:  func(t wire.Turn) { l.mu.Lock(); l.turns = append(l.turns, t); l.mu.Unlock() },
		OnAside: func(a wire.Aside) { l.mu.Lock(); l.asides = append(l.asides, a); l.mu.Unlock() },
		OnFault: func(f wire.Fault) { l.mu.Lock(); l.faults = append(l.faults, f); l.mu.Unlock() },
	}
}

// waitAsides gives the asides told so far, once there are n of them.
func (l *log) waitAsides(t *testing.T, n int) []wire.Aside {
	t.Helper()
	for {
		l.mu.Lock()
		got := slices.Clone(l.asides)
		l.mu.Unlock()
		switch {
		case len(got) == n:
			return got
		case len(got) > n || t.Context().Err() != nil:
			t.Fatalf("%d asides, not %d: %+v", len(got), n, got)
		}
		time.Sleep(time.Millisecond)
	}
}

func (l *log) kinds() (all []wire.Kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.faults {
		all = append(all, f.Kind)
	}
	return all
}

// post asks by hand, with the dummy key.
func post(t testing.TB, url, body string, header ...string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+dummyKey)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "" {
			continue
		}
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return res, got, err
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL
}

// TestTransparent: bodies pass to the byte, both ways, whatever the pieces they come in;
// so do the address, the headers and the status.
func TestTransparent(t *testing.T) {
	for _, s := range samples() {
		for _, piece := range []int{0, 1, 7} {
			for _, stream := range []bool{true, false} {
				var sent, asked string
				var header http.Header
				answer := s.whole
				if stream {
					answer = strings.Join(s.events, "")
				}
				up := serve(t, func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					sent, asked, header = string(b), r.URL.RequestURI(), r.Header
					w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream; charset=utf-8", false: "application/json"}[stream])
					w.Header().Add("X-Request-Id", "one")
					w.Header().Add("X-Request-Id", "two")
					for rest := answer; len(rest) > 0; {
						n := min(max(piece, 1), len(rest))
						if piece == 0 {
							n = len(rest)
						}
						_, _ = io.WriteString(w, rest[:n])
						_ = http.NewResponseController(w).Flush()
						rest = rest[n:]
					}
				})
				var l log
				base := front(t, up, l.options())
				res, got, err := post(t, base+s.path, s.body, "X-Of-The-Program", "yes", "User-Agent", "program/1", "Accept-Encoding", "gzip, br")
				if err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("%s: %v", s.protocol, err)
				}
				if sent != s.body || asked != s.path || string(got) != answer {
					t.Errorf("%s, streamed %v in pieces of %d: sent %q to %q, got %q", s.protocol, stream, piece, sent, asked, got)
				}
				if header.Get("X-Of-The-Program") != "yes" || header.Get("User-Agent") != "program/1" || header.Get("Accept-Encoding") != "identity" || header.Get("Authorization") != "Bearer "+realKey || header.Get("X-Forwarded-For") != "" {
					t.Errorf("%s: headers %v", s.protocol, header)
				}
				if d := cmp.Diff([]string{"one", "two"}, res.Header.Values("X-Request-Id")); d != "" {
					t.Errorf("%s: %s", s.protocol, d)
				}
				if len(l.turns) != 1 || l.turns[0].Thought != "A look" || l.turns[0].Calls[0].ID != "c" || l.turns[0].Streamed != stream || l.turns[0].Protocol != s.protocol || len(l.faults) > 0 {
					t.Errorf("%s: %+v, %v", s.protocol, l.turns, l.faults)
				}
			}
		}
	}
}

// TestFlows: each event reaches the program before the server sends the next, up to the
// first that would let it know a call; that, and all after it, not before the turn is
// handed over.
func TestFlows(t *testing.T) {
	for _, s := range samples() {
		next := make(chan struct{})
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			for i, e := range s.events {
				if i <= s.hold {
					<-next
				}
				_, _ = io.WriteString(w, e)
				_ = http.NewResponseController(w).Flush()
			}
		})
		handed, release := make(chan wire.Turn), make(chan struct{})
		base := front(t, up, wire.Options{OnTurn: func(turn wire.Turn) { handed <- turn; <-release }})
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+s.path, strings.NewReader(s.body))
		req.Header.Set("Authorization", "Bearer "+dummyKey)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.events[:s.hold] {
			next <- struct{}{}
			got := make([]byte, len(e))
			if _, err := io.ReadFull(res.Body, got); err != nil || string(got) != e {
				t.Fatalf("%s: %q, %v; want %q", s.protocol, got, err, e)
			}
		}
		next <- struct{}{}
		early := make(chan []byte)
		go func() {
			got, _ := io.ReadAll(res.Body)
			early <- got
		}()
		turn := <-handed
		select {
		case got := <-early:
			t.Errorf("%s: before the turn was handed over there came %q", s.protocol, got)
		case <-time.After(20 * time.Millisecond):
		}
		close(release)
		if got := <-early; string(got) != strings.Join(s.events[s.hold:], "") || len(turn.Calls) != 1 {
			t.Errorf("%s: then came %q, the turn %+v", s.protocol, got, turn)
		}
		res.Body.Close()
	}
}

// TestBrokenOff: a stream that breaks off is one for the program, too, and no call that
// came before the end reaches it, in good order or not.
func TestBrokenOff(t *testing.T) {
	for _, s := range samples() {
		if s.protocol == wire.GenerateContent {
			s.events[2] = strings.Replace(s.events[2], `,"finishReason":"STOP"`, "", 1)
		}
		for _, edit := range []wire.Editor{nil, func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, nil }} {
			for _, abort := range []bool{true, false} {
				up := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, strings.Join(s.events[:s.hold+1], ""))
					_ = http.NewResponseController(w).Flush()
					if abort {
						panic(http.ErrAbortHandler)
					}
				})
				var l log
				o := l.options()
				o.Edit = edit
				_, got, err := post(t, front(t, up, o)+s.path, s.body)
				want := strings.Join(s.events[:s.hold], "")
				if edit != nil {
					want = ""
				}
				if string(got) != want || (abort || edit != nil) != (err != nil) || len(l.turns) > 0 {
					t.Errorf("%s, aborted %v: %q, %v, turns %v", s.protocol, abort, got, err, l.turns)
				}
				if d := cmp.Diff([]wire.Kind{wire.Connection}, l.kinds()); d != "" {
					t.Errorf("%s, aborted %v: %s", s.protocol, abort, d)
				}
			}
		}
	}
}
