package safetyaligner_test

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/intervene/intervenetest"
	"github.com/agentbound/agentbound/intervene/safetyaligner"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/completion"
	"github.com/agentbound/agentbound/model/modeltest"
)

// published is the format of the model card. A peer that serves it takes no other.
var published = regexp.MustCompile(`(?s)^BEGINNING OF CONVERSATION: USER: ([^|]+) : (.*) \| (.*) ASSISTANT:$`)

type strict struct{ modeltest.Completion }

func (s strict) Decode(r *http.Request, body []byte, o modeltest.Options) (model.Request, string, bool, error) {
	asked, name, stream, err := s.Completion.Decode(r, body, o)
	if err == nil && !published.MatchString(asked.Messages[0].Text) {
		err = errors.New("not the published format: " + asked.Messages[0].Text)
	}
	return asked, name, stream, err
}

func served(t *testing.T, play modeltest.Player) (*modeltest.Peer, *completion.Model) {
	t.Helper()
	p := modeltest.Serve(t, modeltest.Options{Protocol: strict{}, Play: play})
	m, err := completion.New("test-model@"+p.URL, completion.Options{Retry: modeltest.Retry()})
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

func decision(thought string) intervene.Context {
	return intervene.Context{
		Instruction: "Lend the seeds | today.", Thought: thought, Tools: []string{"lend"},
		History: []intervene.Turn{{Thought: "I look.", Observations: []agentbound.Value{agentbound.StringValue("seen")}}},
	}
}

// TestFormat: the prompt is the published one, to the letter, over the wire.
func TestFormat(t *testing.T) {
	var got string
	p, m := served(t, func(r model.Request) model.Response {
		got = r.Messages[0].Text
		return modeltest.Says(" I first check the shelf.\n")
	})
	for directive, said := range map[string]string{"": "Edit the following Instruction-Thought pair to make it more helpful and harmless.", "Make it safe.": "Make it safe."} {
		s, err := safetyaligner.New(safetyaligner.Options{Model: m, Directive: directive})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Correct(t.Context(), decision("I lend them."))
		if err != nil || c.Thought != "I first check the shelf." {
			t.Errorf("%+v, %v", c, err)
		}
		if want := "BEGINNING OF CONVERSATION: USER: " + said + " : Lend the seeds | today. | I lend them. ASSISTANT:"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if body := string(p.Requests()[0]); !strings.Contains(body, `"max_tokens":2048`) || !strings.Contains(body, `"temperature":0`) {
		t.Error(body)
	}
}

func TestContract(t *testing.T) {
	_, m := served(t, func(model.Request) model.Response { return modeltest.Says(" I wait.") })
	s, err := safetyaligner.New(safetyaligner.Options{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	intervenetest.Corrector(t, s, true)
}

// TestReads: the text after the last mark is the new Thought; what is none fails.
func TestReads(t *testing.T) {
	cut := modeltest.Says("I first ch")
	cut.Stop = model.StopLength
	filtered := modeltest.Says("")
	filtered.Stop = model.StopRefusal
	for name, test := range map[string]struct {
		turn    model.Response
		want    string
		failure string
	}{
		"new":       {modeltest.Says(" I wait."), "I wait.", ""},
		"same":      {modeltest.Says(" I lend them. "), "I lend them.\n", ""},
		"goes on":   {modeltest.Says(" One. USER: again ASSISTANT: Two."), "Two.", ""},
		"empty":     {modeltest.Says(" \n"), "", "wrote no Thought"},
		"ends so":   {modeltest.Says(" One. ASSISTANT:"), "", "wrote no Thought"},
		"is cut":    {cut, "", "cut at 2048 tokens"},
		"is denied": {filtered, "", "refused or filtered"},
	} {
		_, m := served(t, func(model.Request) model.Response { return test.turn })
		s, err := safetyaligner.New(safetyaligner.Options{Model: m})
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Correct(t.Context(), decision("I lend them.\n"))
		if test.failure == "" && (err != nil || c.Thought != test.want) || test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

// TestNoThought: there is nothing that the format could carry.
func TestNoThought(t *testing.T) {
	s, err := safetyaligner.New(safetyaligner.Options{Model: modeltest.Fake{Err: errors.New("it was asked")}})
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.Correct(t.Context(), decision(" ")); err != nil || c.Thought != " " {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := s.Correct(t.Context(), decision("I lend.")); err == nil || c.Thought != "I lend." {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestRef names the licence, and refuses a directive that would break the format.
func TestRef(t *testing.T) {
	p, m := served(t, nil)
	s, err := safetyaligner.New(safetyaligner.Options{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	ref := s.Ref()
	if ref.Name != "safety-aligner:test-model@"+p.URL || !strings.Contains(ref.Settings["license"], "BY-NC") || ref.Settings["directive"] != safetyaligner.Directive {
		t.Errorf("%+v", ref)
	}
	for _, o := range []safetyaligner.Options{{}, {Model: m, Directive: "a | b"}, {Model: m, Directive: "a ASSISTANT: b"}, {Model: m, Directive: "a\nb"}, {Model: m, MaxTokens: -1}} {
		if _, err := safetyaligner.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
