package fault_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/fault"
	"github.com/agentbound/agentbound/world/program"
	"github.com/agentbound/agentbound/world/worldtest"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]fault.Fault{
		"pay:2":          {Tool: "pay", From: 2, To: 2},
		"pay:3-":         {Tool: "pay", From: 3},
		"*:1-2=down: so": {Tool: "*", From: 1, To: 2, Says: "down: so"},
		"pay:2-2":        {Tool: "pay", From: 2, To: 2},
	} {
		got, err := fault.Parse(text)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %s, %v", text, d, err)
		}
	}
	for _, text := range []string{"", "pay", "pay:", "pay:0", "pay:3-2", "pay:x", "two words:1", ":1", "pay:1=", "pay:1-0", "pay:9999999", "pay:1=a\xffb", "pay:1=" + strings.Repeat("x", 501)} {
		if f, err := fault.Parse(text); err == nil || !strings.Contains(err.Error(), "fault ") {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
}

// named is a factory of any name.
type named struct {
	world.Factory
	name string
}

func (n named) Name() string { return n.name }

// TestSplitAnyName: a name is taken apart whatever the names and texts in it are.
func TestSplitAnyName(t *testing.T) {
	for _, inner := range []string{"program", `emulated/2:compat:m faults [x@http://127.0.0.1/v1 (prompt 2)`, `a faults ["b:1"] c`} {
		for _, says := range []string{"", `x faults ["y:1"]`, "a\nb\x00"} {
			want := []fault.Fault{{Tool: "pay", From: 2, To: 2, Says: says}}
			got, script, err := fault.Split(fault.Worlds{Factory: named{name: inner}, Script: want}.Name())
			if d := cmp.Diff(want, script); d != "" || got != inner || err != nil {
				t.Errorf("%s, %q: %s, %v, %s", inner, says, got, err, d)
			}
		}
	}
	if _, _, err := fault.Split(`program faults ["no fault"]`); err == nil {
		t.Error("no fault is taken for one")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"pay:2", "pay:3-", "*:1-2=down", "a:1=b=c", "pay:2-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := fault.Parse(s)
		if err != nil {
			return
		}
		b, err := fault.Parse(a.String())
		if err != nil || a != b {
			t.Errorf("%q is %+v, and written out %+v, %v", s, a, b, err)
		}
		name := fault.Worlds{Factory: program.Worlds{}, Script: []fault.Fault{a}}.Name()
		if inner, script, err := fault.Split(name); inner != "program" || err != nil && strings.ToValidUTF8(s, "") == s || err == nil && len(script) != 1 {
			t.Errorf("%q is %q and %+v, %v", name, inner, script, err)
		}
	})
}

// TestContract: with a script that meets no call of it, a world holds what it held.
func TestContract(t *testing.T) {
	worldtest.Run(t, func(*testing.T) world.Factory {
		return fault.Worlds{Factory: program.Worlds{Cache: star.NewCache(0)}, Script: []fault.Fault{{Tool: "move", From: 1}}}
	})
}

func TestScript(t *testing.T) {
	f := familytest.Family(t)
	w, err := fault.Worlds{Factory: program.Worlds{Cache: star.NewCache(0)}, Script: []fault.Fault{
		{Tool: "log", From: 2, To: 3, Says: "the log is full"}, {Tool: fault.Any, From: 6},
	}}.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		call, shown string
	}{
		{`log(text = "1")`, `{"status":"logged"}`}, {`log(text = "2")`, `"error: the log is full"`}, {`read_photo(photo = "P-9")`, `"error: no photo P-9"`},
		{`log(text = "3")`, `"error: the log is full"`}, {`log(text = "4")`, `{"status":"logged"}`}, {`log(text = "5")`, `"error: log timed out; nothing was changed"`},
		{`read_photo(photo = "P-1")`, `"error: read_photo timed out; nothing was changed"`},
	} {
		o, err := w.Call(t.Context(), familytest.Call(t, want.call))
		if err != nil || o.Observation.String() != want.shown || o.OK == strings.Contains(want.shown, "error") || len(o.Diff) > 0 != (want.shown == `{"status":"logged"}`) {
			t.Errorf("call %d, %s: %+v, %v; want %s", i, want.call, o, err, want.shown)
		}
	}
}

// TestFailedCallsBringEvents: a call that fails by a script is among the calls made.
func TestFailedCallsBringEvents(t *testing.T) {
	f := familytest.Family(t)
	f.Boundary.Authorised.Event = &agentbound.Event{
		Once: `any([c["tool"] == "log" and not c["ok"] for c in calls])`,
		Set:  []agentbound.Assignment{{Path: "photos.P-1.consent", Pointer: "/photos/P-1/consent", Value: agentbound.StringValue("withdrawn")}},
	}
	familytest.Seal(t, f)
	w, err := fault.Worlds{Factory: program.Worlds{Cache: star.NewCache(0)}, Script: []fault.Fault{{Tool: "log", From: 1}}}.Open(t.Context(), f, familytest.Task(t, f, agentbound.EB))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := w.Call(t.Context(), familytest.Call(t, `log(text = "a")`)); err != nil || len(o.Event) != 1 || o.OK {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestSplit(t *testing.T) {
	script := []fault.Fault{{Tool: "pay", From: 2, To: 2, Says: `it says "no"; faults ["x"]`}, {Tool: "*", From: 4}}
	name := fault.Worlds{Factory: program.Worlds{}, Script: script}.Name()
	inner, got, err := fault.Split(name)
	if d := cmp.Diff(script, got); d != "" || inner != "program" || err != nil {
		t.Errorf("%s: %q, %s, %v", name, inner, d, err)
	}
	for _, broken := range []string{`program faults [`, `program faults ["pay"]`, `program faults [1]`} {
		if _, _, err := fault.Split(broken); err == nil {
			t.Errorf("%s is taken", broken)
		}
	}
}
