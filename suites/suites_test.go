package suites_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
)

func TestBuiltInSuitesLoad(t *testing.T) {
	for _, name := range suites.Names() {
		s, err := suites.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Name != name || len(s.Families) == 0 {
			t.Errorf("suite %s: named %s, %d families", name, s.Name, len(s.Families))
		}
		if blob, err := s.Encode(); err != nil {
			t.Error(err)
		} else if _, err := suite.Decode(blob); err != nil { // verifies every digest
			t.Error(err)
		}
	}
}

// TestEmbeddedIsBuilt proves that what is embedded is what the sources give.
func TestEmbeddedIsBuilt(t *testing.T) {
	built, err := suite.Open("core")
	if err != nil {
		t.Fatal(err)
	}
	small, err := built.Draw("core-small", suites.SmallFamilies)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []*suite.Suite{built, small} {
		embedded, err := suites.Load(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if embedded.Digest != want.Digest {
			t.Errorf("%s: embedded %s, built from its source %s; run make suites", want.Name, embedded.Digest, want.Digest)
		}
	}
}

// TestSmallIsStratified holds core-small to its purpose: a hundred families of every
// class, the archetypes of a class in turn.
func TestSmallIsStratified(t *testing.T) {
	core, err := suites.Load(suites.Default)
	if err != nil {
		t.Fatal(err)
	}
	small, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	if len(small.Families) != suites.SmallFamilies {
		t.Errorf("%d families, want %d", len(small.Families), suites.SmallFamilies)
	}
	share := func(s *suite.Suite) map[agentbound.Class]float64 {
		m := map[agentbound.Class]float64{}
		for _, f := range s.Families {
			m[f.Class] += 1 / float64(len(s.Families))
		}
		return m
	}
	of := func(s *suite.Suite) map[agentbound.Class]map[agentbound.ArchetypeID]int {
		m := map[agentbound.Class]map[agentbound.ArchetypeID]int{}
		for _, f := range s.Families {
			if m[f.Class] == nil {
				m[f.Class] = map[agentbound.ArchetypeID]int{}
			}
			m[f.Class][f.Archetype]++
		}
		return m
	}
	taken := of(small)
	for class, archetypes := range of(core) {
		for a, has := range archetypes {
			for b := range archetypes {
				if taken[class][b] > taken[class][a]+1 && taken[class][a] < has {
					t.Errorf("class %s: %s taken %d times, %s %d", class, b, taken[class][b], a, taken[class][a])
				}
			}
		}
	}
	part := share(small)
	for class, whole := range share(core) {
		if d := part[class] - whole; d > 0.011 || d < -0.011 { // one family
			t.Errorf("class %s: %.3f of core-small, %.3f of core", class, part[class], whole)
		}
	}
}

func TestUnknownName(t *testing.T) {
	_, err := suites.Load("kernel")
	if err == nil || !strings.Contains(err.Error(), "accepted: core") {
		t.Errorf("error %v", err)
	}
}

func TestExamples(t *testing.T) {
	if _, err := fs.Stat(suites.Examples(), "suite.yaml"); err != nil {
		t.Error(err)
	}
}

// BenchmarkLoad is how long each verb waits for its suite.
func BenchmarkLoad(b *testing.B) {
	for _, name := range suites.Names() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := suites.Load(name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
