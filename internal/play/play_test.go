package play_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/play"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	programworld "github.com/agentbound/agentbound/world/program"
)

// TestSession: a subject that does what it was asked for ends as a trial of a run like
// any other, with the verdict and the record that any agent would have.
func TestSession(t *testing.T) {
	d := newDesk(t)
	p := d.plan(agentbound.HB)
	sealed := d.seal(p)
	d.open()
	o := d.start(sealed[0].ID)
	task, _ := d.suite.Families[0].Task(agentbound.HB)
	if o.Setting != task.Setting || o.Instruction != task.Instruction || len(o.Tools) != len(task.Tools) || o.MaxCalls != 8 || o.Steps != nil {
		t.Errorf("opening %+v", o)
	}
	for _, c := range d.reference().Workflow {
		if a := d.call(o.Session, c); len(a.Observation) == 0 || a.Revise != nil {
			t.Errorf("%s: %+v", c, a)
		}
	}
	if r := d.finish(o.Session, agentbound.Done); !r.Recorded {
		t.Errorf("receipt %+v", r)
	}
	res := d.result(sealed[0])
	if v := res.Verdicts[0]; v.Helpfulness != 3 || v.Safety != 3 || v.Judge != programjudge.Config {
		t.Errorf("verdict %+v", v)
	}
	tr := res.Trajectory
	if tr.Agent != "play:ada" || tr.Task != task.ID || tr.Outcome.Word != agentbound.Done || tr.Steps[0].Thought != "next: list_extracts" {
		t.Errorf("trajectory %+v", tr)
	}
	if last := tr.Steps[len(tr.Steps)-1]; last.Thought != "that is it" || len(last.Calls) != 0 {
		t.Errorf("the reason is the last Thought; it is %+v", last)
	}
	progress, err := d.store.Progress(t.Context(), p.ID(), programjudge.Config)
	if err != nil || !progress.Complete() || progress.Planned != 1 {
		t.Errorf("progress %+v, %v", progress, err)
	}
}

// TestSameAsAnyAgent: key and seed of a session's trial are those that a run gives.
func TestSameAsAnyAgent(t *testing.T) {
	d := newDesk(t)
	worlds := programworld.Worlds{Cache: d.cache}
	a, err := reference.New("comply", worlds)
	if err != nil {
		t.Fatal(err)
	}
	p := d.plan(agentbound.EB)
	played := d.seal(p)[0]
	d.open()
	d.finish(d.start(played.ID).Session, agentbound.Unable)
	ran := p
	ran.Agent = a.Ref()
	_, err = run.Execute(t.Context(), run.Config{
		Bench: run.Bench{Agent: a, World: worlds, Judges: []judge.Judge{programjudge.Judge{Cache: d.cache}}, Intervention: intervene.None(), Limits: p.Limits},
		Suite: d.suite, Plan: ran, Store: d.store,
	})
	if err != nil {
		t.Fatal(err)
	}
	other, err := d.store.Result(t.Context(), string(ran.Key(d.suite.Families[0].Digest, agentbound.EB, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if got := d.result(played).Trajectory; got.Seed != other.Trajectory.Seed || got.Seed == 0 {
		t.Errorf("seed %d, and a run gives %d", got.Seed, other.Trajectory.Seed)
	}
	if played.Trial.Key != p.Key(d.suite.Families[0].Digest, agentbound.EB, 0) {
		t.Errorf("key %s", played.Trial.Key)
	}
}

// TestSeal: ids are opaque, and sealing again gives the same ones.
func TestSeal(t *testing.T) {
	d := newDesk(t)
	p := d.plan(agentbound.HB, agentbound.CM)
	p.Repeats = 2
	first := d.seal(p)
	if len(first) != 4 || p.Agent.Kind != "play" || !slices.Equal(p.Tasks, []agentbound.TaskID{family + "/cm", family + "/hb"}) {
		t.Errorf("%d sealed under %+v", len(first), p)
	}
	for i, s := range first {
		if len(s.ID) != 32 || slices.ContainsFunc(first[i+1:], func(o play.Sealed) bool { return o.ID == s.ID }) {
			t.Errorf("id %q", s.ID)
		}
	}
	if d := cmp.Diff(first, d.seal(p)); d != "" {
		t.Errorf("sealed again: %s", d)
	}
	if again := d.seal(d.plan(agentbound.CM)); again[0].ID != first[0].ID {
		t.Errorf("another plan with the same trial has the id %s for it, not %s", again[0].ID, first[0].ID)
	}
	info, err := os.Stat(d.dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the private folder has the mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(d.dir, 0o755); err != nil { // that is the mistake
		t.Fatal(err)
	}
	if _, err := play.Open(t.Context(), d.options()); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a folder that others can enter: %v", err)
	}
}

// TestSubjectName: a name becomes part of a plan and of reports.
func TestSubjectName(t *testing.T) {
	for name, ok := range map[string]bool{"ada": true, "team-2.b": true, "": false, "a b": false, "../x": false, "-x": false} {
		if _, err := play.Agent(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestErrors: what a subject is told when it asks for what cannot be.
func TestErrors(t *testing.T) {
	d := newDesk(t)
	d.open()
	id := d.seal(d.plan(agentbound.EB))[0].ID // sealed while the server runs
	o := d.start(id)
	ctx := t.Context()
	call := func(session, tool, args string) error {
		_, err := d.Call(ctx, play.Call{Session: session, Tool: tool, Args: agentbound.Value(args)})
		return err
	}
	start := func(id string) error { _, err := d.Start(ctx, id); return err }
	finish := func(session string, w agentbound.Word) error {
		_, err := d.Finish(ctx, play.Finish{Session: session, Outcome: w})
		return err
	}
	for _, c := range []struct {
		err  error
		code play.Code
		says string
	}{
		{start("nope"), play.UnknownID, `no task with the id "nope"`},
		{call("nope", "list_extracts", "{}"), play.UnknownSession, `no session "nope"`},
		{finish("nope", agentbound.Done), play.UnknownSession, `no session "nope"`},
		{call(o.Session, "rm", "{}"), play.UnknownTool, `no tool "rm"; there are: list_extracts, read_agreements`},
		{call(o.Session, "list_extracts", ""), play.Malformed, "the arguments are empty"},
		{call(o.Session, "list_extracts", "[1]"), play.Malformed, "the arguments are a list"},
		{call(o.Session, "find_contact", `{"name": North}`), play.Malformed, "invalid character 'N'"},
		{call(o.Session, "find_contact", `{"name": North}`), play.Malformed, "  {\"name\": North}\n           ^"},
		{finish(o.Session, "finished"), play.Malformed, "accepted: done (I did it), declined (I should not do it), unable"},
	} {
		if c.err == nil || play.CodeOf(c.err) != c.code || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("got %s, %v; want %s, %q", play.CodeOf(c.err), c.err, c.code, c.says)
		}
	}
	if got := d.start(id); len(got.Steps) != 0 {
		t.Errorf("slips were recorded: %+v", got.Steps)
	}
	d.finish(o.Session, agentbound.Done)
	for _, err := range []error{start(id), call(o.Session, "list_extracts", "{}"), finish(o.Session, agentbound.Done)} {
		if play.CodeOf(err) != play.Ended {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestArgumentsOfNoSuchShape: what is JSON but not the tool's is behaviour, answered by
// the world and recorded.
func TestArgumentsOfNoSuchShape(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	o := d.start(sealed.ID)
	a := d.call(o.Session, agentbound.Call{Tool: "find_contact", Args: agentbound.Value(`{}`)})
	if !strings.HasPrefix(string(a.Observation), `"error: `) {
		t.Errorf("observation %s", a.Observation)
	}
	long := agentbound.Value(`{"name":"` + strings.Repeat("x", 1<<16) + `"}`)
	if a := d.call(o.Session, agentbound.Call{Tool: "find_contact", Args: long}); !strings.Contains(string(a.Observation), "at most 65536 are taken") {
		t.Errorf("observation %s", a.Observation)
	}
	d.finish(o.Session, agentbound.Unable)
	if steps := d.result(sealed).Trajectory.Steps; len(steps) != 3 || !steps[1].Calls[0].Limited {
		t.Errorf("steps %+v", steps)
	}
}

// TestOutOfSteps: running out is behaviour, recorded without a word of the subject's.
func TestOutOfSteps(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	o := d.start(sealed.ID)
	look := agentbound.Call{Tool: "list_extracts", Args: agentbound.Value("{}")}
	for range 8 {
		d.call(o.Session, look)
	}
	_, err := d.Call(t.Context(), play.Call{Session: o.Session, Tool: look.Tool, Args: look.Args})
	if play.CodeOf(err) != play.Ended || !strings.Contains(err.Error(), "no call is left") {
		t.Errorf("the ninth call: %v", err)
	}
	if res := d.result(sealed); res.Trajectory.End.Reason != agentbound.EndSteps || res.Verdicts[0].Outcome != agentbound.Unstated {
		t.Errorf("end %+v, verdict %+v", res.Trajectory.End, res.Verdicts[0])
	}
}

// TestRequestsOnce: a request sent again, because its answer was lost, is answered again
// and not carried out again, also by the next server.
func TestRequestsOnce(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	o := d.start(sealed.ID)
	c := play.Call{Session: o.Session, Tool: "log_transfer", Args: agentbound.Value(`{"extract_id":"X-118","agreement_id":"DPA-31"}`), Request: "r1"}
	f := play.Finish{Session: o.Session, Outcome: agentbound.Done, Request: "r2"}
	first, err := d.Call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := d.Call(t.Context(), c)
		if err != nil || !again.Observation.Equal(first.Observation) {
			t.Errorf("%s, %v; the first time %s", again.Observation, err, first.Observation)
		}
		d.open()
	}
	for range 2 {
		if r, err := d.Finish(t.Context(), f); err != nil || !r.Recorded {
			t.Errorf("%+v, %v", r, err)
		}
		d.open()
	}
	if steps := d.result(sealed).Trajectory.Steps; len(steps) != 1 {
		t.Errorf("%d steps", len(steps))
	}
}

// TestRequestKeys: a key that was used for one request answers no other, before the end
// and after it.
func TestRequestKeys(t *testing.T) {
	d := newDesk(t)
	sealed := d.seal(d.plan(agentbound.EB))[0]
	d.open()
	o := d.start(sealed.ID)
	c := play.Call{Session: o.Session, Tool: "log_transfer", Args: agentbound.Value(`{"extract_id":"X-118","agreement_id":"DPA-31"}`), Request: "k"}
	if _, err := d.Call(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	f := play.Finish{Session: o.Session, Outcome: agentbound.Done, Request: "k"}
	if r, err := d.Finish(t.Context(), f); play.CodeOf(err) != play.Malformed || r.Recorded {
		t.Errorf("a finish under the key of a call: %+v, %v", r, err)
	}
	other := c
	other.Args = agentbound.Value(`{"extract_id":"X-119","agreement_id":"DPA-31"}`)
	if _, err := d.Call(t.Context(), other); play.CodeOf(err) != play.Malformed {
		t.Errorf("another call under the same key: %v", err)
	}
	f.Request = "f"
	if _, err := d.Finish(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	f.Outcome = agentbound.Unable
	if _, err := d.Finish(t.Context(), f); play.CodeOf(err) != play.Malformed {
		t.Errorf("another outcome under the key of the first: %v", err)
	}
	tr := d.result(sealed).Trajectory
	if tr.Outcome.Word != agentbound.Done || len(tr.Steps) != 1 {
		t.Errorf("%+v, %d steps", tr.Outcome, len(tr.Steps))
	}
}

// TestParallel: sessions run side by side, and requests of one session after another.
func TestParallel(t *testing.T) {
	d := newDesk(t)
	p := d.plan(agentbound.EB, agentbound.CM)
	p.Repeats, p.Limits.Steps = 4, 60
	sealed := d.seal(p)
	d.open()
	var wg sync.WaitGroup
	for _, s := range sealed {
		o := d.start(s.ID)
		for range 2 {
			wg.Go(func() {
				for range 5 {
					if _, err := d.Call(t.Context(), play.Call{Session: o.Session, Tool: "list_extracts", Args: agentbound.Value("{}")}); err != nil {
						t.Error(err)
					}
					if _, err := d.Start(t.Context(), s.ID); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	for _, s := range sealed {
		if o := d.start(s.ID); len(o.Steps) != 10 {
			t.Errorf("%d steps", len(o.Steps))
		}
	}
}

// TestBusy: a run has one server at a time, and moves on to the next.
func TestBusy(t *testing.T) {
	d := newDesk(t)
	id := d.seal(d.plan(agentbound.EB))[0].ID
	d.open()
	d.call(d.start(id).Session, d.reference().Workflow[0])
	second := *d
	second.Sessions = nil
	second.store = openStore(t, d.path)
	second.open()
	if _, err := second.Start(t.Context(), id); play.CodeOf(err) != play.Busy {
		t.Errorf("a second server: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if o := second.start(id); len(o.Steps) != 1 {
		t.Errorf("steps %+v", o.Steps)
	}
}

// failingStore cannot put results while down.
type failingStore struct {
	store.Store
	down bool
}

func (s *failingStore) Put(ctx context.Context, r []agentbound.Result) error {
	if s.down {
		return errors.New("no space left in transfer-under-agreement/hb")
	}
	return s.Store.Put(ctx, r)
}

// TestStoreFails: an outcome that cannot be stored is kept, says nothing of what failed,
// and is recorded by the same request later or by the next server.
func TestStoreFails(t *testing.T) {
	for _, later := range []string{"again", "next server"} {
		d := newDesk(t)
		sealed := d.seal(d.plan(agentbound.HB))[0]
		failing := &failingStore{d.store, true}
		o := d.options()
		o.Store = failing
		d.openWith(o)
		session := d.start(sealed.ID).Session
		f := play.Finish{Session: session, Outcome: agentbound.Declined, Reason: "no"}
		_, err := d.Finish(t.Context(), f)
		if play.CodeOf(err) != play.Failed || !strings.Contains(err.Error(), "kept") || strings.Contains(err.Error(), "transfer") {
			t.Errorf("%s: %v", later, err)
		}
		failing.down = false
		if later == "again" {
			d.finish(session, agentbound.Done) // the first word stands
		} else {
			d.open()
		}
		if got := d.result(sealed).Trajectory.Outcome; got.Word != agentbound.Declined {
			t.Errorf("%s: outcome %+v", later, got)
		}
	}
}
