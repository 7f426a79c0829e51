package report

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/metric"
)

// Collect reads the runs as one judge saw them. A run that is given twice is
// reported once. Errors are the store's, or say which run has no such judge, or why
// two runs cannot be compared ([IncomparableError]).
func Collect(ctx context.Context, s store.Store, runs []store.Run, o Options) (*Report, error) {
	r := &Report{Version: Version, Runs: []Run{}, Comparisons: []metric.Comparison{}, evidence: map[agentbound.RunID]*evidence{}}
	runs = distinct(runs)
	if o.Against != nil && !slices.ContainsFunc(runs, func(x store.Run) bool { return idOf(x) == idOf(*o.Against) }) {
		runs = append([]store.Run{*o.Against}, runs...)
		r.added = true
	}
	shelf := &shelf{store: s}
	for _, x := range runs {
		run, e, err := collect(ctx, shelf, x, o)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", idOf(x), err)
		}
		r.Runs = append(r.Runs, run)
		r.evidence[run.ID] = e
	}
	r.nameRuns()
	if o.Against != nil {
		if err := r.compare(idOf(*o.Against), o.SkipIncomparable); err != nil {
			return nil, err
		}
	}
	if err := r.pair(ctx, s); err != nil {
		return nil, err
	}
	if err := r.frontiers(o); err != nil {
		return nil, err
	}
	r.Agreement = pool(r.Runs, o)
	if o.Paper {
		r.Paper = quote(r.Runs)
	}
	return r, nil
}

func distinct(runs []store.Run) []store.Run {
	var out []store.Run
	for _, r := range runs {
		if !slices.ContainsFunc(out, func(x store.Run) bool { return idOf(x) == idOf(r) }) {
			out = append(out, r)
		}
	}
	return out
}

func idOf(r store.Run) agentbound.RunID {
	if r.ID != "" {
		return r.ID
	}
	return r.Plan.ID()
}

// evidence is what the numbers of a run come from. Unscored rows are kept so that
// they can be taken at their worst or best.
type evidence struct {
	acc      *metric.Accumulator
	unscored []metric.Row
	kinds    kinds
	touched  map[trialOf]metric.Touch // trials that the intervention did something to
}

func (e *evidence) add(row metric.Row) {
	e.acc.Add(row)
	if !row.Verdict.Scored() {
		e.unscored = append(e.unscored, row)
	}
}

// collect reads one run.
func collect(ctx context.Context, s *shelf, x store.Run, o Options) (Run, *evidence, error) {
	p := x.Plan
	run := Run{
		ID: idOf(x), Agent: p.Agent.Title(), Intervention: p.Intervention.Name, InterventionSettings: p.Intervention.Settings, World: p.World, Suite: p.Suite,
		Privileged: p.Agent.Privileged, Selected: p.Suite.Families, Repeats: p.Repeats, plan: p,
	}
	if run.Intervention == "" {
		run.Intervention = agentbound.Bare
	}
	if len(p.Families) > 0 {
		run.Selected = len(p.Families)
	}
	var err error
	if run.Judge, err = chooseJudge(ctx, s.store, run.ID, p, o.Judge); err != nil {
		return run, nil, err
	}
	e, err := run.read(ctx, s, o)
	if err != nil {
		return run, nil, err
	}
	run.Summary = e.acc.Summary()
	if isRubric(run.Judge) { // it does not see the critical transition
		run.Critical = metric.Critical{Cells: map[agentbound.Split]metric.Estimate{}}
	}
	run.Incomplete = run.Missing() > 0
	run.Held = e.acc.Held()
	run.Failures = e.kinds.sorted()
	if run.Agreement, err = agreements(ctx, s.store, run.ID, o); err != nil {
		return run, nil, err
	}
	if p.Repeats > 1 {
		for _, m := range []metric.Measure{metric.HBUtility, metric.CMSafety} {
			k, err := e.acc.Repeats(m, p.Repeats)
			if err != nil {
				return run, nil, err
			}
			run.PassK = append(run.PassK, k)
		}
	}
	return run, e, nil
}

// chooseJudge gives the configuration to read: the plan's first, or the one that
// ref is or begins.
func chooseJudge(ctx context.Context, s store.Store, id agentbound.RunID, p agentbound.Plan, ref string) (string, error) {
	if ref == "" {
		if len(p.Judges) == 0 {
			return "", errors.New("its plan names no judge; name one with --judge")
		}
		return p.Judges[0], nil
	}
	have, err := s.Judges(ctx, id)
	if err != nil {
		return "", err
	}
	all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.Judges), have...))))
	if slices.Contains(all, ref) {
		return ref, nil
	}
	match := slices.DeleteFunc(slices.Clone(all), func(j string) bool { return !strings.HasPrefix(j, ref) })
	switch len(match) {
	case 1:
		return match[0], nil
	case 0:
		return "", asked("no verdict of a judge %q; it has: %s. Have it judge the stored trials with: agentbound judge", ref, strings.Join(all, ", "))
	}
	return "", asked("judge %q could be %s", ref, strings.Join(match, ", "))
}

// read streams the run's rows.
func (r *Run) read(ctx context.Context, shelf *shelf, o Options) (*evidence, error) {
	s := shelf.store
	progress, err := s.Progress(ctx, r.ID, r.Judge)
	if err != nil {
		return nil, err
	}
	e := &evidence{acc: metric.New(metric.Options{Seed: o.Seed, Resamples: o.Resamples, Planned: progress.Planned})}
	intervened := review{touched: map[trialOf]metric.Touch{}}
	e.touched = intervened.touched
	var spent agentbound.Usage
	judging := map[string]agentbound.Usage{} // by model
	for row, err := range s.Rows(ctx, r.ID, r.Judge) {
		if err != nil {
			return nil, err
		}
		judged := metric.Row{Trial: row.Trial, Verdict: row.Verdict}
		e.add(judged)
		kind, failed, err := shelf.classify(ctx, r.Suite.Digest, judged)
		if err != nil {
			return nil, err
		}
		if failed {
			e.kinds.add(row.Trial, kind)
		}
		spent = spent.Add(row.Usage)
		if r.Intervention != agentbound.Bare || r.plan.Agent.Kind == "harness" {
			res, err := s.Result(ctx, string(row.Key))
			if err != nil {
				return nil, err
			}
			if r.plan.Agent.Kind == "harness" {
				r.played(res.Trajectory.Harness)
			}
			if r.Intervention != agentbound.Bare {
				intervened.add(row.Trial, res.Trajectory)
			}
		}
		if row.Verdict.Rubric != nil {
			for _, ruling := range []agentbound.Ruling{row.Verdict.Rubric.Utility, row.Verdict.Rubric.Safety} {
				for _, vote := range ruling.Votes {
					judging[vote.Model] = judging[vote.Model].Add(vote.Usage)
				}
			}
		}
	}
	if isRubric(r.Judge) {
		r.JudgeCost = judgeCost(judging, o.Prices)
	}
	if r.Intervention != agentbound.Bare {
		r.Intervened = intervened.done(r.plan.Intervention, o.Prices)
	}
	if progress.Unscored > len(e.unscored) {
		more, err := e.addFaulted(ctx, s, r, progress.Unscored-len(e.unscored))
		if err != nil {
			return nil, err
		}
		spent = spent.Add(more)
	}
	r.Faults = e.faults()
	r.Cost = costOf(r.plan, spent, progress.Stored, o.Prices)
	return e, nil
}

// played counts a trial of an agent program.
func (r *Run) played(h *agentbound.Harness) {
	if h == nil {
		return // a fault came before it
	}
	level, _, _ := strings.Cut(h.Held, ":")
	if level == "" {
		return // it was not started
	}
	i := slices.IndexFunc(r.Programs, func(p Program) bool { return p.Program == h.Program && p.Level == level })
	if i < 0 {
		i = len(r.Programs)
		r.Programs = append(r.Programs, Program{Program: h.Program, Level: level})
	}
	r.Programs[i].Trials++
}

// faults counts the reasons of the unscored trials.
func (e *evidence) faults() []Fault {
	counts := map[string]int{}
	for _, row := range e.unscored {
		counts[row.Verdict.Unscored]++
	}
	var all []Fault
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, Fault{reason, counts[reason]})
	}
	slices.SortStableFunc(all, func(a, b Fault) int { return b.Count - a.Count })
	return all[:min(len(all), MostFaults)]
}

// addFaulted adds n faulted trials on which the judge said nothing, as happens where
// stored trials were judged again. Rows has none of them; to leave them out would
// call them trials that were never made.
func (e *evidence) addFaulted(ctx context.Context, s store.Store, r *Run, n int) (agentbound.Usage, error) {
	seen := map[agentbound.TrialKey]bool{}
	for _, row := range e.unscored {
		seen[row.Key] = true
	}
	var spent agentbound.Usage
	for work, err := range s.Pending(ctx, r.ID, []string{r.Judge}) {
		if err != nil {
			return spent, err
		}
		if n == 0 {
			break
		}
		if !work.Run || seen[work.Key] {
			continue
		}
		res, err := s.Result(ctx, string(work.Key))
		if errors.Is(err, store.ErrNotFound) {
			continue // not made yet
		}
		if err != nil {
			return spent, err
		}
		n--
		r.played(res.Trajectory.Harness)
		e.add(metric.Row{Trial: work.Trial, Verdict: faulted(r.Judge, res)})
		spent = spent.Add(res.Trajectory.Spent())
	}
	return spent, nil
}

// faulted is the unscored verdict on a faulted trial. Whether it had crossed is
// taken from the other judges.
func faulted(judge string, res agentbound.Result) agentbound.Verdict {
	v := agentbound.Verdict{Judge: judge, Unsafe: agentbound.UnsafeNone, Unscored: "faulted: " + res.Trajectory.End.Fault}
	for _, other := range res.Verdicts {
		if other.Unsafe == agentbound.UnsafeExecuted {
			v.Unsafe = agentbound.UnsafeExecuted
		}
	}
	return v
}
