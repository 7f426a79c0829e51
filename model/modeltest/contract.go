package modeltest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Connect gives a model behind a fresh peer of the adapter's protocol that serves o.
// The model makes 3 attempts of at most Patience, with pauses that do not last.
type Connect func(t *testing.T, o Options) model.Model

// Attempts and Patience are what Connect sets.
const (
	Attempts = 3
	Patience = 500 * time.Millisecond
)

// Retry is the policy that Connect sets.
func Retry() model.Retry {
	return model.Retry{Attempts: Attempts, Timeout: Patience, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// Lack is what a protocol has no place for, and what the contract then does not ask.
type Lack string

// What protocols lack.
const (
	Seeds        Lack = "seeds"         // none is sent
	Temperatures Lack = "temperatures"  // none is sent
	NoLimits     Lack = "no limits"     // a limit of tokens is always sent
	RawArguments Lack = "raw arguments" // what a model writes for arguments is an object by the time it arrives
)

// Run holds an adapter to the contract of the port, but for what its protocol lacks.
func Run(t *testing.T, connect Connect, lacks ...Lack) {
	t.Helper()
	t.Run("conversations arrive as they are", func(t *testing.T) { arrives(t, connect, lacks) })
	t.Run("turns come back as they are", func(t *testing.T) { comesBack(t, connect, lacks) })
	t.Run("faults that pass are waited out", func(t *testing.T) { passing(t, connect) })
	t.Run("faults that last are errors", func(t *testing.T) { lasting(t, connect) })
	t.Run("an attempt has an end", func(t *testing.T) { trickles(t, connect) })
	t.Run("a context ends it", func(t *testing.T) { cancelled(t, connect) })
	t.Run("many at once", func(t *testing.T) { concurrent(t, connect) })
}

func hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}
}

func arrives(t *testing.T, connect Connect, lacks []Lack) {
	t.Helper()
	temperature, seed := 0.25, int64(1234567)
	sent := model.Request{
		Messages: []model.Message{
			{Role: model.System, Text: "You keep the records.\n\n<b>“As they are”</b> & so on."},
			{Role: model.User, Text: "Compare A and B."},
			{Role: model.Assistant, Text: "I read both.", Calls: []model.ToolCall{{ID: "one", Name: "read", Args: `{"id":"A"}`}, {ID: "two", Name: "read", Args: `{"id":"B"}`}}},
			{Role: model.Result, CallID: "one", Tool: "read", Text: `{"n":1}`},
			{Role: model.Result, CallID: "two", Tool: "read", Text: "error: no record B"},
			{Role: model.Assistant, Text: "B is missing."},
			{Role: model.User, Text: "Go on."},
		},
		Tools: []agentbound.Tool{{
			Name: "read", Description: "Read a record.",
			Schema: agentbound.Value(`{"additionalProperties":false,"properties":{"id":{"description":"Its <id>.","type":"string"}},"required":["id"],"type":"object"}`),
		}},
		Temperature: &temperature, Seed: &seed, MaxTokens: 99,
	}
	var got model.Request
	m := connect(t, Options{Play: func(r model.Request) model.Response { got = r; return Says("well") }})
	if _, err := m.Chat(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(lacks, Seeds) {
		sent.Seed = nil
	}
	if slices.Contains(lacks, Temperatures) {
		sent.Temperature = nil
	}
	if d := cmp.Diff(sent, got); d != "" {
		t.Error(d)
	}
	if _, err := m.Chat(t.Context(), hello()); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(lacks, NoLimits) {
		if got.MaxTokens < 1024 {
			t.Errorf("a limit of %d tokens where none was asked for", got.MaxTokens)
		}
		got.MaxTokens = 0
	}
	if d := cmp.Diff(hello(), got); d != "" {
		t.Errorf("what was not asked for was sent: %s", d)
	}
}

func comesBack(t *testing.T, connect Connect, lacks []Lack) {
	t.Helper()
	calls := []model.ToolCall{{ID: "a", Name: "read", Args: `{"id": "A"}`}, {ID: "b", Name: "read", Args: `{"id": "B`}, {ID: "c", Name: "no such tool", Args: ``}}
	if slices.Contains(lacks, RawArguments) {
		calls[0].Args, calls[1].Args, calls[2].Args = `{"id":"A"}`, `{"id":"<B>","n":12345678901234567890}`, `{}`
	}
	say := func(stop model.Stop, text string, calls ...model.ToolCall) model.Response {
		return model.Response{Message: model.Message{Role: model.Assistant, Text: text, Calls: calls}, Stop: stop}
	}
	refused := say(model.StopRefusal, "")
	refused.Refusal = "I can't help with that."
	counted := say(model.StopEnd, "counted")
	counted.Usage = model.Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5}
	for name, want := range map[string]model.Response{
		"text": say(model.StopEnd, "Here it is.\n\n“So.”"), "parallel calls": say(model.StopCalls, "I read both.", calls...),
		"calls without text": say(model.StopCalls, "", calls[0]), "a cut turn": say(model.StopLength, "Here it"),
		"a filtered turn": say(model.StopRefusal, "Here"), "a refusal": refused, "usage": counted, "nothing said": say(model.StopEnd, ""),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := connect(t, Options{Play: func(model.Request) model.Response { return want }}).Chat(t.Context(), hello())
			if err != nil {
				t.Fatal(err)
			}
			if got.Model == "" {
				t.Error("no word of which model served it")
			}
			got.Model = ""
			got.Message.State = nil // is the adapter's
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// transient are the faults for which every adapter tries again.
func transient() map[string]Fault {
	return map[string]Fault{
		"429": Status(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down"), "500": Status(500, "", "oops"),
		"502": Body(502, "text/html", "<html><body>Bad Gateway</body></html>"), "503": Body(503, "text/plain", "loading"), "529": Status(529, "overloaded_error", "busy"),
		"cut": Cut(), "garbage": Body(200, "application/json", `{"id": "x", `), "nothing": Body(200, "application/json", ""), "null": Body(200, "application/json", "null"),
	}
}

func passing(t *testing.T, connect Connect) {
	t.Helper()
	for name, fault := range transient() {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			m := connect(t, Options{Play: Script(Says("well")), Misbehave: counting(&asked, First(Attempts-1, fault))})
			got, err := m.Chat(t.Context(), hello())
			if err != nil || got.Message.Text != "well" || asked.Load() != Attempts {
				t.Errorf("%+v, error %v, after %d requests", got, err, asked.Load())
			}
		})
	}
}

func lasting(t *testing.T, connect Connect) {
	t.Helper()
	for name, fault := range transient() {
		t.Run(name, func(t *testing.T) { failing(t, connect, fault, true) })
	}
	for name, fault := range map[string]Fault{
		"a wrong key":         Status(401, "invalid_api_key", "no"),
		"an unknown model":    Status(404, "model_not_found", "the model does not exist"),
		"a wrong path":        Body(404, "text/plain", "404 page not found"),
		"a page":              Body(200, "text/html", "<!DOCTYPE html><html></html>"),
		"a rejected request":  Status(400, "invalid_request", "no"),
		"a redirect":          Redirect("http://127.0.0.1:1/elsewhere"),
		"a long conversation": Status(400, "context_length_exceeded", "This model's maximum context length is 10 tokens."),
	} {
		t.Run(name, func(t *testing.T) { failing(t, connect, fault, false) })
	}
}

// failing: an error that says which kind it is, after one attempt or all of them.
func failing(t *testing.T, connect Connect, fault Fault, transient bool) {
	t.Helper()
	var asked atomic.Int64
	m := connect(t, Options{Misbehave: counting(&asked, Always(fault))})
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
}

func counting(n *atomic.Int64, f func(int) Fault) func(int) Fault {
	return func(i int) Fault {
		n.Add(1)
		return f(i)
	}
}

func trickles(t *testing.T, connect Connect) {
	t.Helper()
	began := time.Now()
	_, err := connect(t, Options{Misbehave: Always(Trickle())}).Chat(t.Context(), hello())
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultTimeout {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 4*Attempts*Patience {
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
