package transport

import (
	"fmt"

	"github.com/agentbound/agentbound/model"
)

// mostValues is how many values one JSON document of an answer may have. Models say some
// hundreds; those who take documents apart need about a thousand bytes for each, so that
// a small answer of empty ones would fill the memory.
const mostValues = 100_000

// Dense is the fault of a document that has too many values; nil where it has not.
func Dense(document []byte) *model.Error {
	values, text := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && (c == ',' || c == ':' || c == '[' || c == '{'):
			values++
		}
	}
	if values <= mostValues {
		return nil
	}
	return &model.Error{Fault: model.FaultAnswer, What: fmt.Sprintf("the answer is not one of the protocol: it has more than %d values", mostValues)}
}

// dense looks at each document of a body.
func dense(body []byte) *model.Error {
	if !Streamed(body) {
		return Dense(body)
	}
	for e := range Events(body) {
		if fault := Dense(e.Data); fault != nil {
			return fault
		}
	}
	return nil
}
