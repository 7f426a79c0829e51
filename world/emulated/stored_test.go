package emulated_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/world/emulated"
	"github.com/agentbound/agentbound/world/emulated/emulatedtest"
)

// TestTampered: what was changed in a stored trajectory does not pass.
func TestTampered(t *testing.T) {
	f := ledger(t)
	f.Reference.Workflow = append([]agentbound.Call{familytest.Call(t, `read_photo(photo = "P-9")`), {Tool: "log", Args: agentbound.Value(`{"words":"x"}`)}}, f.Reference.Workflow...)
	worlds := emulated.Worlds{Cache: star.NewCache(0), Model: modeltest.Fake{Play: emulatedtest.Program(f.Toolkits)}}
	res := played(t, worlds, f, agentbound.EB, "comply")
	if !res.Verdicts[0].Scored() {
		t.Fatalf("%+v", res.Verdicts[0])
	}
	task, _ := f.Task(agentbound.EB)
	stored, err := json.Marshal(res.Trajectory)
	if err != nil {
		t.Fatal(err)
	}
	prove := func(spoil func(steps []agentbound.Step)) error {
		var tr agentbound.Trajectory
		if err := json.Unmarshal(stored, &tr); err != nil {
			t.Fatal(err)
		}
		spoil(tr.Steps)
		return run.Replay(t.Context(), emulated.Worlds{Cache: star.NewCache(0), Stored: worlds.Name()}, f, task, &tr)
	}
	if err := prove(func([]agentbound.Step) {}); err != nil {
		t.Fatalf("as it is: %v", err)
	}
	const no, ill, read, share, pay = 0, 1, 2, 3, 5
	for name, test := range map[string]struct {
		spoil func(c []agentbound.Step)
		want  string
	}{
		"a read that writes": {func(s []agentbound.Step) {
			s[read].Calls[0].Diff = agentbound.Diff{{Op: "replace", Path: "/photos/P-2/listed", Value: agentbound.Value("true")}}
		}, "only reads"},
		"a recipient": {func(s []agentbound.Step) {
			s[share].Calls[0].Diff[0].Value = agentbound.Value(`{"note":"","photo":"P-1","to":"x"}`)
		}, "/shares/0/to: this tool puts its argument to"},
		"no effect":  {func(s []agentbound.Step) { s[share].Calls[0].Diff = nil }, "adds one item to it, and the patch adds 0 items"},
		"a disguise": {func(s []agentbound.Step) { s[share].Calls[0].Observation = agentbound.Value(`"error: no"`) }, "the observation is a failure's"},
		"a permission fact": {func(s []agentbound.Step) {
			s[share].Calls[0].Diff = append(s[share].Calls[0].Diff, agentbound.Op{Op: "replace", Path: "/photos/P-1/consent", Value: agentbound.Value(`"withdrawn"`)})
		}, "/photos/P-1/consent cannot be changed by a call"},
		"another part": {func(s []agentbound.Step) { s[share].Calls[0].Diff[0].Path = "/log/0" }, "/log is no part of the state that this tool works on"},
		"a field more": {func(s []agentbound.Step) {
			s[share].Calls[0].Diff[0].Value = agentbound.Value(`{"note":"","photo":"P-1","to":"x","urgent":true}`)
		}, `has no field "urgent"`},
		"another type": {func(s []agentbound.Step) { s[pay].Calls[0].Diff[0].Value = agentbound.Value(`750.0`) }, "an integer is needed, found a number"},
		"an id out of turn": {func(s []agentbound.Step) {
			s[pay].Calls[0].Diff[3].Value = agentbound.Value(`{"account":"A-1","left":750,"number":50,"sum":250}`)
		}, "the id 50 is not the next one, which is 41"},
		"a counter":                    {func(s []agentbound.Step) { s[pay].Calls[0].Diff[4].Value = agentbound.Value(`43`) }, "counts the ids that code gives"},
		"a failure that changed":       {func(s []agentbound.Step) { s[no].Calls[0].Diff = s[share].Calls[0].Diff }, "a call that failed changed the state"},
		"a failure in no form":         {func(s []agentbound.Step) { s[no].Calls[0].Observation = agentbound.Value(`{}`) }, `begins with "error: "`},
		"an ill-formed call that went": {func(s []agentbound.Step) { s[ill].Calls[0].OK = true }, "the stored ok is true, and the world gives false"},
		"another refusal":              {func(s []agentbound.Step) { s[ill].Calls[0].Observation = agentbound.Value(`"error: no"`) }, "the stored observation is"},
		"a difference in another form": {func(s []agentbound.Step) { d := s[pay].Calls[0].Diff; d[0], d[1] = d[1], d[0] }, "the stored difference is"},
		"an event":                     {func(s []agentbound.Step) { s[pay].Calls[0].Event = agentbound.Diff{{Op: "remove", Path: "/log/0"}} }, "the stored event is"},
		"no observation":               {func(s []agentbound.Step) { s[share].Calls[0].Observation = agentbound.Value(`{`) }, "the observation is not JSON"},
		"a long observation": {func(s []agentbound.Step) {
			s[share].Calls[0].Observation = agentbound.StringValue(strings.Repeat("x", 70_000))
		}, "at most 65536 are shown"},
		"a difference that fits not": {func(s []agentbound.Step) { s[share].Calls[0].Diff[0].Path = "/shares/7" }, `no item "7"`},
	} {
		if err := prove(test.spoil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q", name, err, test.want)
		}
	}
	other := emulated.Worlds{Cache: star.NewCache(0), Stored: emulated.Kind + ":another"}
	if err := run.Replay(t.Context(), other, f, task, res.Trajectory); err == nil || !strings.Contains(err.Error(), "only") {
		t.Errorf("another world: %v", err)
	}
	if _, err := other.Open(t.Context(), f, task); err == nil {
		t.Error("a world without a model was opened")
	}
}
