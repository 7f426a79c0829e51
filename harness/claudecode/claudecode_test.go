package claudecode_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/claudecode"
)

// TestLaunch: its model gets the task's tools and none of its own, and the instruction is
// the last argument, which neither a shell nor the program reads as anything else.
func TestLaunch(t *testing.T) {
	given := harness.Trial{
		Start: []string{"/opt/claude"}, Home: "/x", Work: "/x/work", Model: "m-1", Effort: "high", URL: "http://127.0.0.1:1", Key: "key-1",
		MCP: "http://127.0.0.1:2/", Tools: []string{"read"}, System: "Who \"asks\": $HOME <é>", Instruction: "--help $HOME 'q' \"\n",
	}
	l, err := claudecode.Program().Launch(given)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/opt/claude", "--print", "--output-format", "json", "--model", "m-1", "--mcp-config", "/x/mcp.json", "--strict-mcp-config", "--tools", "",
		"--allowedTools", "mcp__world", "--permission-prompts", "none", "--setting-sources", "", "--disable-slash-commands", "--no-session-persistence",
		"--append-system-prompt-file", "/x/system.md", "--effort", "high", "--", "--help $HOME 'q' \"\n",
	}
	if d := cmp.Diff(want, l.Argv); d != "" {
		t.Error(d)
	}
	if got := string(l.Files["mcp.json"]); got != `{"mcpServers":{"world":{"alwaysLoad":true,"type":"http","url":"http://127.0.0.1:2/"}}}` {
		t.Error(got)
	}
	if got := string(l.Files["system.md"]); got != given.System+"\n" {
		t.Error(got)
	}
	for _, v := range []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=key-1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"} {
		if !slices.Contains(l.Env, v) {
			t.Errorf("the environment lacks %s: %q", v, l.Env)
		}
	}
	for name, content := range l.Files {
		if strings.Contains(string(content), "key-1") {
			t.Errorf("the key is in %s", name)
		}
	}
	given.Instruction = "/quit"
	if l, err = claudecode.Program().Launch(given); err != nil || l.Argv[len(l.Argv)-1] != " /quit" {
		t.Errorf("%q, %v: the instruction is taken for a command", l.Argv, err)
	}
	given.Effort = "minimal"
	if _, err := claudecode.Program().Launch(given); err == nil || !strings.Contains(err.Error(), `effort "minimal": this program takes low,`) {
		t.Errorf("error %v", err)
	}
}

func TestFault(t *testing.T) {
	p := claudecode.Program()
	for want, e := range map[string]harness.Exit{
		"": {Stdout: []byte(`{"is_error":false,"subtype":"success","result":"Done.","type":"result"}` + "\n")},
		"it ended with status 1: success API Error: Connection refused": {Code: 1, Stdout: []byte(`{"is_error":true,"subtype":"success","result":"API Error: Connection refused","type":"result"}`)},
		"it ended with status 1: error_during_execution":                {Code: 1, Stdout: []byte(`{"is_error":true,"subtype":"error_during_execution","type":"result"}`)},
		"it ended with status 0: success no model":                      {Stdout: []byte(`{"is_error":true,"subtype":"success","result":"no model","type":"result"}`)},
		"it ended with status 0 and without its result":                 {Stdout: []byte("bye")},
		"it ended with status -1 and without its result":                {Code: -1},
		"it ended with status 2 and without its result":                 {Code: 2, Stdout: []byte(`{"type":"system"}`)},
	} {
		if got := p.Fault(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzFault(f *testing.F) {
	f.Add(0, []byte(`{"type":"result","is_error":false}`))
	f.Add(1, []byte(`{"type":"result","is_error":true,"result":"x"}`))
	p := claudecode.Program()
	f.Fuzz(func(t *testing.T, code int, out []byte) {
		if why := p.Fault(harness.Exit{Code: code, Stdout: out}); why == "" && (code != 0 || !strings.Contains(string(out), "result")) {
			t.Errorf("status %d with %q", code, out)
		}
	})
}
