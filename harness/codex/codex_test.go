package codex_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/codex"
)

// TestLaunch: texts stand in the configuration as TOML strings, and the instruction is
// one argument that no shell sees.
func TestLaunch(t *testing.T) {
	l, err := codex.Program().Launch(harness.Trial{
		Start: []string{"/opt/codex"}, Home: "/x", Model: `m"1`, Effort: "high", URL: "http://127.0.0.1:1/v1", Key: "key-1", MCP: "http://127.0.0.1:2/",
		Tools: []string{"read", "write"}, System: "Line one\nsays \"two\" \\ <é>\x7f\x01", Instruction: "--help $HOME 'q' \"\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/opt/codex", "exec", "--strict-config", "--json", "--skip-git-repo-check", "--ephemeral", "--", "--help $HOME 'q' \"\n"}
	if d := cmp.Diff(want, l.Argv); d != "" {
		t.Error(d)
	}
	config := string(l.Files["config.toml"])
	for _, line := range []string{
		`model = "m\"1"`, `model_reasoning_effort = "high"`, `developer_instructions = "Line one\nsays \"two\" \\ <é>\u007f\u0001"`, `base_url = "http://127.0.0.1:1/v1"`,
		`url = "http://127.0.0.1:2/"`, `enabled_tools = ["read","write"]`, `shell_tool = false`, `web_search = "disabled"`, `approval_policy = "never"`,
	} {
		if !strings.Contains("\n"+config, "\n"+line+"\n") {
			t.Errorf("the configuration lacks %s:\n%s", line, config)
		}
	}
	if strings.Contains(config, "key-1") {
		t.Error("the key is in the configuration")
	}
}

func TestFault(t *testing.T) {
	p := codex.Program()
	for want, e := range map[string]harness.Exit{
		"": {Code: 0, Stdout: []byte(`{"type":"turn.completed"}`)},
		"it ended with status 1: stream disconnected": {Code: 1, Stdout: []byte("{\"type\":\"error\",\"message\":\"x\"}\nnoise\n{\"type\":\"turn.failed\",\"error\":{\"message\":\"stream disconnected\"}}\n")},
		"it ended with status 2":                      {Code: 2},
	} {
		if got := p.Fault(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzFault(f *testing.F) {
	f.Add(1, []byte(`{"type":"error","message":"x"}`))
	p := codex.Program()
	f.Fuzz(func(t *testing.T, code int, out []byte) {
		if (p.Fault(harness.Exit{Code: code, Stdout: out}) == "") != (code == 0) {
			t.Errorf("status %d with %q", code, out)
		}
	})
}
