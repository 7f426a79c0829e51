// Package qwencode is Qwen Code as an agent program, over chat completions. It runs on
// the Node that its lock names.
package qwencode

import (
	_ "embed" // what to install
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentbound/agentbound/harness"
)

var (
	//go:embed package.json
	manifest []byte
	//go:embed package-lock.json
	lock []byte
)

// Program is Qwen Code.
func Program() harness.Program {
	return harness.Program{
		Name: "qwen-code", Title: "Qwen Code", Protocol: harness.ChatCompletions,
		Endpoint: "https://dashscope.aliyuncs.com/compatible-mode/v1", KeyEnv: "DASHSCOPE_API_KEY",
		About: "Qwen Code, without its interface", Adapter: "1", Memory: 512 << 20,
		Install: harness.Install{
			Package: "@qwen-code/qwen-code", Manifest: manifest, Lock: lock, Node: true, Start: map[string]string{"": "@qwen-code/qwen-code/cli.js"},
		},
		Launch: launch,
		Tool:   harness.Prefixed(prefix),
		Fault:  fault,
	}
}

const (
	prefix = "mcp__" + harness.Server + "__"
	// patience is how long it waits for a tool or its model, in milliseconds; the trial's is
	// shorter.
	patience = 3_600_000
)

// off are its tools that stay unless they are denied by name.
var off = []string{
	"agent", "enter_worktree", "exit_worktree", "get_goal", "list_agents", "record_artifact", "report_findings", "send_message", "skill", "task_stop",
	"update_goal",
}

// special are what it would replace in the text of a command.
var special = []string{"{{args}}", "!{", "@{"}

func launch(t harness.Trial) (harness.Launch, error) {
	for _, s := range special {
		if strings.Contains(t.Instruction, s) {
			return harness.Launch{}, fmt.Errorf("the instruction has %q, which Qwen Code would replace: it cannot be handed over word for word", s)
		}
	}
	allowed := []string{}
	for _, name := range t.Tools {
		allowed = append(allowed, prefix+name)
	}
	generation := map[string]any{"timeout": patience, "streamIdleTimeoutMs": 0}
	if t.Effort != "" {
		generation["extra_body"] = map[string]any{"reasoning_effort": t.Effort}
	}
	settings, err := json.Marshal(map[string]any{
		"security":        map[string]any{"auth": map[string]any{"selectedType": "openai"}, "folderTrust": map[string]any{"enabled": false}},
		"general":         map[string]any{"enableAutoUpdate": false, "preventSystemSleep": false},
		"privacy":         map[string]any{"usageStatisticsEnabled": false},
		"telemetry":       map[string]any{"enabled": false},
		"model":           map[string]any{"name": t.Model, "generationConfig": generation},
		"memory":          map[string]any{"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
		"skills":          map[string]any{"disabledLevels": []string{"project", "user", "extension", "bundled"}},
		"disableAllHooks": true,
		"tools":           map[string]any{"toolSearch": map[string]any{"enabled": false}, "core": []string{"none"}, "approvalMode": "default", "useRipgrep": false},
		"permissions":     map[string]any{"allow": allowed, "deny": off},
		"mcp":             map[string]any{"allowed": []string{harness.Server}, "toolIdleTimeoutMs": patience},
		"mcpServers":      map[string]any{harness.Server: map[string]any{"httpUrl": t.MCP, "trust": true, "includeTools": t.Tools, "timeout": patience, "discoveryTimeoutMs": patience}},
	})
	if err != nil {
		return harness.Launch{}, err
	}
	return harness.Launch{
		Argv: append(
			t.Start[:len(t.Start):len(t.Start)], "--output-format", "stream-json", "--chat-recording=false", "--append-system-prompt="+t.System,
			"--prompt=/task", // a command of ours: in a prompt it would take what follows an @ for a file, and part it from what stands before
		),
		Env:   []string{"OPENAI_BASE_URL=" + t.URL, "OPENAI_API_KEY=" + t.Key, "OPENAI_MODEL=" + t.Model, "QWEN_CODE_NO_RELAUNCH=1"},
		Files: map[string][]byte{".qwen/settings.json": settings, ".qwen/commands/task.toml": []byte("prompt = " + text(t.Instruction) + "\n")},
	}, nil
}

// text is a TOML basic string: its escapes are those of JSON, but for DEL, which TOML
// wants escaped.
func text(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007f`)
}

// fault reads how it ended: status 0 and a result that is no error, or why not.
func fault(e harness.Exit) string {
	why := ", without its result"
	for line := range strings.Lines(string(e.Stdout)) {
		var event struct {
			Type    string                   `json:"type"`
			Subtype string                   `json:"subtype"`
			IsError bool                     `json:"is_error"`
			Error   struct{ Message string } `json:"error"`
		}
		if json.Unmarshal([]byte(line), &event) != nil || event.Type != "result" {
			continue
		}
		if why = ""; event.IsError {
			why = ": " + event.Subtype + " " + event.Error.Message
		}
	}
	if e.Code == 0 && why == "" {
		return ""
	}
	return fmt.Sprintf("it ended with status %d%s", e.Code, why)
}
