package geminicli_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/geminicli"
)

var given = harness.Trial{
	Start: []string{"/n/node", "/g/gemini.js"}, Home: "/x", Work: "/x/work", Model: "m-1", URL: "http://127.0.0.1:1", Key: "key-1",
	MCP: "http://127.0.0.1:2/", Tools: []string{"read"}, System: "@alice asks bob@corp.example\n\t@/etc/passwd", Instruction: "--help $HOME 'q' \"\n",
}

func launched(t *testing.T, g harness.Trial) (harness.Launch, map[string]map[string]any) {
	t.Helper()
	l, err := geminicli.Program().Launch(g)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(l.Files[".gemini/settings.json"], &all); err != nil {
		t.Fatal(err)
	}
	settings := map[string]map[string]any{}
	for name, raw := range all {
		var section map[string]any
		if json.Unmarshal(raw, &section) == nil {
			settings[name] = section
		}
	}
	return l, settings
}

// TestLaunch: only the task's server is allowed, the instruction is one argument that is
// no option, and no text is read as a file's name.
func TestLaunch(t *testing.T) {
	l, settings := launched(t, given)
	want := []string{"/n/node", "/g/gemini.js", "--policy", "/x/policy.toml", "--model", "m-1", "--output-format", "json", "--prompt=--help $HOME 'q' \"\n"}
	if d := cmp.Diff(want, l.Argv); d != "" {
		t.Error(d)
	}
	server := map[string]any{"world": map[string]any{"httpUrl": "http://127.0.0.1:2/", "trust": true, "timeout": 3600000.0, "includeTools": []any{"read"}}}
	if d := cmp.Diff(server, settings["mcpServers"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"allowed": []any{"world"}}, settings["mcp"]); d != "" {
		t.Error(d)
	}
	for _, section := range []string{"telemetry", "ide", "skills", "hooksConfig"} {
		if settings[section]["enabled"] != false {
			t.Errorf("%s: %v", section, settings[section])
		}
	}
	if settings["modelConfigs"] != nil {
		t.Errorf("%v", settings["modelConfigs"])
	}
	if got := string(l.Files[".gemini/GEMINI.md"]); got != "\\@alice asks bob@corp.example\n\t\\@/etc/passwd\n" {
		t.Errorf("%q", got)
	}
	if !slices.Contains(l.Env, "GEMINI_API_KEY=key-1") || !slices.Contains(l.Env, "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1") || strings.Contains(string(l.Files[".gemini/settings.json"]), "key-1") {
		t.Errorf("%q", l.Env)
	}
	for name := range l.Files {
		if strings.HasPrefix(name, "work/") {
			t.Errorf("%s stands where the program works", name)
		}
	}
	g := given
	g.Instruction = "/quit"
	if l, _ := launched(t, g); l.Argv[len(l.Argv)-1] != "--prompt= /quit" {
		t.Errorf("%q: the instruction is taken for a command", l.Argv)
	}
}

func TestEffort(t *testing.T) {
	g := given
	g.Effort = "low"
	_, settings := launched(t, g)
	want := map[string]any{"overrides": []any{map[string]any{
		"match":       map[string]any{"model": "m-1"},
		"modelConfig": map[string]any{"generateContentConfig": map[string]any{"thinkingConfig": map[string]any{"thinkingLevel": "LOW"}}},
	}}}
	if d := cmp.Diff(want, settings["modelConfigs"]); d != "" {
		t.Error(d)
	}
	g.Effort = "max"
	if _, err := geminicli.Program().Launch(g); err == nil || !strings.Contains(err.Error(), `effort "max": this program takes minimal,`) {
		t.Errorf("error %v", err)
	}
}

func TestFault(t *testing.T) {
	p := geminicli.Program()
	for want, e := range map[string]harness.Exit{
		"": {Stdout: []byte(`{"response":"Done."}`), Stderr: []byte("a warning\n")},
		"it ended with status 1: Error: fetch failed": {Code: 1, Stderr: []byte("Retrying {\n    at x\n{\n  \"session_id\": \"1\",\n  \"error\": {\n    \"type\": \"Error\",\n    \"message\": \"fetch failed\",\n    \"code\": 1\n  }\n}\n")},
		"it ended with status 42":                     {Code: 42, Stderr: []byte("no such thing\n{")},
		"it ended with status -1":                     {Code: -1, Stdout: []byte(`{"response":"Done."}`)},
	} {
		if got := p.Fault(e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzFault(f *testing.F) {
	f.Add(1, []byte("x\n{\"error\":{\"type\":\"Error\",\"message\":\"x\"}}\n"))
	f.Add(0, []byte("{"))
	p := geminicli.Program()
	f.Fuzz(func(t *testing.T, code int, errs []byte) {
		if (p.Fault(harness.Exit{Code: code, Stderr: errs}) == "") != (code == 0) {
			t.Errorf("status %d with %q", code, errs)
		}
	})
}
