// Package dsh is DeepSeek Harness (dsh) as an agent program, over chat completions. It
// runs on the Node that its lock names.
package dsh

import (
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

// Program is DeepSeek Harness.
func Program() harness.Program {
	return harness.Program{
		Name: "deepseek-harness", Title: "DeepSeek Harness", Protocol: harness.ChatCompletions, Endpoint: "https://api.deepseek.com", KeyEnv: "DEEPSEEK_API_KEY",
		About: "DeepSeek's own harness, its headless profile", Adapter: "1", Memory: 256 << 20,
		Install: harness.Install{
			Package: "@deepseek-ai/dsh", Manifest: manifest, Lock: lock, Node: true, Start: map[string]string{"": "@deepseek-ai/dsh/lib/bin.js"},
			Flags: []string{"--legacy-peer-deps"}, // its packages name each other as peers; the manifest holds them all
		},
		Launch: launch,
		Tool:   harness.Prefixed("mcp__" + harness.Server + "__"),
		Fault:  fault,
	}
}

// off are the plug-ins that would give its model the machine, other agents or the web,
// or ask the model beside the task.
var off = []string{
	"session-title-llm", "tool-bash", "tool-pwsh", "tool-jobs", "tool-fs", "tool-fs-search", "tool-str-replace-editor", "tool-skill",
	"tool-subagent", "tool-subagent-fork", "tool-subagent-control", "tool-subagent-list-agents", "tool-subagent-report", "tool-workflow",
	"tool-todo", "tool-goal", "tool-ralph", "tool-web", "web", "web-search-deepseek", "plan-mode",
}

// persona is its own, to which a task's setting is added.
const persona = "You are a coding agent powered by the {{model}} model. Your working directory is {{cwd}}."

func launch(t harness.Trial) (harness.Launch, error) {
	if t.Effort != "" {
		return harness.Launch{}, fmt.Errorf("effort %q: this program has no setting for it; leave it out", t.Effort)
	}
	patch := []any{map[string]any{"id": "hmr", "disabled": false}} // what loads plug-ins that are inserted
	for _, id := range off {
		patch = append(patch, map[string]any{"id": id, "disabled": true})
	}
	patch = append(
		patch,
		map[string]any{"id": "agent-default-model", "config": map[string]any{"provider": "deepseek-official", "model": t.Model}},
		map[string]any{"id": "system-prompt", "config": map[string]any{"persona": persona + "\n\n" + plain(t.System)}},
		map[string]any{"insert": []any{map[string]any{"id": "mcp-" + harness.Server, "name": "@deepseek-ai/dsh-mcp-client", "config": map[string]any{
			"serverName": harness.Server, "transport": "streamable-http", "url": t.MCP, "failOnStartupError": true,
		}}}},
	)
	b, err := json.Marshal(patch) // JSON is YAML
	if err != nil {
		return harness.Launch{}, err
	}
	instruction := t.Instruction
	if strings.HasPrefix(instruction, "-") {
		instruction = " " + instruction // else it would be taken for an option
	}
	return harness.Launch{
		Argv:  append(t.Start[:len(t.Start):len(t.Start)], "--profile", "headless", "--patch", filepath.Join(t.Home, "patch.yml"), instruction),
		Env:   []string{"DSH_HOME=" + filepath.Join(t.Home, "dsh"), "DEEPSEEK_BASE_URL=" + t.URL, "DEEPSEEK_API_KEY=" + t.Key, "DSH_TELEMETRY_MODE=DISABLED"},
		Files: map[string][]byte{"patch.yml": b, "dsh/.keep": nil},
	}, nil
}

// plain keeps a text from being read as a template.
func plain(text string) string { return strings.ReplaceAll(text, "{{", "{ {") }

// fault reads how it ended: it prints its last message and ends with status 0.
func fault(e harness.Exit) string {
	if e.Code == 0 {
		return ""
	}
	return fmt.Sprintf("it ended with status %d", e.Code)
}
