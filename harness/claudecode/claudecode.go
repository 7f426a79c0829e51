// Package claudecode is Anthropic's Claude Code as an agent program, over the Messages
// protocol. It is native: it needs no Node to run.
package claudecode

import (
	"bytes"
	_ "embed" // what to install
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/harness"
)

var (
	//go:embed package.json
	manifest []byte
	//go:embed package-lock.json
	lock []byte
)

const binary = "@anthropic-ai/claude-code-%s/claude"

// Program is Claude Code.
func Program() harness.Program {
	return harness.Program{
		Name: "claude-code", Title: "Claude Code", Protocol: harness.Messages, Endpoint: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY",
		About: "Anthropic's Claude Code, its print mode", Adapter: "1", Memory: 384 << 20,
		Install: harness.Install{
			Package: "@anthropic-ai/claude-code", Manifest: manifest, Lock: lock,
			Start: map[string]string{ // Linux: with glibc
				"linux/amd64":  fmt.Sprintf(binary, "linux-x64"),
				"linux/arm64":  fmt.Sprintf(binary, "linux-arm64"),
				"darwin/amd64": fmt.Sprintf(binary, "darwin-x64"),
				"darwin/arm64": fmt.Sprintf(binary, "darwin-arm64"),
			},
		},
		Launch: launch,
		Tool:   harness.Prefixed(server + "__"),
		Fault:  fault,
	}
}

const server = "mcp__" + harness.Server

var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// settings are variables of its environment that hold in every trial: nothing is asked
// beside the task, no other model takes over, and it waits for the task's tools.
var settings = []string{
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	"CLAUDE_CODE_MAX_RETRIES=4", "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK=1", "CLAUDE_CODE_NO_MODEL_FALLBACK=1", "CLAUDE_CODE_DISABLE_LEGACY_MODEL_REMAP=1",
	"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", // else it is told of a folder for notes, and that it should write there
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_DISABLE_MCP_TASK_BACKGROUND=1",
	"ENABLE_TOOL_SEARCH=false", // with the search its model sees a tool of its own beside the task's, or instead
	"MCP_CONNECTION_NONBLOCKING=false", "MCP_TIMEOUT=120000", "MCP_TOOL_TIMEOUT=3600000", "MAX_MCP_OUTPUT_TOKENS=1000000",
}

func launch(t harness.Trial) (harness.Launch, error) {
	if t.Effort != "" && !slices.Contains(efforts, t.Effort) {
		return harness.Launch{}, fmt.Errorf("effort %q: this program takes %s", t.Effort, strings.Join(efforts, ", "))
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{harness.Server: map[string]any{"type": "http", "url": t.MCP, "alwaysLoad": true}}})
	if err != nil {
		return harness.Launch{}, err
	}
	argv := slices.Concat(t.Start, []string{
		"--print", "--output-format", "json", "--model", t.Model,
		"--mcp-config", filepath.Join(t.Home, "mcp.json"), "--strict-mcp-config", "--tools", "", "--allowedTools", server, "--permission-prompts", "none",
		"--setting-sources", "", "--disable-slash-commands", "--no-session-persistence", "--append-system-prompt-file", filepath.Join(t.Home, "system.md"),
	})
	if t.Effort != "" {
		argv = append(argv, "--effort", t.Effort)
	}
	instruction := t.Instruction
	if strings.HasPrefix(instruction, "/") {
		instruction = " " + instruction // else it would be taken for a command
	}
	return harness.Launch{
		Argv: append(argv, "--", instruction),
		Env:  append(settings[:len(settings):len(settings)], "ANTHROPIC_BASE_URL="+t.URL, "ANTHROPIC_API_KEY="+t.Key, "ANTHROPIC_DEFAULT_HAIKU_MODEL="+t.Model),
		Files: map[string][]byte{
			"mcp.json": servers, "system.md": []byte(t.System + "\n"),
		},
	}, nil
}

// fault reads its envelope: status 0 and no error, or why not.
func fault(e harness.Exit) string {
	var envelope struct {
		Type    string `json:"type"`
		Subtype string `json:"subtype"`
		IsError bool   `json:"is_error"`
		Result  string `json:"result"`
	}
	err := json.Unmarshal(bytes.TrimSpace(e.Stdout), &envelope)
	switch {
	case err != nil || envelope.Type != "result":
		return fmt.Sprintf("it ended with status %d and without its result", e.Code)
	case e.Code == 0 && !envelope.IsError:
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("it ended with status %d: %s %s", e.Code, envelope.Subtype, envelope.Result))
}
