package modeltest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Player plays a model: what it says to a conversation, whatever the protocol. It may be
// asked by many goroutines at once, so it reads what it needs from the conversation.
type Player func(model.Request) model.Response

// Fake is a model without a protocol. It implements model.Model.
type Fake struct {
	Name string // empty: "fake"
	Play Player
	Err  error // what Chat gives instead of an answer
}

// Ref implements model.Model.
func (f Fake) Ref() model.Ref {
	if f.Name == "" {
		f.Name = "fake"
	}
	return model.Ref{Name: f.Name, Settings: map[string]string{"model": f.Name}}
}

// Chat implements model.Model.
func (f Fake) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	if err := cmp.Or(ctx.Err(), f.Err); err != nil {
		return model.Response{}, err
	}
	return f.Play(r), nil
}

// Script plays turns in order, told by how many turns of the model's the conversation
// holds; past the end it repeats the last one.
func Script(turns ...model.Response) Player {
	return func(r model.Request) model.Response {
		said := 0
		for _, m := range r.Messages {
			if m.Role == model.Assistant {
				said++
			}
		}
		return turns[min(said, len(turns)-1)]
	}
}

// Says is a turn of text only.
func Says(text string) model.Response {
	return model.Response{Message: model.Message{Role: model.Assistant, Text: text}, Stop: model.StopEnd}
}

// Calls is a turn of text and calls, written as agentbound.Call writes them; ids are by
// position in the turn.
func Calls(text string, calls ...agentbound.Call) model.Response {
	r := model.Response{Message: model.Message{Role: model.Assistant, Text: text}, Stop: model.StopCalls}
	for _, c := range calls {
		r.Message.Calls = append(r.Message.Calls, model.ToolCall{Name: c.Tool, Args: c.Args.String()})
	}
	return r
}

// Style is how a player acts.
type Style struct {
	ReAct    bool // as text, one call a turn
	Parallel bool // all calls that need no answer first in one turn; not with ReAct
}

// Comply walks the workflow, whatever it meets: what reference:comply does.
func Comply(f *agentbound.Family, s Style) Player {
	return policy{family: f, style: s}.play
}

// Refuse declines everything at once: what reference:refuse does.
func Refuse(s Style) Player {
	return policy{family: new(agentbound.Family), style: s, stops: func([]agentbound.Call, []string) bool { return true }}.play
}

// Evidence walks the workflow and contains where an answer to one of the family's
// evidence calls differs from the authorised one: what reference:evidence does.
// Authorised are the workflow's answers in the authorised world, as a subject reads them.
func Evidence(f *agentbound.Family, authorised []string, s Style) Player {
	p := policy{family: f, style: s, contains: true}
	p.stops = func(made []agentbound.Call, seen []string) bool {
		for i, c := range made {
			if k := nth(f.Reference.Workflow, c, count(made[:i], c)); p.looks(c) && k >= 0 && seen[i] != authorised[k] {
				return true
			}
		}
		return false
	}
	return p.play
}

func count(calls []agentbound.Call, c agentbound.Call) (n int) {
	for _, d := range calls {
		if d.Equal(c) {
			n++
		}
	}
	return n
}

// nth is where c stands in calls for the n-th time, from 0; -1 where it does not.
func nth(calls []agentbound.Call, c agentbound.Call, n int) int {
	for i, d := range calls {
		if d.Equal(c) {
			if n--; n < 0 {
				return i
			}
		}
	}
	return -1
}

// policy is a reference agent's, told from what a model reads: the calls that the
// conversation holds and the answers to them.
type policy struct {
	family   *agentbound.Family
	style    Style
	contains bool
	stops    func(made []agentbound.Call, seen []string) bool // nil: never
}

// looks reports whether a call's answer may change what to do.
func (p policy) looks(c agentbound.Call) bool {
	return p.contains && slices.ContainsFunc(p.family.Boundary.Calls, c.Equal)
}

func (p policy) play(r model.Request) model.Response {
	made, seen := p.past(r.Messages)
	stopped := p.stops != nil && p.stops(made, seen)
	path := p.family.Reference.Workflow
	if stopped {
		path = nil
		if p.contains {
			path = p.family.Reference.Containment
		}
	}
	left := agentbound.Remaining(path, made)
	switch {
	case len(left) > 0:
		return p.act(p.batch(left, stopped))
	case stopped:
		return p.end("I leave it.", "declined", "the records do not permit it")
	}
	return p.end("All is done.", "done", "the request was carried out")
}

// batch is what to call in one turn: no further than the next answer that matters.
func (p policy) batch(left []agentbound.Call, stopped bool) []agentbound.Call {
	if !p.style.Parallel {
		return left[:1]
	}
	if !stopped {
		if i := slices.IndexFunc(left, p.looks); i >= 0 {
			return left[:i+1]
		}
	}
	return left
}

func (p policy) act(calls []agentbound.Call) model.Response {
	thought := "Next I call " + calls[0].Tool + ", which the work asks for."
	if p.style.ReAct {
		return Says(fmt.Sprintf("Thought: %s\nAction: %s\nAction Input: %s", thought, calls[0].Tool, calls[0].Args))
	}
	return Calls(thought, calls...)
}

func (p policy) end(thought, word, reason string) model.Response {
	text := fmt.Sprintf("%s\nOUTCOME: %s — %s", thought, word, reason)
	if p.style.ReAct {
		text = "Thought: " + thought + "\nFinal Answer: " + text
	}
	return Says(text)
}

// past reads the calls and their answers out of a conversation, in either form.
func (p policy) past(messages []model.Message) (made []agentbound.Call, seen []string) {
	for _, m := range messages {
		switch {
		case m.Role == model.Assistant && p.style.ReAct:
			if _, step, ok := strings.Cut(m.Text, "\nAction: "); ok {
				tool, args, _ := strings.Cut(step, "\nAction Input: ")
				made = append(made, agentbound.Call{Tool: tool, Args: agentbound.Value(args)})
			}
		case m.Role == model.User && p.style.ReAct:
			if text, ok := strings.CutPrefix(m.Text, "Observation: "); ok {
				seen = append(seen, text)
			}
		case m.Role == model.Assistant:
			for _, c := range m.Calls {
				made = append(made, agentbound.Call{Tool: c.Name, Args: agentbound.Value(c.Args)})
			}
		case m.Role == model.Result:
			seen = append(seen, m.Text)
		}
	}
	return made, seen
}
