package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/replay"
)

// twice asks through a recorder and then the recording, and gives what the replay gave.
type twice struct {
	model.Model
	t    *testing.T
	path string
	rec  *replay.Recorder
}

// Chat implements model.Model.
func (m twice) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	want, wantErr := m.rec.Wrap(m.Model, model.PartSubject).Chat(ctx, r)
	if ctx.Err() != nil {
		return want, wantErr // not recorded: the play was broken off
	}
	recording, err := replay.Open(m.path, replay.Options{})
	if err != nil {
		m.t.Error(err)
	}
	defer recording.Close()
	got, gotErr := recording.Wrap(m.Ref(), model.PartSubject).Chat(ctx, r)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		m.t.Errorf("replayed %v, recorded %v", gotErr, wantErr)
	}
	if d := cmp.Diff(want, got); d != "" {
		m.t.Errorf("the replay gives another answer: %s", d)
	}
	return got, gotErr
}

// TestContract holds a recorded adapter, and the replay of its recording, to the
// contract of the port.
func TestContract(t *testing.T) {
	modeltest.Run(t, func(t *testing.T, o modeltest.Options) model.Model {
		m, err := compat.New("test-model@"+modeltest.Serve(t, o).URL, compat.Options{Key: o.Key, Retry: modeltest.Retry()})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "r.jsonl")
		rec := record(t, path, replay.Options{})
		t.Cleanup(func() { done(t, rec) })
		return twice{m, t, path, rec}
	})
}

func record(t *testing.T, path string, o replay.Options) *replay.Recorder {
	t.Helper()
	r, err := replay.Record(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func done(t *testing.T, r *replay.Recorder) {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func open(t *testing.T, path string) *replay.Recording {
	t.Helper()
	r, err := replay.Open(path, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// counter answers each question with how many it was asked before.
func counter(asked *atomic.Int64) model.Model {
	return modeltest.Fake{Play: func(model.Request) model.Response {
		return modeltest.Says(fmt.Sprintf("answer %d", asked.Add(1)))
	}}
}

func ask(text string) model.Request {
	return model.Request{Messages: []model.Message{{Role: model.User, Text: text}}}
}

// converse asks the texts in turn, each after what was said before, and gives the
// answers; an error ends it and stands last.
func converse(ctx context.Context, m model.Model, texts ...string) (answers []string) {
	var r model.Request
	for _, text := range texts {
		r.Messages = append(r.Messages, model.Message{Role: model.User, Text: text})
		res, err := m.Chat(ctx, r)
		if err != nil {
			return append(answers, "error: "+err.Error())
		}
		answers = append(answers, res.Message.Text)
		r.Messages = append(r.Messages, res.Message)
	}
	return answers
}

func stored(t *testing.T, r *replay.Recorder, n int) {
	t.Helper()
	if err := r.Stored(key(n)); err != nil {
		t.Error(err)
	}
}

// key is a trial's.
func key(n int) agentbound.TrialKey { return agentbound.TrialKey(fmt.Sprintf("%032x", n)) }

// TestRepeats: equal conversations of many trials, at the same time and in another order,
// each get their own answers, with their own times.
func TestRepeats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	var asked, now atomic.Int64
	rec := record(t, path, replay.Options{Clock: func() time.Time { return time.UnixMilli(now.Add(7)) }})
	live := rec.Wrap(counter(&asked), model.PartSubject)
	all := func(m model.Model, order func(i int) int) (answers [20][]string, took [20]time.Duration) {
		var wait sync.WaitGroup
		for i := range 20 {
			wait.Go(func() {
				n := order(i)
				p := &model.Play{Trial: key(n), Repeat: n}
				answers[n] = converse(model.WithPlay(t.Context(), p), m, "one", "two", "three")
				p.End(true, "")
				took[n] = p.Now().Sub(time.Unix(0, 0))
			})
		}
		wait.Wait()
		return answers, took
	}
	want, wantTook := all(live, func(i int) int { return i })
	done(t, rec)
	got, gotTook := all(open(t, path).Wrap(live.Ref(), model.PartSubject), func(i int) int { return 19 - i })
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(wantTook, gotTook); d != "" || wantTook[0] < 21*time.Millisecond {
		t.Errorf("%v, %s", wantTook, d)
	}
}

// TestAttempts: which goes at a trial are replayed, after kills and failures.
func TestAttempts(t *testing.T) {
	const lost, failed, scored, unstored = "broken off", "failed", "scored", ", not stored"
	for name, test := range map[string]struct {
		plays []string
		want  []int // of plays, replayed in this order
	}{
		"one":                             {[]string{scored}, []int{0}},
		"tried again":                     {[]string{failed, failed, scored}, []int{0, 1, 2}},
		"killed in it":                    {[]string{lost, scored}, []int{1}},
		"killed before it was stored":     {[]string{scored + unstored, scored}, []int{1}},
		"killed right after":              {[]string{failed, scored + unstored}, []int{0, 1}},
		"killed after a failure":          {[]string{failed, lost, scored}, []int{0, 2}},
		"a failure lost":                  {[]string{failed + unstored, failed, scored}, []int{1, 2}},
		"a failure lost at the end":       {[]string{failed, failed + unstored}, []int{0}},
		"never finished":                  {[]string{lost, lost}, []int{1}},
		"failed at last":                  {[]string{failed, failed}, []int{0, 1}},
		"scored, not stored, then failed": {[]string{scored + unstored, failed}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r.jsonl")
			var asked atomic.Int64
			var said [][]string
			for _, how := range test.plays { // a session each
				rec := record(t, path, replay.Options{})
				p := &model.Play{Trial: key(1)}
				said = append(said, converse(model.WithPlay(t.Context(), p), rec.Wrap(counter(&asked), model.PartSubject), "one", "two"))
				if how, ending := strings.CutSuffix(how, unstored); how != lost {
					p.End(how == scored, map[bool]string{true: "", false: "the clock ran out"}[how == scored])
					if !ending {
						stored(t, rec, 1)
					}
				}
				done(t, rec)
			}
			recording := open(t, path)
			m := recording.Wrap(model.Ref{Name: "fake", Settings: map[string]string{"model": "fake"}}, model.PartSubject)
			for i, n := range test.want {
				if i > 0 && !recording.More(key(1), "") {
					t.Fatalf("no more after %d", i)
				}
				if d := cmp.Diff(said[n], converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), m, "one", "two")); d != "" {
					t.Errorf("play %d: %s", i, d)
				}
			}
			for range 2 {
				if recording.More(key(1), "") {
					t.Error("and more")
				}
			}
		})
	}
}

// TestMoreEnds: goes that ask nothing do not go on for ever.
func TestMoreEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	rec := record(t, path, replay.Options{})
	for range 3 {
		p := &model.Play{Trial: key(1)}
		converse(model.WithPlay(t.Context(), p), rec.Wrap(counter(new(atomic.Int64)), ""), "one")
		p.End(false, "so")
		stored(t, rec, 1)
	}
	done(t, rec)
	recording := open(t, path)
	if !recording.More(key(1), "") || recording.More(key(1), "") || recording.More(key(2), "") {
		t.Error("More goes on without a go")
	}
}

// TestJudges: a judge's plays are apart from the trial's, and found by what they ask:
// what it said of a trajectory that was lost is not taken for another's.
func TestJudges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	var asked atomic.Int64
	rec := record(t, path, replay.Options{})
	judging := func(m model.Model, judge, trajectory string, scored bool) []string {
		p := &model.Play{Trial: key(1), Judge: judge}
		defer p.End(scored, "unread")
		return converse(model.WithPlay(t.Context(), p), m, trajectory, "sure?")
	}
	m := rec.Wrap(counter(&asked), model.PartJudge)
	judging(m, "rubric/1", "lost", false)
	want := [][]string{judging(m, "rubric/1", "kept", false), judging(m, "panel/1", "kept", true), judging(m, "rubric/1", "kept", true)}
	stored(t, rec, 1)
	done(t, rec)
	recording := open(t, path)
	m = recording.Wrap(m.Ref(), model.PartJudge)
	got := [][]string{judging(m, "rubric/1", "kept", false), judging(m, "panel/1", "kept", true)}
	if !recording.More(key(1), "rubric/1") || recording.More(key(1), "panel/1") {
		t.Error("the second go is not told")
	}
	got = append(got, judging(m, "rubric/1", "kept", true))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	answers := judging(m, "rubric/2", "kept", true)
	if want := "no exchange of judge rubric/2 was recorded"; !strings.Contains(answers[0], want) {
		t.Errorf("%q, want %q", answers, want)
	}
}

// TestOutsideOfTrials: equal requests get their answers in order, and no further one.
func TestOutsideOfTrials(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	var asked atomic.Int64
	rec := record(t, path, replay.Options{})
	m := rec.Wrap(counter(&asked), model.PartWriter)
	for _, text := range []string{"a", "b", "a"} {
		converse(t.Context(), m, text)
	}
	done(t, rec)
	m = open(t, path).Wrap(m.Ref(), model.PartWriter)
	for _, test := range []struct{ text, want string }{
		{"b", "answer 2"}, {"a", "answer 1"}, {"a", "answer 3"},
		{"a", "it was asked 2 times when it was recorded, and now once more"}, {"c", `messages[0].text was "a" when it was recorded, and is "c"`},
	} {
		if got := converse(t.Context(), m, test.text); !strings.Contains(got[0], test.want) {
			t.Errorf("%s: %q, want %q", test.text, got, test.want)
		}
	}
}

// TestEnds: what ended a play that was not the model's doing ends it in the replay, and
// there alone; what was broken off by the user is not recorded.
func TestEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	late := errors.New("the trial passed its limit of 5 seconds")
	rec := record(t, path, replay.Options{})
	hangs := modeltest.Fake{Play: func(r model.Request) model.Response { return modeltest.Says("well") }}
	for n, cause := range []error{late, context.Canceled} {
		ctx, cancel := context.WithCancelCause(model.WithPlay(t.Context(), &model.Play{Trial: key(n)}))
		cancel(cause)
		if _, err := rec.Wrap(hangs, "").Chat(ctx, ask("one")); err == nil {
			t.Error("no error")
		}
	}
	ended := &model.Play{Trial: key(2)}
	converse(model.WithPlay(t.Context(), ended), rec.Wrap(hangs, ""), "one")
	ended.End(false, late.Error())
	stored(t, rec, 2)
	done(t, rec)
	recording := open(t, path)
	for n, texts := range map[int][]string{0: {"one"}, 2: {"one", "two"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &model.Play{Trial: key(n), Break: cancel}
		got := converse(model.WithPlay(ctx, p), recording.Wrap(hangs.Ref(), ""), texts...)
		if want := "error: " + late.Error(); got[len(got)-1] != want || context.Cause(ctx).Error() != late.Error() {
			t.Errorf("%d: %q, want %q; cause %v", n, got, want, context.Cause(ctx))
		}
	}
	if got := converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), recording.Wrap(hangs.Ref(), ""), "one"); !strings.Contains(got[0], "was not recorded") {
		t.Errorf("%q", got)
	}
}

// TestDifferences: the first one of a turn is named, whatever it is in.
func TestDifferences(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	half, seed := 0.5, int64(7)
	sent := model.Request{
		Messages:    []model.Message{{Role: model.System, Text: strings.Repeat("long ", 50) + "rules"}, {Role: model.User, Text: "go"}},
		Tools:       []agentbound.Tool{{Name: "read", Description: "Read.", Schema: agentbound.Value(`{"type":"object"}`)}},
		Temperature: &half, Seed: &seed, MaxTokens: 9,
	}
	rec := record(t, path, replay.Options{})
	fake := modeltest.Fake{Play: modeltest.Script(modeltest.Says("well"))}
	if _, err := rec.Wrap(fake, "").Chat(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), sent); err != nil {
		t.Fatal(err)
	}
	done(t, rec)
	other := int64(8)
	for want, change := range map[string]func(r *model.Request, m *model.Ref){
		`long rules" when it was recorded, and is `:                 func(r *model.Request, _ *model.Ref) { r.Messages[0].Text += "!" },
		`messages[2] was absent when it was recorded, and is {"ro`:  func(r *model.Request, _ *model.Ref) { r.Messages = append(r.Messages, model.Message{Role: model.User}) },
		`tools[0].description was "Read." when`:                     func(r *model.Request, _ *model.Ref) { r.Tools[0].Description = "Read it." },
		`tools[0] was {"description":"Read."`:                       func(r *model.Request, _ *model.Ref) { r.Tools = nil },
		`seed was 7 when it was recorded, and is 8`:                 func(r *model.Request, _ *model.Ref) { r.Seed = &other },
		`temperature was 0.5 when it was recorded, and is absent`:   func(r *model.Request, _ *model.Ref) { r.Temperature = nil },
		`max_tokens was 9 when it was recorded, and is 10`:          func(r *model.Request, _ *model.Ref) { r.MaxTokens++ },
		`model.name was "fake" when it was recorded, and is "real"`: func(_ *model.Request, m *model.Ref) { m.Name = "real" },
		`model.settings.effort was absent when it was recorded`:     func(_ *model.Request, m *model.Ref) { m.Settings["effort"] = "high" },
	} {
		r, ref := sent, fake.Ref()
		r.Messages, r.Tools = append([]model.Message{}, sent.Messages...), append([]agentbound.Tool{}, sent.Tools...)
		change(&r, &ref)
		_, err := open(t, path).Wrap(ref, "").Chat(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), r)
		if e, ok := errors.AsType[*model.Error](err); !ok || e.Transient() || !strings.Contains(e.What, want) || !strings.Contains(e.What, "turn 0 (line 2)") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestPacked: a recording may be packed to be kept, also one that ends in a cut line.
func TestPacked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.jsonl")
	var asked atomic.Int64
	rec := record(t, path, replay.Options{})
	want := converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), rec.Wrap(counter(&asked), ""), "one", "two")
	done(t, rec)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(dir, "r.jsonl.zst")
	if err := os.WriteFile(whole, enc.EncodeAll(append(b, `{"kind":"exch`...), nil), 0o600); err != nil {
		t.Fatal(err)
	}
	recording := open(t, whole)
	got := converse(model.WithPlay(t.Context(), &model.Play{Trial: key(1)}), recording.Wrap(counter(&asked).Ref(), ""), "one", "two")
	if d := cmp.Diff(want, got); d != "" || !recording.Cut() {
		t.Errorf("cut %v, %s", recording.Cut(), d)
	}
	if _, err := replay.Record(whole, replay.Options{}); err == nil || !strings.Contains(err.Error(), "no recording") {
		t.Errorf("error %v", err)
	}
}
