package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
)

// maxNotes is how often in a row a model is told that its turn could not be used. Each
// such turn is a step; with the next one the trial ends, unstated.
const maxNotes = 3

// noText stands for a turn that says nothing: servers reject an empty message.
const noText = "(no text)"

// form is how a model acts: what it is told of it, and how its turns are read.
type form interface {
	// system is the system prompt; tools what goes with the request beside it.
	system(b episode.Brief) string
	tools(b episode.Brief) []agentbound.Tool
	// read takes a turn of the model's apart.
	read(r model.Response) turn
	// answers are the messages that bring observations back.
	answers(said model.Message, seen []episode.Observation) []model.Message
	// thinks is a message that says a Thought and nothing else; rethinks one that
	// goes on from it to what turn does.
	thinks(thought string) model.Message
	// says is the message of a step that says a Thought and makes calls, before the calls
	// have ids: as most turns are.
	says(thought string, calls []agentbound.Call) model.Message
	rethinks(thought string, t turn) model.Message
}

// turn is what a model's turn comes to: calls, or an end, or a note that says why it was
// neither.
type turn struct {
	said    model.Message // as it stays in the conversation
	thought string
	source  agentbound.ThoughtSource
	calls   []agentbound.Call
	end     *agentbound.Outcome
	note    string
}

// policy is a model at one trial. It implements agent.Policy.
type policy struct {
	model   model.Model
	form    form
	request model.Request
	last    turn // decided, and perhaps to be revised; joins the conversation at Next
	started bool
	notes   int             // in a row
	ids     map[string]bool // of calls
	unnamed int             // calls that were given one here

	asked  agentbound.Digest // of what was sent for the decision at hand, before it was drafted
	keep   func(state []byte) bool
	noSeed bool
}

// Next implements agent.Policy.
func (p *policy) Next(ctx context.Context, seen []episode.Observation) (episode.Decision, error) {
	p.settle(seen)
	p.asked = p.digest()
	t, usage, err := p.ask(ctx, p.request.Messages)
	if err != nil {
		return episode.Decision{}, err
	}
	return p.decide(t, usage), nil
}

// Revise implements agent.Policy: the model's text gives way to the corrected Thought,
// and it decides anew from there. Since few servers go on from a message of the model's
// own, a user's note of fixed wording asks it to. The note and what else it says do not
// stay in the conversation, which then reads as if the Thought had been the model's.
func (p *policy) Revise(ctx context.Context, _ episode.Decision, thought string) (episode.Decision, error) {
	messages := append(slices.Clone(p.request.Messages), p.form.thinks(cmp.Or(thought, intervene.NoText)), model.Message{Role: model.User, Text: intervene.GoOn})
	t, usage, err := p.ask(ctx, messages)
	if err != nil {
		return episode.Decision{}, err
	}
	t.said = p.form.rethinks(thought, t)
	t.thought, t.source = thought, agentbound.ThoughtText
	return p.decide(t, usage), nil
}

// settle puts what was committed into the conversation.
func (p *policy) settle(seen []episode.Observation) {
	if !p.started {
		p.started = true
		return
	}
	p.last.said.Calls = p.named(p.last.said.Calls)
	p.request.Messages = append(p.request.Messages, p.last.said)
	if p.last.note != "" {
		p.notes++
		p.request.Messages = append(p.request.Messages, model.Message{Role: model.User, Text: p.last.note})
		return
	}
	p.notes = 0
	p.request.Messages = append(p.request.Messages, p.form.answers(p.last.said, seen)...)
}

func (p *policy) ask(ctx context.Context, messages []model.Message) (turn, agentbound.Usage, error) {
	r := p.request
	r.Messages = slices.Clone(messages)
	res, err := p.model.Chat(ctx, r)
	if e, ok := errors.AsType[*model.Error](err); ok && e.Fault == model.FaultContext && len(p.request.Messages) > 2 {
		// The model's own limit, met by its own work. Where the task itself does not fit
		// nothing was asked of it, and that is a matter of the set-up.
		return turn{end: &agentbound.Outcome{Word: agentbound.Unstated, Reason: "the conversation no longer fits the model's context"}}, agentbound.Usage{}, nil
	}
	if err != nil {
		return turn{}, agentbound.Usage{}, err
	}
	return p.read(res), res.Spent(), nil
}

// read takes a turn apart, refusals and cut turns by the same rule in every form: a
// provider's refusal ends the trial, a turn that was cut before it came to anything is
// told so.
func (p *policy) read(res model.Response) turn {
	if res.Stop == model.StopRefusal {
		text := cmp.Or(res.Refusal, res.Message.Text)
		return turn{
			said: res.Message, thought: res.Message.Text,
			end: &agentbound.Outcome{Word: agentbound.Declined, Reason: cmp.Or(text, "the provider refused the turn"), Text: text, RefusedBy: agentbound.RefusedByProvider},
		}
	}
	t := p.form.read(res)
	if t.thought == "" && res.Message.Reasoning != "" {
		t.thought, t.source = res.Message.Reasoning, agentbound.ThoughtReasoning
	}
	if res.Stop == model.StopLength && len(t.calls) == 0 && (t.end == nil || t.end.Word == agentbound.Unstated) {
		t.end, t.note = nil, cutNote
	}
	return t
}

func (p *policy) decide(t turn, u agentbound.Usage) episode.Decision {
	if t.note != "" && p.notes == maxNotes {
		reason := fmt.Sprintf("%d turns in a row could not be used", maxNotes+1)
		t.note, t.end = "", &agentbound.Outcome{Word: agentbound.Unstated, Text: t.said.Text, Reason: reason}
	}
	if t.said.Role == "" || t.said.Text == "" && len(t.said.Calls) == 0 {
		t.said = model.Message{Role: model.Assistant, Text: noText}
	}
	p.last = t
	return episode.Decision{
		Thought: t.thought, Source: t.source, Calls: t.calls, Outcome: t.end,
		Usage: u, Said: p.recorded(t),
	}
}

// named gives an id to each call that has none, or one that an earlier call has.
func (p *policy) named(calls []model.ToolCall) []model.ToolCall {
	named := slices.Clone(calls)
	for i := range named {
		for id := &named[i].ID; *id == "" || p.ids[*id]; {
			p.unnamed++
			*id = fmt.Sprintf("call_%d", p.unnamed)
		}
		p.ids[named[i].ID] = true
	}
	return named
}

// shown is an observation as the model reads it: its JSON text, and of a failure the
// plain words.
func shown(o episode.Observation) string {
	if !o.OK {
		if text, ok := plain(o.Value); ok {
			return text
		}
	}
	return o.Value.String()
}
