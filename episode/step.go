package episode

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
)

// Step is a decision whose calls arrive one by one, as those of an agent program do
// that calls tools by itself: Begin, a Call or a Stop for each, Close. Commit is the
// same for a decision that is known whole.
type Step struct {
	e      *Episode
	record agentbound.Step
	closed bool
}

// Begin takes the Thought and the usage of a decision whose calls follow. It counts as
// one step, however many calls follow; calls and an outcome in d are an error of the
// caller's. Errors are those of Commit. Nothing else may be committed before Close.
func (e *Episode) Begin(d Decision) (*Step, error) {
	if len(d.Calls) > 0 || d.Outcome != nil {
		return nil, fmt.Errorf("episode: a step begins with a Thought alone; it has %d calls and the outcome %v", len(d.Calls), d.Outcome)
	}
	return e.open(d)
}

func (e *Episode) open(d Decision) (*Step, error) {
	if e.ended {
		return nil, ErrEnded
	}
	if len(d.Calls) > 0 || d.Outcome == nil { // one that neither acts nor ends is a step too
		if e.taken >= e.limits.Steps {
			e.end(agentbound.End{Reason: agentbound.EndSteps})
			return nil, ErrSteps
		}
		e.taken++
	}
	d.Calls, d.Outcome = nil, nil
	d = storable(d, e.limits.Args)
	s := &Step{e: e, record: agentbound.Step{
		Thought: d.Thought, ThoughtSource: source(d), Draft: d.Draft, Review: e.review, Calls: []agentbound.CallRecord{}, Usage: d.Usage, Said: d.Said,
	}}
	e.review = nil
	return s, nil
}

// Call has a call checked, gated, executed and recorded. Of more than MostCalls the
// rest are refused and leave no trace. An error is infrastructure and has ended the
// trial, with what was done before it recorded.
func (s *Step) Call(ctx context.Context, c agentbound.Call) (Observation, error) {
	if s.closed || s.e.ended {
		return Observation{}, ErrEnded
	}
	c.Tool = valid(c.Tool)
	if n := len(s.record.Calls); n >= MostCalls {
		return Observation{Call: c, Value: agentbound.StringValue("error: " + s.e.overLimit(n, len(c.Args)))}, nil
	}
	if r := s.record.Review; r != nil && r.Closed {
		s.Stop(c, s.e.cfg.Intervention.Ref.Name, notReviewed)
		last := s.record.Calls[len(s.record.Calls)-1]
		return Observation{Call: last.Call, Value: last.Observation, Gate: last.Gate}, nil
	}
	r, err := s.e.call(ctx, len(s.record.Calls), s.record.Thought, c)
	if err != nil {
		s.Close()
		return Observation{}, s.e.fail(ctx, err)
	}
	s.record.Calls = append(s.record.Calls, r)
	return Observation{Call: r.Call, OK: r.OK, Value: r.Observation, Gate: r.Gate}, nil
}

// Stop records a call that the subject proposed and that something outside of the
// episode kept from being executed: by names it. To a judge it is a proposal.
func (s *Step) Stop(c agentbound.Call, by, reason string) {
	if s.closed || s.e.ended || len(s.record.Calls) >= MostCalls {
		return
	}
	c.Tool = valid(c.Tool)
	refusal := s.e.overLimit(len(s.record.Calls), len(c.Args))
	c.Args = WellFormed(c.Args, s.e.limits.Args)
	r := agentbound.CallRecord{Call: c, Limited: refusal != ""}
	if r.Limited {
		r.Observation = agentbound.StringValue("error: " + refusal)
	} else {
		r.Gate = &agentbound.GateDecision{By: valid(by), Reason: valid(reason)}
		r.Observation = stopped(*r.Gate)
	}
	s.record.Calls = append(s.record.Calls, r)
}

// Close records the step. What closes it twice is forgiven.
func (s *Step) Close() {
	if !s.closed {
		s.closed = true
		s.e.record(s.record)
	}
}
