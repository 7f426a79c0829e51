package report_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
)

func TestComparisons(t *testing.T) {
	l := newLibrary(t)
	a, b := plan("openai:gpt-5.5"), plan("openai:gpt-5.5")
	b.Intervention = agentbound.Intervention{Name: "calibrator"}
	before, after := l.fill(a, cautious(8)), l.fill(b, cautious(2))
	r := l.collect(report.Options{Against: &before}, after)
	if len(r.Runs) != 2 || r.Runs[0].ID != before.ID {
		t.Fatalf("the baseline is to come first: %+v", r.Runs)
	}
	if len(r.Comparisons) != len(report.Compared()) {
		t.Fatalf("%d comparisons", len(r.Comparisons))
	}
	var ps []float64
	for i, c := range r.Comparisons {
		if c.A != string(before.ID) || c.B != string(after.ID) || c.Measure != report.Compared()[i] || c.HolmP == nil {
			t.Errorf("comparison %d: %+v", i, c)
		}
		ps = append(ps, *c.P)
	}
	if hb := r.Comparisons[0]; *hb.Delta != 50 || hb.Pairs != 12 || hb.Dropped != 0 { // 4 of 12 before, 10 of 12 after
		t.Errorf("hb_utility: delta %v, %d pairs", *hb.Delta, hb.Pairs)
	}
	for i, p := range metric.Holm(ps) {
		if *r.Comparisons[i].HolmP != p {
			t.Errorf("%s: holm_p %v, want %v", r.Comparisons[i].Measure, *r.Comparisons[i].HolmP, p)
		}
	}
}

func TestRefusesToCompare(t *testing.T) {
	l := newLibrary(t)
	baseline := l.fill(plan("openai:gpt-5.5"), perfect)
	for _, c := range []struct {
		name   string
		change func(*agentbound.Plan)
		want   string
	}{
		{"suite", func(p *agentbound.Plan) { p.Suite.Digest = agentbound.DigestBytes([]byte("other")) }, "suites differ (core d9298a10d1b0 against core"},
		{"world", func(p *agentbound.Plan) { p.World = "emulated" }, "worlds differ (emulated against program)"},
		{"judge", func(p *agentbound.Plan) { p.Judges = []string{"rubric/1"} }, "judges differ (rubric/1 against program/1)"},
		{"splits", func(p *agentbound.Plan) { p.Splits = []agentbound.Split{agentbound.HB, agentbound.CM} }, "splits differ (cm,hb against hs,cm,eb,hb,hb-prohibited,cm-authorised)"},
		{"limits", func(p *agentbound.Plan) { p.Limits.Steps = 5 }, "limits differ (5 steps,"},
		{"privileged", func(p *agentbound.Plan) { p.Agent.Privileged = true }, "reads the package"},
		{"none: limits by default", func(p *agentbound.Plan) { p.Limits = agentbound.DefaultLimits(); p.Counter = 1 }, ""},
		{"none: another order of splits", func(p *agentbound.Plan) {
			p.Splits = append(agentbound.Probes(), agentbound.Siblings()...)
		}, ""},
		{"none: fewer families", func(p *agentbound.Plan) { p.Families = []agentbound.FamilyID{"family-00"} }, ""},
	} {
		p := plan("openai:other")
		c.change(&p)
		run := l.fill(p, perfect)
		_, err := report.Collect(t.Context(), l, []store.Run{run}, report.Options{Against: &baseline})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		var refused *report.IncomparableError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.A != baseline.ID || refused.B != run.ID {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
		r := l.collect(report.Options{Against: &baseline, SkipIncomparable: true}, run)
		if len(r.Skipped) != 1 || r.Skipped[0].Run != run.ID || len(r.Comparisons) != 0 {
			t.Errorf("%s: skipped %+v", c.name, r.Skipped)
		}
	}
}

// TestPairsInterventions: beside the intervention nothing may differ, and what does is named.
func TestPairsInterventions(t *testing.T) {
	l := newLibrary(t)
	before := plan("openai:gpt-5.5")
	before.Agent.Settings = map[string]string{"form": "native", "temperature": "default"}
	before.Repeats = 2
	baseline := l.fill(before, perfect)
	for name, c := range map[string]struct {
		change func(*agentbound.Plan)
		want   string
	}{
		"suite":       {func(p *agentbound.Plan) { p.Suite.Digest = agentbound.DigestBytes([]byte("other")) }, "suites differ (core d9298a10d1b0 against core"},
		"world":       {func(p *agentbound.Plan) { p.World = "emulated" }, "worlds differ (emulated against program)"},
		"judge":       {func(p *agentbound.Plan) { p.Judges = []string{"rubric/1"} }, "judges differ (rubric/1 against program/1)"},
		"splits":      {func(p *agentbound.Plan) { p.Splits = agentbound.Siblings() }, "splits differ (hs,cm,eb,hb against"},
		"limits":      {func(p *agentbound.Plan) { p.Limits.Calls = 2 }, "limits differ (120 steps, 2 calls"},
		"agent":       {func(p *agentbound.Plan) { p.Agent.Name = "openai:other" }, "agents differ (openai:other, version 1 against openai:gpt-5.5, version 1) beside the interventions"},
		"its version": {func(p *agentbound.Plan) { p.Agent.Version = "2" }, "agents differ (openai:gpt-5.5, version 2 against openai:gpt-5.5, version 1)"},
		"its settings": {func(p *agentbound.Plan) {
			p.Agent.Settings = map[string]string{"form": "native", "temperature": "0.7"}
		}, `agents differ (openai:gpt-5.5, temperature "0.7" against openai:gpt-5.5, temperature "default")`},
		"its kind":          {func(p *agentbound.Plan) { p.Agent.Kind = "exec" }, "agents differ (openai:gpt-5.5, "},
		"seed":              {func(p *agentbound.Plan) { p.Seed = 7 }, "seeds differ (7 against 0) beside the interventions"},
		"another run":       {func(p *agentbound.Plan) { p.Counter = 1 }, "seeds differ (0, run 2 of its plan against 0)"},
		"repeats":           {func(p *agentbound.Plan) { p.Repeats = 3 }, "repeats differ (3 against 2)"},
		"families":          {func(p *agentbound.Plan) { p.Families = []agentbound.FamilyID{"family-00"} }, "families differ (1, "},
		"tasks":             {func(p *agentbound.Plan) { p.Tasks = []agentbound.TaskID{"family-00/hb"} }, "tasks differ (1, "},
		"none":              {func(*agentbound.Plan) {}, ""},
		"none: a label":     {func(p *agentbound.Plan) { p.Agent.Label = "GPT-5.5" }, ""},
		"none: its version": {func(p *agentbound.Plan) { p.Intervention.Version = "2" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := before
			p.Intervention = agentbound.Intervention{Name: "placebo", Version: "1"}
			c.change(&p)
			run := l.fill(p, perfect)
			_, err := report.Collect(t.Context(), l, []store.Run{run}, report.Options{Against: &baseline})
			var refused *report.IncomparableError
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestAgentsMayDrawApart: between agents under one intervention a pair is the task.
func TestAgentsMayDrawApart(t *testing.T) {
	l := newLibrary(t)
	baseline := l.fill(plan("openai:gpt-5.5"), perfect)
	p := plan("openai:other")
	p.Seed, p.Counter, p.Repeats = 7, 1, 2
	r := l.collect(report.Options{Against: &baseline}, l.fill(p, perfect))
	if c := r.Comparisons[0]; c.Pairs != 12 || c.Unmatched != 12 {
		t.Errorf("%d pairs, %d unmatched", c.Pairs, c.Unmatched)
	}
}

func TestRefusesABaseline(t *testing.T) {
	l := newLibrary(t)
	p := plan("reference:evidence")
	p.Agent.Privileged = true
	privileged, other := l.fill(p, perfect), l.fill(plan("openai:gpt-5.5"), perfect)
	for _, skip := range []bool{false, true} {
		_, err := report.Collect(t.Context(), l, []store.Run{other}, report.Options{Against: &privileged, SkipIncomparable: skip})
		if err == nil || !strings.Contains(err.Error(), "cannot be a baseline: its agent reads the package") {
			t.Errorf("got %v", err)
		}
	}
	_, err := report.Collect(t.Context(), l, []store.Run{other}, report.Options{Against: &other})
	if err == nil || !strings.Contains(err.Error(), "nothing to be compared with") {
		t.Errorf("got %v", err)
	}
}

func TestCSVTakesRunsAlone(t *testing.T) {
	l := newLibrary(t)
	a, b := l.fill(plan("openai:gpt-5.5"), perfect), l.fill(plan("openai:other"), perfect)
	for _, o := range []report.Options{{Against: &a}, {Paper: true}} {
		if err := l.collect(o, b).Write(new(bytes.Buffer), report.CSV, report.WriteOptions{}); err == nil || !strings.Contains(err.Error(), "--format json") {
			t.Errorf("got %v", err)
		}
	}
}
