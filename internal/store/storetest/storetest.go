// Package storetest is the contract of store.Store: every adapter passes Run.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
)

const (
	program = "program/1"
	rubric  = "rubric/1 {model: x}"
)

// Run checks an adapter. Each call of open gives a new, empty store, which open
// also closes (t.Cleanup).
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"suite", testSuite},
		{"run is created once", testCreateRun},
		{"run is created whole or not at all", testCreateRunWhole},
		{"runs and prefixes", testRuns},
		{"result comes back byte for byte", testRoundTrip},
		{"unscored trial makes room, scored one stays", testReplace},
		{"batch is stored whole or not at all", testPutWhole},
		{"verdicts are added", testPutVerdicts},
		{"what is left to do", testPending},
		{"trial of two runs is stored once", testShared},
		{"rows in position order", testRows},
		{"iteration leaves the store free", testIteration},
		{"trial prefixes", testResultPrefix},
		{"lock", testLock},
		{"cancelled context", testCancelled},
		{"readers beside writers", testConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func testSuite(t *testing.T, s store.Store) {
	ctx := t.Context()
	want := store.Suite{Digest: agentbound.DigestBytes([]byte("a")), Name: "core", Families: 300, Blob: []byte(strings.Repeat("family: \x00\xff\n", 1000))}
	check(t, s.PutSuite(ctx, want))
	other := want
	other.Name = "again"
	check(t, s.PutSuite(ctx, other)) // stays as it is
	got, err := s.Suite(ctx, want.Digest)
	check(t, err)
	equal(t, want, got)

	_, err = s.Suite(ctx, agentbound.DigestBytes([]byte("b")))
	is(t, err, store.ErrNotFound)
	is(t, s.PutSuite(ctx, store.Suite{Digest: "short"}), store.ErrInvalid)
}

func testCreateRun(t *testing.T, s store.Store) {
	ctx := t.Context()
	plan, when := Plan("a"), time.Date(2026, 11, 30, 1, 2, 3, 456000, time.UTC)
	created, err := s.CreateRun(ctx, store.Run{Plan: plan, Created: when}, trials(0, 5))
	check(t, err)
	equal(t, true, created)
	got, err := s.Run(ctx, string(plan.ID()))
	check(t, err)
	equal(t, store.Run{ID: plan.ID(), Plan: plan, Created: when}, got)
	equal(t, plan.ID(), got.Plan.ID())

	created, err = s.CreateRun(ctx, store.Run{ID: plan.ID(), Plan: plan}, func(func(agentbound.Trial) bool) {
		t.Error("the membership of a stored run is read again")
	})
	check(t, err)
	equal(t, false, created)
	p, err := s.Progress(ctx, plan.ID(), program)
	check(t, err)
	equal(t, store.Progress{Planned: 5}, p)

	created, err = s.CreateRun(ctx, store.Run{Plan: Plan("empty")}, trials(0, 0))
	check(t, err)
	equal(t, true, created)
	p, err = s.Progress(ctx, Plan("empty").ID(), program)
	check(t, err)
	equal(t, true, p.Complete())
}

func testCreateRunWhole(t *testing.T, s store.Store) {
	ctx := t.Context()
	for name, seq := range map[string]iter.Seq[agentbound.Trial]{
		"a malformed key": list(Trial(0), agentbound.Trial{Key: "xyz", Family: "f", Split: agentbound.HB}),
		"a trial twice":   list(Trial(0), Trial(1), Trial(0)),
	} {
		created, err := s.CreateRun(ctx, store.Run{Plan: Plan(name)}, seq)
		is(t, err, store.ErrInvalid)
		equal(t, false, created)
		_, err = s.Run(ctx, string(Plan(name).ID()))
		is(t, err, store.ErrNotFound)
	}
	_, err := s.CreateRun(ctx, store.Run{ID: "UPPER", Plan: Plan("a")}, trials(0, 1))
	is(t, err, store.ErrInvalid)

	cancelled, cancel := context.WithCancel(ctx)
	_, err = s.CreateRun(cancelled, store.Run{Plan: Plan("b")}, func(yield func(agentbound.Trial) bool) {
		for n := 0; ; n++ {
			if n == 100 {
				cancel()
			}
			if !yield(Trial(n)) {
				return
			}
		}
	})
	is(t, err, context.Canceled)
	created, err := s.CreateRun(ctx, store.Run{Plan: Plan("b")}, trials(0, 3))
	check(t, err)
	equal(t, true, created)
}

func testRuns(t *testing.T, s store.Store) {
	ctx := t.Context()
	runs, err := s.Runs(ctx)
	check(t, err)
	equal(t, 0, len(runs))
	ids := []agentbound.RunID{"b000000000000000", "a100000000000001", "a100000000000000", "a2ffffffffffffff"}
	for _, id := range ids {
		_, err := s.CreateRun(ctx, store.Run{ID: id, Plan: Plan(string(id))}, trials(0, 1))
		check(t, err)
	}
	runs, err = s.Runs(ctx)
	check(t, err)
	var got []agentbound.RunID
	for _, r := range runs {
		got = append(got, r.ID)
		if r.Created.IsZero() {
			t.Errorf("run %s: no creation time", r.ID)
		}
	}
	equal(t, ids, got) // in the order of creation

	for ref, want := range map[string]agentbound.RunID{
		"b": "b000000000000000", "a2": "a2ffffffffffffff", "a100000000000001": "a100000000000001", "a100000000000000": "a100000000000000",
	} {
		r, err := s.Run(ctx, ref)
		check(t, err)
		equal(t, want, r.ID)
	}
	_, err = s.Run(ctx, "a1")
	is(t, err, store.ErrAmbiguous)
	var ambiguous *store.AmbiguousError
	if errors.As(err, &ambiguous) {
		equal(t, store.AmbiguousError{What: "run", Ref: "a1", Candidates: []string{"a100000000000000", "a100000000000001"}}, *ambiguous)
	}
	for _, ref := range []string{"", "c", "a1000000000000000", "%", "A1", "b_"} {
		_, err = s.Run(ctx, ref)
		is(t, err, store.ErrNotFound)
	}
	for _, err := range s.Pending(ctx, "cccccccccccccccc", nil) {
		is(t, err, store.ErrNotFound)
	}
	for _, err := range s.Rows(ctx, "cccccccccccccccc", program) {
		is(t, err, store.ErrNotFound)
	}
	_, err = s.Progress(ctx, "cccccccccccccccc", program)
	is(t, err, store.ErrNotFound)
	_, err = s.Judges(ctx, "cccccccccccccccc")
	is(t, err, store.ErrNotFound)
}

func testRoundTrip(t *testing.T, s store.Store) {
	ctx := t.Context()
	want := []agentbound.Result{Result(0, 8, program, rubric), Result(1, 0), Faulted(2, program)}
	check(t, s.Put(ctx, want)) // trials of no run
	check(t, s.Put(ctx, nil))
	for _, w := range want {
		got, err := s.Result(ctx, string(w.Key))
		check(t, err)
		equal(t, text(t, w), text(t, got))
	}
	for name, bad := range map[string]agentbound.Result{
		"key":        {Trial: agentbound.Trial{Key: "12"}, Trajectory: want[0].Trajectory},
		"trajectory": {Trial: Trial(7)},
		"judge":      {Trial: Trial(7), Trajectory: want[0].Trajectory, Verdicts: []agentbound.Verdict{{}}},
	} {
		if err := s.Put(ctx, []agentbound.Result{bad}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func testReplace(t *testing.T, s store.Store) {
	ctx := t.Context()
	first, second := Faulted(0, program, rubric), Faulted(0, program)
	second.Trajectory.End.Fault = "again"
	scored, late := Result(0, 2, program), Result(0, 3, rubric)
	check(t, create(ctx, s, "a", 0, 1))
	for _, step := range []struct{ put, want agentbound.Result }{
		{first, first}, {second, second}, {scored, scored}, {late, scored}, {first, scored},
	} {
		check(t, s.Put(ctx, []agentbound.Result{step.put}))
		got, err := s.Result(ctx, string(step.put.Key))
		check(t, err)
		equal(t, text(t, step.want), text(t, got))
	}
	// What the replaced attempts cost is not forgotten: 1 + 1 + 2 steps.
	for row, err := range s.Rows(ctx, Plan("a").ID(), program) {
		check(t, err)
		equal(t, agentbound.Usage{InputTokens: 400, OutputTokens: 40, USD: 1, CachedTokens: 160, ReusedTokens: 120}, row.Usage)
	}
	// In one batch as well.
	check(t, s.Put(ctx, []agentbound.Result{Faulted(1, program), Result(1, 1, program), Result(1, 2, program)}))
	got, err := s.Result(ctx, string(Trial(1).Key))
	check(t, err)
	equal(t, text(t, Result(1, 1, program)), text(t, got))
}

func testPutWhole(t *testing.T, s store.Store) {
	ctx := t.Context()
	is(t, s.Put(ctx, []agentbound.Result{Result(0, 1, program), {Trial: Trial(1)}}), store.ErrInvalid)
	_, err := s.Result(ctx, string(Trial(0).Key))
	is(t, err, store.ErrNotFound)

	check(t, s.Put(ctx, []agentbound.Result{Result(0, 1, program)}))
	is(t, s.PutVerdicts(ctx, []store.Judged{
		{Key: Trial(0).Key, Verdicts: []agentbound.Verdict{Verdict(rubric)}},
		{Key: Trial(9).Key, Verdicts: []agentbound.Verdict{Verdict(rubric)}},
	}), store.ErrNotFound)
	got, err := s.Result(ctx, string(Trial(0).Key))
	check(t, err)
	equal(t, 1, len(got.Verdicts))
}

func testPutVerdicts(t *testing.T, s store.Store) {
	ctx := t.Context()
	check(t, create(ctx, s, "a", 0, 2))
	check(t, s.Put(ctx, []agentbound.Result{Result(0, 1, program)}))
	key := Trial(0).Key
	put := func(v agentbound.Verdict) {
		t.Helper()
		check(t, s.PutVerdicts(ctx, []store.Judged{{Key: key, Verdicts: []agentbound.Verdict{v}}}))
	}
	unscored, stricter, late := Verdict(rubric), Verdict(rubric), Verdict(rubric)
	unscored.Unscored, stricter.Safety, late.Safety = "rate limit", 0, 3
	put(unscored)
	put(stricter) // replaces the unscored one
	put(late)     // comes too late
	put(Verdict("rubric/2"))
	got, err := s.Result(ctx, string(key))
	check(t, err)
	equal(t, []agentbound.Verdict{Verdict(program), stricter, Verdict("rubric/2")}, got.Verdicts)
	judges, err := s.Judges(ctx, Plan("a").ID())
	check(t, err)
	equal(t, []string{program, rubric, "rubric/2"}, judges)

	planned := store.Judged{Key: Trial(1).Key, Verdicts: []agentbound.Verdict{Verdict(program)}}
	is(t, s.PutVerdicts(ctx, []store.Judged{planned}), store.ErrNotFound) // not made yet
	is(t, s.PutVerdicts(ctx, []store.Judged{{Key: "x"}}), store.ErrInvalid)
	is(t, s.PutVerdicts(ctx, []store.Judged{{Key: key, Verdicts: []agentbound.Verdict{{}}}}), store.ErrInvalid)
	check(t, s.PutVerdicts(ctx, nil))
}

func testPending(t *testing.T, s store.Store) {
	ctx := t.Context()
	check(t, create(ctx, s, "a", 0, 6))
	run := Plan("a").ID()
	check(t, s.PutVerdicts(ctx, nil))
	failedJudge := Result(4, 1, program)
	failedJudge.Verdicts = append(failedJudge.Verdicts, agentbound.Verdict{Judge: rubric, Unscored: "rate limit"})
	check(t, s.Put(ctx, []agentbound.Result{
		Result(0, 1, program, rubric), // finished
		Result(1, 1, program),         // a verdict is missing
		Result(2, 1),                  // both are
		Faulted(3, program, rubric),   // to be made again
		failedJudge,                   // a verdict is unscored
	}))
	both := []string{rubric, program} // the order asked for is kept
	all := func(judges []string) (out []store.Work) {
		for w, err := range s.Pending(ctx, run, judges) {
			check(t, err)
			out = append(out, w)
		}
		return out
	}
	equal(t, []store.Work{
		{Trial: Trial(1), Position: 1, Judges: []string{rubric}},
		{Trial: Trial(2), Position: 2, Judges: both},
		{Trial: Trial(3), Position: 3, Run: true, Judges: both},
		{Trial: Trial(4), Position: 4, Judges: []string{rubric}},
		{Trial: Trial(5), Position: 5, Run: true, Judges: both},
	}, all([]string{rubric, program, rubric}))
	equal(t, []store.Work{
		{Trial: Trial(2), Position: 2, Judges: []string{program}},
		{Trial: Trial(3), Position: 3, Run: true, Judges: []string{program}},
		{Trial: Trial(5), Position: 5, Run: true, Judges: []string{program}},
	}, all([]string{program}))
	equal(t, 2, len(all(nil))) // those to be made
	for judge, want := range map[string]store.Progress{
		program:   {Planned: 6, Stored: 5, Scored: 3, Unscored: 1},
		rubric:    {Planned: 6, Stored: 5, Scored: 1, Unscored: 2},
		"unknown": {Planned: 6, Stored: 5, Unscored: 1},
	} {
		p, err := s.Progress(ctx, run, judge)
		check(t, err)
		equal(t, want, p)
	}

	check(t, s.Put(ctx, []agentbound.Result{Result(3, 1, program, rubric), Result(5, 1, program, rubric)}))
	check(t, s.PutVerdicts(ctx, []store.Judged{
		{Key: Trial(1).Key, Verdicts: []agentbound.Verdict{Verdict(rubric)}},
		{Key: Trial(2).Key, Verdicts: []agentbound.Verdict{Verdict(rubric), Verdict(program)}},
		{Key: Trial(4).Key, Verdicts: []agentbound.Verdict{Verdict(rubric)}},
	}))
	equal(t, 0, len(all(both)))
	p, err := s.Progress(ctx, run, rubric)
	check(t, err)
	equal(t, true, p.Complete())
}

func testShared(t *testing.T, s store.Store) {
	ctx := t.Context()
	check(t, create(ctx, s, "a", 0, 4))
	check(t, s.Put(ctx, []agentbound.Result{Result(2, 1, program), Result(3, 1, program)}))
	check(t, create(ctx, s, "b", 2, 6)) // the last two of a, and two more
	var left, rows []int
	for w, err := range s.Pending(ctx, Plan("b").ID(), []string{program}) {
		check(t, err)
		left = append(left, w.Position)
	}
	for r, err := range s.Rows(ctx, Plan("b").ID(), program) {
		check(t, err)
		rows = append(rows, r.Position)
	}
	equal(t, []int{2, 3}, left)
	equal(t, []int{0, 1}, rows)
}

func testRows(t *testing.T, s store.Store) {
	ctx := t.Context()
	const n = 1500 // more than a page of any adapter
	check(t, create(ctx, s, "a", 0, n))
	var results []agentbound.Result
	for i := n - 1; i >= 0; i-- { // stored in another order
		results = append(results, Result(i, 0, program))
	}
	results[n-1-7] = Faulted(7, program)
	results[n-1-8] = Result(8, 0, rubric)
	for c := range slices.Chunk(results, 200) {
		check(t, s.Put(ctx, c))
	}
	next := 0
	for r, err := range s.Rows(ctx, Plan("a").ID(), program) {
		check(t, err)
		if next == 8 { // has no verdict of this judge
			next++
		}
		equal(t, store.Row{Trial: Trial(next), Position: next, Verdict: results[n-1-next].Verdicts[0], Usage: r.Usage}, r)
		next++
	}
	equal(t, n, next)
	for r, err := range s.Rows(ctx, Plan("a").ID(), "unknown") {
		t.Error(r, err)
	}
}

func testIteration(t *testing.T, s store.Store) {
	ctx := t.Context()
	const n = 1500
	check(t, create(ctx, s, "a", 0, n))
	run := Plan("a").ID()
	for range 50 { // breaking off leaves nothing behind
		for _, err := range s.Pending(ctx, run, nil) {
			check(t, err)
			break
		}
	}
	seen := 0
	for w, err := range s.Pending(ctx, run, []string{program}) {
		check(t, err)
		equal(t, seen, w.Position)
		if seen%100 == 0 { // also what is still to come
			check(t, s.Put(ctx, []agentbound.Result{Result(w.Position, 0, program)}))
		}
		seen++
	}
	equal(t, n, seen)
	p, err := s.Progress(ctx, run, program)
	check(t, err)
	equal(t, n/100, p.Scored)
	rows := 0
	for r, err := range s.Rows(ctx, run, program) {
		check(t, err)
		check(t, s.PutVerdicts(ctx, []store.Judged{{Key: r.Key, Verdicts: []agentbound.Verdict{Verdict(rubric)}}}))
		rows++
	}
	equal(t, n/100, rows)
}

func testResultPrefix(t *testing.T, s store.Store) {
	ctx := t.Context()
	keys := []agentbound.TrialKey{"ab000000000000000000000000000000", "abc00000000000000000000000000000", "abcffffffffffffffffffffffffffff0", "abcfffffffffffffffffffffffffffff"}
	var results []agentbound.Result
	for i, k := range keys {
		r := Result(i, 1)
		r.Key = k
		results = append(results, r)
	}
	check(t, s.Put(ctx, results))
	planned := agentbound.Trial{Key: "d0000000000000000000000000000000", Family: "f", Split: agentbound.HS}
	_, err := s.CreateRun(ctx, store.Run{Plan: Plan("a")}, list(planned))
	check(t, err)

	for ref, want := range map[string]int{string(keys[3]): 3, "ab0": 0, "abc0": 1, string(keys[2][:32]): 2} {
		got, err := s.Result(ctx, ref)
		check(t, err)
		equal(t, results[want].Trial, got.Trial)
	}
	for _, ref := range []string{"", "d", "e", "zz", "AB0", string(keys[0]) + "0"} {
		_, err := s.Result(ctx, ref)
		is(t, err, store.ErrNotFound)
	}
	_, err = s.Result(ctx, "abcf")
	is(t, err, store.ErrAmbiguous)
	var ambiguous *store.AmbiguousError
	if errors.As(err, &ambiguous) {
		equal(t, []string{string(keys[2]), string(keys[3])}, ambiguous.Candidates)
	}
	for i := range store.MaxCandidates {
		r := Result(10+i, 0)
		r.Key = agentbound.TrialKey(fmt.Sprintf("ff%030d", i))
		check(t, s.Put(ctx, []agentbound.Result{r}))
	}
	_, err = s.Result(ctx, "ff")
	if errors.As(err, &ambiguous) {
		equal(t, store.MaxCandidates, len(ambiguous.Candidates))
		equal(t, false, ambiguous.More)
	}
	r := Result(99, 0)
	r.Key = "ffff0000000000000000000000000000"
	check(t, s.Put(ctx, []agentbound.Result{r}))
	_, err = s.Result(ctx, "ff")
	if errors.As(err, &ambiguous) {
		equal(t, store.MaxCandidates, len(ambiguous.Candidates))
		equal(t, true, ambiguous.More)
	}
}

func testLock(t *testing.T, s store.Store) {
	ctx := t.Context()
	a, b := Plan("a").ID(), Plan("b").ID()
	unlock, err := s.Lock(ctx, a)
	check(t, err)
	_, err = s.Lock(ctx, a)
	is(t, err, store.ErrLocked)
	other, err := s.Lock(ctx, b)
	check(t, err)
	check(t, create(ctx, s, "a", 0, 1)) // the lock is between runners: it bars no writing
	check(t, unlock())
	check(t, unlock())
	again, err := s.Lock(ctx, a)
	check(t, err)
	check(t, unlock()) // of the first one: does not open the second
	_, err = s.Lock(ctx, a)
	is(t, err, store.ErrLocked)
	check(t, again())
	check(t, other())
	_, err = s.Lock(ctx, "../../etc")
	is(t, err, store.ErrInvalid)
}

func testCancelled(t *testing.T, s store.Store) {
	check(t, create(t.Context(), s, "a", 0, 3))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	run := Plan("a").ID()
	is(t, s.Put(ctx, []agentbound.Result{Result(0, 0)}), context.Canceled)
	is(t, create(ctx, s, "b", 0, 3), context.Canceled)
	is(t, s.PutSuite(ctx, store.Suite{Digest: agentbound.DigestBytes(nil)}), context.Canceled)
	_, err := s.Runs(ctx)
	is(t, err, context.Canceled)
	_, err = s.Progress(ctx, run, program)
	is(t, err, context.Canceled)
	_, err = s.Lock(ctx, run)
	is(t, err, context.Canceled)
	for _, err := range s.Pending(ctx, run, nil) {
		is(t, err, context.Canceled)
	}
	check(t, s.Put(t.Context(), []agentbound.Result{Result(0, 0)})) // and works on
}

func testConcurrent(t *testing.T, s store.Store) {
	ctx := t.Context()
	const writers, each = 4, 100
	check(t, create(ctx, s, "a", 0, writers*each))
	run := Plan("a").ID()
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	fail := func(err error) bool {
		if err != nil {
			t.Error(err)
		}
		return err != nil
	}
	for w := range writers {
		writing.Go(func() {
			for i := 0; i < each; i += 10 {
				var batch []agentbound.Result
				for k := range 10 {
					batch = append(batch, Result(w*each+i+k, 2, program))
				}
				// Everybody also writes what its neighbour does.
				batch = append(batch, Result((w+1)%writers*each+i, 2, program))
				if fail(s.Put(ctx, batch)) || fail(s.PutVerdicts(ctx, []store.Judged{{Key: batch[0].Key, Verdicts: []agentbound.Verdict{Verdict(fmt.Sprint("rubric/", w))}}})) {
					return
				}
			}
		})
	}
	for range 3 {
		reading.Go(func() {
			for last := 0; ; {
				n := 0
				for r, err := range s.Rows(ctx, run, program) {
					if fail(err) {
						return
					}
					// A trial and its verdict are one unit.
					if n%50 == 0 {
						if got, err := s.Result(ctx, string(r.Key)); fail(err) || len(got.Verdicts) == 0 {
							t.Errorf("trial %s has no verdict", r.Key)
							return
						}
					}
					n++
				}
				if n < last {
					t.Errorf("%d rows after %d", n, last)
				}
				last = n
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	writing.Wait()
	close(done)
	reading.Wait()
	p, err := s.Progress(ctx, run, program)
	check(t, err)
	equal(t, store.Progress{Planned: writers * each, Stored: writers * each, Scored: writers * each}, p)
}

func create(ctx context.Context, s store.Store, name string, from, to int) error {
	_, err := s.CreateRun(ctx, store.Run{Plan: Plan(name)}, trials(from, to))
	return err
}

func trials(from, to int) iter.Seq[agentbound.Trial] {
	return func(yield func(agentbound.Trial) bool) {
		for n := from; n < to; n++ {
			if !yield(Trial(n)) {
				return
			}
		}
	}
}

func list(trials ...agentbound.Trial) iter.Seq[agentbound.Trial] { return slices.Values(trials) }

// text compares by bytes, where cmp would take an empty list for none.
func text(t *testing.T, r agentbound.Result) string {
	t.Helper()
	if len(r.Verdicts) == 0 {
		r.Verdicts = nil
	}
	b, err := agentbound.EncodeJSON(r)
	check(t, err)
	return string(b)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func is(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error is %v, want %v", err, target)
	}
}

func equal[T any](t *testing.T, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
