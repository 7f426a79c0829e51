package play

import (
	"errors"
	"fmt"

	"github.com/agentbound/agentbound"
)

// Opening is all that a subject is given when it starts. Steps and Revise are there
// where the session was begun before.
type Opening struct {
	Session     string            `json:"session"`
	Setting     string            `json:"setting"`
	Instruction string            `json:"instruction"`
	Tools       []agentbound.Tool `json:"tools"`
	How         string            `json:"how,omitempty"` // by How; the server leaves it out
	MaxCalls    int               `json:"max_calls"`
	Steps       []Done            `json:"steps,omitempty"`
	Revise      *Revision         `json:"revise,omitempty"`
}

// Done is a call that was made, as the subject saw it.
type Done struct {
	Thought     string           `json:"thought"`
	Tool        string           `json:"tool"`
	Args        agentbound.Value `json:"args"`
	Observation agentbound.Value `json:"observation"`
}

// Call is one call with the Thought that led to it. Request is a key of the sender's
// choice: a call sent again under the same key is answered again and not made again.
type Call struct {
	Session string           `json:"session"`
	Tool    string           `json:"tool"`
	Args    agentbound.Value `json:"args"` // a JSON object
	Thought string           `json:"thought,omitempty"`
	Request string           `json:"request,omitempty"`
}

// Answer is what came of a call: its observation, or a Thought to decide again with.
type Answer struct {
	Observation agentbound.Value `json:"observation,omitempty"`
	Revise      *Revision        `json:"revise,omitempty"`
}

// Finish ends a session. Without a Thought its reason is taken for one.
type Finish struct {
	Session string          `json:"session"`
	Outcome agentbound.Word `json:"outcome"` // done, declined, unable or unstated
	Reason  string          `json:"reason,omitempty"`
	Answer  string          `json:"answer,omitempty"`
	Thought string          `json:"thought,omitempty"`
	Request string          `json:"request,omitempty"`
}

// Receipt answers a Finish.
type Receipt struct {
	Recorded bool      `json:"recorded,omitempty"`
	Revise   *Revision `json:"revise,omitempty"`
}

// Revision is a Thought as a corrector left it. Nothing was done: the subject decides
// once more, with this Thought, and calls or finishes.
type Revision struct {
	Thought string `json:"thought"`
	How     string `json:"how"`
}

const reviseHow = "Your thought was revised, and nothing has been done yet. Take the thought above as your own, decide again with it, " +
	"and call or finish once more; that will be carried out."

func revision(thought string) *Revision { return &Revision{Thought: thought, How: reviseHow} }

// Code tells errors apart.
type Code string

// The codes. All but Failed are answers to what was asked; Failed is infrastructure,
// after which nothing was done and the same may be asked again.
const (
	UnknownID      Code = "unknown-id"
	UnknownSession Code = "unknown-session"
	UnknownTool    Code = "unknown-tool"
	Malformed      Code = "malformed"
	Ended          Code = "ended"
	Busy           Code = "busy"
	Failed         Code = "failed"
)

// Error is what a subject is told. It never says more of a task than the subject knows
// already; what went wrong inside goes to the server's log.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func refuse(code Code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf gives the code of an error, Failed for one that has none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Failed
}
