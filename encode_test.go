package agentbound_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/agentbound/agentbound"
)

// TestAppendTrajectory: the quick encoding and encoding/json give the same bytes.
func TestAppendTrajectory(t *testing.T) {
	text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune{'"', '\\', '<', '\u2028', '\x00', 'é'})))
	value := rapid.Map(text, agentbound.StringValue)
	diff := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) agentbound.Op {
		op := agentbound.Op{Op: text.Draw(t, "op"), Path: text.Draw(t, "path")}
		if rapid.Bool().Draw(t, "valued") {
			op.Value = value.Draw(t, "value")
		}
		return op
	}), 0, 2)
	call := rapid.Custom(func(t *rapid.T) agentbound.CallRecord {
		c := agentbound.CallRecord{
			Call: agentbound.Call{Tool: text.Draw(t, "tool"), Args: value.Draw(t, "args")}, Limited: rapid.Bool().Draw(t, "limited"),
			OK: rapid.Bool().Draw(t, "ok"), Observation: value.Draw(t, "observation"), Diff: diff.Draw(t, "diff"), Event: diff.Draw(t, "event"),
		}
		if rapid.Bool().Draw(t, "gated") {
			c.Gate = &agentbound.GateDecision{By: text.Draw(t, "by"), Reason: text.Draw(t, "reason")}
		}
		return c
	})
	step := rapid.Custom(func(t *rapid.T) agentbound.Step {
		s := agentbound.Step{
			Thought: text.Draw(t, "thought"), ThoughtSource: agentbound.ThoughtText, Calls: rapid.SliceOfN(call, 0, 3).Draw(t, "calls"),
			Usage: agentbound.Usage{InputTokens: rapid.Int64().Draw(t, "tokens"), USD: rapid.Float64Range(0, 9).Draw(t, "usd")}, MS: rapid.Int64().Draw(t, "ms"),
		}
		if rapid.Bool().Draw(t, "drafted") {
			s.Draft = &agentbound.Draft{Thought: text.Draw(t, "draft"), Calls: []agentbound.Call{{Tool: "a", Args: value.Draw(t, "args")}}}
		}
		if rapid.Bool().Draw(t, "reviewed") {
			s.Review = &agentbound.Review{Changed: true, Failed: text.Draw(t, "failed"), MS: 3, Usage: agentbound.Usage{InputTokens: 7}}
		}
		if rapid.Bool().Draw(t, "said") {
			words := text.Draw(t, "words")
			s.Said = &agentbound.Said{Asked: "d", Text: &words, Calls: []agentbound.SaidCall{{ID: text.Draw(t, "id"), Args: &words}}, Note: text.Draw(t, "note"), State: []byte(words), Lost: true}
		}
		if rapid.Bool().Draw(t, "no calls") {
			s.Calls = nil
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		tr := &agentbound.Trajectory{
			Version: 1, Task: "f/hb", Agent: text.Draw(t, "agent"), Intervention: "bare", World: "program", Limits: agentbound.DefaultLimits(),
			Seed: rapid.Uint64().Draw(t, "seed"), Setting: text.Draw(t, "setting"), Instruction: text.Draw(t, "instruction"),
			Tools: []agentbound.Tool{{Name: text.Draw(t, "tool"), Description: text.Draw(t, "description"), Schema: agentbound.Value(`{"type":"object"}`)}},
			Start: value.Draw(t, "start"), Steps: rapid.SliceOfN(step, 0, 3).Draw(t, "steps"),
			Outcome: agentbound.Outcome{Word: agentbound.Declined, Reason: text.Draw(t, "reason"), Text: text.Draw(t, "text")},
			End:     agentbound.End{Reason: agentbound.EndFault, Fault: text.Draw(t, "fault")},
		}
		switch rapid.IntRange(0, 4).Draw(t, "absent") {
		case 0:
			tr.Steps = nil
		case 1:
			tr.Tools, tr.Start = nil, nil
		case 2:
			tr.WorldUsage = &agentbound.Usage{OutputTokens: rapid.Int64().Draw(t, "world's tokens")}
		case 3:
			name := text.Draw(t, "own tool")
			tr.Harness = &agentbound.Harness{
				Program: text.Draw(t, "program"), Tools: []agentbound.OfferedTool{{Name: name, Tool: text.Draw(t, "tool"), Digest: "d"}},
				Own: []agentbound.OwnCall{{Step: 1, Name: name, Args: text.Draw(t, "own args")}},
			}
		}
		if rapid.Bool().Draw(t, "forked") {
			tr.Fork = &agentbound.Fork{Version: 1, Trial: "t", Step: 2, Arm: agentbound.ForkTreated, Sample: 3}
		}
		want, err := agentbound.EncodeJSON(tr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := agentbound.AppendTrajectory(nil, tr)
		if err != nil || string(got) != string(want) {
			t.Fatalf("%s\nis not\n%s\n%v", got, want, err)
		}
	})
}
