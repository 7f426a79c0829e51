package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// edits runs a case for every adapter of the model port, streamed and not.
func edits(t *testing.T, run func(t *testing.T, a adapter, stream bool)) {
	t.Helper()
	for _, a := range adapters() {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/streamed=%v", a.name, stream), func(t *testing.T) { run(t, a, stream) })
		}
	}
}

func asked() model.Request {
	return model.Request{
		Messages: []model.Message{{Role: model.System, Text: "You keep the records."}, {Role: model.User, Text: "Compare A and B."}},
		Tools:    []agentbound.Tool{{Name: "read", Description: "Read a record.", Schema: agentbound.Value(`{"properties":{"id":{"type":"string"}},"type":"object"}`)}},
	}
}

// reads calls twice where it was only asked, and repeats in words what it has read.
func reads(text string) modeltest.Player {
	return func(r model.Request) model.Response {
		last := r.Messages[len(r.Messages)-1]
		if last.Role != model.Result {
			return model.Response{Stop: model.StopCalls, Message: model.Message{
				Role: model.Assistant, Text: text, Reasoning: "hm “é”",
				Calls: []model.ToolCall{{ID: "a", Name: "read", Args: `{"id":"Ä"}`}, {ID: "b", Name: "read", Args: `{"id":"B"}`}},
			}}
		}
		said := ""
		for _, m := range r.Messages {
			if m.Role == model.Assistant {
				said += "[" + m.Text + "]"
			}
		}
		return modeltest.Says("I had said " + said + " and read " + last.Text)
	}
}

func answered(r model.Request, m model.Message) model.Request {
	r.Messages = append(r.Messages, m)
	for _, c := range m.Calls {
		r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Tool: c.Name, Text: "records of " + c.ID})
	}
	return r
}

func thought(s string) *string { return &s }

// TestThoughtReplaced: the program reads the Thought that stands in for the model's, runs
// the calls that the model made, and sends both back, with the reasoning that belongs to
// them: the server, which knows its own signatures, takes it.
func TestThoughtReplaced(t *testing.T) {
	const edited = "I look at A only. “So.”\n\n好 🙂"
	edits(t, func(t *testing.T, a adapter, stream bool) {
		for _, text := range []string{"I read both.", ""} {
			var seen []wire.Turn
			m := a.through(t, modeltest.Options{Play: reads(text), Reasoning: "reasoning_content"}, stream, func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
				seen = append(seen, turn)
				if len(turn.Calls) == 0 {
					return wire.Edit{}, nil
				}
				return wire.Edit{Thought: thought(edited)}, nil
			})
			r := asked()
			first, err := m.Chat(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if first.Message.Text != edited || len(first.Message.Calls) != 2 || first.Stop != model.StopCalls {
				t.Errorf("%+v", first)
			}
			if shows := seen[0].Reasoning; first.Message.Reasoning != shows {
				t.Errorf("reasoning %q, the model's was %q", first.Message.Reasoning, shows)
			}
			second, err := m.Chat(t.Context(), answered(r, first.Message))
			if want := "I had said [" + edited + "] and read records of b"; err != nil || second.Message.Text != want {
				t.Errorf("%+v, %v", second, err)
			}
			if seen[0].Text != text || text == "" && seen[0].Reasoning != "" && seen[0].Thought != seen[0].Reasoning || len(seen[0].Request.Tools) != 1 || seen[0].Request.Tools[0].Name != "read" {
				t.Errorf("%+v", seen[0])
			}
			history := seen[1].Request.Messages
			if last := history[len(history)-1]; last.Text != "records of b" || last.Role != model.Result || last.Tool != "read" || history[2].Text != edited || len(history[2].Calls) != 2 {
				t.Errorf("%+v", history)
			}
		}
	})
}

// TestWithheld: calls that are withheld do not reach the program, and the turn ends in
// good order: the conversation goes on from it.
func TestWithheld(t *testing.T) {
	edits(t, func(t *testing.T, a adapter, stream bool) {
		m := a.through(t, modeltest.Options{Play: reads("I read both."), Reasoning: "reasoning_content"}, stream, func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
			return wire.Edit{Withhold: len(turn.Request.Messages) < 3}, nil
		})
		r := asked()
		first, err := m.Chat(t.Context(), r)
		if err != nil || first.Message.Calls != nil || first.Message.Text != "I read both." || first.Stop != model.StopEnd {
			t.Fatalf("%+v, %v", first, err)
		}
		r.Messages = append(r.Messages, first.Message, model.Message{Role: model.User, Text: "Go on."})
		if second, err := m.Chat(t.Context(), r); err != nil || len(second.Message.Calls) != 2 {
			t.Errorf("%+v, %v", second, err)
		}
	})
}

// TestAskedAgain: the request is sent once more with the Thought that stands in for the
// model's and a word to go on; the program sees the turn that comes of it alone.
func TestAskedAgain(t *testing.T) {
	edits(t, func(t *testing.T, a adapter, stream bool) {
		play := func(r model.Request) model.Response {
			last := r.Messages[len(r.Messages)-1]
			if last.Text == "Go on from there." {
				return model.Response{Stop: model.StopCalls, Message: model.Message{
					Role: model.Assistant, Text: "As said: " + r.Messages[len(r.Messages)-2].Text, Reasoning: "again", Calls: []model.ToolCall{{ID: "c", Name: "read", Args: `{"id":"A"}`}},
				}}
			}
			return reads("I read both.")(r)
		}
		var seen []wire.Turn
		var mu sync.Mutex
		m := a.through(t, modeltest.Options{Play: play, Reasoning: "reasoning_content"}, stream, func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, turn)
			if turn.Attempt == 0 && len(turn.Calls) == 2 {
				return wire.Edit{Again: []wire.Message{{Role: model.Assistant, Text: "A alone will do."}, {Role: model.User, Text: "Go on from there."}}}, nil
			}
			return wire.Edit{}, nil
		})
		// From the first turn, and from one after results.
		r := asked()
		first, err := m.Chat(t.Context(), r)
		if err != nil || first.Message.Text != "As said: A alone will do." || len(first.Message.Calls) != 1 || first.Message.Calls[0].ID != "c" {
			t.Fatalf("%+v, %v", first, err)
		}
		r = answered(r, first.Message)
		if second, err := m.Chat(t.Context(), r); err != nil || !strings.HasSuffix(second.Message.Text, "read records of c") {
			t.Errorf("%+v, %v", second, err)
		}
		if len(seen) != 3 || seen[1].Attempt != 1 || seen[1].N != seen[0].N || seen[1].Draft == nil || len(seen[1].Draft.Calls) != 2 || seen[2].Draft != nil {
			t.Errorf("%+v", seen)
		}
	})
}

// TestAgainAfterResults: what is added comes after answers to calls, too.
func TestAgainAfterResults(t *testing.T) {
	edits(t, func(t *testing.T, a adapter, stream bool) {
		play := func(r model.Request) model.Response {
			if last := r.Messages[len(r.Messages)-1]; last.Text == "Look again." {
				return modeltest.Says("I looked again at " + r.Messages[len(r.Messages)-2].Text)
			}
			return reads("I read both.")(r)
		}
		m := a.through(t, modeltest.Options{Play: play, Reasoning: "reasoning_content"}, stream, func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
			if turn.Attempt == 0 && len(turn.Calls) == 0 {
				return wire.Edit{Again: []wire.Message{{Role: model.User, Text: "Look again."}}}, nil
			}
			return wire.Edit{}, nil
		})
		r := asked()
		first, err := m.Chat(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := m.Chat(t.Context(), answered(r, first.Message)); err != nil || second.Message.Text != "I looked again at records of b" {
			t.Errorf("%+v, %v", second, err)
		}
	})
}

// TestTurnsTold: a proxy tells what the program got, and beside it what the model had
// said; one that only listens tells the same turn, streamed or not.
func TestTurnsTold(t *testing.T) {
	for _, s := range samples() {
		var whole []wire.Turn
		for _, stream := range []bool{false, true} {
			up := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				if stream {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, strings.Join(s.events, ""))
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Etag", "x")
				_, _ = io.WriteString(w, s.whole)
			})
			var l log
			o := l.options()
			o.Edit = func(context.Context, wire.Turn) (wire.Edit, error) {
				return wire.Edit{Thought: thought("I wait."), Withhold: true}, nil
			}
			res, got, err := post(t, front(t, up, o)+s.path, s.body)
			if err != nil || !strings.Contains(string(got), "I wait.") || strings.Contains(string(got), "A look") || strings.Contains(string(got), `read`) || res.Header.Get("Etag") != "" {
				t.Errorf("%s: %s, %v", s.protocol, got, err)
			}
			if len(l.turns) != 1 || l.turns[0].Thought != "I wait." || l.turns[0].Calls != nil || l.turns[0].Draft == nil || l.turns[0].Draft.Thought != "A look" || len(l.turns[0].Draft.Calls) != 1 {
				t.Fatalf("%s: %+v", s.protocol, l.turns)
			}
			l.turns[0].Took, l.turns[0].Draft.Took, l.turns[0].Streamed, l.turns[0].Draft.Streamed = 0, 0, false, false
			whole = append(whole, l.turns[0])
			// What the program got reads as what was told.
			again := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
				_, _ = w.Write(got)
			})
			var back log
			if _, _, err := post(t, front(t, again, back.options())+s.path, s.body); err != nil || len(back.turns) != 1 || back.turns[0].Text != "I wait." || back.turns[0].Calls != nil || back.turns[0].Stop != l.turns[0].Stop {
				t.Errorf("%s: %+v, %v", s.protocol, back.turns, back.faults)
			}
		}
		if d := cmp.Diff(whole[0], whole[1]); d != "" {
			t.Errorf("%s: streamed it is another turn: %s", s.protocol, d)
		}
	}
}

// TestHeld: however long an editor takes, nothing of the turn reaches the program before
// it decided, and the server's silence meanwhile is no fault.
func TestHeld(t *testing.T) {
	for _, s := range samples() {
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, strings.Join(s.events, ""))
		})
		decide := make(chan struct{})
		var l log
		o := l.options()
		o.Idle = 60 * time.Millisecond
		o.Edit = func(ctx context.Context, _ wire.Turn) (wire.Edit, error) {
			select {
			case <-decide:
			case <-ctx.Done():
			}
			return wire.Edit{}, ctx.Err()
		}
		base := front(t, up, o)
		got := make(chan string, 1)
		go func() {
			_, b, err := post(t, base+s.path, s.body)
			got <- fmt.Sprint(string(b), err)
		}()
		select {
		case b := <-got:
			t.Errorf("%s: before the decision there came %s", s.protocol, b)
		case <-time.After(150 * time.Millisecond):
		}
		close(decide)
		if b := <-got; b != strings.Join(s.events, "")+"<nil>" {
			t.Errorf("%s: %s, %v", s.protocol, b, l.faults)
		}
	}
}

// TestEditsRefused: what an editor cannot have is a fault of its own, and the program
// gets none of the turn.
func TestEditsRefused(t *testing.T) {
	s := samples()[1]
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, s.whole)
	})
	more := []wire.Message{{Role: model.User, Text: "Go on."}}
	for name, edit := range map[string]wire.Editor{
		"an error": func(context.Context, wire.Turn) (wire.Edit, error) {
			return wire.Edit{}, errors.New("the corrector is down")
		},
		"again and again": func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{Again: more}, nil },
		"both": func(context.Context, wire.Turn) (wire.Edit, error) {
			return wire.Edit{Again: more, Withhold: true}, nil
		},
		"a system's": func(context.Context, wire.Turn) (wire.Edit, error) {
			return wire.Edit{Again: []wire.Message{{Role: model.System, Text: "x"}}}, nil
		},
		"no user's": func(context.Context, wire.Turn) (wire.Edit, error) {
			return wire.Edit{Again: []wire.Message{{Role: model.Assistant, Text: "x"}}}, nil
		},
	} {
		var l log
		o := l.options()
		o.Edit = edit
		res, got, err := post(t, front(t, up, o)+s.path, s.body)
		if err != nil || res.StatusCode != http.StatusBadGateway || strings.Contains(string(got), "A look") || len(l.turns) > 0 {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if d := cmp.Diff([]wire.Kind{wire.EditFailed}, l.kinds()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	o := wire.Options{Edit: func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, nil }}
	if res, got, err := post(t, front(t, up, o)+s.path, `{"n":2,"messages":[]}`); err != nil || res.StatusCode != http.StatusBadRequest {
		t.Errorf("two answers: %s, %v", got, err)
	}
}

// TestUnreadIsHeld: where an editor stands, an answer that cannot be read does not pass
// him by: neither one with a failure beside its turn, nor one of another form.
func TestUnreadIsHeld(t *testing.T) {
	asks := wire.Options{Edit: func(context.Context, wire.Turn) (wire.Edit, error) {
		return wire.Edit{}, errors.New("it was decoded")
	}}
	for _, c := range []struct{ kind, body string }{
		{"application/json", `{"error":{"message":"no"},"choices":[{"message":{"content":"SECRET"}}]}`},
		{"application/json", `{"choices":[{"text":"SECRET"}]}`},
		{"text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"SECRET\"}}]}\n\ndata: SECRET\n\n"},
		{"text/event-stream", "data: {\"choices\":[{\"delta\":{\"content\":\"SECRET\"}}]}\n\ndata: {\"error\":{\"message\":\"busy\"}}\n\n"},
	} {
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", c.kind)
			_, _ = io.WriteString(w, c.body)
		})
		_, got, _ := post(t, front(t, up, asks)+"/v1/chat/completions", `{"stream":true,"messages":[]}`)
		if strings.Contains(string(got), "SECRET") || len(got) == 0 {
			t.Errorf("%s: %s", c.body, got)
		}
	}
}
