package episode_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/program"
)

// echo is a world that answers what its function says and keeps what it was asked.
type echo struct {
	answer func(agentbound.Call) (world.Observed, error)
	asked  []agentbound.Call
}

func (w *echo) Call(_ context.Context, c agentbound.Call) (world.Observed, error) {
	w.asked = append(w.asked, c)
	if w.answer != nil {
		return w.answer(c)
	}
	return world.Observed{OK: true, Observation: agentbound.StringValue("answer " + fmt.Sprint(len(w.asked)))}, nil
}

// corrector is a corrector made of a function, which keeps what it was given.
type corrector struct {
	correct func(string) (string, error)
	given   []intervene.Context
}

func (c *corrector) Correct(_ context.Context, in intervene.Context) (intervene.Correction, error) {
	c.given = append(c.given, in)
	thought, err := c.correct(in.Thought)
	return intervene.Correction{Thought: thought, Usage: agentbound.Usage{InputTokens: 3}}, err
}

// gate denies the tools that it holds a reason for.
type gate struct {
	denied map[string]string
	err    error
	given  []intervene.Proposal
}

func (g *gate) Allow(_ context.Context, p intervene.Proposal) (agentbound.GateDecision, error) {
	g.given = append(g.given, p)
	reason, denied := g.denied[p.Call.Tool]
	return agentbound.GateDecision{By: "gate", Allowed: !denied, Reason: reason}, g.err
}

func call(tool, args string) agentbound.Call {
	return agentbound.Call{Tool: tool, Args: agentbound.Value(args)}
}

func act(calls ...agentbound.Call) episode.Decision {
	return episode.Decision{Thought: "I act.", Calls: calls}
}

func end(word agentbound.Word) episode.Decision {
	return episode.Decision{Thought: "I end.", Outcome: &agentbound.Outcome{Word: word}}
}

// begin opens an episode on the photo desk's CM task; change adapts its set-up.
func begin(t *testing.T, w world.World, change func(*episode.Config)) *episode.Episode {
	t.Helper()
	f := familytest.Family(t)
	cfg := episode.Config{
		Task: familytest.Task(t, f, agentbound.CM), World: w, WorldName: "echo", Agent: "test", Intervention: intervene.None(), Seed: 7,
		Clock: func() time.Time { return time.Time{} },
	}
	if change != nil {
		change(&cfg)
	}
	return episode.New(cfg)
}

func commit(t *testing.T, e *episode.Episode, d episode.Decision) []episode.Observation {
	t.Helper()
	seen, err := e.Commit(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// stored gives the trajectory as it is after the store: valid JSON, and the same tree.
func stored(t *testing.T, e *episode.Episode) agentbound.Trajectory {
	t.Helper()
	live := e.Trajectory()
	b, err := agentbound.EncodeJSON(live)
	if err != nil {
		t.Fatalf("the trajectory is not JSON: %v", err)
	}
	var back agentbound.Trajectory
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatalf("the trajectory is not JSON: %v", err)
	}
	if d := cmp.Diff(*live, back); d != "" {
		t.Errorf("the trajectory changes when it is stored: %s", d)
	}
	again, err := agentbound.EncodeJSON(back)
	if err != nil || string(again) != string(b) {
		t.Errorf("it is not stable: %s, %v", cmp.Diff(string(b), string(again)), err)
	}
	return back
}

// TestNothingButTheBriefReachesASubject: what an agent can read off an episode is its
// brief, its seed and the steps it has left.
func TestNothingButTheBriefReachesASubject(t *testing.T) {
	e := begin(t, &echo{}, nil)
	b, err := json.Marshal(e.Brief())
	if err != nil {
		t.Fatal(err)
	}
	var brief map[string]json.RawMessage
	if err := json.Unmarshal(b, &brief); err != nil {
		t.Fatal(err)
	}
	if len(brief) != 3 || brief["setting"] == nil || brief["instruction"] == nil || brief["tools"] == nil {
		t.Errorf("the brief is %s", b)
	}
	f := familytest.Family(t)
	secrets := []string{string(f.ID), "cm", "hb", "prohibited", "authorised", "forbidden", "consent was", "withdrawn", f.Completion[0].Text, f.Handled[0].Text, f.Forbidden[0].Text}
	for _, s := range secrets {
		if strings.Contains(string(b), `"`+s) || len(s) > 3 && strings.Contains(string(b), s) {
			t.Errorf("the brief holds %q", s)
		}
	}
	var methods []string
	for i := range reflect.TypeOf(e).NumMethod() {
		methods = append(methods, reflect.TypeOf(e).Method(i).Name)
	}
	// Trajectory is for whoever runs the trial; an agent that is a program or a model
	// gets text only. A new method belongs into this list after thought.
	want := []string{"Begin", "Brief", "Commit", "Describe", "Ended", "Fault", "LastReview", "Review", "Reviewed", "Seed", "StepsLeft", "Trajectory"}
	if d := cmp.Diff(want, methods); d != "" {
		t.Errorf("an episode's methods: %s", d)
	}
	seen := commit(t, e, act(call("read_photo", `{"photo":"P-1"}`)))
	if d := cmp.Diff([]episode.Observation{{Call: call("read_photo", `{"photo":"P-1"}`), OK: true, Value: agentbound.Value(`"answer 1"`)}}, seen); d != "" {
		t.Errorf("an observation: %s", d)
	}
}

func TestTheRecord(t *testing.T) {
	now := time.Unix(0, 0)
	f := familytest.Family(t)
	task := familytest.Task(t, f, agentbound.CM)
	w, err := program.Worlds{Cache: star.NewCache(0)}.Open(t.Context(), f, task)
	if err != nil {
		t.Fatal(err)
	}
	e := episode.New(episode.Config{
		Task: task, World: w, WorldName: "program", Agent: "test", Intervention: intervene.None(), Seed: 7,
		Clock: func() time.Time { now = now.Add(250 * time.Millisecond); return now },
	})
	commit(t, e, episode.Decision{Thought: "I share it.", Source: agentbound.ThoughtSummary, Calls: []agentbound.Call{
		call("share", `{ "photo": "P-1", "to": "a" }`), call("read_photo", `{"photo":"P-7"}`),
	}, Usage: agentbound.Usage{InputTokens: 10, OutputTokens: 2, USD: 0.5}})
	commit(t, e, episode.Decision{Outcome: &agentbound.Outcome{Word: agentbound.Done, Reason: "it is out", Text: "Shared."}})
	want := agentbound.Trajectory{
		Version: 1, Task: task.ID, Agent: "test", Intervention: "bare", World: "program", Limits: agentbound.DefaultLimits(), Seed: 7,
		Setting: task.Setting, Instruction: task.Instruction, Tools: task.Tools, Start: task.Start,
		Steps: []agentbound.Step{{
			Thought: "I share it.", ThoughtSource: agentbound.ThoughtSummary, Usage: agentbound.Usage{InputTokens: 10, OutputTokens: 2, USD: 0.5}, MS: 250,
			Calls: []agentbound.CallRecord{{
				Call: call("share", `{"photo":"P-1","to":"a"}`), OK: true, Observation: agentbound.Value(`{"photo":"P-1","status":"shared"}`),
				Diff: agentbound.Diff{{Op: "add", Path: "/shares/0", Value: agentbound.Value(`{"note":"","photo":"P-1","to":"a"}`)}},
			}, {
				Call: call("read_photo", `{"photo":"P-7"}`), Observation: agentbound.StringValue("error: no photo P-7"),
			}},
		}},
		Outcome: agentbound.Outcome{Word: agentbound.Done, Reason: "it is out", Text: "Shared."}, End: agentbound.End{Reason: agentbound.EndOutcome},
	}
	if d := cmp.Diff(want, stored(t, e)); d != "" {
		t.Error(d)
	}
}

func TestThoughtSource(t *testing.T) {
	e := begin(t, &echo{}, nil)
	commit(t, e, episode.Decision{Thought: "text", Calls: []agentbound.Call{call("unlog", `{}`)}})
	commit(t, e, episode.Decision{Calls: []agentbound.Call{call("unlog", `{}`)}})
	commit(t, e, episode.Decision{Thought: "why", Source: agentbound.ThoughtReasoning, Calls: []agentbound.Call{call("unlog", `{}`)}})
	var got []agentbound.ThoughtSource
	for _, s := range stored(t, e).Steps {
		got = append(got, s.ThoughtSource)
	}
	if d := cmp.Diff([]agentbound.ThoughtSource{"text", "none", "reasoning"}, got); d != "" {
		t.Error(d)
	}
}

// TestEnd: a trial without an outcome ends unstated, and what comes after the end is
// the caller's mistake.
func TestEnd(t *testing.T) {
	t.Run("unstated", func(t *testing.T) {
		e := begin(t, &echo{}, nil)
		tr := stored(t, e)
		if tr.Outcome.Word != agentbound.Unstated || tr.End.Reason != agentbound.EndOutcome || !e.Ended() {
			t.Errorf("outcome %+v, end %+v", tr.Outcome, tr.End)
		}
	})
	t.Run("an outcome without a word is unstated", func(t *testing.T) {
		e := begin(t, &echo{}, nil)
		commit(t, e, end(""))
		if tr := stored(t, e); tr.Outcome.Word != agentbound.Unstated {
			t.Errorf("outcome %+v", tr.Outcome)
		}
	})
	t.Run("calls beside an outcome are executed first", func(t *testing.T) {
		w := &echo{}
		e := begin(t, w, nil)
		d := end(agentbound.Done)
		d.Calls = []agentbound.Call{call("unlog", `{}`)}
		commit(t, e, d)
		if tr := stored(t, e); len(w.asked) != 1 || len(tr.Steps) != 1 || len(tr.Steps[0].Calls) != 1 || !e.Ended() {
			t.Errorf("%d calls, steps %+v", len(w.asked), tr.Steps)
		}
	})
	t.Run("commit after the end", func(t *testing.T) {
		w := &echo{}
		e := begin(t, w, nil)
		commit(t, e, end(agentbound.Done))
		if _, err := e.Commit(t.Context(), act(call("unlog", `{}`))); !errors.Is(err, episode.ErrEnded) {
			t.Errorf("error %v", err)
		}
		if _, err := e.Commit(t.Context(), end(agentbound.Declined)); !errors.Is(err, episode.ErrEnded) {
			t.Errorf("error %v", err)
		}
		if tr := stored(t, e); len(w.asked) != 0 || tr.Outcome.Word != agentbound.Done {
			t.Errorf("%d calls, outcome %+v", len(w.asked), tr.Outcome)
		}
	})
	t.Run("a fault after the end changes nothing", func(t *testing.T) {
		e := begin(t, &echo{}, nil)
		commit(t, e, end(agentbound.Done))
		e.Fault(errors.New("late"))
		if tr := stored(t, e); tr.End.Reason != agentbound.EndOutcome {
			t.Errorf("end %+v", tr.End)
		}
	})
	t.Run("a decision that only cost something is recorded", func(t *testing.T) {
		e := begin(t, &echo{}, nil)
		commit(t, e, episode.Decision{Usage: agentbound.Usage{USD: 1}, Outcome: &agentbound.Outcome{Word: agentbound.Unstated, RefusedBy: agentbound.RefusedByProvider}})
		if tr := stored(t, e); len(tr.Steps) != 1 || tr.Steps[0].Usage.USD != 1 {
			t.Errorf("steps %+v", tr.Steps)
		}
	})
}

// TestGate: what a gate denies is not executed, is recorded, and the subject is told.
func TestGate(t *testing.T) {
	w, g := &echo{}, &gate{denied: map[string]string{"share": "no consent", "move": ""}}
	e := begin(t, w, func(cfg *episode.Config) {
		cfg.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "guard"}, Gate: g}
	})
	commit(t, e, act(call("read_photo", `{"photo":"P-1"}`)))
	seen := commit(t, e, episode.Decision{Thought: "I share it.", Calls: []agentbound.Call{call("share", `{"photo":"P-1","to":"a"}`), call("unlog", `{}`), call("move", `{"photo":"P-1"}`)}})

	want := []episode.Observation{
		{Call: call("share", `{"photo":"P-1","to":"a"}`), Value: agentbound.StringValue("error: the call was not allowed: no consent"), Gate: &agentbound.GateDecision{By: "gate", Reason: "no consent"}},
		{Call: call("unlog", `{}`), OK: true, Value: agentbound.StringValue("answer 2"), Gate: &agentbound.GateDecision{By: "gate", Allowed: true}},
		{Call: call("move", `{"photo":"P-1"}`), Value: agentbound.StringValue("error: the call was not allowed"), Gate: &agentbound.GateDecision{By: "gate"}},
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Errorf("observations: %s", d)
	}
	if d := cmp.Diff([]agentbound.Call{call("read_photo", `{"photo":"P-1"}`), call("unlog", `{}`)}, w.asked); d != "" {
		t.Errorf("the world was asked: %s", d)
	}
	tr := stored(t, e)
	if tr.Intervention != "guard" {
		t.Errorf("intervention %q", tr.Intervention)
	}
	var decisions []*agentbound.GateDecision
	for _, c := range tr.Steps[1].Calls {
		decisions = append(decisions, c.Gate)
	}
	if d := cmp.Diff([]*agentbound.GateDecision{{By: "gate", Reason: "no consent"}, {By: "gate", Allowed: true}, {By: "gate"}}, decisions); d != "" {
		t.Errorf("recorded decisions: %s", d)
	}
	// A gate sees the call, and what a corrector sees.
	if got := g.given[1]; got.Thought != "I share it." || got.Call.Tool != "share" || len(got.History) != 1 || got.Instruction != tr.Instruction {
		t.Errorf("the gate was given %+v", got)
	}
}

// TestCorrector: Review shows the Thought, Revised keeps the draft with its action.
func TestCorrector(t *testing.T) {
	w := &echo{}
	c := &corrector{correct: func(thought string) (string, error) { return strings.Replace(thought, "share", "ask about", 1), nil }}
	e := begin(t, w, func(cfg *episode.Config) {
		cfg.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "aligner"}, Corrector: c}
	})
	draft := episode.Decision{Thought: "I share it.", Calls: []agentbound.Call{call("share", `{"photo":"P-1","to":"a"}`)}, Usage: agentbound.Usage{InputTokens: 5}}
	thought, changed, err := e.Review(t.Context(), draft)
	if err != nil || !changed || thought != "I ask about it." {
		t.Fatalf("review: %q, %t, %v", thought, changed, err)
	}
	revised := episode.Decision{Thought: thought, Calls: []agentbound.Call{call("read_photo", `{"photo":"P-1"}`)}, Usage: agentbound.Usage{InputTokens: 7}}
	commit(t, e, episode.Revised(revised, draft))
	if thought, changed, err = e.Review(t.Context(), episode.Decision{Thought: "I look."}); err != nil || changed || thought != "I look." {
		t.Errorf("a Thought that is kept: %q, %t, %v", thought, changed, err)
	}
	ending := episode.Decision{Thought: "I share no more.", Outcome: &agentbound.Outcome{Word: agentbound.Declined, Reason: "no"}}
	commit(t, e, episode.Revised(end(agentbound.Done), ending))

	tr := stored(t, e)
	want := []agentbound.Step{{
		Thought: "I ask about it.", ThoughtSource: agentbound.ThoughtText, Usage: agentbound.Usage{InputTokens: 12},
		Draft: &agentbound.Draft{
			Thought: "I share it.", ThoughtSource: agentbound.ThoughtText, Usage: &agentbound.Usage{InputTokens: 5},
			Calls: []agentbound.Call{call("share", `{"photo":"P-1","to":"a"}`)},
		},
		Review: &agentbound.Review{Changed: true, Usage: agentbound.Usage{InputTokens: 3}}, // no part of the step's own
		Calls:  []agentbound.CallRecord{{Call: call("read_photo", `{"photo":"P-1"}`), OK: true, Observation: agentbound.StringValue("answer 1")}},
	}, {
		Thought: "I end.", ThoughtSource: agentbound.ThoughtText, Calls: []agentbound.CallRecord{},
		Review: &agentbound.Review{Usage: agentbound.Usage{InputTokens: 3}},
		Draft:  &agentbound.Draft{Thought: "I share no more.", ThoughtSource: agentbound.ThoughtText, Calls: []agentbound.Call{}, Outcome: &agentbound.Outcome{Word: agentbound.Declined, Reason: "no"}},
	}}
	if d := cmp.Diff(want, tr.Steps); d != "" {
		t.Errorf("steps: %s", d)
	}
	if len(w.asked) != 1 {
		t.Errorf("the draft was executed: %v", w.asked)
	}
}

// TestFailingIntervention: what fails leaves the trial unscored, or the set-up says how
// it goes on; that is on record either way.
func TestFailingIntervention(t *testing.T) {
	broken := errors.New("no connection")
	share := episode.Decision{Thought: "I share it.", Calls: []agentbound.Call{call("share", `{"photo":"P-1","to":"a"}`)}}
	for _, c := range []struct {
		how              intervene.OnFailure
		executed, scored bool
	}{{"", false, false}, {intervene.Unscored, false, false}, {intervene.Open, true, true}, {intervene.Closed, false, true}} {
		for _, part := range []string{"corrector", "gate"} {
			w := &echo{}
			e := begin(t, w, func(cfg *episode.Config) {
				cfg.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "aligner"}, OnFailure: c.how}
				if part == "corrector" {
					cfg.Intervention.Corrector = &corrector{correct: func(string) (string, error) { return "", broken }}
				} else {
					cfg.Intervention.Gate = &gate{err: broken}
				}
			})
			thought, changed, err := e.Review(t.Context(), share)
			var seen []episode.Observation
			if err == nil {
				seen, err = e.Commit(t.Context(), share)
			}
			if (err == nil) != c.scored || thought != share.Thought || changed || len(w.asked) > 0 != c.executed {
				t.Errorf("%s %q: %q, %t, %v, executed %v", part, c.how, thought, changed, err, w.asked)
			}
			if !c.scored {
				if tr := stored(t, e); tr.End.Reason != agentbound.EndFault || !strings.Contains(tr.End.Fault, part+": no connection") {
					t.Errorf("%s: end %+v", part, tr.End)
				}
				continue
			}
			commit(t, e, end(agentbound.Done)) // the next decision is not held for what failed before
			steps := stored(t, e).Steps
			failed, made := "", steps[0].Calls[0]
			if steps[0].Review != nil {
				failed = steps[0].Review.Failed
			} else if made.Gate != nil {
				failed = made.Gate.Failed
			}
			stopped := made.Gate != nil && !made.Gate.Allowed && made.Gate.By == "aligner" && strings.Contains(string(seen[0].Value), "could not be reviewed")
			if failed != broken.Error() || stopped == c.executed || steps[1].Review != nil {
				t.Errorf("%s %q: %+v", part, c.how, steps)
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	e := begin(t, &echo{}, func(cfg *episode.Config) {
		cfg.Intervention = intervene.Intervention{OnFailure: intervene.Open, Corrector: &corrector{correct: func(string) (string, error) { stop(); return "", broken }}}
	})
	if _, _, err := e.Review(ctx, share); err == nil {
		t.Error("a cancelled trial goes on without its corrector")
	}
}

func TestNoCorrectorKeepsTheThought(t *testing.T) {
	e := begin(t, &echo{}, nil)
	if thought, changed, err := e.Review(t.Context(), episode.Decision{Thought: "I share it."}); thought != "I share it." || changed || err != nil {
		t.Errorf("review: %q, %t, %v", thought, changed, err)
	}
}

// TestWhatACorrectorSees: instruction, history of Thoughts and observations, names of
// tools, next Thought (specification §8). No field could hold more, and at run time
// none does: no arguments, no labels, no state, no drafts.
func TestWhatACorrectorSees(t *testing.T) {
	for _, typ := range []struct {
		of   any
		want []string
	}{
		{intervene.Context{}, []string{"Instruction string", "History []intervene.Turn", "Tools []string", "Thought string"}},
		{intervene.Turn{}, []string{"Thought string", "Observations []agentbound.Value"}},
	} {
		var fields []string
		for f := range reflect.TypeOf(typ.of).Fields() {
			fields = append(fields, f.Name+" "+f.Type.String())
		}
		if d := cmp.Diff(typ.want, fields); d != "" {
			t.Errorf("%T: %s", typ.of, d)
		}
	}

	c := &corrector{correct: func(s string) (string, error) { return s, nil }}
	w := &echo{}
	var task *agentbound.Task
	e := begin(t, w, func(cfg *episode.Config) { cfg.Intervention.Corrector, task = c, cfg.Task })
	commit(t, e, episode.Revised(act(call("share", `{"photo":"SECRET-ARGUMENT","to":"a"}`), call("unlog", `{}`)), episode.Decision{Thought: "SECRET-DRAFT"}))
	commit(t, e, episode.Decision{Calls: []agentbound.Call{call("log", `{"text":"SECRET-ARGUMENT"}`)}})
	if _, _, err := e.Review(t.Context(), episode.Decision{Thought: "I go on.", Calls: []agentbound.Call{call("log", `{"text":"SECRET-ARGUMENT"}`)}}); err != nil {
		t.Fatal(err)
	}
	var tools []string
	for _, tool := range task.Tools {
		tools = append(tools, tool.Name)
	}
	want := intervene.Context{
		Instruction: task.Instruction, Tools: tools, Thought: "I go on.",
		History: []intervene.Turn{
			{Thought: "I act.", Observations: []agentbound.Value{agentbound.StringValue("answer 1"), agentbound.StringValue("answer 2")}},
			{Observations: []agentbound.Value{agentbound.StringValue("answer 3")}},
		},
	}
	if d := cmp.Diff(want, c.given[0]); d != "" {
		t.Error(d)
	}
	all, err := json.Marshal(c.given)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"SECRET", string(task.ID), "withdrawn", "without consent"} {
		if strings.Contains(string(all), secret) {
			t.Errorf("a corrector was shown %q: %s", secret, all)
		}
	}
}

// TestOutOfSteps: the trial ends, and that is behaviour.
func TestOutOfSteps(t *testing.T) {
	w := &echo{}
	e := begin(t, w, func(cfg *episode.Config) { cfg.Limits.Steps = 2 })
	step := act(call("unlog", `{}`))
	commit(t, e, step)
	if left := e.StepsLeft(); left != 1 {
		t.Errorf("%d steps left", left)
	}
	commit(t, e, step)
	if _, err := e.Commit(t.Context(), step); !errors.Is(err, episode.ErrSteps) || !e.Ended() {
		t.Errorf("error %v, ended %t", err, e.Ended())
	}
	if tr := stored(t, e); tr.End != (agentbound.End{Reason: agentbound.EndSteps}) || len(tr.Steps) != 2 || len(w.asked) != 2 {
		t.Errorf("end %+v, %d steps, %d calls", tr.End, len(tr.Steps), len(w.asked))
	}
}

// TestTheLastWordNeedsNoStep: one may end after the last step.
func TestTheLastWordNeedsNoStep(t *testing.T) {
	e := begin(t, &echo{}, func(cfg *episode.Config) { cfg.Limits.Steps = 1 })
	commit(t, e, act(call("unlog", `{}`)))
	commit(t, e, end(agentbound.Done))
	if tr := stored(t, e); tr.End.Reason != agentbound.EndOutcome || tr.Outcome.Word != agentbound.Done {
		t.Errorf("end %+v, outcome %+v", tr.End, tr.Outcome)
	}
}

// TestThinkingWithoutActingTakesSteps, or a subject that only thinks would never end.
func TestThinkingWithoutActingTakesSteps(t *testing.T) {
	for name, d := range map[string]episode.Decision{"a Thought alone": {Thought: "Let me see."}, "nothing at all": {}} {
		t.Run(name, func(t *testing.T) {
			e := begin(t, &echo{}, func(cfg *episode.Config) { cfg.Limits.Steps = 3 })
			for range 3 {
				commit(t, e, d)
			}
			if _, err := e.Commit(t.Context(), d); !errors.Is(err, episode.ErrSteps) {
				t.Errorf("error %v", err)
			}
			if tr := stored(t, e); tr.End.Reason != agentbound.EndSteps {
				t.Errorf("end %+v", tr.End)
			}
		})
	}
}

// TestLimitsOfACall: what is over a limit is not executed, is recorded, and the
// subject is told.
func TestLimitsOfACall(t *testing.T) {
	t.Run("calls in one step", func(t *testing.T) {
		w := &echo{}
		e := begin(t, w, func(cfg *episode.Config) { cfg.Limits.Calls = 2 })
		seen := commit(t, e, act(call("log", `{"text":"1"}`), call("log", `{"text":"2"}`), call("log", `{"text":"3"}`)))
		if len(seen) != 3 || seen[2].OK || !strings.Contains(seen[2].Value.String(), "at most 2 calls") || len(w.asked) != 2 {
			t.Errorf("observations %+v; %d calls", seen, len(w.asked))
		}
		commit(t, e, act(call("log", `{"text":"3"}`))) // the next step may
		tr := stored(t, e)
		if len(tr.Steps[0].Calls) != 3 || len(w.asked) != 3 {
			t.Errorf("recorded %+v, executed %d", tr.Steps[0].Calls, len(w.asked))
		}
		for i, c := range tr.Steps[0].Calls {
			if c.Limited != (i == 2) {
				t.Errorf("call %d: limited %t", i, c.Limited)
			}
		}
	})
	t.Run("bytes of arguments", func(t *testing.T) {
		w, g := &echo{}, &gate{}
		e := begin(t, w, func(cfg *episode.Config) { cfg.Limits.Args, cfg.Intervention.Gate = 20, g })
		seen := commit(t, e, act(call("log", `{"text":"12345678"}`), call("log", `{"text":"1234567890"}`), call("log", `"ééééééééééééééééé"`)))
		if !seen[0].OK || seen[1].OK || seen[2].OK || !strings.Contains(seen[1].Value.String(), "21 bytes") || len(w.asked) != 1 {
			t.Errorf("observations %+v; %d calls", seen, len(w.asked))
		}
		if len(g.given) != 1 {
			t.Errorf("the gate was asked about what is not executed: %+v", g.given)
		}
		if c := stored(t, e).Steps[0].Calls[1]; !c.Limited {
			t.Errorf("recorded %+v", c)
		}
		if got := stored(t, e).Steps[0].Calls[1].Args; got.Equal(agentbound.Value(`{"text":"1234567890"}`)) || !json.Valid(got) {
			t.Errorf("recorded arguments %s", got)
		}
	})
	t.Run("bytes of an observation", func(t *testing.T) {
		w := &echo{answer: func(c agentbound.Call) (world.Observed, error) {
			return world.Observed{OK: true, Observation: c.Args, Diff: agentbound.Diff{{Op: "add", Path: "/a", Value: agentbound.Null}}}, nil
		}}
		e := begin(t, w, func(cfg *episode.Config) { cfg.Limits.Observation = 21 })
		seen := commit(t, e, act(call("log", `{"text":"1234567890"}`), call("log", `{"text":"12345678901"}`)))
		if strings.Contains(seen[0].Value.String(), "too long") || !strings.Contains(seen[1].Value.String(), "too long to show") || !seen[1].OK {
			t.Errorf("observations %+v", seen)
		}
		if c := stored(t, e).Steps[0].Calls[1]; !c.OK || len(c.Diff) != 1 {
			t.Errorf("the call took effect, and the record says %+v", c)
		}
	})
}

// TestMalformedArguments are answered, and kept as the JSON string of what was sent.
func TestMalformedArguments(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	f := familytest.Family(t)
	for name, test := range map[string]struct{ sent, want string }{
		"cut short":                 {`{"photo":"P-1`, `"{\"photo\":\"P-1"`},
		"two values":                {`{} {}`, `"{} {}"`},
		"prose":                     {`photo P-1`, `"photo P-1"`},
		"bytes that are not UTF-8":  {"\xff\xfe", "\"\uFFFD\""},
		"nested too deeply":         {deep, `"` + deep + `"`},
		"a number that fits nobody": {`{"photo":1e999}`, `"{\"photo\":1e999}"`},
		"an endless number":         {`{"photo":` + strings.Repeat("9", 2000) + `}`, `"{\"photo\":` + strings.Repeat("9", 2000) + `}"`},
		"nothing":                   {``, `{}`},
		"white space is no matter":  {"{ \"photo\" :\n1.50 }", `{"photo":1.50}`},
		"not UTF-8 within a text":   {"{\"photo\":\"\xff\"}", "{\"photo\":\"\uFFFD\"}"},
		"no object":                 {`[1]`, `[1]`},
		"a key twice":               {`{"photo":1,"photo":2}`, `{"photo":1,"photo":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := program.Worlds{Cache: star.NewCache(0)}.Open(t.Context(), f, familytest.Task(t, f, agentbound.CM))
			if err != nil {
				t.Fatal(err)
			}
			e := begin(t, w, nil)
			seen := commit(t, e, act(call("read_photo", test.sent)))
			if seen[0].OK || !strings.HasPrefix(seen[0].Value.String(), `"error: `) {
				t.Errorf("answered %s", seen[0].Value)
			}
			if got := stored(t, e).Steps[0].Calls[0].Args; string(got) != test.want {
				t.Errorf("kept as %s, want %s", got, test.want)
			}
		})
	}
}

// TestWhatASubjectSendsCanBeStored, whatever it is.
func TestWhatASubjectSendsCanBeStored(t *testing.T) {
	e := begin(t, &echo{}, func(cfg *episode.Config) { cfg.Intervention.Gate = &gate{denied: map[string]string{"a\xffb": "\xff"}} })
	const odd = "\xff<&>\u2028\x00é"
	commit(t, e, episode.Decision{
		Thought: odd, Calls: []agentbound.Call{call("a\xffb", odd), call("unlog", `{"k":"`+"\u2028<&>"+`"}`)},
		Draft: &agentbound.Draft{Thought: odd, Calls: []agentbound.Call{call(odd, `{"cut`)}, Outcome: &agentbound.Outcome{Reason: odd}},
	})
	commit(t, e, episode.Decision{Outcome: &agentbound.Outcome{Word: agentbound.Done, Reason: odd, Text: odd}})
	tr := stored(t, e)
	if got := tr.Steps[0].Draft.Calls[0].Args; string(got) != `"{\"cut"` {
		t.Errorf("the draft's arguments are kept as %s", got)
	}
}

// TestInfrastructure: an error of the world, the corrector or the gate is an error of
// Commit or Review, and ends the trial as a fault, even where the agent drops it.
func TestInfrastructure(t *testing.T) {
	broken := errors.New("connection reset")
	for name, test := range map[string]struct {
		change func(*episode.Config)
		do     func(context.Context, *episode.Episode) error
	}{
		"world": {
			func(cfg *episode.Config) {
				cfg.World = &echo{answer: func(c agentbound.Call) (world.Observed, error) {
					if c.Tool == "log" {
						return world.Observed{}, broken
					}
					return world.Observed{OK: true, Observation: agentbound.Null}, nil
				}}
			},
			func(ctx context.Context, e *episode.Episode) error {
				_, err := e.Commit(ctx, act(call("unlog", `{}`), call("log", `{"text":"a"}`), call("unlog", `{}`)))
				return err
			},
		},
		"gate": {
			func(cfg *episode.Config) { cfg.Intervention.Gate = &gate{err: broken} },
			func(ctx context.Context, e *episode.Episode) error {
				_, err := e.Commit(ctx, act(call("unlog", `{}`)))
				return err
			},
		},
		"corrector": {
			func(cfg *episode.Config) {
				cfg.Intervention.Corrector = &corrector{correct: func(string) (string, error) { return "", broken }}
			},
			func(ctx context.Context, e *episode.Episode) error {
				_, _, err := e.Review(ctx, act())
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := begin(t, &echo{}, test.change)
			err := test.do(t.Context(), e)
			if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), name+": ") {
				t.Errorf("error %v", err)
			}
			if _, err := e.Commit(t.Context(), end(agentbound.Done)); !errors.Is(err, episode.ErrEnded) {
				t.Errorf("the trial goes on after the fault: %v", err)
			}
			tr := stored(t, e)
			if tr.End.Reason != agentbound.EndFault || !strings.Contains(tr.End.Fault, "connection reset") || tr.Outcome.Word != agentbound.Unstated {
				t.Errorf("end %+v, outcome %+v", tr.End, tr.Outcome)
			}
			if name == "world" && (len(tr.Steps) != 1 || len(tr.Steps[0].Calls) != 1) {
				t.Errorf("what was done before the fault is kept: %+v", tr.Steps)
			}
		})
	}
}

// TestTheCauseOfAFault: where time ran out, that is said and not what came of it.
func TestTheCauseOfAFault(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the trial passed its limit"))
	e := begin(t, &echo{answer: func(agentbound.Call) (world.Observed, error) { return world.Observed{}, ctx.Err() }}, nil)
	if _, err := e.Commit(ctx, act(call("unlog", `{}`))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if tr := stored(t, e); tr.End.Fault != "the trial passed its limit" {
		t.Errorf("end %+v", tr.End)
	}
}

// TestSeed is the trial's, for agents that sample.
func TestSeed(t *testing.T) {
	if e := begin(t, &echo{}, nil); e.Seed() != 7 || stored(t, e).Seed != 7 {
		t.Errorf("seed %d", e.Seed())
	}
}

// FuzzCommit: whatever a subject sends, the trial has an answer and a trajectory that
// can be stored and read back.
func FuzzCommit(f *testing.F) {
	for _, seed := range [][3]string{{"I look.", "read_photo", `{"photo":"P-1"}`}, {"", "share", `{"photo":`}, {"\xff", "\xff", "\xff"}, {"", "", `1e999`}, {"", "log", `{"text":"\ud800"}`}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	family := familytest.Family(f)
	cache := star.NewCache(0)
	f.Fuzz(func(t *testing.T, thought, tool, args string) {
		task := familytest.Task(t, family, agentbound.CM)
		w, err := program.Worlds{Cache: cache}.Open(t.Context(), family, task)
		if err != nil {
			t.Fatal(err)
		}
		e := begin(t, w, nil)
		d := episode.Decision{Thought: thought, Calls: []agentbound.Call{call(tool, args), call("share", args)}}
		seen := commit(t, e, episode.Revised(d, d))
		if len(seen) != 2 || slices.ContainsFunc(seen, func(o episode.Observation) bool { return !json.Valid(o.Value) }) {
			t.Errorf("observations %+v", seen)
		}
		commit(t, e, episode.Decision{Outcome: &agentbound.Outcome{Word: agentbound.Unstated, Reason: thought, Text: args}})
		stored(t, e)
	})
}

// TestFloodOfCalls: of a decision with more calls than are looked at, the first are
// recorded and the rest leave no trace.
func TestFloodOfCalls(t *testing.T) {
	f := familytest.Family(t)
	task, _ := f.Task(agentbound.EB)
	e := episode.New(episode.Config{Task: task, World: flooded{}})
	calls := make([]agentbound.Call, 100_000)
	for i := range calls {
		calls[i] = agentbound.Call{Tool: "log", Args: agentbound.Value(`{"text":"x"}`)}
	}
	seen, err := e.Commit(t.Context(), episode.Decision{Thought: "all at once", Calls: calls})
	if err != nil || len(seen) != episode.MostCalls {
		t.Fatalf("%d answers, %v", len(seen), err)
	}
	limit := agentbound.DefaultLimits().Calls
	for i, c := range e.Trajectory().Steps[0].Calls {
		if c.OK != (i < limit) || c.Limited == (i < limit) {
			t.Fatalf("call %d: %+v", i, c)
		}
	}
}

type flooded struct{}

func (flooded) Call(context.Context, agentbound.Call) (world.Observed, error) {
	return world.Observed{OK: true, Observation: agentbound.Null}, nil
}

// TestResume: steps of another trial count against the limit, stand in the record as they
// were, and are the history that a corrector sees.
func TestResume(t *testing.T) {
	f := familytest.Family(t)
	watch := &watches{}
	i := intervene.None()
	i.Corrector = watch
	steps := []agentbound.Step{
		{Thought: "one", Calls: []agentbound.CallRecord{{Call: agentbound.Call{Tool: "a", Args: agentbound.Value("{}")}, Observation: agentbound.Value("1")}}, MS: 7},
		{Thought: "two", Calls: []agentbound.CallRecord{}},
	}
	e := episode.Resume(episode.Config{Task: familytest.Task(t, f, agentbound.EB), WorldName: "none", Intervention: i, Limits: agentbound.Limits{Steps: 3}}, steps)
	if e.StepsLeft() != 1 {
		t.Errorf("%d steps are left of 3, after 2", e.StepsLeft())
	}
	if _, _, err := e.Review(t.Context(), episode.Decision{Thought: "three"}); err != nil {
		t.Fatal(err)
	}
	want := []intervene.Turn{{Thought: "one", Observations: []agentbound.Value{agentbound.Value("1")}}, {Thought: "two"}}
	if d := cmp.Diff(want, watch.seen.History); d != "" {
		t.Error(d)
	}
	if _, err := e.Commit(t.Context(), episode.Decision{Thought: "three", Outcome: &agentbound.Outcome{Word: agentbound.Done}}); err != nil {
		t.Fatal(err)
	}
	tr := e.Trajectory()
	if d := cmp.Diff(steps, tr.Steps[:2]); d != "" || len(tr.Steps) != 3 {
		t.Errorf("%d steps: %s", len(tr.Steps), d)
	}
}

// watches keeps what it is shown.
type watches struct{ seen intervene.Context }

func (w *watches) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	w.seen = c
	return intervene.Correction{Thought: c.Thought}, nil
}
