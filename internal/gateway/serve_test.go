package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/intervene"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serving starts a gateway as the command does.
func serving(t *testing.T, upstream string, o gateway.Options) (clients, admin string, stop context.CancelFunc, ended chan error) {
	t.Helper()
	o.Upstream, _ = url.Parse(upstream)
	g, err := gateway.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	c, a := listen(t), listen(t)
	ended = make(chan error, 1)
	go func() { ended <- g.Serve(ctx, c, a) }()
	return "http://" + c.Addr().String(), "http://" + a.Addr().String(), cancel, ended
}

func get(t *testing.T, address, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

// TestEnds: told to end, the gateway takes no new request, and the turn in flight comes to
// its end, edit and all.
func TestEnds(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	waits := &fixed{do: func(context.Context, intervene.Context) (intervene.Correction, error) {
		close(entered)
		<-release
		return intervene.Correction{Thought: "I look at C alone."}, nil
	}}
	base, _ := answers(t, said(true, draft, callOf("a", "{}")), said(true, "", callOf("c", "{}")))
	clients, admin, stop, ended := serving(t, base, gateway.Options{Intervention: intervene.Intervention{Corrector: waits}})
	got := make(chan string, 1)
	go func() {
		_, body, err := post(t.Context(), t, clients+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
		got <- fmt.Sprint(body, err)
	}()
	<-entered
	stop()
	for i := 0; ; i++ {
		if status, _ := get(t, admin+"/readyz", ""); status == http.StatusServiceUnavailable {
			break
		}
		if i > 500 {
			t.Fatal("it is ready for ever")
		}
		time.Sleep(5 * time.Millisecond)
	}
	for i := 0; ; i++ {
		if _, _, err := post(t.Context(), t, clients+"/v1/chat/completions", "{}"); err != nil {
			break
		}
		if i > 500 {
			t.Fatal("new requests are taken")
		}
		time.Sleep(5 * time.Millisecond)
	}
	close(release)
	if turn := readBack(t, strings.TrimSuffix(<-got, "<nil>")); len(turn.Calls) != 1 || turn.Calls[0].ID != "c" {
		t.Errorf("%+v", turn)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestEndsInTime: what does not end in time is broken off, which is an error.
func TestEndsInTime(t *testing.T) {
	entered := make(chan struct{})
	hangs := &fixed{do: func(ctx context.Context, _ intervene.Context) (intervene.Correction, error) {
		close(entered)
		<-ctx.Done()
		return intervene.Correction{}, ctx.Err()
	}}
	base, _ := answers(t, said(true, draft, callOf("a", "{}")))
	clients, _, stop, ended := serving(t, base, gateway.Options{Grace: 50 * time.Millisecond, Intervention: intervene.Intervention{Corrector: hangs}})
	got := make(chan error, 1)
	go func() {
		_, body, err := post(t.Context(), t, clients+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
		if strings.Contains(body, `"read"`) {
			t.Errorf("the call passed: %s", body)
		}
		got <- err
	}()
	<-entered
	stop()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "still in flight") {
		t.Error(err)
	}
	if err := <-got; err == nil {
		t.Error("the client's turn ended in good order")
	}
}

// TestAdmin: what the gateway serves of its own, where, and to whom.
func TestAdmin(t *testing.T) {
	base, _ := answers(t, said(true, draft, callOf("a", "{}")), said(true, "", callOf("c", "{}")))
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	audit, err := gateway.OpenAudit(filepath.Join(dir, "audit.jsonl"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close()
	clients, admin, _, _ := serving(t, base, gateway.Options{Audit: audit, Intervention: intervene.Intervention{Corrector: changes(draft, "I wait.")}})
	if _, _, err := post(t.Context(), t, clients+"/v1/chat/completions", fmt.Sprintf(chatAsks, true)); err != nil {
		t.Fatal(err)
	}
	for path, has := range map[string]string{
		"/": `<a href="/audit">`, "/healthz": "ok", "/readyz": "ready", "/audit": "I wait.",
		"/metrics": `agentbound_gateway_requests_total{protocol="chat",result="changed"} 1`,
	} {
		if status, body := get(t, admin+path, ""); status != http.StatusOK || !strings.Contains(body, has) {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, _ := get(t, admin+path, "rebound.example"); status != http.StatusMisdirectedRequest {
			t.Errorf("%s, asked by another name: %d", path, status)
		}
		if status, body := get(t, clients+path, ""); status != http.StatusNotFound {
			t.Errorf("%s, of the clients' listener: %d %s", path, status, body)
		}
	}
	_, body := get(t, admin+"/metrics", "localhost:1")
	for _, has := range []string{`reviews_total{result="changed"} 1`, "corrector_seconds_count 1", `corrector_tokens_sum{direction="input"} 30`, "in_flight 0", `audit_entries_total{result="written"} 1`, "process_open_fds"} {
		if !strings.Contains(body, has) {
			t.Errorf("the metrics have no %s", has)
		}
	}
}

// TestUnaudited: an edit that cannot be entered is logged and counted, and makes the
// gateway unready, until one can be again.
func TestUnaudited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	audit, err := gateway.OpenAudit(filepath.Join(dir, "audit.jsonl"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer audit.Close()
	base, _ := answers(t, said(true, draft, callOf("a", "{}")))
	clients, admin, _, _ := serving(t, base, gateway.Options{Audit: audit, Intervention: intervene.Intervention{Corrector: fails()}})
	for i, want := range []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusOK} {
		switch i {
		case 1:
			err = os.Rename(dir, dir+".away")
		case 2:
			err = os.Rename(dir+".away", dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := post(t.Context(), t, clients+"/v1/chat/completions", fmt.Sprintf(chatAsks, true)); err != nil || !strings.Contains(got, "could not be reviewed") {
			t.Errorf("%v, %s", err, got)
		}
		if status, _ := get(t, admin+"/readyz", ""); status != want {
			t.Errorf("after %d: %d, want %d", i, status, want)
		}
	}
	// Who is unready is sent no requests: it is ready again without one.
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	_, _, _ = post(t.Context(), t, clients+"/v1/chat/completions", fmt.Sprintf(chatAsks, true))
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
		if status, _ := get(t, admin+"/readyz", ""); status != want {
			t.Errorf("%d, want %d", status, want)
		}
		_ = os.Rename(dir+".away", dir)
	}
	if _, body := get(t, admin+"/metrics", ""); !strings.Contains(body, `audit_entries_total{result="failed"} 2`) {
		t.Error(body)
	}
}
