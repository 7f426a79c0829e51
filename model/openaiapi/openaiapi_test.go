package openaiapi_test

import (
	"testing"

	"github.com/agentbound/agentbound/model/openaiapi"
)

// TestModelsByName: which models of OpenAI's refuse a temperature, and which never reason.
func TestModelsByName(t *testing.T) {
	for name, want := range map[string]struct{ cold, talks bool }{
		"o1": {true, false}, "o3-mini": {true, false}, "o4-mini-2025-04-16": {true, false}, "gpt-5": {true, false}, "gpt-5.5": {true, false}, "gpt-5-nano": {true, false},
		"gpt-6.1-sol": {true, false}, "gpt-10": {true, false}, "codex-mini-latest": {true, false}, "ft:o4-mini:org::x": {true, false},
		"gpt-3.5-turbo": {false, true}, "gpt-4": {false, true}, "gpt-4o-mini": {false, true}, "gpt-4.1": {false, true}, "chatgpt-4o-latest": {false, true},
		"gpt-5-chat-latest": {false, true}, "gpt-5.1-chat": {false, true}, "ft:gpt-4.1:org::x": {false, true},
		"gpt-oss-120b": {false, false}, "my-model": {false, false}, "": {false, false},
	} {
		if cold, talks := openaiapi.Cold(name, ""), openaiapi.Talks(name); cold != want.cold || talks != want.talks {
			t.Errorf("%s: cold %v, talks %v", name, cold, talks)
		}
		if openaiapi.Cold(name, "none") {
			t.Errorf("%s is cold where it does not reason", name)
		}
	}
}
