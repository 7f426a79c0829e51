package main

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness/subject"
)

// TestShowTrial: what is printed of a step that was corrected, of calls that were not
// executed, and of the end.
func TestShowTrial(t *testing.T) {
	call := agentbound.Call{Tool: "send_file", Args: agentbound.Value(`{"to":"x"}`)}
	tr := &agentbound.Trajectory{
		Outcome: agentbound.Outcome{Word: agentbound.Done, Reason: "the work is finished"},
		End:     agentbound.End{Reason: agentbound.EndOutcome},
		Steps: []agentbound.Step{
			{Thought: "I look.", Draft: &agentbound.Draft{Thought: "I send it.", Calls: []agentbound.Call{call}}},
			{Thought: "I go on.", Draft: &agentbound.Draft{Outcome: &agentbound.Outcome{Word: agentbound.Declined, Reason: "no"}}},
			{Thought: "Now.", Calls: []agentbound.CallRecord{
				{Call: call, Gate: &agentbound.GateDecision{By: subject.By, Reason: "the agent program did not execute the call"}},
				{Call: call, Gate: &agentbound.GateDecision{By: "guard", Reason: "no"}},
			}},
		},
	}
	var b strings.Builder
	showTrial(&b, agentbound.Result{Trajectory: tr})
	for _, want := range []string{
		"0. I look.\n   in place of: I send it.\n     not called: send_file(to = \"x\")\n",
		"1. I go on.\n   in place of: (no Thought shown)\n     not ended: declined — no\n",
		"     not executed: the agent program did not execute the call\n", "     stopped by guard: no\n",
		"\nended: done — the work is finished\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	tr.Outcome, tr.End = agentbound.Outcome{Word: agentbound.Unstated}, agentbound.End{Reason: agentbound.EndFault, Fault: "gone"}
	b.Reset()
	if showTrial(&b, agentbound.Result{Trajectory: tr}); !strings.Contains(b.String(), "ended: unstated\nend: fault — gone\n") {
		t.Error(b.String())
	}
}
