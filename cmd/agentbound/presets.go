package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/agent/preset"
)

// absent is a preset that cannot be run here, and why. A dry run lists it.
type absent struct {
	preset preset.Preset
	err    error
}

func (a *absent) Error() string { return fmt.Sprintf("agent %q: %v", a.preset.Name, a.err) }
func (a *absent) Unwrap() error { return a.err }

// presetAgent makes the agent that a preset names. What the flags say outranks it.
func (r rooms) presetAgent(name string, ask asking) (agent.Agent, error) {
	c, err := r.catalogue()
	if err != nil {
		return nil, err
	}
	p, err := c.Find(name)
	if err != nil {
		return nil, usage("agent: %w", r.unfound(err))
	}
	if p.Kind == preset.Harness {
		program, ok := programOf(p.Spec)
		if !ok {
			return nil, usage("agent %q: there is no agent program %q; accepted: %s%s", p.Name, p.Scheme(), programNames(), bare(c, p))
		}
		ask.effort = cmp.Or(ask.effort, p.Effort)
		a, err := r.harnessAgent(program, p.Spec, ask)
		if err != nil {
			return nil, coded{exitUsage, &absent{p, fmt.Errorf("%w%s", err, bare(c, p))}}
		}
		return labelled{a, p.Name}, nil
	}
	ask.form, ask.temperature = cmp.Or(ask.form, p.Form), cmp.Or(ask.temperature, p.Temperature)
	ask.maxTokens, ask.effort = cmp.Or(ask.maxTokens, p.MaxTokens), cmp.Or(ask.effort, p.Effort)
	a, err := r.chatAgent(p.Spec, ask)
	if err != nil {
		return nil, coded{exitUsage, &absent{p, err}}
	}
	return labelled{a, p.Name}, nil
}

// bare says how the model of an agent program is asked without it.
func bare(c preset.Catalogue, program preset.Preset) string {
	if p, ok := c.Bare(program); ok {
		return fmt.Sprintf("; its model alone is the preset %q", p.Name)
	}
	return ""
}

// unfound is an error of a preset that is not there, with the file of the user's own.
func (s *spending) unfound(err error) error {
	if s.presets == "" {
		return fmt.Errorf("%w (only the built-in ones were read: neither --presets nor $%s is set)", err, presetsEnv)
	}
	return fmt.Errorf("%w (read: the built-in ones and %s)", err, s.presets)
}

// subject resolves an agent and holds it to the budget. In a dry run a preset that cannot
// be run here is no error: what it would be asked for stands in its place.
func (r request) subject(rooms rooms, spec string, ask asking) (agent.Agent, agentbound.AgentRef, *absent, error) {
	a, err := rooms.agent(spec, ask)
	if gone, ok := errors.AsType[*absent](err); ok && r.dry {
		ref := agentbound.AgentRef{Name: gone.preset.Spec, Kind: string(gone.preset.Kind), Label: gone.preset.Name}
		ref.Settings = map[string]string{"model": gone.preset.ModelID(), "effort": cmp.Or(ask.effort, gone.preset.Effort)}
		if n := cmp.Or(ask.maxTokens, gone.preset.MaxTokens); n > 0 {
			ref.Settings["max_tokens"] = strconv.Itoa(n)
		}
		return nil, ref, gone, nil
	}
	if err != nil {
		return nil, agentbound.AgentRef{}, nil, err
	}
	if rooms.budget != nil {
		err = rooms.budgeted(a.Ref())
	}
	return a, a.Ref(), nil, err
}

// labelled is an agent under a preset's name: tables show the name, while trials are
// decided by what is sent, so that the same model by its specification shares them.
type labelled struct {
	agent.Agent
	name string
}

// Ref implements agent.Agent.
func (l labelled) Ref() agentbound.AgentRef {
	ref := l.Agent.Ref()
	ref.Label = l.name
	if form := ref.Settings["form"]; form != "native" && form != "" {
		ref.Label += " (" + form + ")"
	}
	return ref
}
