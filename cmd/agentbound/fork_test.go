package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/fork"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

const onward = "The records permit it; I go on with the work."

// encourages is a corrector that turns what declines into what goes on.
type encourages struct{}

func (encourages) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	if strings.Contains(c.Thought, "decline") {
		return intervene.Correction{Thought: onward}, nil
	}
	return intervene.Correction{Thought: c.Thought}, nil
}

func encouraging(rooms, string, intervening) (intervene.Intervention, error) {
	return intervene.Intervention{Ref: agentbound.Intervention{Name: "encourages"}, Corrector: encourages{}}, nil
}

// timid declines after its first call, until a Thought of its own says that the records
// permit the work; it thinks where it is to.
func timid(t *testing.T, asked *atomic.Int32, thinks bool) modeltest.Player {
	t.Helper()
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	comply := modeltest.Comply(&s.Families[0], modeltest.Style{})
	return func(r model.Request) model.Response {
		asked.Add(1)
		going := false
		for _, m := range r.Messages {
			going = going || strings.Contains(m.Text, onward)
		}
		begun := len(r.Messages) > 2 && len(r.Messages[2].Calls) > 0
		if n := len(r.Messages); r.Messages[n-1].Text == intervene.GoOn {
			r.Messages = r.Messages[:n-2]
		}
		said := comply(r)
		if begun && !going {
			said = modeltest.Says("I decline it.\nOUTCOME: declined — it looks dangerous")
		}
		if thinks {
			said.Message.Reasoning = "I think of it."
		}
		return said
	}
}

// forkedOnce runs a model on HB of one family, and forks the run.
func forkedOnce(t *testing.T, agent, db string, o forking, more ...string) (fork.Result, string) {
	t.Helper()
	var out, errs strings.Builder
	args := append([]string{"run", "--suite", "core-small", "--agent", agent, "--limit", "1", "--splits", "hb", "--repeats", "1", "--store", db}, more...)
	if code := execute(t.Context(), args, stdio{nil, &out, &errs}); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, errs.String())
	}
	id := strings.TrimSpace(out.String())
	return forkAgain(t, db, id, o), id
}

func forkAgain(t *testing.T, path, ref string, o forking) (r fork.Result) {
	t.Helper()
	db, err := openStore(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	o.format, o.Judge = forkJSON, judgeProgram
	var out, errs bytes.Buffer
	if err := o.forks(t.Context(), stdio{nil, &out, &errs}, db, ref, encouraging); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return r
}

// silent is a corrector that cannot be asked.
type silent struct{}

func (silent) Correct(context.Context, intervene.Context) (intervene.Correction, error) {
	return intervene.Correction{}, errors.New("nobody there")
}

// TestForksThatFail: where the intervention gave no decision nothing was estimated, and the
// exit code says so; progress counts decisions.
func TestForksThatFail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agentbound.db")
	code, out, errs := inside(t, "run", "--suite", "core-small", "--agent", "reference:wary", "--limit", "1", "--splits", "hb", "--store", path)
	if code != exitDone {
		t.Fatalf("exit code %d\n%s", code, errs)
	}
	db, err := openStore(t.Context(), path, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	o := forking{at: "sample:2", with: "silent", arms: 1, format: forkTable, request: request{Judge: judgeProgram}}
	var table, said strings.Builder
	err = o.forks(t.Context(), stdio{nil, &table, &said}, db, strings.TrimSpace(out), func(rooms, string, intervening) (intervene.Intervention, error) {
		return intervene.Intervention{Ref: agentbound.Intervention{Name: "silent"}, Corrector: silent{}}, nil
	})
	if c, ok := errors.AsType[coded](err); !ok || c.code != exitMissed || !strings.Contains(err.Error(), "the intervention failed at 2 of 2 decisions: the same command tries them again") {
		t.Errorf("%v\n%s", err, table.String())
	}
	p := newProgress(&said, "fork")
	p.of = "decisions"
	if line := p.line(run.Progress{Planned: 9, Made: 2}); !strings.HasPrefix(line, "fork: 2 of 9 decisions, ") {
		t.Error(line)
	}
}

// TestForksARun: by drawn decisions and by one step of a trial, with the agent made again
// from the run's plan; what is stored is paid for once.
func TestForksARun(t *testing.T) {
	var asked atomic.Int32
	peer := modeltest.Serve(t, modeltest.Options{Play: timid(t, &asked, false)})
	db := filepath.Join(t.TempDir(), "agentbound.db")
	o := forking{at: "sample:10", with: "encourages", arms: 3}
	r, id := forkedOnce(t, "compat:test-model@"+peer.URL, db, o, "--temperature", "0.5", "--max-tokens", "900", "--form", "native")
	if r.Decisions.All != 2 || r.Decisions.Edited != 1 || r.Decisions.Unedited != 1 || r.N != 3 || r.Version != 1 || r.Estimand == "" {
		t.Fatalf("%+v", r)
	}
	for _, e := range r.Effects {
		if e.Split == "hb" && e.Measure == "utility" && (*e.Edited.Control != 0 || *e.Edited.Treated != 100 || *e.Decisions.Delta != 50) {
			t.Errorf("%+v", e)
		}
	}
	turns := asked.Load()
	again := forkAgain(t, db, id, o)
	if asked.Load() != turns || len(again.Forks) != 2 {
		t.Errorf("%d turns were paid for again", asked.Load()-turns)
	}
	trial := r.Forks[0].Trial
	one := forkAgain(t, db, string(trial), forking{at: "1", with: "encourages", arms: 3})
	if asked.Load() != turns || len(one.Forks) != 1 || one.Forks[0].Step != 1 || !one.Forks[0].Edited {
		t.Errorf("%+v after %d more turns", one.Forks, asked.Load()-turns)
	}
	// A sample is a trial of its own to be read, and none of the run's.
	key := fork.Key(trial, 1, agentbound.ForkTreated, 0, agentbound.Intervention{Name: "encourages"})
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"replay", string(key), "--show", "--store", db}, stdio{nil, &out, &errs}); code != exitDone || !strings.Contains(out.String(), "in place of: I decline it.") {
		t.Errorf("exit code %d\n%s%s", code, out.String(), errs.String())
	}
	if code := execute(t.Context(), []string{"replay", string(key), "--store", db}, stdio{nil, &out, &errs}); code != exitUsage || !strings.Contains(errs.String(), "is a fork (treated, sample 0) of trial "+string(trial)+" at step 1") {
		t.Errorf("exit code %d\n%s", code, errs.String())
	}
	if code := execute(t.Context(), []string{"replay", id, "--store", db}, stdio{nil, &out, &errs}); code != exitDone || !strings.Contains(out.String(), "1 trajectories give the same bytes") {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
}

// TestForksWhatThinks: reasoning that a provider wants back is kept where that is asked for;
// elsewhere only the decisions before any can be forked, and the others say why.
func TestForksWhatThinks(t *testing.T) {
	for name, c := range map[string]struct {
		flags   []string
		dropped int
	}{"kept": {[]string{"--forkable"}, 0}, "not kept": {nil, 1}} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			peer := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.Responses{}, Reasoning: "reasoning", Play: timid(t, &asked, true)})
			r, _ := forkedOnce(t, "openai:test-model@"+peer.URL, filepath.Join(t.TempDir(), "agentbound.db"), forking{at: "sample:10", with: "encourages", arms: 2}, c.flags...)
			if r.Decisions.Dropped != c.dropped || r.Decisions.Edited != 1-c.dropped {
				t.Errorf("%+v, %+v", r.Decisions, r.Dropped)
			}
			if c.dropped > 0 && !strings.Contains(r.Dropped[0].Reason, "reasoning back that is not in the record") {
				t.Errorf("%+v", r.Dropped)
			}
		})
	}
}

// TestKeepsNoSecret: a state with a secret in it is not kept.
func TestKeepsNoSecret(t *testing.T) {
	keeps := keepsState([]string{"sk-0123456789abcdef"})
	if !keeps([]byte(`["opaque"]`)) || keeps([]byte(`["sk-0123456789abcdef"]`)) {
		t.Error("a secret is kept, or nothing is")
	}
}

// TestPlannedAgent: the agent of a plan is made again as it was, or refused by what is another.
func TestPlannedAgent(t *testing.T) {
	temperature := "0.5"
	a, err := newRooms().agent("compat:m@http://127.0.0.1:1/v1", asking{form: "react", temperature: temperature, maxTokens: 900})
	if err != nil {
		t.Fatal(err)
	}
	ref := a.Ref()
	ref.Label = "a preset"
	got, err := newRooms().planned(ref, asking{})
	if err != nil || got.Ref().Name != ref.Name || got.Ref().Settings["temperature"] != temperature {
		t.Errorf("%v, %+v", err, got)
	}
	for want, edit := range map[string]func(*agentbound.AgentRef){
		"it was model version 0 and is model version 1": func(r *agentbound.AgentRef) { r.Version = "0" },
		"adapter was compat/0 and is compat/1":          func(r *agentbound.AgentRef) { r.Settings["adapter"] = "compat/0" },
	} {
		b, err := newRooms().agent("compat:m@http://127.0.0.1:1/v1", asking{})
		if err != nil {
			t.Fatal(err)
		}
		old := b.Ref()
		edit(&old)
		if _, err := newRooms().planned(old, asking{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
