package agentbound_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
)

func plan() agentbound.Plan {
	return agentbound.Plan{
		Version: agentbound.PlanVersion, Suite: agentbound.SuiteRef{Name: "core", Digest: agentbound.DigestBytes([]byte("core")), Families: 3},
		Agent:        agentbound.AgentRef{Name: "compat:m@u", Kind: "model", Version: "1", Settings: map[string]string{"temperature": "1", "top_p": "0.9"}},
		Intervention: agentbound.Intervention{Name: agentbound.Bare}, World: "program", Judges: []string{"program/1"},
		Splits: agentbound.Siblings(), Repeats: 3, Limits: agentbound.Limits{Steps: 60, Calls: 16, Seconds: 600, Observation: 1 << 18, Args: 1 << 16}, Seed: 1,
	}
}

// changes are one change to each field of a plan, and whether it makes other trials.
// Judges and selection make another run of the same trials.
var changes = map[string]struct {
	change func(*agentbound.Plan)
	trials bool
}{
	"Version":      {func(p *agentbound.Plan) { p.Version++ }, false},
	"Suite":        {func(p *agentbound.Plan) { p.Suite.Name = "other" }, false}, // a key has the family's digest
	"Agent":        {func(p *agentbound.Plan) { p.Agent.Version = "2" }, true},
	"Intervention": {func(p *agentbound.Plan) { p.Intervention.Name = "aligner" }, true},
	"World":        {func(p *agentbound.Plan) { p.World = "emulated" }, true},
	"Judges":       {func(p *agentbound.Plan) { p.Judges = append(p.Judges, "rubric/1") }, false},
	"Families":     {func(p *agentbound.Plan) { p.Families = []agentbound.FamilyID{"a"} }, false},
	"Splits":       {func(p *agentbound.Plan) { p.Splits = agentbound.Splits() }, false},
	"Repeats":      {func(p *agentbound.Plan) { p.Repeats = 5 }, false},
	"Tasks":        {func(p *agentbound.Plan) { p.Tasks = []agentbound.TaskID{"a/hb"} }, false},
	"Limits":       {func(p *agentbound.Plan) { p.Limits.Steps = 5 }, true},
	"Seed":         {func(p *agentbound.Plan) { p.Seed = 2 }, true},
	"Counter":      {func(p *agentbound.Plan) { p.Counter = 1 }, true},
}

// TestWhatMakesARunAndATrial: every field of a plan makes another run; those that
// decide what a trial is make other keys.
func TestWhatMakesARunAndATrial(t *testing.T) {
	key := func(p agentbound.Plan) agentbound.TrialKey { return p.Key("f", agentbound.HB, 0) }
	for field := range reflect.TypeFor[agentbound.Plan]().Fields() {
		c, ok := changes[field.Name]
		if !ok {
			t.Errorf("Plan.%s: say here whether it makes other trials", field.Name)
			continue
		}
		p := plan()
		c.change(&p)
		if p.ID() == plan().ID() {
			t.Errorf("another %s is the same run", field.Name)
		}
		if other := key(p) != key(plan()); other != c.trials {
			t.Errorf("another %s makes other trials: %t, want %t", field.Name, other, c.trials)
		}
	}
}

func TestKeysDifferByFamilySplitAndRepeat(t *testing.T) {
	seen := map[agentbound.TrialKey]string{}
	for _, family := range []agentbound.Digest{"a", "b"} {
		for _, split := range agentbound.Splits() {
			for repeat := range 3 {
				key := plan().Key(family, split, repeat)
				if other, twice := seen[key]; twice {
					t.Errorf("%s/%s/%d has the key of %s", family, split, repeat, other)
				}
				seen[key] = string(family) + "/" + string(split)
			}
		}
	}
}

// TestIDsAreStable: stored runs and trials are found again by what is written here.
// A change of these digests strands every store, so it needs a new PlanVersion.
func TestIDsAreStable(t *testing.T) {
	p := plan()
	if got, want := p.ID(), agentbound.RunID("f153d321080e6a0a"); got != want {
		t.Errorf("run id %s, want %s", got, want)
	}
	if got, want := p.Key("f", agentbound.HB, 2), agentbound.TrialKey("24b99dad5a390dac2c7825bcde2bd9eb"); got != want {
		t.Errorf("trial key %s, want %s", got, want)
	}
	if len(p.ID()) != 16 || len(p.Key("f", agentbound.HB, 0)) != 32 {
		t.Errorf("lengths %d and %d", len(p.ID()), len(p.Key("f", agentbound.HB, 0)))
	}
}

// TestAStoredPlanIsTheSameRun.
func TestAStoredPlanIsTheSameRun(t *testing.T) {
	p := plan()
	p.Families = []agentbound.FamilyID{"a<b", "c&d"}
	p.Seed = 1<<64 - 1
	b, err := agentbound.EncodeJSON(p)
	if err != nil {
		t.Fatal(err)
	}
	var back agentbound.Plan
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, back); d != "" || back.ID() != p.ID() {
		t.Errorf("run %s was %s: %s", back.ID(), p.ID(), d)
	}
}

func TestDigest(t *testing.T) {
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // SHA-256 of nothing
	if got := agentbound.DigestBytes(nil); got != empty {
		t.Errorf("digest of nothing %s", got)
	}
	if agentbound.DigestJSON(map[string]int{"a": 1, "b": 2}) != agentbound.DigestBytes([]byte(`{"a":1,"b":2}`)) {
		t.Error("the digest of JSON is not that of its bytes")
	}
	defer func() {
		if recover() == nil {
			t.Error("what has no JSON has a digest")
		}
	}()
	agentbound.DigestJSON(func() {})
}

func TestLimitsWithDefaults(t *testing.T) {
	if d := cmp.Diff(agentbound.DefaultLimits(), agentbound.Limits{}.WithDefaults()); d != "" {
		t.Error(d)
	}
	all := agentbound.Limits{Steps: 1, Calls: 2, Seconds: 3, Observation: 4, Args: 5}
	if d := cmp.Diff(all, all.WithDefaults()); d != "" {
		t.Error(d)
	}
	if got := reflect.ValueOf(agentbound.Limits{}.WithDefaults()); slices.ContainsFunc(fields(got), reflect.Value.IsZero) {
		t.Errorf("a limit has no default: %+v", got)
	}
}

func fields(v reflect.Value) (out []reflect.Value) {
	for _, f := range v.Fields() {
		out = append(out, f)
	}
	return out
}

// TestLabel: what tables call an agent makes a run of its own, and no trial.
func TestLabel(t *testing.T) {
	p := agentbound.Plan{Version: agentbound.PlanVersion, Agent: agentbound.AgentRef{Name: "compat:m@u", Kind: "model", Version: "1"}, Repeats: 1}
	labelled := p
	labelled.Agent.Label = "M 1"
	if p.ID() == labelled.ID() {
		t.Error("two names of an agent are one run")
	}
	if p.Key("f", agentbound.HB, 0) != labelled.Key("f", agentbound.HB, 0) {
		t.Error("a label decides trials")
	}
	if p.Agent.Title() != "compat:m@u" || labelled.Agent.Title() != "M 1" {
		t.Errorf("titles %q, %q", p.Agent.Title(), labelled.Agent.Title())
	}
}

func TestUsageAdd(t *testing.T) {
	got := agentbound.Usage{InputTokens: 1, OutputTokens: 2, USD: 0.5, CachedTokens: 1}.Add(agentbound.Usage{InputTokens: 10, OutputTokens: 20, USD: 1, CachedTokens: 4})
	if d := cmp.Diff(agentbound.Usage{InputTokens: 11, OutputTokens: 22, USD: 1.5, CachedTokens: 5}, got); d != "" {
		t.Error(d)
	}
}
