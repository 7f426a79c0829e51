package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model"
)

// TestKeysAreNotKept: a server that repeats the key, wherever, gets it into no answer.
func TestKeysAreNotKept(t *testing.T) {
	const key = "sk-a-test-key-0123456789"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		call := map[string]any{"id": sent, "type": "function", "function": map[string]string{"name": "f", "arguments": `{"a":"` + sent + `"}`}}
		_ = json.NewEncoder(w).Encode(map[string]any{"model": "m " + sent, "choices": []any{map[string]any{
			"finish_reason": "tool_calls", "message": map[string]any{"content": "yours is " + sent, "reasoning": sent, "refusal": sent, "tool_calls": []any{call}},
		}}})
	}))
	defer s.Close()
	for value, kept := range map[string]bool{key: false, "ollama": true} {
		t.Setenv("COMPAT_API_KEY", value)
		m, err := newRooms().model("compat:m@"+s.URL, modelOptions{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Chat(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "hello"}}})
		if err != nil {
			t.Fatal(err)
		}
		res.Message.State = nil // goes back to who sent it, and nowhere else
		said, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(said), value) != kept || !strings.Contains(string(said), "yours is ") {
			t.Errorf("%s: %s", value, said)
		}
	}
}
