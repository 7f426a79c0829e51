// Package wire is the four model protocols as seen by something that stands between an
// agent program and its model: it decodes what passes, lets it be observed or edited, and
// encodes it again. [Proxy] is the reverse proxy over it. What it does not edit it passes
// on as it came, to the byte.
package wire

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Protocol is how a program speaks to a model.
type Protocol string

// The four protocols.
const (
	Responses       Protocol = "responses"       // OpenAI's POST /responses
	ChatCompletions Protocol = "chat"            // POST /chat/completions
	Messages        Protocol = "messages"        // Anthropic's POST /v1/messages
	GenerateContent Protocol = "generateContent" // Google's, and streamGenerateContent
)

// Protocols are all four.
func Protocols() []Protocol {
	return []Protocol{Responses, ChatCompletions, Messages, GenerateContent}
}

// Turn is one turn of the model's, as the program gets it.
type Turn struct {
	N        int // of the program's requests for a turn at this proxy, from 0
	Attempt  int // 1 where the request was sent once more (see [Edit])
	Protocol Protocol
	Request  Request // as the program sent it
	Streamed bool    // it came as a stream of events

	Model     string // as served
	Text      string // what the model says
	Reasoning string // what it shows of its reasoning
	Thought   string // the text, or where there is none the reasoning
	Source    agentbound.ThoughtSource
	Calls     []Call // for the program to run
	Hosted    []Call // which the provider runs, or ran
	Stop      model.Stop
	Refused   string // of a refusal: the provider's words, if any
	Usage     model.Usage
	Others    int // further choices or candidates in the answer, which are not decoded

	Flowed string // of the text, what the program has already (see Options.Flow)
	Draft  *Turn  // what the model said, where an edit changed it
	Took   time.Duration
}

// Call is a call as the model wrote it. Args is raw text, JSON or not.
type Call struct {
	ID        string // empty where the provider gives none
	Kind      string // "function", or the provider's word for another kind
	Namespace string // of the responses protocol's nested tools
	Name      string
	Args      string
}

// Request is what the program asked the model.
type Request struct {
	Model    string
	Stream   bool
	Tools    []Tool    // that the model saw, in order
	Messages []Message // in order, instructions first
	Previous string    // the id of a response that the server is to know; Messages are what is new
	Digest   string    // SHA-256 of the body, in hex
	Usage    bool      // chat completions: a stream is to tell its usage
	Stored   bool      // responses: the server keeps the answer, and is to know it by its id
	Choices  int       // how many answers are wanted
	Most     int       // tokens that an answer may have; 0: not said
}

// Tool is what a request offers the model.
type Tool struct {
	Kind        string // "function", or the provider's word for a tool of its own
	Namespace   string // of the responses protocol's nested tools
	Name        string
	Description string
	Schema      json.RawMessage // of its arguments, as it was sent; nil: none
	Digest      string          // see [SchemaDigest]; empty: no schema
}

// Message is one entry of a conversation. What is no text is left out.
type Message struct {
	Role      model.Role
	Text      string
	Reasoning string
	Calls     []Call
	CallID    string // of a tool's answer
	Tool      string // of a tool's answer, where it is told
	Failed    bool   // of a tool's answer, where it is told
}

// Editor decides on a turn before any of it reaches the program: whatever it takes to
// decide, the program waits. An error is a fault of infrastructure: the program gets
// none of the turn, but an error.
type Editor func(ctx context.Context, t Turn) (Edit, error)

// Edit is what becomes of a turn; the zero value leaves it as it came.
type Edit struct {
	// Thought stands in for the turn's text, where its first text stood or before its
	// calls. Reasoning stays: it may be signed, and the provider wants it back. Nil: the
	// text stays.
	Thought *string
	// Add is text that follows the turn's own, or what of it has flowed.
	Add string
	// Withhold keeps the calls from the program: the turn ends without them.
	Withhold bool
	// Again has the request sent once more with these messages, of users and assistants,
	// at its end. Its answer comes to the Editor as Attempt 1, which may not ask again. With
	// it, Thought or Add stand before what the answer says, and the usage of both is told.
	Again []Message
	// Else is what becomes of the turn where Again brings no answer, which is a fault that
	// is told. Nil: the program gets the failure.
	Else *Edit
}

func (e Edit) keeps() bool {
	return e.Thought == nil && e.Add == "" && !e.Withhold && len(e.Again) == 0
}

// settle fills in the Thought.
func (t *Turn) settle(summary bool) {
	switch {
	case t.Text != "":
		t.Thought, t.Source = t.Text, agentbound.ThoughtText
	case t.Reasoning != "" && summary:
		t.Thought, t.Source = t.Reasoning, agentbound.ThoughtSummary
	case t.Reasoning != "":
		t.Thought, t.Source = t.Reasoning, agentbound.ThoughtReasoning
	default:
		t.Thought, t.Source = "", agentbound.ThoughtNone
	}
}
