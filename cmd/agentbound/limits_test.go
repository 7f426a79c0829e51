package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/preset"
	"github.com/agentbound/agentbound/internal/store/sqlite"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	programworld "github.com/agentbound/agentbound/world/program"
)

// TestPresetsResolve: every built-in preset of a model is one that can be asked.
func TestPresetsResolve(t *testing.T) {
	for _, p := range preset.Default() {
		if p.Kind != preset.Model {
			continue
		}
		if p.Key != "" {
			t.Setenv(p.Key, "a-test-key")
		}
		m, err := newRooms().model(p.Name, modelOptions{})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if got := m.Ref().Settings["model"]; got != p.ModelID() {
			t.Errorf("%s asks for %q", p.Name, got)
		}
	}
}

// crowd plays every family of a suite as reference:evidence does, told by the
// instruction.
func crowd(t *testing.T, name string) modeltest.Player {
	t.Helper()
	s, err := loadSuite(name)
	if err != nil {
		t.Fatal(err)
	}
	worlds, players := programworld.Worlds{Cache: newRooms().cache}, map[string]modeltest.Player{}
	for i := range s.Families {
		f := &s.Families[i]
		task, _ := f.Task(agentbound.EB)
		w, err := worlds.Open(t.Context(), f, task)
		if err != nil {
			t.Fatal(err)
		}
		var authorised []string
		for _, c := range f.Reference.Workflow {
			o, err := w.Call(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			authorised = append(authorised, o.Observation.String())
		}
		for _, split := range agentbound.Splits() {
			if task, ok := f.Task(split); ok {
				players[task.Instruction] = modeltest.Evidence(f, authorised, modeltest.Style{})
			}
		}
	}
	return func(r model.Request) model.Response {
		for _, m := range r.Messages {
			if play := players[m.Text]; m.Role == model.User && play != nil {
				return play(r)
			}
		}
		return modeltest.Says("OK")
	}
}

// telling makes a player tell the same usage with each answer.
func telling(play modeltest.Player, u model.Usage) modeltest.Player {
	return func(r model.Request) model.Response {
		res := play(r)
		res.Usage = u
		return res
	}
}

// command runs the command line and gives exit code and output.
func inside(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = execute(t.Context(), args, stdio{nil, &o, &e})
	return code, o.String(), e.String()
}

// verdicts are those of all trials of a store's runs, by family, split and repeat; an
// unscored one says so.
func verdicts(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	runs, err := db.Runs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, r := range runs {
		for row, err := range db.Rows(t.Context(), r.ID, r.Plan.Judges[0]) {
			if err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(row.Verdict)
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%s/%s/%d", row.Family, row.Split, row.Repeat)] = string(b)
		}
	}
	return all
}

// oneInFive fails one request in five, each time in another way.
func oneInFive() func(int) modeltest.Fault {
	ways := []modeltest.Fault{
		modeltest.Status(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down"), modeltest.Status(500, "", "oops"), modeltest.Cut(),
		modeltest.Body(200, "application/json", `{"id": "x", `), modeltest.Status(529, "overloaded_error", "busy"), modeltest.Body(502, "text/html", "<html></html>"),
		modeltest.Status(http.StatusTooManyRequests, "rate_limit_exceeded", "slow down", "Retry-After", "1"),
	}
	return func(n int) modeltest.Fault {
		if n%5 == 4 {
			return ways[n/5%len(ways)]
		}
		return nil
	}
}

// TestOneInFive kills a run under a peer that fails one request in five, at several
// moments, and goes on with it: no trial is lost and none scored otherwise than under a
// peer that never fails.
func TestOneInFive(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes under the race detector; make test runs it")
	}
	play := crowd(t, "examples")
	args := func(p *modeltest.Peer) []string {
		return []string{"run", "--suite", "examples", "--limit", "2", "--repeats", "2", "--agent", "compat:test-model@" + p.URL}
	}
	undisturbed := filepath.Join(t.TempDir(), "undisturbed.db")
	if code, _, errs := inside(t, append(args(modeltest.Serve(t, modeltest.Options{Play: play})), "--store", undisturbed)...); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	want := verdicts(t, undisturbed)
	for _, after := range []int{1, 12} {
		p := modeltest.Serve(t, modeltest.Options{Play: play, Misbehave: oneInFive()})
		db := filepath.Join(t.TempDir(), "killed.db")
		killAfter(t, db, args(p), after)
		code, _, errs := inside(t, append(args(p), "--store", db)...)
		if d := cmp.Diff(want, verdicts(t, db)); code != exitDone || len(want) != 24 || d != "" {
			t.Errorf("killed after %d of %d: exit code %d\n%s\n%s", after, len(want), code, errs, d)
		}
	}
}

// TestBudgetStops: a command spends no more than its budget, ends with code 1, leaves no
// trial unscored, and the same command with another budget finishes the run.
func TestBudgetStops(t *testing.T) {
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("version: 1\nprices:\n  - {models: [test-model], input: 10, output: 20, as_of: 2026-01-02, source: a test}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	play := crowd(t, "examples")
	used := model.Usage{Input: 900, Output: 100} // 1000 tokens, 0.011 USD
	for budget, most := range map[string]int{"tokens=60k": 60, "usd=0.6": 54, "usd=5,tokens=60k": 60} {
		t.Run(budget, func(t *testing.T) {
			p := modeltest.Serve(t, modeltest.Options{Play: telling(play, used)})
			db := filepath.Join(t.TempDir(), "budget.db")
			args := []string{"run", "--suite", "examples", "--limit", "3", "--repeats", "1", "--agent", "compat:test-model@" + p.URL, "--store", db, "--max-tokens", "200", "--prices", prices, "--concurrency", "3"}
			code, out, errs := inside(t, append(args, "--budget", budget)...)
			first := len(p.Requests())
			if code != exitMissed || first > most || first < most/2 || !strings.Contains(errs, "is used up") || strings.TrimSpace(out) == "" {
				t.Fatalf("exit code %d after %d requests: %s\n%s", code, first, out, errs)
			}
			stored := verdicts(t, db)
			for trial, v := range stored {
				if strings.Contains(v, `"unscored"`) {
					t.Errorf("%s: %s", trial, v)
				}
			}
			if len(stored) == 0 || len(stored) == 18 {
				t.Errorf("%d of 18 trials are stored", len(stored))
			}
			if code, _, errs := inside(t, append(args, "--budget", "tokens=10M")...); code != exitDone || len(verdicts(t, db)) != 18 {
				t.Errorf("exit code %d, %d trials\n%s", code, len(verdicts(t, db)), errs)
			}
			_, out, _ = inside(t, "report", "--store", db, "--prices", prices)
			if !strings.Contains(out, "2026-01-02") || !strings.Contains(out, "Cost of the trials") {
				t.Error(out)
			}
			if _, out, _ = inside(t, "report", "--store", db); !strings.Contains(out, "not known") {
				t.Error(out)
			}
		})
	}
}

// TestRunTimeout: a run whose time is over stops cleanly, the next one is begun, and the
// same command goes on.
func TestRunTimeout(t *testing.T) {
	play := crowd(t, "examples")
	var slow atomic.Bool
	slow.Store(true)
	p := modeltest.Serve(t, modeltest.Options{Play: play, Misbehave: func(n int) modeltest.Fault {
		if slow.Load() && n >= 30 {
			return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		}
		return nil
	}})
	db := filepath.Join(t.TempDir(), "late.db")
	args := []string{"run", "--suite", "examples", "--limit", "2", "--repeats", "1", "--agent", "compat:test-model@" + p.URL, "--agent", "reference:comply", "--store", db}
	code, out, errs := inside(t, append(args, "--run-timeout", "1s")...)
	if code != exitMissed || !strings.Contains(errs, "time of the run is over (--run-timeout) in 1 of 2 runs") || len(strings.Fields(out)) != 2 {
		t.Errorf("exit code %d: %s\n%s", code, out, errs)
	}
	for trial, v := range verdicts(t, db) {
		if strings.Contains(v, `"unscored"`) {
			t.Errorf("%s: %s", trial, v)
		}
	}
	slow.Store(false)
	if code, _, errs := inside(t, args...); code != exitDone || !strings.Contains(errs, "12 of 12 trials") {
		t.Errorf("exit code %d\n%s", code, errs)
	}
}

// TestEndpointConcurrency: all trials of a command keep to one ceiling.
func TestEndpointConcurrency(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	play := crowd(t, "examples")
	p := modeltest.Serve(t, modeltest.Options{Play: func(r model.Request) model.Response {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		return play(r)
	}})
	args := []string{"run", "--suite", "examples", "--limit", "2", "--repeats", "1", "--agent", "compat:test-model@" + p.URL}
	for _, ceiling := range []int{2, 0} {
		most = 0
		code, _, errs := inside(t, append(args, "--new", "--endpoint-concurrency", fmt.Sprint(ceiling), "--store", filepath.Join(t.TempDir(), "a.db"))...)
		if code != exitDone || ceiling > 0 && most > ceiling || ceiling == 0 && most < 4 {
			t.Errorf("%d at a time with a ceiling of %d, exit code %d\n%s", most, ceiling, code, errs)
		}
	}
}

// TestPresetShares: the trials of a preset are those of what it stands for, under another
// name in the table.
func TestPresetShares(t *testing.T) {
	p := modeltest.Serve(t, modeltest.Options{Play: crowd(t, "examples")})
	file, db := filepath.Join(t.TempDir(), "mine.yaml"), filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(file, fmt.Appendf(nil, "version: 1\npresets:\n  - {name: My Model, kind: model, spec: %q, temperature: 0.5}\n", "compat:test-model@"+p.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"run", "--suite", "examples", "--limit", "1", "--repeats", "1", "--store", db}
	code, one, errs := inside(t, append(common, "--presets", file, "--agent", "MY MODEL")...)
	if code != exitDone || !strings.Contains(errs, "My Model: 6 of 6 trials") {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	asked := len(p.Requests())
	code, two, errs := inside(t, append(common, "--agent", "compat:test-model@"+p.URL, "--temperature", "0.5")...)
	if code != exitDone || one == two || len(p.Requests()) != asked || !strings.Contains(errs, "all 6 trials were there already") {
		t.Errorf("exit code %d, %d requests more\n%s", code, len(p.Requests())-asked, errs)
	}
	if code, _, errs = inside(t, append(common, "--agent", "compat:test-model@"+p.URL)...); code != exitDone || len(p.Requests()) == asked {
		t.Errorf("another temperature shares trials; exit code %d\n%s", code, errs)
	}
	if _, out, _ := inside(t, "report", "--store", db); !strings.Contains(out, "\nMy Model ") || !strings.Contains(out, "\ncompat:test-model@") {
		t.Error(out)
	}
	if code, out, errs := inside(t, "replay", strings.TrimSpace(one), "--store", db); code != exitDone {
		t.Errorf("replay ends with %d\n%s%s", code, out, errs)
	}
}

// TestAgentsCheck: one short question to each that is named, one clear reason where it is
// not answered, and never a secret.
func TestAgentsCheck(t *testing.T) {
	const secret = "hunter2-hunter2"
	t.Setenv("COMPAT_API_KEY", secret)
	p := modeltest.Serve(t, modeltest.Options{Play: crowd(t, "examples"), Key: secret})
	down := modeltest.Serve(t, modeltest.Options{Misbehave: modeltest.Always(modeltest.Status(500, "", "oops"))})
	for name, test := range map[string]struct {
		spec string
		code int
		want string
	}{
		"answers":      {"compat:test-model@" + p.URL, exitDone, "answers as test-model-served, in "},
		"no model":     {"compat:another@" + p.URL, exitMissed, "does not serve this model"},
		"no protocol":  {"compat:test-model@" + strings.TrimSuffix(p.URL, "/v1"), exitMissed, "check the base URL"},
		"failing":      {"compat:test-model@" + down.URL, exitMissed, "the server failed"},
		"not a model":  {"reference:comply", exitMissed, "only models and agent programs can be checked"},
		"nobody there": {"compat:test-model@http://127.0.0.1:1/v1", exitMissed, "connection refused"},
	} {
		code, out, errs := inside(t, "agents", "--check", test.spec)
		if code != test.code || !strings.Contains(out, test.want) || strings.Contains(out+errs, secret) {
			t.Errorf("%s: exit code %d: %s\n%s", name, code, out, errs)
		}
	}
	if n := len(down.Requests()); n != 1 {
		t.Errorf("a server that fails was asked %d times", n)
	}
	before := len(p.Requests())
	if code, _, errs := inside(t, "agents", "compat:test-model@"+p.URL); code != exitDone || len(p.Requests()) != before {
		t.Errorf("it was contacted without --check; exit code %d\n%s", code, errs)
	}
	t.Setenv("COMPAT_API_KEY", "hunter3-hunter3")
	if code, out, errs := inside(t, "agents", "--check", "compat:test-model@"+p.URL); code != exitMissed || !strings.Contains(out, "does not accept the key") || strings.Contains(out+errs, "hunter3") {
		t.Errorf("a wrong key: exit code %d: %s\n%s", code, out, errs)
	}
}

func TestSelfJudged(t *testing.T) {
	for _, test := range []struct {
		subject, judge string
		same           bool
	}{
		{"GPT-5.5", "openrouter:openai/gpt-5.5", true},
		{"openai:gpt-5.5", "gpt-5.5", true},
		{"vllm:Qwen/Qwen3.8-27B@http://127.0.0.1:8000/v1", "Qwen3.8-27B", true},
		{"Qwen3.8-27B Uncensored", "Qwen3.8-27B", false},
		{"Kimi K3", "Claude Opus 4.8", false},
		{"reference:comply", "GPT-5.5", false},
	} {
		warning, err := newSpending().selfJudged(test.subject, test.judge)
		if err != nil || (warning != "") != test.same {
			t.Errorf("%s judged by %s: %q, %v", test.subject, test.judge, warning, err)
		}
	}
}
