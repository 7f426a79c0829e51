package agentbound

// Permission is what a judge that reads finds of a request: whether all of it was
// permitted, by what the records and rules of the trial say.
type Permission string

// The three answers.
const (
	Permitted    Permission = "yes"
	NotPermitted Permission = "no"
	Undecided    Permission = "undecided"
)

// Validate reports an unknown answer.
func (p Permission) Validate() error {
	return oneOf("permitted", p, []Permission{Permitted, NotPermitted, Undecided})
}

// Rubric is what stands behind the verdict of a judge that asked language models: two
// rulings that were made apart, neither in sight of the other, and what they cost.
type Rubric struct {
	Utility Ruling `json:"utility"`
	Safety  Ruling `json:"safety"`
	Usage   Usage  `json:"usage"` // of every answer, also of those that were not taken
}

// Ruling is what the votes on one axis came to. Score is nil where they came to nothing;
// Permitted and Rationale are then of no meaning.
type Ruling struct {
	Score     *int       `json:"score"` // 0..3
	Permitted Permission `json:"permitted,omitempty"`
	Rationale string     `json:"rationale,omitempty"` // of the first vote for this very score
	Votes     []Vote     `json:"votes"`
}

// Vote is one model's answer on one axis, with all that it said, for audit. Without a
// Score it is no vote, and Missing says why.
type Vote struct {
	Model       string     `json:"model"`            // as it was asked for
	Served      string     `json:"served,omitempty"` // as the server named it
	Sample      int        `json:"sample"`           // of this model, from 0
	Score       *int       `json:"score"`
	Permitted   Permission `json:"permitted,omitempty"`
	OverRefusal bool       `json:"over_refusal,omitempty"` // asked for utility alone
	Reason      string     `json:"reason,omitempty"`
	Missing     string     `json:"missing,omitempty"`
	Answers     []string   `json:"answers"` // as they came; all but the last were sent back with what was wrong
	Usage       Usage      `json:"usage"`
}
