// Package fork makes decisions of stored trials anew: from one history, once with the
// Thought as it stood and once as an intervention corrects it, several samples of each
// (design §9). What it estimates is the effect of this edit, given this history, for this
// agent.
package fork

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/fault"
)

// Config is what forks are made with.
type Config struct {
	Suite        *suite.Suite
	Plan         agentbound.Plan // of the run whose trials are forked
	Store        store.Store
	Agent        agent.Agent // the plan's
	World        world.Factory
	Judges       []judge.Judge // the first is what is reported by
	Intervention intervene.Intervention
	Arms         int // samples of each arm; at least 1
	Concurrency  int // decisions at a time; 0: one a core
	Clock        func() time.Time
	Halted       func() error   // why no more may be spent; nil while there may. May be nil
	Observe      func(Progress) // one call at a time; may be nil
}

// Progress counts decisions.
type Progress struct {
	Planned, Done int
	Unscored      int // samples
	Usage         agentbound.Usage
}

// Point is a decision of a stored trial.
type Point struct {
	Trial agentbound.Trial
	Step  int // from 0
}

// Outcome is what became of a point.
type Outcome struct {
	Point
	Dropped string // why it was not forked; empty: it was
	Failed  bool   // it was dropped since the intervention gave no decision
	Draft   string // the Thought as it stood
	Thought string // as it was corrected
	Edited  bool
	Control Arm
	Treated Arm
	// Review and Spent are what this fork took, whichever command paid: of the correction,
	// and of the samples' own decisions.
	Review agentbound.Usage
	Spent  agentbound.Usage
}

// Arm counts the samples of one arm.
type Arm struct {
	Samples  int      `json:"samples"`
	Scored   int      `json:"scored"`
	Useful   int      `json:"useful"`
	Safe     int      `json:"safe"`
	Unsafe   int      `json:"unsafe"`   // proposed or executed
	Unscored []string `json:"unscored"` // why
	// Keys are the samples' in the store, in their order: replay KEY --show prints one.
	Keys []agentbound.TrialKey `json:"keys"`
}

// RefusesPlan says why no decision of a plan's trials can be made anew, whatever it is made
// with; nil where some may.
func RefusesPlan(p agentbound.Plan) error {
	switch {
	case p.Agent.Privileged:
		return fmt.Errorf("%s reads the package: it is an instrument check, and its decisions follow from no history", p.Agent.Name)
	case p.Agent.Kind != "model" && p.Agent.Kind != "reference":
		return keepsState(p)
	case p.Intervention.Name != agentbound.Bare:
		return fmt.Errorf("the run was made with the intervention %s, so that its histories hold edits already: fork the bare run", p.Intervention.Name)
	}
	return nil
}

func keepsState(p agentbound.Plan) error {
	return fmt.Errorf("%s (%s) keeps state of its own beside the history, which no record holds: only agents whose whole state is their history can be forked", p.Agent.Name, p.Agent.Kind)
}

// Refuses says why no decision of a plan's trials can be made anew with these; nil where
// some may.
func Refuses(p agentbound.Plan, a agent.Agent, i intervene.Intervention, w world.Factory) error {
	if err := RefusesPlan(p); err != nil {
		return err
	}
	_, resumes := a.(agent.Resumer)
	_, reads := a.(agent.Reader)
	inner := w
	if f, ok := w.(fault.Worlds); ok {
		inner = f.Factory
	}
	_, recorded := inner.(world.Recorded)
	switch {
	case !resumes && !reads:
		return keepsState(p)
	case recorded:
		return fmt.Errorf("a model plays the world %s, which does not give its answers again: the state at a decision cannot be brought about", w.Name())
	case i.Corrector == nil:
		return fmt.Errorf("the intervention %s edits no Thought, so that there is no edit whose effect could be estimated", i.Ref.Name)
	}
	return nil
}

// Run makes the points' decisions anew and judges what comes of them. What is stored is not
// made again, so that the same call goes on where one was stopped. Outcomes are in the
// order of the points; those that were not reached before it was stopped are left out.
// The error is ctx's, the store's, or that of Halted.
func Run(ctx context.Context, c Config, points []Point) (_ []Outcome, err error) {
	if err := Refuses(c.Plan, c.Agent, c.Intervention, c.World); err != nil {
		return nil, err
	}
	if c.Arms < 1 {
		return nil, fmt.Errorf("%d samples an arm: at least 1 is needed", c.Arms)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	f := &forker{Config: c, progress: Progress{Planned: len(points)}}
	return f.all(ctx, points)
}

// lock takes the sole right to pay for forks of a run. It is not that of the run.
func (c Config) lock(ctx context.Context) (func() error, error) {
	id := c.Plan.ID()
	return c.Store.Lock(ctx, agentbound.RunID(agentbound.DigestJSON([]string{string(id), "fork"})[:len(id)]))
}

type forker struct {
	Config
	mu       sync.Mutex
	progress Progress
}

func (f *forker) all(ctx context.Context, points []Point) ([]Outcome, error) {
	n := f.Concurrency
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	made := make([]*Outcome, len(points))
	g, working := errgroup.WithContext(ctx)
	g.SetLimit(n)
	for i, p := range points {
		g.Go(func() error {
			if err := errors.Join(working.Err(), f.halted()); err != nil {
				return err
			}
			o, err := f.one(working, p)
			if err == nil {
				made[i] = &o
				f.note(o)
			}
			return err
		})
	}
	err := g.Wait()
	var out []Outcome
	for _, o := range made {
		if o != nil {
			out = append(out, *o)
		}
	}
	return out, err
}

func (f *forker) halted() error {
	if f.Halted == nil {
		return nil
	}
	return f.Halted()
}

func (f *forker) note(o Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress.Done++
	f.progress.Unscored += len(o.Control.Unscored) + len(o.Treated.Unscored)
	f.progress.Usage = f.progress.Usage.Add(o.Review).Add(o.Spent)
	if f.Observe != nil {
		f.Observe(f.progress)
	}
}

// one makes one point's decision anew.
func (f *forker) one(ctx context.Context, p Point) (Outcome, error) {
	o := Outcome{Point: p}
	b, dropped, err := f.branch(ctx, p)
	if err != nil || dropped != "" {
		o.Dropped = dropped
		return o, err
	}
	edit, err := f.edit(ctx, b)
	if err != nil {
		return o, err
	}
	if edit.why != "" {
		o.Dropped, o.Failed = edit.why, true
		return o, nil
	}
	o.Draft, o.Thought, o.Edited, o.Review = b.next.Thought, edit.thought, edit.thought != b.next.Thought, edit.review.Usage
	if !o.Edited {
		return o, nil
	}
	for sample := range f.Arms {
		for _, arm := range []struct {
			name agentbound.ForkArm
			into *Arm
		}{{agentbound.ForkControl, &o.Control}, {agentbound.ForkTreated, &o.Treated}} {
			if err := f.halted(); err != nil {
				return o, err
			}
			res, err := f.sample(ctx, b, edit, arm.name, sample)
			if err != nil {
				return o, err
			}
			arm.into.add(res, f.Judges[0].Config())
			for _, s := range res.Trajectory.Steps[min(p.Step, len(res.Trajectory.Steps)):] {
				o.Spent = o.Spent.Add(s.Usage)
			}
		}
	}
	return o, nil
}

func (a *Arm) add(res agentbound.Result, config string) {
	a.Samples++
	a.Keys = append(a.Keys, res.Key)
	i := slices.IndexFunc(res.Verdicts, func(v agentbound.Verdict) bool { return v.Judge == config })
	switch {
	case i < 0:
		a.Unscored = append(a.Unscored, "no verdict")
	case !res.Verdicts[i].Scored():
		a.Unscored = append(a.Unscored, res.Verdicts[i].Unscored)
	default:
		v := res.Verdicts[i]
		a.Scored++
		for _, c := range []struct {
			is bool
			n  *int
		}{{v.Useful(), &a.Useful}, {v.Safe(), &a.Safe}, {v.Unsafe != agentbound.UnsafeNone, &a.Unsafe}} {
			if c.is {
				*c.n++
			}
		}
	}
}

// branch is a trial up to the decision that is made anew.
type branch struct {
	Point
	family *agentbound.Family
	task   *agentbound.Task
	agent  agent.Resumer
	tr     *agentbound.Trajectory
	next   agentbound.Step
}

// branch reads a point's trial and proves that it can be lived through again; dropped says
// why it cannot.
func (f *forker) branch(ctx context.Context, p Point) (b branch, dropped string, err error) {
	res, err := f.Store.Result(ctx, string(p.Trial.Key))
	if err != nil {
		return b, "", err
	}
	b = branch{Point: p, tr: res.Trajectory}
	var ok bool
	if b.family, ok = f.Suite.Family(p.Trial.Family); !ok {
		return b, "", fmt.Errorf("the stored suite %s has no family %s", f.Suite.Name, p.Trial.Family)
	}
	if b.task, ok = b.family.Task(p.Trial.Split); !ok {
		return b, "", fmt.Errorf("family %s has no task %s", b.family.ID, p.Trial.Split)
	}
	switch {
	case b.tr.End.Reason == agentbound.EndFault:
		return b, "its trial is unscored: infrastructure ended it", nil
	case p.Step < 0 || p.Step >= len(b.tr.Steps):
		return b, fmt.Sprintf("its trial has no decision %d; it has %d, from 0", p.Step, len(b.tr.Steps)), nil
	}
	b.next = b.tr.Steps[p.Step]
	if b.next.Thought == "" {
		return b, "it shows no Thought that could stand or be corrected", nil
	}
	if dropped = why(run.SamePlan(f.Plan, p.Trial, b.tr)); dropped != "" {
		return b, dropped, nil
	}
	if b.agent, err = f.resumer(ctx, b.family, b.task); err != nil {
		return b, "", err
	}
	if _, err = b.agent.Resume(ctx, brief(b.tr), b.past(0)); err != nil {
		return b, why(err), ctx.Err()
	}
	if _, err = f.world(ctx, b); err != nil {
		return b, why(err), ctx.Err()
	}
	return b, "", nil
}

// why is a reason without the number of the decision, so that equal ones are counted
// together.
func why(err error) string {
	if err == nil {
		return ""
	}
	if refused, ok := errors.AsType[*agent.NotResumedError](err); ok {
		return refused.Why
	}
	return err.Error()
}

func (f *forker) resumer(ctx context.Context, family *agentbound.Family, task *agentbound.Task) (agent.Resumer, error) {
	a := f.Agent
	if reader, ok := a.(agent.Reader); ok {
		var err error
		if a, err = reader.Read(ctx, family, task); err != nil {
			return nil, err
		}
	}
	r, ok := a.(agent.Resumer)
	if !ok {
		return nil, fmt.Errorf("%s cannot be resumed", f.Plan.Agent.Name)
	}
	return r, nil
}

func brief(tr *agentbound.Trajectory) episode.Brief {
	return episode.Brief{Setting: tr.Setting, Instruction: tr.Instruction, Tools: tr.Tools}
}

func (b branch) past(as uint64) agent.Past {
	return agent.Past{Seed: b.tr.Seed, As: as, Steps: b.tr.Steps[:b.Step], Next: b.next}
}

// world is one that stands as it did at the decision, its calls made again and compared.
func (f *forker) world(ctx context.Context, b branch) (world.World, error) {
	w, err := world.Open(ctx, f.World, b.family, b.task, b.tr.Seed)
	if err != nil {
		return nil, err
	}
	return w, run.Again(ctx, w, b.tr.Steps[:b.Step], b.tr.Limits)
}

// episode is one that stands as it did at the decision.
func (f *forker) episode(b branch, w world.World, i intervene.Intervention, seed uint64) *episode.Episode {
	return episode.Resume(episode.Config{
		Task: b.task, World: w, WorldName: f.World.Name(), Agent: f.Plan.Agent.Name, Intervention: i, Limits: f.Plan.Limits, Seed: seed, Clock: f.Clock,
	}, b.tr.Steps[:b.Step])
}

// edited is a correction of a decision's Thought, or why there is none.
type edited struct {
	thought string
	review  agentbound.Review
	why     string
}

// edit has the Thought corrected once, or finds what it was corrected to.
func (f *forker) edit(ctx context.Context, b branch) (edited, error) {
	key := f.key(b, agentbound.ForkEdit, 0)
	res, err := f.Store.Result(ctx, string(key))
	if err == nil && len(res.Trajectory.Steps) == 1 && res.Trajectory.Steps[0].Review != nil {
		s := res.Trajectory.Steps[0]
		return edited{thought: s.Thought, review: *s.Review}, nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return edited{}, err
	}
	i := intervene.Intervention{Ref: f.Intervention.Ref, Corrector: f.Intervention.Corrector}
	e := f.episode(b, nil, i, b.tr.Seed)
	ctx = model.WithPlay(ctx, &model.Play{Trial: key, Seed: b.tr.Seed})
	thought, _, err := e.Review(ctx, episode.Decision{Thought: b.next.Thought})
	if ctx.Err() != nil {
		return edited{}, ctx.Err()
	}
	if err != nil {
		return edited{why: err.Error()}, f.halted()
	}
	out := edited{thought: thought, review: *e.LastReview()}
	return out, f.Store.Put(context.WithoutCancel(ctx), []agentbound.Result{f.kept(b, key, out)})
}

// kept is the edit as it is stored: a trial of one decision, without a verdict.
func (f *forker) kept(b branch, key agentbound.TrialKey, e edited) agentbound.Result {
	tr := *f.episode(b, nil, f.Intervention, b.tr.Seed).Trajectory()
	tr.Steps = []agentbound.Step{{
		Thought: e.thought, ThoughtSource: b.next.ThoughtSource, Calls: []agentbound.CallRecord{}, Review: &e.review,
		Draft: &agentbound.Draft{Thought: b.next.Thought, ThoughtSource: b.next.ThoughtSource, Calls: []agentbound.Call{}},
	}}
	tr.Fork = mark(b.Trial.Key, b.Step, agentbound.ForkEdit, 0)
	return agentbound.Result{Trial: b.as(key, 0), Trajectory: &tr}
}

func (b branch) as(key agentbound.TrialKey, sample int) agentbound.Trial {
	t := b.Trial
	t.Key, t.Repeat = key, sample
	return t
}

func mark(of agentbound.TrialKey, step int, arm agentbound.ForkArm, sample int) *agentbound.Fork {
	return &agentbound.Fork{Version: agentbound.ForkVersion, Trial: of, Step: step, Arm: arm, Sample: sample}
}

func (f *forker) key(b branch, arm agentbound.ForkArm, sample int) agentbound.TrialKey {
	return Key(b.Trial.Key, b.Step, arm, sample, f.Intervention.Ref)
}

// Key is the digest of all that decides a sample, under which it is stored. That of a
// control names no intervention: it serves every one that is tried at this decision.
func Key(of agentbound.TrialKey, step int, arm agentbound.ForkArm, sample int, i agentbound.Intervention) agentbound.TrialKey {
	if arm == agentbound.ForkControl {
		i = agentbound.Intervention{}
	}
	return agentbound.TrialKey(agentbound.DigestJSON(struct {
		Fork         *agentbound.Fork
		Intervention agentbound.Intervention
	}{mark(of, step, arm, sample), i})[:32])
}

// seed is a sample's own, another for each arm and sample.
func seed(key agentbound.TrialKey) uint64 {
	sum := sha256.Sum256([]byte("seed " + key))
	return binary.BigEndian.Uint64(sum[:]) & math.MaxInt64
}

// attempts at a sample that comes to a fault, in one command.
const attempts = 2

// sample finds or makes one sample of an arm, with the verdicts of all judges.
func (f *forker) sample(ctx context.Context, b branch, e edited, arm agentbound.ForkArm, n int) (agentbound.Result, error) {
	key := f.key(b, arm, n)
	res, err := f.Store.Result(ctx, string(key))
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return res, err
	case err == nil && res.Trajectory.End.Reason != agentbound.EndFault:
		err = f.judge(ctx, b, &res)
		return res, err
	}
	for left := attempts; left > 0; left-- {
		tr, err := f.play(ctx, b, e, arm, n, key)
		if err != nil {
			return res, err
		}
		res = agentbound.Result{Trial: b.as(key, n), Trajectory: tr}
		if tr.End.Reason != agentbound.EndFault || f.halted() != nil {
			break
		}
	}
	if res.Trajectory.End.Reason == agentbound.EndFault {
		if err := f.halted(); err != nil {
			return res, err // it came to nothing for want of money: it is made anew
		}
	}
	// What was paid for is kept before judges, who may be paid too, are asked.
	if err := f.Store.Put(context.WithoutCancel(ctx), []agentbound.Result{res}); err != nil {
		return res, err
	}
	err = f.judge(ctx, b, &res)
	return res, err
}

// judge asks the judges that have not scored a sample. What they are shown does not tell
// which arm it is of.
func (f *forker) judge(ctx context.Context, b branch, res *agentbound.Result) error {
	play := &model.Play{Trial: res.Key, Repeat: res.Repeat, Seed: res.Trajectory.Seed}
	var said []agentbound.Verdict
	for _, j := range f.Judges {
		at := slices.IndexFunc(res.Verdicts, func(v agentbound.Verdict) bool { return v.Judge == j.Config() })
		if at >= 0 && res.Verdicts[at].Scored() {
			continue
		}
		v, err := run.Judge(model.WithPlay(ctx, play), []judge.Judge{j}, b.family, b.task, Blind(res.Trajectory))
		if err != nil {
			return err
		}
		if said = append(said, v[0]); at >= 0 {
			res.Verdicts[at] = v[0]
		} else {
			res.Verdicts = append(res.Verdicts, v[0])
		}
	}
	if len(said) == 0 {
		return nil
	}
	return f.Store.PutVerdicts(context.WithoutCancel(ctx), []store.Judged{{Key: res.Key, Verdicts: said}})
}

// Blind is a trajectory without what tells its arm.
func Blind(tr *agentbound.Trajectory) *agentbound.Trajectory {
	out := *tr
	out.Fork, out.Intervention = nil, agentbound.Bare
	out.Steps = slices.Clone(tr.Steps)
	for i := range out.Steps {
		out.Steps[i].Draft, out.Steps[i].Review, out.Steps[i].Said = nil, nil, nil
	}
	return &out
}
