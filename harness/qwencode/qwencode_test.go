package qwencode_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/qwencode"
)

// TestLaunch: the instruction stands word for word in a command's file, and not among the
// arguments; the key only in the environment.
func TestLaunch(t *testing.T) {
	given := harness.Trial{
		Start: []string{"/n/node", "/q/cli.js"}, Home: "/x", Work: "/x/work", Model: "m-1", Effort: "high", URL: "http://127.0.0.1:1/v1", Key: "key-1",
		MCP: "http://127.0.0.1:2/", Tools: []string{"read"}, System: "--Who asks", Instruction: "/help a@b.example $HOME 'q' \"\\\n\x7f<é>",
	}
	l, err := qwencode.Program().Launch(given)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/n/node", "/q/cli.js", "--output-format", "stream-json", "--chat-recording=false", "--append-system-prompt=--Who asks", "--prompt=/task"}
	if d := cmp.Diff(want, l.Argv); d != "" {
		t.Error(d)
	}
	if got, want := string(l.Files[".qwen/commands/task.toml"]), `prompt = "/help a@b.example $HOME 'q' \"\\\n\u007f<é>"`+"\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var settings struct {
		Model struct {
			Name             string
			GenerationConfig struct {
				Extra map[string]string `json:"extra_body"`
			}
		}
		Tools       struct{ Core []string }
		Permissions struct{ Allow, Deny []string }
		MCPServers  map[string]struct {
			HTTPURL      string
			IncludeTools []string
		}
	}
	if err := json.Unmarshal(l.Files[".qwen/settings.json"], &settings); err != nil {
		t.Fatal(err)
	}
	server := settings.MCPServers["world"]
	if settings.Model.Name != "m-1" || settings.Model.GenerationConfig.Extra["reasoning_effort"] != "high" || server.HTTPURL != given.MCP || !slices.Equal(server.IncludeTools, given.Tools) {
		t.Errorf("%+v", settings)
	}
	if !slices.Equal(settings.Permissions.Allow, []string{"mcp__world__read"}) || !slices.Contains(settings.Permissions.Deny, "agent") || len(settings.Tools.Core) != 1 {
		t.Errorf("%+v", settings)
	}
	if !slices.Contains(l.Env, "OPENAI_API_KEY=key-1") || strings.Contains(string(l.Files[".qwen/settings.json"]), "key-1") {
		t.Errorf("%q", l.Env)
	}
	for _, special := range []string{"Say {{args}}", "Is it !{ls}?", "Mail to @{list}"} {
		given.Instruction = special
		if _, err := qwencode.Program().Launch(given); err == nil || !strings.Contains(err.Error(), "would replace") {
			t.Errorf("%q: error %v", special, err)
		}
	}
}

func TestFault(t *testing.T) {
	p := qwencode.Program()
	for want, e := range map[string]harness.Exit{
		"": {Stdout: []byte("{\"type\":\"assistant\"}\nnoise\n{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false}\n")},
		"it ended with status 1: error_during_execution [API Error: 401]": {Code: 1, Stdout: []byte(`{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"[API Error: 401]"}}`)},
		"it ended with status 0: error_during_execution x":                {Stdout: []byte(`{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"x"}}`)},
		"it ended with status 55":                                         {Code: 55, Stdout: []byte(`{"type":"result","subtype":"success"}`)},
		"it ended with status 0, without its result":                      {Stdout: []byte(`{"type":"assistant"}`)},
		"it ended with status -1, without its result":                     {Code: -1},
	} {
		if got := p.Fault(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzFault(f *testing.F) {
	f.Add(0, []byte(`{"type":"result","is_error":false}`))
	p := qwencode.Program()
	f.Fuzz(func(t *testing.T, code int, out []byte) {
		if (code != 0 || len(out) == 0) && p.Fault(harness.Exit{Code: code, Stdout: out}) == "" {
			t.Errorf("status %d with %q", code, out)
		}
	})
}
