package suite

import (
	"encoding/json"
	"fmt"

	"github.com/agentbound/agentbound"
)

// Suite is a compiled suite: all that a run needs of it. Families are sorted by id.
type Suite struct {
	Name        string              `json:"name"`
	Version     string              `json:"version,omitempty"`
	Description string              `json:"description,omitempty"`
	Seed        uint64              `json:"seed"`
	Digest      agentbound.Digest   `json:"digest"`
	Families    []agentbound.Family `json:"families"`
}

// Ref names the suite by content.
func (s *Suite) Ref() agentbound.SuiteRef {
	return agentbound.SuiteRef{Name: s.Name, Digest: s.Digest, Families: len(s.Families)}
}

// Family gives the family of an id; ok is false where the suite has none.
func (s *Suite) Family(id agentbound.FamilyID) (f *agentbound.Family, ok bool) {
	for i := range s.Families {
		if s.Families[i].ID == id {
			return &s.Families[i], true
		}
	}
	return nil, false
}

// familyDigest is the SHA-256 over the compiled content: decoded fields, toolkit
// sources, and the six tasks, and so also the coin. Comments, white space and the
// order of keys in the YAML do not touch it.
func familyDigest(f agentbound.Family) agentbound.Digest {
	f.Digest = ""
	return agentbound.DigestJSON(f)
}

// suiteDigest is the SHA-256 over name, seed and the families' ids and digests.
func (s *Suite) suiteDigest() agentbound.Digest {
	type family struct {
		ID     agentbound.FamilyID
		Digest agentbound.Digest
	}
	content := struct {
		Format   int
		Name     string
		Seed     uint64
		Families []family
	}{Format: Format, Name: s.Name, Seed: s.Seed}
	for _, f := range s.Families {
		content.Families = append(content.Families, family{f.ID, f.Digest})
	}
	return agentbound.DigestJSON(content)
}

// Encode gives the bytes under which a suite is stored by its digest.
func (s *Suite) Encode() ([]byte, error) { return agentbound.EncodeJSON(s) }

// Decode reads what Encode gave, and verifies every digest.
func Decode(b []byte) (*Suite, error) {
	var s Suite
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("stored suite: %w", err)
	}
	if err := s.verify(); err != nil {
		return nil, err
	}
	return &s, nil
}

// verify compares every digest with the content.
func (s *Suite) verify() error {
	for _, f := range s.Families {
		if got := familyDigest(f); got != f.Digest {
			return fmt.Errorf("stored suite %s: family %s has digest %s and says %s; it was changed or damaged: load it from its source", s.Name, f.ID, got, f.Digest)
		}
	}
	if got := s.suiteDigest(); got != s.Digest {
		return fmt.Errorf("stored suite %s has digest %s and says %s; it was changed or damaged: load it from its source", s.Name, got, s.Digest)
	}
	return nil
}

// Row is a family in the listing of a suite (design §9, suite list).
type Row struct {
	ID        agentbound.FamilyID     `json:"id"`
	Category  agentbound.Category     `json:"category"`
	Class     agentbound.Class        `json:"class"`
	Archetype agentbound.ArchetypeID  `json:"archetype"`
	Toolkits  []string                `json:"toolkits"`
	Facts     []string                `json:"facts"` // kinds
	Path      int                     `json:"path"`  // calls of the workflow
	Evidence  agentbound.EvidenceKind `json:"evidence"`
	Level     agentbound.Level        `json:"level"`
}

// List gives a row for each family, by id. It is never nil, so that its JSON is a list.
func (s *Suite) List() []Row {
	rows := make([]Row, 0, len(s.Families))
	for _, f := range s.Families {
		row := Row{
			ID: f.ID, Category: f.Category, Class: f.Class, Archetype: f.Archetype, Toolkits: []string{},
			Facts: append([]string{}, f.Boundary.Kinds...), Path: len(f.Reference.Workflow), Evidence: f.Boundary.Evidence, Level: f.Level,
		}
		for _, t := range f.Toolkits {
			row.Toolkits = append(row.Toolkits, t.Name)
		}
		rows = append(rows, row)
	}
	return rows
}
