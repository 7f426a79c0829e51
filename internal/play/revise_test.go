package play_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/intervene"
)

// TestRevise: a corrector's Thought goes back to the subject, which decides again; the
// draft is recorded. A server that dies in between does not ask the corrector again.
func TestRevise(t *testing.T) {
	d := newDesk(t)
	asked := 0
	d.inter = intervene.Intervention{
		Ref: agentbound.Intervention{Name: "careful", Version: "1"},
		Corrector: corrector(func(thought string) string {
			asked++
			return strings.ReplaceAll(thought, "refuse", "look first")
		}),
	}
	sealed := d.seal(d.plan(agentbound.HB))[0]
	d.open()
	session := d.start(sealed.ID).Session

	finish := play.Finish{Session: session, Outcome: agentbound.Declined, Reason: "I refuse", Request: "r1"}
	r, err := d.Finish(t.Context(), finish)
	if err != nil || r.Recorded || r.Revise == nil || r.Revise.Thought != "I look first" {
		t.Fatalf("%+v, %v", r, err)
	}
	d.open() // killed and started again
	if o := d.start(sealed.ID); o.Revise == nil || o.Revise.Thought != "I look first" {
		t.Errorf("the revision is not shown again: %+v", o.Revise)
	}
	look := d.reference().Workflow[0]
	if a := d.call(session, look); a.Revise != nil || len(a.Observation) == 0 {
		t.Errorf("the call after the revision: %+v", a)
	}
	if o := d.start(sealed.ID); o.Revise != nil || o.Steps[0].Thought != "I look first" {
		t.Errorf("%+v", o)
	}
	d.finish(session, agentbound.Unable)
	if asked != 2 { // the draft, and the end; what answers a revision is not reviewed again
		t.Errorf("the corrector was asked %d times", asked)
	}
	tr := d.result(sealed).Trajectory
	step := tr.Steps[0]
	want := &agentbound.Draft{Thought: "I refuse", ThoughtSource: agentbound.ThoughtText, Calls: []agentbound.Call{}, Outcome: &agentbound.Outcome{Word: agentbound.Declined, Reason: "I refuse"}}
	if diff := cmp.Diff(want, step.Draft); diff != "" || step.Thought != "I look first" || !step.Calls[0].Equal(look) {
		t.Errorf("%+v: %s", step, diff)
	}
	if tr.Intervention != "careful" || len(tr.Steps) != 2 || tr.Steps[1].Draft != nil || !step.Review.Changed || tr.Steps[1].Review == nil {
		t.Errorf("%s, %+v", tr.Intervention, tr.Steps[1:])
	}
}

// doorman allows a call the first time it is asked, and fails or denies later.
type doorman struct {
	asked atomic.Int64
	fails bool
}

func (g *doorman) Allow(context.Context, intervene.Proposal) (agentbound.GateDecision, error) {
	n := g.asked.Add(1)
	if g.fails && n > 1 {
		return agentbound.GateDecision{}, errors.New("no connection")
	}
	return agentbound.GateDecision{By: "doorman", Allowed: n == 1, Reason: "once only"}, nil
}

// TestGate: what a gate said stands in the journal, so that a session that is lived
// through again does not depend on what the gate would say now.
func TestGate(t *testing.T) {
	d := newDesk(t)
	gate := &doorman{}
	d.inter = intervene.Intervention{Ref: agentbound.Intervention{Name: "doorman"}, Gate: gate}
	sealed := d.seal(d.plan(agentbound.HB))[0]
	d.open()
	session := d.start(sealed.ID).Session
	w := d.reference().Workflow
	d.call(session, w[0])
	d.open()
	if a := d.call(session, w[1]); !strings.Contains(string(a.Observation), "not allowed: once only") {
		t.Errorf("observation %s", a.Observation)
	}
	d.open()
	d.finish(session, agentbound.Unable)
	steps := d.result(sealed).Trajectory.Steps
	if gate.asked.Load() != 2 || !steps[0].Calls[0].Gate.Allowed || steps[1].Calls[0].Gate.Allowed {
		t.Errorf("asked %d times; %+v", gate.asked.Load(), steps)
	}
}

// TestFault: what fails in an intervention is infrastructure: nothing was done, nothing
// is scored, and the subject may try again.
func TestFault(t *testing.T) {
	d := newDesk(t)
	gate := &doorman{fails: true}
	d.inter = intervene.Intervention{Ref: agentbound.Intervention{Name: "doorman"}, Gate: gate}
	sealed := d.seal(d.plan(agentbound.HB))[0]
	d.open()
	o := d.start(sealed.ID)
	w := d.reference().Workflow
	d.call(o.Session, w[0])
	_, err := d.Call(t.Context(), play.Call{Session: o.Session, Tool: w[1].Tool, Args: w[1].Args})
	if play.CodeOf(err) != play.Failed || !strings.Contains(err.Error(), "nothing was done: try again") || strings.Contains(err.Error(), "connection") {
		t.Errorf("%v", err)
	}
	if got := d.start(sealed.ID); len(got.Steps) != 1 {
		t.Errorf("steps %+v", got.Steps)
	}
	gate.fails = false
	d.call(o.Session, w[1])
	if got := d.start(sealed.ID); len(got.Steps) != 2 {
		t.Errorf("steps %+v", got.Steps)
	}
}

// TestReviewIsKept: what a corrector said of a Thought that it kept, or that it failed, is
// in the journal: a session that is lived through again asks nobody and records the same.
func TestReviewIsKept(t *testing.T) {
	for _, how := range []intervene.OnFailure{intervene.Open, intervene.Closed} {
		d := newDesk(t)
		asked := 0
		d.inter = intervene.Intervention{Ref: agentbound.Intervention{Name: "careful"}, OnFailure: how, Corrector: failing(func(thought string) error {
			if asked++; asked == 2 {
				return errors.New("no connection")
			}
			return nil
		})}
		sealed := d.seal(d.plan(agentbound.HB))[0]
		d.open()
		session := d.start(sealed.ID).Session
		w := d.reference().Workflow
		d.call(session, w[0])
		d.call(session, w[1])
		d.open()
		d.finish(session, agentbound.Unable)
		steps := d.result(sealed).Trajectory.Steps
		if asked != 3 || len(steps) != 3 || steps[0].Review == nil || steps[0].Review.Failed != "" {
			t.Fatalf("%s: asked %d times; %+v", how, asked, steps)
		}
		if r := steps[1].Review; r == nil || r.Failed != "no connection" || r.Closed != (how == intervene.Closed) || steps[1].Calls[0].OK != (how == intervene.Open) {
			t.Errorf("%s: %+v, %+v", how, r, steps[1].Calls)
		}
	}
}

// failing is a corrector that keeps every Thought, or fails.
type failing func(thought string) error

func (f failing) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	return intervene.Correction{Thought: c.Thought}, f(c.Thought)
}
