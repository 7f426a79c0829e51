package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/suite"
)

func newRun(io stdio) *cobra.Command {
	var r request
	var k keeping
	var path, plan string
	var fresh bool
	var concurrency int
	cmd := &cobra.Command{
		Use: "run --agent AGENT", Short: "Run agents on a suite, or go on with what is left of a run", Args: cobra.NoArgs,
		Long: `Run agents on a suite and judge them. Run ids go to stdout, one a line.

The same command on the same store is the same run: it resumes, or says that it is
complete. --new makes another run of the same plan.

A budget and --run-timeout are of this command: what stops there is stored as far as
it was finished, the exit code is 1, and the same command goes on from there. So does a
run that was stopped since a model cannot be asked at all (key, credit, name, address):
where the first trials fail alike and none is scored, the others are not tried.

` + interventionHelp(),
		Example: `  agentbound run --agent reference:evidence
  agentbound run --agent reference:surface --agent reference:wary --families 'fraud' --splits hb,cm
  agentbound run --agent 'Kimi K3' --limit 5 --max-tokens 16000 --budget usd=5
  agentbound run --agent codex:gpt-5.5 --limit 3 --require-confinement full
  agentbound run --agent 'Kimi K3' --intervene bare --intervene placebo --intervene aligner:compat:my-model@http://127.0.0.1:8000/v1
  agentbound run --plan examples/table2.yaml --dry-run`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if plan != "" {
				if err := r.fromFile(cmd, plan); err != nil {
					return err
				}
			}
			s, err := loadSuite(r.Suite)
			if err != nil {
				return err
			}
			kept, err := k.open(io, r.dry)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, kept.close()) }()
			rooms, err := r.rooms()
			if err != nil {
				return err
			}
			if err := rooms.require(r.Confinement, !r.dry); err != nil {
				return err
			}
			rooms.keep, rooms.unasked = kept, r.dry
			if !kept.replays() {
				rooms.look = new(lookout)
			}
			limit, err := r.runTime()
			if err != nil {
				return err
			}
			all, err := r.resolve(rooms, s)
			if err == nil {
				err = kept.admits(all)
			}
			if err != nil {
				return err
			}
			if r.dry {
				return describe(io, rooms, s, all)
			}
			db, err := openStore(cmd.Context(), storePath(path), false)
			if err != nil {
				return err
			}
			if fresh {
				err = renew(cmd.Context(), db, all)
			}
			if err == nil {
				err = runAll(cmd.Context(), io, db, s, all, bounds{concurrency: concurrency, each: limit, spending: rooms.spending, kept: kept, look: rooms.look})
			}
			return errors.Join(err, db.Close())
		},
	}
	addRequest(cmd, &r)
	f := cmd.Flags()
	addStore(cmd, &path)
	addRecording(cmd, &k)
	addCache(cmd, &k)
	f.StringVar(&plan, "plan", "", "YAML file with the request; flags that are given outrank it")
	f.BoolVar(&r.dry, "dry-run", false, "print the runs and their worst-case cost, and run nothing")
	f.BoolVar(&fresh, "new", false, "another run of the same plan")
	f.IntVar(&concurrency, "concurrency", 0, fmt.Sprintf("trials at a time; 0: one a core, and %d where agent or intervention is a model; of an agent program no more than memory takes", modelConcurrency))
	return cmd
}

func addStore(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "store", "", "store file (default ./"+defaultStore+", or $"+storeEnv+")")
}

// bounds are how much of a command's runs is made at a time, for how long, for what.
type bounds struct {
	concurrency int           // trials at a time; 0: the default
	each        time.Duration // wall clock of each run; 0: no bound
	*spending                 // nil: nothing is spent
	kept        *keep         // of what models say; nil: nothing
	look        *lookout      // of the models; may be nil
}

// modelConcurrency is how many trials are made at a time where the agent is a model, or an
// intervention asks one: they wait for it most of the time. How many requests an endpoint takes is found out below.
const modelConcurrency = 16

// errRunTime ends a run whose time is over.
var errRunTime = errors.New("the time of the run is over (--run-timeout)")

// runAll carries out runs one after the other. Unscored trials and runs whose time was
// over end with exit code 1 after all runs; a budget that was used up ends with it at
// once.
func runAll(ctx context.Context, io stdio, db store.Store, s *suite.Suite, all []resolved, b bounds) error {
	unscored, late := 0, 0
	var by []string // which judge left them, where a run has several
	var stopped []error
	for _, r := range all {
		if err := b.kept.run(r.plan); err != nil {
			return err
		}
		if err := warnSameModel(io.err, b.spending, r.judges, r.plan.Agent); err != nil {
			return err
		}
		if program, ok := programIn(r.plan); ok {
			if err := tellHeld(io.err, program); err != nil {
				return err
			}
		}
		p := newProgress(io.err, r.plan.Agent.Title()+describeIntervention(r))
		if b.spending != nil {
			prices, err := b.priceTable()
			if err != nil {
				return err
			}
			p.price, _ = prices.Find(r.plan.Agent.Name, r.plan.Agent.Settings)
		}
		done, err := execRun(ctx, db, s, r, b, p)
		p.finish(done, err)
		if err == nil && done.Made == 0 && b.kept.records() {
			fmt.Fprintln(io.err, "nothing was recorded: every trial of this run was in the store before; --new makes them again, or name another --store")
		}
		tellAwaited(io.err, append(judgeModels(r.judges), interventionModelOf(r.intervention))...)
		switch {
		case errors.Is(err, errRunTime):
			late++
		case failedAlike(err):
			stopped = append(stopped, err)
			fmt.Fprintln(io.out, r.plan.ID())
			continue // another run may have another model
		case err != nil && b.spending != nil && errors.Is(err, b.ended()):
			fmt.Fprintln(io.out, r.plan.ID())
			return coded{exitMissed, fmt.Errorf("%w; what was finished is stored: the same command goes on with another --budget", err)}
		case err != nil:
			return err
		}
		fmt.Fprintln(io.out, r.plan.ID())
		if err := tellUndecided(ctx, io.err, db, r); err != nil {
			return err
		}
		left, judge, err := unscoredIn(ctx, db, r.plan)
		if err != nil {
			return err
		}
		if unscored += left; left > 0 && len(r.plan.Judges) > 1 && !slices.Contains(by, plainLine(judge)) {
			by = append(by, plainLine(judge))
		}
	}
	switch {
	case len(stopped) > 0:
		return coded{exitMissed, fmt.Errorf("stopped early in %d of %d runs: %w; nothing is lost: put that right, and the same command goes on", len(stopped), len(all), errors.Join(stopped...))}
	case late > 0:
		return coded{exitMissed, fmt.Errorf("%w in %d of %d runs; what was finished is stored: the same command goes on from there", errRunTime, late, len(all))}
	case unscored > 0 && b.kept.replays():
		return coded{exitMissed, fmt.Errorf("%s unscored: the recording does not hold what they ask; replay with the agent, suite, limits, judges and seed of the recorded command; see: agentbound report", counted(unscored, "trial is", "trials are"))}
	case len(by) > 0:
		return coded{exitMissed, fmt.Errorf("%s without a verdict of %s: the same command tries again; see: agentbound report", counted(unscored, "trial is", "trials are"), strings.Join(by, " and "))}
	case unscored > 0:
		return coded{exitMissed, fmt.Errorf("%s unscored: the same command tries again; see: agentbound report", counted(unscored, "trial is", "trials are"))}
	}
	return nil
}

func failedAlike(err error) bool {
	_, ok := errors.AsType[*errAlike](err)
	return ok
}

// execRun carries out one run within its time.
func execRun(ctx context.Context, db store.Store, s *suite.Suite, r resolved, b bounds, p *progress) (run.Progress, error) {
	cfg := run.Config{
		Bench: run.Bench{Agent: r.agent, World: r.world, Judges: r.judges, Intervention: r.intervention, Limits: r.plan.Limits, ModelTime: b.kept.taped()},
		Suite: s, Plan: r.plan, Store: db, Concurrency: b.concurrency, Observe: p.observe, Stored: b.kept.stored(), More: b.kept.more(),
	}
	if r.plan.Agent.Kind == "model" {
		counted := &tally{Agent: r.agent}
		cfg.Agent = counted
		defer func() {
			if text := counted.warning(); text != "" {
				p.say(text)
			}
		}()
	}
	if cfg.Concurrency == 0 && (r.plan.Agent.Kind == "model" || askedBy(r.intervention) != nil) {
		cfg.Concurrency = modelConcurrency
	}
	if program, ok := programIn(r.plan); ok {
		var line string
		if cfg.Concurrency, line = fitting(program, cfg.Concurrency, confine.FreeMemory()); line != "" {
			p.say(line)
		}
	}
	b.look.begin(r.judges, r.intervention, p.say)
	cfg.Observe = func(s run.Progress) {
		b.look.stored(s.Made, s.Unscored)
		p.observe(s)
	}
	cfg.Halted = func() error {
		if b.spending != nil && b.ended() != nil {
			return b.ended()
		}
		return b.look.alike()
	}
	limited := ctx
	if b.each > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, b.each, errRunTime)
		defer cancel()
	}
	done, err := run.Execute(limited, cfg)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errRunTime) {
		return done, errRunTime
	}
	return done, err
}

// unscoredIn counts in the store, since another command may have made part of the run
// meanwhile: the trials that the judge who left the most has not scored.
func unscoredIn(ctx context.Context, db store.Store, p agentbound.Plan) (most int, by string, err error) {
	for _, judge := range p.Judges {
		stored, err := db.Progress(ctx, p.ID(), judge)
		if err != nil {
			return 0, "", err
		}
		if left := stored.Planned - stored.Scored; left > most {
			most, by = left, judge
		}
	}
	return most, by, nil
}

// tellUndecided says how often the intervention of a run gave no decision and the trial went
// on: such trials are scored, so that nothing else would tell. It counts in the store, as
// unscoredIn does.
func tellUndecided(ctx context.Context, w io.Writer, db store.Store, r resolved) error {
	if f := r.intervention.OnFailure; f != intervene.Open && f != intervene.Closed || len(r.plan.Judges) == 0 {
		return nil // a failure leaves the trial unscored
	}
	failed, asked := 0, 0
	for row, err := range db.Rows(ctx, r.plan.ID(), r.plan.Judges[0]) {
		if err != nil {
			return err
		}
		res, err := db.Result(ctx, string(row.Key))
		if err != nil {
			return err
		}
		f, a := res.Trajectory.Undecided()
		failed, asked = failed+f, asked+a
	}
	if failed == 0 {
		return nil
	}
	went := "the trials went on as if there were none"
	if r.intervention.OnFailure == intervene.Closed {
		went = "the calls were kept from being executed"
	}
	_, err := fmt.Fprintf(w, "warning: %s failed in %d of %s (%.1f %%), and %s (--on-intervention-failure %s): the result is not the intervention's alone; see: agentbound report\n",
		plainLine(r.plan.Intervention.Name), failed, counted(asked, "review", "reviews"), 100*float64(failed)/float64(asked), went, r.intervention.OnFailure)
	return err
}

func describeIntervention(r resolved) string {
	if r.plan.Intervention.Name == "bare" {
		return ""
	}
	return " + " + r.plan.Intervention.Name
}
