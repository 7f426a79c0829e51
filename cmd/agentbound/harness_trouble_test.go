package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness/codex"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

// What goes wrong around an agent program, with Codex, which starts in a second.

// codexRun are the arguments of a run of Codex on the first families of core-small.
func codexRun(db, url string, more ...string) []string {
	return append([]string{"run", "--suite", "core-small", "--limit", "3", "--repeats", "1", "--store", db, "--agent", "codex:test-model@" + url}, more...)
}

func codexPeer(t *testing.T, o modeltest.Options) *modeltest.Peer {
	t.Helper()
	how := programPeers["codex"]
	o.Protocol, o.Key = how.protocol, realKey
	o.Play = modeltest.Through(o.Play, how.names)
	return modeltest.Serve(t, o)
}

// stored are the results of a store's one run.
func stored(t *testing.T, path string) (all []agentbound.Result) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	runs, err := db.Runs(t.Context())
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for row, err := range db.Rows(t.Context(), runs[0].ID, runs[0].Plan.Judges[0]) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := db.Result(t.Context(), string(row.Key))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// TestProgramsModelFails: a trial whose model cannot be asked is unscored for that
// reason; where the endpoint will not answer any trial, the run stops early.
func TestProgramsModelFails(t *testing.T) {
	installedProgram(t, codex.Program())
	t.Setenv("COMPAT_API_KEY", realKey)
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	hang := func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body); <-r.Context().Done() }
	for name, c := range map[string]struct {
		fails modeltest.Fault
		more  []string
		want  string
	}{
		"a key that is not accepted": {modeltest.Status(401, "invalid_api_key", "Incorrect API key provided"), nil, "asking its model: the server does not accept the key (status 401)"},
		"an account without credit":  {modeltest.Status(429, "insufficient_quota", "You exceeded your current quota"), nil, "asking its model: the account has no credit left (status 429)"},
		"a server that is down":      {modeltest.Status(500, "server_error", "down"), nil, "asking its model: the server failed (status 500): down"},
		"a server that says nothing": {hang, []string{"--per-call", "1s"}, "asking its model: the request took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			peer := codexPeer(t, modeltest.Options{Play: evidence(t, f), Misbehave: modeltest.Always(c.fails)})
			db := filepath.Join(t.TempDir(), "s.db")
			code, _, errs := inside(t, append(codexRun(db, peer.URL, c.more...), "--limit", "1", "--splits", "hb")...)
			if code != exitMissed || !strings.Contains(errs, c.want) {
				t.Errorf("exit code %d: %s", code, errs)
			}
			all := stored(t, db)
			if len(all) != 1 || !strings.HasPrefix(all[0].Trajectory.End.Fault, "codex@"+codex.Program().Version()+": "+c.want) || len(all[0].Trajectory.Harness.Requests) == 0 {
				t.Errorf("%+v", all)
			}
		})
	}
	t.Run("a server that has it wait", func(t *testing.T) {
		peer := codexPeer(t, modeltest.Options{Play: evidence(t, f), Misbehave: modeltest.First(1, modeltest.Status(429, "rate_limit_exceeded", "slow down", "Retry-After", "2"))})
		db, began := filepath.Join(t.TempDir(), "s.db"), time.Now()
		if code, _, errs := inside(t, codexRun(db, peer.URL, "--limit", "1", "--splits", "hb")...); code != exitDone || !strings.Contains(errs, "a request failed: too many requests (status 429)") {
			t.Errorf("exit code %d: %s", code, errs)
		}
		all := stored(t, db)
		want := []agentbound.OtherRequest{{Request: "POST /v1/responses", What: "server 429, asked again", Count: 1}}
		if len(all) != 1 || !all[0].Verdicts[0].Scored() || time.Since(began) < 2*time.Second {
			t.Errorf("%+v after %s", all, time.Since(began))
		} else if d := cmp.Diff(want, all[0].Trajectory.Harness.Requests); d != "" {
			t.Error(d)
		}
	})
	t.Run("a filter that rejects", func(t *testing.T) {
		peer := codexPeer(t, modeltest.Options{Play: evidence(t, f), Misbehave: modeltest.Always(modeltest.Status(400, "content_filter", "The prompt was filtered."))})
		db := filepath.Join(t.TempDir(), "s.db")
		if code, _, errs := inside(t, codexRun(db, peer.URL, "--limit", "1", "--splits", "hb")...); code != exitDone {
			t.Errorf("exit code %d: %s", code, errs)
		}
		all := stored(t, db)
		if len(all) != 1 || all[0].Trajectory.Outcome.Word != agentbound.Declined || all[0].Trajectory.Outcome.RefusedBy != agentbound.RefusedByProvider {
			t.Errorf("%+v", all)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		code, _, errs := inside(t, codexRun(filepath.Join(t.TempDir(), "s.db"), "http://"+l.Addr().String()+"/v1", "--splits", "siblings")...)
		if code != exitMissed || !strings.Contains(errs, "connection refused") || !strings.Contains(errs, "stopped early in 1 of 1 runs: the model codex:test-model cannot be asked") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	})
}

// TestProgramsBudget: what a program spends at its model is held to the budget, and the
// next command goes on.
func TestProgramsBudget(t *testing.T) {
	installedProgram(t, codex.Program())
	t.Setenv("COMPAT_API_KEY", realKey)
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	const input, output = 10_000, 100
	peer := codexPeer(t, modeltest.Options{Play: telling(evidence(t, &s.Families[0]), model.Usage{Input: input, Output: output})})
	dir := t.TempDir()
	db, prices := filepath.Join(dir, "s.db"), filepath.Join(dir, "prices.yaml")
	if err := os.WriteFile(prices, []byte("version: 1\nprices:\n  - {models: [test-model], max_output: 500, as_of: 2026-01-02, source: a test}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const bound = 200_000
	args := codexRun(db, peer.URL, "--splits", "siblings", "--limit", "1", "--concurrency", "1")
	code, _, errs := inside(t, append(args, "--budget", fmt.Sprintf("tokens=%d", bound))...)
	if code != exitUsage || !strings.Contains(errs, "max_output in a file of --prices") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	args = append(args, "--prices", prices)
	for n, want := range []int{exitMissed, exitDone} {
		before := len(peer.Requests())
		more := []string{"--budget", fmt.Sprintf("tokens=%d", bound)}
		if n > 0 {
			more = nil
		}
		if code, _, errs = inside(t, append(args, more...)...); code != want {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		spent := (len(peer.Requests()) - before) * (input + output)
		if n == 0 && (spent > bound || spent < bound/4 || !strings.Contains(errs, "the budget of 200000 tokens is used up")) {
			t.Errorf("%d tokens were spent: %s", spent, errs)
		}
	}
	if all := stored(t, db); len(all) != 4 || slices.ContainsFunc(all, func(r agentbound.Result) bool { return !r.Verdicts[0].Scored() }) {
		t.Errorf("%d results", len(all))
	}
}

// TestProgramsSideBySide: two trials at once, each in a home that no other trial sees,
// from one install that stays as it is.
func TestProgramsSideBySide(t *testing.T) {
	p := codex.Program()
	found := installedProgram(t, p)
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	peer := codexPeer(t, modeltest.Options{Play: evidence(t, f)})
	before := listing(t, found.Folder)
	parts := surroundings{}.parts()
	kept := &homes{Runner: parts.Runner}
	parts.Runner = kept
	a, err := subject.New(p, parts, subject.Options{Model: peer.Model, Base: peer.URL, Key: realKey, Start: found.Start, ReadOnly: []string{found.Folder}})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, split := range agentbound.Siblings() {
		all.Go(func() {
			if r := playOnce(t, a, f, split); r.Verdicts[0].Helpfulness != 3 || r.Verdicts[0].Safety != 3 {
				t.Errorf("%s: %+v, %+v", split, r.Verdicts, r.Trajectory.End)
			}
		})
	}
	all.Wait()
	if n := len(kept.seen); n != 4 || kept.used > 0 {
		t.Errorf("%d homes, %d of them not fresh", n, kept.used)
	}
	for home := range kept.seen {
		if _, err := os.Stat(filepath.Dir(home)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", home, err)
		}
	}
	if d := cmp.Diff(before, listing(t, found.Folder)); d != "" {
		t.Errorf("the install was changed: %s", d)
	}
}

// homes looks at the homes that a runner gives.
type homes struct {
	subject.Runner
	mu   sync.Mutex
	seen map[string]bool
	used int // were not empty, or given before
}

func (h *homes) Cell(ctx context.Context, n subject.Needs) (subject.Cell, error) {
	cell, err := h.Runner.Cell(ctx, n)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	entries, err := os.ReadDir(cell.Home())
	if err != nil || len(entries) > 0 || h.seen[cell.Home()] {
		h.used++
	}
	if h.seen == nil {
		h.seen = map[string]bool{}
	}
	h.seen[cell.Home()] = true
	return cell, nil
}

// listing is what lies below a folder, with sizes and times.
func listing(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all = append(all, fmt.Sprintf("%s %s %d %s", path, info.Mode(), info.Size(), info.ModTime()))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestKilledProgramRun kills agentbound in the middle of trials of a program: no process
// of theirs and no home is left, and the next command finishes the run.
func TestKilledProgramRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc")
	}
	installedProgram(t, codex.Program())
	t.Setenv("COMPAT_API_KEY", realKey)
	tmp := t.TempDir()
	if err := os.Chmod(tmp, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	slow := crowd(t, "core-small")
	peer := codexPeer(t, modeltest.Options{Play: func(r model.Request) model.Response {
		time.Sleep(20 * time.Millisecond)
		return slow(r)
	}})
	db := filepath.Join(t.TempDir(), "killed.db")
	args := codexRun(db, peer.URL, "--splits", "siblings", "--concurrency", "2")
	run := exec.Command(program(t), args...)
	var told strings.Builder
	run.Stderr = &told
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); made(db) < 1 || len(descendants(t, run.Process.Pid)) == 0; {
		if time.Since(began) > 2*time.Minute {
			_ = run.Process.Kill()
			t.Fatalf("no trial is stored: %s", told.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	theirs := descendants(t, run.Process.Pid)
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		left := slices.DeleteFunc(slices.Clone(theirs), func(pid int) bool {
			p, err := os.FindProcess(pid)
			return err != nil || p.Signal(syscall.Signal(0)) != nil
		})
		if len(left) == 0 {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("processes are left: %v of %v", left, theirs)
		}
	}
	if out, err := exec.Command(program(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	all := stored(t, db)
	if len(all) != 12 {
		t.Errorf("%d results", len(all))
	}
	for _, r := range all {
		if !r.Verdicts[0].Scored() || r.Verdicts[0].Safety != 3 {
			t.Errorf("%s: %+v", r.Trajectory.Task, r.Verdicts[0])
		}
	}
}

// descendants are the processes below one.
func descendants(t *testing.T, pid int) (all []int) {
	t.Helper()
	parents := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		parent, _ := strconv.Atoi(fields[1]) // a number in every kernel
		parents[parent] = append(parents[parent], id)
	}
	for next := parents[pid]; len(next) > 0; {
		all = append(all, next...)
		var further []int
		for _, id := range next {
			further = append(further, parents[id]...)
		}
		next = further
	}
	return all
}
