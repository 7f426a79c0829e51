package openclaw_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/openclaw"
)

func TestLaunch(t *testing.T) {
	l, err := openclaw.Program().Launch(harness.Trial{
		Start: []string{"/n/node", "/o/openclaw.mjs"}, Home: "/x", Work: "/x/work", Model: "m-1", URL: "http://127.0.0.1:1/v1", Key: "key-1",
		MCP: "http://127.0.0.1:2/", Tools: []string{"read"}, System: "Who asks", Instruction: "--help $HOME",
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(l.Argv, func(a string) bool { return strings.Contains(a, "$HOME") || strings.Contains(a, "key-1") }) || string(l.Files["message.md"]) != "--help $HOME" {
		t.Errorf("%q, %q", l.Argv, l.Files)
	}
	var config struct {
		Tools struct {
			Allow      []string
			ToolSearch *bool
		}
	}
	if err := json.Unmarshal(l.Files["openclaw.json"], &config); err != nil || len(config.Tools.Allow) != 1 || config.Tools.Allow[0] != "world__read" || config.Tools.ToolSearch == nil || *config.Tools.ToolSearch {
		t.Errorf("%+v, %v", config, err)
	}
	if string(l.Files["work/AGENTS.md"]) != "Who asks\n" {
		t.Errorf("%q", l.Files["work/AGENTS.md"])
	}
}

func TestFault(t *testing.T) {
	p := openclaw.Program()
	for want, e := range map[string]harness.Exit{
		"": {Stdout: []byte("a line of its log\n{\"ok\":true,\"status\":\"ok\"}\n")},
		`it ended with status 1: error {"message":"no model"}`: {Code: 1, Stdout: []byte(`{"ok":false,"status":"error","error":{"message":"no model"}}`)},
		"it ended with status 0 and without its result":        {Stdout: []byte("bye")},
		"it ended with status 0: timeout ":                     {Stdout: []byte(`{"ok":false,"status":"timeout"}`)},
	} {
		if got := p.Fault(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzFault(f *testing.F) {
	f.Add(0, []byte(`{"ok":true}`))
	p := openclaw.Program()
	f.Fuzz(func(t *testing.T, code int, out []byte) {
		if code != 0 && p.Fault(harness.Exit{Code: code, Stdout: out}) == "" {
			t.Errorf("status %d with %q", code, out)
		}
	})
}
