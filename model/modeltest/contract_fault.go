package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbound/agentbound/model"
)

// failure is a named way not to answer.
type failure struct {
	name  string
	fault Fault
	after time.Duration // that the server asks to wait
}

// transient are the faults for which every adapter tries again.
func transient() []failure {
	in30 := func(w http.ResponseWriter, r *http.Request) {
		Status(503, "", "back soon", "Retry-After", time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat))(w, r)
	}
	return []failure{
		{"429", Status(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down"), 0},
		{"429, Retry-After in seconds", Status(429, "rate_limit_exceeded", "slow down", "Retry-After", "7"), 7 * time.Second},
		{"429, in milliseconds", Status(429, "rate_limit_exceeded", "slow down", "Retry-After-Ms", "1500", "Retry-After", "2"), 1500 * time.Millisecond},
		{"500", Status(500, "", "oops"), 0},
		{"500, Retry-After in seconds", Status(500, "", "oops", "Retry-After", "3"), 3 * time.Second},
		{"502, a web page", Body(502, "text/html", "<html><body>Bad Gateway</body></html>"), 0},
		{"503, plain text", Body(503, "text/plain", "loading"), 0},
		{"503, Retry-After a date", in30, 30 * time.Second},
		{"529", Status(529, "overloaded_error", "busy"), 0},
		{"529, Retry-After in seconds", Status(529, "overloaded_error", "busy", "Retry-After", "9"), 9 * time.Second},
		{"an answer that is cut", Cut(), 0},
		{"an answer that is no JSON", Body(200, "application/json", `{"id": "x", `), 0},
		{"an answer of no bytes", Body(200, "application/json", ""), 0},
		{"an answer that is null", Body(200, "application/json", "null"), 0},
	}
}

// permanent are those for which it does not.
func permanent() []failure {
	return []failure{
		{"a wrong key", Status(401, "invalid_api_key", "no"), 0},
		{"an unknown model", Status(404, "model_not_found", "the model does not exist"), 0},
		{"a wrong path", Body(404, "text/plain", "404 page not found"), 0},
		{"a web page", Body(200, "text/html", "<!DOCTYPE html><html></html>"), 0},
		{"a rejected request", Status(400, "invalid_request", "no"), 0},
		{"a redirect", Redirect("http://127.0.0.1:1/elsewhere"), 0},
		{"a conversation that is too long", Status(400, "context_length_exceeded", "This model's maximum context length is 10 tokens."), 0},
	}
}

func faultChecks() (all []check) {
	for _, f := range transient() {
		all = append(all, check{"tried again", f.name, func(t *testing.T, connect Connect) {
			t.Helper()
			passing(t, connect, f.fault)
			failing(t, connect, f, true)
		}, nil})
	}
	for _, f := range permanent() {
		all = append(all, check{"an error at once", f.name, func(t *testing.T, connect Connect) {
			t.Helper()
			failing(t, connect, f, false)
		}, nil})
	}
	return all
}

// passing: a fault that goes by is waited out.
func passing(t *testing.T, connect Connect, fault Fault) {
	t.Helper()
	var asked atomic.Int64
	m := connect(t, Options{Play: Script(Says("well")), Misbehave: counting(&asked, First(Attempts-1, fault))})
	got, err := m.Chat(t.Context(), hello())
	if err != nil || got.Message.Text != "well" || asked.Load() != Attempts {
		t.Errorf("%+v, error %v, after %d requests", got, err, asked.Load())
	}
}

// failing: an error that says which kind it is, after one attempt or all of them.
func failing(t *testing.T, connect Connect, f failure, transient bool) {
	t.Helper()
	var asked atomic.Int64
	m := connect(t, Options{Misbehave: counting(&asked, Always(f.fault))})
	_, err := m.Chat(t.Context(), hello())
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Transient() != transient || e.Who != m.Ref().Name || e.What == "" {
		t.Fatalf("error %#v", err)
	}
	want := int64(1)
	if transient {
		want = Attempts
	} else if e.Remedy == "" && e.Fault != model.FaultRequest && e.Fault != model.FaultContext {
		t.Errorf("%v: and what to do?", err)
	}
	if asked.Load() != want {
		t.Errorf("%d requests, want %d", asked.Load(), want)
	}
	if e.After > f.after || e.After < f.after-5*time.Second { // a date has no parts of a second
		t.Errorf("it is to wait %s, the server asks for %s", e.After, f.after)
	}
}

func counting(n *atomic.Int64, f func(int) Fault) func(int) Fault {
	return func(i int) Fault {
		n.Add(1)
		return f(i)
	}
}

// trickles: an attempt that is still at it when its time is up is ended, however busily
// the server sends, and the next one made.
func trickles(t *testing.T, connect Connect) {
	t.Helper()
	if testing.Short() {
		return // see Patience
	}
	began := time.Now()
	got, err := connect(t, Options{Play: Script(Says("well")), Misbehave: First(1, Trickle())}).Chat(t.Context(), hello())
	if err != nil || got.Message.Text != "well" {
		t.Errorf("%+v, error %v", got, err)
	}
	if took := time.Since(began); took < Patience() || took > 4*Patience() {
		t.Errorf("it took %s", took)
	}
}

func cancelled(t *testing.T, connect Connect) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the trial is over")
	m := connect(t, Options{Misbehave: Always(func(w http.ResponseWriter, r *http.Request) {
		cancel(why)
		<-r.Context().Done()
	})})
	if _, err := m.Chat(ctx, hello()); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

func concurrent(t *testing.T, connect Connect) {
	t.Helper()
	m := connect(t, Options{Play: func(r model.Request) model.Response { return Says("re: " + r.Messages[0].Text) }})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			text := fmt.Sprintf("question %d", i)
			got, err := m.Chat(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: text}}})
			if err != nil || got.Message.Text != "re: "+text {
				t.Errorf("%s: %+v, %v", text, got, err)
			}
		})
	}
	all.Wait()
}
