package run_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/replay"
)

// fickle is a model that never says the same twice, fails now and then, and sometimes
// does not answer before the trial's time is over.
type fickle struct{}

func (fickle) Ref() model.Ref { return model.Ref{Name: "fickle"} }

func (fickle) Chat(ctx context.Context, _ model.Request) (model.Response, error) {
	switch n := rand.IntN(100); {
	case n < 8:
		return model.Response{}, &model.Error{Fault: model.FaultServer, Who: "fickle", What: fmt.Sprintf("no luck with %d", rand.Uint64())}
	case n < 10 && model.PlayOf(ctx).Judge == "":
		<-ctx.Done()
		return model.Response{}, context.Cause(ctx)
	}
	time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
	return modeltest.Says(fmt.Sprint(rand.Uint64())), nil
}

// talks is a subject that thinks what the model says, and ends after three turns.
func talks(m model.Model) *subject {
	return &subject{play: func(ctx context.Context, e *episode.Episode, _ int) error {
		r := model.Request{Messages: []model.Message{{Role: model.User, Text: e.Brief().Instruction}}}
		for range 3 {
			res, err := m.Chat(ctx, r)
			if err != nil {
				return err
			}
			r.Messages = append(r.Messages, res.Message, model.Message{Role: model.User, Text: "and?"})
			d := episode.Decision{Thought: res.Message.Text, Usage: agentbound.Usage{InputTokens: int64(len(res.Message.Text))}, Calls: []agentbound.Call{{Tool: "log", Args: agentbound.Value(`{"text":"hm"}`)}}}
			if _, err := e.Commit(ctx, d); err != nil {
				return err
			}
		}
		_, err := e.Commit(ctx, episode.Decision{Outcome: &agentbound.Outcome{Word: agentbound.Done}})
		return err
	}}
}

// opinion is a judge that asks a model the same thing twice and goes by the sum. One
// that is eager asks about faulted trajectories as well.
type opinion struct {
	name  string
	model model.Model
	eager bool
}

func (j opinion) Config() string { return j.name }

func (j opinion) Judge(ctx context.Context, _ *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (agentbound.Verdict, error) {
	v := agentbound.Verdict{Judge: j.name, Unsafe: agentbound.UnsafeNone, Outcome: tr.Outcome.Word, Criteria: []agentbound.Met{}}
	faulted := tr.End.Reason == agentbound.EndFault
	if v.Unscored = tr.End.Fault; faulted && !j.eager {
		return v, nil
	}
	sum := 0
	for range 2 {
		res, err := j.model.Chat(ctx, model.Request{Messages: []model.Message{{Role: model.User, Text: string(t.ID) + string(agentbound.DigestJSON(tr))}}})
		if err != nil {
			return v, err
		}
		sum += int(res.Message.Text[0] - '0')
	}
	if v.Safety = sum % 4; sum%5 == 0 && !faulted {
		return v, errors.New("the answers cannot be read")
	}
	return v, nil
}

// wrapped is a bench whose subject and judges all ask one model, through wrap.
func wrapped(wrap func(model.Model, model.Part) model.Model) run.Bench {
	m := wrap(fickle{}, model.PartJudge)
	b := bench(talks(wrap(fickle{}, model.PartSubject)), programJudge(), opinion{"opinion/1", m, false}, opinion{"opinion/2", m, true})
	b.Clock, b.ModelTime, b.Limits.Seconds = nil, true, 1
	return b
}

// TestTape: what several broken-off commands left in a store comes again from their
// recording, in one go and to the byte: attempts at trials and at verdicts, failures,
// times out, costs.
func TestTape(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	live := open(t, "")
	var cfg run.Config
	for _, stop := range []int{5, 9, 1000, 1000} { // trials stored
		rec, err := replay.Record(path, replay.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cfg = config(t, live, wrapped(rec.Wrap), func(cfg *run.Config) {
			cfg.Stored = rec.Stored
			cfg.Observe = func(p run.Progress) {
				if p.Made >= stop {
					cancel()
				}
			}
		})
		if err := rec.Run(cfg.Plan); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Execute(ctx, cfg); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cancel()
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	}
	recording, err := replay.Open(path, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer recording.Close()
	again := open(t, "")
	replayed := config(t, again, wrapped(func(m model.Model, part model.Part) model.Model { return recording.Wrap(m.Ref(), part) }), func(cfg *run.Config) {
		cfg.More, cfg.Concurrency = recording.More, 7
	})
	recording.Run(replayed.Plan)
	execute(t, replayed)
	for _, j := range cfg.Judges {
		want, got := rows(t, live, cfg.Plan, j.Config()), rows(t, again, replayed.Plan, j.Config())
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", j.Config(), d)
		}
		unscored, timed := 0, time.Duration(0)
		for _, r := range want {
			one, two := result(t, live, r), result(t, again, r)
			if d := cmp.Diff(one, two); d != "" {
				t.Errorf("%s/%s/%d: %s", r.Family, r.Split, r.Repeat, d)
			}
			if !r.Verdict.Scored() {
				unscored++
			}
			for _, s := range one.Trajectory.Steps {
				timed += time.Duration(s.MS)
			}
		}
		if timed == 0 {
			t.Error("no step took any time")
		}
		t.Logf("%s: %d rows, %d unscored", j.Config(), len(want), unscored)
	}
}

func result(t *testing.T, st store.Store, r store.Row) agentbound.Result {
	t.Helper()
	res, err := st.Result(t.Context(), string(r.Key))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

var _ judge.Judge = opinion{}
