package model_test

import (
	"testing"

	"github.com/agentbound/agentbound/model"
)

func TestSameModel(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"openai:gpt-5.5", "openrouter:openai/gpt-5.5", true},
		{"openai:gpt-5.5", "openai-chat:gpt-5.5", true},
		{"openai:gpt-5.5", "compat:gpt-5.5-2026-04-23@http://127.0.0.1:8000/v1", true},
		{"openai:gpt-5.5", "openai:gpt-5.5-pro", false},
		{"openai:gpt-5.5", "openai:gpt-5.4", false},
		{"anthropic:claude-opus-4-8", "openrouter:anthropic/claude-opus-4.8", true},
		{"anthropic:claude-opus-4-8-20260528", "Claude Opus 4.8", true},
		{"anthropic:claude-opus-4-8", "anthropic:claude-sonnet-4-8", false},
		{"openrouter:deepseek/deepseek-v4-pro:free", "deepseek:deepseek-v4-pro", true},
		{"deepseek:deepseek-v4-flash", "deepseek:deepseek-v4-pro", false},
		{"vllm:Qwen/Qwen3.5-397B-A17B-FP8@http://127.0.0.1:8000/v1", "openrouter:qwen/qwen3.5-397b-a17b", true},
		{"vllm:Qwen/Qwen3.8-27B@http://127.0.0.1:8000/v1", "vllm:Qwen3.8-27B-Uncensored@http://127.0.0.1:8000/v1", false},
		{"ollama:qwen3:8b", "ollama:qwen3:14b", false},
		{"moonshot:kimi-k3", "KIMI K3", true},
		{"", "", false},
		{"openai:", "anthropic:", false},
	} {
		if got := model.SameModel(test.a, test.b); got != test.same || model.SameModel(test.b, test.a) != got {
			t.Errorf("%q and %q: %v (%q, %q)", test.a, test.b, got, model.BaseName(test.a), model.BaseName(test.b))
		}
	}
}
