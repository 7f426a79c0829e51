package episode

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
)

// Review shows a drafted Thought to the corrector. Where it comes back changed, the
// agent decides once more with it and commits that, with the draft attached by
// Revised. Without a corrector nothing changes. What the corrector cost, and that it
// failed where the set-up goes on all the same, is recorded with what is committed next.
func (e *Episode) Review(ctx context.Context, d Decision) (thought string, changed bool, err error) {
	i := e.cfg.Intervention
	if i.Corrector == nil {
		return d.Thought, false, nil
	}
	began := e.cfg.Clock()
	c, err := i.Corrector.Correct(ctx, e.context(d.Thought))
	e.review = &agentbound.Review{MS: e.cfg.Clock().Sub(began).Milliseconds(), Usage: c.Usage}
	switch {
	case err == nil:
		e.review.Changed = c.Thought != d.Thought
		return c.Thought, e.review.Changed, nil
	case failsTrial(ctx, i.OnFailure):
		return d.Thought, false, e.fail(ctx, fmt.Errorf("corrector: %w", err))
	}
	e.review.Failed, e.review.Closed = valid(err.Error()), i.OnFailure == intervene.Closed
	return d.Thought, false, nil
}

// LastReview is what Review has recorded for the decision that is committed next; nil
// where no corrector was asked.
func (e *Episode) LastReview() *agentbound.Review { return e.review }

// Reviewed stands for a Review that took place when this decision was made for the first
// time, for a trial that is lived through again.
func (e *Episode) Reviewed(r *agentbound.Review) { e.review = r }

func (e *Episode) context(thought string) intervene.Context {
	return intervene.Context{Instruction: e.tr.Instruction, History: e.history, Tools: e.names, Thought: thought}
}

// Revised attaches the draft that a revised decision replaces.
func Revised(d, draft Decision) Decision {
	d.Draft = &agentbound.Draft{Thought: draft.Thought, ThoughtSource: source(draft), Calls: draft.Calls, Outcome: draft.Outcome}
	if draft.Usage != (agentbound.Usage{}) {
		d.Draft.Usage = &draft.Usage
	}
	d.Usage = draft.Usage.Add(d.Usage)
	return d
}

// ask has the gate decide on a call, or decides for one that failed as the set-up says.
func (e *Episode) ask(ctx context.Context, gate intervene.Gate, p intervene.Proposal) (agentbound.GateDecision, error) {
	began := e.cfg.Clock()
	d, err := gate.Allow(ctx, p)
	if err != nil {
		if failsTrial(ctx, e.cfg.Intervention.OnFailure) {
			return d, err
		}
		d.By, d.Failed = e.cfg.Intervention.Ref.Name, err.Error()
		if d.Allowed = e.cfg.Intervention.OnFailure == intervene.Open; !d.Allowed {
			d.Reason = notReviewed
		}
	}
	d.By, d.Reason, d.Failed, d.Code = valid(d.By), valid(d.Reason), valid(d.Failed), valid(d.Code)
	d.MS = max(d.MS, e.cfg.Clock().Sub(began).Milliseconds()) // one that is asked elsewhere brings its own
	return d, nil
}

// notReviewed is what a subject reads of a call where a corrector or gate failed closed.
const notReviewed = "it could not be reviewed"

// failsTrial: so does what is cancelled or out of time, whatever the set-up says.
func failsTrial(ctx context.Context, f intervene.OnFailure) bool {
	return ctx.Err() != nil || f != intervene.Open && f != intervene.Closed
}
