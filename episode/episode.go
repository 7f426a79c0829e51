// Package episode is the one mediator of a trial: whatever an agent is, its
// decisions go through Review and Commit, where Thoughts are corrected, calls are
// checked, gated, executed, limited and recorded.
package episode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/world"
)

// Config is what an episode mediates between.
type Config struct {
	Task         *agentbound.Task
	World        world.World
	WorldName    string
	Agent        string // recorded in the trajectory
	Intervention intervene.Intervention
	Limits       agentbound.Limits // zero fields take their defaults
	Seed         uint64
	Clock        func() time.Time // nil: time.Now
}

// Brief is all that a subject is given.
type Brief struct {
	Setting     string            `json:"setting"`
	Instruction string            `json:"instruction"`
	Tools       []agentbound.Tool `json:"tools"`
}

// Decision is what an agent decides at one point: calls to make, or an outcome that
// ends the trial.
type Decision struct {
	Thought string
	Source  agentbound.ThoughtSource // empty: text, or none where there is no Thought
	Calls   []agentbound.Call
	Outcome *agentbound.Outcome
	Draft   *agentbound.Draft // what a corrector had replaced, see Review
	Said    *agentbound.Said  // of an agent whose state is its conversation
	Usage   agentbound.Usage
}

// Observation is the answer to one call. Gate is for who keeps records: a subject reads
// Value alone.
type Observation struct {
	Call  agentbound.Call
	OK    bool
	Value agentbound.Value
	Gate  *agentbound.GateDecision
}

// ErrSteps is returned by Commit when the subject has no step left. The trial has
// then ended as behaviour: the agent returns without an error of its own.
var ErrSteps = errors.New("episode: out of steps")

// ErrEnded is returned by Commit after the trial has ended: a mistake of the caller.
var ErrEnded = errors.New("episode: the trial has ended")

// Episode records one trial. It is for one goroutine.
type Episode struct {
	cfg     Config
	limits  agentbound.Limits
	names   []string
	history []intervene.Turn
	tr      agentbound.Trajectory
	last    time.Time
	review  *agentbound.Review // of the decision that is committed next
	taken   int                // decisions that count against the limit of steps
	ended   bool
}

// New begins an episode.
func New(cfg Config) *Episode {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	limits := cfg.Limits.WithDefaults()
	t := cfg.Task
	e := &Episode{cfg: cfg, limits: limits, last: cfg.Clock()}
	for _, tool := range t.Tools {
		e.names = append(e.names, tool.Name)
	}
	e.tr = agentbound.Trajectory{
		Version: agentbound.TrajectoryVersion, Task: t.ID, Agent: cfg.Agent, Intervention: cfg.Intervention.Ref.Name, World: cfg.WorldName,
		Limits: limits, Seed: cfg.Seed, Setting: t.Setting, Instruction: t.Instruction, Tools: t.Tools, Start: t.Start,
		Steps: []agentbound.Step{}, Outcome: agentbound.Outcome{Word: agentbound.Unstated},
	}
	return e
}

// Resume begins an episode that goes on from another's steps, none of which ended it. They
// stand in its record as they are; what they did to the world is for the caller to bring
// about.
func Resume(cfg Config, steps []agentbound.Step) *Episode {
	e := New(cfg)
	for _, s := range steps {
		e.taken++
		e.history = append(e.history, turnOf(s))
		e.tr.Steps = append(e.tr.Steps, s)
	}
	return e
}

// Brief is what to show the subject.
func (e *Episode) Brief() Brief {
	return Brief{Setting: e.tr.Setting, Instruction: e.tr.Instruction, Tools: e.tr.Tools}
}

// Seed is the trial's seed, for agents that sample.
func (e *Episode) Seed() uint64 { return e.cfg.Seed }

// StepsLeft is how many decisions the subject may still commit, beside one that only
// ends the trial.
func (e *Episode) StepsLeft() int { return e.limits.Steps - e.taken }

// MostCalls is how many calls of one decision are considered. Those over the
// trial's limit are refused and recorded; what comes after MostCalls is dropped, so that
// a subject that floods fills no memory.
const MostCalls = 256

// Commit executes a decision. With an outcome it ends the trial. An error other than
// ErrSteps and ErrEnded is infrastructure, and has ended the trial as unscored: an
// agent that drops the error cannot turn it into behaviour.
func (e *Episode) Commit(ctx context.Context, d Decision) ([]Observation, error) {
	calls := d.Calls[:min(len(d.Calls), MostCalls)]
	s, err := e.open(d)
	if err != nil {
		return nil, err
	}
	var seen []Observation
	for _, c := range calls {
		o, err := s.Call(ctx, c)
		if err != nil {
			return nil, err
		}
		seen = append(seen, o)
	}
	s.Close()
	if d.Outcome != nil {
		e.tr.Outcome = *storable(d, e.limits.Args).Outcome
		e.end(agentbound.End{Reason: agentbound.EndOutcome})
	}
	return seen, nil
}

func source(d Decision) agentbound.ThoughtSource {
	switch {
	case d.Source != "":
		return d.Source
	case d.Thought == "":
		return agentbound.ThoughtNone
	}
	return agentbound.ThoughtText
}

func (e *Episode) record(step agentbound.Step) {
	now := e.cfg.Clock()
	step.MS, e.last = now.Sub(e.last).Milliseconds(), now
	e.history = append(e.history, turnOf(step))
	if len(step.Calls) > 0 || step.Thought != "" || step.Draft != nil || step.Review != nil || step.Usage != (agentbound.Usage{}) {
		e.tr.Steps = append(e.tr.Steps, step)
	}
}

// turnOf is a step as a corrector sees it.
func turnOf(step agentbound.Step) intervene.Turn {
	turn := intervene.Turn{Thought: step.Thought}
	for _, c := range step.Calls {
		turn.Observations = append(turn.Observations, c.Observation)
	}
	return turn
}

func (e *Episode) call(ctx context.Context, i int, thought string, c agentbound.Call) (agentbound.CallRecord, error) {
	refusal := e.overLimit(i, len(c.Args))
	c.Args = WellFormed(c.Args, e.limits.Args)
	r := agentbound.CallRecord{Call: c}
	if refusal != "" {
		r.Limited, r.Observation = true, agentbound.StringValue("error: "+refusal)
		return r, nil
	}
	if gate := e.cfg.Intervention.Gate; gate != nil {
		decision, err := e.ask(ctx, gate, intervene.Proposal{Context: e.context(thought), Call: c})
		if err != nil {
			return r, fmt.Errorf("gate: %w", err)
		}
		r.Gate = &decision
		if !decision.Allowed {
			r.Observation = stopped(decision)
			return r, nil
		}
	}
	o, err := e.cfg.World.Call(ctx, c)
	if err != nil {
		return r, fmt.Errorf("world: %w", err)
	}
	r.OK, r.Observation, r.Diff, r.Event = o.OK, e.limits.Shown(o.Observation), o.Diff, o.Event
	return r, nil
}

// stopped is what a subject reads of a call that was not allowed.
func stopped(d agentbound.GateDecision) agentbound.Value {
	return agentbound.StringValue(strings.TrimSuffix("error: the call was not allowed: "+d.Reason, ": "))
}

func (e *Episode) overLimit(i, size int) string {
	switch {
	case i >= e.limits.Calls:
		return fmt.Sprintf("at most %d calls are taken in one step; this one was not executed", e.limits.Calls)
	case size > e.limits.Args:
		return fmt.Sprintf("arguments of %d bytes; at most %d are taken", size, e.limits.Args)
	}
	return ""
}

// WellFormed keeps what was sent, compacted, where it is JSON, and otherwise as the
// JSON string of it, so that every stored trajectory is JSON. Of what is over the
// limit only the beginning is kept: the call is refused anyway.
func WellFormed(args agentbound.Value, limit int) agentbound.Value {
	if len(args) == 0 {
		return agentbound.Value("{}")
	}
	if len(args) > limit {
		return agentbound.StringValue(strings.ToValidUTF8(string(args[:min(limit, 1000)]), "") + "…")
	}
	clean := bytes.ToValidUTF8(args, []byte("\uFFFD"))
	var compact bytes.Buffer
	if err := json.Compact(&compact, clean); err != nil || !modest(clean) {
		return agentbound.StringValue(string(clean))
	}
	return compact.Bytes()
}

// What nests deeper or has a number outside of these bounds is JSON that no world can
// take; it must reach the tool as malformed and not fail as infrastructure.
const (
	maxNesting = 32
	maxDigits  = 400
)

func modest(args []byte) bool {
	if short(args) {
		return true
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		switch x := token.(type) {
		case json.Delim:
			if depth++; x == ']' || x == '}' {
				depth -= 2
			}
			if depth > maxNesting {
				return false
			}
		case json.Number:
			if _, err := x.Float64(); err != nil && strings.ContainsAny(string(x), ".eE") || len(x) > maxDigits {
				return false
			}
		}
	}
}

// short tells without parsing that arguments are modest, as nearly all are: too few
// bytes and brackets to pass a bound, and no number with an exponent.
func short(args []byte) bool {
	open := 0
	for i, c := range args {
		switch c {
		case '[', '{':
			open++
		case 'e', 'E':
			if i > 0 && (args[i-1] == '.' || args[i-1] >= '0' && args[i-1] <= '9') {
				return false
			}
		}
	}
	return len(args) <= maxDigits && open <= maxNesting
}

// storable makes a decision's texts valid UTF-8, so that the stored trajectory says
// the same as the live one.
func storable(d Decision, limit int) Decision {
	calls := func(from []agentbound.Call) []agentbound.Call {
		to := make([]agentbound.Call, len(from))
		for i, c := range from {
			to[i] = agentbound.Call{Tool: valid(c.Tool), Args: c.Args}
		}
		return to
	}
	outcome := func(o *agentbound.Outcome) *agentbound.Outcome {
		if o == nil {
			return nil
		}
		word := o.Word
		if word == "" {
			word = agentbound.Unstated
		}
		return &agentbound.Outcome{Word: word, Reason: valid(o.Reason), Text: valid(o.Text), RefusedBy: o.RefusedBy}
	}
	d.Thought, d.Calls, d.Outcome = valid(d.Thought), calls(d.Calls), outcome(d.Outcome)
	if d.Draft != nil {
		draft := *d.Draft
		draft.Thought, draft.Calls, draft.Outcome = valid(draft.Thought), calls(draft.Calls), outcome(draft.Outcome)
		for i, c := range draft.Calls {
			draft.Calls[i].Args = WellFormed(c.Args, limit)
		}
		d.Draft = &draft
	}
	return d
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// fail ends the trial as unscored and gives the error back. What ended ctx says more
// than the error that came of it.
func (e *Episode) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		e.Fault(context.Cause(ctx))
	} else {
		e.Fault(err)
	}
	return err
}

// Fault ends the trial as unscored.
func (e *Episode) Fault(err error) {
	if !e.ended {
		e.end(agentbound.End{Reason: agentbound.EndFault, Fault: valid(err.Error())})
	}
}

func (e *Episode) end(end agentbound.End) { e.tr.End, e.ended = end, true }

// Ended reports whether the trial is over.
func (e *Episode) Ended() bool { return e.ended }

// Describe adds to the record what is known of the agent program that plays.
func (e *Episode) Describe(h agentbound.Harness) { e.tr.Harness = &h }

// Trajectory is the record. A trial that its agent left without an outcome ends
// unstated.
func (e *Episode) Trajectory() *agentbound.Trajectory {
	if !e.ended {
		e.end(agentbound.End{Reason: agentbound.EndOutcome})
	}
	if m, ok := e.cfg.World.(world.Metered); ok {
		if u := m.Usage(); u != (agentbound.Usage{}) {
			e.tr.WorldUsage = &u
		}
	}
	return &e.tr
}
