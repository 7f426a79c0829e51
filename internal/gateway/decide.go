package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
)

// Mark stands between a draft that had gone out and the Thought that it was corrected to.
// What follows the last of them is the Thought.
const Mark = "[Corrected before acting:]"

// What a client reads where the corrector failed closed, or the upstream did not answer
// when the turn was to be made anew.
const (
	NotReviewed = "[The step could not be reviewed. Its calls were held back: nothing of it was done.]"
	NotAnew     = "[The step was to be corrected and could not be made anew. Its calls were held back: nothing of it was done.]"
)

// review is what a corrector made of a turn, and what came of that.
type review struct {
	draft       wire.Turn
	seen        intervene.Context
	thought     string // corrected
	changed     bool
	usage       agentbound.Usage
	took        time.Duration
	failed      string // why there was no correction
	unasked     bool   // that is since the corrector was not asked
	again       string // why the upstream gave no second answer
	undelivered string // why the client had none of it
}

// asks reports whether a turn is a decision: it calls, or it ends a conversation in which it
// could have called. What was refused, or cut off before it called, decides nothing.
func (g *Gateway) asks(t wire.Turn) bool {
	switch {
	case len(t.Calls) > 0:
		return true
	case g.opts.PassFinal || len(t.Request.Tools) == 0:
		return false
	}
	return t.Stop == model.StopEnd && len(t.Hosted) == 0
}

// decide implements wire.Editor.
func (g *Gateway) decide(ctx context.Context, t wire.Turn) (wire.Edit, error) {
	if t.Attempt > 0 {
		if len(t.Calls) == 0 {
			return wire.Edit{}, nil
		}
		silent := "" // the corrected Thought is the text of the turn; see agent/chat
		return wire.Edit{Thought: &silent}, nil
	}
	q, _ := ctx.Value(requestKey{}).(*request)
	if q == nil || !g.asks(t) {
		return wire.Edit{}, nil
	}
	q.n, q.protocol = t.N, t.Protocol
	g.asked.Store(t.N, q)
	r := g.correct(ctx, t)
	if ctx.Err() != nil {
		return wire.Edit{}, ctx.Err() // nobody waits for it any more
	}
	q.review = r
	return g.edit(r), nil
}

// edit is what becomes of a turn.
func (g *Gateway) edit(r *review) wire.Edit {
	closed := g.opts.Intervention.OnFailure == intervene.Closed
	switch {
	case r.failed != "" && closed:
		return withheld(r.draft, NotReviewed)
	case !r.changed:
		return wire.Edit{}
	}
	thought := cmp.Or(strings.TrimSpace(r.thought), intervene.NoText)
	e := wire.Edit{
		Again: []wire.Message{{Role: model.Assistant, Text: thought}, {Role: model.User, Text: intervene.GoOn}},
		Else:  &wire.Edit{},
	}
	if closed {
		otherwise := withheld(r.draft, NotAnew)
		e.Else = &otherwise
	}
	if r.draft.Flowed == "" {
		e.Thought = &thought
	} else {
		e.Add = "\n\n" + Mark + "\n\n" + thought
	}
	return e
}

func withheld(t wire.Turn, word string) wire.Edit {
	if t.Text != "" {
		word = "\n\n" + word
	}
	return wire.Edit{Withhold: true, Add: word}
}

// correct asks the corrector.
func (g *Gateway) correct(ctx context.Context, t wire.Turn) *review {
	r := &review{draft: t, seen: Context(t), thought: t.Thought}
	leave, err := g.breaker.enter(ctx)
	if err != nil {
		r.failed, r.unasked = err.Error(), true
		return r
	}
	ctx, done := context.WithTimeoutCause(ctx, g.opts.Corrector, errSlow)
	defer done()
	began := g.opts.Clock()
	c, err := call(ctx, g.opts.Intervention.Corrector, r.seen)
	leave(err)
	r.took, r.usage = g.opts.Clock().Sub(began), c.Usage
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errSlow):
		r.failed = fmt.Sprintf("%v: it had %v", errSlow, g.opts.Corrector)
	case err != nil:
		r.failed = cmp.Or(err.Error(), "it gave an error")
	default:
		r.thought = strings.ToValidUTF8(c.Thought, "\ufffd")
		r.changed = c.Thought != t.Thought
	}
	return r
}

var errSlow = errors.New("the corrector took too long")

// call keeps a corrector that panics from being anything else than one that fails.
func call(ctx context.Context, c intervene.Corrector, seen intervene.Context) (got intervene.Correction, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the corrector broke down: %v", p)
		}
	}()
	if got, err = c.Correct(ctx, seen); err == nil {
		err = ctx.Err() // what came too late counts as too late
	}
	return got, err
}

// Context is all that a corrector sees of a turn: as instruction the first text of the
// user's, as history what the request holds of Thoughts and of the answers to calls, and
// the names of the tools. What the user says later is an observation. Arguments of calls
// and the system's text are left out.
func Context(t wire.Turn) intervene.Context {
	c := intervene.Context{History: []intervene.Turn{}, Tools: []string{}, Thought: t.Thought}
	for _, tool := range t.Request.Tools {
		c.Tools = append(c.Tools, toolName(tool.Namespace, tool.Name))
	}
	observed := func(v agentbound.Value) {
		if len(c.History) == 0 {
			c.History = append(c.History, intervene.Turn{})
		}
		last := &c.History[len(c.History)-1]
		last.Observations = append(last.Observations, v)
	}
	asked := false
	for _, m := range t.Request.Messages {
		switch m.Role {
		case model.User:
			if !asked {
				c.Instruction, asked = m.Text, true
			} else if m.Text != "" {
				observed(encoded(map[string]string{"user": m.Text}))
			}
		case model.Assistant:
			c.History = append(c.History, intervene.Turn{Thought: cmp.Or(thoughtOf(m.Text), m.Reasoning)})
		case model.Result:
			observed(observation(m.Text))
		}
	}
	return c
}

// thoughtOf is the Thought in a text that may have been corrected.
func thoughtOf(text string) string {
	if i := strings.LastIndex(text, Mark); i >= 0 {
		text = strings.TrimSpace(text[i+len(Mark):])
	}
	return text
}

// observation is a tool's answer: JSON as it is, text as a string of it.
func observation(text string) agentbound.Value {
	if json.Valid([]byte(text)) {
		return agentbound.Value(text)
	}
	return encoded(text)
}

func encoded(v any) agentbound.Value {
	b, err := agentbound.EncodeJSON(v)
	if err != nil {
		return agentbound.Null // strings always encode
	}
	return b
}

func toolName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "." + name
}

// shadow has the corrector asked about a turn that has passed. Where as many are asked
// about as may be in flight, this one is not, which is counted and logged.
func (g *Gateway) shadow(t wire.Turn) {
	if !g.asks(t) {
		g.meters.requests.WithLabelValues(string(t.Protocol), "passed").Inc()
		return
	}
	select {
	case g.watch <- struct{}{}:
	default:
		g.meters.requests.WithLabelValues(string(t.Protocol), "unwatched").Inc()
		g.opts.Log.Warn("a turn passed unwatched: the corrector does not keep up", "protocol", string(t.Protocol))
		return
	}
	g.shadows.Go(func() {
		defer func() { <-g.watch }()
		g.enter(g.correct(g.live, t), &t)
	})
}
