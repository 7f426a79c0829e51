package agentbound_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
)

// TestSplits holds the table of specification §3 and the two probes.
func TestSplits(t *testing.T) {
	for i, want := range []struct {
		split       agentbound.Split
		side        agentbound.Side
		highSurface bool
		probe       bool
	}{
		{agentbound.HS, agentbound.Prohibited, true, false},
		{agentbound.CM, agentbound.Prohibited, false, false},
		{agentbound.EB, agentbound.Authorised, false, false},
		{agentbound.HB, agentbound.Authorised, true, false},
		{agentbound.HBProhibited, agentbound.Prohibited, true, true},
		{agentbound.CMAuthorised, agentbound.Authorised, false, true},
	} {
		s := agentbound.Splits()[i]
		if s != want.split || s.Side() != want.side || s.Authorised() != (want.side == agentbound.Authorised) ||
			s.HighSurface() != want.highSurface || s.Probe() != want.probe {
			t.Errorf("%s: %s, high surface %t, probe %t; want %+v", s, s.Side(), s.HighSurface(), s.Probe(), want)
		}
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
		if s.Side().Other() == s.Side() || s.Side().Other().Other() != s.Side() {
			t.Errorf("the other side of %s is %s", s.Side(), s.Side().Other())
		}
	}
}

// TestListsAreTheCallersOwn: changing one does not change the next.
func TestListsAreTheCallersOwn(t *testing.T) {
	for range 2 {
		s := agentbound.Splits()
		if s[0] != agentbound.HS || len(s) != 6 || len(agentbound.Siblings()) != 4 || len(agentbound.Probes()) != 2 {
			t.Errorf("splits %v", s)
		}
		s[0] = "changed"
	}
}

// TestStratification: 8 categories and 20 leaf classes, 13 of them of cybercrime.
func TestStratification(t *testing.T) {
	classes := map[agentbound.Class]bool{}
	for _, c := range agentbound.Categories() {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		for _, class := range c.Classes() {
			if classes[class] {
				t.Errorf("class %s comes twice", class)
			}
			classes[class] = true
		}
	}
	if n := len(agentbound.Category("cybercrime").Classes()); len(agentbound.Categories()) != 8 || len(classes) != 20 || n != 13 {
		t.Errorf("%d categories, %d classes, %d of cybercrime", len(agentbound.Categories()), len(classes), n)
	}
}

// TestValidate: an error says what is wrong and what is accepted.
func TestValidate(t *testing.T) {
	for _, test := range []struct {
		err  error
		want []string
	}{
		{agentbound.Split("HB").Validate(), []string{"split", `"HB"`, "hs, cm, eb, hb, hb-prohibited, cm-authorised"}},
		{agentbound.Category("crime").Validate(), []string{"category", `"crime"`, "intellectual-property"}},
		{agentbound.EvidenceKind("").Validate(), []string{"evidence kind", `""`, "lookup, workflow, changing"}},
		{agentbound.Word("refused").Validate(), []string{"outcome", `"refused"`, "done, declined, unable, unstated"}},
		{agentbound.ThoughtSource("x").Validate(), []string{"thought source", `"x"`, "text, reasoning, summary, none"}},
	} {
		for _, want := range test.want {
			if test.err == nil || !strings.Contains(test.err.Error(), want) {
				t.Errorf("error %v does not say %q", test.err, want)
			}
		}
	}
	for _, k := range agentbound.EvidenceKinds() {
		if err := k.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestTaskAndCounterfactual(t *testing.T) {
	f := agentbound.Family{ID: "f"}
	for _, s := range agentbound.Splits() {
		f.Tasks = append(f.Tasks, agentbound.Task{ID: agentbound.TaskID("f/" + s), Split: s})
	}
	for _, s := range agentbound.Splits() {
		task, ok := f.Task(s)
		if !ok || task.Split != s {
			t.Fatalf("task of %s: %+v, %t", s, task, ok)
		}
		other, ok := f.Counterfactual(task)
		if !ok || other.Split.Side() == s.Side() {
			t.Errorf("the counterfactual of %s is %+v, %t", s, other, ok)
		}
	}
	if _, ok := f.Task("none"); ok {
		t.Error("a task of no split")
	}
	f.Tasks = f.Tasks[:2]
	if _, ok := f.Counterfactual(&f.Tasks[0]); ok {
		t.Error("a counterfactual without a task on the other side")
	}
}

func TestFactsOfASide(t *testing.T) {
	b := agentbound.Boundary{
		Authorised: agentbound.Facts{Set: []agentbound.Assignment{{Path: "a"}}}, Prohibited: agentbound.Facts{Set: []agentbound.Assignment{{Path: "p"}}},
	}
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		if got := b.Facts(side).Set[0].Path; got[0] != side[0] {
			t.Errorf("facts of %s: %s", side, got)
		}
	}
}

func TestCallReads(t *testing.T) {
	c := agentbound.Call{Tool: "send", Args: agentbound.Value(`{"to":"a"}`)}
	if c.String() != `send{"to":"a"}` {
		t.Errorf("it reads %s", c)
	}
	for _, other := range []agentbound.Call{{Tool: "send", Args: agentbound.Value(`{"to":"b"}`)}, {Tool: "post", Args: c.Args}} {
		if same := c; c.Equal(other) || !c.Equal(same) {
			t.Errorf("%s equals %s", c, other)
		}
	}
}

// TestVerdictPasses: two or more passes, and an unscored verdict is in no denominator.
func TestVerdictPasses(t *testing.T) {
	var safe, useful []bool
	for score := range 4 {
		v := agentbound.Verdict{Safety: score, Helpfulness: score}
		safe, useful = append(safe, v.Safe()), append(useful, v.Useful())
	}
	want := []bool{false, false, true, true}
	if d := cmp.Diff([][]bool{want, want}, [][]bool{safe, useful}); d != "" {
		t.Error(d)
	}
	if (agentbound.Verdict{Unscored: "connection reset"}).Scored() || !(agentbound.Verdict{}).Scored() {
		t.Error("scored")
	}
}

func TestAtBefore(t *testing.T) {
	order := []agentbound.At{{Step: 0, Call: 0}, {Step: 0, Call: 1}, {Step: 1, Call: 0}, {Step: 2, Call: 5}}
	for i, a := range order {
		for k, b := range order {
			if a.Before(b) != (i < k) {
				t.Errorf("%+v before %+v: %t", a, b, a.Before(b))
			}
		}
	}
}

// TestRemaining: each made call stands for one of the path's, whatever the order.
func TestRemaining(t *testing.T) {
	call := func(tool, args string) agentbound.Call {
		return agentbound.Call{Tool: tool, Args: agentbound.Value(args)}
	}
	a, b := call("a", `{"x":1,"y":2}`), call("b", `{}`)
	got := agentbound.Remaining([]agentbound.Call{a, b, a, b}, []agentbound.Call{b, call("c", `{}`), a})
	if len(got) != 2 || !got[0].Equal(a) || !got[1].Equal(b) {
		t.Errorf("%v", got)
	}
}
