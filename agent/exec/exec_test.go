package exec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/exec"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/world/program"
)

var cache = star.NewCache(0)

// quick are options of tests: nobody is waited for long.
var quick = exec.Options{Grace: time.Second}

func subject(t testing.TB, o exec.Options, name string, args ...string) *exec.Agent {
	t.Helper()
	a, err := exec.New(command(t, name, args...), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func bench(a *exec.Agent) run.Bench {
	return run.Bench{
		Agent: a, World: program.Worlds{Cache: cache}, Judges: []judge.Judge{programjudge.Judge{Cache: cache}},
		Intervention: intervene.None(), Limits: agentbound.Limits{Seconds: 20},
	}
}

func trial(t testing.TB, b run.Bench, f *agentbound.Family, s agentbound.Split) agentbound.Result {
	t.Helper()
	res, err := b.Trial(t.Context(), f, agentbound.Trial{Split: s}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// play has a program play one task of the desk that shares photos.
func play(t testing.TB, a *exec.Agent, s agentbound.Split) *agentbound.Trajectory {
	t.Helper()
	return trial(t, bench(a), familytest.Family(t), s).Trajectory
}

// TestProgramPlays: calls reach the world as the program spelt them, answers reach the
// program, and its own word ends the trial.
func TestProgramPlays(t *testing.T) {
	tr := play(t, subject(t, quick, "calls",
		`[{"tool":"read_photo","args":{"photo":"P-1"}},{"tool":"log","args":{"text":"ümlaut 1.0"}}]`,
		`[]`, `[{"tool":"no_such_tool"}]`, `[{"tool":"log","args":"not an object"}]`, `[{"tool":"unlog","args":null}]`), agentbound.EB)
	if tr.End.Reason != agentbound.EndOutcome || tr.Outcome != (agentbound.Outcome{Word: agentbound.Done, Reason: "as asked"}) {
		t.Errorf("end %+v, outcome %+v", tr.End, tr.Outcome)
	}
	var got []string
	for _, s := range tr.Steps {
		line := s.Thought
		for _, c := range s.Calls {
			line += fmt.Sprintf(" %s=%t", c.Call, c.OK)
		}
		got = append(got, line)
	}
	want := []string{
		`On I go. read_photo{"photo":"P-1"}=true log{"text":"ümlaut 1.0"}=true`,
		`On I go.`, // neither acts nor ends: a step all the same
		`On I go. no_such_tool{}=false`,
		`On I go. log"not an object"=false`,
		`On I go. unlog{}=true`,
		`All made.`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNumbersStayExact: digits and the kind of a number survive both directions.
func TestNumbersStayExact(t *testing.T) {
	f := familytest.Family(t)
	f.Toolkits[0].Text += `
def exact(state):
    return {"big": 123456789012345678901234567890, "float": 1.0, "int": 1, "line": "a\u2028b"}

def take(state, big, rate):
    state["log"].append("%d %s" % (big, rate))
    return {"big": big, "rate": rate}

tool(exact, "Numbers.")
tool(take, "Takes numbers.", big = integer("A whole number."), rate = number("A number."))
`
	familytest.Seal(t, f)
	tr := trial(t, bench(subject(t, quick, "calls", `[{"tool":"take","args":{"big":123456789012345678901234567890,"rate":1.0}}]`)), f, agentbound.EB).Trajectory
	if got, want := tr.Steps[0].Calls[0].Observation.String(), `{"big":123456789012345678901234567890,"rate":1.0}`; got != want {
		t.Errorf("to the world: %s, want %s", got, want)
	}
	// The subject writes into the log what it was shown, byte for byte.
	tr = trial(t, bench(subject(t, quick, "echoes")), f, agentbound.EB).Trajectory
	shown := tr.Steps[1].Calls[0].Args.String()
	for _, want := range []string{`\"big\":123456789012345678901234567890`, `\"float\":1.0`, `\"int\":1`, `a\\u2028b`} {
		if !strings.Contains(shown, want) {
			t.Errorf("to the program: %s, want %s in it", shown, want)
		}
	}
}

// TestFixedPolicy: a program that decides without reading its input is one, too.
func TestFixedPolicy(t *testing.T) {
	for range 20 { // it may or may not have left when it is greeted
		tr := play(t, subject(t, quick, "fixed"), agentbound.HB)
		if tr.End.Reason != agentbound.EndOutcome || tr.Outcome.Word != agentbound.Declined || tr.Steps[0].Thought != "I never do." {
			t.Fatalf("end %+v, outcome %+v", tr.End, tr.Outcome)
		}
	}
}

// TestOutOfSteps is behaviour: the program is told, and the trial is scored.
func TestOutOfSteps(t *testing.T) {
	b := bench(subject(t, quick, "calls", `[{"tool":"unlog"}]`, `[{"tool":"unlog"}]`, `[{"tool":"unlog"}]`, `[{"tool":"unlog"}]`))
	b.Limits.Steps = 3
	res := trial(t, b, familytest.Family(t), agentbound.EB)
	if tr := res.Trajectory; tr.End.Reason != agentbound.EndSteps || len(tr.Steps) != 3 || !res.Verdicts[0].Scored() {
		t.Errorf("end %+v, %d steps, verdict %+v", tr.End, len(tr.Steps), res.Verdicts[0])
	}
	// One that only ends the trial needs no step.
	b.Limits.Steps = 4
	if tr := trial(t, b, familytest.Family(t), agentbound.EB).Trajectory; tr.End.Reason != agentbound.EndOutcome || tr.Outcome.Word != agentbound.Done {
		t.Errorf("end %+v", tr.End)
	}
}

// edits corrects a Thought by a table.
type edits map[string]string

func (e edits) Correct(_ context.Context, c intervene.Context) (intervene.Correction, error) {
	if to, ok := e[c.Thought]; ok {
		return intervene.Correction{Thought: to}, nil
	}
	return intervene.Correction{Thought: c.Thought}, nil
}

// TestRevise: a corrected Thought is carried back, the program decides once more, and
// the draft is on record and never executed.
func TestRevise(t *testing.T) {
	for _, how := range []string{"aloud", "quietly"} {
		b := bench(subject(t, quick, "obeys", how))
		b.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "edits"}, Corrector: edits{"I share it.": "I look first."}}
		tr := trial(t, b, familytest.Family(t), agentbound.CM).Trajectory
		if len(tr.Steps) != 2 {
			t.Fatalf("%s: end %+v, %d steps", how, tr.End, len(tr.Steps))
		}
		s := tr.Steps[0]
		if s.Thought != "I look first." || len(s.Calls) != 1 || s.Calls[0].Tool != "read_photo" {
			t.Errorf("%s: step %+v", how, s)
		}
		if s.Draft == nil || s.Draft.Thought != "I share it." || len(s.Draft.Calls) != 1 || s.Draft.Calls[0].Tool != "share" {
			t.Errorf("%s: draft %+v", how, s.Draft)
		}
		if tr.Outcome.Reason != "observe of read_photo" {
			t.Errorf("%s: outcome %+v", how, tr.Outcome)
		}
	}
}

// TestReviseAnOutcome: a program that has stated its outcome waits for final, and may
// be sent back to work instead. One that has left cannot be, and that is a fault.
func TestReviseAnOutcome(t *testing.T) {
	b := bench(subject(t, quick, "fixed"))
	b.Intervention = intervene.Intervention{Ref: agentbound.Intervention{Name: "edits"}, Corrector: edits{"I never do.": "I go on with it."}}
	tr := trial(t, b, familytest.Family(t), agentbound.EB).Trajectory
	if tr.End.Reason != agentbound.EndFault || !strings.Contains(tr.End.Fault, "before it stated an outcome") {
		t.Errorf("end %+v", tr.End)
	}
}

// TestFaults: what is wrong with a program as a program leaves the trial unscored, says
// what it was, and tells the program where there is one to tell.
func TestFaults(t *testing.T) {
	t.Setenv("SUBJECT_KEY", "sk-very-secret-indeed")
	const told = "I was told: "
	for name, test := range map[string]struct {
		program []string
		want    []string
	}{
		"noise":                {[]string{"says", "Loading model..."}, []string{`it wrote "Loading model..."`, told + "the line is not a JSON object"}},
		"a list":               {[]string{"says", "[1]"}, []string{"it is a JSON array", `it wrote "[1]"`}},
		"null":                 {[]string{"says", "null"}, []string{"it is a JSON null"}},
		"not UTF-8":            {[]string{"says", "{\"type\":\"\xff\"}"}, []string{"not UTF-8"}},
		"an unknown type":      {[]string{"says", `{"type":"think"}`}, []string{`type "think" is not known; accepted: act`, told + `type "think"`}},
		"neither":              {[]string{"says", `{"type":"act","thought":"Hm."}`}, []string{"either calls or an outcome"}},
		"both":                 {[]string{"says", `{"type":"act","calls":[],"outcome":{"word":"done"}}`}, []string{"either calls or an outcome"}},
		"an unknown word":      {[]string{"says", `{"type":"act","outcome":{"word":"finished"}}`}, []string{`outcome "finished" is not known; accepted: done, declined, unable, unstated`}},
		"no tool":              {[]string{"says", `{"type":"act","calls":[{"args":{}}]}`}, []string{"calls[0] names no tool"}},
		"two lines":            {[]string{"says", `{"type":"act","calls":[]}`, `{"type":"act","calls":[]}`}, []string{"a second line before it was answered", told}},
		"no end of a line":     {[]string{"floods"}, []string{"a line of more than 100000 bytes"}},
		"ends at once":         {[]string{"crashes", "before", "3"}, []string{"exit status 3", "before it stated an outcome", "Traceback"}},
		"ends well at once":    {[]string{"crashes", "before", "0"}, []string{"exit status 0", "before it stated an outcome"}},
		"crashes after it":     {[]string{"crashes", "after", "3"}, []string{"stated an outcome and then ended with exit status 3", "Traceback"}},
		"closes its output":    {[]string{"closes"}, []string{"closed its output before it stated an outcome"}},
		"much on its stderr":   {[]string{"floods-stderr"}, []string{"exit status 4", "line 131071 of very many"}},
		"a key on its stderr":  {[]string{"crashes", "before", "3"}, []string{"the key was [SUBJECT_KEY]"}},
		"a key on its output":  {[]string{"says", "using sk-very-secret-indeed now"}, []string{`it wrote "using [SUBJECT_KEY] now"`}},
		"a key in its message": {[]string{"says", `{"type":"sk-very-secret-indeed"}`}, []string{`type "[SUBJECT_KEY]" is not known`}},
	} {
		t.Run(name, func(t *testing.T) {
			a := subject(t, exec.Options{Grace: quick.Grace, Line: 100000, Env: []string{"SUBJECT_KEY"}}, test.program[0], test.program[1:]...)
			res := trial(t, bench(a), familytest.Family(t), agentbound.EB)
			end := res.Trajectory.End
			if end.Reason != agentbound.EndFault || res.Verdicts[0].Scored() {
				t.Fatalf("end %+v, verdict %+v", end, res.Verdicts[0])
			}
			for _, want := range append(test.want, "exec:") {
				if !strings.Contains(end.Fault, want) {
					t.Errorf("fault %q, want %q in it", end.Fault, want)
				}
			}
			fault := strings.TrimPrefix(end.Fault, a.Ref().Name)
			if strings.Contains(fault, "sk-very-secret-indeed") || len(fault) > 4000 {
				t.Errorf("fault %q", fault)
			}
		})
	}
}

// TestClock: a program that never answers, or never reads, is ended by the trial's own
// wall clock, and what it had to say is kept.
func TestClock(t *testing.T) {
	for name, want := range map[string]string{"silent": "limit of 1 seconds; give more time with --timeout; its stderr ends: thinking for ever", "deaf": "limit of 1 seconds"} {
		t.Run(name, func(t *testing.T) {
			b := bench(subject(t, quick, name))
			b.Limits.Seconds = 1
			began := time.Now()
			end := trial(t, b, familytest.Family(t), agentbound.EB).Trajectory.End
			if end.Reason != agentbound.EndFault || !strings.Contains(end.Fault, want) {
				t.Errorf("end %+v", end)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestNothingBetrays: what a program can see is the same on authorised and prohibited
// facts, but for the name of its folder, which is drawn at random.
func TestNothingBetrays(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-you")
	t.Setenv("AGENTBOUND_STORE", "somewhere.db")
	a := subject(t, quick, "witness")
	for _, id := range familytest.Examples() {
		f := familytest.Example(t, id)
		see := func(s agentbound.Split) string {
			tr := trial(t, bench(a), f, s).Trajectory
			if tr.End.Reason != agentbound.EndOutcome {
				t.Fatalf("%s: %+v", s, tr.End)
			}
			return regexp.MustCompile(`work-\d+`).ReplaceAllString(tr.Steps[0].Thought, "work-N")
		}
		sight := see(agentbound.HB)
		if d := cmp.Diff(sight, see(agentbound.HBProhibited)); d != "" {
			t.Errorf("%s: %s", id, d)
		}
		if d := cmp.Diff(see(agentbound.CM), see(agentbound.CMAuthorised)); d != "" {
			t.Errorf("%s: %s", id, d)
		}
		if !strings.Contains(sight, "work-N") || !strings.Contains(sight, "input_schema") {
			t.Errorf("the witness saw only %s", sight)
		}
		for _, secret := range append([]string{string(id), "sk-not-for-you", "somewhere.db", "AGENTBOUND", "PWD=", string(f.Digest)},
			`"hb"`, "hb-prohibited", "authorised", "prohibited", "trial", "seed", "split") {
			if strings.Contains(sight, secret) {
				t.Errorf("%s: the program can see %q in %s", id, secret, sight)
			}
		}
	}
}

// TestEnvironment: the usual variables and the listed ones, nothing else.
func TestEnvironment(t *testing.T) {
	t.Setenv("SUBJECT_KEY", "sk-very-secret-indeed")
	t.Setenv("OTHER_KEY", "sk-other")
	t.Setenv("LANG", "C.UTF-8")
	tr := play(t, subject(t, exec.Options{Env: []string{"SUBJECT_KEY"}}, "witness"), agentbound.EB)
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^  "([A-Z_a-z]+)=`).FindAllStringSubmatch(tr.Steps[0].Thought, -1) {
		names = append(names, m[1])
	}
	for _, want := range []string{"PATH", "LANG", "SUBJECT_KEY", "TMPDIR"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not in %v", want, names)
		}
	}
	accepted := []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR", "TMP", "TEMP", "SUBJECT_KEY"}
	for _, name := range names {
		if !slices.Contains(accepted, name) {
			t.Errorf("the program gets %s", name)
		}
	}
}

// TestRef: what decides how a program behaves is in its reference, and a key is not.
func TestRef(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.sh")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ref := func(command string, o exec.Options) agentbound.AgentRef {
		t.Helper()
		o.Dir = dir
		a, err := exec.New(command, o)
		if err != nil {
			t.Fatal(err)
		}
		return a.Ref()
	}
	write("one")
	first := ref("./agent.sh --loud", exec.Options{})
	if first.Name != "exec:./agent.sh --loud" || first.Kind != "exec" || first.Version != "1" || first.Deterministic || first.Privileged {
		t.Errorf("%+v", first)
	}
	if d := cmp.Diff(first, ref("./agent.sh --loud", exec.Options{})); d != "" {
		t.Errorf("once more: %s", d)
	}
	t.Setenv("SUBJECT_KEY", "sk-very-secret-indeed")
	keyed := ref("./agent.sh --loud", exec.Options{Env: []string{"SUBJECT_KEY"}})
	if keyed.Settings["env"] != "SUBJECT_KEY" || strings.Contains(fmt.Sprint(keyed), "sk-very") {
		t.Errorf("%+v", keyed)
	}
	write("two")
	for _, command := range []string{"./agent.sh --loud", "env agent.sh"} {
		if got := ref(command, exec.Options{}).Settings["files"]; got == "" || got == first.Settings["files"] {
			t.Errorf("%s, edited: files %q, before %q", command, got, first.Settings["files"])
		}
	}
	if s := ref("env sh", exec.Options{}).Settings; s != nil {
		t.Errorf("settings %v of a program that is named by no path", s)
	}
}

// TestNewRefuses: what cannot be started is said before anything runs.
func TestNewRefuses(t *testing.T) {
	for command, want := range map[string]string{
		"":                     "names no program",
		"  ":                   "names no program",
		"''":                   "names no program",
		"./absent --x":         "the program ./absent cannot be run",
		"no-such-program-here": "the program no-such-program-here cannot be run",
		"env 'open":            "opens a ' that is not closed",
		`env \`:                "ends with a backslash",
	} {
		if _, err := exec.New(command, exec.Options{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", command, err, want)
		}
	}
	for name, want := range map[string]string{"SUBJECT_NOT_SET": "is not set", "A=B": "is no name", "": "is no name"} {
		if _, err := exec.New("env", exec.Options{Env: []string{name}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", name, err, want)
		}
	}
}
