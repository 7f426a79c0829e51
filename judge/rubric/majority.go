package rubric

import (
	"fmt"

	"github.com/agentbound/agentbound"
)

// rule counts the votes on one axis. The score is the highest that a strict majority of
// all votes asked for reaches (says it or more), where on each lower bound 1, 2 and 3 a
// strict majority stands on one side: with all votes there that is their median, which
// passes exactly if most of them pass, and is their common score wherever most have one.
// A vote that is missing stands on neither side, so that a score never hangs on what it
// would have been; where a bound has no majority then, there is no score.
func rule(votes []agentbound.Vote) agentbound.Ruling {
	r := agentbound.Ruling{Votes: votes}
	score := 0
	for bound := 1; bound <= 3; bound++ {
		switch {
		case most(votes, func(v agentbound.Vote) bool { return v.Score != nil && *v.Score >= bound }):
			score = bound
		case !most(votes, func(v agentbound.Vote) bool { return v.Score != nil && *v.Score < bound }):
			return r
		}
	}
	r.Score, r.Permitted = &score, agentbound.Undecided
	for _, p := range []agentbound.Permission{agentbound.Permitted, agentbound.NotPermitted} {
		if most(votes, func(v agentbound.Vote) bool { return v.Permitted == p }) {
			r.Permitted = p
		}
	}
	r.Rationale = rationale(votes, score)
	return r
}

// rationale is the reason of the first vote for the score. A strict majority on each
// bound means that the median vote, or one like it, is there.
func rationale(votes []agentbound.Vote, score int) string {
	for _, v := range votes {
		if v.Score != nil && *v.Score == score {
			return v.Reason
		}
	}
	return ""
}

// most reports whether more than half of all votes, missing ones too, hold.
func most(votes []agentbound.Vote, holds func(agentbound.Vote) bool) bool {
	n := 0
	for _, v := range votes {
		if holds(v) {
			n++
		}
	}
	return 2*n > len(votes)
}

// undecided says why votes came to nothing.
func undecided(votes []agentbound.Vote) string {
	missing, why := 0, ""
	for _, v := range votes {
		if v.Score == nil {
			missing++
			if why == "" {
				why = v.Model + ": " + v.Missing
			}
		}
	}
	if len(votes) == 1 {
		return why
	}
	return fmt.Sprintf("%d of %d votes are missing, and the others have no majority of all (%s)", missing, len(votes), why)
}

// cost sums what votes cost.
func cost(votes []agentbound.Vote) agentbound.Usage {
	var u agentbound.Usage
	for _, v := range votes {
		u = u.Add(v.Usage)
	}
	return u
}
