package agentbound

import (
	"fmt"
	"strings"
)

// TrajectoryVersion is the version of the stored trajectory format (design §8).
const TrajectoryVersion = 1

// Trajectory is everything that happened in one trial: what the subject was given,
// what it thought, called and saw, how the state changed, how it ended. A judge
// reads this and the task, nothing else.
type Trajectory struct {
	Version      int      `json:"version"`
	Task         TaskID   `json:"task"`
	Agent        string   `json:"agent"`
	Intervention string   `json:"intervention"`
	World        string   `json:"world"`
	Limits       Limits   `json:"limits"`
	Seed         uint64   `json:"seed"`
	Setting      string   `json:"setting"`
	Instruction  string   `json:"instruction"`
	Tools        []Tool   `json:"tools"`
	Start        Value    `json:"start"`
	Steps        []Step   `json:"steps"`
	Outcome      Outcome  `json:"outcome"`
	End          End      `json:"end"`
	WorldUsage   *Usage   `json:"world_usage,omitempty"` // of a world that spends: what it cost to play the tools
	Harness      *Harness `json:"harness,omitempty"`     // of an agent program: what it is, and what it gave its model
	Fork         *Fork    `json:"fork,omitempty"`        // of a trial that goes on from a decision of another
}

// ForkVersion is the version of how forks are made: it is part of their keys.
const ForkVersion = 1

// Fork says of a trajectory where it left the trial that it goes on from: its steps before
// Step are that trial's. No judge is told of it.
type Fork struct {
	Version int      `json:"version"`
	Trial   TrialKey `json:"trial"` // the trial it goes on from
	Step    int      `json:"step"`  // from 0: the first decision that is its own
	Arm     ForkArm  `json:"arm"`
	Sample  int      `json:"sample"` // within the arm, from 0
}

// ForkArm is what was done at the fork.
type ForkArm string

// The arms, and the edit itself, which is kept as a trial of one decision without calls.
const (
	ForkControl ForkArm = "control" // the Thought stood as it was
	ForkTreated ForkArm = "treated" // the Thought was corrected once
	ForkEdit    ForkArm = "edit"
)

// Harness is what is known of the agent program that played a trial.
type Harness struct {
	Program string        `json:"program"`         // with its version, such as codex@0.169.0
	Held    string        `json:"held,omitempty"`  // how it was confined
	Tools   []OfferedTool `json:"tools"`           // all that its model was offered, in any turn, by name
	Own     []OwnCall     `json:"own,omitempty"`   // calls of the program's own tools, which touch no world
	Aside   int           `json:"aside,omitempty"` // turns of the model's that had no tool of the task: titles, summaries
	// Requests are those to its model's server that brought no turn: for something else, to
	// addresses that are not served, and failed ones.
	Requests []OtherRequest `json:"requests,omitempty"`
}

// OtherRequest is a request of an agent program's that brought no turn of its model's.
type OtherRequest struct {
	Request string `json:"request"` // method and path, cut where long
	What    string `json:"what"`    // what for, or why there was no turn
	Status  int    `json:"status"`  // that the program was answered with; 0: the connection was closed, or it knows nothing of it
	Count   int    `json:"count"`
}

// OfferedTool is a tool as the model saw it.
type OfferedTool struct {
	Name   string `json:"name"`
	Tool   string `json:"tool,omitempty"` // the task's tool that it is; empty: the program's own
	Digest Digest `json:"digest"`         // of its schema and description, as sent
}

// OwnCall is a call of a tool of the program's own.
type OwnCall struct {
	Step int    `json:"step"` // from 0, of those recorded
	Name string `json:"name"`
	Args string `json:"args"` // cut where long
}

// Spent is what a trial cost, the subject's steps and its world. What an intervention
// cost is told apart by SpentOnIntervention.
func (t *Trajectory) Spent() Usage {
	var u Usage
	for i := range t.Steps {
		u = u.Add(t.Steps[i].Usage)
	}
	if t.WorldUsage != nil {
		u = u.Add(*t.WorldUsage)
	}
	return u
}

// SpentOnIntervention is what correctors and gates cost in a trial: tokens, and the
// milliseconds that the subject waited for them.
func (t *Trajectory) SpentOnIntervention() (u Usage, ms int64) {
	for i := range t.Steps {
		if r := t.Steps[i].Review; r != nil {
			u, ms = u.Add(r.Usage), ms+r.MS
		}
		for _, c := range t.Steps[i].Calls {
			if c.Gate == nil {
				continue
			}
			if ms += c.Gate.MS; c.Gate.Usage != nil {
				u = u.Add(*c.Gate.Usage)
			}
		}
	}
	return u, ms
}

// Asked reports whether a gate was asked about a call of the step, whatever it said. It was
// not where the agent program itself left the call out, or where the review of the step had
// failed and the set-up kept the call back.
func (s *Step) Asked(c CallRecord) bool {
	return c.Gate != nil && c.Gate.By != ByHarness && (s.Review == nil || !s.Review.Closed)
}

// Held reports whether a call was kept from being executed since a corrector or gate had
// given no decision and the set-up held it back.
func (s *Step) Held(c CallRecord) bool {
	return c.Gate != nil && c.Gate.By != ByHarness && !c.Gate.Allowed && !(s.Asked(c) && c.Gate.Failed == "")
}

// Undecided counts what an intervention was asked, Thoughts and calls, and where it gave no
// decision.
func (t *Trajectory) Undecided() (failed, asked int) {
	count := func(reason string) {
		if asked++; reason != "" {
			failed++
		}
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Review != nil {
			count(s.Review.Failed)
		}
		for _, c := range s.Calls {
			if s.Asked(c) {
				count(c.Gate.Failed)
			}
		}
	}
	return failed, asked
}

// Limits bound a trial. A zero field means the default of DefaultLimits.
type Limits struct {
	Steps       int `json:"steps"`       // decisions of the subject; running out is behaviour
	Calls       int `json:"calls"`       // tool calls in one step; more are answered with an error
	Seconds     int `json:"seconds"`     // wall clock of a trial; running out leaves it unscored
	Observation int `json:"observation"` // bytes of one observation
	Args        int `json:"args"`        // bytes of one call's arguments
}

// DefaultLimits are used where a plan states none.
func DefaultLimits() Limits {
	return Limits{Steps: 120, Calls: 16, Seconds: 1800, Observation: 1 << 18, Args: 1 << 16}
}

// WithDefaults fills zero fields from DefaultLimits.
func (l Limits) WithDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ v, def *int }{
		{&l.Steps, &d.Steps}, {&l.Calls, &d.Calls}, {&l.Seconds, &d.Seconds}, {&l.Observation, &d.Observation}, {&l.Args, &d.Args},
	} {
		if *f.v == 0 {
			*f.v = *f.def
		}
	}
	return l
}

// Shown is an observation as the subject gets it: one over the limit is replaced by
// a text that says so.
func (l Limits) Shown(o Value) Value {
	limit := l.WithDefaults().Observation
	if len(o) <= limit {
		return o
	}
	return StringValue(fmt.Sprintf(tooLong+"%d bytes and is too long to show (limit %d); ask for less", len(o), limit))
}

const tooLong = "the answer has "

// TooLong reports whether an observation may be the text that Shown puts in the place
// of a longer one.
func TooLong(o Value) bool { return strings.HasPrefix(string(o), `"`+tooLong) }

// ThoughtSource says where a step's Thought was read from.
type ThoughtSource string

// The sources of design §8.
const (
	ThoughtText      ThoughtSource = "text"
	ThoughtReasoning ThoughtSource = "reasoning"
	ThoughtSummary   ThoughtSource = "summary"
	ThoughtNone      ThoughtSource = "none"
)

// Validate reports an unknown source.
func (s ThoughtSource) Validate() error {
	return oneOf("thought source", s, []ThoughtSource{ThoughtText, ThoughtReasoning, ThoughtSummary, ThoughtNone})
}

// Step is one decision: a Thought and the calls it led to.
type Step struct {
	Thought       string        `json:"thought"`
	ThoughtSource ThoughtSource `json:"thought_source"`
	Draft         *Draft        `json:"draft,omitempty"`
	Review        *Review       `json:"review,omitempty"` // where a corrector was asked
	Calls         []CallRecord  `json:"calls"`
	Usage         Usage         `json:"usage"`
	MS            int64         `json:"ms"`
	Said          *Said         `json:"said,omitempty"` // of a subject whose whole state is its conversation
}

// Said is what the rest of a step does not tell of a turn as it stands in its subject's
// conversation, so that the conversation can be put together again (internal/fork). What
// is absent is as the step has it.
type Said struct {
	Asked Digest     `json:"asked"`           // of all that was sent for this decision, before it was drafted, but for states
	Text  *string    `json:"text,omitempty"`  // where it is not what the Thought and the calls give
	Calls []SaidCall `json:"calls,omitempty"` // where ids or arguments are not the record's own
	Note  string     `json:"note,omitempty"`  // what the subject was told of a turn that could not be used
	State []byte     `json:"state,omitempty"` // what the provider wants back with it, where that was kept
	Lost  bool       `json:"lost,omitempty"`  // it wanted something back that was not kept
}

// SaidCall is a call as it was sent back. Args is nil where it is the record's.
type SaidCall struct {
	ID   string  `json:"id,omitempty"`
	Args *string `json:"args,omitempty"`
}

// Draft is the Thought and the action that a corrector had replaced before they
// were committed. It is recorded and never judged.
type Draft struct {
	Thought       string        `json:"thought"`
	ThoughtSource ThoughtSource `json:"thought_source,omitempty"` // empty in trials stored before it was recorded
	Calls         []Call        `json:"calls"`
	Outcome       *Outcome      `json:"outcome,omitempty"` // where the draft would have ended the trial
	Usage         *Usage        `json:"usage,omitempty"`   // of the draft; the step's holds it too
}

// Review is what is known of one asking of a corrector. Its usage is no part of the
// step's, which is the subject's own.
type Review struct {
	Changed bool   `json:"changed,omitempty"` // the step has a Draft
	Failed  string `json:"failed,omitempty"`  // why there was no correction
	Closed  bool   `json:"closed,omitempty"`  // it failed, and the calls were kept from being executed
	MS      int64  `json:"ms"`
	Usage   Usage  `json:"usage"`
}

// CallRecord is a call and what came of it. OK is false where the tool failed, a
// limit or the schema refused it, or a gate stopped it; then Diff is empty. Event
// is what the world itself changed right after the call (a fact's once event).
// Limited marks a call that a limit of the trial kept from the world.
type CallRecord struct {
	Call
	Limited     bool          `json:"limited,omitempty"`
	OK          bool          `json:"ok"`
	Observation Value         `json:"observation"`
	Gate        *GateDecision `json:"gate,omitempty"`
	Diff        Diff          `json:"diff,omitempty"`
	Event       Diff          `json:"event,omitempty"`
}

// ByHarness stands in a GateDecision where no gate stopped the call: the agent program did
// not make the call that its model had proposed.
const ByHarness = "harness"

// GateDecision is what a gate said of a call before it was executed. Failed says why a
// gate gave no decision of its own, where the set-up decided for it. Code is the program
// that a gate wrote in order to decide; no subject is shown it.
type GateDecision struct {
	By      string `json:"by"`
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	Failed  string `json:"failed,omitempty"`
	Code    string `json:"code,omitempty"`
	MS      int64  `json:"ms,omitempty"`
	Usage   *Usage `json:"usage,omitempty"`
}

// Usage counts what a step cost. CachedTokens are those of InputTokens that the provider
// had seen before and charges less for. USD is what the subject itself told; it is 0
// for a model, whose cost is found from its tokens when a report is made.
type Usage struct {
	InputTokens  int64   `json:"input_tokens,omitempty"`
	OutputTokens int64   `json:"output_tokens,omitempty"`
	USD          float64 `json:"usd,omitempty"`
	CachedTokens int64   `json:"cached_tokens,omitempty"`
	ReusedTokens int64   `json:"reused_tokens,omitempty"` // of the tokens, those of turns that a response cache answered: paid for before
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.USD + v.USD,
		u.CachedTokens + v.CachedTokens, u.ReusedTokens + v.ReusedTokens,
	}
}

// Word is the subject's own word for how it ended (design §5).
type Word string

// Declined: I should not. Unable: I could not. Unstated: no outcome line.
const (
	Done     Word = "done"
	Declined Word = "declined"
	Unable   Word = "unable"
	Unstated Word = "unstated"
)

// Validate reports an unknown word.
func (w Word) Validate() error { return oneOf("outcome", w, []Word{Done, Declined, Unable, Unstated}) }

// Outcome is how the subject says it ended. RefusedBy is "provider" where a vendor
// refused or filtered the subject's turn: behaviour, scored as declined.
type Outcome struct {
	Word      Word   `json:"word"`
	Reason    string `json:"reason,omitempty"`
	Text      string `json:"text,omitempty"`
	RefusedBy string `json:"refused_by,omitempty"`
}

// RefusedByProvider marks a vendor's refusal.
const RefusedByProvider = "provider"

// EndReason says what ended the trial.
type EndReason string

// EndOutcome: the subject finished. EndSteps: it ran out of steps (behaviour).
// EndFault: infrastructure failed, and the trial is unscored.
const (
	EndOutcome EndReason = "outcome"
	EndSteps   EndReason = "steps"
	EndFault   EndReason = "fault"
)

// End is how the trial ended. Fault holds the message of an EndFault.
type End struct {
	Reason EndReason `json:"reason"`
	Fault  string    `json:"fault,omitempty"`
}
