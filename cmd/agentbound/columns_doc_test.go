package main

import (
	_ "embed" // the document's frame
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/agentbound/agentbound"
)

var (
	columnsFile  = flag.String("columns", "", "run all columns on the whole of core-small and write the document into this file (make columns)")
	columnsStore = flag.String("columns-store", "", "the store of -columns, which is kept, and whose trials are not made again; empty: none is kept")
)

// columnsPort is the first of the peers' ports: fixed, since addresses are part of what is
// run, and below those that systems hand out.
const columnsPort = 21101

//go:embed testdata/columns.md
var columnsFrame string

// TestColumnsDocument runs all columns on the whole of core-small and keeps what the verbs
// print.
func TestColumnsDocument(t *testing.T) {
	if *columnsFile == "" {
		t.Skip("make columns runs it: a quarter of an hour")
	}
	s := newStand(t, "*", columnsPort)
	if *columnsStore != "" {
		s.store = *columnsStore
	}
	s.run(t)
	r := s.report(t)
	checkColumns(t, s, r)
	var shown struct {
		Plan, Presets, Prices, Report, Fork, ForkOf, With string
	}
	shown.Plan, shown.Presets, shown.Prices, shown.With = s.plan, s.presets, s.prices, s.columns["aligner"]
	for i := range r.Runs {
		if run := &r.Runs[i]; run.Agent == uneven && run.Intervention == agentbound.Bare {
			shown.ForkOf = string(run.ID)
		}
	}
	shown.Fork = s.verb(t, "replay", shown.ForkOf, "--fork", "sample:200", "--arms", "2", "--intervene", shown.With)
	shown.Report = deeper(s.verb(t, "report", "--format", "markdown", "--frontier", "1,25", "--prices", s.path("prices.yaml")))
	page := s.verb(t, "report", "--format", "html", "--frontier", "1,25", "--prices", s.path("prices.yaml"), "--trials", "60")
	if !strings.Contains(page, "(Table 3)") || !strings.Contains(page, "(Table 4)") {
		t.Error("the page has no Table 3 or no Table 4")
	}
	if *columnsStore != "" {
		if err := os.WriteFile(*columnsStore+".html", []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	if err := template.Must(template.New("").Parse(columnsFrame)).Execute(&b, shown); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), s.folder) {
		t.Fatal("the document names a path of this machine")
	}
	if err := os.WriteFile(filepath.Clean(*columnsFile), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// deeper puts the heads of a report below those of the document.
func deeper(markdown string) string {
	return regexp.MustCompile(`(?m)^###`).ReplaceAllString(markdown, "####")
}
