package play

import (
	"errors"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
)

// journalVersion is the version of the journal's format.
const journalVersion = 1

// op is what an entry of a journal records.
type op string

const (
	opStart  op = "start"  // the session began
	opCall   op = "call"   // a call was made
	opRevise op = "revise" // a corrector changed the Thought of a draft
	opFinish op = "finish" // the subject ended it
	opOver   op = "over"   // a call came when no step was left
	opStored op = "stored" // the result is in the store
)

// entry is a line of a journal: what was asked, and what only living through it could
// tell (a corrector's Thought and what it cost, a gate's word, the time). The rest follows from the
// world, which is deterministic; the observation is kept to prove it.
type entry struct {
	Op      op                  `json:"op"`
	At      int64               `json:"at"` // Unix milliseconds
	Version int                 `json:"version,omitempty"`
	ID      string              `json:"id,omitempty"` // sealed, of the start
	Request string              `json:"request,omitempty"`
	Thought string              `json:"thought,omitempty"`
	Call    *agentbound.Call    `json:"call,omitempty"`
	Outcome *agentbound.Outcome `json:"outcome,omitempty"`

	Revised     string                   `json:"revised,omitempty"`
	Review      *agentbound.Review       `json:"review,omitempty"`
	OK          bool                     `json:"ok,omitempty"`
	Observation agentbound.Value         `json:"observation,omitempty"`
	Gate        *agentbound.GateDecision `json:"gate,omitempty"`
}

func (e entry) ends() bool { return e.Op == opFinish || e.Op == opOver }

// decision is what the subject decided, before any revision.
func (e entry) decision() episode.Decision {
	d := episode.Decision{Thought: e.Thought, Outcome: e.Outcome}
	if e.Call != nil {
		d.Calls = []agentbound.Call{*e.Call}
	}
	return d
}

var errDiffers = errors.New("the world gives another observation than the journal says: suite, program or journal was changed")

// proves checks an entry that was lived through again against the one in the journal.
func (e entry) proves(again entry) error {
	if e.OK != again.OK || !e.Observation.Equal(again.Observation) {
		return fmt.Errorf("%w: %s, and now %s", errDiffers, e.Observation, again.Observation)
	}
	return nil
}
