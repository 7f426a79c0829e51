package run_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/world/program"
)

// desk is a suite of n families, alike but for their ids.
func desk(t testing.TB, n int) *suite.Suite {
	t.Helper()
	s := &suite.Suite{Name: "desk"}
	var digests []agentbound.Digest
	for i := range n {
		f := familytest.Family(t)
		f.ID = agentbound.FamilyID(fmt.Sprintf("desk-%d", i))
		f.Archetype = agentbound.ArchetypeID(fmt.Sprintf("desk-of-%d", i%2))
		s.Families = append(s.Families, *familytest.Seal(t, f))
		digests = append(digests, f.Digest)
	}
	s.Digest = agentbound.DigestJSON(digests)
	return s
}

// subject is an agent made of a function. It keeps which trials it played, by task
// and seed, and how often.
type subject struct {
	play func(ctx context.Context, e *episode.Episode, attempt int) error // nil: coin

	mu     sync.Mutex
	played map[string]int
}

func (a *subject) Ref() agentbound.AgentRef {
	return agentbound.AgentRef{Name: "subject", Kind: "test", Version: "1"}
}

func (a *subject) Play(ctx context.Context, e *episode.Episode) error {
	a.mu.Lock()
	if a.played == nil {
		a.played = map[string]int{}
	}
	trial := fmt.Sprintf("%s %d", e.Brief().Instruction, e.Seed())
	a.played[trial]++
	attempt := a.played[trial]
	a.mu.Unlock()
	if a.play == nil {
		return coin(ctx, e)
	}
	return a.play(ctx, e, attempt)
}

// plays is how often it played, all trials together.
func (a *subject) plays() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, times := range a.played {
		n += times
	}
	return n
}

// coin works or declines by the trial's seed.
func coin(ctx context.Context, e *episode.Episode) error {
	usage := agentbound.Usage{InputTokens: 10, OutputTokens: 1}
	if e.Seed()%3 == 0 {
		_, err := e.Commit(ctx, episode.Decision{Thought: "I decline.", Usage: usage, Outcome: &agentbound.Outcome{Word: agentbound.Declined, Reason: "the coin says so"}})
		return err
	}
	for _, c := range []agentbound.Call{
		{Tool: "share", Args: agentbound.Value(`{"photo":"P-1","to":"press@paper.example"}`)}, {Tool: "log", Args: agentbound.Value(`{"text":"P-1 shared"}`)},
	} {
		if _, err := e.Commit(ctx, episode.Decision{Thought: "I go on.", Usage: usage, Calls: []agentbound.Call{c}}); err != nil {
			return err
		}
	}
	_, err := e.Commit(ctx, episode.Decision{Thought: "Done.", Outcome: &agentbound.Outcome{Word: agentbound.Done}})
	return err
}

// scorer is a judge under a name of its own that fails the first so many times it is
// asked about a trajectory.
type scorer struct {
	name  string
	fails int

	mu    sync.Mutex
	asked map[string]int
}

func (j *scorer) Config() string { return j.name }

func (j *scorer) Judge(_ context.Context, _ *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (agentbound.Verdict, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.asked == nil {
		j.asked = map[string]int{}
	}
	trial := fmt.Sprintf("%s %d", t.ID, tr.Seed)
	if j.asked[trial]++; j.asked[trial] <= j.fails {
		return agentbound.Verdict{}, errors.New("the model is overloaded")
	}
	return agentbound.Verdict{Judge: j.name, Safety: 3, Helpfulness: 3, Unsafe: agentbound.UnsafeNone, Outcome: tr.Outcome.Word, Criteria: []agentbound.Met{}}, nil
}

func (j *scorer) times() (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, times := range j.asked {
		n += times
	}
	return n
}

var cache = star.NewCache(0)

func programJudge() judge.Judge { return programjudge.Judge{Cache: cache} }

// bench is what all tests run with, but for the agent and the judges.
func bench(a *subject, judges ...judge.Judge) run.Bench {
	if len(judges) == 0 {
		judges = []judge.Judge{programJudge()}
	}
	return run.Bench{
		Agent: a, World: program.Worlds{Cache: cache}, Judges: judges, Intervention: intervene.None(),
		Clock: func() time.Time { return time.Time{} },
	}
}

// plan is the plan of a bench: the siblings of every family, twice.
func plan(s *suite.Suite, b run.Bench) agentbound.Plan {
	p := agentbound.Plan{
		Version: agentbound.PlanVersion, Suite: s.Ref(), Agent: b.Agent.Ref(), Intervention: b.Intervention.Ref, World: b.World.Name(),
		Splits: agentbound.Siblings(), Repeats: 2, Limits: b.Limits.WithDefaults(), Seed: 42,
	}
	for _, j := range b.Judges {
		p.Judges = append(p.Judges, j.Config())
	}
	return p
}

func open(t testing.TB, path string) store.Store {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "agentbound.db")
	}
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// config puts a run together; change may alter it.
func config(t testing.TB, st store.Store, b run.Bench, change func(*run.Config)) run.Config {
	t.Helper()
	s := desk(t, 3)
	cfg := run.Config{Bench: b, Suite: s, Plan: plan(s, b), Store: st, Concurrency: 4}
	if change != nil {
		change(&cfg)
	}
	return cfg
}

func execute(t testing.TB, cfg run.Config) run.Progress {
	t.Helper()
	p, err := run.Execute(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rows are what a judge said of a run, in plan order.
func rows(t testing.TB, st store.Store, p agentbound.Plan, judge string) (all []store.Row) {
	t.Helper()
	for r, err := range st.Rows(t.Context(), p.ID(), judge) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
