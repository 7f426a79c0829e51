package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge/program"
)

const trials = 3 * 4 * 2 // of plan: families, siblings, repeats

// TestExecute makes every trial of the plan once and stores it with its verdicts.
func TestExecute(t *testing.T) {
	a := &subject{}
	var seen []run.Progress
	cfg := config(t, open(t, ""), bench(a), func(cfg *run.Config) { cfg.Observe = func(p run.Progress) { seen = append(seen, p) } })
	got := execute(t, cfg)
	if got.Planned != trials || got.Found != 0 || got.Made != trials || got.Unscored != 0 || got.Done() != trials {
		t.Errorf("progress %+v", got)
	}
	if len(a.played) != trials || a.plays() != trials {
		t.Errorf("%d trials were played %d times", len(a.played), a.plays())
	}
	var want []agentbound.Trial
	for trial := range run.Trials(cfg.Suite, cfg.Plan) {
		want = append(want, trial)
	}
	var made []agentbound.Trial
	var usage agentbound.Usage
	for _, r := range rows(t, cfg.Store, cfg.Plan, program.Config) {
		made = append(made, r.Trial)
		usage = usage.Add(r.Usage)
		res, err := cfg.Store.Result(t.Context(), string(r.Key))
		if err != nil {
			t.Fatal(err)
		}
		tr := res.Trajectory
		if tr.Task != agentbound.TaskID(string(r.Family)+"/"+string(r.Split)) || tr.Agent != "subject" || tr.World != "program" || tr.Intervention != "bare" {
			t.Errorf("%s/%s/%d: trajectory of %s, agent %s, world %s, intervention %s", r.Family, r.Split, r.Repeat, tr.Task, tr.Agent, tr.World, tr.Intervention)
		}
	}
	if d := cmp.Diff(want, made); d != "" {
		t.Errorf("rows: %s", d)
	}
	if got.Usage != usage || usage == (agentbound.Usage{}) {
		t.Errorf("usage %+v, the store's %+v", got.Usage, usage)
	}
	for i, p := range seen {
		if i > 0 && p.Made <= seen[i-1].Made {
			t.Errorf("observed %+v after %+v", p, seen[i-1])
		}
	}
	if len(seen) == 0 || !cmp.Equal(seen[len(seen)-1], got) {
		t.Errorf("observed %+v", seen)
	}
	if stored, err := cfg.Store.Suite(t.Context(), cfg.Suite.Digest); err != nil || stored.Families != 3 {
		t.Errorf("the suite is stored as %+v, %v", stored, err)
	}
}

// TestResume: the same plan on the same store is the same run; nothing is made twice.
func TestResume(t *testing.T) {
	a := &subject{}
	cfg := config(t, open(t, ""), bench(a), nil)
	execute(t, cfg)
	before := rows(t, cfg.Store, cfg.Plan, program.Config)
	got := execute(t, cfg)
	if d := cmp.Diff(run.Progress{Planned: trials, Found: trials}, got); d != "" {
		t.Errorf("progress: %s", d)
	}
	if a.plays() != trials {
		t.Errorf("%d plays of %d trials", a.plays(), trials)
	}
	if d := cmp.Diff(before, rows(t, cfg.Store, cfg.Plan, program.Config)); d != "" {
		t.Errorf("rows: %s", d)
	}
	if runs, err := cfg.Store.Runs(t.Context()); err != nil || len(runs) != 1 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// TestCounter: --new starts another run, with trials of its own.
func TestCounter(t *testing.T) {
	a := &subject{}
	cfg := config(t, open(t, ""), bench(a), nil)
	execute(t, cfg)
	cfg.Plan.Counter = 1
	if got := execute(t, cfg); got.Found != 0 || got.Made != trials || a.plays() != 2*trials {
		t.Errorf("progress %+v, %d plays", got, a.plays())
	}
	if runs, err := cfg.Store.Runs(t.Context()); err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// TestSharedTrials: a run that differs only in its selection is served by what is
// stored.
func TestSharedTrials(t *testing.T) {
	a := &subject{}
	cfg := config(t, open(t, ""), bench(a), nil)
	execute(t, cfg)
	cfg.Plan.Families, cfg.Plan.Splits, cfg.Plan.Repeats = []agentbound.FamilyID{"desk-1"}, []agentbound.Split{agentbound.HB}, 3
	got := execute(t, cfg)
	if got.Planned != 3 || got.Found != 2 || got.Made != 1 || a.plays() != trials+1 {
		t.Errorf("progress %+v, %d plays", got, a.plays())
	}
	if n := len(rows(t, cfg.Store, cfg.Plan, program.Config)); n != 3 {
		t.Errorf("%d rows", n)
	}
}

// TestJudgedAgain: a run that adds a judge plays nothing and asks that judge only.
func TestJudgedAgain(t *testing.T) {
	a, first, second := &subject{}, &scorer{name: "first"}, &scorer{name: "second"}
	st := open(t, "")
	execute(t, config(t, st, bench(a, first), nil))
	cfg := config(t, st, bench(a, first, second), nil)
	got := execute(t, cfg)
	if d := cmp.Diff(run.Progress{Planned: trials, Made: trials}, got); d != "" {
		t.Errorf("progress: %s", d)
	}
	if a.plays() != trials || first.times() != trials || second.times() != trials {
		t.Errorf("%d plays, first asked %d times, second %d times; want %d each", a.plays(), first.times(), second.times(), trials)
	}
	for _, j := range []string{"first", "second"} {
		if n := len(rows(t, st, cfg.Plan, j)); n != trials {
			t.Errorf("%d verdicts of %s", n, j)
		}
	}
	if got := execute(t, cfg); got.Found != trials || got.Made != 0 || second.times() != trials {
		t.Errorf("once more: %+v, second asked %d times", got, second.times())
	}
}

// TestOneJudgeMissing: what the headline's judge has scored and another one has not
// is counted as work to do, once.
func TestOneJudgeMissing(t *testing.T) {
	a, second := &subject{}, &scorer{name: "second", fails: 2}
	cfg := config(t, open(t, ""), bench(a, &scorer{name: "first"}, second), nil)
	if got := execute(t, cfg); got.Made != trials || got.Unscored != trials {
		t.Errorf("progress %+v", got)
	}
	got := execute(t, cfg)
	if d := cmp.Diff(run.Progress{Planned: trials, Made: trials}, got); d != "" || got.Done() != trials {
		t.Errorf("progress: %s", d)
	}
	if a.plays() != trials {
		t.Errorf("%d plays", a.plays())
	}
}

// TestUnscoredTrials: a failure of the infrastructure is tried again and then stored
// as an unscored trial with its reason; it is never a zero, and never ends the run.
func TestUnscoredTrials(t *testing.T) {
	for name, test := range map[string]struct {
		play func(ctx context.Context, e *episode.Episode, attempt int) error
		want string
	}{
		"the agent fails":  {func(context.Context, *episode.Episode, int) error { return errors.New("connection reset") }, "connection reset"},
		"the agent panics": {func(context.Context, *episode.Episode, int) error { panic("nil map") }, "the agent panicked: nil map"},
		"it fails midway": {func(ctx context.Context, e *episode.Episode, _ int) error {
			_, err := e.Commit(ctx, episode.Decision{Calls: []agentbound.Call{{Tool: "unlog", Args: agentbound.Value(`{}`)}}})
			return errors.Join(err, errors.New("connection reset"))
		}, "connection reset"},
	} {
		for _, attempts := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s, %d attempts", name, attempts), func(t *testing.T) {
				a := &subject{play: test.play}
				cfg := config(t, open(t, ""), bench(a), func(cfg *run.Config) { cfg.Attempts = attempts })
				got := execute(t, cfg)
				if got.Made != trials || got.Unscored != trials {
					t.Errorf("progress %+v", got)
				}
				want := attempts
				if want == 0 {
					want = 2
				}
				for trial, n := range a.played {
					if n != want {
						t.Errorf("%s: %d attempts, want %d", trial, n, want)
					}
				}
				all := rows(t, cfg.Store, cfg.Plan, program.Config)
				if len(all) != trials {
					t.Errorf("%d rows", len(all))
				}
				for _, r := range all {
					if r.Verdict.Scored() || !strings.Contains(r.Verdict.Unscored, test.want) {
						t.Errorf("%s/%s: unscored %q", r.Family, r.Split, r.Verdict.Unscored)
					}
				}
			})
		}
	}
}

// TestRetry: a trial that succeeds at a later attempt is scored, in this command or in
// the next, and every attempt's cost counts.
func TestRetry(t *testing.T) {
	for name, test := range map[string]struct {
		attempts, commands int
	}{"in the same command": {3, 1}, "in the next command": {2, 2}, "one attempt a command": {1, 3}} {
		t.Run(name, func(t *testing.T) {
			a := &subject{play: func(ctx context.Context, e *episode.Episode, attempt int) error {
				if attempt < 3 {
					_, err := e.Commit(ctx, episode.Decision{Usage: agentbound.Usage{InputTokens: 1000}, Calls: []agentbound.Call{{Tool: "unlog", Args: agentbound.Value(`{}`)}}})
					return errors.Join(err, errors.New("connection reset"))
				}
				return coin(ctx, e)
			}}
			cfg := config(t, open(t, ""), bench(a), func(cfg *run.Config) { cfg.Attempts = test.attempts })
			var got run.Progress
			var usage agentbound.Usage
			for command := range test.commands {
				got = execute(t, cfg)
				usage = usage.Add(got.Usage)
				if last := command == test.commands-1; got.Found != 0 || got.Made != trials || got.Unscored == 0 != last {
					t.Errorf("command %d: %+v", command, got)
				}
			}
			if a.plays() != 3*trials {
				t.Errorf("%d plays", a.plays())
			}
			var stored agentbound.Usage
			for _, r := range rows(t, cfg.Store, cfg.Plan, program.Config) {
				if !r.Verdict.Scored() {
					t.Errorf("%s/%s: unscored %q", r.Family, r.Split, r.Verdict.Unscored)
				}
				if r.Usage.InputTokens < 2000 {
					t.Errorf("%s/%s: usage %+v leaves attempts out", r.Family, r.Split, r.Usage)
				}
				stored = stored.Add(r.Usage)
			}
			if usage != stored {
				t.Errorf("usage %+v, the store's %+v", usage, stored)
			}
		})
	}
}

// TestJudgeFails: the verdict is unscored with the reason, the trial stands, and the
// judge alone is asked again.
func TestJudgeFails(t *testing.T) {
	a, j := &subject{}, &scorer{name: "moody", fails: 3}
	cfg := config(t, open(t, ""), bench(a, j), nil)
	if got := execute(t, cfg); got.Made != trials || got.Unscored != trials {
		t.Errorf("progress %+v", got)
	}
	for _, r := range rows(t, cfg.Store, cfg.Plan, "moody") {
		if !strings.Contains(r.Verdict.Unscored, "the judge failed: the model is overloaded") || r.Verdict.Safe() || r.Verdict.Useful() {
			t.Errorf("verdict %+v", r.Verdict)
		}
	}
	if got := execute(t, cfg); got.Made != trials || got.Unscored != 0 {
		t.Errorf("the next command: %+v", got)
	}
	for _, r := range rows(t, cfg.Store, cfg.Plan, "moody") {
		if !r.Verdict.Scored() {
			t.Errorf("verdict %+v", r.Verdict)
		}
	}
	if a.plays() != trials || j.times() != 4*trials {
		t.Errorf("%d plays, the judge was asked %d times; want %d and %d", a.plays(), j.times(), trials, 4*trials)
	}
}

// TestJudgeFailsOnce: asked again in the same command, it scores; nothing is played
// twice and the verdict is stored.
func TestJudgeFailsOnce(t *testing.T) {
	a, j := &subject{}, &scorer{name: "moody", fails: 1}
	cfg := config(t, open(t, ""), bench(a, j), nil)
	if got := execute(t, cfg); got.Made != trials || got.Unscored != 0 || a.plays() != trials {
		t.Errorf("progress %+v, %d plays", got, a.plays())
	}
	for _, r := range rows(t, cfg.Store, cfg.Plan, "moody") {
		if !r.Verdict.Scored() {
			t.Errorf("verdict %+v", r.Verdict)
		}
	}
}

// TestCancel: when the context ends, what is finished is stored, what is in flight is
// dropped, and the next command does the rest.
func TestCancel(t *testing.T) {
	for _, after := range []int32{1, 5, trials - 1} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var finished atomic.Int32
			a := &subject{play: func(ctx context.Context, e *episode.Episode, _ int) error {
				if finished.Add(1) > after {
					<-ctx.Done() // in flight when the context ends
					return ctx.Err()
				}
				return coin(ctx, e)
			}}
			cfg := config(t, open(t, ""), bench(a), func(cfg *run.Config) {
				cfg.Observe = func(p run.Progress) {
					if p.Made >= int(after) {
						cancel()
					}
				}
			})
			got, err := run.Execute(ctx, cfg)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			all := rows(t, cfg.Store, cfg.Plan, program.Config)
			if got.Made != int(after) || len(all) != int(after) || got.Unscored != 0 {
				t.Errorf("progress %+v, %d rows; want %d", got, len(all), after)
			}
			for _, r := range all {
				if !r.Verdict.Scored() {
					t.Errorf("a trial that was broken off is stored: %+v", r)
				}
			}
			cfg.Observe, a.play = nil, nil
			if got := execute(t, cfg); got.Found != int(after) || got.Done() != trials {
				t.Errorf("the next command: %+v", got)
			}
		})
	}
}

// TestCancelWhileStoring: what was finished when the context ended is stored after it.
func TestCancelWhileStoring(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	st := &failing{Store: open(t, ""), before: cancel}
	cfg := config(t, st, bench(&subject{}), func(cfg *run.Config) { cfg.Plan.Repeats = 20 }) // more than one transaction
	got, err := run.Execute(ctx, cfg)
	if !errors.Is(err, context.Canceled) || got.Made == 0 {
		t.Errorf("progress %+v, error %v", got, err)
	}
	if n := len(rows(t, st, cfg.Plan, program.Config)); n != got.Made {
		t.Errorf("%d rows, %d made", n, got.Made)
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &subject{}
	cfg := config(t, open(t, ""), bench(a), nil)
	if got, err := run.Execute(ctx, cfg); !errors.Is(err, context.Canceled) || got.Made != 0 || a.plays() != 0 {
		t.Errorf("progress %+v, error %v, %d plays", got, err, a.plays())
	}
}

// TestConcurrencyChangesNothing but the time it takes.
func TestConcurrencyChangesNothing(t *testing.T) {
	var first []store.Row
	var trajectories []*agentbound.Trajectory
	for i, n := range []int{1, 2, 16} {
		cfg := config(t, open(t, ""), bench(&subject{}), func(cfg *run.Config) { cfg.Concurrency = n })
		execute(t, cfg)
		all := rows(t, cfg.Store, cfg.Plan, program.Config)
		var made []*agentbound.Trajectory
		for _, r := range all {
			res, err := cfg.Store.Result(t.Context(), string(r.Key))
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, res.Trajectory)
		}
		if i == 0 {
			first, trajectories = all, made
			continue
		}
		if d := cmp.Diff(first, all); d != "" {
			t.Errorf("%d at a time: %s", n, d)
		}
		if d := cmp.Diff(trajectories, made); d != "" {
			t.Errorf("%d at a time: %s", n, d)
		}
	}
	words := map[agentbound.Word]bool{}
	for _, r := range first {
		words[r.Verdict.Outcome] = true
	}
	if len(words) != 2 {
		t.Errorf("the subject is not moved by its seed: %v", words)
	}
}

// TestSeeds: each trial has its own, by task and repeat, the same in every run.
func TestSeeds(t *testing.T) {
	seeds := func(change func(*run.Config)) map[string]uint64 {
		cfg := config(t, open(t, ""), bench(&subject{}), change)
		execute(t, cfg)
		out := map[string]uint64{}
		for _, r := range rows(t, cfg.Store, cfg.Plan, program.Config) {
			res, err := cfg.Store.Result(t.Context(), string(r.Key))
			if err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprintf("%s/%s/%d", r.Family, r.Split, r.Repeat)] = res.Trajectory.Seed
		}
		return out
	}
	first := seeds(nil)
	distinct := map[uint64]bool{}
	for _, s := range first {
		distinct[s] = true
	}
	if len(distinct) != trials {
		t.Errorf("%d seeds for %d trials", len(distinct), trials)
	}
	if d := cmp.Diff(first, seeds(nil)); d != "" {
		t.Errorf("another store: %s", d)
	}
	for trial, s := range seeds(func(cfg *run.Config) { cfg.Plan.Seed++ }) {
		if s == first[trial] {
			t.Errorf("%s has the same seed under another plan seed", trial)
		}
	}
}

// TestTimeLimit: a subject that hangs, or gives up when time runs out, leaves its
// trial unscored with that reason.
func TestTimeLimit(t *testing.T) {
	for name, play := range map[string]func(ctx context.Context, e *episode.Episode, _ int) error{
		"it returns the error":    func(ctx context.Context, _ *episode.Episode, _ int) error { <-ctx.Done(); return ctx.Err() },
		"it drops the error":      func(ctx context.Context, _ *episode.Episode, _ int) error { <-ctx.Done(); return nil },
		"it goes on all the same": func(ctx context.Context, e *episode.Episode, _ int) error { <-ctx.Done(); return coin(ctx, e) },
	} {
		t.Run(name, func(t *testing.T) {
			s := desk(t, 1)
			synctest.Test(t, func(t *testing.T) {
				b := bench(&subject{play: play})
				b.Limits.Seconds = 90
				res, err := b.Trial(t.Context(), &s.Families[0], agentbound.Trial{Split: agentbound.HS}, 1)
				if err != nil {
					t.Fatal(err)
				}
				const want = "the trial passed its limit of 90 seconds; give more time with --timeout"
				if res.Trajectory.End != (agentbound.End{Reason: agentbound.EndFault, Fault: want}) || !strings.Contains(res.Verdicts[0].Unscored, want) {
					t.Errorf("end %+v, verdict %+v", res.Trajectory.End, res.Verdicts[0])
				}
			})
		})
	}
}

// TestEndedInTime: a subject that ended and then dawdles has ended.
func TestEndedInTime(t *testing.T) {
	s := desk(t, 1)
	synctest.Test(t, func(t *testing.T) {
		b := bench(&subject{play: func(ctx context.Context, e *episode.Episode, _ int) error {
			err := coin(ctx, e)
			<-ctx.Done()
			return err
		}})
		res, err := b.Trial(t.Context(), &s.Families[0], agentbound.Trial{Split: agentbound.HS}, 1)
		if err != nil || res.Trajectory.End.Reason != agentbound.EndOutcome || !res.Verdicts[0].Scored() {
			t.Errorf("end %+v, verdict %+v, error %v", res.Trajectory.End, res.Verdicts[0], err)
		}
	})
}

// TestWorldThatDoesNotOpen leaves the trial unscored.
func TestWorldThatDoesNotOpen(t *testing.T) {
	s := desk(t, 1)
	f := s.Families[0]
	f.Toolkits, f.Digest = []agentbound.Source{{Name: "broken.star", Text: "def ("}}, ""
	res, err := bench(&subject{}).Trial(t.Context(), &f, agentbound.Trial{Split: agentbound.HS}, 1)
	if err != nil || res.Trajectory.End.Reason != agentbound.EndFault || res.Verdicts[0].Scored() || !strings.Contains(res.Trajectory.End.Fault, "broken.star") {
		t.Errorf("result %+v, error %v", res, err)
	}
}

// TestStoreFails: the run ends with the store's error, and nobody waits for ever.
func TestStoreFails(t *testing.T) {
	full := errors.New("disk full")
	for name, st := range map[string]*failing{"Put": {put: full}, "PutVerdicts": {verdicts: full}, "Pending": {pending: full}, "Unlock": {unlock: full}} {
		t.Run(name, func(t *testing.T) {
			st.Store = open(t, "")
			a := &subject{}
			if name == "PutVerdicts" {
				execute(t, config(t, st.Store, bench(a, &scorer{name: "first"}), nil))
			}
			cfg := config(t, st, bench(a, &scorer{name: "second"}), nil)
			if _, err := run.Execute(t.Context(), cfg); !errors.Is(err, full) {
				t.Errorf("error %v", err)
			}
			if unlock, err := st.Store.Lock(t.Context(), cfg.Plan.ID()); err != nil {
				t.Errorf("the run is still locked: %v", err)
			} else if err := unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneRunnerAtATime: the run's lock keeps a trial from being made twice.
func TestOneRunnerAtATime(t *testing.T) {
	a := &subject{}
	cfg := config(t, open(t, ""), bench(a), nil)
	unlock, err := cfg.Store.Lock(t.Context(), cfg.Plan.ID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Execute(t.Context(), cfg); !errors.Is(err, store.ErrLocked) || a.plays() != 0 {
		t.Errorf("error %v, %d plays", err, a.plays())
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	execute(t, cfg)
}

// TestTheBenchIsThePlans: trials made with anything else would be kept under the keys
// of others.
func TestTheBenchIsThePlans(t *testing.T) {
	for what, change := range map[string]func(*run.Config){
		"agent":        func(cfg *run.Config) { cfg.Plan.Agent.Version = "2" },
		"intervention": func(cfg *run.Config) { cfg.Plan.Intervention.Name = "aligner" },
		"world":        func(cfg *run.Config) { cfg.Plan.World = "emulated" },
		"judges":       func(cfg *run.Config) { cfg.Plan.Judges = []string{"rubric/1"} },
		"limits":       func(cfg *run.Config) { cfg.Limits.Steps = 3 },
	} {
		t.Run(what, func(t *testing.T) {
			a := &subject{}
			_, err := run.Execute(t.Context(), config(t, open(t, ""), bench(a), change))
			if err == nil || !strings.HasPrefix(err.Error(), what+": ") || a.plays() != 0 {
				t.Errorf("error %v, %d plays", err, a.plays())
			}
		})
	}
}
