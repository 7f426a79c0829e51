package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"

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

// Chat is the chat-completions protocol.
type Chat struct{}

// Base implements Protocol.
func (Chat) Base() string { return "/v1" }

// Serves implements Protocol.
func (Chat) Serves(path string) bool { return path == "/v1/chat/completions" }

// Key implements Protocol.
func (Chat) Key(r *http.Request) (string, bool) {
	return strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// Decode implements Protocol.
func (Chat) Decode(_ *http.Request, body []byte, o Options) (model.Request, string, bool, error) {
	asked, name, err := Decode(body, o.Reasoning)
	return asked, name, false, err
}

// Encode implements Protocol.
func (Chat) Encode(name string, o Options, answer model.Response) map[string]any {
	return Encode(name, o.Reasoning, answer)
}

// Stream implements Protocol.
func (Chat) Stream(map[string]any) []string { return nil }

// Fail implements Protocol.
func (Chat) Fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": code}})
}
