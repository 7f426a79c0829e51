package modeltest_test

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model/modeltest"
)

// TestResponsesAreStrict: what the protocol does not allow is refused, with the place.
func TestResponsesAreStrict(t *testing.T) {
	const (
		user    = `{"role":"user","content":"hi"}`
		thought = `{"type":"reasoning","id":"r","summary":[],"encrypted_content":"sealed:hm"}`
		said    = `{"type":"message","role":"assistant","id":"m","status":"completed","content":[{"type":"output_text","text":"so","annotations":[]}]}`
		call    = `{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`
		answer  = `{"type":"function_call_output","call_id":"1","output":"ok"}`
	)
	input := func(items ...string) string {
		return `{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[` + strings.Join(items, ",") + `]}`
	}
	with := func(fields string) string {
		return strings.TrimSuffix(input(user), "}") + "," + fields + "}"
	}
	tool := func(tool string) string { return with(`"tools":[` + tool + `]`) }
	for name, test := range map[string]struct{ body, reasoning, want string }{
		"a question":               {input(user), "", ""},
		"calls and answers":        {input(user, said, call, answer), "", ""},
		"reasoning sent back":      {input(user, thought, said, call, answer), "yes", ""},
		"a tool":                   {tool(`{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false}`), "", ""},
		"an effort":                {with(`"reasoning":{"effort":"high","summary":"auto"}`), "", ""},
		"no JSON":                  {`{`, "", "unexpected EOF"},
		"an unknown field":         {with(`"seed":1`), "", `unknown field "seed"`},
		"no input":                 {`{"model":"m","store":false}`, "", "model and input are required"},
		"kept on the server":       {strings.Replace(input(user), `"store":false,`, "", 1), "", "store is not false"},
		"another include":          {strings.Replace(input(user), "reasoning.encrypted_content", "logprobs", 1), "", `include "logprobs"`},
		"reasoning not included":   {strings.Replace(input(user), `"include":["reasoning.encrypted_content"],`, "", 1), "yes", "is not included"},
		"reasoning left out":       {input(user, call, answer), "yes", "input[1]: a call without the reasoning"},
		"reasoning of another's":   {input(user, strings.Replace(thought, "sealed:", "", 1), call, answer), "yes", "input[1]: reasoning with id"},
		"reasoning, nothing after": {input(user, thought, user), "", "input[2]: it comes after a reasoning item"},
		"reasoning at the end":     {input(user, thought), "", "a reasoning item without the item"},
		"a call unanswered":        {input(user, call), "", `the calls ["1"] were not answered`},
		"a question between":       {input(user, call, user), "", `input[2]: the calls ["1"] were not answered`},
		"an answer to nothing":     {input(user, answer), "", `input[1]: call_id "1" answers no open call`},
		"an id used again":         {input(user, call, answer, call, answer), "", `input[3]: call_id "1" is empty or used`},
		"a name with a dot":        {input(user, strings.Replace(call, `"f"`, `"a.f"`, 1), answer), "", `input[1]: name "a.f"`},
		"arguments of one's own":   {input(user, strings.Replace(call, `"{}"`, `"{"`, 1), answer), "", "input[1]: arguments"},
		"the assistant's last":     {input(user, said), "", "the last message is the assistant's"},
		"an empty message":         {input(user, strings.Replace(said, `"so"`, `""`, 1), user), "", "input[1]: a message of no text"},
		"a message without an id":  {input(user, strings.Replace(said, `"id":"m",`, "", 1), user), "", "input[1]: an output message has an id"},
		"a late system":            {input(user, `{"role":"system","content":"so"}`), "", "input[1]: system comes first"},
		"an unknown item":          {input(`{"type":"item_reference","id":"x"}`), "", `input[0]: type "item_reference"`},
		"a strict tool":            {tool(`{"type":"function","name":"f","parameters":{"type":"object"},"strict":true}`), "", "tools[0]: strict is not false"},
		"no room for answers":      {with(`"max_output_tokens":15`), "", "max_output_tokens below 16"},
		"a hot temperature":        {with(`"temperature":3`), "", "temperature outside"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := modeltest.Responses{}.Decode(nil, []byte(test.body), modeltest.Options{Reasoning: test.reasoning})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// TestDialectsAreStrict: a dialect's peer takes its own fields, and no other's.
func TestDialectsAreStrict(t *testing.T) {
	body := func(fields string) []byte {
		return []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],` + fields + `}`)
	}
	for fields, takers := range map[string]string{
		`"max_tokens":9`: "compat deepseek zhipu openrouter vllm ollama llamacpp", `"max_completion_tokens":9`: "openai-chat xai moonshot",
		`"seed":9`: "compat openai-chat xai openrouter vllm ollama llamacpp", `"reasoning_effort":"low"`: "openai-chat xai deepseek moonshot zhipu vllm ollama",
		`"thinking":{"type":"enabled"}`: "deepseek moonshot zhipu", `"reasoning":{"effort":"low"}`: "openrouter", `"chat_template_kwargs":{}`: "vllm llamacpp",
		`"stream":true`: "", `"stream_options":{"include_usage":true}`: "", `"metadata":{}`: "",
		`"stream":true,"stream_options":{"include_usage":true}`: "compat openai-chat xai deepseek moonshot zhipu openrouter vllm ollama llamacpp",
	} {
		for scheme, peer := range modeltest.Dialects() {
			_, _, _, err := peer.Decode(nil, body(fields), modeltest.Options{})
			if takes := strings.Contains(" "+takers+" ", " "+scheme+" "); takes != (err == nil) {
				t.Errorf("%s, %s: error %v", scheme, fields, err)
			}
		}
	}
}
