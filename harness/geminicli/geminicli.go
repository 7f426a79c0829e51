// Package geminicli is Google's Gemini CLI as an agent program, over generateContent. It
// runs on the Node that its lock names.
package geminicli

import (
	_ "embed" // what to install
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
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

// Program is Gemini CLI.
func Program() harness.Program {
	return harness.Program{
		Name: "gemini-cli", Title: "Gemini CLI", Protocol: harness.GenerateContent, Endpoint: "https://generativelanguage.googleapis.com", KeyEnv: "GEMINI_API_KEY",
		About: "Google's Gemini CLI, headless", Adapter: "1", Memory: 384 << 20,
		Install: harness.Install{
			Package: "@google/gemini-cli", Manifest: manifest, Lock: lock, Node: true, Start: map[string]string{"": "@google/gemini-cli/bundle/gemini.js"},
		},
		Launch:  launch,
		Tool:    harness.Prefixed("mcp_" + harness.Server + "_"),
		OwnArgs: []string{"wait_for_previous"}, // it puts this into every tool's schema, and passes it on to the server
		Fault:   fault,
	}
}

var efforts = []string{"minimal", "low", "medium", "high"}

// policy denies all tools but the task's. Those that are denied its model does not see.
var policy = fmt.Sprintf(`[[rule]]
toolName = "*"
decision = "deny"
priority = 100

[[rule]]
mcpName = %q
toolName = "*"
decision = "allow"
priority = 200
`, harness.Server)

type object = map[string]any

func launch(t harness.Trial) (harness.Launch, error) {
	if t.Effort != "" && !slices.Contains(efforts, t.Effort) {
		return harness.Launch{}, fmt.Errorf("effort %q: this program takes %s", t.Effort, strings.Join(efforts, ", "))
	}
	off := object{"enabled": false}
	settings := object{
		"security":    object{"auth": object{"selectedType": "gemini-api-key"}, "folderTrust": off},
		"general":     object{"enableAutoUpdate": false, "enableAutoUpdateNotification": false, "topicUpdateNarration": false, "plan": off, "sessionRetention": off, "maxAttempts": 5},
		"privacy":     object{"usageStatisticsEnabled": false},
		"telemetry":   off,
		"ide":         off,
		"skills":      off,
		"hooksConfig": off,
		"ui":          object{"showCompatibilityWarnings": false},
		"experimental": object{
			"enableAgents": false,
		},
		"useWriteTodos": false,
		"model":         object{"disableLoopDetection": true}, // it would ask another model
		"tools":         object{"truncateToolOutputThreshold": 0, "useRipgrep": false},
		"advanced":      object{"ignoreLocalEnv": true, "autoConfigureMemory": false},
		"mcp":           object{"allowed": []string{harness.Server}},
		"mcpServers":    object{harness.Server: object{"httpUrl": t.MCP, "trust": true, "timeout": 3_600_000, "includeTools": append([]string{}, t.Tools...)}},
	}
	if t.Effort != "" {
		thinking := object{"generateContentConfig": object{"thinkingConfig": object{"thinkingLevel": strings.ToUpper(t.Effort)}}}
		settings["modelConfigs"] = object{"overrides": []any{object{"match": object{"model": t.Model}, "modelConfig": thinking}}}
	}
	b, err := json.Marshal(settings)
	if err != nil {
		return harness.Launch{}, err
	}
	instruction := t.Instruction
	if strings.HasPrefix(instruction, "/") {
		instruction = " " + instruction // else it would be taken for a command
	}
	return harness.Launch{
		Argv: append(
			t.Start[:len(t.Start):len(t.Start)], "--policy", filepath.Join(t.Home, "policy.toml"), "--model", t.Model, "--output-format", "json", "--prompt="+instruction,
		),
		Env: []string{
			"GOOGLE_GEMINI_BASE_URL=" + t.URL, "GEMINI_API_KEY=" + t.Key,
			"GEMINI_CLI_NO_RELAUNCH=true", // else it starts itself a second time
		},
		Files: map[string][]byte{
			".gemini/settings.json": b, "policy.toml": []byte(policy),
			// Its place for what holds in every folder. The one to work in stays empty: what
			// follows an @ in the instruction is then no file.
			".gemini/GEMINI.md": []byte(plain(t.System) + "\n"),
		},
	}, nil
}

var imports = regexp.MustCompile(`(^|\s)@`)

// plain keeps what follows an @ from being read as a file to put in its place.
func plain(text string) string { return imports.ReplaceAllString(text, `$1\@`) }

// fault reads how it ended: status 0 after its last turn, else with an object that says
// why at the end of its errors.
func fault(e harness.Exit) string {
	if e.Code == 0 {
		return ""
	}
	var envelope struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	text := "\n" + string(e.Stderr)
	if i := strings.LastIndex(text, "\n{"); i < 0 || json.Unmarshal([]byte(text[i:]), &envelope) != nil {
		return fmt.Sprintf("it ended with status %d", e.Code)
	}
	return fmt.Sprintf("it ended with status %d: %s: %s", e.Code, envelope.Error.Type, envelope.Error.Message)
}
