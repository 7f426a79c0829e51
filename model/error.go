package model

import (
	"strings"
	"time"
)

// Fault is what went wrong with a turn that brought no answer.
type Fault string

// Faults for which another attempt may help come first.
const (
	FaultRate       Fault = "rate"       // too many requests
	FaultServer     Fault = "server"     // the server failed or is overloaded
	FaultConnection Fault = "connection" // it was not reached, or broke off
	FaultTimeout    Fault = "timeout"    // it did not answer in time
	FaultAnswer     Fault = "answer"     // what came is no answer of the protocol

	FaultKey     Fault = "key"     // it does not accept the key
	FaultQuota   Fault = "quota"   // the account may not spend more
	FaultModel   Fault = "model"   // it does not serve the model
	FaultAddress Fault = "address" // nothing at the address speaks the protocol
	FaultContext Fault = "context" // the conversation does not fit the model's window
	FaultRequest Fault = "request" // it rejects the request for another reason
)

// Transient reports whether another attempt may bring an answer.
func (f Fault) Transient() bool {
	switch f {
	case FaultRate, FaultServer, FaultConnection, FaultTimeout, FaultAnswer:
		return true
	}
	return false
}

// Error is a turn that brought no answer: infrastructure, never behaviour. It holds
// nothing secret.
type Error struct {
	Fault  Fault
	Who    string        // the model's name
	What   string        // what happened, with the server's own words where it had any
	Remedy string        // what to do about it; may be empty
	Status int           // of HTTP, where there was one
	Code   string        // the server's own, where it had one
	Begun  bool          // the server may have worked on an answer, and charge for it
	After  time.Duration // the server asks to wait so long before another attempt
	Err    error         // the cause; may be nil
}

func (e *Error) Error() string {
	s := e.What
	if e.Who != "" {
		s = e.Who + ": " + s
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return strings.TrimSpace(s)
}

func (e *Error) Unwrap() error { return e.Err }

// Transient reports whether another attempt may bring an answer.
func (e *Error) Transient() bool { return e.Fault.Transient() }
