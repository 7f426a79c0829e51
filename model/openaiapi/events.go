package openaiapi

import (
	"bytes"
	"io"
	"net/http"
	"regexp"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/agentbound/agentbound/model"
)

// streamed is how an event stream begins, whatever its content type says.
var streamed = regexp.MustCompile(`^(?:\x{FEFF})?\s*(?:data|event|id|retry)?:`)

// Streamed reports whether a body is an event stream. Servers that do not stream answer
// as if they had not been asked to.
func Streamed(body []byte) bool { return streamed.Match(body) }

// Events takes a stream apart, and stops where each does, whose error it gives. An event
// that was cut is none.
func Events(body []byte, each func(name string, data []byte) error) error {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	dec := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(bytes.NewReader(body))})
	for dec.Next() {
		e := dec.Event()
		if err := each(e.Type, bytes.TrimSpace(e.Data)); err != nil {
			return err
		}
	}
	return dec.Err()
}

// BrokenOff is a stream that ended before its answer was complete.
func BrokenOff() *model.Error {
	return &model.Error{Fault: model.FaultConnection, What: "the stream ended before the answer was complete"}
}
