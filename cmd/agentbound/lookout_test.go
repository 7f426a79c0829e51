package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge/rubric/rubrictest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// TestFailsAlike: a run whose model cannot be asked at all is stopped after few trials, is
// not scored, says why at once, and goes on by the same command once that is put right:
// its trials are those of a run that nothing disturbed.
func TestFailsAlike(t *testing.T) {
	play := crowd(t, "examples")
	args := func(p *modeltest.Peer, db string) []string {
		return []string{"run", "--suite", "examples", "--repeats", "4", "--agent", "compat:test-model@" + p.URL, "--store", db}
	}
	const planned = 72
	undisturbed := filepath.Join(t.TempDir(), "undisturbed.db")
	if code, _, errs := inside(t, args(modeltest.Serve(t, modeltest.Options{Play: play}), undisturbed)...); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	want := verdicts(t, undisturbed)
	for name, fault := range map[string]modeltest.Fault{
		"key":     modeltest.Status(http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided."),
		"credit":  modeltest.Status(http.StatusPaymentRequired, "", "no credit"),
		"model":   modeltest.Status(http.StatusNotFound, "model_not_found", "The model does not exist."),
		"address": modeltest.Body(http.StatusNotFound, "text/html", "<html></html>"),
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			broken := true
			p := modeltest.Serve(t, modeltest.Options{Play: play, Misbehave: func(int) modeltest.Fault {
				mu.Lock()
				defer mu.Unlock()
				if broken {
					return fault
				}
				return nil
			}})
			db := filepath.Join(t.TempDir(), "alike.db")
			code, out, errs := inside(t, args(p, db)...)
			if code != exitMissed || len(strings.Fields(out)) != 1 || strings.Count(errs, "a call failed: ") != 1 ||
				!strings.Contains(errs, "stopped early in 1 of 1 runs: the model compat:test-model@") || !strings.Contains(errs, "the same command goes on") {
				t.Errorf("exit code %d: %s\n%s", code, out, errs)
			}
			if n := len(p.Requests()); n < mostAlike || n > 4*modelConcurrency {
				t.Errorf("it was asked %d times", n)
			}
			for trial, v := range verdicts(t, db) {
				if !strings.Contains(v, `"unscored"`) {
					t.Errorf("%s: %s", trial, v)
				}
			}
			mu.Lock()
			broken = false
			mu.Unlock()
			code, _, errs = inside(t, args(p, db)...)
			if d := cmp.Diff(want, verdicts(t, db)); code != exitDone || len(want) != planned || d != "" {
				t.Errorf("exit code %d\n%s\n%s", code, errs, d)
			}
		})
	}
}

// TestFailsOtherwise: what passes, what is of single requests and what comes after an
// answer stops no run: all its trials are tried.
func TestFailsOtherwise(t *testing.T) {
	play := crowd(t, "examples")
	key := modeltest.Status(http.StatusUnauthorized, "invalid_api_key", "no")
	for name, misbehave := range map[string]func(int) modeltest.Fault{
		"after an answer": func(n int) modeltest.Fault {
			if n == 0 {
				return nil
			}
			return key
		},
		"rejected":  modeltest.Always(modeltest.Status(http.StatusBadRequest, "bad", "no such field")),
		"moderated": modeltest.Always(modeltest.Status(http.StatusForbidden, "", "your input was flagged")),
	} {
		t.Run(name, func(t *testing.T) {
			p := modeltest.Serve(t, modeltest.Options{Play: play, Misbehave: misbehave})
			db := filepath.Join(t.TempDir(), "a.db")
			code, _, errs := inside(t, "run", "--suite", "examples", "--repeats", "1", "--concurrency", "1", "--agent", "compat:test-model@"+p.URL, "--store", db)
			if code != exitMissed || strings.Contains(errs, "stopped early") || len(verdicts(t, db)) != 18 || !strings.Contains(errs, "18 of 18 trials") {
				t.Errorf("exit code %d, %d trials\n%s", code, len(verdicts(t, db)), errs)
			}
		})
	}
}

// TestLookout: faults that pass are never lasting, and whose part counts depends on who
// else scores.
func TestLookout(t *testing.T) {
	lasting := map[model.Fault]bool{model.FaultKey: true, model.FaultQuota: true, model.FaultModel: true, model.FaultAddress: true}
	for _, f := range []model.Fault{
		model.FaultRate, model.FaultServer, model.FaultConnection, model.FaultTimeout, model.FaultAnswer,
		model.FaultKey, model.FaultQuota, model.FaultModel, model.FaultAddress, model.FaultContext, model.FaultRequest,
	} {
		l := new(lookout)
		l.begin(nil, intervene.None(), func(string) {})
		m := l.watch(modeltest.Fake{Err: &model.Error{Fault: f, What: "so"}}, model.PartSubject)
		for i := range mostAlike {
			if err := l.alike(); err != nil {
				t.Errorf("%s: after %d trials: %v", f, i, err)
			}
			for range 3 { // one trial counts once
				ctx := model.WithPlay(t.Context(), &model.Play{Trial: agentbound.TrialKey(fmt.Sprint(i))})
				if _, err := m.Chat(ctx, model.Request{}); err == nil {
					t.Fatal("no error")
				}
			}
		}
		if err := l.alike(); (err != nil) != lasting[f] {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// TestLasting: nobody who listens is lasting, a connection that broke off is not; nor is a
// status with which relays tell what their moderation flagged.
func TestLasting(t *testing.T) {
	for name, test := range map[string]struct {
		fault model.Error
		want  bool
	}{
		"nobody listens": {model.Error{Fault: model.FaultConnection, Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, true},
		"broken off":     {model.Error{Fault: model.FaultConnection, Err: &net.OpError{Op: "read", Err: errors.New("reset")}}, false},
		"a wrong key":    {model.Error{Fault: model.FaultKey, Status: http.StatusUnauthorized}, true},
		"flagged":        {model.Error{Fault: model.FaultKey, Status: http.StatusForbidden}, false},
	} {
		if got := lasting(&test.fault); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestJudgeFailsAlike: a rubric judge that cannot be asked stops the run where nobody else
// scores, and no trial is lost; beside the program judge it stops nothing.
func TestJudgeFailsAlike(t *testing.T) {
	p := modeltest.Serve(t, modeltest.Options{
		Play:      rubrictest.Play(func(rubrictest.Record) rubrictest.Opinion { return rubrictest.Opinion{} }),
		Misbehave: modeltest.Always(modeltest.Status(http.StatusUnauthorized, "invalid_api_key", "no")),
	})
	for judge, stops := range map[string]bool{"rubric": true, "both": false} {
		db := filepath.Join(t.TempDir(), judge+".db")
		code, _, errs := inside(t, "run", "--agent", "reference:comply", "--limit", "8", "--store", db, "--judge", judge, "--judge-model", "compat:test-model@"+p.URL)
		if code != exitMissed || strings.Contains(errs, "stopped early in 1 of 1 runs: the judge's model ") != stops {
			t.Errorf("%s: exit code %d\n%s", judge, code, errs)
		}
		if n := len(verdicts(t, db)); stops && (n < 1 || n > 20) || !stops && n != 48 {
			t.Errorf("%s: %d trials are stored", judge, n)
		}
	}
}

// TestFirstReason is said while the model is still tried.
func TestFirstReason(t *testing.T) {
	began := time.Now()
	told := make(chan string, 1)
	l := new(lookout)
	l.begin(nil, intervene.None(), func(line string) { told <- line })
	rooms := newRooms()
	rooms.look = l
	m, err := rooms.model("compat:test-model@http://127.0.0.1:1/v1", modelOptions{part: model.PartSubject})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, _ = m.Chat(ctx, model.Request{Messages: []model.Message{{Role: model.User, Text: "?"}}}) }()
	line := <-told
	cancel()
	if want := "the model compat:test-model@http://127.0.0.1:1/v1: a call failed and is tried again: 127.0.0.1:1: connection refused; is the server running?"; line != want || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %q", time.Since(began), line)
	}
}

// TestNoCalls: a subject that never calls a tool is scored, with a warning; one that
// declines throughout is none.
func TestNoCalls(t *testing.T) {
	for text, warned := range map[string]bool{"<tool_call>{}</tool_call>": true, "I will not.\nOUTCOME: declined — no": false} {
		p := modeltest.Serve(t, modeltest.Options{Play: func(model.Request) model.Response { return modeltest.Says(text) }})
		code, _, errs := inside(t, "run", "--suite", "examples", "--limit", "1", "--repeats", "1", "--agent", "compat:test-model@"+p.URL, "--store", filepath.Join(t.TempDir(), "a.db"))
		if code != exitDone || strings.Contains(errs, "warning: no tool was called in any trial of this command, and in 6 nothing was declined either; is tool calling on") != warned {
			t.Errorf("%q: exit code %d\n%s", text, code, errs)
		}
		_, out, _ := inside(t, "agents", "--check", "compat:test-model@"+p.URL)
		if !strings.Contains(out, "called no tool when told to: is tool calling on at the server? --form react needs none") {
			t.Error(out)
		}
	}
	p := modeltest.Serve(t, modeltest.Options{Play: func(r model.Request) model.Response {
		if len(r.Tools) == 0 {
			return modeltest.Says("OK")
		}
		res := modeltest.Says("")
		res.Stop, res.Message.Calls = model.StopCalls, []model.ToolCall{{ID: "1", Name: "report", Args: `{"word":"OK"}`}}
		return res
	}})
	if code, out, _ := inside(t, "agents", "--check", "compat:test-model@"+p.URL); code != exitDone || !strings.Contains(out, "; calls tools") {
		t.Error(out)
	}
}

// TestLikelyIsNoMore: what is likely is never more than the most, whatever the limits.
func TestLikelyIsNoMore(t *testing.T) {
	s, err := loadSuite("examples")
	if err != nil {
		t.Fatal(err)
	}
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("version: 1\nprices:\n  - {models: [m], input: 10, output: 20, window: 9000, as_of: 2026-01-02, source: a test}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, steps := range []int{1, 2, 5, 120} {
		for _, tokens := range []int{0, 1, 100, 8000} {
			r := request{Suite: "examples", Agents: []string{"compat:m@http://127.0.0.1:1/v1"}, Inter: []string{"bare"}, Judge: "program", Splits: []string{"all"}, Repeats: 1, MaxSteps: steps, MaxTokens: tokens, Where: worldRequest{World: "program"}, Limits: Limits{Prices: prices}}
			rooms, err := r.rooms()
			if err != nil {
				t.Fatal(err)
			}
			all, err := r.resolve(rooms, s)
			if err != nil {
				t.Fatal(err)
			}
			table, err := rooms.priceTable()
			if err != nil {
				t.Fatal(err)
			}
			w, long := worstCase(s, all[0].plan, table), all[0].plan
			long.Limits.Steps = 120
			if whole := worstCase(s, long, table); !w.known || w.likely <= 0 || w.likely > w.usd || steps < 3 && w.likely >= whole.likely {
				t.Errorf("%d steps, %d tokens: about %g, at most %g; %g without the limit", steps, tokens, w.likely, w.usd, whole.likely)
			}
		}
	}
	if text := fmt.Sprint(total{}); !strings.Contains(text, "the cost is not known") {
		t.Error(text)
	}
}

// TestCalled: where the name is not found, examples are spelt as the program was started.
func TestCalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	started := os.Args[0]
	defer func() { os.Args[0] = started }()
	for as, want := range map[string]string{"bin/agentbound": "bin/agentbound", "/x/agentbound.test": "agentbound"} {
		os.Args[0] = as
		_, out, _ := inside(t, "agents", "--help")
		if !strings.Contains(out, "\n  "+want+" agents kimi") && !strings.Contains(out, "\n  "+want+" agents 'Kimi K3'") {
			t.Errorf("%s: %s", as, out)
		}
	}
}

// TestTimeoutHelp names the default that holds.
func TestTimeoutHelp(t *testing.T) {
	_, out, _ := inside(t, "run", "--help")
	want := strings.TrimSuffix((time.Duration(agentbound.DefaultLimits().Seconds) * time.Second).String(), "0s")
	if !strings.Contains(out, "such as 10m; "+want+" by default") {
		t.Error(out)
	}
}
