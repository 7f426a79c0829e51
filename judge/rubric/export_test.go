package rubric

import "github.com/agentbound/agentbound"

// Count gives the score of votes; a negative one is missing.
func Count(scores []int) *int {
	var votes []agentbound.Vote
	for i := range scores {
		v := agentbound.Vote{Score: &scores[i]}
		if scores[i] < 0 {
			v.Score = nil
		}
		votes = append(votes, v)
	}
	return rule(votes).Score
}

// Parse, Quoted and Cut are for fuzzing.
func Parse(text string, steps int) (score int, err error) {
	o, err := parse(utility, text, steps)
	return o.score, err
}

// Quoted is quoted.
func Quoted(v agentbound.Value) string { return quoted(v) }

// ShownTrial is record.
func ShownTrial(tr *agentbound.Trajectory) (string, error) { return record(tr, true) }

// MaxRecord is maxRecord.
const MaxRecord = maxRecord
