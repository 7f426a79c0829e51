package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
)

// player records what it is asked and answers with what it was given.
type player struct {
	calls    []play.Call
	finishes []play.Finish
	answers  []play.Answer
	receipts []play.Receipt
	err      error
}

func (p *player) Call(_ context.Context, c play.Call) (play.Answer, error) {
	p.calls = append(p.calls, c)
	if p.err != nil || len(p.answers) == 0 {
		return play.Answer{Observation: agentbound.Value(`"fine"`)}, p.err
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a, nil
}

func (p *player) Finish(_ context.Context, f play.Finish) (play.Receipt, error) {
	p.finishes = append(p.finishes, f)
	if p.err != nil || len(p.receipts) == 0 {
		return play.Receipt{Recorded: true}, p.err
	}
	r := p.receipts[0]
	p.receipts = p.receipts[1:]
	return r, nil
}

func opening() play.Opening {
	return play.Opening{
		Session: "s1", Setting: "You run a desk.", Instruction: "Send X-1.", MaxCalls: 60,
		Tools: []agentbound.Tool{
			{Name: "look", Description: "Look around.", Schema: agentbound.Value(`{"type":"object","properties":{}}`)},
			{Name: "find", Description: "Find a thing.", Schema: agentbound.Value(`{"type":"object","properties":{"name":{"type":"string","description":"Part of it."}},"required":["name"]}`)},
			{Name: "send", Description: "Send a thing.", Schema: agentbound.Value(`{"type":"object","properties":{
				"to":{"type":"string","description":"Address."},"count":{"type":"integer"},"weight":{"type":"number","default":1.5},
				"how":{"type":"string","enum":["post","van"],"description":"How it goes."},"urgent":{"type":"boolean","default":false},
				"tags":{"type":"array","items":{"type":"string"},"default":[]},"parcel":{"type":"object","default":{}}},"required":["to","how"]}`)},
		},
	}
}

// sit types lines and gives what was shown.
func sit(t *testing.T, p *player, o play.Opening, lines ...string) (string, bool) {
	t.Helper()
	var out strings.Builder
	recorded, err := Run(t.Context(), Config{
		Player: p, Opening: o, Lines: NewLines(strings.NewReader(strings.Join(lines, "\n")+"\n"), &out), Out: &out, Width: 60,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), recorded
}

// TestCalls: the ways to call a tool, and the arguments that each gives.
func TestCalls(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string // the call; empty: none was made
		says  string
	}{
		{[]string{"look"}, `look{}`, "fine"},
		{[]string{"find", "North"}, `find{"name":"North"}`, "Part of it."},
		{[]string{"find North wind"}, `find{"name":"North wind"}`, ""},
		{[]string{`find name="North wind"`}, `find{"name":"North wind"}`, ""},
		{[]string{`find {"name": "N"}`}, `find{"name": "N"}`, ""},
		{[]string{`send to=a how=van`}, `send{"how":"van","to":"a"}`, ""},
		{[]string{`send to=it's how='van'`}, `send{"how":"van","to":"it's"}`, ""},
		{[]string{`send here by van`}, ``, `"here": want name=value`},
		{[]string{`send to="say \"x\"" how=post count=3 weight=2.50 urgent=yes tags=a,b`}, `send{"count":3,"how":"post","tags":["a","b"],"to":"say \"x\"","urgent":true,"weight":2.50}`, ""},
		{[]string{"send to=a", "cart", "van"}, `send{"how":"van","to":"a"}`, `how: "cart" is not one of post, van`},
		{[]string{"send", "a", "van", "", "", "", "", ""}, `send{"how":"van","to":"a"}`, "how (post | van): van"},
		{[]string{"send", "a", "van", "x"}, ``, `count: "x" is not a whole number`},
		{[]string{"send", "a", "van", "3", `{"id": "P"}`, "r, s", "maybe", "no", "heavy", "2"}, `send{"count":3,"how":"van","parcel":{"id":"P"},"tags":["r","s"],"to":"a","urgent":false,"weight":2}`, `urgent: "maybe" is not yes or no`},
		{[]string{"send to=a how=van count=1.5"}, ``, "is not a whole number"},
		{[]string{"send to=a how=van weight=many"}, ``, "is not a number"},
		{[]string{`send to=a how=van parcel=box`}, ``, "want an object {…} in JSON"},
		{[]string{"send to=a speed=9"}, ``, `send has no argument "speed"; it takes to, how, count`},
		{[]string{"look x=1"}, ``, `look has no argument "x"; it takes none`},
		{[]string{`send to="a`}, ``, `the quote " is not closed`},
		{[]string{`find {"name": }`}, ``, "the arguments are not JSON"},
		{[]string{"luk"}, ``, `no tool or command "luk"`},
		{[]string{"fond"}, ``, `no tool or command "fond"`},
		{[]string{"senda"}, ``, "did you mean send?"},
	} {
		p := &player{}
		out, recorded := sit(t, p, opening(), c.lines...)
		got := ""
		for _, call := range p.calls {
			got += agentbound.Call{Tool: call.Tool, Args: call.Args}.String()
			if call.Session != "s1" {
				t.Errorf("session %q", call.Session)
			}
		}
		if got != c.want || !strings.Contains(out, c.says) || recorded {
			t.Errorf("%q: called %q, want %q; recorded %v; shown:\n%s", c.lines, got, c.want, recorded, out)
		}
	}
}

// TestEndings: done, decline and unable end with a word; quit and the end of the input
// leave the session to be resumed.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  *play.Finish
	}{
		{[]string{"done"}, nil}, // the input ends at the question
		{[]string{"done", ""}, &play.Finish{Session: "s1", Outcome: agentbound.Done}},
		{[]string{"done", "It is sent."}, &play.Finish{Session: "s1", Outcome: agentbound.Done, Answer: "It is sent."}},
		{[]string{"done It is sent."}, &play.Finish{Session: "s1", Outcome: agentbound.Done, Answer: "It is sent."}},
		{[]string{"note hm", "decline", "not theirs"}, &play.Finish{Session: "s1", Outcome: agentbound.Declined, Reason: "not theirs", Thought: "hm"}},
		{[]string{"unable no address"}, &play.Finish{Session: "s1", Outcome: agentbound.Unable, Reason: "no address"}},
		{[]string{"quit", "done x"}, nil},
		{[]string{"look"}, nil},
		{[]string{"send", "a"}, nil},
	} {
		p := &player{}
		out, recorded := sit(t, p, opening(), c.lines...)
		var got *play.Finish
		if len(p.finishes) == 1 {
			got = &p.finishes[0]
		}
		if d := cmp.Diff(c.want, got); d != "" || recorded != (c.want != nil) {
			t.Errorf("%q: recorded %v, %s\n%s", c.lines, recorded, d, out)
		}
	}
}

// TestNote: a note is the thought of the next call, and of no other.
func TestNote(t *testing.T) {
	p := &player{}
	sit(t, p, opening(), "note I look first", "look", "look")
	if p.calls[0].Thought != "I look first" || p.calls[1].Thought != "" {
		t.Errorf("%+v", p.calls)
	}
}

// TestRevised: a revised thought is shown, and the person decides again.
func TestRevised(t *testing.T) {
	r := &play.Revision{Thought: "Ask first."}
	p := &player{answers: []play.Answer{{Revise: r}}, receipts: []play.Receipt{{Revise: r}, {Recorded: true}}}
	out, recorded := sit(t, p, opening(), "look", "decline no", "decline no")
	if strings.Count(out, "Your thought was revised\n  Ask first.\n") != 2 || !recorded || len(p.finishes) != 2 {
		t.Errorf("recorded %v:\n%s", recorded, out)
	}
}

// TestResumed shows what was done so far.
func TestResumed(t *testing.T) {
	o := opening()
	o.Steps = []play.Done{{Tool: "find", Args: agentbound.Value(`{"name":"N"}`), Observation: agentbound.Value(`{"address":"n@n.example"}`)}}
	out, _ := sit(t, &player{}, o, "quit")
	if !strings.Contains(out, "So far (1 of at most 60 calls)\n\n> find {\"name\":\"N\"}\n  address  n@n.example\n") {
		t.Errorf("shown:\n%s", out)
	}
}

// TestErrors: what the person can mend leaves the prompt standing; an end ends, and
// infrastructure is an error.
func TestErrors(t *testing.T) {
	p := &player{err: &play.Error{Code: play.Failed, Message: "try again"}}
	if out, recorded := sit(t, p, opening(), "look", "look"); strings.Count(out, "try again") != 2 || recorded {
		t.Errorf("recorded %v:\n%s", recorded, out)
	}
	p = &player{err: &play.Error{Code: play.Ended, Message: "no call is left"}}
	if _, recorded := sit(t, p, opening(), "look", "look"); !recorded || len(p.calls) != 1 {
		t.Errorf("recorded %v, %d calls", recorded, len(p.calls))
	}
	broken := errors.New("no connection")
	var out strings.Builder
	_, err := Run(t.Context(), Config{Player: &player{err: broken}, Opening: opening(), Lines: NewLines(strings.NewReader("look\n"), &out), Out: &out})
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// TestCancelled: a signal ends a session that waits for a line.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out strings.Builder
	_, err := Run(ctx, Config{Player: &player{}, Opening: opening(), Lines: NewLines(silent{}, &out), Out: &out})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// silent is an input at which nobody types.
type silent struct{}

func (silent) Read([]byte) (int, error) { select {} }

// TestComplete: what the Tab key offers.
func TestComplete(t *testing.T) {
	tools, err := readTools(opening().Tools)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{tools: tools}
	for line, want := range map[string][]string{
		"f":                {"find"},
		"d":                {"done", "decline"},
		"send ":            {"send to=", "send how=", "send count=", "send parcel=", "send tags=", "send urgent=", "send weight="},
		"send to=a c":      {"send to=a count="},
		"send to=a t":      {"send to=a tags="},
		"send how=":        {"send how=post", "send how=van"},
		"send to=a how=v":  {"send to=a how=van"},
		"tools s":          {"tools send"},
		"nothing here now": nil,
	} {
		if d := cmp.Diff(want, s.complete(line)); d != "" {
			t.Errorf("%q: %s", line, d)
		}
	}
	how := tools[2].args[1]
	s.asking = &how
	if d := cmp.Diff([]string{"van"}, s.complete("v")); d != "" {
		t.Errorf("asked for %s: %s", how.name, d)
	}
}
