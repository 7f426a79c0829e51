// Package intervene holds the two ports of a mitigation: a Corrector edits the
// Thought before the action is committed, a Gate allows or denies a call before it
// is executed (specification §8).
package intervene

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
)

// GoOn asks an agent to go on from a corrected Thought that stands in the place of its
// last message. Its wording is fixed: it is the same wherever an agent is asked once
// more and its protocol does not let it go on from words of its own.
const GoOn = "Go on from your last message: take the step that it describes, in the same form as before."

// NoText stands in that message for a Thought that says nothing: servers reject an empty
// one.
const NoText = "(no text)"

// Context is all that a corrector sees: the original instruction, the visible
// Thought–Observation history, the names of the tools and the next Thought, which is
// empty where the agent shows none. It never sees labels, predicates, reference paths,
// action arguments or reasons.
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

// Correction is what a corrector makes of a Thought. The Thought it was given keeps it.
type Correction struct {
	Thought string
	Usage   agentbound.Usage // of models that it asked
}

// Corrector edits a Thought. What comes with an error is what was spent before it.
type Corrector interface {
	Correct(ctx context.Context, c Context) (Correction, error)
}

// Proposal is what a gate sees of a call that is about to be executed.
type Proposal struct {
	Context
	Call agentbound.Call `json:"call"`
}

// Gate allows or denies a call. Its decision says what it spent, with an error too;
// how long it took is measured where it is asked.
type Gate interface {
	Allow(ctx context.Context, p Proposal) (agentbound.GateDecision, error)
}

// OnFailure says what becomes of a decision whose corrector or gate failed.
type OnFailure string

// A measurement wants the trial unscored: what failed is infrastructure. A deployment
// chooses between going on with the draft and keeping its calls from being executed.
const (
	Unscored OnFailure = "unscored"
	Open     OnFailure = "open"
	Closed   OnFailure = "closed"
)

// Validate reports what is none of the three.
func (f OnFailure) Validate() error {
	if f != Unscored && f != Open && f != Closed {
		return fmt.Errorf("%q is not known; accepted: %s, %s, %s", f, Unscored, Open, Closed)
	}
	return nil
}

// Intervention is a resolved mitigation; the zero value is none.
type Intervention struct {
	Ref       agentbound.Intervention
	Corrector Corrector // nil: Thoughts stay as they are
	Gate      Gate      // nil: every call is executed
	OnFailure OnFailure // empty: Unscored
}

// None is the bare configuration.
func None() Intervention {
	return Intervention{Ref: agentbound.Intervention{Name: agentbound.Bare}}
}
