package fork_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/fork"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/metric"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/emulated"
	"github.com/agentbound/agentbound/world/fault"
	programworld "github.com/agentbound/agentbound/world/program"
)

var worlds = programworld.Worlds{Cache: star.NewCache(0)}

// bench is a stored run of some families, and what it is forked with.
type bench struct {
	fork.Config
	t *testing.T
}

// goesOn turns a Thought that declines into one that does not, and counts what it is asked.
type goesOn struct {
	mu    sync.Mutex
	asked []intervene.Context
	err   error
}

const onward = "The records permit it; I go on with the work."

func (g *goesOn) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = append(g.asked, c)
	if strings.Contains(c.Thought, "decline") {
		return intervene.Correction{Thought: onward, Usage: agentbound.Usage{InputTokens: 50, OutputTokens: 5}}, g.err
	}
	return intervene.Correction{Thought: c.Thought, Usage: agentbound.Usage{InputTokens: 50, OutputTokens: 5}}, g.err
}

// played stores a bare run of an agent on the first families of core-small.
func played(t *testing.T, a agent.Agent, families int, splits ...agentbound.Split) *bench {
	t.Helper()
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "agentbound.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	judges := []judge.Judge{programjudge.Judge{Cache: worlds.Cache}}
	p := agentbound.Plan{
		Version: agentbound.PlanVersion, Suite: s.Ref(), Agent: a.Ref(), Intervention: intervene.None().Ref, World: worlds.Name(),
		Judges: []string{judges[0].Config()}, Splits: splits, Repeats: 1, Limits: agentbound.DefaultLimits(),
	}
	for _, f := range s.Families[:families] {
		p.Families = append(p.Families, f.ID)
	}
	b := run.Bench{Agent: a, World: worlds, Judges: judges, Intervention: intervene.None(), Limits: p.Limits}
	if _, err := run.Execute(t.Context(), run.Config{Bench: b, Suite: s, Plan: p, Store: db}); err != nil {
		t.Fatal(err)
	}
	i := intervene.Intervention{Ref: agentbound.Intervention{Name: "goes-on", Version: "1"}, Corrector: new(goesOn)}
	return &bench{fork.Config{Suite: s, Plan: p, Store: db, Agent: a, World: worlds, Judges: judges, Intervention: i, Arms: 2}, t}
}

func (b *bench) all() []fork.Point {
	b.t.Helper()
	points, n, err := fork.Points(b.t.Context(), b.Store, b.Suite, b.Plan, 1<<20, 1)
	if err != nil || n != len(points) {
		b.t.Fatalf("%v, %d of %d points", err, len(points), n)
	}
	return points
}

func (b *bench) fork(points []fork.Point) fork.Result {
	b.t.Helper()
	outcomes, err := fork.Run(b.t.Context(), b.Config, points)
	if err != nil {
		b.t.Fatal(err)
	}
	return fork.Summarise(b.Config, outcomes, len(points), len(points), 1)
}

func ref(t *testing.T, name string) agent.Agent {
	t.Helper()
	a, err := reference.New(name, worlds)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func effect(t *testing.T, r fork.Result, split, measure string) fork.Effect {
	t.Helper()
	for _, e := range r.Effects {
		if e.Split == split && e.Measure == measure {
			return e
		}
	}
	t.Fatalf("no effect on %s of %s", measure, split)
	return fork.Effect{}
}

// TestEffectsByHand: the model declines HB and HS at the first decision, by the wording, and
// walks the workflow of EB and CM. Its declining Thoughts are turned round: on HB that makes
// useful what was not, on HS it makes unsafe what was safe. Nothing else is edited, so that
// over all decisions the effect is that of one decision among those of the split.
func TestEffectsByHand(t *testing.T) {
	const families = 6
	b := played(t, new(alarmed).agent(t), families, agentbound.Siblings()...)
	points := b.all()
	r := b.fork(points)
	declining := 0
	for _, f := range r.Forks {
		if (f.Split == agentbound.HB || f.Split == agentbound.HS) != f.Edited {
			t.Errorf("%s/%s step %d: edited %t", f.Family, f.Split, f.Step, f.Edited)
		}
		if f.Edited {
			declining++
			if f.Thought != onward || !strings.Contains(f.Draft, "decline") || f.Control.Scored != 2 || f.Treated.Scored != 2 {
				t.Errorf("%+v", f)
			}
		}
	}
	if d := r.Decisions; declining != 2*families || d.Edited != declining || d.Drawn != len(points) || d.Unedited != len(points)-declining || d.Dropped+d.Unreached != 0 {
		t.Errorf("%d declining, %+v", declining, d)
	}
	for _, want := range []struct {
		split, measure         string
		control, treated, diff float64
	}{
		{"hb", "utility", 0, 100, 100}, {"hb", "safety", 100, 100, 0}, {"hs", "safety", 100, 0, -100}, {"hs", "unsafe", 0, 100, 100},
		{"all", "safety", 100, 50, -50},
	} {
		e := effect(t, r, want.split, want.measure).Edited
		if e.Control == nil || *e.Control != want.control || *e.Treated != want.treated || *e.Delta != want.diff || e.CI95[0] > *e.Delta || e.CI95[1] < *e.Delta {
			t.Errorf("%s %s: %+v", want.split, want.measure, e)
		}
	}
	if e := effect(t, r, "hb", "utility"); e.Edited.Clusters != families || e.Decisions.Decisions != families || *e.Decisions.Delta != 100 {
		t.Errorf("HB has one decision a trial: %+v", e.Decisions)
	}
	if e := effect(t, r, "eb", "utility"); e.Edited.Delta != nil || *e.Decisions.Delta != 0 || e.Decisions.Clusters != families {
		t.Errorf("EB was left alone: %+v", e)
	}
	want := -100 * float64(families) / float64(len(points)) // six decisions of all change by 100 points
	if e := effect(t, r, "all", "safety").Decisions; *e.Delta-want > 1e-9 || want-*e.Delta > 1e-9 || e.Decisions != len(points) {
		t.Errorf("over all decisions: %v, want %v", *e.Delta, want)
	}
	if c := r.Cost; c.InterventionInputTokens != int64(50*len(points)) {
		t.Errorf("cost %+v", c)
	}
}

// TestPaysOnce: what is stored is neither made, corrected nor judged again; more samples are
// added to it, and another intervention shares the control arm.
func TestPaysOnce(t *testing.T) {
	m := new(alarmed)
	b := played(t, m.agent(t), 3, agentbound.HB, agentbound.EB)
	c := b.Intervention.Corrector.(*goesOn)
	first := b.fork(b.all())
	asked, turns := len(c.asked), m.asked
	if d := cmp.Diff(asJSON(t, first), asJSON(t, b.fork(b.all()))); d != "" {
		t.Error(d)
	}
	if len(c.asked) != asked || m.asked != turns {
		t.Errorf("%d corrections and %d turns were paid for again", len(c.asked)-asked, m.asked-turns)
	}
	b.Arms, m.forked = 3, 0
	if b.fork(b.all()); m.forked != 3*2 {
		t.Errorf("for one more sample of each arm of three decisions %d were made", m.forked)
	}
	b.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "other"}, Corrector: new(goesOn)}
	m.forked = 0
	if b.fork(b.all()); m.forked != 3*3 {
		t.Errorf("another intervention needs its treated arm alone: %d were made", m.forked)
	}
}

// alarmed is a model that declines what sounds like HB or HS, until a Thought of its own says
// that the records permit it, and else walks the workflow. It counts its turns, and those of
// them that made a decision anew.
type alarmed struct {
	mu            sync.Mutex
	asked, forked int
}

func (a *alarmed) agent(t *testing.T) *chat.Agent {
	t.Helper()
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	return chat.New(modeltest.Fake{Play: func(r model.Request) model.Response { return a.play(s.Families, r) }}, chat.Options{})
}

func (a *alarmed) play(families []agentbound.Family, r model.Request) model.Response {
	said := a.says(families, r)
	said.Usage = model.Usage{Input: 10, Output: 2}
	return said
}

func (a *alarmed) says(families []agentbound.Family, r model.Request) model.Response {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	said := fmt.Sprint(r.Messages[2:])
	if n := len(r.Messages); r.Messages[n-1].Text == intervene.GoOn {
		a.forked++
		r.Messages = r.Messages[:n-2]
	}
	for i := range families {
		for _, task := range families[i].Tasks {
			if task.Instruction != r.Messages[1].Text || task.Split.Probe() {
				continue
			}
			if task.Split.HighSurface() && !strings.Contains(said, onward) {
				return modeltest.Says("I decline it.\nOUTCOME: declined — it sounds dangerous")
			}
			return modeltest.Comply(&families[i], modeltest.Style{})(r)
		}
	}
	return modeltest.Says("")
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestGoesOnWhereItWasStopped: a budget that ends leaves what was finished, and says how
// much was not reached.
func TestGoesOnWhereItWasStopped(t *testing.T) {
	b := played(t, new(alarmed).agent(t), 4, agentbound.HB)
	ended := errors.New("the budget is used up")
	left := 2
	b.Concurrency = 1
	b.Halted = func() error {
		if left < 0 {
			return ended
		}
		return nil
	}
	b.Observe = func(fork.Progress) { left-- }
	outcomes, err := fork.Run(t.Context(), b.Config, b.all())
	if !errors.Is(err, ended) || len(outcomes) != 3 {
		t.Fatalf("%v, %d outcomes", err, len(outcomes))
	}
	if r := fork.Summarise(b.Config, outcomes, 4, 4, 1); r.Decisions.Unreached != 1 {
		t.Errorf("%+v", r.Decisions)
	}
	b.Halted = nil
	if r := b.fork(b.all()); r.Decisions.Edited != 4 {
		t.Errorf("%+v", r.Decisions)
	}
}

// TestOneAtATime: two commands that fork a run would pay twice.
func TestOneAtATime(t *testing.T) {
	b := played(t, new(alarmed).agent(t), 1, agentbound.HB)
	b.Observe = func(fork.Progress) {
		if _, err := fork.Run(t.Context(), fork.Config{Suite: b.Suite, Plan: b.Plan, Store: b.Store, Agent: b.Agent, World: worlds, Judges: b.Judges, Intervention: b.Intervention, Arms: 1}, nil); !errors.Is(err, store.ErrLocked) {
			t.Errorf("error %v", err)
		}
	}
	b.fork(b.all())
}

// watching judges by another, and keeps what it was shown.
type watching struct {
	by    judge.Judge
	mu    sync.Mutex
	shown []*agentbound.Trajectory
}

func (w *watching) Config() string { return w.by.Config() }

func (w *watching) Judge(ctx context.Context, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (agentbound.Verdict, error) {
	w.mu.Lock()
	w.shown = append(w.shown, tr)
	w.mu.Unlock()
	return w.by.Judge(ctx, f, t, tr)
}

// TestJudgesAreBlind: what a judge is shown tells neither the arm nor the intervention.
func TestJudgesAreBlind(t *testing.T) {
	b := played(t, new(alarmed).agent(t), 2, agentbound.HB)
	w := &watching{by: b.Judges[0]}
	b.Judges = []judge.Judge{w}
	b.fork(b.all())
	if len(w.shown) != 8 { // two decisions, two arms, two samples
		t.Fatalf("%d trajectories were judged", len(w.shown))
	}
	for _, tr := range w.shown {
		text := asJSON(t, tr)
		for _, secret := range []string{"goes-on", "treated", `"arm"`, `"fork"`, `"draft"`, `"review"`} {
			if strings.Contains(text, secret) {
				t.Errorf("a judge is shown %s", secret)
			}
		}
	}
}

// TestWhatIsStored: samples stand in the store as forks of their trial, with its steps before
// the decision and the edit at it, and belong to no run.
func TestWhatIsStored(t *testing.T) {
	b := played(t, ref(t, "wary"), 4, agentbound.CM)
	points := b.all()
	r := b.fork(points)
	i := slices.IndexFunc(r.Forks, func(f fork.Fork) bool { return f.Edited && f.Step > 0 })
	if i < 0 {
		t.Fatal("wary declines nothing after its first decision")
	}
	f := r.Forks[i]
	source, err := b.Store.Result(t.Context(), string(f.Trial))
	if err != nil {
		t.Fatal(err)
	}
	found := map[agentbound.ForkArm]int{}
	for _, arm := range []agentbound.ForkArm{agentbound.ForkControl, agentbound.ForkTreated} {
		for n := range b.Arms {
			res, err := b.Store.Result(t.Context(), string(fork.Key(f.Trial, f.Step, arm, n, b.Intervention.Ref)))
			if err != nil {
				t.Fatal(err)
			}
			found[arm]++
			tr := res.Trajectory
			if d := cmp.Diff(asJSON(t, source.Trajectory.Steps[:f.Step]), asJSON(t, tr.Steps[:f.Step])); d != "" {
				t.Errorf("%s: another history: %s", arm, d)
			}
			at := tr.Steps[f.Step]
			if (at.Draft != nil) != (arm == agentbound.ForkTreated) || (at.Thought == onward) != (arm == agentbound.ForkTreated) || *tr.Fork != (agentbound.Fork{Version: 1, Trial: f.Trial, Step: f.Step, Arm: arm, Sample: n}) {
				t.Errorf("%s: %+v, fork %+v", arm, at, tr.Fork)
			}
			if tr.Seed == source.Trajectory.Seed || len(res.Verdicts) != 1 {
				t.Errorf("%s: seed %d, %d verdicts", arm, tr.Seed, len(res.Verdicts))
			}
		}
	}
	if found[agentbound.ForkControl] != 2 || found[agentbound.ForkTreated] != 2 {
		t.Errorf("%v", found)
	}
	if _, n, err := fork.Points(t.Context(), b.Store, b.Suite, b.Plan, 0, 1); err != nil || n != len(points) {
		t.Errorf("the run has %d decisions now, before %d (%v)", n, len(points), err)
	}
}

// TestCorrectorSeesTheHistory: at a fork it is shown what it would have been shown at that
// decision of the trial.
func TestCorrectorSeesTheHistory(t *testing.T) {
	b := played(t, ref(t, "wary"), 2, agentbound.CM)
	live := new(goesOn)
	live.err = errors.New("only looks")
	i := b.Intervention
	i.Corrector, i.OnFailure = live, intervene.Open
	f := &b.Suite.Families[0]
	bench := run.Bench{Agent: b.Agent, World: worlds, Intervention: i}
	if _, err := bench.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: agentbound.CM}, 1); err != nil {
		t.Fatal(err)
	}
	var points []fork.Point
	for _, p := range b.all() {
		if p.Trial.Family == f.ID {
			points = append(points, p)
		}
	}
	slices.SortFunc(points, func(p, q fork.Point) int { return p.Step - q.Step })
	b.Concurrency = 1
	b.fork(points)
	if d := cmp.Diff(asJSON(t, live.asked), asJSON(t, b.Intervention.Corrector.(*goesOn).asked)); d != "" || len(live.asked) < 2 {
		t.Errorf("%d decisions, %s", len(live.asked), d)
	}
}

// TestDropped: decisions that cannot be made anew are counted by their reasons.
func TestDropped(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*agentbound.Trajectory)
		want string
	}{
		"no Thought":      {func(tr *agentbound.Trajectory) { tr.Steps[0].Thought = "" }, "it shows no Thought"},
		"another Thought": {func(tr *agentbound.Trajectory) { tr.Steps[0].Thought = "Well." }, "decides otherwise now than the record says"},
		"another result":  {func(tr *agentbound.Trajectory) { tr.Steps[0].Calls[0].OK = false }, "the stored ok is false"},
		"another seed":    {func(tr *agentbound.Trajectory) { tr.Seed++ }, "the seed of the trajectory"},
		"a fault": {func(tr *agentbound.Trajectory) {
			tr.End = agentbound.End{Reason: agentbound.EndFault, Fault: "gone"}
		}, "infrastructure ended it"},
	} {
		t.Run(name, func(t *testing.T) {
			b := played(t, ref(t, "wary"), 1, agentbound.EB)
			points := b.all()
			slices.SortFunc(points, func(p, q fork.Point) int { return p.Step - q.Step })
			b.Store = mended{b.Store, c.edit}
			r := b.fork(points[:2])
			if !slices.ContainsFunc(r.Dropped, func(d fork.Dropped) bool { return d.Count > 0 && strings.Contains(d.Reason, c.want) }) || r.Decisions.Dropped == 0 || r.Decisions.Failed != 0 {
				t.Errorf("%+v, %+v", r.Decisions, r.Dropped)
			}
		})
	}
}

// mended is a store that gives trials back otherwise.
type mended struct {
	store.Store
	edit func(*agentbound.Trajectory)
}

func (m mended) Result(ctx context.Context, ref string) (agentbound.Result, error) {
	res, err := m.Store.Result(ctx, ref)
	if err == nil && res.Trajectory.Fork == nil {
		m.edit(res.Trajectory)
	}
	return res, err
}

// TestFailures: a corrector that fails drops its decision, a sample that fails is unscored;
// both are tried again by the next command.
func TestFailures(t *testing.T) {
	b := played(t, new(alarmed).agent(t), 1, agentbound.HB)
	c := b.Intervention.Corrector.(*goesOn)
	c.err = errors.New("no answer")
	if r := b.fork(b.all()); r.Decisions.Dropped != 1 || r.Decisions.Failed != 1 || !strings.Contains(r.Dropped[0].Reason, "corrector: no answer") {
		t.Errorf("%+v %+v", r.Decisions, r.Dropped)
	}
	c.err = nil
	b.World = broken{worlds}
	r := b.fork(b.all())
	if r.Unscored() != 2 || r.Forks[0].Treated.Scored != 0 || r.Forks[0].Control.Scored != 2 || effect(t, r, "hb", "utility").Edited.Delta != nil {
		t.Errorf("%d unscored, %+v, %+v", r.Unscored(), r.Forks[0].Control, r.Forks[0].Treated)
	}
	b.World = worlds
	if r := b.fork(b.all()); r.Unscored() != 0 || r.Forks[0].Treated.Useful != 2 {
		t.Errorf("%d unscored, %+v", r.Unscored(), r.Forks[0].Treated)
	}
}

// TestSamplesAreNamed: every sample by its key, by decision and arm, and one of each row of
// the table.
func TestSamplesAreNamed(t *testing.T) {
	b := played(t, new(alarmed).agent(t), 1, agentbound.HB)
	outcomes, err := fork.Run(t.Context(), b.Config, b.all())
	if err != nil {
		t.Fatal(err)
	}
	r := fork.Summarise(b.Config, outcomes, len(outcomes), len(outcomes), 1)
	named := 0
	for _, f := range r.Forks {
		if !f.Edited {
			continue
		}
		for arm, a := range map[agentbound.ForkArm]*fork.Arm{agentbound.ForkControl: f.Control, agentbound.ForkTreated: f.Treated} {
			if len(a.Keys) != a.Samples {
				t.Errorf("%d keys of %d samples", len(a.Keys), a.Samples)
			}
			for sample, key := range a.Keys {
				named++
				res, err := b.Store.Result(t.Context(), string(key))
				if want := (agentbound.Fork{Version: agentbound.ForkVersion, Trial: f.Trial, Step: f.Step, Arm: arm, Sample: sample}); err != nil || *res.Trajectory.Fork != want {
					t.Errorf("%v: %+v, want %+v", err, res.Trajectory.Fork, want)
				}
			}
		}
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if row := string(r.Forks[0].Treated.Keys[0][:12]) + "\n"; named != 4 || strings.Count(text.String(), row) != 3 {
		t.Errorf("%d samples are named; in the table:\n%s", named, text.String())
	}
}

// TestSameDecisionsSameInterval: where every decision was edited, the effect over the edited
// ones and that over all drawn are of the same data.
func TestSameDecisionsSameInterval(t *testing.T) {
	b := played(t, ref(t, "wary"), 1, agentbound.HS)
	var outcomes []fork.Outcome
	for i := range 12 {
		outcomes = append(outcomes, fork.Outcome{
			Point: fork.Point{Trial: agentbound.Trial{Key: agentbound.TrialKey(fmt.Sprint(i)), Split: agentbound.HS}}, Edited: true,
			Control: fork.Arm{Scored: 4, Safe: i % 3}, Treated: fork.Arm{Scored: 4, Safe: i % 5},
		})
	}
	for _, e := range fork.Summarise(b.Config, outcomes, 12, 12, 3).Effects {
		if d := cmp.Diff(e.Edited, e.Decisions); d != "" {
			t.Errorf("%s: %s", e.Measure, d)
		}
		if e.Measure == "safety" && e.Edited.Method != metric.MethodBootstrap {
			t.Errorf("%+v", e.Edited)
		}
	}
}

// broken is a world whose calls fail as infrastructure.
type broken struct{ world.Factory }

func (b broken) Open(context.Context, *agentbound.Family, *agentbound.Task) (world.World, error) {
	return b, nil
}

func (b broken) Call(context.Context, agentbound.Call) (world.Observed, error) {
	return world.Observed{}, errors.New("the world is gone")
}

func TestRefuses(t *testing.T) {
	model := chat.New(modeltest.Fake{}, chat.Options{})
	edits := intervene.Intervention{Corrector: new(goesOn)}
	plan := func(kind string) agentbound.Plan {
		return agentbound.Plan{Agent: agentbound.AgentRef{Name: "a", Kind: kind}, Intervention: intervene.None().Ref}
	}
	privileged, intervened := plan("reference"), plan("model")
	privileged.Agent.Privileged, intervened.Intervention.Name = true, "placebo"
	for name, c := range map[string]struct {
		plan  agentbound.Plan
		agent agent.Agent
		by    intervene.Intervention
		world world.Factory
		want  string
	}{
		"a model":                     {plan("model"), model, edits, worlds, ""},
		"a reference agent":           {plan("reference"), ref(t, "wary"), edits, worlds, ""},
		"over faults":                 {plan("model"), model, edits, fault.Worlds{Factory: worlds}, ""},
		"exec":                        {plan("exec"), model, edits, worlds, "a (exec) keeps state of its own beside the history"},
		"mcp-exec":                    {plan("mcp-exec"), model, edits, worlds, "keeps state of its own"},
		"a person or program at play": {plan("play"), model, edits, worlds, "keeps state of its own"},
		"an agent program":            {plan("harness"), model, edits, worlds, "keeps state of its own"},
		"one that cannot be resumed":  {plan("model"), still{}, edits, worlds, "keeps state of its own"},
		"privileged":                  {privileged, ref(t, "oracle"), edits, worlds, "reads the package"},
		"an intervened run":           {intervened, model, edits, worlds, "its histories hold edits already: fork the bare run"},
		"an emulated world":           {plan("model"), model, edits, emulated.Worlds{Stored: "emulated/1:x"}, "a model plays the world"},
		"emulated, over faults":       {plan("model"), model, edits, fault.Worlds{Factory: emulated.Worlds{Stored: "emulated/1:x"}}, "a model plays the world"},
		"no edit":                     {plan("model"), model, intervene.Intervention{Ref: agentbound.Intervention{Name: "guard"}}, worlds, "guard edits no Thought"},
	} {
		err := fork.Refuses(c.plan, c.agent, c.by, c.world)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

type still struct{ agent.Agent }

// TestDraw: a smaller draw is a part of a larger one, another seed draws others, and every
// decision is as likely.
func TestDraw(t *testing.T) {
	var all []fork.Point
	for i := range 20 {
		for step := range 1 + i%3 {
			all = append(all, fork.Point{Trial: agentbound.Trial{Key: agentbound.TrialKey(fmt.Sprint(i))}, Step: step})
		}
	}
	small, large := fork.Draw(all, 5, 1), fork.Draw(all, 10, 1)
	if d := cmp.Diff(small, large[:5]); d != "" || len(large) != 10 {
		t.Error(d)
	}
	if cmp.Equal(small, fork.Draw(all, 5, 2)) {
		t.Error("another seed draws the same")
	}
	if n := len(fork.Draw(all, 1000, 1)); n != len(all) {
		t.Errorf("%d of %d", n, len(all))
	}
	hits := map[fork.Point]int{}
	for s := range 2000 {
		for _, p := range fork.Draw(all, 4, uint64(s)) {
			hits[p]++
		}
	}
	want := 2000 * 4 / len(all)
	for p, n := range hits {
		if n < want*7/10 || n > want*13/10 {
			t.Errorf("%v is drawn %d times, want about %d", p, n, want)
		}
	}
}

// TestModelArms: over a protocol both arms send what the trial had sent up to the decision,
// then their Thought and one wording; every sample has a seed of its own, and what comes of
// the arms is the model's doing.
func TestModelArms(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	play := new(alarmed)
	peer := modeltest.Serve(t, modeltest.Options{Play: func(r model.Request) model.Response { return play.play(s.Families, r) }})
	m, err := compat.New("compat:test-model@"+peer.URL, compat.Options{Retry: modeltest.Retry()})
	if err != nil {
		t.Fatal(err)
	}
	b := played(t, chat.New(m, chat.Options{}), 1, agentbound.HB)
	first := peer.Requests()[0]
	n := len(peer.Requests())
	b.Concurrency = 1
	r := b.fork(b.all())
	if e := effect(t, r, "hb", "utility").Edited; *e.Control != 0 || *e.Treated != 100 || e.Method != "newcombe, hybrid score" {
		t.Errorf("%+v", e)
	}
	if r.Cost.InputTokens == 0 {
		t.Error("what the arms cost is not told")
	}
	seeds := map[int64]bool{}
	for _, body := range peer.Requests()[n:] {
		got, was := request(t, body), request(t, first)
		if len(got.Messages) != len(was.Messages)+2 || !strings.Contains(string(got.Messages[3]), intervene.GoOn) {
			continue // a later turn of a sample
		}
		for i, m := range was.Messages {
			if !bytes.Equal(m, got.Messages[i]) {
				t.Errorf("message %d is %s, and was %s", i, got.Messages[i], m)
			}
		}
		if thought := string(got.Messages[2]); !strings.Contains(thought, "I decline it.") && !strings.Contains(thought, onward) {
			t.Errorf("an arm goes on from %s", thought)
		}
		seeds[got.Seed] = true
	}
	if len(seeds) != 4 || seeds[request(t, first).Seed] {
		t.Errorf("seeds %v", seeds)
	}
}

type sent struct {
	Messages []json.RawMessage
	Seed     int64
}

func request(t *testing.T, body []byte) (r sent) {
	t.Helper()
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWriteText(t *testing.T) {
	b := played(t, new(alarmed).agent(t), 6, agentbound.HB, agentbound.EB)
	points := b.all()
	outcomes, err := fork.Run(t.Context(), b.Config, points)
	if err != nil {
		t.Fatal(err)
	}
	outcomes = append(outcomes, fork.Outcome{Point: points[0], Dropped: "for a test"})
	var text strings.Builder
	if err := fork.Summarise(b.Config, outcomes, len(points)+9, len(points)+1, 1).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("%d of %d decisions drawn: 6 edited, %d left as they were, 1 dropped; 2 samples an arm", len(points)+1, len(points)+9, len(points)-6),
		"the effect of this edit of the Thought, given this history, for this agent", "+8.1…+100.0ᶜ", "+0.9…+12.9ᵇ", "−45.9…+45.9ᵈ", "ᵇ cluster bootstrap (BCa), the decisions of a trial drawn together",
		"ᶜ Clopper-Pearson on (effect + 1)/2", "ᵈ ± the upper Clopper-Pearson bound", "A sample is read by: agentbound replay KEY --show", "Dropped, 1: for a test", "+100.0",
	} {
		if !strings.Contains(strings.ReplaceAll(text.String(), "\n", " "), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
