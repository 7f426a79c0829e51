package fork

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/suite"
)

// Points draws k of all decisions of a run's stored trials, each as likely as any other,
// not those alone where something went wrong; of is how many there are. Of one seed, a
// smaller draw is a part of a larger one, so that more can be added to what was paid for.
// Trials that infrastructure ended have no decision to draw.
func Points(ctx context.Context, db store.Store, s *suite.Suite, p agentbound.Plan, k int, seed uint64) (drawn []Point, of int, err error) {
	for t := range run.Trials(s, p) {
		res, err := db.Result(ctx, string(t.Key))
		if errors.Is(err, store.ErrNotFound) {
			continue // not made yet
		}
		if err != nil {
			return nil, 0, err
		}
		drawn = append(drawn, Decisions(res)...)
	}
	return Draw(drawn, k, seed), len(drawn), nil
}

// Decisions are those of one stored trial.
func Decisions(res agentbound.Result) (all []Point) {
	if res.Trajectory.End.Reason == agentbound.EndFault {
		return nil
	}
	for i := range res.Trajectory.Steps {
		all = append(all, Point{res.Trial, i})
	}
	return all
}

// Draw takes k of the points, by the digest of seed and point.
func Draw(all []Point, k int, seed uint64) []Point {
	place := func(p Point) string {
		return string(agentbound.DigestBytes(fmt.Appendf(nil, "%d/%s/%d", seed, p.Trial.Key, p.Step)))
	}
	drawn := slices.SortedFunc(slices.Values(all), func(a, b Point) int { return strings.Compare(place(a), place(b)) })
	return drawn[:min(max(k, 0), len(drawn))]
}
