package fork

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
)

// play carries one sample through: the agent decides anew from the Thought of its arm, by
// the same way of asking in both, and goes on bare. The error is ctx's alone.
func (f *forker) play(ctx context.Context, b branch, ed edited, arm agentbound.ForkArm, n int, key agentbound.TrialKey) (*agentbound.Trajectory, error) {
	limits := f.Plan.Limits.WithDefaults()
	own := seed(key)
	play := &model.Play{Trial: key, Repeat: n, Seed: own}
	expired := fmt.Errorf("the sample passed its limit of %d seconds", limits.Seconds)
	within, cancel := context.WithTimeoutCause(model.WithPlay(ctx, play), time.Duration(limits.Seconds)*time.Second, expired)
	defer cancel()
	within, stop := context.WithCancelCause(within)
	defer stop(nil)
	play.Break = stop
	w, err := f.world(within, b)
	e := f.episode(b, w, intervene.None(), own)
	if err == nil {
		err = f.goOn(within, b, ed, arm, own, e)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil && !e.Ended() {
		err = within.Err()
	}
	if err != nil {
		if within.Err() != nil {
			err = context.Cause(within)
		}
		e.Fault(err)
	}
	tr := e.Trajectory()
	tr.Fork = mark(b.Trial.Key, b.Step, arm, n)
	if arm == agentbound.ForkTreated {
		tr.Intervention = f.Intervention.Ref.Name
	}
	play.End(tr.End.Reason != agentbound.EndFault, tr.End.Fault)
	return tr, nil
}

func (f *forker) goOn(ctx context.Context, b branch, ed edited, arm agentbound.ForkArm, own uint64, e *episode.Episode) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the agent panicked: %v", p)
		}
	}()
	policy, err := b.agent.Resume(ctx, brief(b.tr), b.past(own))
	if err != nil {
		return err
	}
	draft := episode.Decision{Thought: b.next.Thought, Source: b.next.ThoughtSource}
	for _, c := range b.next.Calls {
		draft.Calls = append(draft.Calls, c.Call)
	}
	if b.Step == len(b.tr.Steps)-1 && b.tr.End.Reason == agentbound.EndOutcome && len(draft.Calls) == 0 {
		outcome := b.tr.Outcome
		draft.Outcome = &outcome
	}
	thought := b.next.Thought
	if arm == agentbound.ForkTreated {
		thought = ed.thought
	}
	d, err := policy.Revise(ctx, draft, thought)
	if err != nil {
		return err
	}
	if arm == agentbound.ForkTreated {
		e.Reviewed(&agentbound.Review{Changed: true, MS: ed.review.MS}) // its tokens stand with the edit
		d = episode.Revised(d, draft)
	}
	seen, err := e.Commit(ctx, d)
	if errors.Is(err, episode.ErrSteps) {
		return nil
	}
	if err != nil {
		return err
	}
	return agent.Continue(ctx, e, policy, seen)
}
