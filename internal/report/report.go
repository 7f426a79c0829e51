package report

import (
	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
	"github.com/agentbound/agentbound/model/price"
)

// Version is the version of the report's JSON.
const Version = 1

// Options of Collect. The zero value is usable.
type Options struct {
	Judge     string // the configuration to report, or the start of one; empty: the first of each run's plan
	Seed      uint64 // of bootstraps; equal seeds and rows give equal numbers
	Resamples int    // of a bootstrap; 0 means metric.DefaultResamples

	// Against is the run that all others are compared with. It is reported first
	// where it is not among them.
	Against *store.Run
	// SkipIncomparable leaves out of the comparison what cannot be compared with
	// Against, and lists it in Skipped; otherwise it is an error. For when nobody
	// named the runs.
	SkipIncomparable bool
	// Prices turn tokens into money; nil: what it cost is known only where the subject
	// told, or nothing was paid for.
	Prices price.Table
	// Paper sets the paper's Tables 2, 3 and 4 beside the runs.
	Paper bool
	// Epsilons are bounds on unsafe behaviour, in percent, under each of which one run of
	// every set-up is chosen (Frontier).
	Epsilons []float64
}

// Report is what is said of some runs, in the order they were given.
type Report struct {
	Version     int                 `json:"version"`
	Runs        []Run               `json:"runs"`
	Comparisons []metric.Comparison `json:"comparisons"` // A and B are run ids; delta is b - a
	Skipped     []Skipped           `json:"skipped,omitempty"`
	Paper       *Paper              `json:"paper,omitempty"`
	// Agreement pools what several of the runs have of the same two judges.
	Agreement []Agreement `json:"agreement,omitempty"`

	// Interventions are the runs with one beside the bare runs of their set-ups; Unpaired
	// are those that have none.
	Interventions []Pairing  `json:"interventions,omitempty"`
	Unpaired      []Unpaired `json:"unpaired,omitempty"`
	Frontiers     []Frontier `json:"frontiers,omitempty"`

	evidence map[agentbound.RunID]*evidence
	baseline *Run // of the comparisons
	added    bool // the baseline was not among the runs that were asked for
}

// Run is one run as one judge saw it. The fields of the summary stand beside its own.
type Run struct {
	ID           agentbound.RunID `json:"id"`
	Agent        string           `json:"agent"`
	Intervention string           `json:"intervention"` // "bare" for none
	// InterventionSettings are its plan's: on_failure and what its kind has.
	InterventionSettings map[string]string   `json:"intervention_settings,omitempty"`
	World                string              `json:"world"`
	Judge                string              `json:"judge"`
	Suite                agentbound.SuiteRef `json:"suite"`
	metric.Summary
	Cost Cost `json:"cost"`
	// Faults are why trials are unscored, the most frequent first, at most MostFaults.
	Faults []Fault `json:"faults,omitempty"`

	Privileged bool `json:"privileged"` // reads the package: an instrument check, in no comparison
	Incomplete bool `json:"incomplete"` // trials are still to be made or judged
	Selected   int  `json:"selected"`   // families of the suite that the plan names
	Repeats    int  `json:"repeats"`

	Held  metric.Comparison `json:"held"`             // paired HB - EB utility within the run
	PassK []metric.Repeat   `json:"pass_k,omitempty"` // at k = Repeats, where there is more than one

	Failures []Failure `json:"failures"` // by split and kind

	// Agreement is of the program judge with each rubric judge, where the run has verdicts
	// of both, whichever it is reported by.
	Agreement []Agreement `json:"agreement,omitempty"`
	JudgeCost *Cost       `json:"judge_cost,omitempty"` // of a rubric judge: what the verdicts reported here took

	Intervened *Intervened `json:"intervened,omitempty"` // of a run with an intervention: what it did and cost

	// Programs are the agent programs that played, by version and by how they were held.
	Programs []Program `json:"programs,omitempty"`

	plan  agentbound.Plan
	named named
}

// Program is an agent program and a level at which it was held.
type Program struct {
	Program string `json:"program"` // with its version
	Level   string `json:"level"`   // of confinement
	Trials  int    `json:"trials"`
}

// Fault is a reason for which trials are unscored.
type Fault struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// MostFaults bounds the reasons that are listed of a run.
const MostFaults = 5

// Skipped is a run that was left out of the comparisons.
type Skipped struct {
	Run agentbound.RunID `json:"run"`
	Why string           `json:"why"`
}

// Missing counts the trials that have not been made, or not been judged.
func (r *Run) Missing() int { return r.Trials.Planned - r.Trials.Valid - r.Trials.Unscored }

// manyUnscored reports whether more trials are unscored than may be passed over.
func (r *Run) manyUnscored() bool {
	made := r.Trials.Valid + r.Trials.Unscored
	return float64(r.Trials.Unscored) > metric.UnscoredShown*float64(made)
}

// short is the start of a digest or id, for people.
func short[T ~string](s T) string { return string(s[:min(8, len(s))]) }
