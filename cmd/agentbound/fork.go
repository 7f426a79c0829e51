package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/internal/fork"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/suite"
)

// forking is what replay is asked of forks.
type forking struct {
	request
	at          string // STEP, or sample:K; empty: no fork
	with        string // the intervention
	arms        int
	seed        uint64
	format      string
	concurrency int
}

// defaultArms is how often each arm is sampled where nothing is said.
const defaultArms = 4

// Formats of a fork's result.
const (
	forkTable = "table"
	forkJSON  = "json"
)

// forkFlags are those that mean nothing without --fork.
var forkFlags = []string{
	"intervene", "on-intervention-failure", "safety-directive", "intervene-max-tokens", "arms", "seed", "format", "concurrency", "judge", "judge-model", "judge-samples", "judge-thoughts", "judge-temperature",
	"per-call", "stream", "rpm", "tpm", "endpoint-concurrency", "budget", "prices", "presets",
}

func addFork(cmd *cobra.Command, o *forking) {
	f := cmd.Flags()
	f.StringVar(&o.at, "fork", "", "make a decision anew: STEP of a trial, from 0, or sample:K decisions drawn from all of a trial or run")
	f.StringVar(&o.with, "intervene", "", "with --fork: the intervention that corrects the Thought there, once")
	f.IntVar(&o.arms, "arms", defaultArms, "with --fork: samples of each of the two arms")
	f.Uint64Var(&o.seed, "seed", 0, "with --fork: seed of the draw of decisions and of the intervals")
	f.StringVar(&o.format, "format", forkTable, "with --fork: table or json")
	f.IntVar(&o.concurrency, "concurrency", 0, "with --fork: decisions at a time; 0: one a core, and 8 where the agent is a model")
	addIntervene(cmd, &o.Intervene)
	addJudge(cmd, &o.request)
	addCalls(cmd, &o.request)
	addLimits(cmd, &o.Limits)
}

// check refuses what does not go together.
func (o forking) check(cmd *cobra.Command, show bool) error {
	if o.at == "" {
		for _, name := range forkFlags {
			if cmd.Flags().Changed(name) {
				return usage("--%s is for --fork STEP or --fork sample:K; without it replay proves what is stored", name)
			}
		}
		return nil
	}
	switch {
	case show:
		return usage("--fork and --show exclude each other")
	case o.with == "":
		return usage("--fork needs --intervene: the intervention whose edit is to be estimated")
	case o.arms < 1 || o.arms > mostRepeats:
		return usage("--arms %d: want at least 1 sample of each arm", o.arms)
	case o.format != forkTable && o.format != forkJSON:
		return usage("--format %q is not known; accepted: %s, %s", o.format, forkTable, forkJSON)
	}
	_, _, err := o.place()
	return err
}

// place reads --fork: a step, or how many decisions to draw (step is -1).
func (o forking) place() (step, draw int, err error) {
	if k, ok := strings.CutPrefix(o.at, "sample:"); ok {
		if draw, err = strconv.Atoi(k); err != nil || draw < 1 {
			return 0, 0, usage("--fork %s: want a number from 1, such as sample:100", o.at)
		}
		return -1, draw, nil
	}
	if step, err = strconv.Atoi(o.at); err != nil || step < 0 {
		return 0, 0, usage("--fork %s: want a step from 0, as replay --show counts them, or sample:K", o.at)
	}
	return step, 0, nil
}

// corrects resolves what --intervene names.
type corrects func(r rooms, spec string, o intervening) (intervene.Intervention, error)

// forks carries out replay --fork.
func (o forking) forks(ctx context.Context, io stdio, db store.Store, ref string, resolve corrects) error {
	rooms, err := o.rooms()
	if err != nil {
		return err
	}
	s, plan, trial, err := forked(ctx, db, ref)
	if err != nil {
		return err
	}
	c, err := o.parts(rooms, s, plan, resolve)
	if err != nil {
		return err
	}
	c.Store = db
	points, all, err := o.points(ctx, c, trial)
	if err != nil {
		return err
	}
	p := newProgress(io.err, "fork "+string(plan.ID()))
	p.of = "decisions"
	c.Observe = func(d fork.Progress) {
		p.observe(run.Progress{Planned: d.Planned, Made: d.Done, Unscored: d.Unscored, Usage: d.Usage})
	}
	outcomes, err := fork.Run(ctx, c, points)
	p.close()
	tellAwaited(io.err, append(judgeModels(c.Judges), interventionModelOf(c.Intervention))...)
	stopped := err != nil && errors.Is(err, rooms.ended())
	if err != nil && !stopped {
		return err
	}
	if err := o.write(io, fork.Summarise(c, outcomes, all, len(points), o.seed)); err != nil || !stopped {
		return err
	}
	return coded{exitMissed, fmt.Errorf("%w; what was finished is stored: the same command goes on with another --budget", err)}
}

// parts are what forks of a plan are made with.
func (o forking) parts(rooms rooms, s *suite.Suite, plan agentbound.Plan, resolve corrects) (fork.Config, error) {
	if err := fork.RefusesPlan(plan); err != nil {
		return fork.Config{}, usage("run %s cannot be forked: %w", plan.ID(), err)
	}
	ask, err := o.asking()
	if err != nil {
		return fork.Config{}, err
	}
	w, err := rooms.world(plan.World)
	if err != nil {
		return fork.Config{}, err
	}
	a, err := rooms.planned(plan.Agent, ask)
	if err != nil {
		return fork.Config{}, err
	}
	how, err := o.Intervene.intervening(ask.modelOptions, o.with)
	if err != nil {
		return fork.Config{}, err
	}
	i, err := resolve(rooms, o.with, how)
	if err != nil {
		return fork.Config{}, err
	}
	if err := fork.Refuses(plan, a, i, w); err != nil {
		return fork.Config{}, usage("run %s cannot be forked: %w", plan.ID(), err)
	}
	judges, err := rooms.judges(o.Judge, o.judging(ask.modelOptions))
	if err != nil {
		return fork.Config{}, err
	}
	n := o.concurrency
	if n == 0 && plan.Agent.Kind == "model" {
		n = judgesAtOnce
	}
	return fork.Config{
		Suite: s, Plan: plan, Agent: a, World: w, Judges: judges, Intervention: i, Arms: o.arms, Concurrency: n, Halted: rooms.ended,
	}, nil
}

// points are the decisions to make anew, and how many there are to draw from.
func (o forking) points(ctx context.Context, c fork.Config, trial *agentbound.Result) (points []fork.Point, all int, err error) {
	step, draw, err := o.place()
	switch {
	case err != nil:
		return nil, 0, err
	case step >= 0 && trial == nil:
		return nil, 0, usage("--fork %d is a step of one trial; of a run draw decisions: --fork sample:K", step)
	case trial != nil:
		points = fork.Decisions(*trial)
		all = len(points)
		if step < 0 {
			return fork.Draw(points, draw, o.seed), all, nil
		}
		if step >= all {
			return nil, 0, usage("trial %s has no step %d: it has %d decisions, from 0", trial.Key, step, all)
		}
		return points[step : step+1], all, nil
	}
	points, all, err = fork.Points(ctx, c.Store, c.Suite, c.Plan, draw, o.seed)
	if err == nil && all == 0 {
		err = usage("run %s has no decision yet", c.Plan.ID())
	}
	return points, all, err
}

func (o forking) write(io stdio, r fork.Result) error {
	if o.format == forkJSON {
		enc := json.NewEncoder(io.out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(r); err != nil {
			return err
		}
	} else if err := r.WriteText(io.out); err != nil {
		return err
	}
	d, unscored := r.Decisions, r.Unscored()
	switch {
	case d.Failed > 0:
		return coded{exitMissed, fmt.Errorf("the intervention failed at %d of %d decisions: the same command tries them again", d.Failed, d.Drawn)}
	case unscored > 0:
		return coded{exitMissed, fmt.Errorf("%d samples are unscored: the same command tries them again", unscored)}
	case d.Drawn > 0 && d.Dropped == d.Drawn:
		return coded{exitMissed, fmt.Errorf("none of %d decisions could be made anew, so that nothing is estimated", d.Drawn)}
	}
	return nil
}

// forked is the run that is forked, or the one that a trial belongs to.
func forked(ctx context.Context, db store.Store, ref string) (*suite.Suite, agentbound.Plan, *agentbound.Result, error) {
	r, s, err := storedRun(ctx, db, ref)
	if err == nil {
		return s, r.Plan, nil, nil
	}
	if !errors.Is(err, store.ErrNotFound) {
		return nil, agentbound.Plan{}, nil, err
	}
	res, err := storedTrial(ctx, db, ref)
	if err != nil {
		return nil, agentbound.Plan{}, nil, err
	}
	r, s, err = runOf(ctx, db, res)
	return s, r.Plan, &res, err
}

// planned makes the agent of a stored plan again, and refuses what is another by now.
func (r rooms) planned(ref agentbound.AgentRef, ask asking) (agent.Agent, error) {
	spec := ref.Name
	if ref.Kind == "model" {
		ask.form = ref.Settings["form"]
		spec = strings.TrimSuffix(spec, " ("+ask.form+")")
		ask.effort = ref.Settings["effort"]
		if t := ref.Settings["temperature"]; t != "default" && t != "none" {
			ask.temperature = t
		}
		if n, err := strconv.Atoi(ref.Settings["max_tokens"]); err == nil {
			ask.maxTokens = n
		}
	}
	a, err := r.agent(spec, ask)
	if err != nil {
		return nil, err
	}
	now := a.Ref()
	now.Label, ref.Label = "", ""
	if agentbound.DigestJSON(now) != agentbound.DigestJSON(ref) {
		return nil, usage("the agent %s is not the one of the run any more: %s", ref.Name, changed(ref, now))
	}
	return a, nil
}

// changed names what of an agent is another.
func changed(was, is agentbound.AgentRef) string {
	if was.Version != is.Version || was.Kind != is.Kind {
		return fmt.Sprintf("it was %s version %s and is %s version %s", was.Kind, was.Version, is.Kind, is.Version)
	}
	settings := maps.Clone(was.Settings)
	if settings == nil {
		settings = map[string]string{}
	}
	maps.Copy(settings, is.Settings)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if a, b := was.Settings[name], is.Settings[name]; a != b {
			return fmt.Sprintf("%s was %s and is %s", name, cmp.Or(a, "not set"), cmp.Or(b, "not set"))
		}
	}
	return fmt.Sprintf("it was %s and is %s", was.Name, is.Name)
}
