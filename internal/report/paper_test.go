package report_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/report"
)

func TestPaperIsQuoted(t *testing.T) {
	l := newLibrary(t)
	run := l.fill(plan("openai:gpt-5.5"), cautious(8))
	with, without := l.collect(report.Options{Paper: true}, run), l.collect(report.Options{}, run)
	p := with.Paper
	if len(p.Rows) != 17 || p.Rows[0].Config != "GPT-5.5" || p.Rows[16].Config != "DeepSeek Harness (DeepSeek V4 Pro)" || p.Source == "" {
		t.Errorf("got %+v", p)
	}
	if diff := cmp.Diff([]string{"config", "group", "hb_utility", "cm_safety", "all_utility", "all_safety"}, p.Columns); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"suite core", "world program", "judge program/1", "Other families, another world and another judge", "not to be differenced, ranked or tested"} {
		if !strings.Contains(p.Caption, want) {
			t.Errorf("the caption does not say %q: %s", want, p.Caption)
		}
	}
	// Nothing of ours changes by standing beside it.
	with.Paper = nil
	if diff := cmp.Diff(string(write(t, without, report.JSON, report.WriteOptions{})), string(write(t, with, report.JSON, report.WriteOptions{}))); diff != "" {
		t.Error(diff)
	}
}

func TestPaperDrawing(t *testing.T) {
	l := newLibrary(t)
	runs, against := shelf(l)
	r := l.collect(report.Options{Paper: true, Against: &against, SkipIncomparable: true}, runs...)
	// 8.5 is no distance between figures of the summary's table (paper-figures.json, findings).
	wrong := regexp.MustCompile(`\b8\.5\b`)
	for _, f := range []report.Format{report.Table, report.Markdown, report.JSON} {
		text := string(write(t, l.collect(report.Options{Paper: true}), f, report.WriteOptions{}))
		if wrong.MatchString(text) {
			t.Errorf("%s prints 8.5", f)
		}
	}
	text := string(write(t, r, report.Table, report.WriteOptions{}))
	for _, want := range []string{
		`(?m)^GLM-5 +36\.8‡ +not given +not given +not given$`,
		`(?m)^GPT-5\.5 +28\.7 +99\.5 +65\.9 +99\.4$`,
		`Quoted from the paper, Table 2: other families, world and judge`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
	var last int
	for _, row := range r.Paper.Rows { // the paper's order, behind all of ours
		at := strings.Index(text[last:], "\n"+row.Config[:5]) // long names wrap
		if at < 0 {
			t.Fatalf("%s is out of order", row.Config)
		}
		last += at
	}
}

func TestPaperJSON(t *testing.T) {
	b, err := json.Marshal(newLibrary(t).collect(report.Options{Paper: true}).Paper)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `["GLM-5","closed",36.8,null,null,null]`) {
		t.Errorf("got %s", b)
	}
	var back report.Paper
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(back); string(again) != string(b) {
		t.Errorf("got %s, want %s", again, b)
	}
	for _, bad := range []string{`{}`, `["x"]`, `[1, "closed"]`, `["x", "closed", "many"]`} {
		if err := json.Unmarshal([]byte(bad), new(report.PaperRow)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}
