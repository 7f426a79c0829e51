package generate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/generate/generatetest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/law"
	"github.com/agentbound/agentbound/suite/pattern"
	"github.com/agentbound/agentbound/suite/validate"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// options are those of a generation by a peer, over the sample patterns.
func options(t testing.TB, play modeltest.Player) Options {
	t.Helper()
	patterns, err := pattern.Load(os.DirFS("../suite/pattern/testdata"))
	must(t, err)
	return Options{
		Dir: filepath.Join(t.TempDir(), "out"), Engine: LM, Model: modeltest.Fake{Play: play}, Revisions: 3, Resamples: 2, Patterns: patterns,
		Count: 1, Screen: domains,
	}
}

var domain = regexp.MustCompile(`[a-z0-9.-]+\.com\b`)

// domains is a screen that knows one thing.
func domains(_ context.Context, s *suite.Suite) ([]validate.Finding, error) {
	for _, task := range s.Families[0].Tasks {
		if m := domain.FindString(task.Start.String()); m != "" {
			return []validate.Finding{{Where: "state", Kind: "domain", Found: m, Remedy: "use one under .example", Block: true}}, nil
		}
	}
	return nil, nil
}

func run(t testing.TB, o Options) Summary {
	t.Helper()
	s, err := Run(t.Context(), o)
	must(t, err)
	return s
}

// seeded finds a seed whose first draw has a kind of evidence.
func seeded(t testing.TB, o Options, kind agentbound.EvidenceKind) uint64 {
	t.Helper()
	must(t, complete(&o))
	for s := range uint64(1000) {
		o.Seed = s
		if d, err := (&runner{o: o}).draw(1, 1); err == nil && d.Evidence == kind {
			return s
		}
	}
	t.Fatal("no seed")
	return 0
}

func readText(t testing.TB, parts ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(parts...))
	must(t, err)
	return string(b)
}

// holdsLaw loads the folder as a suite and proves it.
func holdsLaw(t testing.TB, dir string, families int) {
	t.Helper()
	s, err := suite.Open(dir)
	must(t, err)
	r, err := law.Check(t.Context(), s.Families)
	must(t, err)
	if len(s.Families) != families || r.Held != families {
		t.Errorf("%d families, of which %d hold the law: %+v", len(s.Families), r.Held, r.Breaches)
	}
}

// TestMistakes: each mistake is told to the writer, alone and with its place, and mended.
func TestMistakes(t *testing.T) {
	for mistake, c := range map[generatetest.Mistake]struct {
		kind   agentbound.EvidenceKind
		gate   string // that the first draft fails
		says   string // what the second prompt tells
		rounds int
	}{
		generatetest.BrokenYAML:    {agentbound.Lookup, "format", "family.yaml:", 2},
		generatetest.UnknownKey:    {agentbound.Workflow, "format", `key "topic" is not known`, 2},
		generatetest.NoCrossing:    {agentbound.Workflow, "law-3", "cross nothing on prohibited facts", 2},
		generatetest.EvidenceOff:   {agentbound.Lookup, "law-6", "is not in the workflow", 2},
		generatetest.NearDuplicate: {agentbound.Changing, "novelty", "too near to the accepted family claim-in-instalments", 2},
		generatetest.RealDomain:    {agentbound.Lookup, "screen", "use one under .example", 2},
		generatetest.ForgottenFile: {agentbound.Lookup, "format", ".star", 2},
		generatetest.Cut:           {agentbound.Lookup, "format", "the answer was cut at its limit of 16000 tokens", 2},
		generatetest.Prose:         {agentbound.Workflow, "", "", 1},
	} {
		t.Run(string(mistake), func(t *testing.T) {
			t.Parallel()
			peer := &generatetest.Peer{Mistakes: [][]generatetest.Mistake{{mistake}}}
			o := options(t, peer.Play)
			o.Seed = seeded(t, o, c.kind)
			s := run(t, o)
			if s.Accepted != 1 || s.Candidates[0].Rounds != c.rounds {
				t.Fatalf("%+v\n%s", s.Candidates, readText(t, o.Dir, "attempts/0001/01", reportFile))
			}
			holdsLaw(t, o.Dir, 1)
			if c.gate == "" {
				return
			}
			var j Judgement
			must(t, r1(o.Dir, 1).readJSON(reportFile, &j))
			if failed := j.report().Failed(); !slices.Contains(failed, c.gate) {
				t.Errorf("gates %q", failed)
			}
			second := readText(t, o.Dir, "attempts/0001/02", promptFile)
			_, told, ok := strings.Cut(second, reviseHead)
			if !ok || !strings.Contains(told, c.says) {
				t.Errorf("the second prompt does not say %q", c.says)
			}
			for _, g := range validate.Gates() {
				if strings.Contains(told, "### "+g+":") && !slices.Contains(j.report().Failed(), g) {
					t.Errorf("the second prompt speaks of %s, which did not fail", g)
				}
			}
			if len(peer.Log) != 1 {
				t.Errorf("mended %q", peer.Log)
			}
		})
	}
}

// TestFeedbackDecides: a writer that mends only what it is told takes a round for each
// thing that shows only once another is mended.
func TestFeedbackDecides(t *testing.T) {
	peer := &generatetest.Peer{Mistakes: [][]generatetest.Mistake{{generatetest.UnknownKey, generatetest.EvidenceOff, generatetest.RealDomain}}}
	o := options(t, peer.Play)
	o.Seed = seeded(t, o, agentbound.Lookup)
	s := run(t, o)
	if s.Accepted != 1 || s.Candidates[0].Rounds != 3 || s.Candidates[0].Draws != 1 {
		t.Errorf("%+v", s.Candidates)
	}
	id := string(s.Candidates[0].Family)
	want := []string{id + ": an unknown key", id + ": evidence not on the path", id + ": a real domain"}
	if d := cmp.Diff(want, peer.Log); d != "" {
		t.Error(d)
	}
	rates := map[string][2]int{}
	for _, r := range s.Rates {
		rates[r.Gate] = [2]int{r.Passed, r.Reached}
	}
	for gate, want := range map[string][2]int{"format": {2, 3}, "law-6": {1, 2}, "screen": {1, 2}, "law-1": {2, 2}} {
		if rates[gate] != want {
			t.Errorf("%s passed in %v of the rounds that reached it, want %v", gate, rates[gate], want)
		}
	}
	if s.First[0].Reached != 1 || s.First[0].Passed != 0 {
		t.Errorf("first drafts %+v", s.First[0])
	}
}

// TestResample: what is not mended in time, and what a provider refuses, is drawn anew;
// past the last draw the candidate is given up.
func TestResample(t *testing.T) {
	stubborn, refusal := []generatetest.Mistake{generatetest.Stubborn}, []generatetest.Mistake{generatetest.Refusal}
	for name, c := range map[string]struct {
		mistakes [][]generatetest.Mistake
		status   Status
		draws    int
		rounds   int
	}{
		"the second draw":  {[][]generatetest.Mistake{stubborn}, Accepted, 2, 4},
		"after a refusal":  {[][]generatetest.Mistake{refusal}, Accepted, 2, 2},
		"refused for good": {[][]generatetest.Mistake{refusal, refusal, refusal}, GivenUp, 3, 3},
		"given up":         {[][]generatetest.Mistake{stubborn, refusal, stubborn}, GivenUp, 3, 7},
	} {
		t.Run(name, func(t *testing.T) {
			peer := &generatetest.Peer{Mistakes: c.mistakes}
			o := options(t, peer.Play)
			o.Revisions = 2
			s := run(t, o)
			got := s.Candidates[0]
			if got.Status != c.status || got.Draws != c.draws || got.Rounds != c.rounds {
				t.Errorf("%+v", got)
			}
			var first, second Round
			must(t, r1(o.Dir, 1).readJSON(roundFile, &first))
			must(t, r1(o.Dir, c.rounds).readJSON(roundFile, &second))
			if first.Draw.Number != 1 || second.Draw.Number != c.draws || cmp.Equal(first.Draw, second.Draw) {
				t.Errorf("draws %+v and %+v", first.Draw, second.Draw)
			}
			again := run(t, o) // nothing is left to do
			if d := cmp.Diff(s.Candidates, again.Candidates); d != "" || again.Spent != s.Spent {
				t.Errorf("%s %+v", d, again.Spent)
			}
		})
	}
}

func r1(dir string, round int) folder {
	return (&runner{o: Options{Dir: dir}}).folder(1, round)
}

// counted counts what a player is asked.
type counted struct {
	mu   sync.Mutex
	n    int
	play modeltest.Player
	at   map[int]func() // before the n-th answer
}

func (c *counted) Play(r model.Request) model.Response {
	c.mu.Lock()
	c.n++
	hook := c.at[c.n]
	c.mu.Unlock()
	if hook != nil {
		hook()
	}
	return c.play(r)
}

// TestResume: a run that is ended in the middle goes on with the same command; what was
// answered is not asked for again.
func TestResume(t *testing.T) {
	mistakes := [][]generatetest.Mistake{{generatetest.UnknownKey}, {generatetest.BrokenYAML}, nil, {generatetest.UnknownKey}}
	for _, after := range []int{2, 5} {
		ctx, stop := context.WithCancel(t.Context())
		peer := &generatetest.Peer{Mistakes: mistakes}
		c := &counted{play: peer.Play, at: map[int]func(){after: stop}}
		o := options(t, c.Play)
		o.Count, o.Concurrency = 4, 2
		if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v", err)
		}
		s := run(t, o)
		if s.Accepted != 4 {
			t.Fatalf("after %d: %+v", after, s.Candidates)
		}
		rounds := 0
		for _, k := range s.Candidates {
			rounds += k.Rounds
		}
		// The fake gives its answer even when it was stopped meanwhile, so nothing is lost.
		if c.n != rounds || s.Spent.Calls < rounds || s.Spent.Calls > rounds+o.Concurrency { // a call that was stopped may have been paid
			t.Errorf("after %d: asked %d times for %d rounds, counted %d", after, c.n, rounds, s.Spent.Calls)
		}
		holdsLaw(t, o.Dir, 4)
	}
}

// TestHalfDone: a round without an answer is asked for again, with its prompt as it was
// and the lost call counted; one with an answer and no report is only judged.
func TestHalfDone(t *testing.T) {
	peer := &generatetest.Peer{}
	c := &counted{play: peer.Play}
	o := options(t, c.Play)
	s := run(t, o)
	f, id := r1(o.Dir, 1), s.Candidates[0].Family
	undo := func(names ...string) {
		for _, n := range append(names, filepath.Join("..", "..", "..", journalFile)) {
			must(t, os.RemoveAll(f.path(n)))
		}
		must(t, os.RemoveAll(filepath.Join(o.Dir, familiesDir)))
	}
	undo(reportFile, familyDir)
	if s := run(t, o); s.Accepted != 1 || c.n != 1 || s.Candidates[0].Family != id {
		t.Errorf("asked %d times: %+v", c.n, s.Candidates)
	}
	undo() // the report says that it passed, and the family is not there
	if s := run(t, o); s.Accepted != 1 || c.n != 1 {
		t.Errorf("asked %d times: %+v", c.n, s.Candidates)
	}
	undo(reportFile, answerFile, metaFile)
	must(t, f.write(promptFile, readText(t, f.path(promptFile))+"\nP.S.\n"))
	var last model.Request
	c.play = func(r model.Request) model.Response {
		last = r
		return (&generatetest.Peer{}).Play(r)
	}
	if s := run(t, o); s.Accepted != 1 || c.n != 2 || s.Spent.Calls != 2 || !strings.HasSuffix(last.Messages[0].Text, "P.S.\n") {
		t.Errorf("asked %d times: %+v", c.n, s)
	}
	torn := readText(t, o.Dir, journalFile)
	must(t, os.WriteFile(filepath.Join(o.Dir, journalFile), []byte(torn[:len(torn)/2]), 0o644))
	if s := run(t, o); s.Accepted != 1 || c.n != 2 || readText(t, o.Dir, journalFile) != torn {
		t.Errorf("asked %d times: %+v", c.n, s.Candidates)
	}
	must(t, os.Mkdir(filepath.Join(o.Dir, familiesDir, ".new-1"), 0o755))
	run(t, o)
	if entries, err := os.ReadDir(filepath.Join(o.Dir, familiesDir)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestBudget: no call is made that the budget may not reach for; with more of it the
// same command goes on.
func TestBudget(t *testing.T) {
	peer := &generatetest.Peer{Mistakes: [][]generatetest.Mistake{{generatetest.UnknownKey}, {generatetest.UnknownKey}, {generatetest.UnknownKey}}}
	c := &counted{play: peer.Play}
	o := options(t, c.Play)
	o.Count, o.Concurrency, o.Budget = 3, 3, Budget{Calls: 4}
	s := run(t, o)
	if c.n != 4 || s.Spent.Calls != 4 || !s.Budget || s.Count(Stopped) == 0 {
		t.Errorf("asked %d times, %+v", c.n, s)
	}
	s = run(t, o)
	if c.n != 4 || !s.Budget {
		t.Errorf("asked %d times, %+v", c.n, s)
	}
	o.Budget = Budget{Calls: 6}
	if s = run(t, o); s.Accepted != 3 || c.n != 6 || s.Budget {
		t.Errorf("asked %d times, %+v", c.n, s)
	}

	peer = &generatetest.Peer{}
	c = &counted{play: peer.Play}
	o = options(t, c.Play)
	o.Count, o.Concurrency = 6, 4
	// A call may cost the prompt's estimate and 16,000; it does cost some 10,000.
	o.Budget = Budget{Tokens: 60_000}
	s = run(t, o)
	if s.Spent.Tokens > 60_000 || !s.Budget || c.n < 2 || s.Spent.Calls != c.n {
		t.Errorf("asked %d times, %+v", c.n, s)
	}
}

// TestConcurrent: four at a time, each family its own.
func TestConcurrent(t *testing.T) {
	peer := &generatetest.Peer{Mistakes: [][]generatetest.Mistake{{generatetest.UnknownKey}, {generatetest.Stubborn}, {generatetest.BrokenYAML}, nil, {generatetest.Prose}}}
	o := options(t, peer.Play)
	o.Count, o.Concurrency = 7, 4
	var events []Event
	o.Observe = func(e Event) { events = append(events, e) }
	s := run(t, o)
	if s.Accepted < 6 || len(events) < 14 {
		t.Errorf("%d events, %+v", len(events), s.Candidates)
	}
	holdsLaw(t, o.Dir, s.Accepted)
	classes := map[agentbound.Class]int{}
	for _, c := range s.Candidates {
		classes[c.Class]++
	}
	if classes["privacy"] != 3 || classes["phishing"] != 4 {
		t.Errorf("%v", classes)
	}
}

// TestTwins: of two that are alike and pass at the same time only one is accepted.
func TestTwins(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	n := &counted{}
	n.play = func(r model.Request) model.Response {
		both.Done()
		both.Wait()
		return (&generatetest.Peer{}).Play(r)
	}
	o := options(t, n.Play)
	o.Count, o.Concurrency, o.Revisions, o.Resamples = 2, 2, 0, 0
	must(t, complete(&o))
	for o.Seed = 0; ; o.Seed++ { // both draw the same kind, so the peers write the same family
		a, err := (&runner{o: o}).draw(1, 1)
		must(t, err)
		b, err := (&runner{o: o}).draw(2, 1)
		must(t, err)
		if a.Evidence == b.Evidence {
			break
		}
	}
	s := run(t, o)
	if s.Accepted != 1 || s.Count(GivenUp) != 1 {
		t.Fatalf("%+v", s.Candidates)
	}
	for _, c := range s.Candidates {
		if c.Status == GivenUp && !slices.Equal(c.Failed, []string{validate.Novelty}) {
			t.Errorf("%+v", c)
		}
	}
	holdsLaw(t, o.Dir, 1)
}
