package openaiapi

import (
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// Events takes a stream apart, and stops where each does, whose error it gives. An error
// that a stream tells after it began is one of work that may be charged for.
func Events(body []byte, each func(name string, data []byte) error) error {
	begun := false
	for e := range transport.Events(body) {
		if err := each(e.Name, e.Data); err != nil {
			return transport.Midway(Fault(err), begun)
		}
		begun = true
	}
	return nil
}

// BrokenOff is a stream that ended before its answer was complete.
func BrokenOff() *model.Error {
	return &model.Error{Fault: model.FaultConnection, What: "the stream ended before the answer was complete"}
}
