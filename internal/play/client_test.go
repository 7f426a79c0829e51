package play_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
)

// TestClient: over HTTP a subject gets what the sessions give, observations to the byte,
// and errors with their codes.
func TestClient(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	server := httptest.NewServer(play.Handler(d.Sessions))
	defer server.Close()
	c := &play.Client{Server: server.URL}
	o, err := c.Start(t.Context(), sealed.ID)
	if err != nil || o.Instruction == "" || len(o.Tools) == 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	look := d.reference().Workflow[1]
	a, err := c.Call(t.Context(), play.Call{Session: o.Session, Tool: look.Tool, Args: look.Args})
	if want := d.call(o.Session, look); err != nil || !a.Observation.Equal(want.Observation) {
		t.Errorf("%s, %v; the session gives %s", a.Observation, err, want.Observation)
	}
	odd := agentbound.Value(`{"name": "<&> ü \u00fc 1e3"}`)
	if _, err := c.Call(t.Context(), play.Call{Session: o.Session, Tool: "find_contact", Args: odd}); err != nil {
		t.Error(err)
	}
	o, err = c.Start(t.Context(), sealed.ID)
	if err != nil || len(o.Steps) != 3 || string(o.Steps[2].Args) != `{"name":"<&> ü \u00fc 1e3"}` {
		t.Errorf("%+v, %v", o.Steps, err)
	}
	_, err = c.Call(t.Context(), play.Call{Session: o.Session, Tool: "rm", Args: agentbound.Value("{}")})
	if play.CodeOf(err) != play.UnknownTool {
		t.Errorf("%v", err)
	}
	if r, err := c.Finish(t.Context(), play.Finish{Session: o.Session, Outcome: agentbound.Done}); err != nil || !r.Recorded {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := c.Start(t.Context(), sealed.ID); play.CodeOf(err) != play.Ended {
		t.Errorf("%v", err)
	}
}

// TestHTTP: what is no request of the API is refused, and there is nothing to read.
func TestHTTP(t *testing.T) {
	d := newDesk(t)
	d.open()
	h := play.Handler(d.Sessions)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/", "", http.StatusNotFound},
		{"GET", "/v1/start", "", http.StatusMethodNotAllowed},
		{"POST", "/v1/report", "{}", http.StatusNotFound},
		{"POST", "/v1/start", "", http.StatusBadRequest},
		{"POST", "/v1/start", `{"id":1}`, http.StatusBadRequest},
		{"POST", "/v1/start", `{"id":"x","reveal":true}`, http.StatusBadRequest},
		{"POST", "/v1/start", `{"id":"x"}`, http.StatusNotFound},
		{"POST", "/v1/call", `{"session":"x","tool":"t","args":{}}`, http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.status {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, w.Code, w.Body)
		}
	}
}

// TestUnreachable: without a server the client says so at once, and says how to start it;
// what answers but is another program is told apart.
func TestUnreachable(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	_, err := (&play.Client{Server: socket}).Start(t.Context(), "x")
	var unreachable *play.UnreachableError
	if !errors.As(err, &unreachable) || unreachable.Sent || !strings.Contains(err.Error(), "agentbound play serve") {
		t.Errorf("%v", err)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	_, err = (&play.Client{Server: other.Listener.Addr().String()}).Start(t.Context(), "x")
	if play.CodeOf(err) != play.Failed || !strings.Contains(err.Error(), "not an agentbound play server") {
		t.Errorf("%v", err)
	}
}

// TestListen: loopback and sockets only; a socket that a killed server left is taken
// over, one that is served is not.
func TestListen(t *testing.T) {
	for _, bad := range []string{"0.0.0.0:0", "192.0.2.1:80", "example.org:80", "7437"} {
		if l, err := play.Listen(t.Context(), bad); err == nil {
			_ = l.Close()
			t.Errorf("%s was listened on", bad)
		}
	}
	for _, good := range []string{"127.0.0.1:0", "localhost:0"} {
		l, err := play.Listen(t.Context(), good)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
	path := filepath.Join(t.TempDir(), "s")
	first, err := play.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := play.Listen(t.Context(), "unix:"+path); err == nil || !strings.Contains(err.Error(), "listens on") {
		t.Errorf("a second server: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false) // as a killed process leaves it
	_ = first.Close()
	second, err := play.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = second.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := play.Listen(t.Context(), path); err == nil {
		t.Error("a file that is no socket was taken over")
	}
}

// TestWait: a client may be started before its server.
func TestWait(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	socket := filepath.Join(t.TempDir(), "s")
	served := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond)
		l, err := play.Listen(t.Context(), socket)
		if err == nil {
			err = play.Serve(t.Context(), l, d.Sessions)
		}
		served <- err
	}()
	t.Cleanup(func() { // after t's context has ended
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	if _, err := (&play.Client{Server: socket, Wait: 10 * time.Second}).Start(t.Context(), sealed.ID); err != nil {
		t.Error(err)
	}
}
