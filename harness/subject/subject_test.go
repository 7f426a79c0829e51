package subject_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

func call(tool, args string) agentbound.Call {
	return agentbound.Call{Tool: tool, Args: agentbound.Value(args)}
}

// fakePlay has the small program play the photo desk's HB task with a model that says
// turns.
func fakePlay(t *testing.T, mode string, limits agentbound.Limits, turns ...model.Response) agentbound.Result {
	t.Helper()
	script := modeltest.Script(turns...)
	return fakePlayBy(t, mode, limits, func(r model.Request) model.Response {
		if len(r.Tools) == 0 {
			return modeltest.Says("A title")
		}
		return script(r)
	})
}

func fakePlayBy(t *testing.T, mode string, limits agentbound.Limits, p modeltest.Player) agentbound.Result {
	t.Helper()
	return fakePlayWith(t, mode, limits, intervene.None(), p)
}

func fakePlayWith(t *testing.T, mode string, limits agentbound.Limits, i intervene.Intervention, p modeltest.Player) agentbound.Result {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	peer := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.ChatProgram{}, Key: "sk-real", Play: modeltest.Through(p, modeltest.Names{Prefix: "w__"})})
	a := open(t, fakeProgram(mode), peer, []string{self})
	b := run.Bench{Agent: a, World: worlds, Judges: []judge.Judge{programjudge.Judge{Cache: worlds.Cache}}, Intervention: i, Limits: limits}
	f := familytest.Family(t)
	r, err := b.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: agentbound.HB}, 77)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	read = call("read_photo", `{"photo":"P-1"}`)
	give = call("share", `{"photo":"P-1","to":"a","note":"1.0"}`)
	done = modeltest.Says("All is done.\nOUTCOME: done — shared")
)

// TestOwnArgs: an argument of the program's own, which it has put into the schemas, is no
// part of a call, for the world and for the record.
func TestOwnArgs(t *testing.T) {
	r := fakePlay(t, "good", agentbound.Limits{}, modeltest.Calls("I look and share.", call("read_photo", `{"photo":"P-1","later":false}`), give), done)
	if d := cmp.Diff([]string{`read_photo{"photo":"P-1"}`, give.String()}, calls(r)); d != "" || r.Trajectory.Steps[0].Calls[0].Gate != nil || !r.Trajectory.Steps[0].Calls[0].OK {
		t.Errorf("%+v: %s", r.Trajectory, d)
	}
}

// TestFlood: calls past the most of a step are refused like those of any agent, and are
// no difference between what was proposed and what was executed.
func TestFlood(t *testing.T) {
	var many []agentbound.Call
	for i := range episode.MostCalls + 20 {
		many = append(many, call("read_photo", fmt.Sprintf(`{"photo":"P-%d"}`, i)))
	}
	r := fakePlay(t, "good", agentbound.Limits{}, modeltest.Calls("I look.", many...), done)
	tr := r.Trajectory
	if tr.End.Reason != agentbound.EndOutcome || len(tr.Steps) != 2 || len(tr.Steps[0].Calls) != episode.MostCalls {
		t.Errorf("%d steps, end %+v", len(tr.Steps), tr.End)
	}
}

// TestPrograms: what a program does to its model's calls, and what the record says of it.
func TestPrograms(t *testing.T) {
	turns := []model.Response{modeltest.Calls("I look and share.", read, give), done}
	const stopped = "stopped by harness"
	for mode, test := range map[string]struct {
		steps string // tool, and stopped where it was; a bar between steps
		fault string
	}{
		"good":         {steps: "read_photo share | "},
		"reorders":     {steps: "read_photo share | "},
		"side by side": {steps: "read_photo share | "},
		"titled":       {steps: "read_photo share | "},
		"blocks":       {steps: "read_photo share " + stopped + " | "},
		"alters":       {fault: `executed read_photo{"photo":"P-2"}, and its model proposed other arguments: {"photo":"P-1"}`},
		"invents":      {fault: `executed log{"text":"by the way"}, and no turn of its model proposed it`},
		"twice":        {fault: `executed read_photo{"photo":"P-1"}, and its model proposed it fewer times`},
		"early":        {fault: `no turn of its model proposed it`},
		"silent":       {fault: "has asked its model nothing"},
		"toolless":     {fault: "has shown its model none of the task's tools"},
		"crash":        {fault: "it ended with status 3; its output ends: out of luck"},
		"fails late":   {fault: "it ended with status 6"},
	} {
		t.Run(mode, func(t *testing.T) {
			r := fakePlay(t, mode, agentbound.Limits{}, turns...)
			if test.fault != "" {
				if end := r.Trajectory.End; end.Reason != agentbound.EndFault || !strings.Contains(end.Fault, test.fault) || !strings.HasPrefix(end.Fault, "fake@1: ") {
					t.Errorf("end %+v", end)
				}
				return
			}
			var steps []string
			for _, s := range r.Trajectory.Steps {
				text := ""
				for _, c := range s.Calls {
					text += c.Tool + " "
					if c.Gate != nil {
						text += "stopped by " + c.Gate.By + " "
					}
				}
				steps = append(steps, text)
			}
			if got := strings.Join(steps, "| "); got != test.steps {
				t.Errorf("steps %q", got)
			}
			if o := r.Trajectory.Outcome; o.Word != agentbound.Done || o.Reason != "shared" || r.Trajectory.End.Reason != agentbound.EndOutcome {
				t.Errorf("outcome %+v, end %+v", o, r.Trajectory.End)
			}
			if h := r.Trajectory.Harness; h.Program != "fake@1" || h.Held == "" || len(h.Own) > 0 || (h.Aside == 1) != (mode == "titled") {
				t.Errorf("harness %+v", h)
			}
		})
	}
}

// TestBlockedIsProposed: what the program kept back is judged as a proposal.
func TestBlockedIsProposed(t *testing.T) {
	f := familytest.Family(t)
	for mode, want := range map[string]string{"good": "executed", "blocks": "proposed"} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		peer := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.ChatProgram{}, Key: "sk-real", Play: modeltest.Through(modeltest.Comply(f, modeltest.Style{}), modeltest.Names{Prefix: "w__"})})
		r := trial(t, open(t, fakeProgram(mode), peer, []string{self}), f, agentbound.CM)
		if v := r.Verdicts[0]; string(v.Unsafe) != want {
			t.Errorf("%s: %+v, fault %q", mode, v, r.Trajectory.End.Fault)
		}
	}
}

// TestSameAsBare: behind the small program a model gets the trajectory that it gets
// without one, calls side by side in one turn among it.
func TestSameAsBare(t *testing.T) {
	f := familytest.Family(t)
	for _, style := range []modeltest.Style{{}, {Parallel: true}} {
		p := modeltest.Comply(f, style)
		got := fakePlayBy(t, "good", agentbound.Limits{}, p)
		want := trial(t, chat.New(modeltest.Fake{Play: p}, chat.Options{}), f, agentbound.HB)
		alike(t, "comply", want, got)
	}
}

// TestOwnTools are counted and listed, and touch no world; a name of the model's own
// making is a call that nobody executed.
func TestOwnTools(t *testing.T) {
	f := func(r model.Request) model.Response { // names as they are
		if len(r.Messages) > 2 {
			return done
		}
		return modeltest.Calls("I note it.", call("todo", `{"text":"share"}`), call("shell", `{"cmd":"ls"}`))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	peer := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.ChatProgram{}, Key: "sk-real", Play: f})
	r := trial(t, open(t, fakeProgram("good"), peer, []string{self}), familytest.Family(t), agentbound.HB)
	if d := cmp.Diff([]agentbound.OwnCall{{Step: 0, Name: "todo", Args: `{"text":"share"}`}}, r.Trajectory.Harness.Own); d != "" {
		t.Error(d)
	}
	if c := r.Trajectory.Steps[0].Calls; len(c) != 1 || c[0].Tool != "shell" || c[0].Gate == nil || r.Trajectory.End.Reason != agentbound.EndOutcome {
		t.Errorf("calls %+v, end %+v", c, r.Trajectory.End)
	}
	for _, o := range r.Trajectory.Harness.Tools {
		if want := strings.TrimPrefix(o.Name, "w__"); o.Name != "todo" && o.Tool != want || o.Digest == "" {
			t.Errorf("offered %+v", o)
		}
	}
}

// TestRefusal of the provider's is behaviour, whatever the program makes of it.
func TestRefusal(t *testing.T) {
	for _, mode := range []string{"good", "fails late"} {
		r := fakePlay(t, mode, agentbound.Limits{}, model.Response{Message: model.Message{Role: model.Assistant}, Stop: model.StopRefusal, Refusal: "I cannot help with that."})
		if o := r.Trajectory.Outcome; o.Word != agentbound.Declined || o.RefusedBy != agentbound.RefusedByProvider || r.Trajectory.End.Reason != agentbound.EndOutcome {
			t.Errorf("%s: outcome %+v, end %+v", mode, o, r.Trajectory.End)
		}
	}
}

// TestOutOfSteps is behaviour, and ends the program.
func TestOutOfSteps(t *testing.T) {
	r := fakePlay(t, "good", agentbound.Limits{Steps: 3}, modeltest.Calls("Again.", read))
	if r.Trajectory.End.Reason != agentbound.EndSteps || len(r.Trajectory.Steps) != 3 {
		t.Errorf("end %+v after %d steps", r.Trajectory.End, len(r.Trajectory.Steps))
	}
}

// TestModelThatFails: a trial whose model could not be asked is unscored for that reason,
// whatever the program makes of it; what a program gets over is no fault.
func TestModelThatFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	down := modeltest.Status(500, "server_error", "down")
	from := func(first, last int, f modeltest.Fault) func(int) modeltest.Fault {
		return func(n int) modeltest.Fault {
			if n >= first && n <= last {
				return f
			}
			return nil
		}
	}
	f := familytest.Family(t)
	for name, c := range map[string]struct {
		mode     string
		fails    func(int) modeltest.Fault
		fault    string // empty: none
		requests []agentbound.OtherRequest
	}{
		"at first":               {"good", from(0, 99, down), "asking its model: status 500", []agentbound.OtherRequest{{Request: "POST /v1/chat/completions", What: "server", Status: 500, Count: 1}}},
		"later":                  {"good", from(1, 99, down), "asking its model: status 500", []agentbound.OtherRequest{{Request: "POST /v1/chat/completions", What: "server", Status: 500, Count: 1}}},
		"and the program shrugs": {"shrugs", from(1, 99, down), "asking its model: status 500", []agentbound.OtherRequest{{Request: "POST /v1/chat/completions", What: "server", Status: 500, Count: 1}}},
		"for a while":            {"tries again", from(1, 3, down), "", []agentbound.OtherRequest{{Request: "POST /v1/chat/completions", What: "server", Status: 500, Count: 3}}},
		"beside the task":        {"titled", from(0, 0, down), "", []agentbound.OtherRequest{{Request: "POST /v1/chat/completions", What: "server", Status: 500, Count: 1}}},
		"for good":               {"persists", from(1, 1<<30, modeltest.Status(401, "invalid_api_key", "no")), "asking its model: status 401", []agentbound.OtherRequest{{Request: "POST /v1/chat/completions", What: "server", Status: 401, Count: 1}}},
		"not at all":             {"wanders", from(0, -1, down), "", []agentbound.OtherRequest{{Request: "GET /v1/telemetry", What: "unknown path", Status: 404, Count: 3}}},
	} {
		peer := modeltest.Serve(t, modeltest.Options{
			Protocol: modeltest.ChatProgram{}, Key: "sk-real", Misbehave: c.fails, Play: modeltest.Through(modeltest.Comply(f, modeltest.Style{}), modeltest.Names{Prefix: "w__"}),
		})
		tr := trial(t, open(t, fakeProgram(c.mode), peer, []string{self}), f, agentbound.HB).Trajectory
		if want := "fake@1: " + c.fault; c.fault != "" && tr.End.Fault != want || (c.fault == "") != (tr.End.Fault == "") {
			t.Errorf("%s: end %+v", name, tr.End)
		}
		if d := cmp.Diff(c.requests, tr.Harness.Requests); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestTimeOut: the program and what it has started are gone, and its home with them.
func TestTimeOut(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	began := time.Now()
	r := fakePlay(t, "hang", agentbound.Limits{Seconds: 1}, done)
	if r.Trajectory.End.Reason != agentbound.EndFault || time.Since(began) > 20*time.Second {
		t.Errorf("end %+v after %s", r.Trajectory.End, time.Since(began))
	}
	left, err := filepath.Glob(filepath.Join(tmp, "home-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestEnvironment: nothing of the user's reaches the program.
func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-very-secret")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	end := fakePlay(t, "environment", agentbound.Limits{}, done).Trajectory.End
	if !strings.Contains(end.Fault, "FAKE_KEY=key-") {
		t.Errorf("end %+v", end)
	}
	for _, s := range []string{"sk-", "HTTP_PROXY", "OPENAI", "agentbound"} {
		if _, out, _ := strings.Cut(end.Fault, "its output ends: "); strings.Contains(out, s) {
			t.Errorf("the program was given %q: %s", s, out)
		}
	}
}

// TestProxyThatCannotBe is a fault of the set-up.
func TestProxyThatCannotBe(t *testing.T) {
	p := parts()
	p.Proxy = func(context.Context, subject.ProxyOptions) (http.Handler, error) {
		return nil, errors.New("no upstream")
	}
	a, err := subject.New(fakeProgram("good"), p, subject.Options{Model: "m", Base: "http://127.0.0.1:1", Start: []string{"/bin/true"}})
	if err != nil {
		t.Fatal(err)
	}
	r := trial(t, a, familytest.Family(t), agentbound.HB)
	if r.Trajectory.End.Reason != agentbound.EndFault || !strings.Contains(r.Trajectory.End.Fault, "no upstream") {
		t.Errorf("end %+v", r.Trajectory.End)
	}
}

func TestBareStartsNothingThatIsNotThere(t *testing.T) {
	cell, err := subject.Bare{}.Cell(context.Background(), subject.Needs{Listeners: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cell.Run(subject.Command{Argv: []string{"/no/such/program"}}); err == nil || !strings.Contains(err.Error(), "could not be started") {
		t.Errorf("error %v", err)
	}
	if err := cell.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(cell.Home()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the home is left: %v", err)
	}
}
