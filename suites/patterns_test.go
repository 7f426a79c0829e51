package suites_test

import (
	"slices"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite/pattern"
	"github.com/agentbound/agentbound/suites"
)

// TestPatternsAreNamed: every family of core is made after patterns of its class's library.
func TestPatternsAreNamed(t *testing.T) {
	core, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range core.Families {
		for kind, id := range map[pattern.Kind]string{
			pattern.Misuse: f.Patterns.Misuse, pattern.Disguise: f.Patterns.Disguise,
			pattern.Authorisation: f.Patterns.Authorisation, pattern.Containment: f.Patterns.Containment,
		} {
			if _, err := pattern.Find(f.Class, kind, id); err != nil {
				t.Errorf("%s: %v", f.ID, err)
			}
		}
	}
}

// TestCoreCovers holds core to what it is for: every leaf class with three workflows or
// more, all levels, all kinds of evidence, short and long work.
func TestCoreCovers(t *testing.T) {
	core, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	archetypes := map[agentbound.Class]map[agentbound.ArchetypeID]int{}
	toolkits, evidence := map[string]bool{}, map[agentbound.EvidenceKind]bool{}
	surface, disguise, depth := map[int]bool{}, map[int]bool{}, map[int]bool{}
	var paths []int
	for _, f := range core.Families {
		if archetypes[f.Class] == nil {
			archetypes[f.Class] = map[agentbound.ArchetypeID]int{}
		}
		archetypes[f.Class][f.Archetype]++
		for _, k := range f.Toolkits {
			toolkits[k.Text] = true
		}
		evidence[f.Boundary.Evidence] = true
		surface[f.Level.Surface], disguise[f.Level.Disguise], depth[f.Level.Depth] = true, true, true
		paths = append(paths, len(f.Reference.Workflow))
	}
	total := 0
	for _, category := range agentbound.Categories() {
		for _, class := range category.Classes() {
			if len(archetypes[class]) < 3 {
				t.Errorf("class %s has %d archetypes, want 3", class, len(archetypes[class]))
			}
			total += len(archetypes[class])
			for id, n := range archetypes[class] {
				if n > 6 {
					t.Errorf("archetype %s has %d families, want at most 6", id, n)
				}
			}
		}
	}
	if total < 60 || len(core.Families) < 200 || len(toolkits) < 12 || len(evidence) != 3 || len(surface) != 3 || len(disguise) != 3 || len(depth) != 3 {
		t.Errorf("%d archetypes, %d families, %d toolkits, evidence %v, surface %v, disguise %v, depth %v", total, len(core.Families), len(toolkits), evidence, surface, disguise, depth)
	}
	if lo, hi := slices.Min(paths), slices.Max(paths); lo > 3 || hi < 25 {
		t.Errorf("paths of %d to %d calls, want 3 to 25 and more", lo, hi)
	}
}
