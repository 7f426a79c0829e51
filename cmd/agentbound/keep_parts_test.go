package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound/internal/star"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/judge/rubric/rubrictest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world/emulated/emulatedtest"
)

// flaky fails now and then, for a while or for good.
func flaky(int) modeltest.Fault {
	switch rand.IntN(60) {
	case 0:
		return modeltest.Status(400, "invalid_request_error", "Bad luck for organization "+plantedOrg)
	case 1:
		return modeltest.Status(500, "server_error", "oops", "Retry-After-Ms", "1")
	case 2:
		return modeltest.Status(429, "rate_limit_exceeded", "slow down", "Retry-After-Ms", "1")
	}
	return nil
}

// TestRecordedParts: a run whose subject, world and judges are all models that fail now
// and then and do not always keep to the form, killed anywhere, comes again from its
// recording to the byte, over every protocol.
func TestRecordedParts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes under the race detector; make test runs it")
	}
	const family = "transfer-under-agreement"
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := s.Family(family)
	plays, reads := emulatedtest.Program(f.Toolkits), rubrictest.Reader(s.Families, programjudge.Judge{Cache: star.NewCache(0)})
	astray := func(one int, play modeltest.Player) modeltest.Player {
		return func(r model.Request) model.Response {
			if rand.IntN(one) == 0 {
				return modeltest.Says(fmt.Sprintf("I would rather not (%d).", rand.Uint64()))
			}
			res := play(r)
			res.Usage = model.Usage{Input: rand.Int64N(1000), Output: rand.Int64N(100)}
			return res
		}
	}
	world := modeltest.Serve(t, modeltest.Options{Key: plantedKey, Misbehave: flaky, Play: astray(10, plays)})
	judge := modeltest.Serve(t, modeltest.Options{Key: plantedKey, Misbehave: flaky, Play: astray(3, func(r model.Request) model.Response {
		r.Messages = r.Messages[:2] // also where its answer was sent back
		return reads(r)
	})})
	protocols := map[string]recordedProtocol{"compat": {nil, "COMPAT_API_KEY"}, "openai": {modeltest.Responses{}, "OPENAI_API_KEY"}}
	for scheme, v := range vendorPeers {
		protocols[scheme] = recordedProtocol{v.protocol, v.key}
	}
	for scheme, p := range protocols {
		t.Run(scheme, func(t *testing.T) {
			subject := modeltest.Serve(t, modeltest.Options{Protocol: p.protocol, Key: plantedKey, Play: moody(t, "examples"), Reasoning: "reasoning_content", Misbehave: flaky})
			recordsAndReplays(t, p.key, []string{
				"run", "--suite", "examples", "--families", family, "--repeats", "2", "--agent", scheme + ":test-model@" + subject.URL,
				"--world", "emulated", "--world-model", "compat:test-model@" + world.URL,
				"--judge", "both", "--judge-model", "compat:test-model@" + judge.URL, "--judge-samples", "3",
			})
		})
	}
}

type recordedProtocol struct {
	protocol modeltest.Protocol
	key      string
}

// recordsAndReplays kills a recorded run at moments that nobody chose, goes on until
// nothing is left, and compares its store with that of the replay.
func recordsAndReplays(t *testing.T, keyEnv string, args []string) {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv(keyEnv, plantedKey)
	live := slices.Concat(args, []string{"--store", at("live.db"), "--record", at("r.jsonl")})
	for width := range 3 {
		c := exec.Command(program(t), append(live, "--concurrency", fmt.Sprint(1+2*width))...)
		c.Env = append(os.Environ(), "COMPAT_API_KEY="+plantedKey)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(200+rand.IntN(400)) * time.Millisecond)
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed, or was over before
	}
	for range 30 {
		if code, _ := command(t, plantedKey, live...); code == exitDone {
			break
		}
	}
	t.Setenv(keyEnv, "")
	for _, width := range []string{"1", "7"} {
		code, stderr := command(t, "", slices.Concat(args, []string{"--store", at("again" + width), "--replay", at("r.jsonl"), "--concurrency", width})...)
		if code != exitDone {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		if d := cmp.Diff(contents(t, at("live.db")), contents(t, at("again"+width))); d != "" {
			t.Errorf("%s at a time, the replayed store is another: %.4000s", width, d)
		}
	}
	if b := read(t, at("r.jsonl")); bytes.Contains(b, []byte(plantedKey)) || !bytes.Contains(b, []byte(`"part":"world"`)) || !bytes.Contains(b, []byte(`"part":"judge"`)) {
		t.Error("the recording holds the key, or lacks what the world and the judges said")
	}
}

// TestRecordedByFile: answers that were handed in by file are recorded too; the replay
// needs no folder, and makes none.
func TestRecordedByFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"run", "--suite", "examples", "--limit", "1", "--splits", "eb", "--agent", "reference:comply", "--judge", "both", "--judge-model", "file:" + at("round-1")}
	live := slices.Concat(args, []string{"--store", at("live.db"), "--record", at("r.jsonl"), "--cache", at("answers")})
	same := func(code int, name string) {
		t.Helper()
		if got, stderr := command(t, "", live...); got != code {
			t.Fatalf("%s: exit code %d: %s", name, got, stderr)
		}
		hidden := at("hidden")
		if err := os.Rename(at("round-1"), hidden); err != nil {
			t.Fatal(err)
		}
		got, stderr := command(t, "", slices.Concat(args, []string{"--store", at(name + ".db"), "--replay", at("r.jsonl")})...)
		if got != code {
			t.Errorf("%s: exit code %d: %s", name, got, stderr)
		}
		if d := cmp.Diff(contents(t, at("live.db")), contents(t, at(name+".db"))); d != "" {
			t.Errorf("%s: the replayed store is another: %.4000s", name, d)
		}
		if err := os.Rename(hidden, at("round-1")); err != nil {
			t.Errorf("%s: the replay made a folder: %v", name, err)
		}
	}
	answer := func(part string) {
		questions, err := filepath.Glob(at("round-1/prompts/*.md"))
		if err != nil || len(questions) == 0 {
			t.Fatal(questions, err)
		}
		for _, q := range questions {
			text := `{"reason": "[step 0]", "permitted": "yes", "over_refusal": false, "score": 3}`
			if strings.Contains(string(read(t, q)), part) {
				if err := os.WriteFile(filepath.Join(at("round-1/answers"), strings.TrimSuffix(filepath.Base(q), ".md")+".json"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	same(exitMissed, "nothing answered")
	answer("over_refusal")
	same(exitMissed, "one answered")
	answer("")
	same(exitDone, "both answered")
}
