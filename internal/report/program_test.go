package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
)

// TestPrograms: a report says at which level the trials of an agent program were held,
// and where they were not held alike.
func TestPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		held []string // of the first trials; the others are as the last of these
		want []report.Program
		note string
	}{
		"alike":           {[]string{"full: a, b"}, []report.Program{{Program: "codex@1", Level: "full", Trials: 72}}, "codex@1, held at level full."},
		"not alike":       {[]string{"process: a", "full: a, b"}, []report.Program{{Program: "codex@1", Level: "process", Trials: 1}, {Program: "codex@1", Level: "full", Trials: 71}}, "not all trials were held alike: codex@1 at level process in 1 trial, codex@1 at level full in 71 trials."},
		"one not started": {[]string{"", "full: a"}, []report.Program{{Program: "codex@1", Level: "full", Trials: 71}}, "codex@1, held at level full."},
	} {
		l := newLibrary(t)
		p := plan("codex:m")
		p.Agent.Kind = "harness"
		all := trials(p)
		run := store.Run{ID: p.ID(), Plan: p}
		if _, err := l.CreateRun(t.Context(), run, slices.Values(all)); err != nil {
			t.Fatal(err)
		}
		var results []agentbound.Result
		for i, one := range all {
			v := rightly(one)
			v.Judge = programJudge
			r := result(one, v)
			r.Trajectory.Harness = &agentbound.Harness{Program: "codex@1", Held: c.held[min(i, len(c.held)-1)], Tools: []agentbound.OfferedTool{}}
			results = append(results, r)
		}
		if err := l.Put(t.Context(), results); err != nil {
			t.Fatal(err)
		}
		r := l.collect(report.Options{}, run)
		if d := cmp.Diff(c.want, r.Runs[0].Programs); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		var out bytes.Buffer
		if err := r.Write(&out, report.Markdown, report.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, c.note) {
			t.Errorf("%s: %s", name, text)
		}
	}
}
