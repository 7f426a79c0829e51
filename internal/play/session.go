package play

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/intervene"
)

// session is one subject at one trial. Its truth is the journal; what stands in memory
// is dropped whenever something fails, and lived through again from there.
type session struct {
	owner      *Sessions
	id, sealed string
	path       string // of the journal
	mu         sync.Mutex
	ended      bool // the subject can do nothing more
	stored     bool // and its result is in the store
	seat       *seat
	file       *os.File
	entries    []entry
	episode    *episode.Episode // nil: to be lived through again
	draft      *entry           // revised, and not yet decided again
	now        time.Time        // of the request that is served
	gate       gate
}

// gate stands before the intervention's own: it says again what the journal holds when a
// session is lived through again.
type gate struct {
	intervene.Gate
	clock func() time.Time // the owner's: that of the episode stands still during a request
	again *agentbound.GateDecision
}

// Allow implements intervene.Gate.
func (g *gate) Allow(ctx context.Context, p intervene.Proposal) (agentbound.GateDecision, error) {
	if g.again != nil {
		return *g.again, nil
	}
	began := g.clock()
	d, err := g.Gate.Allow(ctx, p)
	d.MS = g.clock().Sub(began).Milliseconds()
	return d, err
}

// begin writes the first entry of a new session.
func (t *session) begin() (err error) {
	t.file, err = openLines(t.path)
	if err != nil {
		return err
	}
	return t.write(entry{Op: opStart, At: t.owner.o.Clock().UnixMilli(), Version: journalVersion, ID: t.sealed})
}

// write makes an entry durable. After a failure the journal on disk is asked again what
// it holds.
func (t *session) write(e entry) error {
	if err := appendLines(t.file, e); err != nil {
		return errors.Join(err, t.forget())
	}
	t.entries = append(t.entries, e)
	return nil
}

// forget drops what is in memory.
func (t *session) forget() error {
	t.episode, t.draft, t.entries = nil, nil, nil
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}

// release lets the journal go, at the end of the server.
func (t *session) release() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.forget()
}

// mend is deferred where a failure, or a panic of world or intervention, may have
// left the session in the middle of a request: it is then lived through again, without
// that request.
func (t *session) mend(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
	if *err != nil {
		t.ended = false
		*err = errors.Join(*err, t.forget())
	}
}

// load lives through the journal again unless the session stands already.
func (t *session) load(ctx context.Context) (err error) {
	if t.episode != nil {
		return nil
	}
	defer t.mend(&err)
	if err := t.open(ctx); err != nil {
		return err
	}
	for i, e := range t.entries {
		if err := t.relive(ctx, e); err != nil {
			return fmt.Errorf("%s:%d: %w", t.path, i+1, err)
		}
	}
	return nil
}

// open takes the run, reads the journal and opens the world.
func (t *session) open(ctx context.Context) (err error) {
	if t.seat == nil {
		sealed, err := t.owner.sealed(t.sealed)
		if err != nil {
			return err
		}
		if t.seat, err = t.owner.seat(ctx, sealed); err != nil {
			return err
		}
	}
	if err := t.owner.own(ctx, t.seat.Run); err != nil {
		return err
	}
	if t.file == nil {
		if t.file, err = openLines(t.path); err != nil {
			return err
		}
	}
	if t.entries, err = readLines[entry](t.path); err != nil {
		return err
	}
	if len(t.entries) == 0 || t.entries[0].Op != opStart || t.entries[0].Version != journalVersion {
		return fmt.Errorf("%s is not a journal of version %d", t.path, journalVersion)
	}
	t.now = time.UnixMilli(t.entries[0].At)
	p := t.seat
	w, err := p.world.Open(ctx, p.family, p.task)
	if err != nil {
		return err
	}
	i := p.intervention
	if t.gate = (gate{Gate: i.Gate, clock: t.owner.o.Clock}); i.Gate != nil {
		i.Gate = &t.gate
	}
	t.episode = episode.New(episode.Config{
		Task: p.task, World: w, WorldName: p.world.Name(), Agent: p.plan.Agent.Name, Intervention: i,
		Limits: p.plan.Limits, Seed: run.Seed(p.plan, p.Trial), Clock: func() time.Time { return t.now },
	})
	return nil
}

// relive carries an entry of the journal out once more.
func (t *session) relive(ctx context.Context, e entry) error {
	t.now = time.UnixMilli(e.At)
	switch e.Op {
	case opRevise:
		t.draft = &e
	case opCall, opFinish, opOver:
		t.gate.again = e.Gate
		again, err := t.commit(ctx, e)
		if t.gate.again = nil; err != nil {
			return err
		}
		if again.Op != e.Op {
			return fmt.Errorf("%w: %s, and now %s", errDiffers, e.Op, again.Op)
		}
		return e.proves(again)
	case opStored:
		t.stored = true
	}
	return nil
}

// commit carries a decision out and completes its entry with what came of it.
func (t *session) commit(ctx context.Context, e entry) (entry, error) {
	d := e.decision()
	t.episode.Reviewed(e.Review)
	if t.draft != nil {
		t.episode.Reviewed(t.draft.Review)
		d.Thought = t.draft.Revised
		d, t.draft = episode.Revised(d, t.draft.decision()), nil
	}
	seen, err := t.episode.Commit(ctx, d)
	switch {
	case errors.Is(err, episode.ErrSteps):
		e.Op = opOver
	case err != nil:
		return e, err
	case d.Outcome == nil:
		e.OK, e.Observation, e.Gate = seen[0].OK, seen[0].Value, seen[0].Gate
	}
	t.ended = e.ends()
	return e, nil
}

// decide has a decision reviewed, carried out and written down. Where the corrector
// changed its Thought the entry that comes back is a revision, and nothing was done.
func (t *session) decide(ctx context.Context, e entry) (_ entry, err error) {
	defer t.mend(&err)
	e.At = t.owner.o.Clock().UnixMilli()
	t.now = time.UnixMilli(e.At)
	if t.draft == nil {
		thought, changed, err := t.episode.Review(ctx, e.decision())
		if err != nil {
			return e, err
		}
		if e.Review = t.episode.LastReview(); e.Review != nil {
			e.Review.MS = t.owner.o.Clock().UnixMilli() - e.At
		}
		if changed {
			e.Op, e.Revised = opRevise, thought
			if err := t.write(e); err != nil {
				return e, err
			}
			t.draft = &e
			return e, nil
		}
	}
	if e, err = t.commit(ctx, e); err != nil {
		return e, err
	}
	return e, t.write(e)
}

// answered gives the entry that an earlier copy of this request made. The key of
// another request is refused: neither may pass for the other.
func (t *session) answered(asked entry) (entry, bool, error) {
	i := slices.IndexFunc(t.entries, func(e entry) bool { return asked.Request != "" && e.Request == asked.Request })
	if i < 0 {
		return entry{}, false, nil
	}
	e := t.entries[i]
	if agentbound.DigestJSON(e.decision()) != agentbound.DigestJSON(asked.decision()) {
		return entry{}, false, refuse(Malformed, "the request key %q was used for another request of this session: nothing was done; use a key once", clip(asked.Request))
	}
	return e, true, nil
}

func (t *session) call(ctx context.Context, c Call) (Answer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stored {
		return Answer{}, ended()
	}
	if err := t.load(ctx); err != nil {
		return Answer{}, err
	}
	asked := entry{Op: opCall, Request: c.Request, Thought: c.Thought, Call: &agentbound.Call{Tool: c.Tool, Args: c.Args}}
	e, ok, err := t.answered(asked)
	if err != nil {
		return Answer{}, err
	}
	if !ok {
		if t.ended { // over, or finished and not in the store yet
			return Answer{}, ended()
		}
		if err := t.check(c); err != nil {
			return Answer{}, err
		}
		if e, err = t.decide(ctx, asked); err != nil {
			return Answer{}, err
		}
	}
	switch e.Op {
	case opRevise:
		return Answer{Revise: revision(e.Revised)}, nil
	case opOver:
		if err := t.settle(ctx); err != nil {
			t.owner.o.Log.Error("a finished session is not in the store yet", "session", t.id, "error", err)
		}
		return Answer{}, refuse(Ended, "no call is left: the session has ended and is recorded")
	}
	return Answer{Observation: e.Observation}, nil
}

func ended() error {
	return refuse(Ended, "the session is finished and recorded: nothing more can be done in it")
}

func (t *session) finish(ctx context.Context, f Finish) (Receipt, error) {
	if err := f.check(); err != nil {
		return Receipt{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := entry{
		Op: opFinish, Request: f.Request, Thought: f.thought(),
		Outcome: &agentbound.Outcome{Word: f.Outcome, Reason: f.Reason, Text: f.Answer},
	}
	if t.stored {
		return t.receipt(asked)
	}
	if err := t.load(ctx); err != nil {
		return Receipt{}, err
	}
	if t.stored { // another server has
		return t.receipt(asked)
	}
	e, ok, err := t.answered(asked)
	if err != nil {
		return Receipt{}, err
	}
	if !ok && !t.ended {
		if e, err = t.decide(ctx, asked); err != nil {
			return Receipt{}, err
		}
	}
	if e.Op == opRevise {
		return Receipt{Revise: revision(e.Revised)}, nil
	}
	if err := t.settle(ctx); err != nil {
		t.owner.o.Log.Error("a finished session is not in the store yet", "session", t.id, "error", err)
		return Receipt{}, refuse(Failed, "your outcome is kept, but it could not be recorded yet: give finish once more later, or leave it to whoever gave you the task")
	}
	return Receipt{Recorded: true}, nil
}

// opening is what start gives, also when the session was begun before.
func (t *session) opening(ctx context.Context) (Opening, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stored {
		return Opening{}, ended()
	}
	if err := t.load(ctx); err != nil {
		return Opening{}, err
	}
	if t.ended {
		return Opening{}, ended()
	}
	b := t.episode.Brief()
	o := Opening{
		Session: t.id, Setting: b.Setting, Instruction: b.Instruction, Tools: b.Tools,
		MaxCalls: t.seat.plan.Limits.WithDefaults().Steps,
	}
	thought := ""
	for _, e := range t.entries {
		switch e.Op {
		case opRevise:
			thought, o.Revise = e.Revised, revision(e.Revised)
		case opCall:
			if o.Revise == nil {
				thought = e.Thought
			}
			o.Steps, o.Revise = append(o.Steps, Done{Thought: thought, Tool: e.Call.Tool, Args: e.Call.Args, Observation: e.Observation}), nil
		}
	}
	return o, nil
}
