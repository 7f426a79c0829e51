package chat

import (
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/model"
)

// native is calls by the provider's protocol.
type native struct{}

func (native) tools(b episode.Brief) []agentbound.Tool { return b.Tools }

// read: a turn without a call is the last one.
func (native) read(r model.Response) turn {
	r.Message.Calls = r.Message.Calls[:min(len(r.Message.Calls), episode.MostCalls)]
	t := turn{said: r.Message, thought: strings.TrimSpace(r.Message.Text)}
	for i, c := range r.Message.Calls {
		t.calls = append(t.calls, agentbound.Call{Tool: c.Name, Args: agentbound.Value(c.Args)})
		if len(c.Args) > agentbound.DefaultLimits().Args {
			t.said.Calls[i].Args = "{}" // refused for its size, as its answer says: not sent back each turn
		}
	}
	if len(t.calls) == 0 {
		t.thought, t.end = Ended(r.Message.Text)
	}
	return t
}

func (native) answers(said model.Message, seen []episode.Observation) []model.Message {
	var answers []model.Message
	for i, c := range said.Calls {
		answers = append(answers, model.Message{Role: model.Result, CallID: c.ID, Tool: c.Name, Text: shown(seen[i]), Failed: !seen[i].OK})
	}
	return answers
}

func (native) thinks(thought string) model.Message {
	return model.Message{Role: model.Assistant, Text: thought}
}

func (native) says(thought string, calls []agentbound.Call) model.Message {
	m := model.Message{Role: model.Assistant, Text: thought}
	for _, c := range calls {
		m.Calls = append(m.Calls, model.ToolCall{Name: c.Tool, Args: string(c.Args)})
	}
	return m
}

func (native) rethinks(thought string, t turn) model.Message {
	said := t.said
	said.Text = thought
	return said
}
