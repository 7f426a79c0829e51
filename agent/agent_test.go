package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/world"
)

type silent struct{ err error }

func (w silent) Call(context.Context, agentbound.Call) (world.Observed, error) {
	return world.Observed{OK: true, Observation: agentbound.StringValue("seen")}, w.err
}

// policy plays decisions in order; Revise says what the Thought was revised to and
// then unlogs.
type policy struct {
	decisions []episode.Decision
	err       error
	seen      [][]episode.Observation
	revised   []string
}

func (p *policy) Next(_ context.Context, seen []episode.Observation) (episode.Decision, error) {
	p.seen = append(p.seen, seen)
	if p.err != nil {
		return episode.Decision{}, p.err
	}
	d := p.decisions[0]
	p.decisions = p.decisions[1:]
	return d, nil
}

func (p *policy) Revise(_ context.Context, draft episode.Decision, thought string) (episode.Decision, error) {
	p.revised = append(p.revised, draft.Thought+" -> "+thought)
	return episode.Decision{Thought: thought, Calls: []agentbound.Call{{Tool: "unlog", Args: agentbound.Value(`{}`)}}}, p.err
}

// edits corrects a Thought by a table; what it gives for one is never corrected again.
type edits map[string]string

func (e edits) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	if to, ok := e[c.Thought]; ok {
		return intervene.Correction{Thought: to}, nil
	}
	return intervene.Correction{Thought: c.Thought}, nil
}

func think(thought, tool string) episode.Decision {
	return episode.Decision{Thought: thought, Calls: []agentbound.Call{{Tool: tool, Args: agentbound.Value(`{}`)}}}
}

func end(word agentbound.Word) episode.Decision {
	return episode.Decision{Thought: "enough", Outcome: &agentbound.Outcome{Word: word}}
}

func loop(t *testing.T, p *policy, w world.World, c intervene.Corrector, limits agentbound.Limits) (*agentbound.Trajectory, error) {
	t.Helper()
	f := familytest.Family(t)
	i := intervene.None()
	i.Corrector = c
	e := episode.New(episode.Config{Task: familytest.Task(t, f, agentbound.EB), World: w, WorldName: "silent", Agent: "policy", Intervention: i, Limits: limits})
	err := agent.Loop(t.Context(), e, p)
	return e.Trajectory(), err
}

// summary is what a trial's steps were, in a line each.
func summary(tr *agentbound.Trajectory) (lines []string) {
	for _, s := range tr.Steps {
		line := s.Thought
		for _, c := range s.Calls {
			line += " | " + c.Tool
		}
		if s.Draft != nil {
			line += " (drafted: " + s.Draft.Thought + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestLoopGoesOnUntilAnOutcome(t *testing.T) {
	p := &policy{decisions: []episode.Decision{think("one", "unlog"), think("two", "unlog"), end(agentbound.Done), think("never", "unlog")}}
	tr, err := loop(t, p, silent{}, nil, agentbound.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"one | unlog", "two | unlog", "enough"}, summary(tr)); d != "" {
		t.Error(d)
	}
	if tr.Outcome.Word != agentbound.Done {
		t.Errorf("outcome %+v", tr.Outcome)
	}
	// The first decision is made from nothing, each later one from what the last brought.
	if len(p.seen) != 3 || p.seen[0] != nil || len(p.seen[1]) != 1 || len(p.seen[2]) != 1 {
		t.Errorf("seen %+v", p.seen)
	}
}

// TestLoopRevisesOnce: where the Thought came back changed the agent decides once
// more, and that is committed, whatever the corrector would say of it.
func TestLoopRevisesOnce(t *testing.T) {
	p := &policy{decisions: []episode.Decision{think("share it", "share"), think("look", "read_photo"), end(agentbound.Done)}}
	tr, err := loop(t, p, silent{}, edits{"share it": "ask first", "ask first": "and again"}, agentbound.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"share it -> ask first"}, p.revised); d != "" {
		t.Errorf("revised: %s", d)
	}
	if d := cmp.Diff([]string{"ask first | unlog (drafted: share it)", "look | read_photo", "enough"}, summary(tr)); d != "" {
		t.Error(d)
	}
}

// TestLoopAtTheLastStep: out of steps is behaviour and no error.
func TestLoopAtTheLastStep(t *testing.T) {
	p := &policy{decisions: []episode.Decision{think("one", "unlog"), think("two", "unlog"), think("three", "unlog")}}
	tr, err := loop(t, p, silent{}, nil, agentbound.Limits{Steps: 2})
	if err != nil || tr.End.Reason != agentbound.EndSteps || len(tr.Steps) != 2 {
		t.Errorf("error %v, end %+v, %d steps", err, tr.End, len(tr.Steps))
	}
}

func TestLoopGivesInfrastructureErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		policy *policy
		world  world.World
		fixes  intervene.Corrector
	}{
		"of the policy":  {&policy{err: broken}, silent{}, nil},
		"of the world":   {&policy{decisions: []episode.Decision{think("one", "unlog")}}, silent{broken}, nil},
		"of a corrector": {&policy{decisions: []episode.Decision{think("one", "unlog")}}, silent{}, correct(func() (string, error) { return "", broken })},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := loop(t, test.policy, test.world, test.fixes, agentbound.Limits{}); !errors.Is(err, broken) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestLoopGivesTheErrorOfRevise: the draft is not committed in its place.
func TestLoopGivesTheErrorOfRevise(t *testing.T) {
	broken := errors.New("broken")
	p := &policy{decisions: []episode.Decision{think("share it", "share")}}
	fails := correct(func() (string, error) { p.err = broken; return "ask first", nil })
	tr, err := loop(t, p, silent{}, fails, agentbound.Limits{})
	if !errors.Is(err, broken) || len(tr.Steps) != 0 {
		t.Errorf("error %v, steps %v", err, summary(tr))
	}
}

type correct func() (string, error)

func (c correct) Correct(context.Context, intervene.Context) (intervene.Correction, error) {
	thought, err := c()
	return intervene.Correction{Thought: thought}, err
}
