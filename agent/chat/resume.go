package chat

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/model"
)

// recorded is what a step must keep of a turn beside its Thought and calls, so that recall
// can put the turn's message together again. Of one that ends the trial nothing follows.
func (p *policy) recorded(t turn) *agentbound.Said {
	s := &agentbound.Said{Asked: p.asked}
	if t.end != nil {
		return s
	}
	s.Note = t.note
	calls := make([]agentbound.Call, len(t.calls))
	for i, c := range t.calls {
		calls[i] = agentbound.Call{Tool: c.Tool, Args: episode.WellFormed(c.Args, agentbound.DefaultLimits().Args)}
	}
	plain := p.form.says(t.thought, calls)
	if t.said.Text != plain.Text {
		s.Text = &t.said.Text
	}
	same := true
	for i, c := range t.said.Calls {
		said := agentbound.SaidCall{ID: c.ID}
		if c.Args != plain.Calls[i].Args {
			said.Args = &c.Args
		}
		same = same && said == agentbound.SaidCall{}
		s.Calls = append(s.Calls, said)
	}
	if same {
		s.Calls = nil
	}
	if state := t.said.State; len(state) > 0 {
		if s.Lost = p.keep == nil || !p.keep(state); !s.Lost {
			s.State = state
		}
	}
	return s
}

// recall is a committed step as the turn that it was.
func (p *policy) recall(step agentbound.Step) error {
	s := step.Said
	switch {
	case s == nil:
		return &agent.NotResumedError{Why: "it was made before what a conversation needs was recorded; make another with: agentbound run --new"}
	case s.Lost:
		return &agent.NotResumedError{Why: "its provider wants reasoning back that is not in the record; make trials that keep it with: agentbound run --new --forkable"}
	}
	calls := make([]agentbound.Call, len(step.Calls))
	for i, c := range step.Calls {
		calls[i] = c.Call
	}
	said := p.form.says(step.Thought, calls)
	if s.Text != nil {
		said.Text = *s.Text
	}
	if s.Calls != nil && len(s.Calls) != len(said.Calls) {
		return &agent.NotResumedError{Why: fmt.Sprintf("its record has %d calls, and %d were sent", len(said.Calls), len(s.Calls))}
	}
	for i, c := range s.Calls {
		said.Calls[i].ID = c.ID
		if c.Args != nil {
			said.Calls[i].Args = *c.Args
		}
	}
	said.State = s.State
	p.last = turn{said: said, note: s.Note}
	return nil
}

// Resume implements agent.Resumer. The conversation is put together from the record; its
// digest must be that of what was sent for the decision.
func (a *Agent) Resume(_ context.Context, b episode.Brief, past agent.Past) (agent.Policy, error) {
	p := a.policy(b, past.Seed)
	p.settle(nil)
	for i, step := range past.Steps {
		if err := p.recall(step); err != nil {
			return nil, fmt.Errorf("decision %d: %w", i, err)
		}
		p.settle(agent.Seen(step))
	}
	p.asked = p.digest()
	switch said := past.Next.Said; {
	case said == nil:
		return nil, &agent.NotResumedError{Why: "it was made before what a conversation needs was recorded; make another with: agentbound run --new"}
	case said.Asked != p.asked:
		return nil, &agent.NotResumedError{Why: "the conversation that the record gives is not the one that was sent"}
	}
	p.seed(past.As)
	return p, nil
}

// digest is that of all that is sent for the next decision, but for what providers want
// back: that is opaque, stands in the record as it came or makes the trial one that cannot be
// resumed, and in a replayed recording lacks the secrets that were struck out of it. What a
// message shows of reasoning is never sent.
func (p *policy) digest() agentbound.Digest {
	r := p.request
	r.Messages = make([]model.Message, len(p.request.Messages))
	for i, m := range p.request.Messages {
		m.Reasoning, m.State = "", nil
		r.Messages[i] = m
	}
	return agentbound.DigestJSON(r)
}
