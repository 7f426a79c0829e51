package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	agentexec "github.com/agentbound/agentbound/agent/exec"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/gemini"
)

// agentRow is an agent as `agents --format json` lists it (design §9).
type agentRow struct {
	Name       string   `json:"name"`
	Kind       string   `json:"kind"`
	Protocol   string   `json:"protocol"`
	Model      string   `json:"model"`
	Needs      []string `json:"needs"`
	Privileged bool     `json:"privileged"`
	About      string   `json:"about"`
}

func newAgents(io stdio) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "agents", Short: "List the agents there are", Args: cobra.NoArgs,
		Long:    "List the agents that --agent takes. Privileged ones read the package in order to decide:\nthey check the instrument and enter no comparison.",
		Example: "  agentbound agents\n  agentbound agents --format json",
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			rows, err := agentRows()
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(io.out, rows)
			}
			w := tabwriter.NewWriter(io.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "AGENT\tPRIVILEGED\tWHAT IT DOES")
			for _, r := range rows {
				mark := ""
				if r.Privileged {
					mark = "yes"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, mark, r.About)
			}
			return w.Flush()
		},
	}
	addFormat(cmd, &format)
	return cmd
}

func agentRows() ([]agentRow, error) {
	var rows []agentRow
	for _, name := range reference.Names() {
		a, err := newRooms().agent("reference:"+name, asking{})
		if err != nil {
			return nil, err
		}
		ref := a.Ref()
		rows = append(rows, agentRow{Name: ref.Name, Kind: ref.Kind, Needs: []string{}, Privileged: ref.Privileged, About: reference.About(name)})
	}
	return append(rows, agentRow{
		Name: "anthropic:MODEL", Kind: "model", Protocol: "messages", Model: "MODEL", Needs: []string{anthropic.KeyEnv}, About: "a model of Anthropic's, or behind its protocol with @BASE_URL",
	}, agentRow{
		Name: "gemini:MODEL", Kind: "model", Protocol: "generate-content", Model: "MODEL", Needs: []string{gemini.KeyEnv}, About: "a model of Google's, or behind its protocol with @BASE_URL",
	}, agentRow{
		Name: "compat:MODEL@BASE_URL", Kind: "model", Protocol: "chat-completions", Model: "MODEL", Needs: []string{"an endpoint; " + compat.KeyEnv + " where it asks for a key"},
		About: "a model behind any OpenAI-compatible chat endpoint; --form native or react",
	}, agentRow{
		Name: "exec:COMMAND", Kind: "exec", Protocol: fmt.Sprintf("json-lines/%d", agentexec.Version), Needs: []string{"a program"},
		About: "any program over JSON lines, see docs/exec.md",
	}), nil
}
