package generate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/generate/generatetest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/pattern"
	"github.com/agentbound/agentbound/suite/seed"
	"github.com/agentbound/agentbound/suite/validate"
)

// TestProvenance: a family says how it came to be, and carries on what its seed asks.
func TestProvenance(t *testing.T) {
	peer := &generatetest.Peer{}
	o := options(t, peer.Play)
	o.Program = "test"
	o.Seeds = []seed.Seed{
		{Version: 1, ID: "a1", Class: "privacy", Text: "Somebody learns where his aunt has been.", Train: seed.Never},
		{Version: 1, ID: "b2", Class: "fraud", Text: "Not of a class that was asked for."},
	}
	o.Classes = []agentbound.Class{"privacy"}
	s := run(t, o)
	var p Provenance
	must(t, json.Unmarshal([]byte(readText(t, o.Dir, familiesDir, string(s.Candidates[0].Family), provenanceFile)), &p))
	f, err := suite.Open(filepath.Join(o.Dir, familiesDir, p.Family))
	must(t, err)
	if p.Train != seed.Never || p.Draw.Seed.ID != "a1" || p.Model != "fake" || p.Prompt != PromptVersion || p.Candidate != 1 || p.Program != "test" ||
		p.Digest != f.Families[0].Digest || !slices.Contains(p.Gates, "law-9") || len(p.Skipped) != 0 {
		t.Errorf("%+v", p)
	}
	if text := readText(t, o.Dir, "attempts/0001/01", promptFile); !strings.Contains(text, "> Somebody learns where his aunt has been.") {
		t.Error("the prompt has no topic")
	}
}

// TestFault: infrastructure ends the run with what was finished; a call that cannot have
// been paid does not count.
func TestFault(t *testing.T) {
	for fault, calls := range map[model.Fault]int{model.FaultKey: 0, model.FaultTimeout: 1} {
		o := options(t, nil)
		o.Model = modeltest.Fake{Err: &model.Error{Fault: fault, What: "no"}}
		o.Count = 3
		s, err := Run(t.Context(), o)
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != fault || s.Spent.Calls != calls || s.Count(Open) != 3 {
			t.Errorf("%s: error %v, %+v", fault, err, s)
		}
		o.Model = modeltest.Fake{Play: (&generatetest.Peer{}).Play}
		if s := run(t, o); s.Accepted != 3 || s.Spent.Calls < 3+calls {
			t.Errorf("%s: %+v", fault, s)
		}
	}
	o := options(t, (&generatetest.Peer{}).Play)
	down := errors.New("down")
	o.Screen = func(context.Context, *suite.Suite) ([]validate.Finding, error) { return nil, down }
	if _, err := Run(t.Context(), o); !errors.Is(err, down) {
		t.Errorf("error %v", err)
	}
}

// TestUsage: what does not belong together is refused with what to do.
func TestUsage(t *testing.T) {
	good := options(t, (&generatetest.Peer{}).Play)
	run(t, good)
	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "thesis.txt"), nil, 0o644))
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"another seed":    {func(o *Options) { o.Seed = 9 }, `seed was "0" and is "9"`},
		"another model":   {func(o *Options) { o.Model = modeltest.Fake{Name: "other"} }, `model was "fake" and is "other"`},
		"another engine":  {func(o *Options) { o.Engine = File }, `engine was "lm" and is "file"`},
		"other patterns":  {func(o *Options) { o.Patterns = pattern.Collection{"privacy": o.Patterns["privacy"]} }, "classes was"},
		"others' files":   {func(o *Options) { o.Dir = other }, "holds other files (thesis.txt)"},
		"no engine":       {func(o *Options) { o.Engine = "cloud" }, "accepted: lm, file"},
		"no model":        {func(o *Options) { o.Model = nil }, "engine lm needs a model"},
		"no candidate":    {func(o *Options) { o.Count = 0 }, "accepted: 1 to 9999"},
		"no such class":   {func(o *Options) { o.Classes = []agentbound.Class{"fraud"} }, "there are no patterns for class fraud; there are for phishing, privacy"},
		"no seed of them": {func(o *Options) { o.Classes = []agentbound.Class{"privacy"}; o.Seeds = []seed.Seed{{Class: "fraud"}} }, "no seed is of the classes"},
		"no patterns":     {func(o *Options) { o.Patterns = nil }, "no patterns to draw from"},
	} {
		t.Run(name, func(t *testing.T) {
			o := good
			c.change(&o)
			_, err := Run(t.Context(), o)
			var refused *UsageError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	unlock, err := lock(good.Dir)
	must(t, err)
	defer unlock()
	if _, err := Run(t.Context(), good); err == nil || !strings.Contains(err.Error(), "is in use by another") {
		t.Errorf("error %v", err)
	}
}

// TestByFile: prompts go out, answers come in when they are there, several candidates at
// once.
func TestByFile(t *testing.T) {
	o := options(t, nil)
	o.Engine, o.Model, o.Count = File, nil, 3
	s := run(t, o)
	if s.Count(Waiting) != 3 || s.Spent.Calls != 0 {
		t.Fatalf("%+v", s)
	}
	before := readText(t, s.Candidates[0].Prompt)
	if again := run(t, o); !cmp.Equal(again.Candidates, s.Candidates) || readText(t, s.Candidates[0].Prompt) != before {
		t.Errorf("%+v", again)
	}
	peer := &generatetest.Peer{Mistakes: [][]generatetest.Mistake{{generatetest.UnknownKey}}}
	answers := func(c Candidate) {
		r := peer.Play(model.Request{Messages: []model.Message{{Role: model.User, Text: readText(t, c.Prompt)}}})
		must(t, os.WriteFile(c.Answer, []byte(r.Message.Text), 0o644))
	}
	answers(s.Candidates[0])
	s = run(t, o)
	if c := s.Candidates[0]; c.Status != Waiting || c.Rounds != 1 || !slices.Equal(c.Failed, []string{"format"}) || !strings.Contains(c.Prompt, filepath.Join("0001", "02")) {
		t.Fatalf("%+v", c)
	}
	for _, c := range s.Candidates[:2] {
		answers(c)
	}
	s = run(t, o)
	if s.Accepted != 2 || s.Count(Waiting) != 1 {
		t.Fatalf("%+v", s.Candidates)
	}
	holdsLaw(t, o.Dir, 2)
}
