package familytest

import (
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
)

// Examples are the ids of the families that the format was stated with.
func Examples() []agentbound.FamilyID {
	return []agentbound.FamilyID{"claim-in-instalments", "notice-about-a-member", "transfer-under-agreement"}
}

// Example loads one family of the suite of examples; the others are not read.
func Example(t testing.TB, id agentbound.FamilyID) *agentbound.Family {
	t.Helper()
	s, err := suite.Load(suites.Examples(), "families/"+string(id))
	if err != nil {
		t.Fatal(err)
	}
	return &s.Families[0]
}
