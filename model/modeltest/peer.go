package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbound/agentbound/model"
)

// Peer is a server of a protocol on a loopback address. It takes only
// what the published protocol allows, and has a Player answer.
type Peer struct {
	Options
	URL string // the base URL

	mu     sync.Mutex
	asked  int
	bodies [][]byte
	faults []string
}

// Options are what a peer serves. The zero value serves nothing: Play is needed.
type Options struct {
	Protocol  Protocol // nil: Chat
	Play      Player
	Model     string            // the one model it serves; empty: "test-model"
	Key       string            // wanted as a bearer token; empty: none is wanted, and none is taken
	Reasoning string            // the field that shows reasoning, which the peer wants back with calls; empty: none
	Misbehave func(n int) Fault // at the n-th request, from 0; nil: never
	Edit      func(answer map[string]any)
	Piece     int // bytes of an event stream that are sent at a time, wherever that cuts; 0: an event at a time
	// Events edits the event stream that answers the n-th request, from 0; at Abort the
	// connection is closed. Nil: it is sent as the protocol has it.
	Events func(n int, events []string) []string
	// Unstreamed answers without a stream where one was asked for.
	Unstreamed bool
	Address    string // where it listens, as in 127.0.0.1:21101; empty: at a free port of loopback
	Forgets    bool   // keeps no bodies: Requests gives none

	inStream func(n int, events []string, p Protocol) []string // as Events, for the contract
}

// Abort among a stream's events closes the connection.
const Abort = "\x00"

// Fault is a way not to answer. It gets the request after it was read and recorded.
type Fault func(w http.ResponseWriter, r *http.Request)

// Serve starts a peer for the length of a test. What it was sent against the protocol
// fails the test.
func Serve(t testing.TB, o Options) *Peer {
	t.Helper()
	if o.Model == "" {
		o.Model = "test-model"
	}
	if o.Protocol == nil {
		o.Protocol = Chat{}
	}
	p := &Peer{Options: o}
	s := httptest.NewUnstartedServer(p)
	if o.Address != "" {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", o.Address)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Listener.Close() // the free port that it took
		s.Listener = l
	}
	s.Start()
	p.URL = s.URL + o.Protocol.Base()
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
	if !p.Protocol.Serves(r.URL.Path) {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		p.Protocol.Fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "Only POST requests are accepted.")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.mu.Lock()
	n := p.asked
	p.asked++
	if !p.Forgets {
		p.bodies = append(p.bodies, body)
	}
	p.mu.Unlock()
	if p.Misbehave != nil {
		if f := p.Misbehave(n); f != nil {
			f(w, r.WithContext(context.WithValue(r.Context(), spoken{}, p.Protocol)))
			return
		}
	}
	p.answer(w, r, n, body)
}

func (p *Peer) answer(w http.ResponseWriter, r *http.Request, n int, body []byte) {
	if key, ok := p.Protocol.Key(r); key != p.Key || ok != (p.Key != "") {
		p.Protocol.Fail(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided: "+key)
		return
	}
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		p.reject(w, "content type "+kind)
		return
	}
	request, name, stream, err := p.Protocol.Decode(r, body, p.Options)
	if err != nil {
		p.reject(w, err.Error())
		return
	}
	if name != p.Model {
		p.Protocol.Fail(w, http.StatusNotFound, "model_not_found", "The model "+name+" does not exist or you do not have access to it.")
		return
	}
	answer := p.Protocol.Encode(p.Model, p.Options, identified(p.Play(request), len(request.Messages)))
	if p.Edit != nil {
		p.Edit(answer)
	}
	if stream && !p.Unstreamed {
		events := p.Protocol.Stream(answer)
		if p.inStream != nil {
			events = p.inStream(n, events, p.Protocol)
		}
		if p.Events != nil {
			events = p.Events(n, events)
		}
		p.stream(w, events)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // arguments arrive as the model wrote them
	_ = enc.Encode(answer)
}

// stream sends events, in pieces where the test wants them cut.
func (p *Peer) stream(w http.ResponseWriter, events []string) {
	w.Header().Set("Content-Type", "text/event-stream")
	if p.Piece > 0 {
		text := strings.Join(events, "")
		events = nil
		for len(text) > 0 {
			n := min(p.Piece, len(text))
			events, text = append(events, text[:n]), text[n:]
		}
	}
	for _, e := range events {
		if e == Abort {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, e)
		_ = http.NewResponseController(w).Flush()
	}
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
	p.Protocol.Fail(w, http.StatusBadRequest, "invalid_request", why)
}

// spoken is where a fault finds the protocol to fail in.
type spoken struct{}

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
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		r.Context().Value(spoken{}).(Protocol).Fail(w, status, code, message)
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
