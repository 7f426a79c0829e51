// Package codex is OpenAI's Codex CLI as an agent program. It speaks the responses
// protocol only, over event streams, and is native: it needs no Node to run.
package codex

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

const vendor = "@openai/codex-%s/vendor/%s/bin/codex"

// Program is Codex.
func Program() harness.Program {
	return harness.Program{
		Name: "codex", Title: "Codex", Protocol: harness.Responses, Endpoint: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY",
		About: "OpenAI's Codex CLI", Adapter: "1", Memory: 192 << 20,
		Install: harness.Install{
			Package: "@openai/codex", Manifest: manifest, Lock: lock,
			Start: map[string]string{
				"linux/amd64":  fmt.Sprintf(vendor, "linux-x64", "x86_64-unknown-linux-musl"),
				"linux/arm64":  fmt.Sprintf(vendor, "linux-arm64", "aarch64-unknown-linux-musl"),
				"darwin/amd64": fmt.Sprintf(vendor, "darwin-x64", "x86_64-apple-darwin"),
				"darwin/arm64": fmt.Sprintf(vendor, "darwin-arm64", "aarch64-apple-darwin"),
			},
		},
		Launch: launch,
		Tool:   harness.Prefixed("mcp__" + harness.Server + "__"),
		Own: []harness.OwnTool{
			{Name: "request_user_input", Answer: "unavailable in Default mode"},
			{Name: "list_mcp_resources", Answer: "an empty list: the server has none"},
			{Name: "list_mcp_resource_templates", Answer: "an empty list: the server has none"},
			{Name: "read_mcp_resource", Answer: "an error: the server has none"},
		},
		Fault: fault,
	}
}

// off are the features that would give its model the machine, or ask elsewhere.
var off = []string{
	"shell_tool", "unified_exec", "view_image", "goals", "apps", "plugins", "tool_suggest", "image_generation", "skill_search",
	"sleep_tool", "hooks", "shell_snapshot", "unbounded_connection_retries",
}

func launch(t harness.Trial) (harness.Launch, error) {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("model = %s", text(t.Model))
	put("model_provider = \"endpoint\"")
	put("approval_policy = \"never\"\nsandbox_mode = \"read-only\"\nweb_search = \"disabled\"\ncheck_for_update_on_startup = false")
	put("model_reasoning_summary = \"detailed\"")
	if t.Effort != "" {
		put("model_reasoning_effort = %s", text(t.Effort))
	}
	put("developer_instructions = %s", text(t.System))
	put("include_permissions_instructions = false\ninclude_environment_context = false\nproject_doc_max_bytes = 0")
	put("[analytics]\nenabled = false\n[agents]\nenabled = false\n[features]")
	for _, f := range off {
		put("%s = false", f)
	}
	put("[model_providers.endpoint]\nname = \"endpoint\"\nbase_url = %s\nwire_api = \"responses\"\nenv_key = \"MODEL_KEY\"", text(t.URL))
	put("request_max_retries = 4\nstream_max_retries = 0\nsupports_websockets = false")
	put("[mcp_servers.%s]\nurl = %s\nrequired = true\ndefault_tools_approval_mode = \"approve\"\ntool_timeout_sec = 3600", harness.Server, text(t.MCP))
	tools, err := json.Marshal(t.Tools)
	if err != nil {
		return harness.Launch{}, err
	}
	put("enabled_tools = %s", tools)
	return harness.Launch{
		Argv:  append(t.Start[:len(t.Start):len(t.Start)], "exec", "--strict-config", "--json", "--skip-git-repo-check", "--ephemeral", "--", t.Instruction),
		Env:   []string{"CODEX_HOME=" + t.Home, "MODEL_KEY=" + t.Key},
		Files: map[string][]byte{"config.toml": []byte(b.String())},
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

// fault reads how it ended: status 0 after its last turn, else 1 with a turn.failed or an
// error among its events.
func fault(e harness.Exit) string {
	if e.Code == 0 {
		return ""
	}
	why := ""
	for line := range strings.Lines(string(e.Stdout)) {
		var event struct {
			Type    string                   `json:"type"`
			Message string                   `json:"message"`
			Error   struct{ Message string } `json:"error"`
		}
		if json.Unmarshal([]byte(line), &event) == nil && (event.Type == "error" || event.Type == "turn.failed") {
			why = ": " + event.Message + event.Error.Message
		}
	}
	return fmt.Sprintf("it ended with status %d%s", e.Code, why)
}
