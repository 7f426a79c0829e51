package run_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge/program"
)

// The environment of a child: the store it runs on, and where it dies, as
// "moment n". Moments: play (while a trial is played), put (before a batch is
// stored), stored (after so many trials were stored).
const (
	envStore = "AGENTBOUND_TEST_STORE"
	envDie   = "AGENTBOUND_TEST_DIE"
)

func TestMain(m *testing.M) {
	if os.Getenv(envStore) != "" {
		os.Args = append(os.Args[:1], "-test.run=^TestChild$", "-test.count=1")
	}
	os.Exit(m.Run())
}

// long is the run of these tests: 3 families, 6 splits, 4 repeats.
func long(t testing.TB, st store.Store, a *subject) run.Config {
	return config(t, st, bench(a), func(cfg *run.Config) { cfg.Plan.Splits, cfg.Plan.Repeats = agentbound.Splits(), 4 })
}

const longTrials = 3 * 6 * 4

// TestChild is the run in another process, which kills itself with SIGKILL at its
// moment.
func TestChild(t *testing.T) {
	path := os.Getenv(envStore)
	if path == "" {
		t.Skip("only in a child of TestKill")
	}
	var moment string
	var n int32
	if _, err := fmt.Sscan(os.Getenv(envDie), &moment, &n); err != nil {
		t.Fatal(err)
	}
	die := func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			t.Error(err)
		}
		select {} // SIGKILL may take a moment
	}
	var count atomic.Int32
	at := func(m string) {
		if m == moment && count.Add(1) >= n {
			die()
		}
	}
	a := &subject{play: func(ctx context.Context, e *episode.Episode, _ int) error {
		at("play")
		return coin(ctx, e)
	}}
	cfg := long(t, &failing{Store: open(t, path), before: func() { at("put") }}, a)
	cfg.Observe = func(p run.Progress) {
		fmt.Println("stored", p.Done())
		if moment == "stored" && p.Made >= int(n) {
			die()
		}
	}
	execute(t, cfg)
}

// TestKill: a run whose process is killed at any moment, again and again, and then
// carried out to its end gives what an undisturbed run gives. No trial is lost that
// was said to be stored, none is made twice.
func TestKill(t *testing.T) {
	undisturbed := long(t, open(t, ""), &subject{})
	execute(t, undisturbed)
	want := everything(t, undisturbed)

	for i, moment := range []string{"play", "put", "stored"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			path := filepath.Join(t.TempDir(), "agentbound.db")
			kept := map[agentbound.TrialKey]stored{}
			for round := range 3 {
				n := 1 + rng.IntN(longTrials/4)
				if moment == "put" {
					n = 1 + round // a batch holds several
				}
				said, died := child(t, path, fmt.Sprint(moment, " ", n))
				now := look(t, path)
				if !died && (round == 0 || len(now) < longTrials) {
					t.Errorf("%s %d: it lived, and %d trials are stored", moment, n, len(now))
				}
				if len(now) < said {
					t.Errorf("%s %d: %d trials were said to be stored, %d are", moment, n, said, len(now))
				}
				for key, s := range kept {
					if d := cmp.Diff(s, now[key]); d != "" {
						t.Errorf("%s %d: a stored trial was lost or made again: %s", moment, n, d)
					}
				}
				kept = now
			}

			a := &subject{}
			cfg := long(t, open(t, path), a)
			got := execute(t, cfg)
			if got.Planned != longTrials || got.Found != len(kept) || got.Done() != longTrials || a.plays() != longTrials-len(kept) {
				t.Errorf("progress %+v, %d plays; %d were stored", got, a.plays(), len(kept))
			}
			all := everything(t, cfg)
			if d := cmp.Diff(want, all); d != "" {
				t.Errorf("other than an undisturbed run: %s", d)
			}
		})
	}
}

// child runs until it dies, or until there is nothing left to do before its moment
// came. It gives how many trials it last said to be stored.
func child(t *testing.T, path, die string) (said int, died bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), envStore+"="+path, envDie+"="+die)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if strings.Contains(out.String(), "FAIL") || strings.Contains(out.String(), "panic") {
		t.Fatalf("the child with %s failed: %v\n%s", die, err, &out)
	}
	for line := range strings.Lines(out.String()) {
		_, _ = fmt.Sscanf(line, "stored %d", &said)
	}
	return said, err != nil
}

// stored is a trial as it lies in the store.
type stored struct {
	Row        store.Row
	Trajectory *agentbound.Trajectory
}

// look reads what is stored after a kill.
func look(t *testing.T, path string) map[agentbound.TrialKey]stored {
	t.Helper()
	all := everything(t, long(t, open(t, path), &subject{}))
	out := map[agentbound.TrialKey]stored{}
	for _, s := range all {
		if _, twice := out[s.Row.Key]; twice {
			t.Errorf("trial %s is stored twice", s.Row.Key)
		}
		out[s.Row.Key] = s
	}
	return out
}

func everything(t *testing.T, cfg run.Config) (all []stored) {
	t.Helper()
	for _, r := range rows(t, cfg.Store, cfg.Plan, program.Config) {
		res, err := cfg.Store.Result(t.Context(), string(r.Key))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stored{r, res.Trajectory})
	}
	return all
}
