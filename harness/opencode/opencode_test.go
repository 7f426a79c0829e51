package opencode_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/opencode"
)

// TestLaunch: the instruction is the program's input, from a file; the shell that opens
// it sees names only. Of all tools the task's alone are on.
func TestLaunch(t *testing.T) {
	given := harness.Trial{
		Start: []string{"/o/opencode"}, Home: "/x", Work: "/x/work", Model: "org/m-1", Effort: "high", URL: "http://127.0.0.1:1/v1", Key: "key-1",
		MCP: "http://127.0.0.1:2/", Tools: []string{"read"}, System: "Who asks", Instruction: "--help $(id) 'q'  1.50\n",
	}
	l, err := opencode.Program().Launch(given)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/bin/sh", "-c", `exec "$@" <"$0"`, "/x/message.md", "/o/opencode",
		"run", "--pure", "--format", "json", "--thinking", "--title", "session", "--model", "endpoint/org/m-1",
	}
	if d := cmp.Diff(want, l.Argv); d != "" {
		t.Error(d)
	}
	if got := string(l.Files["message.md"]); got != given.Instruction {
		t.Errorf("%q", got)
	}
	if got := string(l.Files["setting.md"]); got != "Who asks\n" {
		t.Errorf("%q", got)
	}
	var config struct {
		Provider map[string]struct {
			Options struct{ BaseURL, APIKey string }
			Models  map[string]struct{ Options map[string]string }
		}
		Tools        map[string]bool
		Permission   map[string]string
		Instructions []string
		MCP          map[string]struct{ URL string }
	}
	if err := json.Unmarshal(l.Files["opencode.json"], &config); err != nil {
		t.Fatal(err)
	}
	endpoint := config.Provider["endpoint"]
	if endpoint.Options.BaseURL != given.URL || endpoint.Models["org/m-1"].Options["reasoningEffort"] != "high" || config.MCP["world"].URL != given.MCP {
		t.Errorf("%+v", config)
	}
	if d := cmp.Diff(map[string]bool{"*": false, "world_*": true}, config.Tools); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"*": "deny", "world_*": "allow"}, config.Permission); d != "" {
		t.Error(d)
	}
	if !slices.Equal(config.Instructions, []string{"/x/setting.md"}) {
		t.Errorf("%q", config.Instructions)
	}
	if !slices.Contains(l.Env, "MODEL_KEY=key-1") || strings.Contains(string(l.Files["opencode.json"]), "key-1") {
		t.Errorf("%q", l.Env)
	}
}

func TestFault(t *testing.T) {
	p := opencode.Program()
	for want, e := range map[string]harness.Exit{
		"": {Stdout: []byte(`{"type":"step_finish"}`)},
		"it ended with status 1: APIError no luck": {Code: 1, Stdout: []byte("noise\n{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{\"message\":\"no luck\",\"statusCode\":401}}}\n")},
		"it ended with status 0: UnknownError ":    {Stdout: []byte(`{"type":"error","error":{"name":"UnknownError"}}`)},
		"it ended with status 1":                   {Code: 1, Stderr: []byte("Error: Unexpected error")},
	} {
		if got := p.Fault(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzFault(f *testing.F) {
	f.Add(0, []byte(`{"type":"error","error":{"name":"x"}}`))
	p := opencode.Program()
	f.Fuzz(func(t *testing.T, code int, out []byte) {
		if code != 0 && p.Fault(harness.Exit{Code: code, Stdout: out}) == "" {
			t.Errorf("status %d with %q", code, out)
		}
	})
}
