package compat

import (
	"testing"

	"github.com/openai/openai-go/v3"

	"github.com/agentbound/agentbound/model"
)

// TestUsageBounds: what a server tells stays within what can be summed over a run.
func TestUsageBounds(t *testing.T) {
	got := Dialect{}.usage(openai.CompletionUsage{PromptTokens: 1 << 62, CompletionTokens: -5})
	if want := (model.Usage{Input: 1_000_000_000}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
