package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/model"
)

// played is a run that one judge has scored, to be judged again.
func played(t *testing.T, judges ...judge.Judge) run.Rejudging {
	t.Helper()
	cfg := config(t, open(t, ""), bench(&subject{}, &scorer{name: "first"}), nil)
	execute(t, cfg)
	return run.Rejudging{Suite: cfg.Suite, Plan: cfg.Plan, Store: cfg.Store, Judges: judges, Concurrency: 4}
}

func rejudge(t *testing.T, c run.Rejudging) run.Rejudged {
	t.Helper()
	got, err := run.Rejudge(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestRejudge adds what is missing, and asks for nothing that is there.
func TestRejudge(t *testing.T) {
	second := &scorer{name: "second"}
	c := played(t, second)
	c.Missing = true
	seen := 0
	c.Observe = func(run.Rejudged) { seen++ }
	if d := cmp.Diff(run.Rejudged{Trials: trials, Planned: trials, Added: trials}, rejudge(t, c)); d != "" || seen != trials {
		t.Errorf("observed %d times: %s", seen, d)
	}
	if d := cmp.Diff(run.Rejudged{Trials: trials, Planned: trials, Found: trials}, rejudge(t, c)); d != "" || second.times() != trials {
		t.Errorf("asked %d times: %s", second.times(), d)
	}
	c.Missing = false
	if d := cmp.Diff(run.Rejudged{Trials: trials, Planned: trials, Equal: trials}, rejudge(t, c)); d != "" {
		t.Error(d)
	}
	c.Wanted = func(t agentbound.Trial) bool { return t.Split == agentbound.CM }
	if got := rejudge(t, c); got.Trials != trials/4 || got.Equal != trials/4 {
		t.Errorf("%+v", got)
	}
}

// other is a judge under another's name that says something else.
type other struct{ scorer }

func (j *other) Judge(ctx context.Context, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (agentbound.Verdict, error) {
	v, err := j.scorer.Judge(ctx, f, t, tr)
	v.Safety = 0
	return v, err
}

// TestRejudgeDiffers: what is stored stays, and the difference is told.
func TestRejudgeDiffers(t *testing.T) {
	c := played(t, &other{scorer{name: "first"}})
	var told []string
	c.Different = func(t agentbound.Trial, judge string) { told = append(told, judge) }
	if got := rejudge(t, c); got.Different != trials || len(told) != trials || told[0] != "first" {
		t.Errorf("%+v, told %q", got, told)
	}
	for _, r := range rows(t, c.Store, c.Plan, "first") {
		if r.Verdict.Safety != 3 {
			t.Errorf("%+v", r.Verdict)
		}
	}
}

// TestRejudgeFails: a judge that fails leaves verdicts unscored, with the reason; they are
// asked for again, and the other judge's stand.
func TestRejudgeFails(t *testing.T) {
	down := &scorer{name: "down", fails: 1}
	c := played(t, &scorer{name: "up"}, down)
	c.Missing = true
	got := rejudge(t, c)
	if got.Added != trials || got.Unscored != trials || !slices.Equal(got.Faults, []string{"the judge failed: the model is overloaded"}) {
		t.Errorf("%+v", got)
	}
	for _, r := range rows(t, c.Store, c.Plan, "down") {
		if r.Verdict.Scored() {
			t.Errorf("%+v", r.Verdict)
		}
	}
	if got := rejudge(t, c); got.Found != trials || got.Added != trials || got.Unscored != 0 {
		t.Errorf("again: %+v", got)
	}
}

// slow is a judge whose answers are awaited until it is told otherwise.
type slow struct {
	scorer
	ready atomic.Bool
}

func (j *slow) Judge(ctx context.Context, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (agentbound.Verdict, error) {
	if !j.ready.Load() && strings.HasSuffix(string(t.ID), "/cm") {
		return agentbound.Verdict{}, fmt.Errorf("by file: %w", model.ErrAwaited)
	}
	return j.scorer.Judge(ctx, f, t, tr)
}

// TestRejudgeAwaits: nothing is kept of a trial whose answers are still to come.
func TestRejudgeAwaits(t *testing.T) {
	j := &slow{scorer: scorer{name: "slow"}}
	c := played(t, j)
	c.Missing = true
	if got := rejudge(t, c); got.Awaited != trials/4 || got.Added != trials-trials/4 || got.Unscored != 0 {
		t.Errorf("%+v", got)
	}
	if n := len(rows(t, c.Store, c.Plan, "slow")); n != trials-trials/4 {
		t.Errorf("%d verdicts are kept", n)
	}
	j.ready.Store(true)
	if got := rejudge(t, c); got.Awaited != 0 || got.Added != trials/4 || got.Found != trials-trials/4 {
		t.Errorf("%+v", got)
	}
}

// TestRejudgeIsStopped: what was judged before is kept.
func TestRejudgeIsStopped(t *testing.T) {
	c := played(t, &scorer{name: "second"})
	c.Missing, c.Concurrency = true, 1
	ctx, cancel := context.WithCancel(t.Context())
	c.Observe = func(d run.Rejudged) {
		if d.Trials == 5 {
			cancel()
		}
	}
	got, err := run.Rejudge(ctx, c)
	if !errors.Is(err, context.Canceled) || got.Added != 5 {
		t.Errorf("%+v, %v", got, err)
	}
	c.Observe = nil
	if got := rejudge(t, c); got.Found != 5 || got.Added != trials-5 {
		t.Errorf("%+v", got)
	}
}

// TestRejudgeTwiceAtOnce: what is paid for is asked by one call at a time; another judge
// of the same run, and one that is free, do not wait.
func TestRejudgeTwiceAtOnce(t *testing.T) {
	c := played(t, &scorer{name: "second"})
	c.Missing = true
	seen := 0
	c.Observe = func(run.Rejudged) {
		if seen++; seen > 1 {
			return
		}
		beside := c
		beside.Observe = nil
		if _, err := run.Rejudge(t.Context(), beside); !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), "is being judged by second") {
			t.Errorf("error %v", err)
		}
		beside.Judges = []judge.Judge{&scorer{name: "third"}}
		if _, err := run.Rejudge(t.Context(), beside); err != nil {
			t.Error(err)
		}
		beside.Judges, beside.Missing = []judge.Judge{&scorer{name: "first"}}, false
		if _, err := run.Rejudge(t.Context(), beside); err != nil {
			t.Error(err)
		}
	}
	if got := rejudge(t, c); got.Added != trials {
		t.Errorf("%+v", got)
	}
	c.Observe = nil
	if got := rejudge(t, c); got.Found != trials {
		t.Errorf("%+v", got)
	}
}

// stopping is a judge during which the command is stopped.
type stopping struct {
	*scorer
	stop func()
}

func (j stopping) Judge(ctx context.Context, _ *agentbound.Family, _ *agentbound.Task, _ *agentbound.Trajectory) (agentbound.Verdict, error) {
	j.stop()
	return agentbound.Verdict{}, ctx.Err()
}

// TestRejudgeKeepsThePaid: of a trial at whose second judge the command was stopped the
// first one's verdict is stored.
func TestRejudgeKeepsThePaid(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := played(t, &scorer{name: "second"}, stopping{&scorer{name: "third"}, cancel})
	c.Missing, c.Concurrency = true, 1
	if _, err := run.Rejudge(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	c.Judges = c.Judges[:1]
	if got := rejudge(t, c); got.Found != 1 || got.Added != trials-1 {
		t.Errorf("%+v", got)
	}
}

// TestRejudgeUnmade: trials that are not there yet are left alone.
func TestRejudgeUnmade(t *testing.T) {
	c := played(t, &scorer{name: "second"})
	c.Plan.Counter = 7
	if d := cmp.Diff(run.Rejudged{Planned: trials}, rejudge(t, c)); d != "" {
		t.Error(d)
	}
}
