package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbound/agentbound/model"
)

// Peer is a server of the chat-completions protocol on a loopback address. It takes only
// what the published protocol allows, and has a Player answer.
type Peer struct {
	Options
	URL string // the base URL, which ends in /v1

	mu     sync.Mutex
	bodies [][]byte
	faults []string
}

// Options are what a peer serves. The zero value serves nothing: Play is needed.
type Options struct {
	Play      Player
	Model     string            // the one model it serves; empty: "test-model"
	Key       string            // wanted as a bearer token; empty: none is wanted, and none is taken
	Reasoning string            // the field that shows reasoning, which the peer wants back with calls; empty: none
	Misbehave func(n int) Fault // at the n-th request, from 0; nil: never
	Edit      func(answer map[string]any)
}

// Fault is a way not to answer. It gets the request after it was read and recorded.
type Fault func(w http.ResponseWriter, r *http.Request)

// Serve starts a peer for the length of a test. What it was sent against the protocol
// fails the test.
func Serve(t testing.TB, o Options) *Peer {
	t.Helper()
	if o.Model == "" {
		o.Model = "test-model"
	}
	p := &Peer{Options: o}
	s := httptest.NewServer(p)
	p.URL = s.URL + "/v1"
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		for _, f := range p.faults {
			t.Errorf("the peer was sent what the protocol does not allow: %s", f)
		}
	})
	return p
}

// Requests are the bodies it was sent, in order.
func (p *Peer) Requests() [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.bodies)
}

// ServeHTTP implements http.Handler.
func (p *Peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "Only POST requests are accepted.")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.mu.Lock()
	n := len(p.bodies)
	p.bodies = append(p.bodies, body)
	p.mu.Unlock()
	if p.Misbehave != nil {
		if f := p.Misbehave(n); f != nil {
			f(w, r)
			return
		}
	}
	p.answer(w, r, body)
}

func (p *Peer) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); token != p.Key || ok != (p.Key != "") {
		fail(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+token)
		return
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		p.reject(w, "content type "+kind)
		return
	}
	request, name, err := Decode(body, p.Reasoning)
	if err != nil {
		p.reject(w, err.Error())
		return
	}
	if name != p.Model {
		fail(w, http.StatusNotFound, "model_not_found", "The model "+name+" does not exist or you do not have access to it.")
		return
	}
	answer := Encode(p.Model, p.Reasoning, identified(p.Play(request), len(request.Messages)))
	if p.Edit != nil {
		p.Edit(answer)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// identified gives ids to calls that the player left without one.
func identified(r model.Response, at int) model.Response {
	r.Message.Calls = slices.Clone(r.Message.Calls)
	for i := range r.Message.Calls {
		if c := &r.Message.Calls[i]; c.ID == "" {
			c.ID = fmt.Sprintf("call-%d-%d", at, i)
		}
	}
	return r
}

// reject answers as servers do, and remembers it for the test.
func (p *Peer) reject(w http.ResponseWriter, why string) {
	p.mu.Lock()
	p.faults = append(p.faults, why)
	p.mu.Unlock()
	fail(w, http.StatusBadRequest, "invalid_request", why)
}

func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}})
}

// First misbehaves at the first n requests.
func First(n int, f Fault) func(int) Fault {
	return func(i int) Fault {
		if i < n {
			return f
		}
		return nil
	}
}

// Always misbehaves at every request.
func Always(f Fault) func(int) Fault { return func(int) Fault { return f } }

// Status answers with a status and an error object of the protocol; header holds pairs.
func Status(status int, code, message string, header ...string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		fail(w, status, code, message)
	}
}

// Body answers with a body as it stands.
func Body(status int, contentType, body string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Redirect sends the request elsewhere.
func Redirect(to string) Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}
}

// Cut closes the connection in the middle of an answer.
func Cut() Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"id":"chatcmpl-`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// Trickle sends a byte every few milliseconds until the client goes.
func Trickle() Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		flush := http.NewResponseController(w)
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, " ")
			if flush.Flush() != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}
