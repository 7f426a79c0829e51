// Package chat makes an agent of a model: the Thought–Action–Observation loop over a
// conversation. What the model is given is the brief and this package's prompt, on every
// split the same; what it says decides, and is never put right.
package chat

import (
	"context"
	"maps"
	"strconv"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/model"
)

// Version changes with the prompt, the notes and every rule of the loop here: it is
// part of trial keys.
const Version = "1"

// Form is how a model acts.
type Form string

// Native: calls by the provider's protocol, several in a turn where the model makes
// several. ReAct: one call a turn, written as text, for models without tool calling.
const (
	Native Form = "native"
	ReAct  Form = "react"
)

// Options are how a model is asked.
type Options struct {
	Form        Form     // empty: Native
	Temperature *float64 // nil: the provider's own
	MaxTokens   int      // of one turn; 0: the provider's own
	NoSeed      bool     // for servers that reject a seed

	// Keep says whether to record what a provider wants back with a turn, which replay
	// --fork needs; nil: never. It decides no trial.
	Keep func(state []byte) bool
}

// Agent is a model as a subject. It implements agent.Agent.
type Agent struct {
	model model.Model
	opts  Options
}

// New makes an agent of a model.
func New(m model.Model, o Options) *Agent {
	if o.Form == "" {
		o.Form = Native
	}
	return &Agent{m, o}
}

// Ref implements agent.Agent.
func (a *Agent) Ref() agentbound.AgentRef {
	ref := a.model.Ref()
	settings := map[string]string{"form": string(a.opts.Form), "temperature": "default", "max_tokens": "default", "seed": "trial"}
	if t := a.opts.Temperature; t != nil {
		settings["temperature"] = strconv.FormatFloat(*t, 'g', -1, 64)
	}
	if n := a.opts.MaxTokens; n > 0 {
		settings["max_tokens"] = strconv.Itoa(n)
	}
	if a.opts.NoSeed {
		settings["seed"] = "none"
	}
	maps.Copy(settings, ref.Settings)
	name := ref.Name
	if a.opts.Form != Native {
		name += " (" + string(a.opts.Form) + ")" // two forms of a model are two rows of a table
	}
	return agentbound.AgentRef{Name: name, Kind: "model", Version: Version, Settings: settings}
}

// Play implements agent.Agent.
func (a *Agent) Play(ctx context.Context, e *episode.Episode) error {
	return agent.Loop(ctx, e, a.policy(e.Brief(), e.Seed()))
}

func (a *Agent) policy(b episode.Brief, seed uint64) *policy {
	p := &policy{model: a.model, form: native{}, ids: map[string]bool{}, keep: a.opts.Keep, noSeed: a.opts.NoSeed}
	if a.opts.Form == ReAct {
		p.form = react{}
	}
	p.request = model.Request{
		Messages: []model.Message{
			{Role: model.System, Text: p.form.system(b)},
			{Role: model.User, Text: b.Instruction},
		},
		Tools: p.form.tools(b), Temperature: a.opts.Temperature, MaxTokens: a.opts.MaxTokens,
	}
	p.seed(seed)
	return p
}

// seed is what is drawn with from here on.
func (p *policy) seed(seed uint64) {
	if !p.noSeed {
		s := int64(seed & 0x7fffffff) // what servers take
		p.request.Seed = &s
	}
}
