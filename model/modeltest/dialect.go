package modeltest

import "github.com/agentbound/agentbound/model"

// Dialects are peers of the servers that speak chat completions in their own way, by
// scheme, written from what each publishes (docs/adapters.md names the pages): which
// fields a request may have, what shows reasoning, how usage and filters are told.
func Dialects() map[string]Chat {
	return map[string]Chat{
		"compat":      {},
		"openai-chat": {MaxTokens: "max_completion_tokens", Extra: []string{"reasoning_effort"}},
		"xai":         {MaxTokens: "max_completion_tokens", Extra: []string{"reasoning_effort"}, Shows: "reasoning_content", Usage: apart},
		"deepseek":    {NoSeed: true, NoTemperature: true, Extra: []string{"thinking", "reasoning_effort"}, Shows: "reasoning_content", Usage: cached("prompt_cache_hit_tokens")},
		"moonshot":    {MaxTokens: "max_completion_tokens", NoSeed: true, Extra: []string{"thinking", "reasoning_effort"}, Shows: "reasoning_content", Usage: cached("cached_tokens")},
		"zhipu":       {NoSeed: true, Extra: []string{"thinking", "reasoning_effort"}, Shows: "reasoning_content", Filtered: "sensitive"},
		"openrouter":  {Extra: []string{"reasoning"}, Shows: "reasoning_details"},
		"vllm":        {Extra: []string{"reasoning_effort", "chat_template_kwargs"}, Shows: "reasoning"},
		"ollama":      {Extra: []string{"reasoning_effort"}, Shows: "reasoning"},
		"llamacpp":    {Extra: []string{"chat_template_kwargs"}, Shows: "reasoning_content"},
	}
}

// apart counts reasoning beside the completion and not within it.
func apart(u model.Usage, told map[string]any) {
	told["completion_tokens"] = u.Output - u.Reasoning
}

// cached tells cached tokens in a field of its own.
func cached(field string) func(model.Usage, map[string]any) {
	return func(u model.Usage, told map[string]any) {
		delete(told, "prompt_tokens_details")
		told[field] = u.Cached
	}
}
