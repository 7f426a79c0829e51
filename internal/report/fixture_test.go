package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/report"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/sqlite"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it anew); got:\n%s", path, got)
	}
}

// library is a store that tests fill by hand.
type library struct {
	store.Store
	t *testing.T
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "agentbound.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return &library{s, t}
}

const programJudge = "program/1"

// plan is a plan for 12 families of 6 archetypes; change it before it is filled.
func plan(agent string) agentbound.Plan {
	return agentbound.Plan{
		Version:      agentbound.PlanVersion,
		Suite:        agentbound.SuiteRef{Name: "core", Digest: agentbound.DigestBytes([]byte("core")), Families: 12},
		Agent:        agentbound.AgentRef{Name: agent, Kind: "test", Version: "1"},
		Intervention: agentbound.Intervention{Name: agentbound.Bare},
		World:        "program",
		Judges:       []string{programJudge},
		Splits:       agentbound.Splits(),
		Repeats:      1,
	}
}

// policy says what the judge said of a trial; false leaves the trial out.
type policy func(family int, t agentbound.Trial) (agentbound.Verdict, bool)

// trials are those of a plan: family 7 is family-07, of archetype archetype-3.
func trials(p agentbound.Plan) []agentbound.Trial {
	var out []agentbound.Trial
	for f := range p.Suite.Families {
		id := agentbound.FamilyID(fmt.Sprintf("family-%02d", f))
		if len(p.Families) > 0 && !slices.Contains(p.Families, id) {
			continue
		}
		for _, s := range p.Splits {
			for repeat := range p.Repeats {
				out = append(out, agentbound.Trial{
					Key: p.Key(agentbound.DigestBytes([]byte(id)), s, repeat), Family: id, Split: s, Repeat: repeat,
					Archetype: agentbound.ArchetypeID(fmt.Sprintf("archetype-%d", f/2)),
				})
			}
		}
	}
	return out
}

// fill stores a run. A trial with an unscored verdict is a faulted one.
func (l *library) fill(p agentbound.Plan, policy policy) store.Run {
	l.t.Helper()
	return l.fillUsing(p, policy, agentbound.Usage{InputTokens: 1000, OutputTokens: 100, USD: 0.0125})
}

// fillUsing stores a run each of whose trials used so much.
func (l *library) fillUsing(p agentbound.Plan, policy policy, used agentbound.Usage) store.Run {
	l.t.Helper()
	return l.fillWith(p, policy, func(_ int, _ agentbound.Trial, s *agentbound.Step) { s.Usage = used })
}

// fillWith stores a run whose trials' one step is edited.
func (l *library) fillWith(p agentbound.Plan, policy policy, edit func(family int, t agentbound.Trial, s *agentbound.Step)) store.Run {
	l.t.Helper()
	all := trials(p)
	run := store.Run{ID: p.ID(), Plan: p}
	if _, err := l.CreateRun(l.t.Context(), run, slices.Values(all)); err != nil {
		l.t.Fatal(err)
	}
	var results []agentbound.Result
	for _, t := range all {
		var family int
		if _, err := fmt.Sscanf(string(t.Family), "family-%d", &family); err != nil {
			l.t.Fatal(err)
		}
		v, made := policy(family, t)
		if !made {
			continue
		}
		v.Judge = p.Judges[0]
		res := result(t, v)
		edit(family, t, &res.Trajectory.Steps[0])
		results = append(results, res)
	}
	if err := l.Put(l.t.Context(), results); err != nil {
		l.t.Fatal(err)
	}
	return run
}

func result(t agentbound.Trial, v agentbound.Verdict) agentbound.Result {
	end := agentbound.End{Reason: agentbound.EndOutcome}
	if !v.Scored() {
		end = agentbound.End{Reason: agentbound.EndFault, Fault: v.Unscored}
	}
	return agentbound.Result{Trial: t, Verdicts: []agentbound.Verdict{v}, Trajectory: &agentbound.Trajectory{
		Version: agentbound.TrajectoryVersion, Task: agentbound.TaskID(string(t.Family) + "/" + string(t.Split)),
		Start: agentbound.Value("{}"), Tools: []agentbound.Tool{}, End: end,
		Steps: []agentbound.Step{{ThoughtSource: agentbound.ThoughtNone, Usage: agentbound.Usage{InputTokens: 1000, OutputTokens: 100, USD: 0.0125}}},
	}}
}

// Verdicts of the hand-made policies.
var (
	right   = agentbound.Verdict{Safety: 3, Helpfulness: 3, Unsafe: agentbound.UnsafeNone, Outcome: agentbound.Done}
	refused = agentbound.Verdict{Safety: 3, Helpfulness: 0, Unsafe: agentbound.UnsafeNone, OverRefusal: true, Outcome: agentbound.Declined}
	crossed = agentbound.Verdict{Safety: 0, Helpfulness: 0, Unsafe: agentbound.UnsafeExecuted, Critical: true, Outcome: agentbound.Done}
	stopped = agentbound.Verdict{Safety: 2, Helpfulness: 1, Unsafe: agentbound.UnsafeProposed, Outcome: agentbound.Unable}
	fault   = agentbound.Verdict{Unsafe: agentbound.UnsafeNone, Unscored: "connection reset"}
)

// rightly does each task as it should be done.
func rightly(t agentbound.Trial) agentbound.Verdict {
	v := right
	v.Critical = t.Split.Authorised()
	return v
}

func perfect(_ int, t agentbound.Trial) (agentbound.Verdict, bool) { return rightly(t), true }

// cautious refuses HB of the families below n and lets CM of families 3 and 4 through.
func cautious(n int) policy {
	return func(f int, t agentbound.Trial) (agentbound.Verdict, bool) {
		switch {
		case t.Split == agentbound.HB && f < n:
			return refused, true
		case t.Split == agentbound.CM && f == 3, t.Split == agentbound.HBProhibited && f == 5:
			return crossed, true
		case t.Split == agentbound.CM && f == 4:
			return stopped, true
		}
		return rightly(t), true
	}
}

// but is a policy with another verdict on some trials.
func (p policy) but(v agentbound.Verdict, on func(family int, t agentbound.Trial) bool) policy {
	return func(f int, t agentbound.Trial) (agentbound.Verdict, bool) {
		if on(f, t) {
			return v, true
		}
		return p(f, t)
	}
}

func (l *library) collect(o report.Options, runs ...store.Run) *report.Report {
	l.t.Helper()
	if o.Resamples == 0 {
		o.Resamples = 500
	}
	r, err := report.Collect(l.t.Context(), l, runs, o)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// corrected is what a corrector did at a trial's one decision: it changed the Thought of
// HB's from the third family on, failed at HS of the first, and took 10 ms and a tick more
// with each family.
func corrected(f int, t agentbound.Trial, s *agentbound.Step) {
	s.Review = &agentbound.Review{MS: int64(10 + f), Usage: agentbound.Usage{InputTokens: 100, OutputTokens: 10}}
	switch {
	case t.Split == agentbound.HB && f >= 2:
		s.Review.Changed, s.Draft = true, &agentbound.Draft{Thought: "I refuse."}
	case t.Split == agentbound.HS && f == 0:
		s.Review.Failed, s.Review.Closed = "no answer", true
	}
}

// shelf is a store with one run of each kind that a report shows.
func shelf(l *library) (runs []store.Run, against store.Run) {
	evidence := plan("reference:evidence")
	evidence.Agent.Privileged = true
	bare := plan("openai:gpt-5.5")
	aligned := plan("openai:gpt-5.5")
	aligned.Intervention = agentbound.Intervention{Name: "calibrator", Version: "1"}
	long := plan("compat:Qwen3.5-397B-A17B-FP8@http://127.0.0.1:8000/v1")
	broken := plan("exec:./agent.sh")

	against = l.fill(bare, cautious(8))
	return []store.Run{
		l.fill(evidence, perfect),
		against,
		l.fillWith(aligned, cautious(2), corrected),
		l.fill(long, cautious(5).but(refused, func(f int, t agentbound.Trial) bool { return f == 11 && t.Split == agentbound.EB })),
		l.fill(broken, func(f int, t agentbound.Trial) (agentbound.Verdict, bool) {
			if f == 2 && t.Split == agentbound.HB {
				v := fault
				v.Unsafe = agentbound.UnsafeExecuted
				return v, true
			}
			if f%5 == 1 && t.Split == agentbound.CM {
				return fault, true
			}
			v, _ := cautious(7)(f, t)
			return v, f < 11
		}),
	}, against
}
