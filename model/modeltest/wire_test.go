package modeltest_test

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model/modeltest"
)

// TestDecodeIsStrict: what the protocol does not allow is refused, with the place.
func TestDecodeIsStrict(t *testing.T) {
	const user, calling = `{"role":"user","content":"hi"}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	answer := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }
	messages := func(m ...string) string { return `{"model":"m","messages":[` + strings.Join(m, ",") + `]}` }
	tools := func(tool string) string { return `{"model":"m","messages":[` + user + `],"tools":[` + tool + `]}` }
	const thinking = `{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for name, test := range map[string]struct{ body, reasoning, want string }{
		"a question":           {messages(user), "", ""},
		"calls and answers":    {messages(user, calling, answer("1"), answer("2")), "", ""},
		"reasoning sent back":  {messages(user, thinking, answer("1")), "reasoning_content", ""},
		"no JSON":              {`{`, "", "unexpected EOF"},
		"an unknown field":     {`{"model":"m","messages":[` + user + `],"metadata":{}}`, "", `unknown field "metadata"`},
		"no model":             {`{"messages":[` + user + `]}`, "", "model and messages are required"},
		"no messages":          {messages(), "", "model and messages are required"},
		"an unknown role":      {messages(`{"role":"narrator","content":"so"}`), "", `messages[0]: role "narrator"`},
		"an empty question":    {messages(`{"role":"user","content":""}`), "", "messages[0]: content is empty"},
		"an empty answer":      {messages(user, `{"role":"assistant","content":""}`, user), "", "messages[1]: neither content nor tool_calls"},
		"a late system":        {messages(user, `{"role":"system","content":"so"}`), "", "messages[1]: system comes first"},
		"the assistant's last": {messages(user, `{"role":"assistant","content":"so"}`), "", "the last message is the assistant's"},
		"a call unanswered":    {messages(user, calling, answer("1")), "", `the calls ["2"] were not answered`},
		"a question between":   {messages(user, calling, answer("1"), user), "", `messages[3]: the calls ["2"] were not answered`},
		"an answer too many":   {messages(user, calling, answer("1"), answer("2"), answer("2")), "", `messages[4]: tool_call_id "2" answers no open call`},
		"another id":           {messages(user, calling, answer("3")), "", `messages[2]: tool_call_id "3" answers no open call`},
		"an id used again":     {messages(user, calling, answer("1"), answer("2"), calling), "", `messages[4]: id "1" is empty or used`},
		"a user's call":        {messages(strings.Replace(calling, "assistant", "user", 1)), "", "messages[0]: a field that user may not have"},
		"a name with a dot":    {messages(user, strings.ReplaceAll(calling, `"f"`, `"a.f"`)), "", `messages[1]: type "function", name "a.f"`},
		"malformed arguments":  {messages(user, strings.ReplaceAll(calling, `"{}"`, `"{"`)), "", "messages[1]: arguments"},
		"reasoning not wanted": {messages(user, thinking, answer("1")), "", "messages[1]: reasoning_content"},
		"reasoning left out":   {messages(user, calling, answer("1"), answer("2")), "reasoning_content", "messages[1]: reasoning_content"},
		"no function":          {tools(`{"type":"search"}`), "", `tools[0]: type "search"`},
		"no schema":            {tools(`{"type":"function","function":{"name":"f"}}`), "", "tools[0]: parameters"},
		"no tools":             {tools(``), "", "tools is empty"},
		"a hot temperature":    {`{"model":"m","messages":[` + user + `],"temperature":3}`, "", "temperature outside"},
		"no room for answers":  {`{"model":"m","messages":[` + user + `],"max_tokens":0}`, "", "max_tokens below 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := modeltest.Decode([]byte(test.body), test.reasoning)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
