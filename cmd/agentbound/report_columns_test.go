package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/metric"
	"github.com/agentbound/agentbound/model/modeltest"
)

// TestReportsColumns: all columns beside bare on families of core-small, in the shapes of
// Tables 3 and 4. What each column does to the measures is known by what its model says.
func TestReportsColumns(t *testing.T) {
	unhurried(t)
	const families = 3
	o := newOverseer(t, "core-small")
	_, ours := peer(t, "aligner", modeltest.Options{Play: o.align})
	_, untrained := peer(t, "untrained", modeltest.Options{Play: keeps})
	_, refuses := peer(t, "safety-aligner", modeltest.Options{Play: safe})
	_, guard := peer(t, "guardagent", modeltest.Options{Play: o.guard})
	columns := []string{"placebo", untrained, refuses, guard, ours}
	agents := []string{"reference:surface", "reference:wary"}
	db := filepath.Join(t.TempDir(), "columns.db")
	args := []string{"run", "--suite", "core-small", "--limit", "3", "--splits", "all", "--store", db, "--intervene", "bare"}
	for _, agent := range agents {
		args = append(args, "--agent", agent)
	}
	for _, column := range columns {
		args = append(args, "--intervene", column)
	}
	if code, _, errs := inside(t, args...); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	code, out, errs := inside(t, "report", "--format", "json", "--store", db)
	if code != exitDone {
		t.Fatal(errs)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Interventions) != len(agents)*len(columns) || len(r.Unpaired) != 0 {
		t.Fatalf("%d pairings, %+v", len(r.Interventions), r.Unpaired)
	}
	for i, p := range r.Interventions {
		if p.Agent != agents[i/len(columns)] || p.Intervention != columns[i%len(columns)] {
			t.Errorf("pairing %d is %s, %s", i, p.Agent, p.Intervention)
		}
		for m, c := range p.Measures {
			if c.Before == nil || c.After == nil || c.Delta == nil || *c.Delta-(*c.After-*c.Before) > 1e-9 || (*c.After-*c.Before)-*c.Delta > 1e-9 || c.Dropped+c.Unmatched != 0 {
				t.Errorf("%s, %s, %s: %+v", p.Agent, p.Intervention, m, c)
			}
		}
		after := func(m metric.Measure) float64 { return *p.Measures[m].After }
		switch p.Intervention {
		case "placebo", untrained: // which change nothing that these agents do
			if *p.Measures[metric.AllUtility].Delta != 0 || *p.Measures[metric.AllSafety].Delta != 0 {
				t.Errorf("%s, %s: %+v", p.Agent, p.Intervention, p.Measures)
			}
		case refuses: // safe, by refusing everything
			if after(metric.HBUtility) != 0 || after(metric.AllSafety) != 100 || after(metric.OverRefusal) != 100 || after(metric.SplitUtility(agentbound.CMAuthorised)) != 0 {
				t.Errorf("%s, %s: %+v", p.Agent, p.Intervention, p.Measures)
			}
		case ours: // right everywhere; every HB trial that bare failed is one that an edit helped
			e := p.Edits[agentbound.HB]
			failed := families - int(*p.Measures[metric.HBUtility].Before*families/100+0.5)
			if after(metric.HBUtility) != 100 || after(metric.CMSafety) != 100 || after(metric.Unsafe) != 0 || e.Edited.Utility.Helped != failed || e.Pairs != families {
				t.Errorf("%s, %s: %+v, edits %+v, bare failed %d", p.Agent, p.Intervention, p.Measures, e, failed)
			}
		}
	}
	for _, run := range r.Runs {
		v := run.Intervened
		switch {
		case (v == nil) != (run.Intervention == agentbound.Bare):
			t.Errorf("%s: %+v", run.Intervention, v)
		case v == nil:
		case run.Intervention == guard && (v.Calls == 0 || v.Reviewed != 0 || v.GateMS == nil || v.Cost.InputTokens == 0):
			t.Errorf("the guard: %+v", v)
		case run.Intervention == "placebo" && (v.Changed != v.Decisions || v.Cost.Basis != report.BasisFree):
			t.Errorf("the placebo: %+v", v)
		case run.Intervention == untrained && (v.Reviewed != v.Decisions || v.Changed != 0 || v.Cost.InputTokens != int64(100*v.Reviewed)):
			t.Errorf("untrained: %+v", v)
		}
	}
	for _, format := range []string{"table", "markdown", "html"} {
		code, out, errs := inside(t, "report", "--format", format, "--store", db, "--paper", "--frontier", "5")
		if code != exitDone {
			t.Fatalf("%s: %s", format, errs)
		}
		for _, want := range []string{"(Table 3), points", "Bases × interventions (Table 4)", "What edits did", "What interventions did and cost", "Quoted from the paper, Table 4", "most authorised completion with unsafe at most 5 %"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q", format, want)
			}
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); format == "table" && n > report.Width {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
}
