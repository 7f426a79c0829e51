package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Wrap gives a model that answers from the recording, under the name and settings of
// the one that was asked. A request that is not there is a model.FaultRequest that says
// what differs; nobody is ever asked.
func (r *Recording) Wrap(ref model.Ref, part model.Part) model.Model { return replayed{ref, r, part} }

type replayed struct {
	ref       model.Ref
	recording *Recording
	part      model.Part
}

// Ref implements model.Model.
func (m replayed) Ref() model.Ref { return m.ref }

// Chat implements model.Model.
func (m replayed) Chat(ctx context.Context, req model.Request) (model.Response, error) {
	if ctx.Err() != nil {
		return model.Response{}, context.Cause(ctx)
	}
	r := m.recording
	asked := encodeRequest(r.ref(m.ref), r.request(req))
	p := model.PlayOf(ctx)
	if p == nil || p.Trial == "" {
		x, err := r.outside(asked)
		if err != nil {
			return model.Response{}, m.absent(err)
		}
		return m.answer(ctx, p, x)
	}
	t := p.Keep(r, func() any { return new(following) }).(*following)
	x, err := t.find(r, p, asked)
	if broke, ok := errors.AsType[*brokenError](err); ok {
		return model.Response{}, broke.end(ctx, p)
	}
	if err != nil {
		return model.Response{}, m.absent(err)
	}
	return m.answer(ctx, p, x)
}

func (m replayed) absent(err error) error {
	return &model.Error{
		Fault: model.FaultRequest, Who: m.ref.Name, What: fmt.Sprintf("the request is not in the recording %s: %v", m.recording.name(), err),
		Remedy: "replay what was recorded, with the same options, or record it anew", Err: err,
	}
}

func (m replayed) answer(ctx context.Context, p *model.Play, x exchange) (model.Response, error) {
	if p != nil {
		p.Took(time.Duration(x.MS) * time.Millisecond)
	}
	switch {
	case x.Response != nil:
		return x.Response.decode()
	case x.Error.Ended != "":
		return model.Response{}, (&brokenError{x.Error.Ended}).end(ctx, p)
	}
	return model.Response{}, x.Error.decode()
}

// brokenError is what ended a play though no model had failed, as its wall clock.
type brokenError struct{ why string }

func (e *brokenError) Error() string { return e.why }

// end ends the play by it, as it was ended then.
func (e *brokenError) end(ctx context.Context, p *model.Play) error {
	if p != nil && p.Break != nil {
		p.Break(e)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return e
}

// outside finds an exchange of no trial: of equal requests the first that has not been
// given yet.
func (r *Recording) outside(asked request) (exchange, error) {
	r.mu.Lock()
	all := r.same[asked.asking().digest]
	if len(all) == 0 {
		all = r.struckLike(asked)
	}
	i := slices.IndexFunc(all, func(s *span) bool { return !s.used })
	if i >= 0 {
		all[i].used = true
	}
	r.mu.Unlock()
	switch {
	case i >= 0:
		return r.read(*all[i])
	case len(all) > 0:
		return exchange{}, fmt.Errorf("it was asked %d times when it was recorded, and now once more", len(all))
	}
	return exchange{}, r.nearest(asked)
}

// nearest tells a request from the one outside of trials that begins most like it.
func (r *Recording) nearest(asked request) error {
	best, likest := request{}, -1
	for _, s := range r.loose {
		x, err := r.read(*s)
		if err != nil {
			return err
		}
		if alike := likeness(asked, x.Request); alike > likest {
			best, likest = x.Request, alike
		}
	}
	if likest < 0 {
		return errors.New("no exchange outside of trials was recorded")
	}
	return errors.New(difference(best, asked))
}

// likeness counts what two requests have in common from the beginning.
func likeness(a, b request) int {
	n := 0
	if a.Model.Name == b.Model.Name {
		n++
	}
	for i := range min(len(a.Messages), len(b.Messages)) {
		if !a.Messages[i].equal(b.Messages[i]) {
			break
		}
		n += 2
	}
	return n
}

// following is a play as it is replayed.
type following struct {
	mu    sync.Mutex
	play  *played
	turns []loaded
}

// find gives the next turn of the play. Turns that were asked at the same time may come
// in another order: the first equal one that has not been given.
func (t *following) find(r *Recording, p *model.Play, asked request) (exchange, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.play == nil {
		if err := t.begin(r, p, asked); err != nil {
			return exchange{}, err
		}
	}
	a := asked.asking()
	next := slices.IndexFunc(t.turns, func(l loaded) bool { return !l.used })
	for i := range t.turns {
		if l := &t.turns[i]; !l.used && a.is(l.recorded) {
			l.used = true
			return l.exchange, nil
		}
	}
	if next >= 0 {
		l := t.turns[next]
		return exchange{}, fmt.Errorf("trial %s, turn %d (line %d): %s", p.Trial, l.Turn, l.line, difference(l.Request, asked))
	}
	return exchange{}, t.over()
}

// over is why there is no further turn.
func (t *following) over() error {
	switch end := t.play.end; {
	case end == nil:
		return fmt.Errorf("the recording of trial %s breaks off after %d turns", t.play.Trial, len(t.turns))
	case !end.Scored && end.Judge == "":
		return &brokenError{end.Why}
	}
	return fmt.Errorf("trial %s had %d turns when it was recorded, and this is one more", t.play.Trial, len(t.turns))
}

// begin takes the next of the recorded plays; of a judge's the next that begins with
// the same request, since what it said of trajectories that were lost is there too.
func (t *following) begin(r *Recording, p *model.Play, asked request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[group{p.Trial, p.Judge}]
	if g == nil {
		return r.unknown(p)
	}
	if g.next >= len(g.all) {
		return fmt.Errorf("trial %s was attempted %d times when it was recorded, and now once more", p.Trial, len(g.all))
	}
	a := asked.asking()
	for i, play := range g.all[g.next:] {
		turns, err := r.load(play)
		if err != nil {
			return err
		}
		begins := len(turns) > 0 && a.is(turns[0].recorded)
		if i == 0 || begins {
			t.play, t.turns = play, turns
			if begins {
				g.next += i + 1
				return nil
			}
		}
	}
	g.next++
	return nil
}

// decisive is what of a plan decides its trial keys.
type decisive struct {
	Agent        agentbound.AgentRef     `json:"agent"`
	Intervention agentbound.Intervention `json:"intervention"`
	World        string                  `json:"world"`
	Limits       agentbound.Limits       `json:"limits"`
	Seed         uint64                  `json:"seed"`
	Counter      int                     `json:"counter"`
}

func decides(p agentbound.Plan) decisive {
	return decisive{p.Agent, p.Intervention, p.World, p.Limits, p.Seed, p.Counter}
}

// unknown says of a trial, or a judge's verdict, that was not recorded what differs
// from the recorded run that is most like this one.
func (r *Recording) unknown(p *model.Play) error {
	if p.Judge != "" && slices.ContainsFunc(r.order, func(o *played) bool { return o.Trial == p.Trial }) {
		return fmt.Errorf("of trial %s no exchange of judge %s was recorded", p.Trial, p.Judge)
	}
	if r.plan == nil || len(r.plans) == 0 {
		return fmt.Errorf("trial %s was not recorded", p.Trial)
	}
	why, fewest := "", -1
	for _, recorded := range r.plans {
		d := difference(decides(recorded), decides(*r.plan))
		if d == "" && recorded.Suite.Digest != r.plan.Suite.Digest {
			d = difference(recorded.Suite, r.plan.Suite)
		}
		if n := differences(decides(recorded), decides(*r.plan)); fewest < 0 || n < fewest {
			why, fewest = d, n
		}
	}
	if of := r.ofCounters(); of != "" && strings.HasPrefix(why, "counter was") {
		return errors.New(of)
	}
	if why == "" {
		return fmt.Errorf("trial %s was not recorded: it had not begun when the recording ended", p.Trial)
	}
	return errors.New(why)
}

// ofCounters says in the user's words that another run of the same plan was recorded.
func (r *Recording) ofCounters() string {
	if r.plan.Counter > 0 {
		return fmt.Sprintf("it was not recorded with --new: leave --new out (this would be run %d of its plan)", r.plan.Counter+1)
	}
	return "it was recorded with --new: replay it with --new too, in a store that holds the run which --new made another of"
}

// differences counts the parts in which two plans differ.
func differences(a, b decisive) (n int) {
	x, y := tree(a).(map[string]any), tree(b).(map[string]any)
	for k := range x {
		if agentbound.DigestJSON(x[k]) != agentbound.DigestJSON(y[k]) {
			n++
		}
	}
	return n
}
