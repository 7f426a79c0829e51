package modeltest

import (
	"net/http"

	"github.com/agentbound/agentbound/model"
)

// Protocol is a wire protocol as a server of it speaks. Peers that follow what a vendor
// published stand here, one file a protocol; Chat is the default.
type Protocol interface {
	// Base is the path that a base URL ends in, such as /v1; it may be empty.
	Base() string
	// Serves reports whether a path is the protocol's one method.
	Serves(path string) bool
	// Key is the key that a request carries, if any.
	Key(r *http.Request) (key string, ok bool)
	// Decode reads a request strictly: an error says where it leaves the protocol.
	// Stream: the answer is wanted as server-sent events.
	Decode(r *http.Request, body []byte, o Options) (asked model.Request, name string, stream bool, err error)
	// Encode is an answer as the protocol's reference has it; tests edit its parts.
	Encode(name string, o Options, answer model.Response) map[string]any
	// Stream is the same answer as events, each with the blank line that ends it. Nil
	// where the peer does not stream.
	Stream(answer map[string]any) []string
	// Fail answers with an error of the protocol.
	Fail(w http.ResponseWriter, status int, code, message string)
}

// failsInStream is a protocol that has an event for a failure in the middle of a stream.
type failsInStream interface {
	// FailEvent is that event, with the blank line that ends it.
	FailEvent(code, message string) string
}
