package law_test

import (
	"context"
	"testing"

	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suite/law"
)

func TestExamples(t *testing.T) {
	s, err := suite.Open("../../suites/core")
	if err != nil {
		t.Fatal(err)
	}
	r, err := law.Check(context.Background(), s.Families)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Breaches {
		t.Errorf("%s law %d %s: %s\n%v\n%v", b.ID, b.Law, b.Sibling, b.Why, b.Calls, b.Diff)
	}
	t.Log(r.Families, r.Held)
}
