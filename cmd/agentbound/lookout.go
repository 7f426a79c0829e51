package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/judge/rubric"
	"github.com/agentbound/agentbound/model"
)

// mostAlike is how many trials may come to nothing because a model cannot be asked at
// all, before a run in which nothing was scored is stopped.
const mostAlike = 8

// lookout watches the models of a run. It says how each fails first, at once: a trial may
// go on trying for minutes. And it knows when going on is of no use: where a model that a
// trial cannot do without has answered nothing, for reasons that no other trial would
// change. A nil one watches nothing.
type lookout struct {
	mu     sync.Mutex
	say    func(line string) // nil: nobody is told
	vital  []model.Part      // without which no trial is scored
	scored bool              // some trial was
	seen   map[string]*sighting
	ended  error
}

// sighting is what is known of a model in a part.
type sighting struct {
	answered bool
	told     map[bool]bool                // of what passes, and of what does not
	lost     map[agentbound.TrialKey]bool // trials that came to nothing
	why      *model.Error
}

// errAlike ends a run in which everything fails for the same kind of reason.
type errAlike struct {
	who string
	n   int
	why error
}

func (e *errAlike) Error() string {
	return fmt.Sprintf("%s cannot be asked, nothing was scored, and the first %d trials failed alike: %v", e.who, e.n, e.why)
}

func (e *errAlike) Unwrap() error { return e.why }

// begin is called before each run. An intervention is vital where nothing goes on without
// it.
func (l *lookout) begin(judges []judge.Judge, i intervene.Intervention, say func(string)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.say, l.scored, l.seen, l.ended = say, false, map[string]*sighting{}, nil
	l.vital = []model.Part{model.PartSubject, model.PartWorld}
	byModels := func(j judge.Judge) bool { _, ok := j.(*rubric.Judge); return ok }
	if !slices.ContainsFunc(judges, func(j judge.Judge) bool { return !byModels(j) }) {
		l.vital = append(l.vital, model.PartJudge) // else another judge scores
	}
	if i.OnFailure != intervene.Open && i.OnFailure != intervene.Closed {
		l.vital = append(l.vital, model.PartIntervention)
	}
}

// stored is told of the run's progress.
func (l *lookout) stored(made, unscored int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.scored = l.scored || made > unscored
}

// alike is why going on is of no use; nil where it may be. It is an *errAlike.
func (l *lookout) alike() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != nil || l.scored {
		return l.ended
	}
	for who, s := range l.seen {
		if !s.answered && len(s.lost) >= mostAlike {
			l.ended = &errAlike{who, mostAlike, said(s.why)}
		}
	}
	return l.ended
}

// watch stands before a model.
func (l *lookout) watch(m model.Model, part model.Part) model.Model {
	if l == nil {
		return m
	}
	return watched{m, witness{l, m.Ref().Name, part}}
}

type watched struct {
	model.Model
	witness
}

// witness is what tells a lookout of one model in one part. A nil one tells nothing.
type witness struct {
	by   *lookout
	name string
	part model.Part
}

// witness is for a model that an agent program asks.
func (l *lookout) witness(name string) *witness {
	if l == nil {
		return nil
	}
	return &witness{l, name, model.PartSubject}
}

// answered tells that the model has answered.
func (w *witness) answered() {
	if w == nil {
		return
	}
	w.by.mu.Lock()
	defer w.by.mu.Unlock()
	w.sighting().answered = true
}

// fault tells of a request that failed, which a program may try again.
func (w *witness) fault(ctx context.Context, e *model.Error) {
	if w == nil || e == nil {
		return
	}
	w.failed(e, "a request failed")
	w.lose(ctx, e)
}

// Chat implements model.Model.
func (w watched) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	res, err := w.Model.Chat(model.Noticing(ctx, func(e *model.Error) { w.failed(e, "a call failed and is tried again") }), r)
	if err == nil {
		w.answered()
		return res, nil
	}
	if fault, ok := errors.AsType[*model.Error](err); ok && !errors.Is(err, model.ErrAwaited) {
		if !fault.Transient() {
			w.failed(fault, "a call failed")
		}
		w.lose(ctx, fault)
	}
	return res, err
}

// who is the model in its part, for messages.
func (w witness) who() string {
	switch w.part {
	case model.PartWorld:
		return "the world's model " + w.name
	case model.PartJudge:
		return "the judge's model " + w.name
	case model.PartIntervention:
		return "the intervention's model " + w.name
	default:
		return "the model " + w.name
	}
}

// sighting is called with the lock held.
func (w witness) sighting() *sighting {
	s := w.by.seen[w.who()]
	if s == nil {
		s = &sighting{told: map[bool]bool{}, lost: map[agentbound.TrialKey]bool{}}
		if w.by.seen == nil {
			w.by.seen = map[string]*sighting{}
		}
		w.by.seen[w.who()] = s
	}
	return s
}

// failed tells of the first failure of each kind.
func (w witness) failed(e *model.Error, what string) {
	w.by.mu.Lock()
	s, say := w.sighting(), w.by.say
	first := !s.told[e.Transient()]
	s.told[e.Transient()] = true
	w.by.mu.Unlock()
	if first && say != nil {
		say(fmt.Sprintf("%s: %s: %v", w.who(), what, said(e)))
	}
}

// said is a fault without the model's name, which stands before it.
func said(e *model.Error) error {
	short := *e
	short.Who = ""
	return &short
}

// lose notes that a turn, and with it a trial, came to nothing for a reason that the next
// trial will meet as well.
func (w witness) lose(ctx context.Context, e *model.Error) {
	play := model.PlayOf(ctx)
	if play == nil || !lasting(e) {
		return
	}
	w.by.mu.Lock()
	defer w.by.mu.Unlock()
	if !slices.Contains(w.by.vital, w.part) {
		return
	}
	s := w.sighting()
	s.lost[play.Trial], s.why = true, e
}

// lasting reports whether a fault is of the endpoint and the account, and of no single
// request: a key that is not accepted, no credit, no such model or address, or nobody who
// listens there after all attempts. A status 403 is left out, since relays answer with it
// what their moderation flagged, and so is what a server rejects or fails at.
func lasting(e *model.Error) bool {
	switch e.Fault {
	case model.FaultKey:
		return e.Status != http.StatusForbidden
	case model.FaultQuota, model.FaultModel, model.FaultAddress:
		return true
	case model.FaultConnection:
		dial, ok := errors.AsType[*net.OpError](e.Err)
		return ok && dial.Op == "dial"
	}
	return false
}

// tally counts which trials of an agent had a call of a tool: a server that does not know
// a model's form of calls makes a subject of it that never acts, in silence.
type tally struct {
	agent.Agent
	mu           sync.Mutex
	acted, spoke int // trials with a call; without one, and not declined
}

// Play implements agent.Agent.
func (t *tally) Play(ctx context.Context, e *episode.Episode) error {
	if err := t.Agent.Play(ctx, e); err != nil {
		return err
	}
	tr := e.Trajectory()
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case slices.ContainsFunc(tr.Steps, func(s agentbound.Step) bool { return len(s.Calls) > 0 }):
		t.acted++
	case tr.Outcome.Word != agentbound.Declined:
		t.spoke++
	}
	return nil
}

// warning is empty where nothing is odd.
func (t *tally) warning() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.acted > 0 || t.spoke == 0 {
		return ""
	}
	remedy := "; is tool calling on at the server? agentbound agents --check asks for a call; --form react needs none"
	if t.Ref().Settings["form"] == "react" {
		remedy = "; it does not keep to the form of --form react"
	}
	return fmt.Sprintf("warning: no tool was called in any trial of this command, and in %d nothing was declined either%s", t.spoke, remedy)
}
