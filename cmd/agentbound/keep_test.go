package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/generate/generatetest"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// Secrets that a server repeats.
const (
	plantedKey = "sk-planted-0123456789abcdef"
	plantedOrg = "org-Zq8PlantedAccount77"
)

// moody plays the workflow of whichever family of a suite it is asked for, and never
// says the same twice: only what was recorded can give it again.
func moody(t *testing.T, name string) modeltest.Player {
	t.Helper()
	s, err := loadSuite(name)
	if err != nil {
		t.Fatal(err)
	}
	players := map[string]modeltest.Player{}
	for i := range s.Families {
		f := &s.Families[i]
		for _, split := range agentbound.Splits() {
			task, _ := f.Task(split)
			players[task.Instruction] = modeltest.Comply(f, modeltest.Style{Parallel: i%2 == 0})
		}
	}
	return func(r model.Request) model.Response {
		res := players[r.Messages[1].Text](r)
		res.Message.Text = fmt.Sprintf("%016x. %s", rand.Uint64(), res.Message.Text)
		res.Message.Reasoning = fmt.Sprintf("It is %s who pays, with %s (%d).", plantedOrg, plantedKey, rand.Uint64())
		res.Usage = model.Usage{Input: rand.Int64N(1000), Output: rand.Int64N(100)}
		return res
	}
}

// moodyPeer fails now and then: for a while, and for good with a word on the account.
func moodyPeer(t *testing.T) *modeltest.Peer {
	t.Helper()
	return modeltest.Serve(t, modeltest.Options{
		Play: moody(t, "examples"), Key: plantedKey, Reasoning: "reasoning_content",
		Misbehave: func(n int) modeltest.Fault {
			switch {
			case n%29 == 4:
				return modeltest.Status(400, "invalid_request_error", "Bad luck for organization "+plantedOrg+" with "+plantedKey+" (request id req_0123456789abcdef)")
			case n%43 == 7:
				return modeltest.Status(500, "server_error", "oops", "Retry-After-Ms", "1")
			}
			return nil
		},
	})
}

// command runs the program with the planted key and gives its exit code and stderr.
func command(t *testing.T, key string, args ...string) (code int, stderr string) {
	t.Helper()
	c := exec.Command(program(t), args...)
	c.Env = append(os.Environ(), "COMPAT_API_KEY="+key)
	var errs bytes.Buffer
	c.Stderr = &errs
	err := c.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), errs.String()
}

// TestRecordedRun kills a recorded run twice, goes on until nothing is left, and replays
// the recording without the server into a fresh store: the same to the byte.
func TestRecordedRun(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	peer := moodyPeer(t)
	args := []string{"run", "--suite", "examples", "--agent", "compat:test-model@" + peer.URL, "--repeats", "4", "--seed", "3", "--concurrency", "3"}
	recording := []string{"--record", at("run.jsonl")}
	live := slices.Concat(args, []string{"--store", at("live.db")}, recording)
	t.Setenv("COMPAT_API_KEY", plantedKey)
	for _, after := range []int{8, 20} {
		killAfter(t, at("live.db"), args, after, recording...)
	}
	for range 20 {
		if code, _ := command(t, plantedKey, live...); code == exitDone {
			break
		}
	}
	before := len(peer.Requests())
	for _, width := range []string{"1", "5"} {
		store := at("replayed" + width + ".db")
		code, stderr := command(t, "", append(args, "--store", store, "--replay", at("run.jsonl"), "--concurrency", width)...)
		if code != exitDone {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		if d := cmp.Diff(contents(t, at("live.db")), contents(t, store)); d != "" {
			t.Errorf("%s at a time, the replayed store is another: %.4000s", width, d)
		}
	}
	if after := len(peer.Requests()); after != before {
		t.Errorf("the replay asked the server %d times", after-before)
	}
	for _, secret := range []string{plantedKey, "req_0123456789abcdef"} {
		if bytes.Contains(read(t, at("run.jsonl")), []byte(secret)) {
			t.Errorf("the recording holds %s", secret)
		}
	}
	recordingOnce(t, read(t, at("run.jsonl")))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// recordingOnce looks into a recording: there were kills, failures for a while and for
// good, and what a server says of the account is in none of them.
func recordingOnce(t *testing.T, b []byte) {
	t.Helper()
	sessions, errs, failed := 0, 0, 0
	for line := range bytes.Lines(b) {
		var x struct {
			Kind   string
			Error  json.RawMessage
			Failed []json.RawMessage
		}
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if x.Kind == "session" {
			sessions++
		}
		if len(x.Error) > 0 {
			errs++
		}
		failed += len(x.Failed)
		if bytes.Contains(x.Error, []byte(plantedOrg)) {
			t.Errorf("error %s", x.Error)
		}
	}
	if sessions < 3 || errs < 2 || failed < 1 {
		t.Errorf("%d sessions, %d errors, %d failed attempts", sessions, errs, failed)
	}
}

// contents are all rows of a store that a replay gives again: what there is but times
// and numbers of rows.
func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path, sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	runs, err := db.Runs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range runs {
		plan, _ := agentbound.EncodeJSON(r.Plan)
		rows["run "+string(r.ID)] = string(plan)
		for row, err := range db.Rows(ctx, r.ID, r.Plan.Judges[0]) {
			if err != nil {
				t.Fatal(err)
			}
			res, err := db.Result(ctx, string(row.Key))
			if err != nil {
				t.Fatal(err)
			}
			tr, err := agentbound.AppendTrajectory(nil, res.Trajectory)
			if err != nil {
				t.Fatal(err)
			}
			verdicts, _ := agentbound.EncodeJSON(res.Verdicts)
			rows[fmt.Sprintf("trial %d %s", row.Position, row.Key)] = fmt.Sprintf("%+v %+v\n%s\n%s", row.Trial, row.Usage, tr, verdicts)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, row := range attempts(t, path) {
		rows["attempts "+row] = ""
	}
	return rows
}

// attempts are what the store's own tables say of each trial's goes.
func attempts(t *testing.T, path string) (rows []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	found, err := db.Query("SELECT hex(key), scored, attempts, input_tokens, output_tokens FROM trial")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var key string
		var scored, n, in, out int
		if err := found.Scan(&key, &scored, &n, &in, &out); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, fmt.Sprint(key, scored, n, in, out))
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return rows
}

// TestReplayOfAnother: what a replay cannot give is told by the first difference, and
// leaves trials unscored.
func TestReplayOfAnother(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var asked atomic.Int64
	play := moody(t, "examples")
	peer := modeltest.Serve(t, modeltest.Options{Reasoning: "reasoning_content", Play: func(r model.Request) model.Response { asked.Add(1); return play(r) }})
	args := []string{"run", "--suite", "examples", "--agent", "compat:test-model@" + peer.URL, "--repeats", "2", "--splits", "hb,cm"}
	// One at a time, so that half a recording is some trials and not the beginning of all.
	if code, stderr := command(t, "", append(args, "--store", at("live.db"), "--record", at("run.jsonl"), "--concurrency", "1")...); code != exitDone {
		t.Fatal(stderr)
	}
	recorded := read(t, at("run.jsonl"))
	before := asked.Load()
	for name, test := range map[string]struct {
		recording []byte
		more      []string
		code      int
		want      string
	}{
		"the same":      {recorded, nil, exitDone, "12 of 12"},
		"part of it":    {recorded, []string{"--repeats", "1"}, exitDone, "6 of 6"},
		"other limits":  {recorded, []string{"--max-steps", "7"}, exitMissed, "limits.steps was 120 when it was recorded, and is 7"},
		"another seed":  {recorded, []string{"--seed", "9"}, exitMissed, "seed was 0 when it was recorded, and is 9"},
		"another form":  {recorded, []string{"--form", "react"}, exitMissed, "agent."},
		"a hotter one":  {recorded, []string{"--temperature", "0.5"}, exitMissed, `agent.settings.temperature was "default" when it was recorded, and is "0.5"`},
		"more repeats":  {recorded, []string{"--repeats", "3"}, exitMissed, "was not recorded"},
		"another text":  {bytes.ReplaceAll(recorded, []byte("You work"), []byte("You labour")), nil, exitMissed, "You labour"},
		"a cut end":     {recorded[:len(recorded)-9], nil, exitDone, "its last line was cut"}, // the trial's turns are there
		"a cut turn":    {recorded[:bytes.LastIndex(recorded, []byte(`"request"`))], nil, exitMissed, "breaks off after"},
		"half a run":    {recorded[:len(recorded)/2], nil, exitMissed, "was not recorded: it had not begun"},
		"a foreign one": {[]byte("{}\n"), nil, exitUsage, "it is no recording"},
		"an empty one":  {nil, nil, exitUsage, "it is empty"},
		"none":          {nil, []string{"--replay", at("nowhere")}, exitUsage, "no such file"},
		"both":          {nil, []string{"--record", at("x")}, exitUsage, "exclude each other"},
		"a program":     {recorded, []string{"--agent", "exec:true"}, exitUsage, "asks its model itself"},
	} {
		t.Run(name, func(t *testing.T) {
			file, db := filepath.Join(t.TempDir(), "r.jsonl"), filepath.Join(t.TempDir(), "r.db")
			if err := os.WriteFile(file, test.recording, 0o600); err != nil {
				t.Fatal(err)
			}
			code, stderr := command(t, "", slices.Concat(args, []string{"--store", db, "--replay", file}, test.more)...)
			if code != test.code || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, test.code, test.want, stderr)
			}
		})
	}
	if asked.Load() != before {
		t.Error("the server was asked")
	}
}

// TestRecordedGenerate: a generation comes again from its recording, folder for folder.
func TestRecordedGenerate(t *testing.T) {
	dir := t.TempDir()
	peer := &generatetest.Peer{Mistakes: [][]generatetest.Mistake{{generatetest.UnknownKey}, {generatetest.BrokenYAML}, {generatetest.Prose}}}
	p := modeltest.Serve(t, modeltest.Options{Play: peer.Play})
	args := []string{"generate", "--engine", "lm", "--model", "compat:test-model@" + p.URL, "--count", "3",
		"--class", "privacy,phishing", "--patterns", filepath.Join("..", "..", "suite", "pattern", "testdata")}
	live, again, record := filepath.Join(dir, "live"), filepath.Join(dir, "again"), filepath.Join(dir, "r.jsonl")
	if code, stderr := command(t, "", append(args, "--out", live, "--record", record)...); code != exitDone {
		t.Fatal(stderr)
	}
	asked := len(p.Requests())
	if code, stderr := command(t, "", append(args, "--out", again, "--replay", record)...); code != exitDone {
		t.Fatal(stderr)
	}
	if now := len(p.Requests()); now != asked {
		t.Errorf("the replay asked the server %d times", now-asked)
	}
	if d := cmp.Diff(files(t, live), files(t, again)); d != "" {
		t.Error(d)
	}
	code, stderr := command(t, "", append(args, "--out", filepath.Join(dir, "other"), "--replay", record, "--max-tokens", "99")...)
	if code == exitDone || !strings.Contains(stderr, "max_tokens was 16000 when it was recorded, and is 99") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// files are the contents of a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			all[name] = string(read(t, path))
		}
		return err
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}
