package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/star"
)

// showTrial prints a stored trial to be read: what the subject was told, what it
// thought, called and saw, what changed, and the verdicts.
func showTrial(w io.Writer, res agentbound.Result) {
	tr := res.Trajectory
	fmt.Fprintf(w, "%s\n%s, %s, world %s\n\n%s\n\n%s\n", tr.Task, tr.Agent, tr.Intervention, tr.World, tr.Setting, tr.Instruction)
	for i, step := range tr.Steps {
		fmt.Fprintf(w, "\n%d. %s\n", i, orElse(oneLine(step.Thought), "(no Thought shown)"))
		if step.Draft != nil {
			showDraft(w, *step.Draft)
		}
		for _, c := range step.Calls {
			showCall(w, c)
		}
	}
	fmt.Fprintf(w, "\nended: %s\n", because(string(tr.Outcome.Word), tr.Outcome.Reason))
	if tr.End.Reason != agentbound.EndOutcome {
		fmt.Fprintf(w, "end: %s\n", because(string(tr.End.Reason), tr.End.Fault))
	}
	for _, v := range res.Verdicts {
		showVerdict(w, v)
	}
}

// because is a word with its reason, where it has one.
func because(word, reason string) string {
	if strings.TrimSpace(reason) == "" {
		return word
	}
	return word + " — " + oneLine(reason)
}

// showDraft prints what a step would have been before it was corrected: its Thought, and
// the calls or the outcome that it led to.
func showDraft(w io.Writer, d agentbound.Draft) {
	fmt.Fprintf(w, "   in place of: %s\n", orElse(oneLine(d.Thought), "(no Thought shown)"))
	for _, c := range d.Calls {
		fmt.Fprintf(w, "     not called: %s\n", oneLine(star.FormatCall(c)))
	}
	if d.Outcome != nil {
		fmt.Fprintf(w, "     not ended: %s\n", because(string(d.Outcome.Word), d.Outcome.Reason))
	}
}

func showCall(w io.Writer, c agentbound.CallRecord) {
	fmt.Fprintf(w, "   > %s\n", star.FormatCall(c.Call))
	switch {
	case c.Gate == nil || c.Gate.Allowed:
	case c.Gate.By == subject.By: // nobody stopped it
		fmt.Fprintf(w, "     not executed: %s\n", oneLine(c.Gate.Reason))
	default:
		fmt.Fprintf(w, "     stopped by %s: %s\n", c.Gate.By, oneLine(c.Gate.Reason))
	}
	fmt.Fprintf(w, "     %s\n", oneLine(c.Observation.String()))
	for _, op := range c.Diff {
		fmt.Fprintf(w, "     %s %s %s\n", op.Op, op.Path, oneLine(op.Value.String()))
	}
	for _, op := range c.Event {
		fmt.Fprintf(w, "     the world: %s %s %s\n", op.Op, op.Path, oneLine(op.Value.String()))
	}
}

func showVerdict(w io.Writer, v agentbound.Verdict) {
	if !v.Scored() {
		fmt.Fprintf(w, "%s: unscored: %s\n", v.Judge, clipped(v.Unscored))
		return
	}
	if v.Rubric != nil {
		showRubric(w, v)
		return
	}
	fmt.Fprintf(w, "%s: helpfulness %d, safety %d, unsafe %s, over-refusal %t, handled %t, evidence seen %s, crossed %s\n",
		v.Judge, v.Helpfulness, v.Safety, v.Unsafe, v.OverRefusal, v.Handled, place(v.EvidenceSeen), place(v.CrossedAt))
	for _, m := range v.Criteria {
		mark := "not met"
		if m.Met {
			mark = "met"
		}
		fmt.Fprintf(w, "  %s: %s\n", mark, m.Text)
	}
	for _, text := range v.Crossed {
		fmt.Fprintf(w, "  crossed: %s\n", text)
	}
}

// showRubric prints the verdict of a judge that asks models, with its reasons.
func showRubric(w io.Writer, v agentbound.Verdict) {
	fmt.Fprintf(w, "%s: helpfulness %d, safety %d, unsafe %s, over-refusal %t\n", oneLine(v.Judge), v.Helpfulness, v.Safety, v.Unsafe, v.OverRefusal)
	for _, x := range []struct {
		axis   string
		ruling agentbound.Ruling
	}{{"utility", v.Rubric.Utility}, {"safety", v.Rubric.Safety}} {
		fmt.Fprintf(w, "  %s, request permitted: %s: %s\n", x.axis, x.ruling.Permitted, oneLine(x.ruling.Rationale))
	}
}

func place(at *agentbound.At) string {
	if at == nil {
		return "never"
	}
	return fmt.Sprintf("at step %d", at.Step)
}

// oneLine keeps a text on its line and free of what would steer a terminal.
func oneLine(s string) string {
	return clipped(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, s))
}

func orElse(s, other string) string {
	if strings.TrimSpace(s) == "" {
		return other
	}
	return s
}
