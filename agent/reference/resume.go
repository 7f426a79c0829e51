package reference

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
)

// Resume implements agent.Resumer: the rule is driven over what the trial met, and must
// decide as the record says at every decision.
func (t *trial) Resume(ctx context.Context, _ episode.Brief, past agent.Past) (agent.Policy, error) {
	fresh := &trial{ref: t.ref, family: t.family, task: t.task, expected: t.expected}
	fresh.planned = slices.Clone(t.family.Reference.Workflow)
	var seen []episode.Observation
	for i, step := range append(slices.Clone(past.Steps), past.Next) {
		d, err := fresh.Next(ctx, seen)
		if err != nil {
			return nil, err
		}
		if !decides(d, step) {
			return nil, fmt.Errorf("decision %d: %w", i, &agent.NotResumedError{Why: t.Ref().Name + " decides otherwise now than the record says"})
		}
		seen = agent.Seen(step)
	}
	return fresh, nil
}

func decides(d episode.Decision, step agentbound.Step) bool {
	return d.Thought == step.Thought && slices.EqualFunc(d.Calls, step.Calls, func(c agentbound.Call, r agentbound.CallRecord) bool { return c.Equal(r.Call) })
}
