package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
)

// TestNames: below the first table addresses and models of interventions are left out where
// nothing else reads alike; what does is told apart in every table.
func TestNames(t *testing.T) {
	const at = "@http://127.0.0.1:8000/v1"
	of := func(agent string, edit func(*agentbound.Plan)) agentbound.Plan {
		p := plan(agent)
		if edit != nil {
			edit(&p)
		}
		return p
	}
	aligner := func(model string) func(*agentbound.Plan) {
		return func(p *agentbound.Plan) {
			p.Intervention = agentbound.Intervention{Name: "aligner:compat:" + model + at, Version: "1"}
		}
	}
	again := func(p *agentbound.Plan) { p.Seed = 7 }
	for name, c := range map[string]struct {
		plans []agentbound.Plan
		want  func(r *report.Report) []string // of the shares, whose first column is one line in markdown
	}{
		"an address": {[]agentbound.Plan{of("compat:m"+at, nil), of("compat:m"+at, aligner("x"))}, func(*report.Report) []string {
			return []string{"compat:m", "compat:m + aligner"}
		}},
		"two addresses": {[]agentbound.Plan{of("compat:m"+at, nil), of("compat:m@http://127.0.0.1:9000/v1", nil)}, func(*report.Report) []string {
			return []string{"compat:m" + at, "compat:m@http://127.0.0.1:9000/v1"}
		}},
		"two runs of one agent": {[]agentbound.Plan{of("compat:m"+at, nil), of("compat:m"+at, again)}, func(r *report.Report) []string {
			return []string{"compat:m " + string(r.Runs[0].ID[:8]), "compat:m " + string(r.Runs[1].ID[:8])}
		}},
		"two interventions of one kind": {[]agentbound.Plan{of("m", aligner("x")), of("m", aligner("y"))}, func(*report.Report) []string {
			return []string{"m + aligner:compat:x", "m + aligner:compat:y"}
		}},
	} {
		l := newLibrary(t)
		var runs []store.Run
		for _, p := range c.plans {
			runs = append(runs, l.fill(p, cautious(8)))
		}
		r := l.collect(report.Options{}, runs...)
		var b bytes.Buffer
		if err := r.Write(&b, report.Markdown, report.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(b.String(), "### Families by")
		var got []string
		for line := range strings.Lines(rest) {
			if strings.HasPrefix(line, "###") {
				break
			}
			if first, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(line, "| ") && strings.Contains(line, "/12") {
				got = append(got, first)
			}
		}
		if want := c.want(r); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for _, p := range c.plans { // in full in the first table
			if !strings.Contains(head, p.Agent.Name+"<br>"+p.Intervention.Name+"<br>run ") {
				t.Errorf("%s: %s and %s are not in the first table:\n%s", name, p.Agent.Name, p.Intervention.Name, head)
			}
		}
	}
}
