// Package model is the port to language models: one turn of a conversation with
// tools. Whoever plays a subject, a rubric judge or an emulated world with a model
// asks it here; adapters stand in folders named after the protocol they speak.
package model

import (
	"context"

	"github.com/agentbound/agentbound"
)

// Model answers one turn at a time. It keeps nothing between turns, and serves many
// conversations at once.
type Model interface {
	// Ref says which model this is and how it is asked. It holds nothing secret.
	Ref() Ref
	// Chat gives the next turn of a conversation. What the model says, a refusal
	// too, is a Response; an error is an [*Error], or the error of ctx.
	Chat(ctx context.Context, r Request) (Response, error)
}

// Ref names a model. Settings are what decides its answers beside the request, and
// become part of trial keys and judge configurations.
type Ref struct {
	Name     string // as in --agent
	Settings map[string]string
}

// Request is a conversation so far and what may be done next.
type Request struct {
	Messages    []Message         // in order; the last one is not the assistant's
	Tools       []agentbound.Tool // none: the model cannot call
	Temperature *float64          // nil: the provider's own
	Seed        *int64            // nil: none; honoured only where the provider can
	MaxTokens   int               // of the answer; 0: the provider's own
}

// Role is who speaks.
type Role string

// The four roles of a conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Result    Role = "tool" // the answer to one call
)

// Message is one entry of a conversation.
type Message struct {
	Role Role
	Text string

	// Of an assistant.
	Reasoning string // what the model shows of it
	Calls     []ToolCall
	// State is what the provider wants back with this message beside Text and Calls
	// (reasoning items, signatures). It belongs to the adapter that gave it and goes
	// back unchanged; Text may be edited under it, Calls may not.
	State []byte

	// Of a tool's answer. Every call of an assistant's message is answered, in
	// order, before anyone else speaks.
	CallID string
	Tool   string
	Failed bool
}

// ToolCall is a call as the model wrote it. Args is raw text, JSON or not. ID ties the
// answer to it; where a provider gives none it is empty, and whoever sends the message
// back fills it in.
type ToolCall struct {
	ID   string
	Name string
	Args string
}

// Response is the model's turn.
type Response struct {
	Message Message // the assistant's, as it is to be sent back
	Stop    Stop
	Refusal string // of a StopRefusal: the provider's words, if any
	Model   string // as served: may be more exact than what was asked for
	Usage   Usage
	Cached  bool // a cache answered: Usage is what the answer cost when it was given
}

// Spent is what the turn cost; where a cache answered, what it had cost then.
func (r Response) Spent() agentbound.Usage {
	u := agentbound.Usage{InputTokens: r.Usage.Input, OutputTokens: r.Usage.Output, CachedTokens: r.Usage.Cached}
	if r.Cached {
		u.ReusedTokens = u.InputTokens + u.OutputTokens
	}
	return u
}

// Stop says why a turn ended.
type Stop string

// The reasons of all providers, normalised.
const (
	StopEnd     Stop = "end"        // the model had no more to say
	StopCalls   Stop = "tool_calls" // it waits for answers to its calls
	StopLength  Stop = "length"     // it was cut at a limit of tokens
	StopRefusal Stop = "refusal"    // the provider refused or filtered the turn
)

// Usage counts tokens. Cached are those of Input that the provider had seen before,
// Reasoning those of Output that went into reasoning. All zero: not told.
type Usage struct {
	Input, Cached, Output, Reasoning int64
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output, u.Reasoning + v.Reasoning}
}
