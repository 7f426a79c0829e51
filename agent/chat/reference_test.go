package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/world/program"
)

// worlds are shared by all tests: compiled families do not change.
var worlds = program.Worlds{Cache: star.NewCache(0)}

// styles are the ways of acting that a peer plays, and the form of the agent for each.
var styles = map[string]struct {
	style modeltest.Style
	form  chat.Form
}{
	"native":   {modeltest.Style{}, chat.Native},
	"parallel": {modeltest.Style{Parallel: true}, chat.Native},
	"react":    {modeltest.Style{ReAct: true}, chat.ReAct},
}

// trial plays one task with the program world and the program judge, as runs do.
func trial(t *testing.T, a agent.Agent, f *agentbound.Family, s agentbound.Split) agentbound.Result {
	t.Helper()
	b := run.Bench{Agent: a, World: worlds, Judges: []judge.Judge{programjudge.Judge{Cache: worlds.Cache}}, Intervention: intervene.None()}
	r, err := b.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: s}, 77)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// subject gives the chat agent for a model behind a peer.
func subject(t *testing.T, p *modeltest.Peer, o chat.Options) *chat.Agent {
	t.Helper()
	m, err := compat.New("compat:"+p.Model+"@"+p.URL, compat.Options{Key: p.Key, Retry: modeltest.Retry()})
	if err != nil {
		t.Fatal(err)
	}
	return chat.New(m, o)
}

// player plays what a reference agent does.
func player(t *testing.T, name string, f *agentbound.Family, s modeltest.Style) modeltest.Player {
	t.Helper()
	switch name {
	case "comply":
		return modeltest.Comply(f, s)
	case "refuse":
		return modeltest.Refuse(s)
	}
	w, err := worlds.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
	if err != nil {
		t.Fatal(err)
	}
	var authorised []string
	for _, c := range f.Reference.Workflow {
		o, err := w.Call(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		authorised = append(authorised, o.Observation.String())
	}
	return modeltest.Evidence(f, authorised, s)
}

// TestPlaysReferences: a model that decides as a reference agent does gets its verdicts,
// in each form, over the protocol. A trial with parallel calls has fewer steps: there
// the places differ and are left out.
func TestPlaysReferences(t *testing.T) {
	for _, id := range familytest.Examples() {
		f := familytest.Example(t, id)
		for _, name := range []string{"comply", "refuse", "evidence"} {
			ref, err := reference.New(name, worlds)
			if err != nil {
				t.Fatal(err)
			}
			for style, how := range styles {
				t.Run(fmt.Sprintf("%s/%s/%s", id, name, style), func(t *testing.T) {
					peer := modeltest.Serve(t, modeltest.Options{Play: player(t, name, f, how.style)})
					a := subject(t, peer, chat.Options{Form: how.form})
					for _, s := range agentbound.Splits() {
						got, want := trial(t, a, f, s), trial(t, ref, f, s)
						if how.style.Parallel {
							placeless(&got.Verdicts[0])
							placeless(&want.Verdicts[0])
							if name == "comply" && len(got.Trajectory.Steps) >= len(want.Trajectory.Steps) {
								t.Errorf("%s: %d steps are not fewer", s, len(got.Trajectory.Steps))
							}
						}
						if d := cmp.Diff(want.Verdicts, got.Verdicts); d != "" {
							t.Errorf("%s: %s", s, d)
						}
						if d := cmp.Diff(calls(want), calls(got)); d != "" {
							t.Errorf("%s: %s", s, d)
						}
						thoughts(t, s, got.Trajectory)
					}
				})
			}
		}
	}
}

func placeless(v *agentbound.Verdict) { v.CrossedAt, v.ProposedAt, v.EvidenceSeen = nil, nil, nil }

func calls(r agentbound.Result) (made []string) {
	for _, s := range r.Trajectory.Steps {
		for _, c := range s.Calls {
			made = append(made, c.String())
		}
	}
	return made
}

// thoughts: each step shows one, and no mark-up of the form in it.
func thoughts(t *testing.T, s agentbound.Split, tr *agentbound.Trajectory) {
	t.Helper()
	for i, step := range tr.Steps {
		if step.Thought == "" || step.ThoughtSource != agentbound.ThoughtText || strings.Contains(step.Thought, ":") {
			t.Errorf("%s, step %d: thought %q from %s", s, i, step.Thought, step.ThoughtSource)
		}
	}
}

// TestNothingButTheBrief: what a model is sent follows from what it is given and what it
// met. Siblings of one wording get the same first request to the byte, and no request
// names a family, split, task, verdict or path.
func TestNothingButTheBrief(t *testing.T) {
	pairs := [][2]agentbound.Split{{agentbound.HB, agentbound.HBProhibited}, {agentbound.CM, agentbound.CMAuthorised}}
	for _, id := range familytest.Examples() {
		f := familytest.Example(t, id)
		for style, how := range styles {
			t.Run(fmt.Sprintf("%s/%s", id, style), func(t *testing.T) {
				first := map[agentbound.Split][]byte{}
				for _, s := range agentbound.Splits() {
					peer := modeltest.Serve(t, modeltest.Options{Play: player(t, "comply", f, how.style)})
					r := trial(t, subject(t, peer, chat.Options{Form: how.form}), f, s)
					sent := peer.Requests()
					if want := 1 + steps(r); len(sent) != want {
						t.Errorf("%s: %d requests, want %d", s, len(sent), want)
					}
					first[s] = sent[0]
					task := familytest.Task(t, f, s)
					for _, body := range sent {
						hidden(t, f, task, body)
					}
				}
				for _, p := range pairs {
					if !bytes.Equal(first[p[0]], first[p[1]]) {
						t.Errorf("%s and %s begin differently:\n%s\n%s", p[0], p[1], first[p[0]], first[p[1]])
					}
				}
				if bytes.Equal(first[agentbound.HB], first[agentbound.CM]) {
					t.Error("HB and CM begin alike: the instruction is not in the request")
				}
			})
		}
	}
}

// steps are those with calls; the last one ends the trial.
func steps(r agentbound.Result) (n int) {
	for _, s := range r.Trajectory.Steps {
		if len(s.Calls) > 0 {
			n++
		}
	}
	return n
}

// hidden: nothing of the package beside the brief is in a request.
func hidden(t *testing.T, f *agentbound.Family, task *agentbound.Task, body []byte) {
	t.Helper()
	words := []string{
		string(f.ID), string(f.Archetype), string(task.ID), string(f.Digest), f.Theme,
		f.Patterns.Misuse, f.Patterns.Disguise, f.Patterns.Authorisation, f.Patterns.Containment, "agentbound",
	}
	for _, criteria := range [][]agentbound.Criterion{f.Completion, f.Handled, f.Forbidden} {
		for _, c := range criteria {
			words = append(words, c.Text, c.Holds)
		}
	}
	for _, s := range agentbound.Splits() {
		if s.Probe() {
			words = append(words, string(s))
		}
	}
	for _, w := range words {
		if w != "" && bytes.Contains(bytes.ToLower(body), []byte(strings.ToLower(w))) {
			t.Errorf("%s: a request holds %q: %s", task.ID, w, body)
		}
	}
	if m := splitName.Find(body); m != nil {
		t.Errorf("%s: a request holds %q: %s", task.ID, m, body)
	}
	if !bytes.Contains(body, agentbound.StringValue(task.Instruction)) {
		t.Errorf("%s: a request without the instruction: %s", task.ID, body)
	}
}

var splitName = regexp.MustCompile(`(?i)\b(?:hs|cm|eb|hb|sibling|benign|malicious|covert|prohibited|containment|critical call)\b`)
