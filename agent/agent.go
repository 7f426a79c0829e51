// Package agent is the port to subjects, and the Thought–Action–Observation loop
// that those written here share.
package agent

import (
	"context"
	"errors"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
)

// Agent plays trials. One Agent serves many trials at once: what belongs to a trial
// lives in Play.
type Agent interface {
	// Ref is the resolved agent, as plans and trial keys hold it.
	Ref() agentbound.AgentRef
	// Play carries one trial through. An error is infrastructure and leaves the
	// trial unscored; running out of steps is no error.
	Play(ctx context.Context, e *episode.Episode) error
}

// Reader is an agent that is handed the package, to follow its reference paths. The
// runner hands the family to no other agent. One that also decides by it is marked
// privileged in its Ref; one that decides by what a subject sees is not.
type Reader interface {
	Agent
	// Read gives the agent for one task of a family.
	Read(ctx context.Context, f *agentbound.Family, t *agentbound.Task) (Agent, error)
}

// Policy decides. It is for one trial.
type Policy interface {
	// Next drafts the next decision from what the last one brought (nil at first).
	Next(ctx context.Context, seen []episode.Observation) (episode.Decision, error)
	// Revise decides once more, with the Thought as the corrector left it.
	Revise(ctx context.Context, draft episode.Decision, thought string) (episode.Decision, error)
}

// Resumer is an agent whose whole state at a trial is its history, so that a decision can
// be made anew.
type Resumer interface {
	Agent
	// Resume gives the policy as it stood when it had drafted next, after steps, and proves
	// it: what was sent, or decided, then is what the record says. What it is asked from
	// here on, Revise first, it draws with another seed. The error says why it cannot be
	// resumed ([NotResumedError]); it asks no model.
	Resume(ctx context.Context, b episode.Brief, p Past) (Policy, error)
}

// Past is what a policy is resumed from.
type Past struct {
	Seed  uint64 // of the trial
	As    uint64 // what is drawn from here on
	Steps []agentbound.Step
	Next  agentbound.Step // the decision that follows them
}

// NotResumedError says why a decision cannot be made anew.
type NotResumedError struct{ Why string }

func (e *NotResumedError) Error() string { return e.Why }

// Seen is what a stored step brought.
func Seen(s agentbound.Step) (seen []episode.Observation) {
	for _, c := range s.Calls {
		seen = append(seen, episode.Observation{Call: c.Call, OK: c.OK, Value: c.Observation, Gate: c.Gate})
	}
	return seen
}

// Loop drafts, has the Thought reviewed, regenerates once where it came back
// changed, commits, and goes on until an outcome or the last step.
func Loop(ctx context.Context, e *episode.Episode, p Policy) error {
	return Continue(ctx, e, p, nil)
}

// Continue is Loop from what the last decision brought.
func Continue(ctx context.Context, e *episode.Episode, p Policy, seen []episode.Observation) error {
	for !e.Ended() {
		d, err := p.Next(ctx, seen)
		if err != nil {
			return err
		}
		thought, changed, err := e.Review(ctx, d)
		if err != nil {
			return err
		}
		if changed {
			revised, err := p.Revise(ctx, d, thought)
			if err != nil {
				return err
			}
			d = episode.Revised(revised, d)
		}
		if seen, err = e.Commit(ctx, d); errors.Is(err, episode.ErrSteps) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}
