package modeltest

import (
	"errors"
	"slices"
	"testing"

	"github.com/agentbound/agentbound/model"
)

func streamChecks() []check {
	of := func(name string, run func(*testing.T, Connect)) check { return check{"streams", name, run, streams} }
	return []check{
		of("cut in odd places", cutPieces),
		of("that break off are tried again", breaksOff),
		of("that end before they are complete are errors", endsEarly),
		of("that fail in the middle are errors", failsInside),
		of("that fail in the middle for good are errors at once", failsForGood),
		of("answered without a stream", unstreamed),
	}
}

// long is a turn of which a stream has many events: several bytes a letter, several calls.
func long() model.Response {
	return model.Response{Stop: model.StopCalls, Message: model.Message{
		Role: model.Assistant, Text: "Grüße – “ja”, 好的 🙂🙂; and so on\r\n\nto the end.",
		Calls: []model.ToolCall{{ID: "a", Name: "read", Args: `{"id":"Ä 🙂","n":[1,2]}`}, {ID: "b", Name: "read", Args: `{"id":"B"}`}, {ID: "c", Name: "write", Args: `{"data":"data: [DONE]\n\n"}`}},
	}, Usage: model.Usage{Input: 9, Cached: 3, Output: 8, Reasoning: 2}}
}

// cutPieces: where the network cuts a stream means nothing, letters of several bytes and
// line ends included.
func cutPieces(t *testing.T, connect Connect) {
	t.Helper()
	for _, piece := range []int{1, 2, 3, 7, 64, 1000} {
		comesBack(t, connect, long(), Options{Piece: piece})
	}
}

func played(o Options) Options {
	o.Play = Script(long())
	return o
}

// breaksOff: a connection that is lost in the middle of a stream is tried again.
func breaksOff(t *testing.T, connect Connect) {
	t.Helper()
	for _, at := range []int{0, 1, 3, 8} {
		m := connect(t, played(Options{Events: func(n int, events []string) []string {
			if n < Attempts-1 {
				return append(slices.Clone(events[:min(at, len(events)-1)]), Abort)
			}
			return events
		}}))
		if got, err := m.Chat(t.Context(), hello()); err != nil || got.Message.Text != long().Message.Text {
			t.Errorf("broken off after %d events: %+v, %v", at, got, err)
		}
	}
}

// endsEarly: a stream that ends in good order, but before its end, is no answer, wherever
// it ends.
func endsEarly(t *testing.T, connect Connect) {
	t.Helper()
	events := 1
	for left := 0; left < events; left++ {
		m := connect(t, played(Options{Events: func(_ int, all []string) []string {
			events = len(all)
			return all[:left]
		}}))
		got, err := m.Chat(t.Context(), hello())
		if e, ok := errors.AsType[*model.Error](err); !ok || !e.Transient() || e.What == "" || left > 0 && e.Fault != model.FaultConnection {
			t.Errorf("%d of %d events: %+v, error %v", left, events, got, err)
		}
	}
}

// failEvent puts a failure in the place of what comes after the first events. Protocols
// that have none end the case: connect has started the peer, whose protocol it knows.
func failEvent(code, message string, at int) func(int, []string, Protocol) []string {
	return func(_ int, events []string, p Protocol) []string {
		f, ok := p.(failsInStream)
		if !ok {
			return events[:0]
		}
		return append(slices.Clone(events[:min(at, len(events))]), f.FailEvent(code, message))
	}
}

func failsInside(t *testing.T, connect Connect) {
	t.Helper()
	for _, at := range []int{0, 2, 6} {
		for _, code := range []string{"server_error", "rate_limit_exceeded", "overloaded_error"} {
			asked := 0
			m := connect(t, played(Options{inStream: func(n int, events []string, p Protocol) []string {
				asked = n + 1
				return failEvent(code, "the engine is busy", at)(n, events, p)
			}}))
			got, err := m.Chat(t.Context(), hello())
			if e, ok := errors.AsType[*model.Error](err); !ok || !e.Transient() || asked != Attempts {
				t.Errorf("%s after %d events: %+v, error %v, %d requests", code, at, got, err, asked)
			}
		}
	}
}

func failsForGood(t *testing.T, connect Connect) {
	t.Helper()
	asked, spoken := 0, true
	m := connect(t, played(Options{inStream: func(n int, events []string, p Protocol) []string {
		asked = n + 1
		_, spoken = p.(failsInStream)
		return failEvent("context_length_exceeded", "This model's maximum context length is 10 tokens.", 2)(n, events, p)
	}}))
	got, err := m.Chat(t.Context(), hello())
	if !spoken {
		t.Skip("the protocol has no event for it")
	}
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Fault != model.FaultContext || asked != 1 {
		t.Errorf("%+v, error %v, %d requests", got, err, asked)
	}
}

// unstreamed: servers that do not stream answer as if they had not been asked to.
func unstreamed(t *testing.T, connect Connect) {
	t.Helper()
	comesBack(t, connect, long(), Options{Unstreamed: true})
}
