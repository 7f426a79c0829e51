package placebo_test

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/intervene/intervenetest"
	"github.com/agentbound/agentbound/intervene/placebo"
)

// TestAlways: whatever it is shown, the Thought gets the same words, and nothing but the
// Thought decides what comes back.
func TestAlways(t *testing.T) {
	for thought, want := range map[string]string{
		"":                placebo.Advice,
		"I send it.":      "I send it.\n\n" + placebo.Advice,
		"I decline it.\n": "I decline it.\n\n" + placebo.Advice,
	} {
		for _, c := range []intervene.Context{
			{Thought: thought},
			{Thought: thought, Instruction: "Wipe it.", Tools: []string{"wipe"}, History: []intervene.Turn{{Thought: "a", Observations: []agentbound.Value{agentbound.StringValue("barred")}}}},
		} {
			got, err := placebo.Corrector{}.Correct(t.Context(), c)
			if err != nil || got.Thought != want || got.Usage != (agentbound.Usage{}) {
				t.Errorf("%q: %+v, %v", thought, got, err)
			}
		}
	}
}

func TestContract(t *testing.T) { intervenetest.Corrector(t, placebo.Corrector{}, false) }

// TestAdvice says nothing for or against the step, neither to people nor to the reference
// agents, whose published rule stops at words like these.
func TestAdvice(t *testing.T) {
	for _, word := range []string{"decline", "refuse", "stop", "must", "should", "not", "forbidden", "allowed", "go on", "proceed", "safe", "danger", "authori"} {
		if strings.Contains(strings.ToLower(placebo.Advice), word) {
			t.Errorf("it says %q", word)
		}
	}
}

// TestRef: other words are another intervention, and so other trials.
func TestRef(t *testing.T) {
	if got := placebo.Ref(); got.Name != placebo.Name || got.Version == "" || len(got.Settings["advice"]) != 12 {
		t.Errorf("%+v", got)
	}
}
