package generate

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/generate/generatetest"
	"github.com/agentbound/agentbound/model"
)

// finishedFolder is a folder with one accepted candidate, and the options that made it.
func finishedFolder(t *testing.T) Options {
	t.Helper()
	o := options(t, (&generatetest.Peer{}).Play)
	if s := run(t, o); s.Accepted != 1 {
		t.Fatalf("%+v", s.Candidates)
	}
	return o
}

// refusedFor runs and wants an error that the folder's owner can mend.
func refusedFor(t *testing.T, o Options, says string) {
	t.Helper()
	_, err := Run(t.Context(), o)
	var refused *UsageError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want one of usage that says %q", err, says)
	}
}

// TestDamaged: what a folder's files cannot say is told with the file, and counts for
// nothing.
func TestDamaged(t *testing.T) {
	const report, asked, meta = "attempts/0001/01/report.json", "attempts/0001/01/asked.json", "attempts/0001/01/answer.json"
	line := func(status, family string) string {
		return `{"version":1,"candidate":1,"status":"` + status + `","class":"privacy","family":"` + family + `","draws":1,"rounds":1}` + "\n"
	}
	finished := finishedFolder(t)
	for name, c := range map[string]struct{ file, text, says string }{
		"a broken report":         {report, "{", "report.json: unexpected end of JSON input; the file was damaged"},
		"a report of null":        {report, "null", "it is no JSON object"},
		"a report of text":        {report, `{"passed":"x"}`, `"passed" must not be a string`},
		"a report of nothing":     {report, `{"version":1,"candidate":1,"round":1}`, "it has no gates"},
		"another's report":        {report, `{"version":1,"candidate":2,"round":1}`, "it is of candidate 2, round 1"},
		"a report that lies":      {report, `{"version":1,"candidate":1,"round":1,"passed":true,"family":"a","gates":[{"name":"format","passed":false}]}`, "passed contradicts its gates"},
		"an unknown gate":         {report, `{"version":1,"candidate":1,"round":1,"gates":[{"name":"\u001b[2J","passed":false}]}`, `gate "\x1b[2J" is not known`},
		"calls taken back":        {asked, `{"times":-100,"tokens":1}`, "times -100, tokens 1; accepted: 0 to 10000"},
		"calls beyond numbers":    {asked, `{"times":10000,"tokens":9223372036854775807}`, "tokens 9223372036854775807; accepted"},
		"tokens taken back":       {meta, `{"stop":"end","usage":{"input_tokens":-5,"output_tokens":0}}`, "tokens -5 and 0; accepted"},
		"accepted and not there":  {journalFile, line("accepted", "never-written"), `candidates.jsonl:1: candidate 1 was accepted, and its family "never-written" is not in `},
		"accepted from elsewhere": {journalFile, line("accepted", "../victim"), `its family "../victim" is not in `},
		"a status of its own":     {journalFile, line("weird", ""), `status "weird"; accepted: accepted, given-up`},
		"a line of null":          {journalFile, "null\n", "candidates.jsonl:1: it is no JSON object"},
		"a line twice":            {journalFile, line("given-up", "") + line("given-up", ""), "candidates.jsonl:2: candidate 1 has another line"},
		"a line of 70 KB":         {journalFile, line("weird"+strings.Repeat("x", 70_000), ""), "candidates.jsonl:1: status"},
		"settings of null":        {settingsFile, "null", "generate.json: it is no JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			o := finished
			o.Dir = filepath.Join(t.TempDir(), "out")
			must(t, os.CopyFS(o.Dir, os.DirFS(finished.Dir)))
			must(t, os.WriteFile(filepath.Join(o.Dir, filepath.FromSlash(c.file)), []byte(c.text), 0o644))
			refusedFor(t, o, c.says)
		})
	}
}

// TestLongLine: a line of the journal may be longer than a reader's buffer.
func TestLongLine(t *testing.T) {
	o := finishedFolder(t)
	name := filepath.Join(o.Dir, journalFile)
	text := strings.TrimSuffix(strings.TrimSpace(readText(t, name)), "}") + `,"prompt":"` + strings.Repeat("x", 100_000) + `"}` + "\n"
	must(t, os.WriteFile(name, []byte(text), 0o644))
	if s := run(t, o); s.Accepted != 1 {
		t.Errorf("%+v", s.Candidates)
	}
}

// TestDamageKeepsRates: the summary of a run that met a damaged report has its gates, so
// that it can be printed.
func TestDamageKeepsRates(t *testing.T) {
	o := finishedFolder(t)
	must(t, r1(o.Dir, 1).write(reportFile, "{"))
	s, err := Run(t.Context(), o)
	if err == nil || len(s.Rates) == 0 || len(s.First) != len(s.Rates) || s.Rates[0].Reached != 0 {
		t.Errorf("%v: %+v", err, s.Rates)
	}
}

// TestLinks: nothing is read or written through a link in the folder.
func TestLinks(t *testing.T) {
	for _, at := range []string{"attempts", "attempts/0001", "attempts/0001/01", "attempts/0001/01/answer.md", "families", "candidates.jsonl", ".lock", "suite.yaml"} {
		t.Run(at, func(t *testing.T) {
			o := options(t, nil)
			o.Engine, o.Model = File, nil
			run(t, o)
			victim := filepath.Join(t.TempDir(), "victim")
			must(t, os.Mkdir(victim, 0o755))
			name := filepath.Join(o.Dir, filepath.FromSlash(at))
			must(t, os.RemoveAll(name))
			if err := os.Symlink(victim, name); err != nil {
				t.Skip(err)
			}
			refusedFor(t, o, name+" is a link")
			if entries, err := os.ReadDir(victim); err != nil || len(entries) > 0 {
				t.Errorf("written through the link: %v, %v", entries, err)
			}
		})
	}
}

// TestAnswerFiles: an answer is read from a file, and no further than an answer goes.
func TestAnswerFiles(t *testing.T) {
	o := options(t, nil)
	o.Engine, o.Model = File, nil
	run(t, o)
	answer := r1(o.Dir, 1).path(answerFile)
	must(t, os.Mkdir(answer, 0o755))
	refusedFor(t, o, answer+" is a folder, and a file is wanted here")
	must(t, os.Remove(answer))
	must(t, os.WriteFile(answer, nil, 0o644))
	must(t, os.Truncate(answer, 3<<30)) // sparse: it takes no place on the disk
	s := run(t, o)
	if s.Count(Waiting) != 1 || s.Candidates[0].Rounds != 1 {
		t.Errorf("%+v", s.Candidates)
	}
	if told := readText(t, r1(o.Dir, 2).path(promptFile)); !strings.Contains(told, "the answer is larger than 2 MiB") {
		t.Error("the second prompt does not say that the answer is too large")
	}
	o.Dir = os.DevNull
	refusedFor(t, o, "name one that is there or can be made")
}

// TestOverflow: no number of tokens wraps a budget.
func TestOverflow(t *testing.T) {
	l := newLedger(Budget{Tokens: 100}, Spent{})
	if err := l.reserve(t.Context(), math.MaxInt64); !errors.Is(err, errBudget) {
		t.Errorf("error %v", err)
	}
	must(t, l.reserve(t.Context(), 60))
	l.settle(60, 60)
	if err := l.reserve(t.Context(), math.MaxInt64-50); !errors.Is(err, errBudget) {
		t.Errorf("error %v", err)
	}
	for says, change := range map[string]func(*Options){
		"tokens of one answer; accepted: 1 to 10000000":  func(o *Options) { o.MaxTokens = math.MaxInt },
		"-3 tokens of one answer":                        func(o *Options) { o.MaxTokens = -3 },
		"-5 candidates at a time; accepted: 1 to 1000":   func(o *Options) { o.Concurrency = -5 },
		"a budget must not be negative":                  func(o *Options) { o.Budget.Calls = -1 },
		"revisions and resamples must not be negative":   func(o *Options) { o.Revisions = -1 },
		"10000 candidates; accepted: 1 to 9999":          func(o *Options) { o.Count = 10_000 },
		"2000000 candidates at a time; accepted: 1 to 1": func(o *Options) { o.Concurrency = 2_000_000 },
	} {
		o := options(t, (&generatetest.Peer{}).Play)
		change(&o)
		refusedFor(t, o, says)
	}
}

// TestUsageOfServers: what a server says of tokens cannot give a budget back.
func TestUsageOfServers(t *testing.T) {
	peer := &generatetest.Peer{}
	o := options(t, func(r model.Request) model.Response {
		a := peer.Play(r)
		a.Usage.Input, a.Usage.Output = -1_000_000, 5
		return a
	})
	if s := run(t, o); s.Spent.Tokens < 1000 {
		t.Errorf("spent %+v", s.Spent)
	}
}
