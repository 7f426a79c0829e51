package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// TestCachedRun: a run on a filled cache asks nobody, gives the same verdicts, says in
// its cost what was answered from the cache, and repeats keep their own answers.
func TestCachedRun(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var asked atomic.Int64
	play := moody(t, "examples")
	peer := modeltest.Serve(t, modeltest.Options{Reasoning: "reasoning_content", Play: func(r model.Request) model.Response { asked.Add(1); return play(r) }})
	args := []string{"run", "--suite", "examples", "--agent", "compat:test-model@" + peer.URL, "--repeats", "2", "--splits", "hb,cm", "--cache", at("answers")}
	for _, name := range []string{"first.db", "second.db", "third.db"} {
		more := []string{"--store", at(name)}
		if name == "third.db" {
			more = append(more, "--repeats", "3") // and one more of each
		}
		before := asked.Load()
		if code, stderr := command(t, "", append(args, more...)...); code != exitDone {
			t.Fatal(stderr)
		}
		if now := asked.Load() - before; (now == 0) != (name == "second.db") {
			t.Errorf("%s: asked %d times", name, now)
		}
	}
	first, second := contents(t, at("first.db")), contents(t, at("second.db"))
	for k, v := range first {
		if strings.HasPrefix(k, "trial ") && thoughts(v) != thoughts(second[k]) {
			t.Errorf("%s was %s and is %s", k, thoughts(v), thoughts(second[k]))
		}
	}
	told := map[string]bool{}
	for k, v := range first {
		if strings.HasPrefix(k, "trial ") {
			told[thoughts(v)] = true
		}
	}
	if len(told) != 12 {
		t.Errorf("%d different trials, want 12", len(told))
	}
	for name, reused := range map[string]bool{"first.db": false, "second.db": true} {
		cost := costOf(t, at(name))
		if cost.Input == 0 || (cost.Reused == cost.Input+cost.Output) != reused {
			t.Errorf("%s: cost %+v", name, cost)
		}
		out, err := exec.Command(program(t), "report", "--store", at(name)).Output()
		if err != nil || strings.Contains(string(out), "tokens were answered from a response cache") != reused {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// thoughts are a trial's texts, of the rows of contents.
func thoughts(row string) string {
	var tr struct{ Steps []struct{ Thought string } }
	_, row, _ = strings.Cut(row, "\n")
	if json.NewDecoder(strings.NewReader(row)).Decode(&tr) != nil {
		return "none"
	}
	text := ""
	for _, s := range tr.Steps {
		text += s.Thought
	}
	return text
}

type tokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Reused int64 `json:"reused_tokens"`
}

func costOf(t *testing.T, db string) tokens {
	t.Helper()
	out, err := exec.Command(program(t), "report", "--store", db, "--format", "json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Runs []struct{ Cost tokens }
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	return r.Runs[0].Cost
}

// TestEnvironmentSecrets: what looks like a key by its name is struck whatever adapter
// reads it; words and numbers are not.
func TestEnvironmentSecrets(t *testing.T) {
	got := environmentSecrets([]string{"LANGUAGE=en_GB.UTF-8:en_US.UTF-8", "XAI_API_KEY=0123456789abcdefg", "GITHUB_TOKEN=ghp_0123456789abcdef", "KEYBOARD=dvorak", "DB_PASSWORD=short", "NONE"})
	if len(got) != 2 || got[0] != "0123456789abcdefg" || got[1] != "ghp_0123456789abcdef" {
		t.Errorf("%q", got)
	}
}
