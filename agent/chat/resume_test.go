package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/gemini"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/openai"
)

func always([]byte) bool { return true }

// stored is a trajectory as it comes back from a store.
func stored(t *testing.T, tr *agentbound.Trajectory) *agentbound.Trajectory {
	t.Helper()
	b, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	back := new(agentbound.Trajectory)
	if err := json.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	return back
}

func resume(t *testing.T, a *chat.Agent, tr *agentbound.Trajectory, k int) (agent.Policy, error) {
	t.Helper()
	brief := episode.Brief{Setting: tr.Setting, Instruction: tr.Instruction, Tools: tr.Tools}
	return a.Resume(t.Context(), brief, agent.Past{Seed: tr.Seed, As: tr.Seed, Steps: tr.Steps[:k], Next: tr.Steps[k]})
}

// requests plays a trial, and asks each of its decisions anew from the record: the body of
// the request must be the one that was sent for it, to the byte. A corrected decision was
// asked for twice, first for the draft.
func requests(t *testing.T, peer *modeltest.Peer, m model.Model, o chat.Options, f *agentbound.Family, c intervene.Corrector) {
	t.Helper()
	a := chat.New(m, o)
	i := intervene.None()
	i.Corrector = c
	b := run.Bench{Agent: a, World: worlds, Intervention: i}
	r, err := b.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: agentbound.EB}, 77)
	if err != nil || r.Trajectory.End.Reason == agentbound.EndFault {
		t.Fatalf("%v, %+v", err, r.Trajectory.End)
	}
	sent := peer.Requests()
	tr := stored(t, r.Trajectory)
	if len(tr.Steps) < 2 {
		t.Fatalf("%d steps", len(tr.Steps))
	}
	at := 0
	for k, step := range tr.Steps {
		p, err := resume(t, a, tr, k)
		if err != nil {
			t.Fatalf("decision %d: %v", k, err)
		}
		if _, err := m.Chat(t.Context(), chat.Asks(p)); err != nil {
			t.Fatal(err)
		}
		all := peer.Requests()
		if got := all[len(all)-1]; !bytes.Equal(got, sent[at]) {
			t.Errorf("decision %d is asked with\n%s\nand was with\n%s", k, got, sent[at])
		}
		at++
		if step.Draft != nil {
			at++
		}
	}
	if at != len(sent) {
		t.Errorf("%d requests were sent, %d decisions are known", len(sent), at)
	}
}

// TestResumesWhatWasSent: over every protocol and form, with ids of the peer's own, calls in
// parallel, reasoning that goes back, and corrected Thoughts in the history.
func TestResumesWhatWasSent(t *testing.T) {
	f := familytest.Example(t, familytest.Examples()[0])
	retry := modeltest.Retry()
	at := func(p *modeltest.Peer) string { return "test-model@" + p.URL }
	for name, c := range map[string]struct {
		peer modeltest.Options
		open func(*modeltest.Peer) (model.Model, error)
		chat.Options
		style modeltest.Style
	}{
		"chat": {modeltest.Options{}, func(p *modeltest.Peer) (model.Model, error) {
			return compat.New("compat:"+at(p), compat.Options{Retry: retry})
		}, chat.Options{}, modeltest.Style{}},
		"chat, parallel": {modeltest.Options{}, func(p *modeltest.Peer) (model.Model, error) {
			return compat.New("compat:"+at(p), compat.Options{Retry: retry})
		}, chat.Options{}, modeltest.Style{Parallel: true}},
		"react": {modeltest.Options{}, func(p *modeltest.Peer) (model.Model, error) {
			return compat.New("compat:"+at(p), compat.Options{Retry: retry})
		}, chat.Options{Form: chat.ReAct}, styles["react"].style},
		"chat, reasoning": {modeltest.Options{Reasoning: "reasoning_content", Key: "k"}, func(p *modeltest.Peer) (model.Model, error) {
			return compat.New("deepseek:"+at(p), compat.Options{Key: "k", Retry: retry})
		}, chat.Options{Keep: always}, modeltest.Style{}},
		"responses": {modeltest.Options{Protocol: modeltest.Responses{}, Reasoning: "reasoning"}, func(p *modeltest.Peer) (model.Model, error) {
			return openai.New("openai:"+at(p), openai.Options{Retry: retry})
		}, chat.Options{Keep: always}, modeltest.Style{}},
		"messages": {modeltest.Options{Protocol: modeltest.Anthropic{}, Reasoning: "thinking"}, func(p *modeltest.Peer) (model.Model, error) {
			return anthropic.New(at(p), anthropic.Options{Retry: retry, Effort: "low"})
		}, chat.Options{Keep: always}, modeltest.Style{}},
		"generate-content": {modeltest.Options{Protocol: modeltest.Gemini{}, Reasoning: "thinking"}, func(p *modeltest.Peer) (model.Model, error) {
			return gemini.New(at(p), gemini.Options{Retry: retry, Effort: "low"})
		}, chat.Options{Keep: always}, modeltest.Style{}},
	} {
		for how, corrector := range map[string]intervene.Corrector{"": nil, ", corrected": rewrites{}} {
			t.Run(name+how, func(t *testing.T) {
				o := c.peer
				play := player(t, "comply", f, c.style)
				o.Play = func(r model.Request) model.Response {
					said := play(r)
					if o.Reasoning != "" {
						said.Message.Reasoning = "I think of it."
					}
					return said
				}
				peer := modeltest.Serve(t, o)
				m, err := c.open(peer)
				if err != nil {
					t.Fatal(err)
				}
				requests(t, peer, m, c.Options, f, corrector)
			})
		}
	}
}

// TestResumesOddTurns: texts that a Thought does not give, arguments that a record compacts,
// ids used twice, notes and turns that said nothing stand as they stood.
func TestResumesOddTurns(t *testing.T) {
	odd := modeltest.Calls("  I look.\n\n", call(t, `read_photo(photo = "P-1")`))
	odd.Message.Calls[0].Args, odd.Message.Calls[0].ID = "{ \"photo\": \"P-1\" }", "same"
	bad := modeltest.Calls("")
	bad.Message.Reasoning = "Only thought."
	bad.Message.Calls = []model.ToolCall{{ID: "same", Name: "read_photo", Args: `{"photo": `}, {Name: "nothing_like_it", Args: ``}}
	cut := modeltest.Says("I think that")
	cut.Stop = model.StopLength
	for name, c := range map[string]struct {
		form  chat.Form
		turns []model.Response
	}{
		"native": {chat.Native, []model.Response{odd, bad, cut, odd, done}},
		"react": {chat.ReAct, []model.Response{
			modeltest.Says("I will unlog."), modeltest.Says("**Thought:** so\nAction: `unlog`\nAction Input: ```json\n{ }\n```\nObservation: made up"),
			modeltest.Says("Action: unlog"), cut, modeltest.Says("Final Answer: ok\nOUTCOME: done"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := converse(t, setup{Options: chat.Options{Form: c.form}}, c.turns...)
			if got.err != nil || len(got.Steps) != len(c.turns) {
				t.Fatalf("error %v, %d steps", got.err, len(got.Steps))
			}
			tr := stored(t, got.Trajectory)
			a := chat.New(modeltest.Fake{}, chat.Options{Form: c.form})
			for k := range tr.Steps {
				p, err := resume(t, a, tr, k)
				if err != nil {
					t.Fatalf("decision %d: %v", k, err)
				}
				want := fmt.Sprintf("%q", messages(got.sent[k]))
				if was := fmt.Sprintf("%q", messages(chat.Asks(p))); was != want {
					t.Errorf("decision %d is asked with\n%s\nand was with\n%s", k, was, want)
				}
			}
		})
	}
}

// messages are those of a request as they are sent.
func messages(r model.Request) (all []string) {
	for _, m := range r.Messages {
		m.Reasoning = ""
		b, _ := json.Marshal(m)
		all = append(all, string(b))
	}
	return all
}

// TestNotResumed: what cannot be proved is refused, with the reason.
func TestNotResumed(t *testing.T) {
	thinks := func(text string) model.Response {
		r := modeltest.Calls(text, call(t, `unlog()`))
		r.Message.State = []byte(`["opaque"]`)
		return r
	}
	trial := func(keep func([]byte) bool) *agentbound.Trajectory {
		return stored(t, converse(t, setup{Options: chat.Options{Keep: keep}}, thinks("one"), thinks("two"), done).Trajectory)
	}
	for name, c := range map[string]struct {
		tr   *agentbound.Trajectory
		step int
		want string
	}{
		"the first decision has no past": {trial(nil), 0, ""},
		"reasoning is not in the record": {trial(nil), 1, "decision 0: its provider wants reasoning back that is not in the record; make trials that keep it with: agentbound run --new --forkable"},
		"a state with a secret":          {trial(func([]byte) bool { return false }), 1, "wants reasoning back"},
		"reasoning was kept":             {trial(always), 2, ""},
		"an older record":                {edited(trial(always), func(tr *agentbound.Trajectory) { tr.Steps[0].Said = nil }), 1, "decision 0: it was made before"},
		"an older decision":              {edited(trial(always), func(tr *agentbound.Trajectory) { tr.Steps[1].Said = nil }), 1, "it was made before"},
		"a Thought that was not sent":    {edited(trial(always), func(tr *agentbound.Trajectory) { tr.Steps[0].Thought = "other" }), 1, "the conversation that the record gives is not the one that was sent"},
		"an answer that was not given":   {edited(trial(always), func(tr *agentbound.Trajectory) { tr.Steps[0].Calls[0].Observation = agentbound.Value(`"x"`) }), 1, "is not the one that was sent"},
		"another instruction":            {edited(trial(always), func(tr *agentbound.Trajectory) { tr.Instruction = "Do this." }), 0, "is not the one that was sent"},
		"a call too few": {edited(trial(always), func(tr *agentbound.Trajectory) {
			tr.Steps[0].Calls = nil
			tr.Steps[0].Said.Calls = []agentbound.SaidCall{{ID: "a"}}
		}), 1, "its record has 0 calls, and 1 were sent"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := resume(t, chat.New(modeltest.Fake{}, chat.Options{}), c.tr, c.step)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if _, ok := errors.AsType[*agent.NotResumedError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

func edited(tr *agentbound.Trajectory, edit func(*agentbound.Trajectory)) *agentbound.Trajectory {
	edit(tr)
	return tr
}
