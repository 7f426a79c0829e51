package replay

import (
	"bytes"
	"testing"

	"github.com/agentbound/agentbound/model"
)

// TestWords: what servers say of keys and accounts goes, the sentence stays.
func TestWords(t *testing.T) {
	var s striker
	s.secret("hunter2-hunter2")
	s.secret("short") // too short to be told from a word
	for text, want := range map[string]string{
		"Incorrect API key provided: sk-ab***yz. You can find it at https://h/keys.": "Incorrect API key provided: [struck] You can find it at https://h/keys.",
		"no hunter2-hunter2 here, in short":                                          "no [struck] here, in short",
		"Authorization: Bearer abc.def-ghi":                                          "Authorization: [struck] [struck]",
		"in organization org-AbCdEfGh12345678 on requests per min":                   "in organization [struck] on requests per min",
		"consumer 'projects/123456789' has no quota":                                 "consumer 'projects/[struck]' has no quota",
		"GET /v1?key=AIzaSyA0123456789abcdefghij&alt=json":                           "GET /v1?key=[struck]&alt=json",
		"(request id: 20260101123456789)":                                            "(request id: [struck])",
		"the model `m-1` does not exist":                                             "the model `m-1` does not exist",
		"maximum context length is 8192 tokens":                                      "maximum context length is 8192 tokens",
		"write to owner@corp.example":                                                "write to [struck]",
		"a user asked for it":                                                        "a user asked for it",
	} {
		if got := s.words(text); got != want {
			t.Errorf("%s\n is %s\nwant %s", text, got, want)
		}
	}
}

// FuzzStrike: striking twice is striking once, or a replay would not find what was
// recorded; and nothing told is left.
func FuzzStrike(f *testing.F) {
	for _, text := range []string{
		`organization: org-12345678901, key=hunter2-hunter2 Bearer hunter2-hunter2`, `{"organization":"org-1","x":["user id: [abcdef]",{"api_key":7}],"hunter2-hunter2":1.50}`,
		`"Bearer Bearer abcdefgh"`, `project project id: id: abcdef`, `a@b.co@c.de`, "api key: password: secret", "\xff{", `sk-sk-12345678-org-12345678`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s striker
		s.secret("hunter2-hunter2")
		once := s.words(text)
		if twice := s.words(once); twice != once {
			t.Errorf("%q becomes %q and then %q", text, once, twice)
		}
		state := s.state([]byte(text))
		if again := s.state(state); !bytes.Equal(again, state) {
			t.Errorf("%q becomes %q and then %q", text, state, again)
		}
		if s.holds([]byte(once)) || s.holds(state) {
			t.Errorf("%q becomes %q, %q", text, once, state)
		}
	})
}

// TestArguments: a key that is written with escapes is read by tools, and goes; arguments
// without one stay as they were written.
func TestArguments(t *testing.T) {
	var s striker
	s.secret("hunter2/hunter2")
	for text, want := range map[string]string{
		`{"k":"hunter2/hunter2"}`:                          `{"k":"[struck]"}`,
		`{"k":["x",{"\u0068unter2\/hunter2":1.50}],"n":7}`: `{"k":["x",{"[struck]":1.50}],"n":7}`,
		`{"k": "hunter2\/hunter2!"}`:                       `{"k":"[struck]!"}`,
		`{"k": "a\/b"}`:                                    `{"k": "a\/b"}`,
		`{"k": "hunter2\/`:                                 `{"k": "hunter2\/`,
	} {
		got := s.arguments(text)
		if got != want || s.arguments(got) != got {
			t.Errorf("%s\n is %s\nwant %s", text, got, want)
		}
		calls := model.Message{Calls: []model.ToolCall{{Args: text}}}
		if s.tells(model.Response{Message: calls}) != (want != text) {
			t.Errorf("%s tells a secret, or does not", text)
		}
		if got := s.message(calls).Calls[0].Args; got != want {
			t.Errorf("a message keeps %s", got)
		}
	}
	if !s.tells(model.Response{Message: model.Message{State: []byte("\xff hunter2/hunter2")}}) {
		t.Error("state that is no text tells a secret")
	}
}
