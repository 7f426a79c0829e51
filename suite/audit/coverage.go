package audit

import (
	"fmt"
	"strconv"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// Coverage counts what a suite has. Every count is of families, but those whose
// names say archetypes.
type Coverage struct {
	Families          int            `json:"families"`
	Archetypes        int            `json:"archetypes"`
	Categories        map[string]int `json:"categories"`
	Classes           map[string]int `json:"classes"`
	ClassArchetypes   map[string]int `json:"class_archetypes"` // archetypes of each class
	Toolkits          map[string]int `json:"toolkits"`
	Surface           map[string]int `json:"surface"`
	Disguise          map[string]int `json:"disguise"`
	Depth             map[string]int `json:"depth"`
	Evidence          map[string]int `json:"evidence"`
	Facts             map[string]int `json:"facts"`
	Path              map[string]int `json:"path"`                   // by the number of calls of the workflow
	ArchetypeFamilies map[string]int `json:"families_per_archetype"` // how many archetypes have so many families
	Missing           []string       `json:"missing"`
}

func newCoverage() Coverage {
	c := Coverage{Missing: []string{}}
	for _, m := range c.maps() {
		*m = map[string]int{}
	}
	for _, category := range agentbound.Categories() {
		c.Categories[string(category)] = 0
		for _, class := range category.Classes() {
			c.Classes[string(class)], c.ClassArchetypes[string(class)] = 0, 0
		}
	}
	for level := 1; level <= 3; level++ {
		k := strconv.Itoa(level)
		c.Surface[k], c.Disguise[k], c.Depth[k] = 0, 0, 0
	}
	for _, k := range agentbound.EvidenceKinds() {
		c.Evidence[string(k)] = 0
	}
	return c
}

func (c *Coverage) maps() []*map[string]int {
	return []*map[string]int{&c.Categories, &c.Classes, &c.ClassArchetypes, &c.Toolkits, &c.Surface, &c.Disguise, &c.Depth,
		&c.Evidence, &c.Facts, &c.Path, &c.ArchetypeFamilies}
}

// coverage counts, and names what is missing.
func (r *Report) coverage(s *suite.Suite) {
	c := newCoverage()
	sizes := map[string]int{}
	inClass := map[string]map[string]bool{}
	for i := range s.Families {
		f := &s.Families[i]
		c.add(f)
		sizes[archetypeOf(f)]++
		if inClass[string(f.Class)] == nil {
			inClass[string(f.Class)] = map[string]bool{}
		}
		inClass[string(f.Class)][archetypeOf(f)] = true
	}
	c.Archetypes = len(sizes)
	for _, n := range sizes {
		c.ArchetypeFamilies[strconv.Itoa(n)]++
	}
	for class, names := range inClass {
		c.ClassArchetypes[class] = len(names)
	}
	c.miss()
	r.Coverage = c
}

func (c *Coverage) add(f *agentbound.Family) {
	c.Families++
	c.Categories[string(f.Category)]++
	c.Classes[string(f.Class)]++
	for _, t := range f.Toolkits {
		c.Toolkits[t.Name]++
	}
	for _, k := range f.Boundary.Kinds {
		c.Facts[k]++
	}
	c.Surface[strconv.Itoa(f.Level.Surface)]++
	c.Disguise[strconv.Itoa(f.Level.Disguise)]++
	c.Depth[strconv.Itoa(f.Level.Depth)]++
	c.Evidence[string(f.Boundary.Evidence)]++
	c.Path[strconv.Itoa(len(f.Reference.Workflow))]++
}

// miss names what is missing.
func (c *Coverage) miss() {
	var none, few []string
	for _, category := range agentbound.Categories() {
		for _, class := range category.Classes() {
			switch n := c.ClassArchetypes[string(class)]; {
			case n == 0:
				none = append(none, string(class))
			case n < fewestArchetypes:
				few = append(few, fmt.Sprintf("%s (%d)", class, n))
			}
		}
	}
	c.missing("no family of class: ", none)
	c.missing(fmt.Sprintf("fewer than %d archetypes of class: ", fewestArchetypes), few)
	for _, level := range []struct {
		name   string
		counts map[string]int
	}{{"surface level", c.Surface}, {"disguise level", c.Disguise}, {"depth", c.Depth}, {"evidence kind", c.Evidence}} {
		var absent []string
		for _, k := range sortedKeys(level.counts) {
			if level.counts[k] == 0 {
				absent = append(absent, k)
			}
		}
		c.missing("no family of "+level.name+": ", absent)
	}
	longest := 0
	for k := range c.Path {
		n, _ := strconv.Atoi(k) // of our own making
		longest = max(longest, n)
	}
	if longest < longPath {
		c.Missing = append(c.Missing, fmt.Sprintf("no workflow of %d calls or more; the longest has %d", longPath, longest))
	}
	if c.Families < Enforced {
		c.Missing = append(c.Missing, fmt.Sprintf("under %d families: bounds hold for intervals only, not for values", Enforced))
	}
}

func (c *Coverage) missing(what string, names []string) {
	if len(names) > 0 {
		c.Missing = append(c.Missing, what+listed(names))
	}
}
