package mcpexec

import (
	"crypto/rand"
	"net"
	"os"
	"path/filepath"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/episode"
)

// What a program finds: files in its folder, and variables that name them or hold the
// same. Alike on every task but for what the subject is given, the port and the path.
const (
	taskFile   = "task.json"
	configFile = "mcp.json"

	envTask        = "AGENTBOUND_TASK"        // path of taskFile
	envConfig      = "AGENTBOUND_MCP_CONFIG"  // path of configFile
	envURL         = "AGENTBOUND_MCP_URL"     // of the server
	envSystem      = "AGENTBOUND_SYSTEM"      // the setting, and how to end
	envInstruction = "AGENTBOUND_INSTRUCTION" // what is asked
)

// serverName is what configurations call the server; many programs put it before the
// names of its tools.
const serverName = "world"

// task is what is in taskFile.
type task struct {
	Version     int    `json:"version"`
	Setting     string `json:"setting"`
	Instruction string `json:"instruction"`
	Outcome     string `json:"outcome"` // how to end, alike on every task
	System      string `json:"system"`  // the setting and outcome as one text, for a model's system prompt
	MCP         string `json:"mcp_url"`
}

// config is what is in configFile, in the form that many programs read.
type config struct {
	Servers map[string]remote `json:"mcpServers"`
}

type remote struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

func system(b episode.Brief) string {
	return b.Setting + "\n\nYou work through the tools you are given.\n\n" + chat.OutcomeRule
}

// prepare writes the files of a trial and gives its variables.
func prepare(b episode.Brief, url string) func(dir string) ([]string, error) {
	return func(dir string) ([]string, error) {
		for name, v := range map[string]any{
			taskFile:   task{Version: 1, Setting: b.Setting, Instruction: b.Instruction, Outcome: chat.OutcomeRule, System: system(b), MCP: url},
			configFile: config{map[string]remote{serverName: {"http", url}}},
		} {
			text, err := agentbound.EncodeJSON(v)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), append(text, '\n'), 0o600)
			}
			if err != nil {
				return nil, err
			}
		}
		return []string{
			envTask + "=" + filepath.Join(dir, taskFile), envConfig + "=" + filepath.Join(dir, configFile), envURL + "=" + url,
			envSystem + "=" + system(b), envInstruction + "=" + b.Instruction,
		}, nil
	}
}

// path is one that no other trial's program can guess.
func path() string { return "/" + rand.Text() + "/mcp" }

func address(l net.Listener, path string) string { return "http://" + l.Addr().String() + path }
