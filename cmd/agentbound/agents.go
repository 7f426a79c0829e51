package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	agentexec "github.com/agentbound/agentbound/agent/exec"
	"github.com/agentbound/agentbound/agent/preset"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/model/price"
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

	// Of presets.
	Spec      string   `json:"spec,omitempty"` // what the name stands for
	Endpoint  string   `json:"endpoint,omitempty"`
	Reasoning string   `json:"reasoning,omitempty"`
	Serve     string   `json:"serve,omitempty"` // the command that serves the model
	Check     *checked `json:"check,omitempty"` // of --check

	// Of models, where they are known.
	Price  *rate `json:"price,omitempty"`
	Window int64 `json:"window,omitempty"` // tokens of input and output together
}

// rate is a model's list price in USD for a million tokens, and the day it was looked up.
type rate struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	AsOf   string  `json:"as_of"`
}

// priced puts in what is known of prices and windows.
func priced(rows []agentRow, prices price.Table) {
	for i, row := range rows {
		p, ok := prices.Find(row.Spec, nil)
		if row.Kind != string(preset.Model) || row.Spec == "" || !ok {
			continue
		}
		rows[i].Window = p.Window
		if p.Known() {
			rows[i].Price = &rate{*p.Input, *p.Output, p.AsOf}
		}
	}
}

// figures are a row's price and window as the table shows them; empty where unknown.
func (r agentRow) figures() (price, window string) {
	if r.Price != nil {
		price = fmt.Sprintf("%g/%g", r.Price.Input, r.Price.Output)
	}
	if r.Window > 0 {
		window = amount(float64(r.Window))
	}
	return price, window
}

func newAgents(io stdio) *cobra.Command {
	var format string
	var check bool
	var level string
	var l Limits
	cmd := &cobra.Command{
		Use: "agents [NAME…]", Short: "List the agents there are; --check asks whether they answer",
		Long: `List the agents that --agent takes: presets by name, and the forms of specifications.
$ IN/OUT is USD for a million tokens of input and output, WINDOW is tokens; where they
are empty they are not known.
Privileged ones read the package in order to decide: they check the instrument and
enter no comparison.

Nothing is contacted unless --check is given. Then each model that is named, or each
preset where none is, is asked one short question, and exit code 1 says that one does
not answer. One that does is asked for a call of a tool. An agent program is started to
tell its version, and the model that it would ask is asked, in its protocol. A NAME is a
preset's, or a specification.`,
		Example: `  agentbound agents
  agentbound agents 'Kimi K3' --format json
  agentbound agents --check 'Kimi K3' compat:my-model@http://127.0.0.1:8000/v1`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if err := checkFormat(format, "table", "json"); err != nil {
				return err
			}
			rooms, err := l.rooms()
			if err != nil {
				return err
			}
			if err := rooms.require(level, check); err != nil {
				return err
			}
			rooms.unasked = true // --check looks for keys itself
			rows, err := agentRows(rooms, names, check)
			if err != nil {
				return err
			}
			prices, err := rooms.priceTable()
			if err != nil {
				return err
			}
			priced(rows, prices)
			if check {
				return checkAgents(cmd.Context(), io, rooms, rows, format)
			}
			if format == "json" {
				return printJSON(io.out, rows)
			}
			return printAgents(io.out, rows)
		},
	}
	addFormat(cmd, &format)
	addPresets(cmd, &l.Presets)
	addPrices(cmd, &l.Prices)
	addConfinement(cmd, &level)
	cmd.Flags().BoolVar(&check, "check", false, "ask each model a short question or two; costs a few tokens each")
	return cmd
}

// agentRows are the rows of those that were named, else of all. To be checked are models
// and presets only.
func agentRows(r rooms, names []string, check bool) ([]agentRow, error) {
	catalogue, err := r.catalogue()
	if err != nil {
		return nil, err
	}
	var rows []agentRow
	var unknown error // the first
	for _, name := range names {
		row, err := namedRow(r, catalogue, name)
		switch {
		case err != nil && (!check || len(names) == 1):
			return nil, err
		case err != nil: // the others are checked all the same
			unknown = cmp.Or(unknown, err)
			name, _, _ = strings.Cut(name, "@http") // what follows may be secret
			row = agentRow{Name: name, Needs: []string{}, Check: &checked{Key: "not needed", Endpoint: "not asked", Why: err.Error()}}
		}
		rows = append(rows, row)
	}
	if len(names) > 0 && !slices.ContainsFunc(rows, func(row agentRow) bool { return row.Check == nil }) {
		return nil, unknown // there is nobody to ask
	}
	if len(names) > 0 {
		return rows, nil
	}
	for _, p := range catalogue {
		rows = append(rows, presetRow(p))
	}
	if check {
		return rows, nil
	}
	for _, name := range reference.Names() {
		row, err := namedRow(r, catalogue, "reference:"+name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	for _, p := range protocols() {
		rows = append(rows, p.row())
	}
	for _, p := range programs() {
		rows = append(rows, agentRow{
			Name: p.Name + ":MODEL[@BASE_URL]", Kind: "harness", Protocol: string(p.Protocol), Model: "MODEL",
			Needs: []string{p.KeyEnv + ", or an endpoint"}, About: p.About + "; agentbound harness install " + p.Name,
		})
	}
	return append(rows, agentRow{
		Name: "exec:COMMAND", Kind: "exec", Protocol: fmt.Sprintf("json-lines/%d", agentexec.Version), Needs: []string{"a program"},
		About: "any program over JSON lines, see docs/exec.md",
	}, agentRow{
		Name: "mcp-exec:COMMAND", Kind: "mcp-exec", Protocol: "mcp", Needs: []string{"a program that is an MCP client"},
		About: "any agent that takes its tools from an MCP server, see docs/mcp.md",
	}), nil
}

// namedRow is the row of a preset or of a specification.
func namedRow(r rooms, catalogue preset.Catalogue, name string) (agentRow, error) {
	if !strings.Contains(name, ":") {
		p, err := catalogue.Find(name)
		if err != nil {
			return agentRow{}, coded{exitUsage, err}
		}
		return presetRow(p), nil
	}
	if p, ok := programOf(name); ok {
		s, err := harness.ParseSpec(name)
		if err != nil {
			return agentRow{}, coded{exitUsage, err}
		}
		env := harnessKeyEnv(p, s)
		return agentRow{
			Name: name, Kind: "harness", Protocol: string(p.Protocol), Model: s.Model, Endpoint: cmp.Or(s.Base, p.Endpoint), Spec: name, About: p.About,
			Needs: []string{"the agent program: agentbound harness install " + p.Name, "a key in " + env},
		}, nil
	}
	a, err := r.agent(name, asking{})
	if err != nil {
		return agentRow{}, err
	}
	ref := a.Ref()
	row := agentRow{Name: ref.Name, Kind: ref.Kind, Needs: []string{}, Privileged: ref.Privileged}
	kind, rest, _ := strings.Cut(name, ":")
	switch ref.Kind {
	case "reference":
		row.About = reference.About(rest)
	case "model":
		p := preset.Preset{Spec: name}
		row.Protocol, row.Model, row.Endpoint, row.Spec = p.Protocol(), p.ModelID(), p.Address(), name
	default:
		row.Protocol = kind
	}
	return row, nil
}

// presetRow says of a preset what it needs.
func presetRow(p preset.Preset) agentRow {
	row := agentRow{
		Name: p.Name, Kind: string(p.Kind), Protocol: p.Protocol(), Model: p.ModelID(), Needs: []string{}, About: p.Note,
		Spec: p.Spec, Endpoint: p.Address(), Reasoning: p.Reasoning, Serve: p.Serve,
	}
	if p.Kind == preset.Harness {
		row.Needs = append(row.Needs, "the agent program: agentbound harness install "+p.Scheme())
	}
	if p.Key != "" {
		row.Needs = append(row.Needs, "a key in "+p.Key)
	}
	if p.Key == "" && p.Kind == preset.Model {
		row.Needs = append(row.Needs, "a server at "+p.Address())
	}
	return row
}

func printAgents(out io.Writer, rows []agentRow) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tKIND\tPROTOCOL\tMODEL\t$ IN/OUT\tWINDOW\tPRIVILEGED\tNEEDS, OR WHAT IT DOES")
	for _, r := range rows {
		mark := ""
		if r.Privileged {
			mark = "yes"
		}
		about := strings.Join(r.Needs, "; ")
		if r.Kind != "model" && r.Kind != "harness" || r.Spec == "" {
			about = r.About
		}
		price, window := r.figures()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Kind, dash(r.Protocol), dash(r.Model), price, window, mark, about)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	title := "\nTo serve open models with vLLM (any server of their protocol will do):\n"
	for _, r := range rows {
		if r.Serve != "" {
			fmt.Fprintf(out, "%s  %s\n    %s\n", title, r.Name, r.Serve)
			if r.About != "" {
				fmt.Fprintf(out, "    (%s)\n", r.About)
			}
			title = ""
		}
	}
	return nil
}

// checkAgents asks each row and prints what came of it.
func checkAgents(ctx context.Context, std stdio, r rooms, rows []agentRow, format string) error {
	err := run.Each(ctx, len(rows), func(ctx context.Context, i int) error {
		if rows[i].Check == nil {
			c := r.check(ctx, rows[i])
			rows[i].Check = &c
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	failed := 0
	for _, row := range rows {
		if !row.Check.Answers {
			failed++
		}
		if format != "json" {
			fmt.Fprintf(std.out, "%s: %s\n", row.Name, row.Check)
		}
	}
	if format == "json" {
		if err := printJSON(std.out, rows); err != nil {
			return err
		}
	}
	if failed > 0 {
		return coded{exitMissed, fmt.Errorf("%d of %d do not answer", failed, len(rows))}
	}
	return nil
}
