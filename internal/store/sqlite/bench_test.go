//go:build unix

package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/storetest"
)

const benchJudge = "program/1"

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(context.Background(), filepath.Join(b.TempDir(), "agentbound.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// benchResults are n results of about 8 KB of JSON each, planned by a run as they
// always are. They share few trajectories, to keep the heap as small as a run's.
func benchResults(b *testing.B, s *Store, n int) []agentbound.Result {
	b.Helper()
	var shared [64]agentbound.Result
	for i := range shared {
		shared[i] = storetest.Result(i, 8, benchJudge)
	}
	results := make([]agentbound.Result, n)
	for i := range results {
		results[i] = shared[i%len(shared)]
		results[i].Trial = storetest.Trial(i)
	}
	if _, err := s.CreateRun(context.Background(), store.Run{Plan: storetest.Plan("bench")}, storetest.Trials(results)); err != nil {
		b.Fatal(err)
	}
	return results
}

// BenchmarkPut stores batches of 64; the metrics are per trial.
func BenchmarkPut(b *testing.B) {
	for _, writers := range []int{1, 2} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := benchStore(b)
			results := benchResults(b, s, b.N)
			text, _ := agentbound.EncodeJSON(results[0].Trajectory)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			b.ResetTimer()
			start := cpuTime()
			chunks := make(chan []agentbound.Result)
			done := make(chan error, writers)
			for range writers {
				go func() {
					for c := range chunks {
						if err := s.Put(context.Background(), c); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
			}
			for c := range slices.Chunk(results, 64) {
				chunks <- c
			}
			close(chunks)
			for range writers {
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
			reportCPU(b, start, b.N)
		})
	}
}

// BenchmarkEncode is the part of Put that needs no lock.
func BenchmarkEncode(b *testing.B) {
	s := benchStore(b)
	r := storetest.Result(0, 8, benchJudge)
	b.Run("json", func(b *testing.B) {
		start := cpuTime()
		defer func() { reportCPU(b, start, b.N) }()
		for range b.N {
			if _, err := agentbound.EncodeJSON(r.Trajectory); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		start := cpuTime()
		defer func() { reportCPU(b, start, b.N) }()
		var e encoded
		for range b.N {
			var err error
			if e, err = s.encode(&r); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(e.document)), "stored-bytes")
	})
}

func BenchmarkRows(b *testing.B) {
	ctx := context.Background()
	s := benchStore(b)
	results := benchResults(b, s, 20000)
	run := storetest.Plan("bench")
	for c := range slices.Chunk(results, 64) {
		if err := s.Put(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("rows", func(b *testing.B) {
		start := cpuTime()
		for range b.N {
			n := 0
			for _, err := range s.Rows(ctx, run.ID(), benchJudge) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != len(results) {
				b.Fatal(n)
			}
		}
		reportCPU(b, start, b.N*len(results))
	})
	b.Run("pending", func(b *testing.B) {
		for range b.N {
			for w, err := range s.Pending(ctx, run.ID(), []string{benchJudge}) {
				b.Fatal(w, err)
			}
		}
	})
	b.Run("progress", func(b *testing.B) {
		for range b.N {
			if _, err := s.Progress(ctx, run.ID(), benchJudge); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("result", func(b *testing.B) {
		start := cpuTime()
		defer func() { reportCPU(b, start, b.N) }()
		for i := range b.N {
			if _, err := s.Result(ctx, string(results[i%len(results)].Key)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("judge", func(b *testing.B) {
		start := cpuTime()
		for i := range b.N {
			judged := make([]store.Judged, 64)
			for k := range judged {
				r := results[(i*64+k)%len(results)]
				v := r.Verdicts[0]
				v.Judge = fmt.Sprintf("rubric/%d", i*64/len(results))
				judged[k] = store.Judged{Key: r.Key, Verdicts: []agentbound.Verdict{v}}
			}
			if err := s.PutVerdicts(ctx, judged); err != nil {
				b.Fatal(err)
			}
		}
		reportCPU(b, start, b.N*64)
	})
}

func BenchmarkCreateRun(b *testing.B) {
	s := benchStore(b)
	const trials = 40000
	start := cpuTime()
	defer func() { reportCPU(b, start, b.N*trials) }()
	for i := range b.N {
		plan := storetest.Plan(fmt.Sprint(i))
		if created, err := s.CreateRun(context.Background(), store.Run{Plan: plan}, func(yield func(agentbound.Trial) bool) {
			for k := range trials {
				if !yield(storetest.Trial(i*trials + k)) {
					return
				}
			}
		}); err != nil || !created {
			b.Fatal(created, err)
		}
	}
}

// cpuTime is what the process has used: on a shared machine it says more than the
// clock on the wall.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU reports the CPU time since start for each of n trials.
func reportCPU(b *testing.B, start time.Duration, n int) {
	b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/1e3/float64(n), "cpu-µs/trial")
}
