// Package opencode is opencode as an agent program, over chat completions. It is native:
// it needs no Node to run.
package opencode

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

// Program is opencode.
func Program() harness.Program {
	return harness.Program{
		Name: "opencode", Title: "opencode", Protocol: harness.ChatCompletions, Endpoint: "https://opencode.ai/zen/v1", KeyEnv: "OPENCODE_API_KEY",
		About: "opencode, its run command without plug-ins", Adapter: "1", Memory: 768 << 20,
		Install: harness.Install{
			Package: "opencode-ai", Manifest: manifest, Lock: lock,
			Start: map[string]string{"linux/amd64": "opencode-linux-x64-baseline/bin/opencode"}, // the build that needs no AVX2
		},
		Launch: launch,
		Tool:   harness.Prefixed(prefix),
		Fault:  fault,
	}
}

const (
	prefix   = harness.Server + "_"
	provider = "endpoint"
	// installed has it believe that its library for plug-ins is there, which it would
	// fetch in every new home, plug-ins or not.
	installed = `{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}`
	// patience is how long it waits for a tool, in milliseconds; the trial's is shorter.
	patience = 3_600_000
	// input opens the file of the instruction as its input: of arguments it would put into
	// quotes those that have spaces. The shell sees the names of files only.
	input = `exec "$@" <"$0"`
	// What it plans its conversation by where it knows nothing of a model.
	window, answer = 200_000, 32_000
)

func launch(t harness.Trial) (harness.Launch, error) {
	model := map[string]any{
		"name": t.Model, "reasoning": true, "tool_call": true, "limit": map[string]any{"context": window, "output": answer},
	}
	if t.Effort != "" {
		model["options"] = map[string]any{"reasoningEffort": t.Effort}
	}
	ours := prefix + "*"
	config, err := json.Marshal(map[string]any{
		"enabled_providers": []string{provider},
		"provider": map[string]any{provider: map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": provider, // part of the program: nothing is fetched
			"options": map[string]any{ //nolint:gosec // it names a variable
				"baseURL": t.URL, "apiKey": "{env:MODEL_KEY}",
				"timeout": false, "headerTimeout": false, "chunkTimeout": false,
			},
			"models": map[string]any{t.Model: model},
		}},
		"tools":        map[string]any{"*": false, ours: true},
		"permission":   map[string]any{"*": "deny", ours: "allow"},
		"mcp":          map[string]any{harness.Server: map[string]any{"type": "remote", "url": t.MCP, "enabled": true, "oauth": false, "timeout": patience}},
		"instructions": []string{filepath.Join(t.Home, "setting.md")},
		"share":        "disabled", "snapshot": false, "autoupdate": false, "formatter": false, "lsp": false,
	})
	if err != nil {
		return harness.Launch{}, err
	}
	argv := append(
		[]string{"/bin/sh", "-c", input, filepath.Join(t.Home, "message.md")}, append(
			t.Start[:len(t.Start):len(t.Start)], "run", "--pure", "--format", "json", "--thinking", "--title", "session", "--model", provider+"/"+t.Model,
		)...,
	)
	return harness.Launch{
		Argv: argv,
		Env: []string{
			"OPENCODE_CONFIG=" + filepath.Join(t.Home, "opencode.json"), "MODEL_KEY=" + t.Key,
			"OPENCODE_DISABLE_PROJECT_CONFIG=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_CLAUDE_CODE=1", "OPENCODE_DISABLE_EXTERNAL_SKILLS=1",
		},
		Files: map[string][]byte{
			"opencode.json": config, "setting.md": []byte(t.System + "\n"), "message.md": []byte(t.Instruction),
			".config/opencode/node_modules/.keep": nil, ".config/opencode/package-lock.json": []byte(installed),
		},
	}, nil
}

// fault reads how it ended: status 0, else 1 with an error among its events.
func fault(e harness.Exit) string {
	why := ""
	for line := range strings.Lines(string(e.Stdout)) {
		var event struct {
			Type  string `json:"type"`
			Error struct {
				Name string                   `json:"name"`
				Data struct{ Message string } `json:"data"`
			} `json:"error"`
		}
		if json.Unmarshal([]byte(line), &event) == nil && event.Type == "error" {
			why = ": " + event.Error.Name + " " + event.Error.Data.Message
		}
	}
	if e.Code == 0 && why == "" {
		return ""
	}
	return fmt.Sprintf("it ended with status %d%s", e.Code, why)
}
