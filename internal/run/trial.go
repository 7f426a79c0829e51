package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/world"
)

// Bench is what trials are run with.
type Bench struct {
	Agent        agent.Agent
	World        world.Factory
	Judges       []judge.Judge
	Intervention intervene.Intervention
	Limits       agentbound.Limits
	Clock        func() time.Time // nil: time.Now
	ModelTime    bool             // instead of Clock, a trial's time is what its models' turns took: a replay then shows the same
}

// Trial runs one attempt at a task and judges it. The result is always there: a
// failure of the infrastructure is an unscored result. The error is ctx's alone, for
// a trial that was broken off and is to be forgotten.
func (b Bench) Trial(ctx context.Context, f *agentbound.Family, t agentbound.Trial, seed uint64) (agentbound.Result, error) {
	task, ok := f.Task(t.Split)
	if !ok {
		return agentbound.Result{}, fmt.Errorf("family %s has no task %s", f.ID, t.Split)
	}
	play := &model.Play{Trial: t.Key, Repeat: t.Repeat, Seed: seed}
	ctx = model.WithPlay(ctx, play)
	tr := b.play(ctx, f, task, play)
	if ctx.Err() != nil {
		return agentbound.Result{}, ctx.Err()
	}
	play.End(tr.End.Reason != agentbound.EndFault, tr.End.Fault)
	verdicts, err := Judge(ctx, b.Judges, f, task, tr)
	return agentbound.Result{Trial: t, Trajectory: tr, Verdicts: verdicts}, err
}

// fits reports where a bench is not what the plan says: its trials would be kept under
// the keys of others.
func (b Bench) fits(p agentbound.Plan) error {
	configs := make([]string, len(b.Judges))
	for i, j := range b.Judges {
		configs[i] = j.Config()
	}
	for _, part := range []struct {
		what     string
		plan, is any
	}{
		{"agent", p.Agent, b.Agent.Ref()},
		{"intervention", p.Intervention, b.Intervention.Ref},
		{"world", p.World, b.World.Name()},
		{"judges", p.Judges, configs},
		{"limits", p.Limits.WithDefaults(), b.Limits.WithDefaults()},
	} {
		if agentbound.DigestJSON(part.plan) != agentbound.DigestJSON(part.is) {
			return fmt.Errorf("%s: the plan says %v, the bench has %v", part.what, part.plan, part.is)
		}
	}
	return nil
}

// About gives a context in which what judges ask belongs to a trial of a plan.
func About(ctx context.Context, p agentbound.Plan, t agentbound.Trial) context.Context {
	return model.WithPlay(ctx, &model.Play{Trial: t.Key, Repeat: t.Repeat, Seed: Seed(p, t)})
}

// Judge has every judge score a trajectory. A judge that fails gives an unscored
// verdict. The error is ctx's alone.
func Judge(ctx context.Context, judges []judge.Judge, f *agentbound.Family, task *agentbound.Task, tr *agentbound.Trajectory) ([]agentbound.Verdict, error) {
	var verdicts []agentbound.Verdict
	for _, j := range judges {
		v, err := verdict(ctx, j, f, task, tr)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			v = unjudged(j, tr, err)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// verdict has one judge score a trajectory. A judge that fails gives an unscored verdict.
// The error is ctx's, or model.ErrAwaited's. What the judge asks a model is a play of its
// own, of the trial that ctx is about.
func verdict(ctx context.Context, j judge.Judge, f *agentbound.Family, task *agentbound.Task, tr *agentbound.Trajectory) (agentbound.Verdict, error) {
	play := &model.Play{Judge: j.Config()}
	if of := model.PlayOf(ctx); of != nil {
		play.Trial, play.Repeat, play.Seed = of.Trial, of.Repeat, of.Seed
	}
	v, err := judgeOne(model.WithPlay(ctx, play), j, f, task, tr)
	switch {
	case ctx.Err() != nil:
		return v, ctx.Err()
	case errors.Is(err, model.ErrAwaited):
		return v, err
	case err != nil:
		v = unjudged(j, tr, err)
	}
	play.End(v.Scored(), v.Unscored)
	return v, nil
}

// unjudged is the verdict of a judge that gave none.
func unjudged(j judge.Judge, tr *agentbound.Trajectory, err error) agentbound.Verdict {
	return agentbound.Verdict{
		Judge: j.Config(), Unsafe: agentbound.UnsafeNone, Outcome: tr.Outcome.Word, Criteria: []agentbound.Met{},
		Unscored: "the judge failed: " + err.Error(),
	}
}

func judgeOne(ctx context.Context, j judge.Judge, f *agentbound.Family, task *agentbound.Task, tr *agentbound.Trajectory) (v agentbound.Verdict, err error) {
	defer contain("the judge", &err)
	return j.Judge(ctx, f, task, tr)
}

// contain makes a failure of this trial, not of the run, out of a panic. The stack is
// left out: it would store this machine's paths.
func contain(who string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s panicked: %v", who, p)
	}
}

// play carries the trial through, within its wall clock.
func (b Bench) play(ctx context.Context, f *agentbound.Family, task *agentbound.Task, play *model.Play) *agentbound.Trajectory {
	clock := b.Clock
	if b.ModelTime {
		clock = play.Now
	}
	limits := b.Limits.WithDefaults()
	expired := fmt.Errorf("the trial passed its limit of %d seconds; give more time with --timeout", limits.Seconds)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(limits.Seconds)*time.Second, expired)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	play.Break = stop
	w, err := b.open(ctx, f, task, play.Seed)
	e := episode.New(episode.Config{
		Task: task, World: w, WorldName: b.World.Name(), Agent: b.Agent.Ref().Name, Intervention: b.Intervention,
		Limits: limits, Seed: play.Seed, Clock: clock,
	})
	if err == nil {
		err = b.subject(ctx, f, task, e)
		if err == nil && !e.Ended() {
			err = ctx.Err() // an agent that gave up when time ran out did not decide to end
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		e.Fault(err)
	}
	return e.Trajectory()
}

func (b Bench) open(ctx context.Context, f *agentbound.Family, task *agentbound.Task, seed uint64) (w world.World, err error) {
	defer contain("the world", &err)
	return world.Open(ctx, b.World, f, task, seed)
}

// subject lets the agent play.
func (b Bench) subject(ctx context.Context, f *agentbound.Family, task *agentbound.Task, e *episode.Episode) (err error) {
	defer contain("the agent", &err)
	a := b.Agent
	if reader, ok := a.(agent.Reader); ok {
		if a, err = reader.Read(ctx, f, task); err != nil {
			return err
		}
	}
	return a.Play(ctx, e)
}
