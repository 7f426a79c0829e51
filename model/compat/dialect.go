package compat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
)

// Dialect is how one vendor or server speaks the protocol. The zero value of a field is
// what most of them share.
type Dialect struct {
	Scheme string // of specifications
	About  string // for listings
	Base   string // the base URL where a specification has none; empty: it must have one
	KeyEnv string // the variable that holds the key
	Local  bool   // a server that one starts oneself: a key only where it asks for one

	// What is sent.
	MaxTokens string                         // the field for the most tokens; empty: max_tokens
	NoSeed    bool                           // its reference has no seed
	Cold      func(name, effort string) bool // the model takes no temperature; nil: all do
	Efforts   []Effort                       // in order; empty: reasoning_effort takes each of them
	Returns   []string                       // the fields of reasoning that it wants back with calls, beside which nothing is sent back

	// What is read.
	Sensitive     []string       // reasons to end that are the provider's filter, beside content_filter
	Full          []string       // reasons to end that are a limit of tokens, beside length
	Broken        []string       // reasons to end that are a failure of the server
	Filters       *regexp.Regexp // what a rejection says that is the provider's filter; nil: none of its own
	Cached        string         // the field of usage that counts cached tokens, where it is not the reference's
	ReasonedApart bool           // reasoning tokens are not part of the completion's
}

// Effort is a setting of how much to reason, and the fields that ask for it, as JSON.
type Effort struct{ Name, Fields string }

// each gives efforts the same fields, with the effort's name in them.
func each(fields string, names ...string) (all []Effort) {
	for _, n := range names {
		all = append(all, Effort{n, strings.ReplaceAll(fields, "EFFORT", n)})
	}
	return all
}

// Dialects are the dialects there are; the first is what servers have in common.
// docs/adapters.md names the page that publishes each.
func Dialects() []Dialect { return slices.Clone(dialects) }

// Speak gives the dialect of a scheme.
func Speak(scheme string) (Dialect, bool) {
	i := slices.IndexFunc(dialects, func(d Dialect) bool { return d.Scheme == scheme })
	if i < 0 {
		return Dialect{}, false
	}
	return dialects[i], true
}

const (
	effortField = `{"reasoning_effort":"EFFORT"}`
	// What chat templates of open models call the switch.
	templateOff = `{"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`
	templateOn  = `{"chat_template_kwargs":{"enable_thinking":true,"thinking":true,"reasoning_effort":"EFFORT"}}`
	vllmOn      = `{"reasoning_effort":"EFFORT","chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`
	thinkingOff = `{"thinking":{"type":"disabled"}}`
	thinkingOn  = `{"thinking":{"type":"enabled"},"reasoning_effort":"EFFORT"}`
)

var dialects = []Dialect{
	{Scheme: Scheme, About: "a model behind any OpenAI-compatible chat endpoint", KeyEnv: KeyEnv, Local: true, Returns: reasoningFields},
	{
		Scheme: "openai-chat", About: "a model of OpenAI's, over chat completions", Base: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY",
		MaxTokens: "max_completion_tokens", Cold: openaiapi.Cold,
	},
	{
		Scheme: "xai", About: "a model of xAI's (Grok)", Base: "https://api.x.ai/v1", KeyEnv: "XAI_API_KEY", MaxTokens: "max_completion_tokens",
		Efforts: each(effortField, "none", "low", "medium", "high"), Returns: []string{"reasoning_content"},
		Filters: regexp.MustCompile(`SAFETY_CHECK_TYPE|violates usage guidelines`), ReasonedApart: true,
	},
	{
		Scheme: "deepseek", About: "a model of DeepSeek's", Base: "https://api.deepseek.com", KeyEnv: "DEEPSEEK_API_KEY", NoSeed: true,
		// While it thinks, which it does unless told otherwise, a temperature has no effect.
		Cold:    func(name, effort string) bool { return effort != "none" && name != "deepseek-chat" },
		Efforts: append([]Effort{{"none", thinkingOff}}, each(thinkingOn, "low", "high", "max")...), Returns: []string{"reasoning_content"},
		Broken: []string{"insufficient_system_resource"}, Filters: regexp.MustCompile(`Content Exists Risk`), Cached: "prompt_cache_hit_tokens",
	},
	{
		Scheme: "moonshot", About: "a model of Moonshot's (Kimi)", Base: "https://api.moonshot.ai/v1", KeyEnv: "MOONSHOT_API_KEY", MaxTokens: "max_completion_tokens", NoSeed: true,
		Cold:    func(name, _ string) bool { return strings.HasPrefix(name, "kimi-") }, // their sampling is fixed
		Efforts: append([]Effort{{"none", thinkingOff}}, each(effortField, "low", "high", "max")...), Returns: []string{"reasoning_content"},
		Filters: regexp.MustCompile(`"content_filter"|high risk`), Cached: "cached_tokens",
	},
	{
		Scheme: "zhipu", About: "a model of Zhipu's (GLM, at Z.ai)", Base: "https://api.z.ai/api/paas/v4", KeyEnv: "ZAI_API_KEY", NoSeed: true,
		Efforts: append([]Effort{{"none", thinkingOff}}, each(thinkingOn, "minimal", "low", "medium", "high", "xhigh", "max")...), Returns: []string{"reasoning_content"},
		Sensitive: []string{"sensitive"}, Full: []string{"model_context_window_exceeded"}, Broken: []string{"network_error"},
		Filters: regexp.MustCompile(`"code"\s*:\s*"?1301\b`),
	},
	{
		Scheme: "openrouter", About: "a model that OpenRouter relays", Base: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY",
		Efforts: each(`{"reasoning":{"effort":"EFFORT"}}`, openaiapi.Efforts()...), Returns: []string{"reasoning", "reasoning_details"},
		// Reasons of the providers behind it, where its own is less plain.
		Sensitive: []string{"refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "sensitive"}, Broken: []string{"error"},
		Filters: regexp.MustCompile(`"flagged_input"|requires moderation`),
	},
	{
		Scheme: "vllm", About: "a model behind a vLLM server", KeyEnv: "VLLM_API_KEY", Local: true, Returns: []string{"reasoning_content", "reasoning"},
		Efforts: append([]Effort{{"none", templateOff}}, each(vllmOn, "minimal", "low", "medium", "high", "xhigh", "max")...),
		Broken:  []string{"abort", "error"},
	},
	{
		Scheme: "ollama", About: "a model behind an Ollama server", Base: "http://127.0.0.1:11434/v1", KeyEnv: "OLLAMA_API_KEY", Local: true,
		Efforts: each(effortField, "none", "low", "medium", "high", "max"), Returns: []string{"reasoning"},
	},
	{
		Scheme: "llamacpp", About: "a model behind a llama.cpp server", Base: "http://127.0.0.1:8080/v1", KeyEnv: "LLAMACPP_API_KEY", Local: true,
		Efforts: append([]Effort{{"none", templateOff}}, each(templateOn, "minimal", "low", "medium", "high", "xhigh", "max")...), Returns: []string{"reasoning_content"},
	},
}

func (d Dialect) list() []Effort {
	if d.Efforts == nil {
		return each(effortField, openaiapi.Efforts()...)
	}
	return d.Efforts
}

// efforts are the names of those that it knows.
func (d Dialect) efforts() (names []string) {
	for _, e := range d.list() {
		names = append(names, e.Name)
	}
	return names
}

// effort is the fields that ask for one.
func (d Dialect) effort(name string) map[string]any {
	for _, e := range d.list() {
		if e.Name == name {
			fields := map[string]any{}
			if err := json.Unmarshal([]byte(e.Fields), &fields); err != nil {
				panic(err) // the table is this package's own
			}
			return fields
		}
	}
	return nil
}

func (d Dialect) filtered(status int, body []byte) bool {
	return d.Filters != nil && status >= 400 && status < 500 && d.Filters.Match(body)
}

// brokeOff is a turn that the server could not finish, and told so as its end.
func (d Dialect) brokeOff(reason string) error {
	if !slices.Contains(d.Broken, reason) {
		return nil
	}
	return &model.Error{Fault: model.FaultServer, Status: http.StatusOK, Code: reason, Begun: true, What: fmt.Sprintf("the server could not finish the turn (%s)", reason)}
}

// stop normalises the reason. What was called outranks the word: servers say "stop" of a
// turn with calls, and odd things of others.
func (d Dialect) stop(c openai.ChatCompletionChoice, m model.Message) model.Stop {
	var native string
	_ = json.Unmarshal([]byte(c.JSON.ExtraFields["native_finish_reason"].Raw()), &native)
	sensitive := func(reason string) bool { return reason == "content_filter" || slices.Contains(d.Sensitive, reason) }
	switch {
	case sensitive(c.FinishReason) || d.Sensitive != nil && sensitive(native):
		return model.StopRefusal
	case c.FinishReason == "length" || slices.Contains(d.Full, c.FinishReason):
		return model.StopLength
	case len(m.Calls) > 0:
		return model.StopCalls
	case c.Message.Refusal != "":
		return model.StopRefusal
	}
	return model.StopEnd
}

func (d Dialect) usage(u openai.CompletionUsage) model.Usage {
	tokens := openaiapi.Tokens
	read := model.Usage{
		Input: tokens(u.PromptTokens), Cached: tokens(u.PromptTokensDetails.CachedTokens),
		Output: tokens(u.CompletionTokens), Reasoning: tokens(u.CompletionTokensDetails.ReasoningTokens),
	}
	if d.ReasonedApart {
		read.Output = tokens(read.Output + read.Reasoning)
	}
	if f, ok := u.JSON.ExtraFields[d.Cached]; ok && read.Cached == 0 {
		var n int64
		_ = json.Unmarshal([]byte(f.Raw()), &n)
		read.Cached = tokens(n)
	}
	return read
}

// remedy is what to do about a rejected request, told from what the server says.
func (d Dialect) remedy(what string) string {
	what = strings.ToLower(what)
	switch {
	case strings.Contains(what, "tool") && d.Local:
		return "start the server with tool calling, or use the form react, which needs none"
	case strings.Contains(what, "tool"):
		return "use the form react, which needs no tool calling"
	case strings.Contains(what, "temperature"):
		return "leave the temperature out"
	case strings.Contains(what, "effort") || strings.Contains(what, "thinking"):
		return "try another effort, or none of your own: " + strings.Join(d.efforts(), ", ")
	}
	return ""
}
