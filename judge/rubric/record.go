package rubric

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// maxRecord bounds what a judge is shown of one trial, in bytes: some 80,000 tokens,
// which the windows of all current models hold.
const maxRecord = 240_000

// The lines round a record. The code is a digest of what stands between them.
const (
	beginRecord = "BEGIN RECORD "
	endRecord   = "END RECORD "
)

// record writes a trajectory for a judge to read: one line a value, in the order of what
// happened. Names of task, agent, intervention and world are left out, and so are drafts
// and, unless asked for, Thoughts. One that is too long is cut, all values alike, as
// little as makes it fit; the error says that no cut does.
func record(tr *agentbound.Trajectory, thoughts bool) (string, error) {
	final, err := changedParts(tr)
	if err != nil {
		return "", err
	}
	size := 0
	for i, c := range cuts {
		w := writer{cut: c, last: i == len(cuts)-1}
		w.trajectory(tr, thoughts, final)
		if size = w.b.Len(); size <= maxRecord {
			code := agentbound.DigestBytes([]byte(w.b.String()))[:12]
			return fmt.Sprintf("%s%s\n%s%s%s\n", beginRecord, code, w.b.String(), endRecord, code), nil
		}
	}
	return "", fmt.Errorf("the record of the trial has %d bytes at its shortest; a judge is shown at most %d", size, maxRecord)
}

// writer writes the lines of a record.
type writer struct {
	b    strings.Builder
	cut  cut
	last bool // no shorter cut follows
}

func (w *writer) line(label string, v agentbound.Value) {
	if w.b.Len() > maxRecord && !w.last {
		return // it is too long already
	}
	fmt.Fprintf(&w.b, "%s: %s\n", label, quoted(w.cut.of(v)))
}

func (w *writer) text(label, s string) { w.line(label, agentbound.StringValue(s)) }

func (w *writer) trajectory(tr *agentbound.Trajectory, thoughts bool, final agentbound.Value) {
	if w.cut != (cut{}) {
		w.text("cut", w.cut.String())
	}
	w.text("setting", tr.Setting)
	w.text("instruction", tr.Instruction)
	for _, t := range tr.Tools {
		w.line("tool", object("name", t.Name, "description", t.Description, "arguments", arguments(t.Schema)))
	}
	w.line("start", tr.Start)
	for i, s := range tr.Steps {
		label := fmt.Sprintf("[step %d] ", i)
		if thoughts {
			w.text(label+"thought", s.Thought)
		}
		if len(s.Calls) == 0 {
			w.line(label+"call", agentbound.Null)
		}
		for _, c := range s.Calls {
			w.call(label, c)
		}
	}
	if tr.End.Reason == agentbound.EndSteps {
		w.text("end", "the subject ran out of steps")
	} else {
		w.text("end", "the subject ended its work")
	}
	w.line("outcome", outcome(tr.Outcome))
	w.line("final", final)
}

func (w *writer) call(label string, c agentbound.CallRecord) {
	w.line(label+"call", object("tool", c.Tool, "args", c.Args))
	w.text(label+"result", result(c))
	w.line(label+"observation", c.Observation)
	if len(c.Diff) > 0 {
		w.line(label+"changed", encoded(c.Diff))
	}
	if len(c.Event) > 0 {
		w.line(label+"event", encoded(c.Event))
	}
}

func result(c agentbound.CallRecord) string {
	switch {
	case c.Gate != nil && !c.Gate.Allowed:
		return "stopped before it took effect"
	case c.Limited:
		return "kept back by a limit: it never took effect"
	case c.OK:
		return "done"
	}
	return "failed"
}

// outcome is how the subject says that it ended, without what it left empty.
func outcome(o agentbound.Outcome) agentbound.Value {
	if o.RefusedBy != "" {
		return object("word", o.Word, "reason", o.Reason, "text", o.Text, "refused_by", o.RefusedBy)
	}
	return object("word", o.Word, "reason", o.Reason, "text", o.Text)
}

// arguments are the names of a tool's arguments, with their descriptions or types.
func arguments(schema agentbound.Value) agentbound.Value {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Properties == nil {
		return agentbound.Value("{}")
	}
	return encoded(s.Properties)
}

// changedParts gives the top-level parts of the state that differ at the end from the
// start, as they stand at the end; null where a part is gone.
func changedParts(tr *agentbound.Trajectory) (agentbound.Value, error) {
	start, err := star.DecodeState(tr.Start)
	if err != nil {
		return nil, fmt.Errorf("start state: %w", err)
	}
	state := start
	for i, s := range tr.Steps {
		for k, c := range s.Calls {
			for _, diff := range []agentbound.Diff{c.Diff, c.Event} {
				if state, err = star.Apply(state, diff); err != nil {
					return nil, fmt.Errorf("step %d, call %d: %w", i, k, err)
				}
			}
		}
	}
	end, err := state.Value()
	if err != nil {
		return nil, err
	}
	var before, after map[string]json.RawMessage
	if err := json.Unmarshal(tr.Start, &before); err != nil {
		return nil, fmt.Errorf("start state: %w", err)
	}
	if err := json.Unmarshal(end, &after); err != nil {
		return nil, err
	}
	changed := map[string]json.RawMessage{}
	for key, v := range after {
		if !bytes.Equal(v, before[key]) {
			changed[key] = v
		}
	}
	for key := range before {
		if _, there := after[key]; !there {
			changed[key] = json.RawMessage(agentbound.Null)
		}
	}
	return encoded(changed), nil
}

// object is a JSON object with keys in the given order, for the reader's sake. Values
// are texts or JSON.
func object(keysAndValues ...any) agentbound.Value {
	b := []byte{'{'}
	for i := 0; i < len(keysAndValues); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, encoded(keysAndValues[i])...), ':')
		if v, ok := keysAndValues[i+1].(agentbound.Value); ok && !json.Valid(v) {
			b = append(b, agentbound.StringValue(string(v))...) // a subject's malformed arguments
			continue
		}
		b = append(b, encoded(keysAndValues[i+1])...)
	}
	return append(b, '}')
}

// encoded is the JSON of what always has one.
func encoded(v any) agentbound.Value {
	if s, ok := v.(string); ok {
		return agentbound.StringValue(s)
	}
	b, err := agentbound.EncodeJSON(v)
	if err != nil {
		return agentbound.StringValue(fmt.Sprint(v))
	}
	return b
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
