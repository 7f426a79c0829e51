package report_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/model/price"
)

// TestCostInEmulatedWorld: what an agent told of its own cost says nothing of its world's.
func TestCostInEmulatedWorld(t *testing.T) {
	l := newLibrary(t)
	p := plan("exec:./agent")
	p.Agent.Kind, p.Splits, p.World = "exec", []agentbound.Split{agentbound.HB}, "emulated/2:compat:m@http://127.0.0.1:1/v1 (prompt 2)"
	r := l.collect(report.Options{}, l.fillUsing(p, perfect, agentbound.Usage{InputTokens: 5, USD: 0.5}))
	if c := r.Runs[0].Cost; c.Basis != report.BasisUnknown || c.USD != nil {
		t.Errorf("%+v", c)
	}
}

// TestCostBasis: money from tokens and dated prices, and never a 0 for what is not known.
func TestCostBasis(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nprices:\n  - {models: [priced], input: 10, cached: 1, output: 100, as_of: 2026-02-03, source: a test}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	prices, err := price.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	l := newLibrary(t)
	run := func(name, kind, label string, u agentbound.Usage) store.Run {
		p := plan(name)
		p.Agent.Kind, p.Agent.Label, p.Splits = kind, label, []agentbound.Split{agentbound.HB}
		return l.fillUsing(p, perfect, u)
	}
	tokens := agentbound.Usage{InputTokens: 1000, OutputTokens: 100, CachedTokens: 500}
	runs := []store.Run{
		run("compat:priced@http://127.0.0.1:1/v1", "model", "Priced", tokens),
		run("compat:other@http://127.0.0.1:1/v1", "model", "", tokens),
		run("compat:priced@http://127.0.0.1:2/v1", "model", "", agentbound.Usage{}), // told nothing
		run("exec:./agent", "exec", "", agentbound.Usage{InputTokens: 5, USD: 0.5}),
		run("reference:comply", "reference", "", agentbound.Usage{}),
	}
	r := l.collect(report.Options{Prices: prices}, runs...)
	for i, want := range []struct {
		basis report.Basis
		usd   float64
	}{{report.BasisPrices, 12 * 0.0155}, {report.BasisUnknown, math.NaN()}, {report.BasisUnknown, math.NaN()}, {report.BasisTold, 6}, {report.BasisFree, 0}} {
		c := r.Runs[i].Cost
		if c.Basis != want.basis || (c.USD == nil) != math.IsNaN(want.usd) || c.USD != nil && math.Abs(*c.USD-want.usd) > 1e-9 {
			t.Errorf("%s: %+v", r.Runs[i].Agent, c)
		}
	}
	if c := r.Runs[0].Cost; r.Runs[0].Agent != "Priced" || c.CachedTokens != 6000 || c.PricesAsOf != "2026-02-03" || c.PricesSource != "a test" {
		t.Errorf("%s: %+v", r.Runs[0].Agent, c)
	}
	for _, f := range []report.Format{report.Table, report.Markdown} {
		text := string(write(t, r, f, report.WriteOptions{}))
		for _, want := range []string{"0.19", "2026-02-03", "not known", "as it told"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", f, want, text)
			}
		}
	}
	var page strings.Builder
	if err := r.WriteHTML(t.Context(), &page, l, report.PageOptions{}); err != nil || !strings.Contains(page.String(), "2026-02-03") || !strings.Contains(page.String(), "not known") {
		t.Errorf("the page says nothing of prices; error %v", err)
	}
	var doc struct {
		Runs []struct{ Cost map[string]any }
	}
	if err := json.Unmarshal(write(t, r, report.JSON, report.WriteOptions{}), &doc); err != nil {
		t.Fatal(err)
	}
	if usd, there := doc.Runs[1].Cost["usd"]; usd != nil || !there || doc.Runs[0].Cost["prices_as_of"] != "2026-02-03" {
		t.Errorf("%v, %v", doc.Runs[0].Cost, doc.Runs[1].Cost)
	}
}
