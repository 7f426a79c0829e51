package mcpserve_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/mcpserve"
)

// post sends one message and gives the status and body of the answer.
func post(t *testing.T, client *http.Client, url, body string, edit func(*http.Request)) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if edit != nil {
		edit(req)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// TestOnlyWhatIsMeant: requests that a page in a browser could bring about are refused.
func TestOnlyWhatIsMeant(t *testing.T) {
	s := server(t, echoes, mcpserve.Options{Path: "/a1/mcp", MaxMessage: 2000})
	base, _ := overHTTP(t, s)
	url := base + "a1/mcp"
	port := base[strings.LastIndexByte(base, ':') : len(base)-1]
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	origin := func(o ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header["Origin"] = o }
	}
	for _, test := range []struct {
		name, url, body string
		edit            func(*http.Request)
		status          int
	}{
		{"plain", url, hello, nil, 200},
		{"localhost", url, hello, host("localhost" + port), 200},
		{"localhost of another port, as tunnels have it", url, hello, host("localhost:1"), 200},
		{"an address of IPv6", url, hello, host("[::1]" + port), 200},
		{"its own page", url, hello, origin("http://127.0.0.1" + port), 200},
		{"a name that was pointed here", url, hello, host("evil.example" + port), 403},
		{"the same in disguise", url, hello, host("127.0.0.1.evil.example"), 403},
		{"another machine", url, hello, host("10.0.0.1" + port), 403},
		{"a foreign page", url, hello, origin("http://evil.example"), 403},
		{"a page of another port", url, hello, origin("http://127.0.0.1:1"), 403},
		{"a page from nowhere", url, hello, origin("null"), 403},
		{"two origins", url, hello, origin("http://127.0.0.1"+port, "http://evil.example"), 403},
		{"the root", base, hello, nil, 404},
		{"a path below", url + "/x", hello, nil, 404},
		{"a session that is not there", url, hello, func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "x") }, 404},
		{"another method", url, hello, func(r *http.Request) { r.Method = http.MethodPut }, 405},
		{"no JSON", url, hello, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		{"malformed", url, `{`, nil, 400},
		{"empty", url, ``, nil, 400},
		{"too long", url, `{"x":"` + strings.Repeat("x", 2000) + `"}`, nil, 413},
		{"a version from nowhere", url, hello, func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "1999-01-01") }, 400},
	} {
		if status, body := post(t, http.DefaultClient, test.url, test.body, test.edit); status != test.status {
			t.Errorf("%s: status %d, want %d: %s", test.name, status, test.status, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestMaxSessions bounds what a client can have the server remember.
func TestMaxSessions(t *testing.T) {
	url, _ := overHTTP(t, server(t, echoes, mcpserve.Options{MaxSessions: 3}))
	var last int
	for range 4 {
		last, _ = post(t, http.DefaultClient, url, hello, nil)
	}
	if last != 400 {
		t.Errorf("status %d of a fourth session", last)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestOnASocket: the listener is the caller's, whatever it is.
func TestOnASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Skipf("no Unix sockets here: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server(t, echoes, mcpserve.Options{}).Serve(ctx, l) }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}
	if status, body := post(t, &http.Client{Transport: transport}, "http://any.name/", hello, nil); status != 200 {
		t.Errorf("status %d: %s", status, body)
	}
	transport.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestHTTPStopped: with sessions open, streams hanging, a call in flight and connections
// that say nothing, the server ends with its context and leaves nothing.
func TestHTTPStopped(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	begun := make(chan struct{})
	s := server(t, func(ctx context.Context, _ agentbound.Call) (agentbound.Value, bool, error) {
		close(begun)
		<-ctx.Done()
		return nil, false, ctx.Err()
	}, mcpserve.Options{Grace: 50 * time.Millisecond})
	url, stop := overHTTP(t, s)
	client, err := mcp.NewClient(&mcp.Implementation{Name: "one", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(url, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "look"})
		answered <- err
	}()
	<-begun
	stop()
	if err := <-answered; err == nil {
		t.Error("a call that was broken off was answered")
	}
	client.Close()
	http.DefaultClient.CloseIdleConnections()
	silent.Close()
	settle(t, goroutines)
	if status, err := net.DialTimeout("tcp", strings.Trim(strings.TrimPrefix(url, "http://"), "/"), time.Second); err == nil {
		status.Close()
		t.Error("something listens still")
	}
}

// TestClosedListener is an error: the server cannot go on.
func TestClosedListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := server(t, echoes, mcpserve.Options{}).Serve(t.Context(), l); err == nil {
		t.Error("no error")
	}
}
