package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
	"github.com/agentbound/agentbound/suite"
)

// Failure counts the trials of a run that failed in one way on one split.
type Failure struct {
	Kind     metric.FailureKind    `json:"kind"`
	Split    agentbound.Split      `json:"split"`
	Count    int                   `json:"count"`
	Examples []agentbound.TrialKey `json:"examples"` // the first, at most Examples
}

// Examples is how many trials stand for a failure.
const Examples = 3

// kinds are the failures of a run, by trial.
type kinds struct {
	of   map[agentbound.TrialKey]metric.FailureKind
	list []Failure
}

func (k *kinds) add(t agentbound.Trial, kind metric.FailureKind) {
	if k.of == nil {
		k.of = map[agentbound.TrialKey]metric.FailureKind{}
	}
	k.of[t.Key] = kind
	i := slices.IndexFunc(k.list, func(f Failure) bool { return f.Kind == kind && f.Split == t.Split })
	if i < 0 {
		i, k.list = len(k.list), append(k.list, Failure{Kind: kind, Split: t.Split})
	}
	f := &k.list[i]
	f.Count++
	if len(f.Examples) < Examples {
		f.Examples = append(f.Examples, t.Key)
	}
}

// sorted gives the failures by split and then by kind. It is never nil, so that its
// JSON is a list.
func (k *kinds) sorted() []Failure {
	out := append([]Failure{}, k.list...)
	splits, order := agentbound.Splits(), metric.FailureKinds()
	slices.SortFunc(out, func(a, b Failure) int {
		if d := slices.Index(splits, a.Split) - slices.Index(splits, b.Split); d != 0 {
			return d
		}
		return slices.Index(order, a.Kind) - slices.Index(order, b.Kind)
	})
	return out
}

// shelf reads suites and trajectories; what it has decoded it keeps.
type shelf struct {
	store  store.Store
	suites map[agentbound.Digest]*suite.Suite
}

// suite gives a stored suite, or nil where the store has none: trials may have come
// without it, and a report can do without.
func (s *shelf) suite(ctx context.Context, digest agentbound.Digest) (*suite.Suite, error) {
	if got, ok := s.suites[digest]; ok {
		return got, nil
	}
	var out *suite.Suite
	stored, err := s.store.Suite(ctx, digest)
	switch {
	case errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrInvalid):
	case err != nil:
		return nil, err
	default:
		if out, err = suite.Decode(stored.Blob); err != nil {
			return nil, err
		}
	}
	if s.suites == nil {
		s.suites = map[agentbound.Digest]*suite.Suite{}
	}
	s.suites[digest] = out
	return out, nil
}

// family gives a family of a stored suite, or nil.
func (s *shelf) family(ctx context.Context, digest agentbound.Digest, id agentbound.FamilyID) (*agentbound.Family, error) {
	in, err := s.suite(ctx, digest)
	if err != nil || in == nil {
		return nil, err
	}
	f, _ := in.Family(id)
	return f, nil
}

// classify says how a trial failed, if it did. Only then is its trajectory read.
func (s *shelf) classify(ctx context.Context, digest agentbound.Digest, row metric.Row) (metric.FailureKind, bool, error) {
	if _, failed := metric.Failure(row.Split, row.Verdict, metric.Conduct{}); !failed {
		return "", false, nil
	}
	f, err := s.family(ctx, digest, row.Family)
	if err != nil {
		return "", false, err
	}
	critical := ""
	if f != nil {
		critical = f.Boundary.Critical
	}
	res, err := s.store.Result(ctx, string(row.Key))
	if err != nil {
		return "", false, fmt.Errorf("trial %s: %w", row.Key, err)
	}
	v, ok := traced(row.Verdict, res.Verdicts)
	if !ok {
		return "", false, nil
	}
	kind, failed := metric.Failure(row.Split, v, metric.ConductOf(res.Trajectory, critical))
	return kind, failed, nil
}

// traced is a verdict with the places in the trial that tell kinds of failure apart. A
// rubric judge does not give them: they are the program judge's, while the scores stay its
// own. Without a program judge's verdict the kind is not known.
func traced(v agentbound.Verdict, all []agentbound.Verdict) (agentbound.Verdict, bool) {
	if !isRubric(v.Judge) {
		return v, true
	}
	i := slices.IndexFunc(all, func(p agentbound.Verdict) bool { return strings.HasPrefix(p.Judge, programJudges) && p.Scored() })
	if i < 0 {
		return v, false
	}
	p := all[i]
	v.Critical, v.Handled, v.EvidenceSeen, v.CrossedAt, v.ProposedAt = p.Critical, p.Handled, p.EvidenceSeen, p.CrossedAt, p.ProposedAt
	return v, true
}

const failuresTitle = "Failures: what the failing trials show"

// failures is the block of failure kinds, by split.
func (r *Report) failures() block {
	b := block{title: failuresTitle, columns: []string{""}}
	for _, s := range agentbound.Splits() {
		b.columns = append(b.columns, splitHeader[s])
	}
	b.columns = append(b.columns, "example\ntrial")
	for i := range r.Runs {
		run := &r.Runs[i]
		if len(run.Failures) == 0 {
			continue
		}
		b.rows = append(b.rows, row{section: run.section()})
		b.rows = append(b.rows, failureRows(run.Failures)...)
	}
	if len(b.rows) == 0 {
		return block{}
	}
	return b
}

// splitHeader heads a column.
var splitHeader = map[agentbound.Split]string{
	agentbound.HS: "HS", agentbound.CM: "CM", agentbound.EB: "EB", agentbound.HB: "HB",
	agentbound.HBProhibited: "HB\nproh.", agentbound.CMAuthorised: "CM\nauth.",
}

// failureRows are a line a kind, the trials that show it under their splits.
func failureRows(all []Failure) []row {
	var rows []row
	for _, kind := range metric.FailureKinds() {
		cells, example := []cell{{kind.Meaning()}}, ""
		for _, s := range agentbound.Splits() {
			i := slices.IndexFunc(all, func(f Failure) bool { return f.Kind == kind && f.Split == s })
			if i < 0 {
				cells = append(cells, cell{none})
				continue
			}
			cells = append(cells, cell{fmt.Sprint(all[i].Count)})
			if example == "" {
				example = short(all[i].Examples[0])
			}
		}
		if example != "" {
			rows = append(rows, row{cells: append(cells, cell{example}), tight: true})
		}
	}
	return rows
}
