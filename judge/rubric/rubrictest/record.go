// Package rubrictest holds language-model judges for tests that need none: players of the
// model port that read a rubric's prompt as a careful model would, line by line, and
// answer as they are told to.
package rubrictest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Record is what a prompt says, read by its structure alone.
type Record struct {
	Axis    string // "utility" or "safety"
	Lines   []Line
	Outside string // what stands in the user's first turn, and is neither fence nor line of the record
}

// Line is a label and its value.
type Line struct {
	Label string
	Value agentbound.Value // canonical
}

// Label has the form of the labels that a record may have.
var label = regexp.MustCompile(`^(?:setting|instruction|tool|start|end|outcome|final|cut|\[step [0-9]+\] (?:thought|call|result|observation|changed|event))$`)

// Read takes a conversation apart. Text that is no part of the record's structure is
// Outside: a judge would take it for its principal's words.
func Read(r model.Request) (Record, error) {
	if len(r.Messages) < 2 || r.Messages[0].Role != model.System || r.Messages[1].Role != model.User {
		return Record{}, fmt.Errorf("a prompt is a system's turn and a user's, this has %d", len(r.Messages))
	}
	rec := Record{Axis: "safety"}
	if strings.Contains(r.Messages[0].Text, "over_refusal") {
		rec.Axis = "utility"
	}
	var outside []string
	code, inside, seen := "", false, false
	for line := range strings.Lines(r.Messages[1].Text) {
		line = strings.TrimSuffix(line, "\n")
		begin, begins := strings.CutPrefix(line, "BEGIN RECORD ")
		end, ends := strings.CutPrefix(line, "END RECORD ")
		l, err := parse(line)
		switch {
		case begins && !seen:
			code, inside, seen = begin, true, true
		case inside && ends && end == code:
			inside = false
		case inside && err == nil:
			rec.Lines = append(rec.Lines, l)
		default:
			outside = append(outside, line)
		}
	}
	rec.Outside = strings.Join(outside, "\n")
	if inside || !seen {
		return rec, errors.New("the record is not closed, or there is none")
	}
	return rec, nil
}

func parse(line string) (Line, error) {
	name, text, ok := strings.Cut(line, ": ")
	if !ok || !label.MatchString(name) {
		return Line{}, fmt.Errorf("no line of a record: %s", line)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return Line{}, fmt.Errorf("%s: no JSON value: %w", name, err)
	}
	b, err := agentbound.EncodeJSON(v)
	return Line{name, b}, err
}

// Text is the string that the first line of a label holds.
func (r Record) Text(label string) string {
	var s string
	if json.Unmarshal(r.Value(label), &s) != nil {
		return ""
	}
	return s
}

// Value is what the first line of a label holds.
func (r Record) Value(label string) agentbound.Value {
	for _, l := range r.Lines {
		if l.Label == label {
			return l.Value
		}
	}
	return agentbound.Null
}

// Steps is how many steps a record has.
func (r Record) Steps() int {
	steps := 0
	for _, l := range r.Lines {
		var n int
		if _, err := fmt.Sscanf(l.Label, "[step %d]", &n); err == nil {
			steps = n + 1
		}
	}
	return steps
}

// Trajectory rebuilds the trial from its record.
func (r Record) Trajectory() (*agentbound.Trajectory, error) {
	tr := &agentbound.Trajectory{
		Version: agentbound.TrajectoryVersion, Setting: r.Text("setting"), Instruction: r.Text("instruction"), Start: r.Value("start"),
		Steps: make([]agentbound.Step, r.Steps()), End: agentbound.End{Reason: agentbound.EndOutcome},
	}
	if strings.Contains(r.Text("end"), "ran out of steps") {
		tr.End.Reason = agentbound.EndSteps
	}
	if err := json.Unmarshal(r.Value("outcome"), &tr.Outcome); err != nil {
		return nil, err
	}
	for _, l := range r.Lines {
		var n int
		var what string
		if _, err := fmt.Sscanf(l.Label, "[step %d] %s", &n, &what); err != nil {
			continue
		}
		if err := apply(&tr.Steps[n], what, l.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", l.Label, err)
		}
	}
	return tr, nil
}

// apply adds a line of a step to it.
func apply(s *agentbound.Step, what string, v agentbound.Value) error {
	if what == "thought" {
		return json.Unmarshal(v, &s.Thought)
	}
	if what == "call" {
		if v.Equal(agentbound.Null) {
			return nil
		}
		s.Calls = append(s.Calls, agentbound.CallRecord{})
		return json.Unmarshal(v, &s.Calls[len(s.Calls)-1].Call)
	}
	c := &s.Calls[len(s.Calls)-1]
	switch what {
	case "observation":
		c.Observation = v
		return nil
	case "changed":
		return json.Unmarshal(v, &c.Diff)
	case "event":
		return json.Unmarshal(v, &c.Event)
	}
	switch string(v) {
	case `"done"`:
		c.OK = true
	case `"failed"`:
	case `"stopped before it took effect"`:
		c.Gate = &agentbound.GateDecision{}
	default:
		c.Limited = true
	}
	return nil
}
