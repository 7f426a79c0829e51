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

// Loop drafts, has the Thought reviewed, regenerates once where it came back
// changed, commits, and goes on until an outcome or the last step.
func Loop(ctx context.Context, e *episode.Episode, p Policy) error {
	var seen []episode.Observation
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
