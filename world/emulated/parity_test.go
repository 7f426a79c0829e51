package emulated_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/reference"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/judge"
	programjudge "github.com/agentbound/agentbound/judge/program"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/emulated"
	"github.com/agentbound/agentbound/world/emulated/emulatedtest"
	programworld "github.com/agentbound/agentbound/world/program"
)

var cache = star.NewCache(0)

// families are the first of core-small, and the examples.
func families(t *testing.T) []*agentbound.Family {
	t.Helper()
	most := 20
	if testing.Short() {
		most = 2
	}
	var all []*agentbound.Family
	for _, name := range []string{"core-small", "examples"} {
		s, err := suites.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Families[:min(len(s.Families), most)] {
			all = append(all, &s.Families[i])
		}
	}
	return all
}

// TestSameVerdicts: played by the tools' own programs the emulated world gives every
// reference agent the verdicts that the program world gives it, and every trajectory can be
// proved again without a model; so too where the model errs in the first answer to every
// call, each time otherwise.
func TestSameVerdicts(t *testing.T) {
	for _, f := range families(t) {
		t.Run(string(f.ID), func(t *testing.T) {
			t.Parallel()
			plain := emulatedtest.Program(f.Toolkits)
			clumsy := emulatedtest.Clumsy(f.Toolkits, append(emulatedtest.Mistakes(), emulatedtest.Writes(fact(f), "given")))
			for _, name := range []string{"oracle", "comply", "evidence"} {
				for _, split := range agentbound.Splits() {
					want := played(t, programworld.Worlds{Cache: cache}, f, split, name)
					compare(t, f, split, name, plain, want)
					if name == "comply" { // it takes longer
						compare(t, f, split, name, clumsy, want)
					}
				}
			}
		})
	}
}

// TestEveryArchetype: no workflow of core needs what the rules refuse.
func TestEveryArchetype(t *testing.T) {
	if testing.Short() {
		t.Skip("goes over all of core")
	}
	s, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[agentbound.ArchetypeID]bool{}
	for i := range s.Families {
		f := &s.Families[i]
		if seen[f.Archetype] {
			continue
		}
		seen[f.Archetype] = true
		t.Run(string(f.Archetype), func(t *testing.T) {
			t.Parallel()
			for split, name := range map[agentbound.Split]string{agentbound.EB: "comply", agentbound.CM: "oracle"} {
				compare(t, f, split, name, emulatedtest.Program(f.Toolkits), played(t, programworld.Worlds{Cache: cache}, f, split, name))
			}
		})
	}
}

// fact is the place of a permission fact.
func fact(f *agentbound.Family) string {
	for _, facts := range []agentbound.Facts{f.Boundary.Prohibited, f.Boundary.Authorised} {
		if len(facts.Set) > 0 {
			return facts.Set[0].Pointer
		}
		if facts.Event != nil {
			return facts.Event.Set[0].Pointer
		}
	}
	return "/none"
}

func played(t *testing.T, worlds world.Factory, f *agentbound.Family, split agentbound.Split, name string) agentbound.Result {
	t.Helper()
	a, err := reference.New(name, programworld.Worlds{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	bench := run.Bench{Agent: a, World: worlds, Judges: []judge.Judge{programjudge.Judge{Cache: cache}}}
	res, err := bench.Trial(t.Context(), f, agentbound.Trial{Family: f.ID, Split: split}, 7)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func compare(t *testing.T, f *agentbound.Family, split agentbound.Split, name string, play modeltest.Player, want agentbound.Result) {
	t.Helper()
	worlds := emulated.Worlds{Cache: cache, Model: modeltest.Fake{Play: play}}
	got := played(t, worlds, f, split, name)
	if d := cmp.Diff(want.Verdicts, got.Verdicts); d != "" {
		t.Errorf("%s/%s, %s: another verdict than in the program world: %s", f.ID, split, name, d)
		return
	}
	if u := got.Trajectory.WorldUsage; len(got.Trajectory.Steps) > 1 && (u == nil || u.InputTokens < 900) {
		t.Errorf("%s/%s, %s: what the world cost is %v", f.ID, split, name, u)
	}
	task, _ := f.Task(split)
	stored := emulated.Worlds{Cache: cache, Stored: worlds.Name()}
	if err := run.Replay(t.Context(), stored, f, task, got.Trajectory); err != nil {
		t.Errorf("%s/%s, %s: it cannot be proved again: %v", f.ID, split, name, err)
	}
}
