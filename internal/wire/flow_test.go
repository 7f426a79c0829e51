package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// inPieces serves an answer in pieces of so many bytes; 0: in one.
func inPieces(t *testing.T, answer, kind string, piece int) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", kind)
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
}

// TestFlowKept: a turn that is kept passes to the byte in all protocols, streamed in odd
// pieces and whole; and the Editor has the turn that a proxy tells that only listens.
func TestFlowKept(t *testing.T) {
	for _, s := range samples() {
		for _, piece := range []int{0, 1, 2, 7, 50} {
			for _, stream := range []bool{true, false} {
				answer, kind := s.whole, "application/json"
				if stream {
					answer, kind = strings.Join(s.events, ""), "text/event-stream"
				}
				var l log
				o := l.options()
				o.Flow = true
				var asked []wire.Turn
				o.Edit = func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
					asked = append(asked, turn)
					return wire.Edit{}, nil
				}
				_, got, err := post(t, front(t, inPieces(t, answer, kind, piece), o)+s.path, s.body)
				if err != nil || string(got) != answer {
					t.Errorf("%s, streamed %v in pieces of %d: %v, %q, want %q", s.protocol, stream, piece, err, got, answer)
				}
				if len(asked) != 1 || len(l.turns) != 1 || len(l.faults) > 0 {
					t.Fatalf("%s: asked %v, told %v, %v", s.protocol, asked, l.turns, l.faults)
				}
				if want := map[bool]string{true: "A look"}[stream]; asked[0].Flowed != want || asked[0].Thought != "A look" || len(asked[0].Calls) != 1 {
					t.Errorf("%s: %+v", s.protocol, asked[0])
				}
			}
		}
	}
}

// begins is the first event of a sample from which a program knows that there is a call.
func begins(s sample) int {
	if s.protocol == wire.ChatCompletions || s.protocol == wire.Messages {
		return s.hold - 1
	}
	return s.hold
}

// TestFlowHolds: each event reaches the program before the server sends the next, up to the
// first that lets it know that there is a call; that, and all after it, waits for the
// Editor, and not for anything of the server's.
func TestFlowHolds(t *testing.T) {
	for _, s := range samples() {
		next := make(chan struct{})
		from := begins(s)
		up := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			for i, e := range s.events {
				if i <= from {
					<-next
				}
				_, _ = io.WriteString(w, e)
				_ = http.NewResponseController(w).Flush()
			}
		})
		asked, release := make(chan wire.Turn), make(chan struct{})
		o := wire.Options{Flow: true, Idle: 60 * time.Millisecond, Edit: func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
			asked <- turn
			<-release
			return wire.Edit{}, nil
		}}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, front(t, up, o)+s.path, strings.NewReader(s.body))
		req.Header.Set("Authorization", "Bearer "+dummyKey)
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.events[:from] {
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
		turn := <-asked
		select {
		case got := <-early:
			t.Errorf("%s: before the decision there came %q", s.protocol, got)
		case <-time.After(100 * time.Millisecond): // longer than the server may say nothing
		}
		close(release)
		if got := <-early; string(got) != strings.Join(s.events[from:], "") || len(turn.Calls) != 1 {
			t.Errorf("%s: then came %q, the turn %+v", s.protocol, got, turn)
		}
		res.Body.Close()
	}
}

const (
	mark      = "\n\n[Corrected before acting:]\n\n"
	corrected = "A alone will do. “So.”"
)

// corrects has every first turn with two calls go on from a corrected Thought.
func corrects(seen *[]wire.Turn, e func(wire.Turn) wire.Edit) wire.Editor {
	return func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
		*seen = append(*seen, turn)
		if turn.Attempt > 0 || len(turn.Calls) != 2 {
			return wire.Edit{}, nil
		}
		return e(turn), nil
	}
}

func goesOn(turn wire.Turn) wire.Edit {
	e := wire.Edit{Again: []wire.Message{{Role: model.Assistant, Text: corrected}, {Role: model.User, Text: "Go on from there."}}}
	if turn.Flowed != "" {
		e.Add = mark + corrected
	} else {
		e.Thought = thought(corrected)
	}
	return e
}

// replays reads twice, and once where it is to go on from what it is said to have said.
func replays(text, more string) modeltest.Player {
	return func(r model.Request) model.Response {
		if last := r.Messages[len(r.Messages)-1]; last.Text != "Go on from there." {
			return reads(text)(r)
		}
		return model.Response{Stop: model.StopCalls, Message: model.Message{
			Role: model.Assistant, Text: more, Reasoning: "again", Calls: []model.ToolCall{{ID: "c", Name: "read", Args: `{"id":"A"}`}},
		}}
	}
}

// TestFlowGoesOn: for every adapter, streamed and not, with and without a text of the
// draft's and of the answer that comes of asking again: the program has one turn, of the
// draft's text as far as it had gone out, the corrected Thought, and the calls of the second
// answer; it sends that back, and the server takes it. The usage is that of both.
func TestFlowGoesOn(t *testing.T) {
	edits(t, func(t *testing.T, a adapter, stream bool) {
		for _, text := range []string{"I read both.", ""} {
			for _, more := range []string{"As I said.", ""} {
				var seen, plain []wire.Turn
				play := modeltest.Options{Play: replays(text, more), Reasoning: "reasoning_content"}
				m := a.flowing(t, play, stream, corrects(&seen, goesOn))
				r := asked()
				first, err := m.Chat(t.Context(), r)
				if err != nil {
					t.Fatalf("%q, %q: %v", text, more, err)
				}
				want := corrected
				if stream && text != "" {
					want = text + mark + want
				}
				if more != "" {
					want += "\n\n" + more
				}
				// An adapter may join texts that stand apart by blank lines.
				if squeeze(first.Message.Text) != squeeze(want) || len(first.Message.Calls) != 1 || first.Message.Calls[0].ID != "c" || first.Stop != model.StopCalls {
					t.Errorf("%q, %q: %q, %+v, want %q", text, more, first.Message.Text, first, want)
				}
				if len(seen) != 2 || seen[1].Attempt != 1 || seen[1].Draft == nil || len(seen[1].Draft.Calls) != 2 {
					t.Fatalf("%+v", seen)
				}
				if one, both := seen[0].Usage.Output+seen[1].Usage.Output, first.Usage.Output; one != both {
					t.Errorf("%d tokens were put out, and told are %d", one, both)
				}
				second, err := m.Chat(t.Context(), answered(r, first.Message))
				if err != nil || !strings.HasSuffix(second.Message.Text, "read records of c") || !strings.Contains(second.Message.Text, corrected) {
					t.Errorf("%q, %q: sent back: %+v, %v", text, more, second, err)
				}
				// What went out is what a turn without a proxy would be.
				listens := a.flowing(t, play, stream, corrects(&plain, func(wire.Turn) wire.Edit { return wire.Edit{} }))
				if again, err := listens.Chat(t.Context(), r); err != nil || len(again.Message.Calls) != 2 {
					t.Errorf("%+v, %v", again, err)
				}
			}
		}
	})
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

// flowing is through, where texts flow.
func (a adapter) flowing(t *testing.T, o modeltest.Options, stream bool, edit wire.Editor) model.Model {
	t.Helper()
	return a.with(t, o, stream, wire.Options{Edit: edit, Flow: true})
}

// TestFlowWithheld: a turn that has flowed ends with a word instead of its calls, in good
// order: the conversation goes on from it.
func TestFlowWithheld(t *testing.T) {
	edits(t, func(t *testing.T, a adapter, stream bool) {
		for _, text := range []string{"I read both.", ""} {
			var seen []wire.Turn
			m := a.flowing(t, modeltest.Options{Play: reads(text), Reasoning: "reasoning_content"}, stream, corrects(&seen, func(wire.Turn) wire.Edit {
				if len(seen) > 1 {
					return wire.Edit{}
				}
				return wire.Edit{Withhold: true, Add: "\n\n(Nothing was done.)"}
			}))
			r := asked()
			first, err := m.Chat(t.Context(), r)
			if want := strings.TrimSpace(text + "\n\n(Nothing was done.)"); err != nil || first.Message.Calls != nil || squeeze(first.Message.Text) != squeeze(want) || first.Stop != model.StopEnd {
				t.Fatalf("%+v, %v, want %q", first, err, want)
			}
			r.Messages = append(r.Messages, first.Message, model.Message{Role: model.User, Text: "Go on."})
			if second, err := m.Chat(t.Context(), r); err != nil || len(second.Message.Calls) != 2 {
				t.Errorf("%+v, %v", second, err)
			}
		}
	})
}

// TestFlowElse: where the server does not answer when it is asked once more, the turn is
// what the edit says it is then, or the program gets a failure in the protocol's form; and
// it is told either way.
func TestFlowElse(t *testing.T) {
	for _, s := range samples() {
		for _, stream := range []bool{true, false} {
			answer, kind := s.whole, "application/json"
			if stream {
				answer, kind = strings.Join(s.events, ""), "text/event-stream"
			}
			for name, c := range map[string]struct {
				otherwise *wire.Edit
				second    string
				has, not  string
				exact     bool
			}{
				"nothing is said": {nil, `{"error":{"message":"busy","type":"x"}}`, "", `"c"`, false},
				"the draft":       {&wire.Edit{}, `{"error":{"message":"busy","type":"x"}}`, "", corrected, true},
				"withheld":        {&wire.Edit{Withhold: true, Add: " (Held.)"}, `{"error":{"message":"busy","type":"x"}}`, "(Held.)", `"c"`, false},
				"no turn":         {&wire.Edit{Withhold: true, Add: " (Held.)"}, `{}`, "(Held.)", `"c"`, false},
			} {
				n := 0
				up := serve(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadAll(r.Body)
					if n++; n > 1 {
						if name != "no turn" {
							w.WriteHeader(http.StatusServiceUnavailable)
						}
						_, _ = io.WriteString(w, c.second)
						return
					}
					w.Header().Set("Content-Type", kind)
					_, _ = io.WriteString(w, answer)
				})
				var l log
				o := l.options()
				o.Flow = true
				o.Edit = func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
					e := goesOn(turn)
					e.Else = c.otherwise
					return e, nil
				}
				_, got, err := post(t, front(t, up, o)+s.path, s.body)
				if err != nil || !strings.Contains(string(got), c.has) || strings.Contains(string(got), c.not) || c.exact && string(got) != answer {
					t.Errorf("%s, streamed %v, %s: %v, %s", s.protocol, stream, name, err, got)
				}
				if stream && !strings.HasPrefix(string(got), strings.Join(s.events[:begins(s)], "")) {
					t.Errorf("%s, %s: what had flowed is not there: %s", s.protocol, name, got)
				}
				if len(l.faults) == 0 || n != 2 {
					t.Errorf("%s, %s: asked %d times, %v", s.protocol, name, n, l.faults)
				}
			}
		}
	}
}

// TestFlowBroken: of a stream that breaks off, fails in its middle or is none of the
// protocol, the program has what had flowed, and never what was held.
func TestFlowBroken(t *testing.T) {
	for _, s := range samples() {
		flowed := strings.Join(s.events[:begins(s)], "")
		for name, c := range map[string]struct {
			tail string
			ends bool // in good order
			kind wire.Kind
			has  string
		}{
			"broken off":  {"", false, wire.Connection, ""},
			"cut short":   {"", true, wire.Connection, ""},
			"a failure":   {"event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"busy\",\"type\":\"overloaded_error\"}}\n\n", true, wire.Server, "busy"},
			"no protocol": {"data: {\"x\":\n\n", true, wire.BadAnswer, "agentbound's proxy: the answer is not one of the protocol"},
		} {
			held := strings.Replace(s.events[begins(s)], `,"finishReason":"STOP"`, "", 1)
			up := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, flowed+held+c.tail)
				_ = http.NewResponseController(w).Flush()
				if !c.ends {
					panic(http.ErrAbortHandler)
				}
			})
			var l log
			o := l.options()
			o.Flow = true
			o.Edit = func(context.Context, wire.Turn) (wire.Edit, error) {
				t.Errorf("%s, %s: the editor is asked", s.protocol, name)
				return wire.Edit{}, nil
			}
			_, got, err := post(t, front(t, up, o)+s.path, s.body)
			if (err == nil) != c.ends || !strings.HasPrefix(string(got), flowed) || strings.Contains(string(got), `"read"`) || !strings.Contains(string(got), c.has) {
				t.Errorf("%s, %s: %v, %s", s.protocol, name, err, got)
			}
			if d := cmp.Diff([]wire.Kind{c.kind}, l.kinds()); d != "" || len(l.turns) > 0 {
				t.Errorf("%s, %s: %s, %v", s.protocol, name, d, l.turns)
			}
		}
	}
}

// TestFlowRefuses: an editor that fails, or wants what can't be done to a turn whose text
// has gone out, is a failure in the stream; nothing of what was held passes.
func TestFlowRefuses(t *testing.T) {
	for _, s := range samples() {
		for name, edit := range map[string]wire.Editor{
			"an error":     func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, errors.New("it is down") },
			"another text": func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{Thought: thought("x")}, nil },
			"a text, again": func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
				e := goesOn(turn)
				e.Thought = thought("x")
				return e, nil
			},
			"a word alone": func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{Add: "x"}, nil },
			"again and then": func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
				return wire.Edit{Again: goesOn(turn).Again, Else: &wire.Edit{Again: goesOn(turn).Again}}, nil
			},
		} {
			var l log
			o := l.options()
			o.Flow, o.Edit = true, edit
			_, got, err := post(t, front(t, inPieces(t, strings.Join(s.events, ""), "text/event-stream", 0), o)+s.path, s.body)
			if err != nil || strings.Contains(string(got), `"read"`) || !strings.Contains(string(got), "agentbound's proxy: ") || !strings.Contains(string(got), "error") {
				t.Errorf("%s, %s: %v, %s", s.protocol, name, err, got)
			}
			if d := cmp.Diff([]wire.Kind{wire.EditFailed}, l.kinds()); d != "" {
				t.Errorf("%s, %s: %s", s.protocol, name, d)
			}
		}
	}
}

// TestFlowSeveral: a stream that holds more answers than were asked for does not pass with
// what nobody decided on.
func TestFlowSeveral(t *testing.T) {
	for path, second := range map[string]string{
		"/v1/chat/completions":                           `{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{}"}}]}}]}`,
		"/v1beta/models/m:streamGenerateContent?alt=sse": `{"candidates":[{"index":1,"content":{"parts":[{"functionCall":{"name":"read"}}]}}]}`,
	} {
		o := wire.Options{Flow: true, Edit: func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, nil }}
		_, got, err := post(t, front(t, inPieces(t, "data: "+second+"\n\n", "text/event-stream", 0), o)+path, `{"stream":true}`)
		if err != nil || strings.Contains(string(got), "read") || !strings.Contains(string(got), "several answers") {
			t.Errorf("%s: %v, %s", path, err, got)
		}
	}
}

// TestFlowOverlap: parts that began before the call and end after it are ended where the
// turn goes on with something else.
func TestFlowOverlap(t *testing.T) {
	for path, events := range map[string][]string{
		"/v1/messages": {
			`{"type":"message_start","message":{"id":"m1","content":[],"usage":{"input_tokens":1}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A "}}`, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"read","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"look"}}`, `{"type":"content_block_stop","index":0}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`,
		},
		"/v1/responses": {
			`{"type":"response.created","response":{"id":"r1"},"sequence_number":0}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"x","content":[]},"sequence_number":1}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":"A look","sequence_number":2}`, `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"read","arguments":""},"sequence_number":3}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"x","content":[{"type":"output_text","text":"A look"}]},"sequence_number":4}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"read","arguments":"{}"},"sequence_number":5}`,
			`{"type":"response.completed","response":{"id":"r1","status":"completed","output":[{"type":"message","id":"x","content":[{"type":"output_text","text":"A look"}]},{"type":"function_call","call_id":"c","name":"read","arguments":"{}"}]},"sequence_number":6}`,
		},
	} {
		var stream strings.Builder
		for _, e := range events {
			fmt.Fprintf(&stream, "data: %s\n\n", e)
		}
		o := wire.Options{Flow: true, Edit: func(context.Context, wire.Turn) (wire.Edit, error) {
			return wire.Edit{Withhold: true, Add: " I wait."}, nil
		}}
		_, got, err := post(t, front(t, inPieces(t, stream.String(), "text/event-stream", 0), o)+path, `{"stream":true}`)
		if err != nil {
			t.Fatal(err)
		}
		var back log
		if _, _, err := post(t, front(t, inPieces(t, string(got), "text/event-stream", 0), back.options())+path, `{"stream":true}`); err != nil || len(back.turns) != 1 || squeeze(back.turns[0].Text) != "A look I wait." || back.turns[0].Calls != nil {
			t.Errorf("%s: %+v, %v of %s", path, back.turns, back.faults, got)
		}
	}
}

// TestFlowStored: of a server that keeps answers a client knows a turn that went on by one
// id, that with which it began; what goes on from it is told to the server by the id of the
// answer that it keeps. No two items have one id.
func TestFlowStored(t *testing.T) {
	var bodies []string
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		id := fmt.Sprintf("resp_%d", len(bodies))
		w.Header().Set("Content-Type", "text/event-stream")
		item := fmt.Sprintf(`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"I read %s."}]}`, id)
		call := `{"type":"function_call","id":"fc_1","call_id":"c","name":"read","arguments":"{}"}`
		for _, e := range []string{
			`{"type":"response.created","response":{"id":"` + id + `","output":[]}}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1","content":[]}}`,
			`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`, `{"type":"response.output_item.done","output_index":1,"item":` + call + `}`,
			`{"type":"response.completed","response":{"id":"` + id + `","status":"completed","output":[` + item + `,` + call + `]}}`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	})
	base := front(t, up, wire.Options{Flow: true, Edit: func(_ context.Context, turn wire.Turn) (wire.Edit, error) {
		if turn.Attempt > 0 || turn.N > 0 {
			return wire.Edit{}, nil
		}
		return goesOn(turn), nil
	}})
	_, got, err := post(t, base+"/v1/responses", `{"stream":true,"input":"hi"}`)
	if err != nil || strings.Contains(string(got), "resp_2\"") || !strings.Contains(string(got), `"msg_1_2"`) || strings.Count(string(got), `"response.completed"`) != 1 {
		t.Errorf("%v: %s", err, got)
	}
	if _, _, err = post(t, base+"/v1/responses", `{"previous_response_id":"resp_1","stream":true,"input":"more"}`); err != nil || len(bodies) != 3 || !strings.Contains(bodies[2], `"previous_response_id":"resp_2"`) {
		t.Errorf("%v: %q", err, bodies)
	}
	const other = `{"previous_response_id": "resp_3", "stream":true,"input":"more"}`
	if _, _, err = post(t, base+"/v1/responses", other); err != nil || bodies[3] != other {
		t.Errorf("%v: %q", err, bodies)
	}
}

// TestPassKeys: what a program shows is what the server gets, wherever it stands; nothing
// that is told holds it, though the server repeats it.
func TestPassKeys(t *testing.T) {
	const secret = "sk-of-the-program/1+2"
	for _, c := range []struct{ path, name, value string }{
		{"/v1/responses", "Authorization", "Bearer " + secret}, {"/v1/messages", "X-Api-Key", secret}, {"/v1/messages", "Authorization", "Basic " + secret},
		{"/v1beta/models/m:generateContent", "X-Goog-Api-Key", secret}, {"/v1beta/models/m:generateContent?key=sk-of-the-program%2F1%2B2", "", ""}, {"/v1/chat/completions", "Api-Key", secret},
	} {
		for _, stream := range []bool{false, true} {
			var header http.Header
			var query string
			up := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				header, query = r.Header, r.URL.RawQuery
				if stream {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, "data: {\"error\":{\"message\":\"what is "+secret+"?\"}}\n\n")
					return
				}
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"error":{"message":"what is `+secret+`?"}}`)
			})
			var l log
			o := l.options()
			o.PassKeys, o.Dummy = true, ""
			base := frontOf(t, up, o)
			auth := []string{"Authorization", ""}
			if c.name != "" {
				auth = append(auth, c.name, c.value)
			}
			_, got, err := post(t, base+c.path, `{}`, auth...)
			if err != nil || !strings.Contains(string(got), secret) {
				t.Errorf("%s: %v, %s", c.path, err, got)
			}
			if c.name != "" && header.Get(c.name) != c.value || c.name == "" && !strings.HasSuffix(c.path, query) {
				t.Errorf("%s: the server got %v, %s", c.path, header, query)
			}
			if len(l.faults) != 1 || strings.Contains(fmt.Sprintf("%+v %+v", l.faults, l.faults[0].Server), secret) || l.faults[0].Kind != wire.Server {
				t.Errorf("%s: %+v", c.path, l.faults)
			}
		}
	}
}
