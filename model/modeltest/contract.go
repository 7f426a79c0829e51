package modeltest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Connect gives a model behind a fresh peer of the adapter's protocol that serves o.
// The model makes 3 attempts of at most Patience, with pauses that do not last. Where
// o.Reasoning is not empty the peer shows reasoning and wants it back; an adapter whose
// protocol has a field of its own for that puts its name there.
type Connect func(t *testing.T, o Options) model.Model

// Attempts and Patience are what Connect sets.
const Attempts = 3

// Patience is longer under -short, as under the race detector: everything is slow there,
// and the case that waits for it is left out.
func Patience() time.Duration {
	if testing.Short() {
		return 15 * time.Second
	}
	return 2 * time.Second
}

// Retry is the policy that Connect sets.
func Retry() model.Retry {
	return model.Retry{Attempts: Attempts, Timeout: Patience(), Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
}

// Trait is what an adapter is beyond the port: the contract has cases for it.
type Trait string

// The traits there are.
const (
	Streamed    Trait = "streamed"     // it asks for event streams
	NoReasoning Trait = "no reasoning" // its protocol shows none and wants none back
	Limited     Trait = "limited"      // a limit of tokens is always sent
	Objects     Trait = "objects"      // what a model writes for arguments is an object by the time it arrives
)

// Outcome is what became of one case.
type Outcome struct {
	Case   string // group: case
	Result Result
}

// Result of a case.
type Result string

// The results there are.
const (
	Held  Result = "yes"
	Broke Result = "NO"
	NotOf Result = "–" // the case is not one of the adapter's
)

// check is one case of the contract.
type check struct {
	group, name string
	run         func(t *testing.T, connect Connect)
	of          func(traits []Trait) bool // nil: every adapter's
}

func streams(traits []Trait) bool { return slices.Contains(traits, Streamed) }
func reasons(traits []Trait) bool { return !slices.Contains(traits, NoReasoning) }
func writes(traits []Trait) bool  { return !slices.Contains(traits, Objects) }
func leaves(traits []Trait) bool  { return !slices.Contains(traits, Limited) }

func checks() []check {
	return slices.Concat(conversationChecks(), turnChecks(), reasoningChecks(), faultChecks(), streamChecks(), []check{
		{"limits", "an attempt has an end", trickles, nil},
		{"limits", "a context ends it", cancelled, nil},
		{"limits", "many at once", concurrent, nil},
	})
}

// Run holds an adapter to the contract of the port, and says what came of each case.
func Run(t *testing.T, connect Connect, traits ...Trait) []Outcome {
	t.Helper()
	var all []Outcome
	for _, c := range checks() {
		o := Outcome{c.group + ": " + c.name, NotOf}
		if c.of == nil || c.of(traits) {
			o.Result = Broke
			if t.Run(o.Case, func(t *testing.T) { c.run(t, connect) }) {
				o.Result = Held
			}
		}
		all = append(all, o)
	}
	return all
}

func hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}}
}

func conversationChecks() []check {
	return []check{
		{"what is asked", "a conversation with tools arrives as it is", arrives, nil},
		{"what is asked", "what was not asked for is not sent", nothingMore, nil},
		{"what is asked", "no limit of tokens where none was asked for", noLimit, leaves},
		{"what is asked", "odd names can go back", oddNames, nil},
		{"what is asked", "malformed arguments can go back", oddArguments, writes},
	}
}

func arrives(t *testing.T, connect Connect) {
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
	// What an adapter leaves out it says, so that trial keys tell the truth.
	if m.Ref().Settings["temperature"] == "none" {
		sent.Temperature = nil
	}
	if m.Ref().Settings["seed"] == "none" {
		sent.Seed = nil
	}
	if d := cmp.Diff(sent, got); d != "" {
		t.Error(d)
	}
}

func nothingMore(t *testing.T, connect Connect) {
	t.Helper()
	got := asked(t, connect)
	got.MaxTokens = 0 // has a case of its own
	if d := cmp.Diff(hello(), got); d != "" {
		t.Error(d)
	}
}

func noLimit(t *testing.T, connect Connect) {
	t.Helper()
	if got := asked(t, connect); got.MaxTokens != 0 {
		t.Errorf("a limit of %d tokens", got.MaxTokens)
	}
}

// asked is what arrives of a question that says nothing but hello.
func asked(t *testing.T, connect Connect) (got model.Request) {
	t.Helper()
	m := connect(t, Options{Play: func(r model.Request) model.Response { got = r; return Says("well") }})
	if _, err := m.Chat(t.Context(), hello()); err != nil {
		t.Fatal(err)
	}
	return got
}

// goesOn: a model that made up names or arguments is answered, and the conversation goes
// on: a server must not reject it for what its own model wrote.
func goesOn(t *testing.T, connect Connect, odd ...model.ToolCall) {
	t.Helper()
	first := model.Response{Stop: model.StopCalls, Message: model.Message{Role: model.Assistant, Calls: odd}}
	m := connect(t, Options{Play: Script(first, Says("well"))})
	r := hello()
	said, err := m.Chat(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.Messages = append(r.Messages, answered(said.Message)...)
	if second, err := m.Chat(t.Context(), r); err != nil || second.Message.Text != "well" {
		t.Errorf("%+v, %v", second, err)
	}
}

func oddNames(t *testing.T, connect Connect) {
	t.Helper()
	goesOn(t, connect, model.ToolCall{ID: "a", Name: "no such tool", Args: `{"id":"A"}`}, model.ToolCall{ID: "b", Name: "read", Args: `{}`})
}

func oddArguments(t *testing.T, connect Connect) {
	t.Helper()
	goesOn(t, connect, model.ToolCall{ID: "a", Name: "read", Args: `{"id": "B`}, model.ToolCall{ID: "b", Name: "read", Args: `[1]`}, model.ToolCall{ID: "c", Name: "read"})
}

// answered is a message with the answers to its calls.
func answered(m model.Message) []model.Message {
	for i := range m.Calls {
		if m.Calls[i].ID == "" { // as the port has it: whoever sends it back fills it in
			m.Calls[i].ID = fmt.Sprintf("filled-%d", i)
		}
	}
	all := []model.Message{m}
	for _, c := range m.Calls {
		all = append(all, model.Message{Role: model.Result, CallID: c.ID, Tool: c.Name, Text: "1"})
	}
	return all
}

// turn is a named answer.
type turn struct {
	name string
	want model.Response
	of   func(traits []Trait) bool // nil: every adapter's
}

func turns() []turn {
	calls := []model.ToolCall{{ID: "a", Name: "read", Args: `{"id":"Ä“1”"}`}, {ID: "b", Name: "read", Args: `{"id":"<B>","n":12345678901234567890}`}, {ID: "c", Name: "no such tool", Args: `{}`}}
	written := []model.ToolCall{{ID: "a", Name: "read", Args: `{"id": "B`}, {ID: "b", Name: "no such tool", Args: ``}, {ID: "c", Name: "read", Args: `{"id": "spaced"}`}}
	say := func(stop model.Stop, text string, calls ...model.ToolCall) model.Response {
		return model.Response{Message: model.Message{Role: model.Assistant, Text: text, Calls: calls}, Stop: stop}
	}
	refused := say(model.StopRefusal, "")
	refused.Refusal = "I can't help with that."
	counted := say(model.StopEnd, "counted")
	counted.Usage = model.Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5}
	return []turn{
		{"text", say(model.StopEnd, "Here it is.\n\n“So.” 好 🙂"), nil}, {"parallel calls", say(model.StopCalls, "I read both.", calls...), nil},
		{"malformed arguments", say(model.StopCalls, "I read both.", written...), writes}, {"calls without text", say(model.StopCalls, "", calls[0]), nil},
		{"a turn cut at the length limit", say(model.StopLength, "Here it"), nil}, {"a filtered turn", say(model.StopRefusal, "Here"), nil}, {"a refusal in words", refused, nil},
		{"usage, cached and reasoning tokens", counted, nil}, {"an empty answer", say(model.StopEnd, ""), nil},
	}
}

func turnChecks() (all []check) {
	for _, c := range turns() {
		all = append(all, check{"what is answered", c.name, func(t *testing.T, connect Connect) {
			t.Helper()
			comesBack(t, connect, c.want, Options{})
		}, c.of})
	}
	return append(all, check{"what is answered", "fields that nobody knows are passed over", func(t *testing.T, connect Connect) {
		t.Helper()
		for _, c := range turns() {
			if c.of == nil {
				comesBack(t, connect, c.want, Options{Edit: strange})
			}
		}
	}, nil})
}

func comesBack(t *testing.T, connect Connect, want model.Response, o Options) {
	t.Helper()
	o.Play = func(model.Request) model.Response { return want }
	got, err := connect(t, o).Chat(t.Context(), hello())
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
}

// strange gives every object of an answer a field of a later version of the protocol.
// Arguments of calls are the model's own.
func strange(answer map[string]any) {
	for k, v := range answer {
		if k == "args" || k == "input" || k == "arguments" {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			strange(v)
		case []any:
			for _, e := range v {
				if e, ok := e.(map[string]any); ok {
					strange(e)
				}
			}
		}
	}
	answer["of_a_later_version"] = map[string]any{"list": []any{1, "two"}}
}

func reasoningChecks() []check {
	goesBack := func(name, edited string) check {
		return check{"reasoning", name, func(t *testing.T, connect Connect) {
			t.Helper()
			reasoning(t, connect, edited)
		}, reasons}
	}
	return []check{goesBack("is shown, and goes back with calls", ""), goesBack("goes back where the text was edited", "I look at A first. “So.”")}
}

// reasoning: what a model reasoned before its calls goes back with them, in the form in
// which the protocol wants it, also where another Thought stands in for its text.
func reasoning(t *testing.T, connect Connect, edited string) {
	t.Helper()
	const thought = "hm <&> “é”: A, then B"
	var sent model.Message
	m := connect(t, Options{Reasoning: "reasoning_content", Play: func(r model.Request) model.Response {
		if len(r.Messages) > 2 {
			sent = r.Messages[1]
			return Says("I had thought: " + sent.Reasoning)
		}
		return model.Response{Stop: model.StopCalls, Message: model.Message{
			Role: model.Assistant, Text: "I read both.", Reasoning: thought,
			Calls: []model.ToolCall{{ID: "a", Name: "read", Args: `{"id":"A"}`}, {ID: "b", Name: "read", Args: `{"id":"B"}`}},
		}}
	}})
	r := hello()
	first, err := m.Chat(t.Context(), r)
	if err != nil || first.Message.Reasoning != thought {
		t.Fatalf("%+v, %v", first, err)
	}
	want := first.Message
	if edited != "" {
		first.Message.Text, want.Text = edited, edited
	}
	r.Messages = append(r.Messages, answered(first.Message)...)
	second, err := m.Chat(t.Context(), r)
	if err != nil || second.Message.Text != "I had thought: "+thought {
		t.Errorf("%+v, %v", second, err)
	}
	want.State, sent.State = nil, nil
	if d := cmp.Diff(want, sent); d != "" {
		t.Error(d)
	}
}
