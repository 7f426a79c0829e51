package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

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
// always are.
func benchResults(b *testing.B, s *Store, n int) []agentbound.Result {
	b.Helper()
	results := make([]agentbound.Result, n)
	for i := range results {
		results[i] = storetest.Result(i, 8, benchJudge)
	}
	if b.N > 0 {
		if _, err := s.CreateRun(context.Background(), store.Run{Plan: storetest.Plan("bench")}, storetest.Trials(results)); err != nil {
			b.Fatal(err)
		}
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
		})
	}
}

// BenchmarkEncode is the part of Put that needs no lock.
func BenchmarkEncode(b *testing.B) {
	s := benchStore(b)
	r := storetest.Result(0, 8, benchJudge)
	b.Run("json", func(b *testing.B) {
		for range b.N {
			if _, err := agentbound.EncodeJSON(r.Trajectory); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
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
	results := make([]agentbound.Result, 20000)
	for i := range results {
		results[i] = storetest.Result(i, 8, benchJudge)
	}
	run := storetest.Plan("rows")
	if _, err := s.CreateRun(ctx, store.Run{Plan: run}, storetest.Trials(results)); err != nil {
		b.Fatal(err)
	}
	for c := range slices.Chunk(results, 64) {
		if err := s.Put(ctx, c); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("rows", func(b *testing.B) {
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
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(results)), "µs/trial")
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
		for i := range b.N {
			if _, err := s.Result(ctx, string(results[i%len(results)].Key)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("judge", func(b *testing.B) {
		i := 0
		for b.Loop() {
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
			i++
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*64), "µs/trial")
	})
}

func BenchmarkCreateRun(b *testing.B) {
	s := benchStore(b)
	const trials = 40000
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

var _ = json.Valid
