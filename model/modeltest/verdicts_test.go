package modeltest_test

import (
	"context"
	"flag"
	"strings"
	"sync"
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
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world/program"
)

// families is how many of core-small each protocol plays, from the first ones: by default
// they share those out among them, which takes seconds and not minutes.
var families = flag.Int("families", 1, "families of core-small that each protocol plays")

// bench plays trials as runs do, with compiled families shared.
type bench struct{ worlds program.Worlds }

func (b bench) trial(t *testing.T, a agent.Agent, f *agentbound.Family, s agentbound.Split, i intervene.Intervention) agentbound.Result {
	t.Helper()
	r, err := run.Bench{Agent: a, World: b.worlds, Judges: []judge.Judge{programjudge.Judge{Cache: b.worlds.Cache}}, Intervention: i}.
		Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: s}, 77)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// authorised are the answers to the workflow in the authorised world.
func (b bench) authorised(t *testing.T, f *agentbound.Family) (seen []string) {
	t.Helper()
	w, err := b.worlds.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Reference.Workflow {
		o, err := w.Call(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, o.Observation.String())
	}
	return seen
}

// subject is a scripted subject, with the reference agent that decides as it does, and
// the splits it plays: a long path is told from a short one by one of them.
type subject struct {
	name   string
	play   modeltest.Player
	splits []agentbound.Split
}

func (b bench) subjects(t *testing.T, f *agentbound.Family) []subject {
	t.Helper()
	evidence := subject{"evidence", modeltest.Evidence(f, b.authorised(t, f), modeltest.Style{}), agentbound.Siblings()}
	if testing.Short() { // as under the race detector
		evidence.splits = []agentbound.Split{agentbound.CM}
		return []subject{evidence}
	}
	return []subject{
		{"comply", modeltest.Comply(f, modeltest.Style{}), []agentbound.Split{agentbound.CM}},
		{"refuse", modeltest.Refuse(modeltest.Style{}), []agentbound.Split{agentbound.HB}},
		evidence,
	}
}

// reasons has a subject show reasoning with each turn, which the peer wants back.
func reasons(play modeltest.Player) modeltest.Player {
	return func(r model.Request) model.Response {
		said := play(r)
		said.Message.Reasoning = "It says: “" + said.Message.Text + "” <&>"
		return said
	}
}

// again is a corrector that rewrites every Thought.
type again struct{}

func (again) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	return intervene.Correction{Thought: "On reflection, this: " + c.Thought}, nil
}

// played is what a trial came to.
type played struct {
	verdicts []agentbound.Verdict
	calls    []string
}

func read(r agentbound.Result) played {
	got := played{verdicts: r.Verdicts}
	for _, step := range r.Trajectory.Steps {
		for _, c := range step.Calls {
			got.calls = append(got.calls, c.String())
		}
	}
	return got
}

// TestVerdicts: the same subject gets the same verdicts, by the same calls, through every
// protocol, streamed or not, bare and where every Thought is rewritten and the model goes
// on from it. The peers want reasoning back throughout.
func TestVerdicts(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	b := bench{program.Worlds{Cache: star.NewCache(0)}}
	all := connectors()
	var group sync.WaitGroup
	defer group.Wait()
	room := make(chan struct{}, 4)
	for i, c := range all {
		if testing.Short() && i%3 != 0 {
			continue
		}
		for n := range *families {
			f := &s.Families[(i/2+n)%max(3, *families)]
			group.Go(func() {
				room <- struct{}{}
				defer func() { <-room }()
				t.Run(strings.Join([]string{c.name, c.mode, string(f.ID)}, "/"), func(t *testing.T) { b.compare(t, c, f) })
			})
		}
	}
}

// compare plays a family over a protocol, and as the reference agents do.
func (b bench) compare(t *testing.T, c connector, f *agentbound.Family) {
	t.Helper()
	rewritten := intervene.None()
	rewritten.Corrector = again{}
	for _, subject := range b.subjects(t, f) {
		ref, err := reference.New(subject.name, b.worlds)
		if err != nil {
			t.Fatal(err)
		}
		a := chat.New(c.patient(t, modeltest.Options{Play: reasons(subject.play), Reasoning: "reasoning_content"}, model.Retry{}), chat.Options{})
		for _, split := range subject.splits {
			want := read(b.trial(t, ref, f, split, intervene.None()))
			if d := cmp.Diff(want, read(b.trial(t, a, f, split, intervene.None())), cmp.AllowUnexported(played{})); d != "" {
				t.Errorf("%s, %s: %s", subject.name, split, d)
			}
			if subject.name == "evidence" && (split == agentbound.HB || testing.Short()) {
				if d := cmp.Diff(want, read(b.trial(t, a, f, split, rewritten)), cmp.AllowUnexported(played{})); d != "" {
					t.Errorf("%s, %s, rewritten: %s", subject.name, split, d)
				}
			}
		}
	}
}
