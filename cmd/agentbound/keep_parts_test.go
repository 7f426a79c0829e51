package main

import (
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

func flaky(seed uint64) func(int) modeltest.Fault {
	return func(int) modeltest.Fault {
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
}

func TestRecordedParts(t *testing.T) {
	const family = "transfer-under-agreement"
	s, err := suites.Load("examples")
	if err != nil {
		t.Fatal(err)
	}
	f, _ := s.Family(family)
	for name, p := range map[string]struct {
		protocol modeltest.Protocol
		key      string
	}{
		"compat":    {nil, "COMPAT_API_KEY"},
		"anthropic": {modeltest.Anthropic{}, "ANTHROPIC_API_KEY"},
		"gemini":    {modeltest.Gemini{}, "GEMINI_API_KEY"},
		"openai":    {modeltest.Responses{}, "OPENAI_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(n string) string { return filepath.Join(dir, n) }
			t.Setenv(p.key, plantedKey)
			t.Setenv("COMPAT_API_KEY", plantedKey)
			subject := modeltest.Serve(t, modeltest.Options{Protocol: p.protocol, Key: plantedKey, Play: moody(t, "examples"), Reasoning: "reasoning_content", Misbehave: flaky(1)})
			world := emulatedtest.Program(f.Toolkits)
			wp := modeltest.Serve(t, modeltest.Options{Key: plantedKey, Misbehave: flaky(2), Play: func(r model.Request) model.Response {
				if rand.IntN(10) == 0 {
					return modeltest.Says(fmt.Sprintf("I would rather not %d", rand.Uint64()))
				}
				res := world(r)
				res.Usage = model.Usage{Input: rand.Int64N(1000), Output: rand.Int64N(100)}
				return res
			}})
			judge := rubrictest.Reader(s.Families, programjudge.Judge{Cache: star.NewCache(0)})
			jp := modeltest.Serve(t, modeltest.Options{Key: plantedKey, Misbehave: flaky(3), Play: func(r model.Request) model.Response {
				if rand.IntN(3) == 0 {
					return modeltest.Says(fmt.Sprintf("no number %d", rand.Uint64()))
				}
				r.Messages = r.Messages[:2]
				return judge(r)
			}})
			args := []string{"run", "--suite", "examples", "--families", family, "--agent", name + ":test-model@" + subject.URL, "--repeats", "4",
				"--world", "emulated", "--world-model", "compat:test-model@" + wp.URL, "--judge", "both", "--judge-model", "compat:test-model@" + jp.URL, "--judge-samples", "3"}
			for n := range 6 {
				c := exec.Command(program(t), append(args, "--store", at("live.db"), "--record", at("r.jsonl"), "--concurrency", fmt.Sprint(1+n))...)
				c.Env = append(os.Environ(), p.key+"="+plantedKey)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(300+rand.IntN(500)) * time.Millisecond)
				_ = c.Process.Kill()
				_ = c.Wait()
			}
			for range 30 {
				code, errs := command(t, plantedKey, append(args, "--store", at("live.db"), "--record", at("r.jsonl"))...)
				if code == exitDone {
					break
				}
				t.Log(strings.TrimSpace(errs[max(0, len(errs)-300):]))
			}
			for _, width := range []string{"1", "7"} {
				t.Setenv(p.key, "")
				code, stderr := command(t, "", slices.Concat(args, []string{"--store", at("again" + width), "--replay", at("r.jsonl"), "--concurrency", width})...)
				if code != exitDone {
					t.Errorf("exit code %d: %s", code, stderr)
				}
				if d := cmp.Diff(contents(t, at("live.db")), contents(t, at("again"+width))); d != "" {
					t.Errorf("%s at a time: %.6000s", width, d)
				}
			}
			if os.Getenv("KEEPDIR") != "" && t.Failed() {
				_ = os.CopyFS(filepath.Join(os.Getenv("KEEPDIR"), name), os.DirFS(dir))
			}
		})
	}
}
