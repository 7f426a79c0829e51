package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/replay"
)

func cache(t *testing.T, dir string, o replay.Options) *replay.Cache {
	t.Helper()
	c, err := replay.OpenCache(dir, false, func(text string) { t.Log(text) }, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCache: what decides an answer is the whole request, the model, repeat and seed,
// the judge, and the how-many-th equal request of its play it is.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	var asked atomic.Int64
	in := func(p *model.Play, m model.Model, texts ...string) []string {
		return converse(model.WithPlay(t.Context(), p), cache(t, dir, replay.Options{}).Wrap(m), texts...) // as another process has it
	}
	named := func(name string) model.Model {
		return modeltest.Fake{Name: name, Play: func(model.Request) model.Response { return modeltest.Says(fmt.Sprint(asked.Add(1))) }}
	}
	m := named("m")
	base := func() *model.Play { return &model.Play{Trial: key(1), Repeat: 1, Seed: 5} }
	first := in(base(), m, "a", "b")
	if d := cmp.Diff(first, in(base(), m, "a", "b")); d != "" {
		t.Errorf("the same trial: %s", d)
	}
	if d := cmp.Diff(first[:1], in(base(), m, "a", "c")[:1]); d != "" {
		t.Errorf("the same beginning: %s", d)
	}
	for name, other := range map[string][]string{
		"another repeat":     in(&model.Play{Trial: key(1), Repeat: 2, Seed: 5}, m, "a"),
		"another seed":       in(&model.Play{Trial: key(1), Repeat: 1, Seed: 6}, m, "a"),
		"a judge":            in(&model.Play{Trial: key(1), Repeat: 1, Seed: 5, Judge: "rubric/1"}, m, "a"),
		"another model":      in(base(), named("n"), "a"),
		"another request":    in(base(), m, "A"),
		"outside of a trial": converse(t.Context(), cache(t, dir, replay.Options{}).Wrap(m), "a"),
	} {
		if other[0] == first[0] {
			t.Errorf("%s got the same answer", name)
		}
	}
	p, w := base(), cache(t, dir, replay.Options{}).Wrap(m)
	ctx := model.WithPlay(t.Context(), p)
	samples := map[string]bool{}
	for range 3 {
		res, err := w.Chat(ctx, ask("a"))
		if err != nil {
			t.Fatal(err)
		}
		samples[res.Message.Text] = true
	}
	if len(samples) != 3 {
		t.Errorf("equal requests of one play got %v", samples)
	}
}

// TestCacheTells that an answer was kept, gives it back whole, and keeps no error.
func TestCacheTells(t *testing.T) {
	c := cache(t, t.TempDir(), replay.Options{})
	said := modeltest.Calls("I read.")
	said.Message.State, said.Usage = []byte(`{"organization":"org-0123456789"}`), model.Usage{Input: 10, Output: 2}
	asked := 0
	m := c.Wrap(fakeOf(func(context.Context, model.Request) (model.Response, error) {
		if asked++; asked == 1 {
			return model.Response{}, &model.Error{Fault: model.FaultRate, What: "busy"}
		}
		return said, nil
	}))
	play := func() (model.Response, error) {
		return m.Chat(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), ask("a"))
	}
	if _, err := play(); err == nil {
		t.Fatal("no error")
	}
	for _, hit := range []bool{false, true, true} {
		got, err := play()
		if err != nil {
			t.Fatal(err)
		}
		want := said
		want.Cached = hit
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// TestCacheForgets the answers of a play that failed by them, and keeps those of one to
// which an answer was missing.
func TestCacheForgets(t *testing.T) {
	for name, test := range map[string]struct {
		down   bool
		scored bool
		again  int64 // questions at the next go
	}{
		"scored":        {false, true, 0},
		"unreadable":    {false, false, 2},
		"a server down": {true, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := cache(t, t.TempDir(), replay.Options{})
			var asked atomic.Int64
			down := test.down
			m := c.Wrap(fakeOf(func(_ context.Context, r model.Request) (model.Response, error) {
				if down && len(r.Messages) > 1 {
					return model.Response{}, &model.Error{Fault: model.FaultServer, What: "down"}
				}
				return modeltest.Says(fmt.Sprint(asked.Add(1))), nil
			}))
			p := &model.Play{Trial: key(1)}
			converse(model.WithPlay(t.Context(), p), m, "a", "b")
			p.End(test.scored, "why")
			before := asked.Load()
			down = false
			converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), m, "a", "b")
			if got := asked.Load() - before; got != test.again {
				t.Errorf("asked %d times, want %d", got, test.again)
			}
		})
	}
}

// entries are the files of answers.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "??", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCacheDamage: an answer that is damaged in any place is asked for again, told, and
// mended.
func TestCacheDamage(t *testing.T) {
	dir := t.TempDir()
	var warned []string
	c, err := replay.OpenCache(dir, false, func(text string) { warned = append(warned, text) }, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	m := c.Wrap(counter(&asked))
	get := func() string {
		return converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), m, "a")[0]
	}
	get()
	path := entries(t, dir)[0]
	whole := read(t, path)
	for at := 0; at < len(whole)-1; at += 7 { // the last byte is the line's end
		for how, damaged := range map[string][]byte{"cut": whole[:at], "changed": append(append(append([]byte{}, whole[:at]...), whole[at]^1), whole[at+1:]...)} {
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			before := asked.Load()
			warned = nil
			if got := get(); got != fmt.Sprintf("answer %d", before+1) || len(warned) != 1 || !strings.Contains(warned[0], "damaged") {
				t.Fatalf("%s at %d: %s, warned %q: %s", how, at, got, warned, damaged)
			}
		}
	}
	before := asked.Load()
	if get(); asked.Load() != before {
		t.Error("it was not mended")
	}
	// An answer of another key's in its place.
	converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), m, "b")
	both := entries(t, dir)
	if err := os.WriteFile(both[0], read(t, both[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	if shares, damaged, err := c.List(); err != nil || damaged != 1 || shares[0].Entries != 1 {
		t.Errorf("%+v, %d damaged, %v", shares, damaged, err)
	}
	if got, err := c.Prune(replay.Prune{Model: "none", All: true}); err != nil || got.Damaged != 1 || got.LeftEntries != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCacheKeepsNoSecret: an answer that holds a key is not kept.
func TestCacheKeepsNoSecret(t *testing.T) {
	dir := t.TempDir()
	c := cache(t, dir, replay.Options{})
	c.Secret("hunter2-hunter2")
	converse(t.Context(), c.Wrap(modeltest.Fake{Play: modeltest.Script(modeltest.Says("it is hunter2-hunter2"))}), "a")
	if n := len(entries(t, dir)); n != 0 {
		t.Errorf("%d answers kept", n)
	}
}

// TestCacheFolder: a cache is made in a new or empty folder, and found again; one with
// other files is left alone.
func TestCacheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := replay.OpenCache(dir, false, nil, replay.Options{}); err == nil || !strings.Contains(err.Error(), "the folder holds other files (notes.txt)") {
		t.Errorf("error %v", err)
	}
	fresh := filepath.Join(dir, "a", "b")
	if _, err := replay.OpenCache(fresh, true, nil, replay.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	cache(t, fresh, replay.Options{})
	if _, err := replay.OpenCache(fresh, true, nil, replay.Options{}); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(fresh, "cache.json"), []byte(`{"format":"agentbound cache","version":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := replay.OpenCache(fresh, false, nil, replay.Options{}); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Errorf("error %v", err)
	}
}

// TestPrune: by age, by model, by size, oldest first; and everything.
func TestPrune(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	fill := func(t *testing.T) *replay.Cache {
		t.Helper()
		dir, clock := t.TempDir(), now.Add(-100*24*time.Hour)
		c := cache(t, dir, replay.Options{Clock: func() time.Time { return clock }})
		for i := range 10 { // 100, 90, … 10 days old
			name := []string{"compat:a@http://127.0.0.1/v1", "compat:b@http://127.0.0.1/v1"}[i%2]
			m := c.Wrap(modeltest.Fake{Name: name, Play: modeltest.Script(modeltest.Says("well"))})
			converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1), Repeat: i}), m, "a")
			clock = clock.Add(10 * 24 * time.Hour)
		}
		return c
	}
	shares, damaged, err := fill(t).List()
	if err != nil || damaged != 0 || len(shares) != 2 || shares[0].Entries != 5 || !shares[0].Oldest.Equal(now.Add(-100*24*time.Hour)) || !shares[1].Newest.Equal(now.Add(-10*24*time.Hour)) {
		t.Errorf("%+v, %d, %v", shares, damaged, err)
	}
	each := shares[0].Bytes / 5
	days := func(n int) *time.Duration { d := time.Duration(n) * 24 * time.Hour; return &d }
	bytes := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		prune replay.Prune
		left  map[string]int
	}{
		"older":            {replay.Prune{OlderThan: days(45)}, map[string]int{"a": 2, "b": 2}},
		"older, of one":    {replay.Prune{OlderThan: days(45), Model: "compat:a@*"}, map[string]int{"a": 2, "b": 5}},
		"size":             {replay.Prune{MaxBytes: bytes(each * 3)}, map[string]int{"a": 1, "b": 2}},
		"size, of one":     {replay.Prune{MaxBytes: bytes(each * 3), Model: "compat:b@http://127.0.0.1/v1"}, map[string]int{"a": 5, "b": 3}},
		"older and size":   {replay.Prune{OlderThan: days(45), MaxBytes: bytes(each)}, map[string]int{"b": 1}},
		"all":              {replay.Prune{All: true}, map[string]int{}},
		"all of one":       {replay.Prune{All: true, Model: "*b@*"}, map[string]int{"a": 5}},
		"a pattern is one": {replay.Prune{All: true, Model: "compat.a*"}, map[string]int{"a": 5, "b": 5}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fill(t)
			later := cacheAt(t, c, now)
			done, err := later.Prune(test.prune)
			if err != nil {
				t.Fatal(err)
			}
			left, n := map[string]int{}, 0
			shares, _, err := later.List()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range shares {
				left[s.Model[7:8]] = s.Entries
				n += s.Entries
			}
			if d := cmp.Diff(test.left, left); d != "" || done.Entries != 10-n || done.LeftEntries != n {
				t.Errorf("%+v: %s", done, d)
			}
		})
	}
}

// cacheAt is the same cache at another time.
func cacheAt(t *testing.T, c *replay.Cache, now time.Time) *replay.Cache {
	t.Helper()
	return cache(t, c.Dir(), replay.Options{Clock: func() time.Time { return now }})
}

// envCache is the cache on which a child of TestProcesses works.
const envCache = "AGENTBOUND_TEST_CACHE"

// TestProcesses: processes that use one cache at the same time, while a third prunes it,
// only ever get whole answers.
func TestProcesses(t *testing.T) {
	if dir := os.Getenv(envCache); dir != "" {
		worker(t, dir)
		return
	}
	dir := t.TempDir()
	var children []*exec.Cmd
	for range 2 {
		c := exec.Command(os.Args[0], "-test.run=^TestProcesses$", "-test.count=1")
		c.Env = append(os.Environ(), envCache+"="+dir)
		var out strings.Builder
		c.Stdout, c.Stderr = &out, &out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(out.String())
			}
		})
		children = append(children, c)
	}
	own := cache(t, dir, replay.Options{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, c := range children {
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		}
	}()
	for most := int64(50_000); ; {
		select {
		case <-over:
		default:
			if _, err := own.Prune(replay.Prune{MaxBytes: &most}); err != nil {
				t.Error(err)
			}
			continue
		}
		break
	}
	shares, damaged, err := own.List()
	if err != nil || damaged != 0 || len(shares) != 1 {
		t.Errorf("%+v, %d damaged, %v", shares, damaged, err)
	}
}

// worker asks the same questions as its siblings, over and over.
func worker(t *testing.T, dir string) {
	t.Helper()
	c, err := replay.OpenCache(dir, false, func(text string) { t.Errorf("warned: %s", text) }, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Wrap(modeltest.Fake{Play: func(r model.Request) model.Response {
		return modeltest.Says(strings.Repeat("re: "+r.Messages[0].Text, 2000))
	}})
	for round := range 20 {
		for i := range 20 {
			text := fmt.Sprintf("question %d", i)
			res, err := m.Chat(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), ask(text))
			if err != nil || res.Message.Text != strings.Repeat("re: "+text, 2000) {
				t.Fatalf("round %d: %q, %v", round, text, err)
			}
		}
	}
}
