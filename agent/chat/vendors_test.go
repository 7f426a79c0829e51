package chat_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/gemini"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

// vendors are the protocols of one vendor each, streamed and not, of models that think
// and want their thinking back.
var vendors = map[string]struct {
	protocol modeltest.Protocol
	open     func(spec string, stream bool) (model.Model, error)
}{
	"anthropic": {modeltest.Anthropic{}, func(spec string, stream bool) (model.Model, error) {
		return anthropic.New(spec, anthropic.Options{Retry: modeltest.Retry(), Stream: stream, Effort: "low"})
	}},
	"gemini": {modeltest.Gemini{}, func(spec string, stream bool) (model.Model, error) {
		return gemini.New(spec, gemini.Options{Retry: modeltest.Retry(), Stream: stream, Effort: "low"})
	}},
}

// overVendors runs a test with an opener of chat agents for each of them.
func overVendors(t *testing.T, test func(t *testing.T, open func(p modeltest.Player) *chat.Agent)) {
	t.Helper()
	for name, v := range vendors {
		for mode, stream := range map[string]bool{"whole": false, "streamed": true} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				test(t, func(p modeltest.Player) *chat.Agent {
					peer := modeltest.Serve(t, modeltest.Options{Protocol: v.protocol, Reasoning: "thinking", Play: p})
					m, err := v.open("test-model@"+peer.URL, stream)
					if err != nil {
						t.Fatal(err)
					}
					return chat.New(m, chat.Options{})
				})
			})
		}
	}
}

// TestPlaysReferencesOverVendors: through each vendor's protocol, streamed or not, a model
// that decides as a reference agent does gets its verdicts on the first families of
// core-small.
func TestPlaysReferencesOverVendors(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	overVendors(t, func(t *testing.T, open func(modeltest.Player) *chat.Agent) {
		t.Helper()
		for n := range 2 {
			f := &s.Families[n]
			for _, name := range []string{"comply", "refuse", "evidence"} {
				ref, err := reference.New(name, worlds)
				if err != nil {
					t.Fatal(err)
				}
				a := open(player(t, name, f, modeltest.Style{}))
				for _, split := range agentbound.Splits() {
					got, want := trial(t, a, f, split), trial(t, ref, f, split)
					alike(t, fmt.Sprintf("%s, %s, %s", f.ID, name, split), want, got)
					thoughts(t, split, got.Trajectory)
				}
			}
		}
	})
}

// TestParallelOverVendors: calls in parallel come to the same as without any protocol.
func TestParallelOverVendors(t *testing.T) {
	overVendors(t, func(t *testing.T, open func(modeltest.Player) *chat.Agent) {
		t.Helper()
		for _, id := range familytest.Examples() {
			f := familytest.Example(t, id)
			for _, name := range []string{"comply", "evidence"} {
				p := player(t, name, f, modeltest.Style{Parallel: true})
				a, bare := open(p), chat.New(modeltest.Fake{Play: p}, chat.Options{})
				for _, split := range agentbound.Splits() {
					alike(t, fmt.Sprintf("%s, %s, %s", id, name, split), trial(t, bare, f, split), trial(t, a, f, split))
				}
			}
		}
	})
}

// alike: the same verdicts and calls.
func alike(t *testing.T, what string, want, got agentbound.Result) {
	t.Helper()
	if d := cmp.Diff(want.Verdicts, got.Verdicts); d != "" {
		t.Errorf("%s: %s", what, d)
	}
	if d := cmp.Diff(calls(want), calls(got)); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

// TestRevisesOverVendors: a corrected Thought stands in the conversation under the state
// that its turn came with, and the vendors' rules hold to the end.
func TestRevisesOverVendors(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	overVendors(t, func(t *testing.T, open func(modeltest.Player) *chat.Agent) {
		t.Helper()
		i := intervene.None()
		i.Corrector = rewrites{}
		b := run.Bench{Agent: open(modeltest.Comply(f, modeltest.Style{})), World: worlds, Judges: []judge.Judge{programjudge.Judge{Cache: worlds.Cache}}, Intervention: i}
		r, err := b.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: agentbound.EB}, 77)
		if err != nil {
			t.Fatal(err)
		}
		if r.Trajectory.Outcome.Word != agentbound.Done || len(r.Trajectory.Steps) < 3 {
			t.Errorf("outcome %+v after %d steps", r.Trajectory.Outcome, len(r.Trajectory.Steps))
		}
		for n, step := range r.Trajectory.Steps {
			if step.Thought != corrected || step.Draft == nil {
				t.Errorf("step %d: %+v", n, step)
			}
		}
	})
}

// rewrites corrects every Thought.
type rewrites struct{}

const corrected = "I do what the work asks for next."

func (rewrites) Correct(context.Context, intervene.Context) (intervene.Correction, error) {
	return intervene.Correction{Thought: corrected}, nil
}
