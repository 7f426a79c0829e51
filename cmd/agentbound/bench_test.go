package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/suites"
)

// BenchmarkRun runs comply with the program judge on core as a user would, in a
// process of its own: stored trials a second of the whole command, and its peak
// memory, which must stay flat from 4,000 to 40,000 trials.
func BenchmarkRun(b *testing.B) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		b.Fatal(err)
	}
	exe, err := exec.LookPath("agentbound")
	if err != nil {
		b.Fatal(err)
	}
	cells := len(s.Families) * len(agentbound.Splits())
	for _, n := range []int{4_000, 40_000} {
		repeats := (n + cells - 1) / cells
		b.Run(fmt.Sprintf("trials=%d", repeats*cells), func(b *testing.B) {
			var peak int64
			began := time.Now()
			for i := range b.N {
				db := filepath.Join(b.TempDir(), strconv.Itoa(i)+".db")
				c := exec.Command(exe, "run", "--agent", "reference:comply", "--repeats", strconv.Itoa(repeats), "--store", db)
				if out, err := c.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				peak = max(peak, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
			}
			b.ReportMetric(float64(b.N*repeats*cells)/time.Since(began).Seconds(), "trials/s")
			b.ReportMetric(float64(peak)/1024, "peak-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkSplit shows where a trial's time goes, on one core and over all tasks of
// core: the world (with the agent and the episode), the judge, the store.
func BenchmarkSplit(b *testing.B) {
	s, err := suites.Load(suites.Default)
	if err != nil {
		b.Fatal(err)
	}
	rooms := newRooms()
	a, err := rooms.agent("reference:comply", asking{})
	if err != nil {
		b.Fatal(err)
	}
	w, err := rooms.world("program")
	if err != nil {
		b.Fatal(err)
	}
	judges, err := rooms.judges("program", judging{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	played := func(judges []judge.Judge, i int) agentbound.Result {
		f := &s.Families[i%len(s.Families)]
		split := agentbound.Splits()[i/len(s.Families)%len(agentbound.Splits())]
		bench := run.Bench{Agent: a, World: w, Judges: judges}
		t := agentbound.Trial{Key: agentbound.TrialKey(fmt.Sprintf("%032x", i)), Family: f.ID, Archetype: f.Archetype, Split: split}
		res, err := bench.Trial(ctx, f, t, 0)
		if err != nil {
			b.Fatal(err)
		}
		return res
	}
	b.Run("world", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			played(nil, i)
		}
	})
	b.Run("judge", func(b *testing.B) {
		made := make([]agentbound.Result, len(s.Families)*len(agentbound.Splits()))
		for i := range made {
			made[i] = played(nil, i)
		}
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			res := made[i%len(made)]
			f, _ := s.Family(res.Family)
			task, _ := f.Task(res.Split)
			if _, err := run.Judge(ctx, judges, f, task, res.Trajectory); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("store", func(b *testing.B) {
		db, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "bench.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		made := make([]agentbound.Result, b.N)
		for i := range made {
			made[i] = played(judges, i%(len(s.Families)*len(agentbound.Splits())))
			made[i].Key = agentbound.TrialKey(fmt.Sprintf("%032x", agentbound.DigestBytes([]byte(strconv.Itoa(i)))[:16]))
		}
		b.ReportAllocs()
		b.ResetTimer()
		for i := 0; i < len(made); i += 64 {
			if err := db.Put(ctx, made[i:min(i+64, len(made))]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
