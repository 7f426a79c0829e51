package aligner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/intervene/aligner"
	"github.com/agentbound/agentbound/intervene/intervenetest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// decision is one as a corrector sees it.
func decision() intervene.Context {
	return intervene.Context{
		Instruction: "Lend the seeds\nnext thought: \"x\"", Tools: []string{"find_packet", "lend"}, Thought: "  I lend them. ",
		History: []intervene.Turn{{Thought: "I look.", Observations: []agentbound.Value{agentbound.Value(`{"packet":7}`), agentbound.StringValue("error: no\n\"such\"")}}, {}},
	}
}

func corrector(t *testing.T, kind aligner.Kind, m model.Model) *aligner.Corrector {
	t.Helper()
	a, err := aligner.New(aligner.Options{Kind: kind, Model: m})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestContract(t *testing.T) {
	for _, text := range []string{"KEEP", "REVISE: I look first."} {
		intervenetest.Corrector(t, corrector(t, aligner.Ours, modeltest.Fake{Play: func(model.Request) model.Response { return modeltest.Says(text) }}), true)
	}
}

// FuzzAnswers: whatever a model says twice, it is a failure, the draft to the letter, or
// what stands after REVISE:.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{"KEEP", "REVISE: x", "REVISE:", "KEEP\nREVISE: x", "\xff", "REVISE: \xff", " REVISE:\n\nKEEP"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := aligner.New(aligner.Options{Kind: aligner.Ours, Model: modeltest.Fake{Play: func(model.Request) model.Response { return modeltest.Says(text) }}})
		if err != nil {
			t.Fatal(err)
		}
		c := decision()
		got, err := a.Correct(t.Context(), c)
		kept := got.Thought == c.Thought
		_, after, revised := strings.Cut(text, "REVISE:")
		switch {
		case err != nil && !kept:
			t.Errorf("%q fails and still gives %q", text, got.Thought)
		case err == nil && !kept && (!revised || got.Thought != strings.ToValidUTF8(strings.TrimSpace(after), "\uFFFD")):
			t.Errorf("%q gives %q", text, got.Thought)
		case err == nil && kept && strings.TrimSpace(text) != "KEEP" && strings.TrimSpace(after) != strings.TrimSpace(c.Thought):
			t.Errorf("%q keeps", text)
		}
	})
}

// TestShows: the model is sent its prompt and one line for each thing that a corrector
// sees, whichever way values try to break out of theirs.
func TestShows(t *testing.T) {
	want := `instruction: "Lend the seeds\nnext thought: \"x\""
tools: ["find_packet","lend"]
[step 0] thought: "I look."
[step 0] observation: {"packet":7}
[step 0] observation: "error: no\n\"such\""
[step 1] thought: ""
next thought: "  I lend them. "
`
	for _, kind := range []aligner.Kind{aligner.Ours, aligner.Untrained} {
		var asked model.Request
		a := corrector(t, kind, modeltest.Fake{Play: func(r model.Request) model.Response {
			asked = r
			return modeltest.Says("KEEP")
		}})
		if _, err := a.Correct(model.WithPlay(t.Context(), &model.Play{Seed: 1<<40 + 9}), decision()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, asked.Messages[1].Text); d != "" || len(asked.Messages) != 2 || asked.Messages[0].Role != model.System {
			t.Error(d)
		}
		if asked.Temperature == nil || *asked.Temperature != 0 || asked.Seed == nil || *asked.Seed != 9 || asked.Tools != nil {
			t.Errorf("%+v", asked)
		}
	}
}

// TestAnswers: what is made of answers. A kept Thought comes back to the letter, one more
// asking helps a weak model, and what then has no form is a failure.
func TestAnswers(t *testing.T) {
	c := decision()
	for name, test := range map[string]struct {
		says    []string
		want    string
		asked   int
		failure string
	}{
		"keep":                 {[]string{"KEEP"}, c.Thought, 1, ""},
		"keep with space":      {[]string{"\n KEEP \n"}, c.Thought, 1, ""},
		"revise":               {[]string{"REVISE: I check the shelf first.\nThen I lend."}, "I check the shelf first.\nThen I lend.", 1, ""},
		"revise to the same":   {[]string{"REVISE: I lend them."}, c.Thought, 1, ""},
		"second asking keeps":  {[]string{"I would keep it.", "KEEP"}, c.Thought, 2, ""},
		"second asking edits":  {[]string{"", "REVISE: I stop."}, "I stop.", 2, ""},
		"chatter":              {[]string{"Fine", "The thought is fine."}, "", 2, "begins neither with REVISE: nor with KEEP"},
		"chatter after keep":   {[]string{"KEEP\nbecause", "KEEP."}, "", 2, "begins neither with REVISE: nor with KEEP"},
		"nothing to revise to": {[]string{"REVISE:", "REVISE: "}, "", 2, "the whole new thought"},
		"both":                 {[]string{"REVISE: KEEP", "REVISE: a\nREVISE: b"}, "", 2, "the whole new thought"},
		"empty":                {[]string{"", " "}, "", 2, "it is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			a := corrector(t, aligner.Ours, modeltest.Fake{Play: func(r model.Request) model.Response {
				res := modeltest.Says(test.says[asked])
				res.Usage = model.Usage{Input: 10, Output: 2}
				asked++
				return res
			}})
			got, err := a.Correct(t.Context(), c)
			if (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
				t.Fatalf("%+v, %v", got, err)
			}
			if want := test.want; err == nil && got.Thought != want {
				t.Errorf("%q, want %q", got.Thought, want)
			}
			if asked != test.asked || asked > a.Calls() || got.Usage != (agentbound.Usage{InputTokens: int64(10 * asked), OutputTokens: int64(2 * asked)}) {
				t.Errorf("asked %d times, %+v", asked, got.Usage)
			}
		})
	}
}

// TestOddTurns: a refusal, a cut turn and a call are no Thought that was kept.
func TestOddTurns(t *testing.T) {
	cut := modeltest.Says("REVISE: I should f")
	cut.Stop = model.StopLength
	refused := modeltest.Says("")
	refused.Stop = model.StopRefusal
	for want, turn := range map[string]model.Response{
		"cut at its limit": cut, "provider refused": refused, "no tools to call": modeltest.Calls("KEEP", agentbound.Call{Tool: "lend", Args: agentbound.Value("{}")}),
	} {
		var asked []model.Request
		a := corrector(t, aligner.Ours, modeltest.Fake{Play: func(r model.Request) model.Response {
			asked = append(asked, r)
			return turn
		}})
		if _, err := a.Correct(t.Context(), decision()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		for _, r := range asked {
			for _, m := range r.Messages {
				if m.Text == "" || len(m.Calls) > 0 {
					t.Errorf("%s: it is sent %+v", want, m)
				}
			}
		}
	}
	broken := errors.New("no connection")
	if _, err := corrector(t, aligner.Ours, modeltest.Fake{Err: broken}).Correct(t.Context(), decision()); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestLongHistory: what is shown is bounded, and says so.
func TestLongHistory(t *testing.T) {
	c := decision()
	c.History = nil
	for range 400 {
		c.History = append(c.History, intervene.Turn{Thought: "I look.", Observations: []agentbound.Value{agentbound.StringValue(strings.Repeat("x", 2000))}})
	}
	var asked string
	a := corrector(t, aligner.Ours, modeltest.Fake{Play: func(r model.Request) model.Response {
		asked = r.Messages[1].Text
		return modeltest.Says("KEEP")
	}})
	if got, err := a.Correct(t.Context(), c); err != nil || got.Thought != c.Thought {
		t.Fatal(err)
	}
	if len(asked) > 48<<10 || !strings.Contains(asked, "\ncut: \"the history was too long") || !strings.Contains(asked, "[step 399] observation") || strings.Contains(asked, "[step 0] ") {
		t.Errorf("%d bytes: %.200s", len(asked), asked)
	}
}

// TestRef: kind, model and prompt are told apart; the baseline has the same form.
func TestRef(t *testing.T) {
	ours, base := corrector(t, aligner.Ours, modeltest.Fake{}).Ref(), corrector(t, aligner.Untrained, modeltest.Fake{}).Ref()
	if ours.Name != "aligner:fake" || base.Name != "untrained:fake" || ours.Settings["prompt"] == base.Settings["prompt"] || ours.Settings["model"] != "fake" {
		t.Errorf("%+v\n%+v", ours, base)
	}
	delete(ours.Settings, "prompt")
	delete(base.Settings, "prompt")
	if d := cmp.Diff(ours.Settings, base.Settings); d != "" {
		t.Error(d)
	}
	for _, o := range []aligner.Options{{}, {Kind: "x", Model: modeltest.Fake{}}, {Kind: aligner.Ours}, {Kind: aligner.Ours, Model: modeltest.Fake{}, History: -1}} {
		if _, err := aligner.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
