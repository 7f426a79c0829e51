// Package intervene holds the two ports of a mitigation: a Corrector edits the
// Thought before the action is committed, a Gate allows or denies a call before it
// is executed (specification §8).
package intervene

import (
	"context"

	"github.com/agentbound/agentbound"
)

// Context is all that a corrector sees: the original instruction, the visible
// Thought–Observation history, the names of the tools and the next Thought. It never
// sees labels, predicates, reference paths, action arguments or reasons.
type Context struct {
	Instruction string   `json:"instruction"`
	History     []Turn   `json:"history"`
	Tools       []string `json:"tools"`
	Thought     string   `json:"thought"`
}

// Turn is one past decision as a corrector sees it.
type Turn struct {
	Thought      string             `json:"thought"`
	Observations []agentbound.Value `json:"observations"`
}

// Corrector edits a Thought. Giving back the Thought it was given keeps it.
type Corrector interface {
	Correct(ctx context.Context, c Context) (string, error)
}

// Proposal is what a gate sees of a call that is about to be executed.
type Proposal struct {
	Context
	Call agentbound.Call `json:"call"`
}

// Gate allows or denies a call.
type Gate interface {
	Allow(ctx context.Context, p Proposal) (agentbound.GateDecision, error)
}

// Intervention is a resolved mitigation; the zero value is none.
type Intervention struct {
	Ref       agentbound.Intervention
	Corrector Corrector // nil: Thoughts stay as they are
	Gate      Gate      // nil: every call is executed
}

// None is the bare configuration.
func None() Intervention {
	return Intervention{Ref: agentbound.Intervention{Name: agentbound.Bare}}
}
