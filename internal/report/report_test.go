package report_test

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
)

func write(t *testing.T, r *report.Report, f report.Format, o report.WriteOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b, f, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	l := newLibrary(t)
	runs, against := shelf(l)
	full := report.Options{Against: &against, SkipIncomparable: true, Paper: true}
	for _, c := range []struct {
		file   string
		format report.Format
		opts   report.Options
	}{
		{"report.txt", report.Table, full},
		{"report.md", report.Markdown, full},
		{"report.csv", report.CSV, report.Options{}},
		{"report.json", report.JSON, report.Options{Against: &against, SkipIncomparable: true}},
	} {
		got := write(t, l.collect(c.opts, runs...), c.format, report.WriteOptions{})
		if c.format == report.JSON {
			got = rounded(got)
		}
		golden(t, c.file, got)
	}
	golden(t, "paper.txt", write(t, l.collect(report.Options{Paper: true}, runs[1]), report.Table, report.WriteOptions{}))
	golden(t, "paper.json", write(t, l.collect(report.Options{Paper: true}), report.JSON, report.WriteOptions{}))
}

// rounded leaves six decimals: processors differ in the last ones.
func rounded(b []byte) []byte {
	return regexp.MustCompile(`-?\d+\.\d{7,}(e-\d+)?`).ReplaceAllFunc(b, func(m []byte) []byte {
		x, _ := strconv.ParseFloat(string(m), 64)
		if s := strconv.FormatFloat(x, 'f', 6, 64); s != "-0.000000" {
			return []byte(s)
		}
		return []byte("0.000000")
	})
}

func TestTableFitsAndColours(t *testing.T) {
	l := newLibrary(t)
	runs, against := shelf(l)
	r := l.collect(report.Options{Against: &against, SkipIncomparable: true, Paper: true}, runs...)
	plain := string(write(t, r, report.Table, report.WriteOptions{}))
	for line := range strings.Lines(plain) {
		if n := runewidth.StringWidth(strings.TrimSuffix(line, "\n")); n > report.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if strings.Contains(plain, "\x1b") {
		t.Error("colours where none were asked for")
	}
	coloured := string(write(t, r, report.Table, report.WriteOptions{Color: true}))
	if !strings.Contains(coloured, "\x1b[") {
		t.Error("no colours")
	}
	stripped := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(coloured, "")
	stripped = regexp.MustCompile(`(?m) +$`).ReplaceAllString(stripped, "")
	if stripped != plain {
		t.Errorf("colours move the text:\n%s", stripped)
	}
}

// What a report always says, in both drawings.
func TestEveryReportSays(t *testing.T) {
	l := newLibrary(t)
	runs, _ := shelf(l)
	digest := string(agentbound.DigestBytes([]byte("core")))[:8]
	for _, f := range []report.Format{report.Table, report.Markdown} {
		got := string(write(t, l.collect(report.Options{}, runs...), f, report.WriteOptions{}))
		for _, want := range []string{
			"suite core (" + digest + ")", "12 families", "world program", "judge program/1", "nothing about readiness for deployment",
			"reference:evidence†", "reads the package: an instrument check, in no comparison", "incomplete", "worst … best", "4 unscored", "1 crossed",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q", f, want)
			}
		}
	}
}

// A name must neither steer the terminal nor break a Markdown table.
func TestHostileNames(t *testing.T) {
	l := newLibrary(t)
	run := l.fill(plan("exec:\x1b[31mred|<b>\n名前"), perfect)
	r := l.collect(report.Options{}, run)
	if got := write(t, r, report.Table, report.WriteOptions{}); bytes.ContainsRune(got, '\x1b') {
		t.Errorf("an escape came through:\n%s", got)
	}
	got := string(write(t, r, report.Markdown, report.WriteOptions{}))
	bars := 0 // of the table at hand
	for line := range strings.Lines(got) {
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if n > 0 && bars > 0 && n != bars {
			t.Errorf("%d bars where its table has %d: %s", n, bars, line)
		}
		bars = n
	}
	if !strings.Contains(got, `red\|&lt;b>`) {
		t.Errorf("the name is not escaped:\n%s", got)
	}
}

func TestEmptyReports(t *testing.T) {
	l := newLibrary(t)
	none := l.collect(report.Options{})
	if got := string(write(t, none, report.Table, report.WriteOptions{})); !strings.Contains(got, "no run to report") {
		t.Errorf("got %s", got)
	}
	if got := string(write(t, none, report.JSON, report.WriteOptions{})); !strings.Contains(got, `"runs": []`) || !strings.Contains(got, `"comparisons": []`) {
		t.Errorf("lists must not be null:\n%s", got)
	}
	planned := l.fill(plan("exec:later"), func(int, agentbound.Trial) (agentbound.Verdict, bool) { return right, false })
	r := l.collect(report.Options{}, planned, planned)
	if len(r.Runs) != 1 || !r.Runs[0].Incomplete || r.Runs[0].Missing() != 72 {
		t.Errorf("a run without trials, given twice: %+v", r.Runs)
	}
	if got := string(write(t, r, report.Table, report.WriteOptions{})); !strings.Contains(got, "incomplete, 72") || !strings.Contains(got, "0/72") {
		t.Errorf("got:\n%s", got)
	}
}

func TestRepeatsAndSubset(t *testing.T) {
	l := newLibrary(t)
	p := plan("openai:gpt-5.5")
	p.Repeats = 3
	p.Families = []agentbound.FamilyID{"family-00", "family-01", "family-02"}
	run := l.fill(p, policy(perfect).but(refused, func(_ int, t agentbound.Trial) bool { return t.Split == agentbound.HB && t.Repeat == 2 }))
	r := l.collect(report.Options{}, run)
	got := r.Runs[0]
	if got.Selected != 3 || got.Trials.Planned != 3*6*3 || len(got.PassK) != 2 || *got.PassK[0].PassAll != 0 || *got.PassK[0].PassAt != 100 {
		t.Errorf("got %+v", got)
	}
	text := string(write(t, r, report.Table, report.WriteOptions{}))
	for _, want := range []string{"3 of 12 families", "pass^k", "k = 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// One failure of many must not be rounded away.
func TestNearlyAll(t *testing.T) {
	l := newLibrary(t)
	p := plan("openai:gpt-5.5")
	p.Suite.Families, p.Splits = 2500, []agentbound.Split{agentbound.CM}
	r := l.collect(report.Options{}, l.fill(p, policy(perfect).but(crossed, func(f int, _ agentbound.Trial) bool { return f == 9 })))
	text := string(write(t, r, report.Table, report.WriteOptions{}))
	for _, want := range []string{"99.96", "0.04", "2499/2500"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in:\n%s", want, text)
		}
	}
}

func TestCost(t *testing.T) {
	l := newLibrary(t)
	r := l.collect(report.Options{}, l.fill(plan("openai:gpt-5.5"), perfect))
	c := r.Runs[0].Cost
	if c.InputTokens != 72_000 || c.OutputTokens != 7200 || c.USD == nil || math.Abs(*c.USD-0.9) > 1e-9 || c.Basis != report.BasisTold {
		t.Errorf("got %+v", c)
	}
}

func TestJudge(t *testing.T) {
	l := newLibrary(t)
	run := l.fill(plan("openai:gpt-5.5"), policy(perfect).but(fault, func(f int, t agentbound.Trial) bool { return f == 0 && t.Split == agentbound.HB }))
	var judged []store.Judged
	for _, trial := range trials(run.Plan) {
		if trial.Family == "family-00" && trial.Split == agentbound.HB {
			continue // a judge is not asked about a faulted trial
		}
		v := crossed
		v.Judge = "rubric/gpt-5.5@abc"
		judged = append(judged, store.Judged{Key: trial.Key, Verdicts: []agentbound.Verdict{v}})
	}
	if err := l.PutVerdicts(t.Context(), judged); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]float64{"": 100, programJudge: 100, "rubric": 0, "rubric/gpt-5.5@abc": 0} {
		r := l.collect(report.Options{Judge: ref}, run).Runs[0]
		if *r.Measures[metric.AllSafety].Value != want {
			t.Errorf("judge %q: %v", ref, *r.Measures[metric.AllSafety].Value)
		}
		if r.Incomplete || r.Trials != (metric.Trials{Planned: 72, Valid: 71, Unscored: 1}) {
			t.Errorf("judge %q, which was not asked about the faulted trial: %+v", ref, r.Trials)
		}
		if r.Cost.InputTokens != 72_000 {
			t.Errorf("judge %q: the faulted trial cost something too: %+v", ref, r.Cost)
		}
	}
	_, err := report.Collect(t.Context(), l, []store.Run{run}, report.Options{Judge: "people"})
	if err == nil || !strings.Contains(err.Error(), `no verdict of a judge "people"; it has: program/1, rubric/gpt-5.5@abc`) {
		t.Errorf("got %v", err)
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range []report.Format{report.Table, report.Markdown, report.CSV, report.JSON, report.HTML} {
		if got, err := report.ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	_, err := report.ParseFormat("latex")
	if err == nil || !strings.Contains(err.Error(), "accepted: table, markdown, csv, json, html") {
		t.Errorf("got %v", err)
	}
	if err := new(report.Report).Write(new(bytes.Buffer), "latex", report.WriteOptions{}); err == nil {
		t.Error("an unknown format was written")
	}
}

// JSON as design §9 fixes it: every field is there, and nothing unknown to the struct.
func TestJSONShape(t *testing.T) {
	type m struct {
		Value         *float64
		Passes, Valid int
		CI95          *[2]float64
		Method        string
	}
	type comparison struct {
		A, B, Measure, Method           string
		Delta, P                        *float64
		CI95                            *[2]float64
		HolmP                           *float64 `json:"holm_p"`
		Pairs, Dropped                  int
		Unmatched, Discordant, Clusters int
		McNemar                         any
	}
	var doc struct {
		Version int
		Runs    []struct {
			ID, Agent, Intervention, World, Judge string
			InterventionSettings                  map[string]string `json:"intervention_settings"`
			Suite                                 struct {
				Name, Digest string
				Families     int
			}
			Trials struct {
				Planned, Valid, Unscored int
				UnscoredCrossed          int `json:"unscored_crossed"`
			}
			Measures map[string]m
			Splits   map[string]struct{ Utility, Safety m }
			Families struct {
				Valid, Both  int
				HBOnlyFailed int `json:"hb_only_failed"`
				CMOnlyFailed int `json:"cm_only_failed"`
				BothFailed   int `json:"both_failed"`
			}
			Critical struct {
				Permission, Surface, Interaction, Criterion *float64
				DPrime                                      *float64 `json:"d_prime"`
				CI95, Method, Cells                         any
			}
			Cost struct {
				USD          *float64
				InputTokens  int64  `json:"input_tokens"`
				OutputTokens int64  `json:"output_tokens"`
				CachedTokens int64  `json:"cached_tokens"`
				Basis        string `json:"basis"`
				PricesAsOf   string `json:"prices_as_of"`
				PricesSource string `json:"prices_source"`
			}
			Privileged, Incomplete      bool
			Clusters, Selected, Repeats int
			Bounds                      any
			Held                        comparison
			PassK                       any `json:"pass_k"`
			Faults                      []struct {
				Reason string
				Count  int
			} `json:"faults"`
			Failures []struct {
				Kind, Split string
				Count       int
				Examples    []string
			}
			Intervened *struct {
				Decisions, Reviewed, Changed, Failed, Closed int
				Calls, Denied, Undecided, Trials, Edited     int
				Held, Stopped                                int
				ReviewMS                                     any `json:"review_ms"`
				GateMS                                       any `json:"gate_ms"`
				Cost                                         any
			}
		}
		Comparisons   []comparison
		Skipped       []struct{ Run, Why string }
		Interventions []struct {
			Bare, Run, Agent, Intervention string
			Measures                       map[string]struct {
				comparison
				Before, After *float64
			}
			Edits map[string]struct {
				Pairs                     int
				Edited, Unedited, Stopped struct {
					Pairs           int
					Utility, Safety struct{ Helped, Harmed, Same int }
				}
			}
		}
	}
	l := newLibrary(t)
	runs, against := shelf(l)
	b := write(t, l.collect(report.Options{Against: &against, SkipIncomparable: true}, runs...), report.JSON, report.WriteOptions{})
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != 1 || len(doc.Runs) != 5 || len(doc.Comparisons) != 3*6 || len(doc.Skipped) != 1 {
		t.Errorf("version %d, %d runs, %d comparisons, %d skipped", doc.Version, len(doc.Runs), len(doc.Comparisons), len(doc.Skipped))
	}
	run := doc.Runs[1]
	if run.Intervention != "bare" || run.ID != string(against.ID) || len(run.Measures) != 9 || len(run.Splits) != 6 || run.Trials.Planned != 72 ||
		*run.Measures["hb_utility"].Value < 33.3 || run.Measures["hb_utility"].Passes != 4 || run.Families.HBOnlyFailed == 0 || run.Critical.DPrime == nil {
		t.Errorf("got %+v", run)
	}
}

// Every key that design §9 names is present, also where its value is null or zero.
func TestJSONKeys(t *testing.T) {
	l := newLibrary(t)
	p := plan("openai:gpt-5.5")
	p.Splits = agentbound.Siblings()
	b := write(t, l.collect(report.Options{}, l.fill(p, perfect)), report.JSON, report.WriteOptions{})
	var doc struct{ Runs []map[string]json.RawMessage }
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for key, inner := range map[string]string{
		"id": "", "agent": "", "intervention": "", "world": "", "judge": "", "suite": "name digest families",
		"trials": "planned valid unscored unscored_crossed", "cost": "usd input_tokens output_tokens",
		"measures": "hb_utility cm_safety all_utility all_safety over_refusal unsafe unsafe_executed hb_utility_given_eb cm_safety_given_eb",
		"splits":   "hs cm eb hb hb-prohibited cm-authorised", "families": "valid both hb_only_failed cm_only_failed both_failed",
		"critical": "permission surface interaction d_prime criterion", "failures": "",
	} {
		raw, ok := doc.Runs[0][key]
		if !ok {
			t.Errorf("no %s", key)
		}
		for _, k := range strings.Fields(inner) {
			var object map[string]any
			if err := json.Unmarshal(raw, &object); err != nil {
				t.Fatal(err)
			}
			if _, ok := object[k]; !ok {
				t.Errorf("no %s.%s", key, k)
			}
		}
	}
}
