package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/intervene"
)

const secret = "sk-of-the-client/1+2"

// fixed is a corrector that does as it is told, and remembers what it saw.
type fixed struct {
	mu   sync.Mutex
	seen []intervene.Context
	do   func(ctx context.Context, c intervene.Context) (intervene.Correction, error)
}

func (f *fixed) Correct(ctx context.Context, c intervene.Context) (intervene.Correction, error) {
	f.mu.Lock()
	f.seen = append(f.seen, c)
	f.mu.Unlock()
	return f.do(ctx, c)
}

func (f *fixed) contexts() []intervene.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// changes corrects one Thought, and keeps all others.
func changes(from, to string) *fixed {
	return &fixed{do: func(_ context.Context, c intervene.Context) (intervene.Correction, error) {
		usage := agentbound.Usage{InputTokens: 30, OutputTokens: 7}
		if c.Thought == from {
			return intervene.Correction{Thought: to, Usage: usage}, nil
		}
		return intervene.Correction{Thought: c.Thought, Usage: usage}, nil
	}}
}

func fails() *fixed {
	return &fixed{do: func(context.Context, intervene.Context) (intervene.Correction, error) {
		return intervene.Correction{}, errors.New("it is down")
	}}
}

// stand is a gateway before an upstream.
type stand struct {
	*gateway.Gateway
	base  string
	audit string
	log   *bytes.Buffer
}

// front puts a gateway before a base URL.
func front(t testing.TB, upstream string, c intervene.Corrector, o gateway.Options) stand {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	s := stand{audit: filepath.Join(t.TempDir(), "audit.jsonl"), log: &bytes.Buffer{}}
	o.Upstream, o.Intervention.Corrector, o.Intervention.Ref.Name = u, c, "fixed"
	o.Log = slog.New(slog.NewTextHandler(&lockedWriter{w: s.log}, nil))
	if o.Audit, err = gateway.OpenAudit(s.audit, 0); err != nil {
		t.Fatal(err)
	}
	if s.Gateway, err = gateway.New(o); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Gateway)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		s.Close()
		o.Audit.Close()
	})
	s.base = s.At(server.Listener.Addr().String())
	return s
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// entries waits for so many, and gives them.
func (s stand) entries(t *testing.T, n int) []gateway.Entry {
	t.Helper()
	for range 500 {
		all, unread, err := gateway.ReadAudit(s.audit)
		if err != nil || len(unread) > 0 {
			t.Fatal(err, unread)
		}
		if len(all) >= n {
			return all
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("there are no %d entries", n)
	return nil
}

// answers is an upstream that gives one answer after the other, the last one ever again.
func answers(t testing.TB, all ...string) (base string, bodies func() []string) {
	t.Helper()
	var mu sync.Mutex
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		answer := all[min(len(asked), len(all)-1)]
		asked = append(asked, string(b))
		mu.Unlock()
		if status, body, ok := strings.Cut(answer, "!"); ok && len(status) == 3 {
			w.WriteHeader(map[string]int{"503": 503, "400": 400}[status])
			_, _ = io.WriteString(w, body)
			return
		}
		kind := "application/json"
		if strings.HasPrefix(answer, "data:") {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		for rest := answer; len(rest) > 0; { // in pieces of an odd size
			n := min(37, len(rest))
			_, _ = io.WriteString(w, rest[:n])
			_ = http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

const (
	chatAsks = `{"model":"m","stream":%v,"messages":[{"role":"system","content":"s"},{"role":"user","content":"Compare A and B."}],"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}]}`
	draft    = "I read both."
)

// said is a turn of chat completions, as a stream or whole.
func said(stream bool, text string, calls ...string) string {
	if !stream {
		list := ""
		if len(calls) > 0 {
			list = `,"tool_calls":[` + strings.Join(calls, ",") + `]`
		}
		end := "stop"
		if len(calls) > 0 {
			end = "tool_calls"
		}
		return fmt.Sprintf(`{"id":"one","model":"served","choices":[{"index":0,"message":{"role":"assistant","content":%q%s},"finish_reason":%q}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, text, list, end)
	}
	var b strings.Builder
	event := func(delta, finish string) {
		fmt.Fprintf(&b, "data: {\"id\":\"one\",\"model\":\"served\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	event(`{"role":"assistant","content":""}`, "null")
	for _, word := range strings.SplitAfter(text, " ") {
		if word != "" {
			event(fmt.Sprintf(`{"content":%q}`, word), "null")
		}
	}
	end := `"stop"`
	for i, c := range calls {
		event(fmt.Sprintf(`{"tool_calls":[%s]}`, strings.Replace(c, "{", fmt.Sprintf(`{"index":%d,`, i), 1)), "null")
		end = `"tool_calls"`
	}
	event("{}", end)
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}

func callOf(id, args string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"read","arguments":%q}}`, id, args)
}

func post(ctx context.Context, t testing.TB, address, body string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	return res, string(got), err
}

// readBack is what a client makes of an answer: told by a proxy that only listens.
func readBack(t *testing.T, answer string) wire.Turn {
	t.Helper()
	base, _ := answers(t, answer)
	u, _ := url.Parse(base)
	var got []wire.Turn
	p, err := wire.New(wire.Options{Upstream: u, PassKeys: true, OnTurn: func(turn wire.Turn) { got = append(got, turn) }, OnFault: func(f wire.Fault) { t.Errorf("%v: %s", f, answer) }})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(p)
	defer s.Close()
	if _, _, err := post(t.Context(), t, s.URL+"/v1/chat/completions", fmt.Sprintf(chatAsks, true)); err != nil || len(got) != 1 {
		t.Fatalf("%v: %v of %s", err, got, answer)
	}
	return got[0]
}

// TestPasses: where the Thought is kept, where the corrector fails open, where only a shadow
// watches, and where there is nothing to decide, answers and requests pass to the byte.
func TestPasses(t *testing.T) {
	asks := strings.Replace(chatAsks, `"tools":[`, ` "later" : 1.50, "tools":[`, 1)
	for name, c := range map[string]struct {
		corrector intervene.Corrector
		o         gateway.Options
		asks      string
		answer    func(stream bool) string
		entry     gateway.Result
	}{
		"kept":      {changes("", ""), gateway.Options{}, asks, nil, ""},
		"no-op":     {nil, gateway.Options{}, asks, nil, ""},
		"open":      {fails(), gateway.Options{Intervention: intervene.Intervention{OnFailure: intervene.Open}}, asks, nil, gateway.Opened},
		"shadow":    {changes(draft, "I wait."), gateway.Options{Shadow: true}, asks, nil, gateway.Changed},
		"no tools":  {fails(), gateway.Options{}, `{"stream":%v,"messages":[{"role":"user","content":"Name this."}]}`, func(s bool) string { return said(s, "A name.") }, ""},
		"final":     {fails(), gateway.Options{PassFinal: true}, asks, func(s bool) string { return said(s, "All is done.") }, ""},
		"kept end":  {changes("", ""), gateway.Options{}, asks, func(s bool) string { return said(s, "All is done.") }, ""},
		"no answer": {fails(), gateway.Options{}, asks, func(bool) string { return `400!{"error":{"message":"no"}}` }, ""},
		"cut off": {fails(), gateway.Options{}, asks, func(s bool) string {
			return strings.Replace(said(s, "All is do"), `"stop"`, `"length"`, 1)
		}, ""},
	} {
		for _, stream := range []bool{true, false} {
			answer := said(stream, draft, callOf("a", `{"id":"A"}`), callOf("b", `{"id":"B"}`))
			if c.answer != nil {
				answer = c.answer(stream)
			}
			base, asked := answers(t, answer)
			s := front(t, base, c.corrector, c.o)
			sent := fmt.Sprintf(c.asks, stream)
			_, got, err := post(t.Context(), t, s.base+"/v1/chat/completions", sent)
			_, want, _ := strings.Cut(answer, "!")
			if want == "" {
				want = answer
			}
			if err != nil || got != want {
				t.Errorf("%s, streamed %v: %v, %s, want %s", name, stream, err, got, want)
			}
			if d := cmp.Diff([]string{sent}, asked()); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			if c.entry == "" {
				if all := s.entries(t, 0); len(all) > 0 {
					t.Errorf("%s: %+v", name, all)
				}
				continue
			}
			if e := s.entries(t, 1); len(e) != 1 || e[0].Result != c.entry || e[0].Before.Thought != draft || len(e[0].Before.Calls) != 2 {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}

// TestChanges: a Thought that is changed goes back to the upstream with the note to go on,
// once; the client has one turn of one id, and the audit has both.
func TestChanges(t *testing.T) {
	for _, stream := range []bool{true, false} {
		for _, text := range []string{draft, ""} {
			base, asked := answers(t, said(stream, text, callOf("a", `{"id":"A","private":1}`), callOf("b", "{}")), strings.ReplaceAll(said(stream, "As you wish.", callOf("c", `{"id":"C"}`)), `"one"`, `"two"`))
			c := changes(text, "I look at C alone.")
			s := front(t, base, c, gateway.Options{})
			_, got, err := post(t.Context(), t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, stream))
			if err != nil {
				t.Fatal(err)
			}
			turn := readBack(t, got)
			want := "I look at C alone."
			if stream && text != "" {
				want = draft + "\n\n" + gateway.Mark + "\n\n" + want
			}
			if turn.Text != want || len(turn.Calls) != 1 || turn.Calls[0].ID != "c" || turn.Stop != "tool_calls" || stream && (strings.Contains(got, `"two"`) || strings.Count(got, `"finish_reason":"`) != 1) {
				t.Errorf("streamed %v, %q: %+v of %s", stream, text, turn, got)
			}
			if bodies := asked(); len(bodies) != 2 || !strings.Contains(bodies[1], `{"content":"I look at C alone.","role":"assistant"},{"content":"`+intervene.GoOn+`","role":"user"}]`) || strings.Contains(bodies[1], draft) {
				t.Errorf("%q", asked())
			}
			if d := cmp.Diff([]intervene.Context{{Instruction: "Compare A and B.", History: []intervene.Turn{}, Tools: []string{"read"}, Thought: text}}, c.contexts()); d != "" {
				t.Error(d)
			}
			e := s.entries(t, 1)[0]
			if e.Result != gateway.Changed || e.Mode != "live" || e.Corrector != "fixed" || e.Before.Thought != text || e.After.Thought != "I look at C alone." || len(e.Before.Calls) != 2 || len(e.After.Calls) != 1 || e.After.Calls[0].Tool != "read" ||
				e.Tokens != (gateway.Tokens{Input: 30, Output: 7}) || len(e.Instruction) != 64 || e.Streamed != stream || e.Failure != "" {
				t.Errorf("%+v", e)
			}
			if raw, _ := json.Marshal(e); bytes.Contains(raw, []byte("private")) || bytes.Contains(raw, []byte("Compare")) {
				t.Errorf("the entry holds arguments or the instruction: %s", raw)
			}
		}
	}
}

// TestChangesEnd: a final message is a decision too: what it is changed to follows what had
// flowed, and the answer to going on from there ends the turn, with calls or without.
func TestChangesEnd(t *testing.T) {
	for _, second := range []string{said(true, "It was A."), said(true, "", callOf("c", "{}"))} {
		base, _ := answers(t, said(true, "All is done."), second)
		s := front(t, base, changes("All is done.", "I have not looked yet."), gateway.Options{Arguments: true})
		_, got, err := post(t.Context(), t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
		if err != nil {
			t.Fatal(err)
		}
		turn := readBack(t, got)
		want := "All is done.\n\n" + gateway.Mark + "\n\nI have not looked yet."
		if len(turn.Calls) == 0 {
			want += "\n\nIt was A."
		}
		if turn.Text != want {
			t.Errorf("%q, want %q", turn.Text, want)
		}
		if e := s.entries(t, 1)[0]; len(turn.Calls) == 1 && e.After.Calls[0].Arguments != "{}" {
			t.Errorf("%+v", e)
		}
	}
}

// TestFails: a corrector that fails, breaks down or is too slow: closed holds the calls
// back and says so, open passes the draft; both are recorded. So is an upstream that does
// not answer when it is asked once more.
func TestFails(t *testing.T) {
	breaks := &fixed{do: func(context.Context, intervene.Context) (intervene.Correction, error) { panic("a bug") }}
	slow := &fixed{do: func(ctx context.Context, _ intervene.Context) (intervene.Correction, error) {
		<-ctx.Done()
		return intervene.Correction{}, ctx.Err()
	}}
	deaf := &fixed{do: func(ctx context.Context, c intervene.Context) (intervene.Correction, error) {
		<-ctx.Done()
		return intervene.Correction{Thought: "too late"}, nil
	}}
	for name, c := range map[string]struct {
		corrector *fixed
		second    string
		why, word string
	}{
		"fails": {fails(), "", "it is down", gateway.NotReviewed}, "breaks": {breaks, "", "the corrector broke down: a bug", gateway.NotReviewed},
		"slow": {slow, "", "took too long", gateway.NotReviewed}, "deaf": {deaf, "", "took too long", gateway.NotReviewed},
		"upstream fails":   {changes(draft, "I wait."), `503!{"error":{"message":"busy ` + secret + `"}}`, "busy", gateway.NotAnew},
		"upstream babbles": {changes(draft, "I wait."), `{}`, "no choices", gateway.NotAnew},
	} {
		for _, stream := range []bool{true, false} {
			for _, on := range []intervene.OnFailure{intervene.Open, intervene.Closed} {
				first := said(stream, draft, callOf("a", `{"id":"A"}`))
				base, _ := answers(t, first, c.second)
				s := front(t, base, c.corrector, gateway.Options{Corrector: 30 * time.Millisecond, Intervention: intervene.Intervention{OnFailure: on}})
				_, got, err := post(t.Context(), t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, stream))
				if err != nil {
					t.Fatalf("%s, %s: %v", name, on, err)
				}
				result := gateway.Opened
				if on == intervene.Closed {
					result = gateway.Closed
					if turn := readBack(t, got); turn.Text != draft+"\n\n"+c.word || turn.Calls != nil || turn.Stop != "end" {
						t.Errorf("%s, streamed %v: %+v of %s", name, stream, turn, got)
					}
				} else if got != first {
					t.Errorf("%s, streamed %v: %s", name, stream, got)
				}
				e := s.entries(t, 1)
				if len(e) != 1 || e[0].Result != result || !strings.Contains(e[0].Failure, c.why) || strings.Contains(e[0].Failure, secret) || (len(e[0].After.Calls) == 0) != (on == intervene.Closed) {
					t.Errorf("%s, %s: %+v", name, on, e)
				}
			}
		}
	}
}

// TestGone: a client that goes away ends what is done for it, with the corrector and with
// the upstream, and leaves nothing in flight; nothing is said to be delivered.
func TestGone(t *testing.T) {
	entered := make(chan struct{})
	waits := &fixed{do: func(ctx context.Context, _ intervene.Context) (intervene.Correction, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return intervene.Correction{}, ctx.Err()
	}}
	base, _ := answers(t, said(true, draft, callOf("a", "{}")))
	s := front(t, base, waits, gateway.Options{InFlight: 1})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := post(ctx, t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
		done <- err
	}()
	<-entered
	res, _, err := post(t.Context(), t, s.base+"/v1/messages", "{}") // there is one place
	if err != nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%v, %v", res, err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the client has an answer")
	}
	for i := 0; ; i++ { // the place is free again
		res, _, err := post(t.Context(), t, s.base+"/v1/models", "{}")
		if err == nil && res.StatusCode != http.StatusServiceUnavailable {
			break
		}
		if i > 500 {
			t.Fatal("what it had asked for is still in flight")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := metrics(t, s); !strings.Contains(got, `requests_total{protocol="chat",result="undelivered"} 1`) || strings.Contains(got, `result="closed"`) {
		t.Error(got)
	}
}

func metrics(t *testing.T, s stand) string {
	t.Helper()
	w := httptest.NewRecorder()
	s.Admin().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// TestBusy: more requests than there may be are told to come back, in the form of their
// protocol.
func TestBusy(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{})
	waits := &fixed{do: func(context.Context, intervene.Context) (intervene.Correction, error) {
		entered <- struct{}{}
		<-release
		return intervene.Correction{Thought: draft}, nil
	}}
	answer := said(true, draft, callOf("a", "{}"))
	base, _ := answers(t, answer)
	s := front(t, base, waits, gateway.Options{InFlight: 1})
	got := make(chan string)
	go func() {
		_, body, _ := post(t.Context(), t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
		got <- body
	}()
	<-entered
	for path, has := range map[string]string{
		"/v1/chat/completions": `{"error":{"code":"proxy_error"`, "/v1/responses": `{"error":{"code":"proxy_error"`,
		"/v1/messages": `"type":"overloaded_error"`, "/v1beta/models/m:generateContent": `"status":"UNAVAILABLE"`,
	} {
		res, body, err := post(t.Context(), t, s.base+path, "{}")
		if err != nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "1" || !strings.Contains(body, has) || !json.Valid([]byte(body)) {
			t.Errorf("%s: %v, %v, %s", path, res, err, body)
		}
	}
	close(release)
	if body := <-got; body != answer {
		t.Errorf("the one that was in flight: %s", body)
	}
	if m := metrics(t, s); !strings.Contains(m, `result="busy"} 4`) || !strings.Contains(m, "agentbound_gateway_in_flight 0") {
		t.Error(m)
	}
}

// TestShadowDoesNotWait: a shadow keeps no client waiting, and is waited for at the end.
func TestShadowDoesNotWait(t *testing.T) {
	release := make(chan struct{})
	waits := &fixed{do: func(context.Context, intervene.Context) (intervene.Correction, error) {
		<-release
		return intervene.Correction{}, errors.New("it is down")
	}}
	answer := said(true, draft, callOf("a", "{}"))
	base, _ := answers(t, answer)
	s := front(t, base, waits, gateway.Options{Shadow: true, InFlight: 1})
	for range 3 { // one is watched, for the others there is no place
		if _, got, err := post(t.Context(), t, s.base+"/v1/chat/completions", fmt.Sprintf(chatAsks, true)); err != nil || got != answer {
			t.Errorf("%v, %s", err, got)
		}
	}
	close(release)
	s.Close()
	if e := s.entries(t, 1); len(e) != 1 || e[0].Mode != "shadow" || e[0].Result != gateway.Failed || e[0].Failure != "it is down" {
		t.Errorf("%+v", e)
	}
	if m := metrics(t, s); !strings.Contains(m, `result="unwatched"} 2`) {
		t.Error(m)
	}
}

// TestKeysStayOut: the key of a client is in nothing that the gateway writes, though the
// upstream repeats it in failures.
func TestKeysStayOut(t *testing.T) {
	repeats := said(true, "The key is "+secret+".", callOf("a", `{"key":"`+secret+`"}`))
	for _, answer := range []string{repeats, `503!{"error":{"message":"what is ` + secret + `?"}}`, "data: {\"error\":{\"message\":\"what is " + secret + "?\"}}\n\n", said(true, draft, callOf("a", "{}"))} {
		base, _ := answers(t, answer, `503!{"error":{"message":"what is `+secret+`?"}}`)
		s := front(t, base, changes(draft, "I wait."), gateway.Options{AuditKept: true, Arguments: true})
		if _, _, err := post(t.Context(), t, s.base+"/v1/chat/completions?key="+url.QueryEscape(secret), fmt.Sprintf(chatAsks, true)); err != nil {
			t.Fatal(err)
		}
		var page bytes.Buffer
		entries := s.entries(t, 0)
		if err := gateway.WritePage(&page, entries, nil); err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(entries)
		for what, text := range map[string]string{"log": s.log.String(), "metrics": metrics(t, s), "audit": string(raw), "page": page.String()} {
			for _, form := range []string{secret, url.QueryEscape(secret), "sk-of-the-client"} {
				if strings.Contains(text, form) {
					t.Errorf("the %s holds the key: %s", what, text)
				}
			}
		}
		if answer != repeats && s.log.Len() == 0 {
			t.Error("nothing is logged")
		}
	}
}

// TestMany: many clients at a time, of which each gets what is its own.
func TestMany(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var body struct {
			Model    string
			Messages []struct{ Content string }
		}
		_ = json.Unmarshal(b, &body)
		w.Header().Set("Content-Type", "text/event-stream")
		last := body.Messages[len(body.Messages)-1].Content
		if last == intervene.GoOn {
			_, _ = io.WriteString(w, said(true, "", callOf("again-"+body.Model, "{}")))
			return
		}
		_, _ = io.WriteString(w, said(true, "draft of "+body.Model, callOf("first-"+body.Model, "{}")))
	}))
	defer up.Close()
	odd := &fixed{do: func(_ context.Context, c intervene.Context) (intervene.Correction, error) {
		if strings.HasSuffix(c.Thought, "1") {
			return intervene.Correction{Thought: "better than " + c.Thought}, nil
		}
		return intervene.Correction{Thought: c.Thought}, nil
	}}
	s := front(t, up.URL, odd, gateway.Options{})
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			name := fmt.Sprintf("m%d", i)
			_, got, err := post(t.Context(), t, s.base+"/v1/chat/completions", strings.Replace(fmt.Sprintf(chatAsks, true), `"m"`, fmt.Sprintf("%q", name), 1))
			want := "first-" + name
			if strings.HasSuffix(name, "1") {
				want = "again-" + name
			}
			if err != nil || !strings.Contains(got, `"`+want+`"`) || strings.Contains(got, "again-") != strings.HasSuffix(name, "1") {
				t.Errorf("%s: %v, %s", name, err, got)
			}
		})
	}
	group.Wait()
	if e := s.entries(t, 4); len(e) != 4 {
		t.Errorf("%d entries", len(e))
	}
}

// TestNew: what cannot work is refused.
func TestNew(t *testing.T) {
	u, _ := url.Parse("http://127.0.0.1:1/v1")
	for name, o := range map[string]gateway.Options{
		"no upstream": {}, "unscored": {Upstream: u, Intervention: intervene.Intervention{OnFailure: intervene.Unscored}},
		"a gate": {Upstream: u, Intervention: intervene.Intervention{Gate: gate{}}}, "in flight": {Upstream: u, InFlight: -1}, "a protocol": {Upstream: u, Protocols: []wire.Protocol{"smtp"}},
	} {
		if _, err := gateway.New(o); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

type gate struct{}

func (gate) Allow(context.Context, intervene.Proposal) (agentbound.GateDecision, error) {
	return agentbound.GateDecision{}, nil
}

// TestContext: what a corrector sees of a request, and nothing else.
func TestContext(t *testing.T) {
	turn := wire.Turn{Thought: "I pay.", Request: wire.Request{
		Tools: []wire.Tool{{Name: "pay", Description: "secret"}, {Namespace: "mcp__world", Name: "read"}},
		Messages: []wire.Message{
			{Role: "system", Text: "secret"}, {Role: "user", Text: "Pay the bill."}, {Role: "assistant", Text: "secret\n\n" + gateway.Mark + "\n\nI look first.", Reasoning: "secret", Calls: []wire.Call{{Name: "read", Args: "secret"}}},
			{Role: "tool", Text: `{"n":1}`, Tool: "read"}, {Role: "tool", Text: "not found"}, {Role: "assistant", Reasoning: "Hm."}, {Role: "user", Text: "Go on, you may."},
		},
	}}
	want := intervene.Context{
		Instruction: "Pay the bill.", Tools: []string{"pay", "mcp__world.read"}, Thought: "I pay.",
		History: []intervene.Turn{
			{Thought: "I look first.", Observations: []agentbound.Value{agentbound.Value(`{"n":1}`), agentbound.Value(`"not found"`)}},
			{Thought: "Hm.", Observations: []agentbound.Value{agentbound.Value(`{"user":"Go on, you may."}`)}},
		},
	}
	if d := cmp.Diff(want, gateway.Context(turn)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(intervene.Context{History: []intervene.Turn{{Observations: []agentbound.Value{agentbound.Value("1")}}}, Tools: []string{}}, gateway.Context(wire.Turn{Request: wire.Request{Messages: []wire.Message{{Role: "tool", Text: "1"}}}})); d != "" {
		t.Errorf("of a server that keeps the rest: %s", d)
	}
}
