// Package openclaw is OpenClaw as an agent program, over chat completions. It runs on
// the Node that its lock names.
package openclaw

import (
	"cmp"
	_ "embed" // what to install
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentbound/agentbound/harness"
)

var (
	//go:embed package.json
	manifest []byte
	//go:embed package-lock.json
	lock []byte
)

// Program is OpenClaw.
func Program() harness.Program {
	return harness.Program{
		Name: "openclaw", Title: "OpenClaw", Protocol: harness.ChatCompletions, Endpoint: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY",
		About: "OpenClaw, as an embedded agent without its gateway", Adapter: "1", Memory: 1 << 30,
		Install: harness.Install{
			Package: "openclaw", Manifest: manifest, Lock: lock, Node: true, Start: map[string]string{"": "openclaw/openclaw.mjs"},
		},
		Launch: launch,
		Tool:   harness.Prefixed(prefix),
		Fault:  fault,
	}
}

const (
	prefix   = harness.Server + "__"
	provider = "endpoint"
	// deadline is its own for a run; the trial's is shorter.
	deadline = "86400"
	// What it plans its conversation by where it knows nothing of a model.
	window, answer = 200_000, 32_000
)

func launch(t harness.Trial) (harness.Launch, error) {
	allowed := []string{}
	for _, name := range t.Tools {
		allowed = append(allowed, prefix+name)
	}
	free := map[string]any{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0} // it need not reckon
	config, err := json.Marshal(map[string]any{
		"models": map[string]any{"mode": "replace", "providers": map[string]any{provider: map[string]any{
			"baseUrl": t.URL, "apiKey": t.Key, "api": "openai-completions",
			"models": []any{map[string]any{
				"id": t.Model, "name": t.Model, "reasoning": true, "input": []string{"text"}, "contextWindow": window, "maxTokens": answer, "cost": free,
			}},
		}}},
		"agents": map[string]any{"defaults": map[string]any{"model": map[string]any{"primary": provider + "/" + t.Model}}},
		"tools":  map[string]any{"allow": allowed, "toolSearch": false}, // with the search its model sees three tools of its own instead
		"mcp":    map[string]any{"servers": map[string]any{harness.Server: map[string]any{"url": t.MCP, "transport": "streamable-http"}}},
		"update": map[string]any{"checkOnStart": false},
	})
	if err != nil {
		return harness.Launch{}, err
	}
	return harness.Launch{
		Argv: append(
			t.Start[:len(t.Start):len(t.Start)], "agent", "exec", "--config", filepath.Join(t.Home, "openclaw.json"), "--state-dir", filepath.Join(t.Home, "state"),
			"--cwd", t.Work, "--model", provider+"/"+t.Model, "--thinking", cmp.Or(t.Effort, "low"), "--timeout", deadline, "--json",
			"--message-file", filepath.Join(t.Home, "message.md"),
		),
		Files: map[string][]byte{
			"openclaw.json": config, "message.md": []byte(t.Instruction),
			"work/AGENTS.md": []byte(t.System + "\n"), // its place for what holds in a workspace
			"state/.keep":    nil,
		},
	}, nil
}

// fault reads its envelope: status 0 and ok, or why not.
func fault(e harness.Exit) string {
	var envelope struct {
		OK     bool            `json:"ok"`
		Status string          `json:"status"`
		Error  json.RawMessage `json:"error"`
	}
	text := string(e.Stdout)
	if i := strings.Index(text, "{"); i >= 0 {
		text = text[i:]
	}
	err := json.NewDecoder(strings.NewReader(text)).Decode(&envelope)
	switch {
	case e.Code == 0 && err == nil && envelope.OK:
		return ""
	case err != nil:
		return fmt.Sprintf("it ended with status %d and without its result", e.Code)
	}
	return fmt.Sprintf("it ended with status %d: %s %s", e.Code, envelope.Status, envelope.Error)
}
