package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/generate"
	"github.com/agentbound/agentbound/generate/generatetest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// TestKilledGenerate kills a generation with a model at several moments. The same
// command goes on: nothing that was answered is asked for again, and the budget counts
// what was lost.
func TestKilledGenerate(t *testing.T) {
	unhurried(t)
	for _, after := range []int{1, 3, 5} { // answers under way
		asked := make(chan int, 100)
		peer := &generatetest.Peer{Mistakes: [][]generatetest.Mistake{{generatetest.UnknownKey}, {generatetest.BrokenYAML}, {generatetest.Prose}}}
		n := 0
		p := modeltest.Serve(t, modeltest.Options{Play: func(r model.Request) model.Response {
			res := peer.Play(r)
			n++ // the peer is asked one at a time: --concurrency is 1
			asked <- n
			return res
		}})
		dir := filepath.Join(t.TempDir(), "out")
		args := []string{"generate", "--out", dir, "--engine", "lm", "--model", "compat:test-model@" + p.URL, "--count", "3",
			"--class", "privacy,phishing", "--patterns", filepath.Join("..", "..", "suite", "pattern", "testdata"), "--format", "json"}
		c := exec.Command(program(t), args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for <-asked < after {
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil {
			t.Fatal("it was over before it could be killed")
		}
		again := exec.Command(program(t), args...)
		var stderr strings.Builder
		again.Stderr = &stderr
		out, err := again.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		var s generate.Summary
		if err := json.Unmarshal(out, &s); err != nil {
			t.Fatal(err)
		}
		rounds := 0
		for _, k := range s.Candidates {
			rounds += k.Rounds
		}
		if s.Accepted != 3 || len(p.Requests()) > rounds+1 || s.Spent.Calls != len(p.Requests()) {
			t.Errorf("killed at %d: asked %d times for %d rounds, counted %d: %+v", after, len(p.Requests()), rounds, s.Spent.Calls, s.Candidates)
		}
		if b, err := exec.Command(program(t), "suite", "check", dir).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, b)
		}
	}
}

// TestGenerateFails tells what a model's fault is, and ends with the code of the
// infrastructure.
func TestGenerateFails(t *testing.T) {
	p := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Status(401, "invalid_api_key", "no"))})
	var out, errs strings.Builder
	code := execute(t.Context(), []string{"generate", "--out", filepath.Join(t.TempDir(), "o"), "--model", "compat:test-model@" + p.URL,
		"--class", "privacy", "--patterns", filepath.Join("..", "..", "suite", "pattern", "testdata")}, stdio{os.Stdin, &out, &errs})
	if code != exitFault || !strings.Contains(errs.String(), "set COMPAT_API_KEY") || !strings.Contains(out.String(), "1 open; 0 calls, 0 tokens") {
		t.Errorf("exit code %d\n%s\n%s", code, out.String(), errs.String())
	}
}
