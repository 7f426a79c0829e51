package mcpexec_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model/modeltest"
)

// plain stands before a peer, which takes no more of its protocol than our own adapter
// sends. It leaves out what frameworks send beyond that and the protocol allows: whether
// a schema is strict, an assistant's empty refusal and annotations; and it writes content
// in parts as the text that it is. It gives the base URL.
func plain(t *testing.T, p *modeltest.Peer) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		dec := json.NewDecoder(r.Body)
		dec.UseNumber()
		if err := dec.Decode(&body); err != nil {
			t.Error(err)
		}
		for _, tool := range list(body["tools"]) {
			if f, ok := tool["function"].(map[string]any); ok {
				delete(f, "strict")
			}
		}
		for _, m := range list(body["messages"]) {
			for _, name := range []string{"refusal", "annotations", "audio", "function_call"} {
				if m[name] == nil || name == "annotations" {
					delete(m, name)
				}
			}
			if _, ok := m["content"].([]any); ok {
				var text strings.Builder
				for _, part := range list(m["content"]) {
					words, _ := part["text"].(string)
					text.WriteString(words)
				}
				m["content"] = text.String()
			}
		}
		b, err := json.Marshal(body)
		if err != nil {
			t.Error(err)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + p.Protocol.Base()
}

func list(v any) (all []map[string]any) {
	items, _ := v.([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}
