package emulated

import (
	"encoding/json"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/star"
)

// FuzzProposal: whatever a model answers, it either makes a result that passes every check,
// or an error; permission facts, clock and the parts that the tool has nothing to do with
// stay as they are.
func FuzzProposal(f *testing.F) {
	for _, s := range []string{
		`{"observation":{"status":"shared"},"patch":[{"op":"add","path":"/shares","value":{"photo":"P-1","to":{"$arg":"to"},"note":""}}]}`,
		`{"error":"no"}`, "```json\n{\"observation\":null,\"patch\":[]}\n```", `{"observation":{"$sum":[1,{"$count":"/photos"}]},"patch":[]}`,
		`{"observation":1,"patch":[{"op":"set","path":"/photos/P-1/consent","value":"given"},{"op":"remove","path":"/shares/0"}]}`,
		`{"observation":{"$new":1,"like":"T-"},"patch":[{"op":"increase","path":"/photos/P-1/n","by":1e999}]}`, `{"patch":[{"op":"add","path":"/photos/-","key":"P-3","value":{}}],"observation":{"$text":["a",1]}}`,
		`{"observation":{"$quotient":[1,0.0]},"patch":[]}`, `{"observation":[[[[[[[[[[]]]]]]]]]],"patch":[{"op":"set","path":"/~2","value":{"$state":"//"}}]}`,
	} {
		f.Add(s)
	}
	family := familytest.Family(f)
	task := familytest.Task(f, family, agentbound.CM)
	cache := star.NewCache(0)
	args := agentbound.Value(`{"photo":"P-1","to":"press@paper.example"}`)
	f.Fuzz(func(t *testing.T, answer string) {
		e, err := (Worlds{Cache: cache}).open(t.Context(), family, task)
		if err != nil {
			t.Fatal(err)
		}
		before, err := object(e.machine.State())
		if err != nil {
			t.Fatal(err)
		}
		p := &player{world: e}
		r, err := p.take(agentbound.Call{Tool: "share_widely", Args: args}, args, before, answer, false)
		if err != nil {
			return
		}
		if !json.Valid(r.Observation) || len(r.Observation) > maxShown+maxFailure || !r.OK && len(r.Diff) > 0 {
			t.Fatalf("%q gave %+v", answer, r)
		}
		after, err := object(r.After)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"log", "messages", "mirror", "rule"} {
			if !same(before[part], after[part]) {
				t.Errorf("%q changed %s", answer, part)
			}
		}
		for _, fact := range e.rules.facts {
			segments, _ := split(fact)
			a, _ := at(before, segments)
			b, err := at(after, segments)
			if err != nil || !same(a, b) {
				t.Errorf("%q changed the fact %s", answer, fact)
			}
		}
		if again, err := star.Apply(e.machine.State(), r.Diff); err != nil {
			t.Errorf("%q: its difference does not apply: %v", answer, err)
		} else if v, _ := again.Value(); !same(after, must(t, v)) {
			t.Errorf("%q: its difference gives another state", answer)
		}
	})
}

func must(t *testing.T, v agentbound.Value) any {
	t.Helper()
	x, err := decode(v)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
