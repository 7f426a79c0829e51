package wire_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// TestKeys: the dummy goes in at any of its places and the real key out at the same; none,
// a wrong one, or two of which one is wrong, are refused in the protocol's own words.
func TestKeys(t *testing.T) {
	var header http.Header
	var query string
	asked := 0
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		header, query, asked = r.Header, r.URL.RawQuery, asked+1
		http.Error(w, "{}", http.StatusTeapot)
	})
	var l log
	base := front(t, up, l.options())
	const gemini = "/v1beta/models/m:generateContent"
	for _, c := range []struct {
		path   string
		header []string
		at     string // where the real key arrives; empty: refused
	}{
		{"/v1/responses", nil, "Authorization"},
		{"/v1/messages", []string{"Authorization", "", "X-Api-Key", dummyKey}, "X-Api-Key"},
		{gemini, []string{"Authorization", "", "X-Goog-Api-Key", dummyKey}, "X-Goog-Api-Key"},
		{gemini + "?alt=json&key=" + dummyKey + "&b=2", []string{"Authorization", ""}, "X-Goog-Api-Key"},
		{"/v1/responses", []string{"Authorization", ""}, ""},
		{"/v1/responses", []string{"Authorization", "Basic " + dummyKey}, ""},
		{"/v1/responses", []string{"Authorization", "Bearer x"}, ""},
		{"/v1/responses", []string{"Authorization", "Bearer " + realKey}, ""},
		{"/v1/messages", []string{"X-Api-Key", "another"}, ""},
		{gemini + "?key=another", nil, ""},
		{gemini + "?key=" + dummyKey + "&key=another", nil, ""},
	} {
		asked = 0
		res, got, err := post(t, base+c.path, "{}", c.header...)
		if err != nil {
			t.Fatal(err)
		}
		if c.at == "" {
			if res.StatusCode != http.StatusUnauthorized || asked > 0 || !json.Valid(got) {
				t.Errorf("%s %v: status %d, %s", c.path, c.header, res.StatusCode, got)
			}
			continue
		}
		if res.StatusCode != http.StatusTeapot || strings.TrimPrefix(header.Get(c.at), "Bearer ") != realKey {
			t.Errorf("%s: status %d, %v", c.path, res.StatusCode, header)
		}
		for name, values := range header {
			if v := strings.Join(values, ","); strings.Contains(v, dummyKey) || name != c.at && strings.Contains(v, realKey) {
				t.Errorf("%s: %s %s", c.path, name, v)
			}
		}
		if strings.Contains(query, dummyKey) || strings.Contains(c.path, "b=2") && query != "alt=json&b=2" {
			t.Errorf("query %q", query)
		}
	}
	for _, f := range l.faults {
		if s := fmt.Sprint(f, f.Server); strings.Contains(s, realKey) {
			t.Errorf("a fault tells the key: %s", s)
		}
	}
}

// TestKeyStaysOut: a server that repeats the key, anywhere and however it spells it, does
// not tell the program.
func TestKeyStaysOut(t *testing.T) {
	quoted := strings.ReplaceAll(realKey, "/", `\/`)
	for _, s := range samples() {
		for _, stream := range []bool{true, false} {
			for _, edits := range []bool{true, false} {
				answer := strings.ReplaceAll(s.whole, "look", quoted)
				if stream {
					answer = strings.ReplaceAll(strings.Join(s.events, "")+": "+realKey+"\n\ntail "+realKey, "look", realKey)
				}
				status := http.StatusOK
				up := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
					w.Header().Set("X-Echo", r.Header.Get("Authorization"))
					w.WriteHeader(status)
					for i := range len(answer) {
						_, _ = io.WriteString(w, answer[i:i+1])
						_ = http.NewResponseController(w).Flush()
					}
				})
				var l log
				o := l.options()
				if edits {
					o.Edit = func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{Withhold: true}, nil }
				}
				base := front(t, up, o)
				for _, status = range []int{http.StatusOK, http.StatusUnauthorized} {
					res, got, err := post(t, base+s.path, s.body)
					if err != nil || !bytes.Contains(got, []byte(dummyKey)) {
						t.Errorf("%s: %q, %v", s.protocol, got, err)
					}
					if told := string(got) + fmt.Sprint(res.Header, l.faults); strings.Contains(told, realKey) || strings.Contains(told, quoted) {
						t.Errorf("%s, streamed %v: %s", s.protocol, stream, told)
					}
				}
			}
		}
	}
}

// TestRefused: what is not served is refused in the protocol's own form, and says what is.
func TestRefused(t *testing.T) {
	up := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	var l log
	o := l.options()
	o.Asides = map[wire.Auxiliary]wire.Handling{wire.ListModels: wire.Refuse}
	base := front(t, up+"/base", o)
	if !strings.HasSuffix(base, "/base") {
		t.Errorf("base URL %s", base)
	}
	at := strings.TrimSuffix(base, "/base")
	for _, c := range []struct {
		url, header string
		status      int
		has         string
	}{
		{base + "/v1/embeddings", "", 404, `"code":"not_found"`},
		{base + "/v1/messages/batches", "Anthropic-Version", 404, `{"error":{"message"`},
		{base + "/v1beta/models/m:embedContent", "", 404, `"status":"NOT_FOUND"`},
		{base + "/v1/models", "", 405, `"type":"invalid_request_error"`},
		{base + "/v1/../v1/responses", "", 404, ``},
		{at + "/v1/responses", "", 404, ``},
		{base + "/v1/responses/resp_1/cancel", "", 404, ``},
	} {
		res, got, err := post(t, c.url, "{}", c.header, "2023-06-01")
		if err != nil || res.StatusCode != c.status || !strings.Contains(string(got), c.has) || !json.Valid(got) || !strings.Contains(string(got), "not served") {
			t.Errorf("%s: %d %s, %v", c.url, res.StatusCode, got, err)
		}
	}
	if kinds := l.kinds(); len(kinds) != 7 || slices.ContainsFunc(kinds, func(k wire.Kind) bool { return k != wire.UnknownPath }) || l.faults[0].Path != "/base/v1/embeddings" {
		t.Errorf("%v", l.faults)
	}
}

// TestAsides: requests beside turns are forwarded, answered or refused as asked, and told.
func TestAsides(t *testing.T) {
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Key", r.Header.Get("Authorization"))
		_, _ = io.WriteString(w, "from the server: "+r.URL.RequestURI())
	})
	for _, how := range []wire.Handling{wire.Forward, wire.Answer, wire.Refuse} {
		var l log
		o := l.options()
		o.Models = []string{"m"}
		o.Asides = map[wire.Auxiliary]wire.Handling{wire.ListModels: how, wire.GetModel: how, wire.CountTokens: how, wire.Probe: how}
		base := front(t, up, o)
		for _, c := range []struct{ method, path, name, has string }{
			{"GET", "/v1/models?client_version=1", "", `"models":[]`}, {"GET", "/models", "Anthropic-Version", `"has_more":false`}, {"GET", "/v1beta/models", "", `"name":"models/m"`},
			{"GET", "/v1/models/m", "", `"id":"m"`}, {"GET", "/v1beta/models/m", "", `countTokens`}, {"HEAD", "/", "", ""},
			{"POST", "/v1/messages/count_tokens", "", `{"input_tokens":5}`}, {"POST", "/v1beta/models/m:countTokens", "", `{"totalTokens":5}`}, {"POST", "/v1/responses/input_tokens", "", `"input_tokens":5`},
		} {
			req, _ := http.NewRequestWithContext(t.Context(), c.method, base+c.path, strings.NewReader(strings.Repeat(" ", 20)))
			req.Header.Set("Authorization", "Bearer "+dummyKey)
			if c.name != "" {
				req.Header.Set(c.name, "2023-06-01")
			}
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(res.Body)
			res.Body.Close()
			want := map[wire.Handling]string{wire.Forward: "from the server: " + c.path, wire.Answer: c.has, wire.Refuse: "not served"}[how]
			if status := map[wire.Handling]int{wire.Forward: 200, wire.Answer: 200, wire.Refuse: 404}[how]; res.StatusCode != status || c.method != "HEAD" && !strings.Contains(string(got), want) || strings.Contains(res.Header.Get("X-Key"), realKey) {
				t.Errorf("%s %s %s: %d %s", how, c.method, c.path, res.StatusCode, got)
			}
		}
		if n := map[wire.Handling]int{wire.Forward: 9, wire.Answer: 9}[how]; len(l.asides) != n || n > 0 && (l.asides[0].Kind != wire.ListModels || l.asides[0].Status != 200 || l.asides[0].Handling != how) {
			t.Errorf("%s: %+v", how, l.asides)
		}
	}
}

// TestLimits: requests and answers that are too large, servers that say nothing or say it
// for too long, and servers that are not there.
func TestLimits(t *testing.T) {
	long := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		for i := 0; i < 100 && r.Context().Err() == nil; i++ {
			if _, err := io.WriteString(w, strings.Repeat(" ", 100)); err != nil {
				return
			}
		}
	}
	hang := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Second):
			t.Error("the server was left waiting")
		}
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": still there\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}
	for name, c := range map[string]struct {
		up     http.HandlerFunc
		o      wire.Options
		body   string
		status int // 0: the connection is closed
		kind   wire.Kind
	}{
		"a large request":            {hang, wire.Options{MaxRequest: 10}, `{"model":"a long name"}`, 413, wire.UnreadableRequest},
		"a request that is no JSON":  {hang, wire.Options{}, `{"model":`, 400, wire.UnreadableRequest},
		"a request that is a list":   {hang, wire.Options{}, `[]`, 400, wire.UnreadableRequest},
		"a large answer":             {long, wire.Options{MaxAnswer: 1000}, `{}`, 502, wire.BadAnswer},
		"a server that says nothing": {hang, wire.Options{Idle: 50 * time.Millisecond}, `{}`, 504, wire.TimedOut},
		"a stream without an end":    {drip, wire.Options{Timeout: 100 * time.Millisecond, Idle: time.Minute}, `{"stream":true}`, 0, wire.TimedOut},
		"a large stream":             {drip, wire.Options{MaxAnswer: 50}, `{"stream":true}`, 0, wire.BadAnswer},
	} {
		var l log
		o := l.options()
		o.MaxRequest, o.MaxAnswer, o.Idle, o.Timeout = c.o.MaxRequest, c.o.MaxAnswer, c.o.Idle, c.o.Timeout
		res, got, err := post(t, front(t, serve(t, c.up), o)+"/v1/responses", c.body)
		if (c.status == 0) != (err != nil) || err == nil && (res.StatusCode != c.status || !json.Valid(got)) {
			t.Errorf("%s: %v %s", name, err, got)
		}
		if d := cmp.Diff([]wire.Kind{c.kind}, l.kinds()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	var l log
	res, got, err := post(t, front(t, "http://127.0.0.1:1/v1", l.options())+"/responses", "{}")
	if err != nil || res.StatusCode != http.StatusBadGateway || !strings.Contains(string(got), "connection refused") || l.faults[0].Kind != wire.Connection {
		t.Errorf("%s, %v, %v", got, err, l.faults)
	}
}

// TestGone: a program that goes away ends its request at the server, and no goroutine
// stays behind.
func TestGone(t *testing.T) {
	var served atomic.Int64
	ended := make(chan struct{}, 1)
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": begun\n\n")
		_ = http.NewResponseController(w).Flush()
		served.Add(1)
		<-r.Context().Done()
		ended <- struct{}{}
	})
	var l log
	told := make(chan wire.Kind, 9)
	o := l.options()
	o.OnFault = func(f wire.Fault) { told <- f.Kind }
	base := front(t, up, o)
	before := runtime.NumGoroutine()
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/responses", strings.NewReader(`{"stream":true}`))
		req.Header.Set("Authorization", "Bearer "+dummyKey)
		client := &http.Transport{}
		res, err := client.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		res.Body.Close()
		<-ended
		if k := <-told; k != wire.Gone {
			t.Errorf("fault %s", k)
		}
		client.CloseIdleConnections()
	}
	for wait := 0; runtime.NumGoroutine() > before+2; wait++ { // a kept connection has two
		if wait > 100 {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, there were %d:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestCompressed: a server that compresses although it was asked not to is understood;
// what nobody here unpacks is a fault, and not passed on.
func TestCompressed(t *testing.T) {
	s := samples()[1]
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(z, s.whole)
	z.Close()
	coding := "gzip"
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" && !bytes.Equal(b, zipped.Bytes()) {
			t.Error("a compressed request does not pass as it came")
		}
		w.Header().Set("Content-Encoding", coding)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(zipped.Bytes())
	})
	var l log
	base := front(t, up, l.options())
	res, got, err := post(t, base+s.path, s.body)
	if err != nil || string(got) != s.whole || res.Header.Get("Content-Encoding") != "" || len(l.turns) != 1 {
		t.Errorf("%q, %v, %v", got, err, l.faults)
	}
	if res, _, err = post(t, base+s.path, zipped.String(), "Content-Encoding", "gzip"); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("a compressed request: %v, %v", err, l.faults)
	}
	coding = "br"
	if res, got, err = post(t, base+s.path, s.body); err != nil || res.StatusCode != http.StatusBadGateway || !strings.Contains(string(got), "compressed") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestNew: options that cannot work are refused, and say nothing secret.
func TestNew(t *testing.T) {
	good := wire.Options{Dummy: dummyKey, Key: realKey}
	for name, change := range map[string]func(*wire.Options){
		"no upstream":   func(o *wire.Options) { o.Upstream = nil },
		"no dummy":      func(o *wire.Options) { o.Dummy = "" },
		"a short key":   func(o *wire.Options) { o.Key = "hunter2" },
		"key as dummy":  func(o *wire.Options) { o.Dummy = realKey },
		"a protocol":    func(o *wire.Options) { o.Protocols = []wire.Protocol{"smtp"} },
		"an aside":      func(o *wire.Options) { o.Asides = map[wire.Auxiliary]wire.Handling{"x": wire.Forward} },
		"a query in it": func(o *wire.Options) { o.Upstream.RawQuery = "key=hunter2" },
		"a user in it": func(o *wire.Options) {
			o.Upstream = o.Upstream.JoinPath()
			o.Upstream.User = nil
			o.Upstream.Fragment = "x"
		},
		"another scheme": func(o *wire.Options) { o.Upstream.Scheme = "ftp" },
	} {
		o := good
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/v1", nil)
		o.Upstream = req.URL
		change(&o)
		if _, err := wire.New(o); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), realKey) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
