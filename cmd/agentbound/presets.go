package main

import (
	"cmp"
	"fmt"

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
		return nil, usage("agent: %w", err)
	}
	if p.Kind == preset.Harness {
		return nil, coded{exitUsage, &absent{p, fmt.Errorf("it is an agent program (%s), and this version runs none yet; to run its model alone: agentbound run --agent with a preset of kind model", p.Scheme())}}
	}
	ask.form, ask.temperature = cmp.Or(ask.form, p.Form), cmp.Or(ask.temperature, p.Temperature)
	ask.maxTokens, ask.effort = cmp.Or(ask.maxTokens, p.MaxTokens), cmp.Or(ask.effort, p.Effort)
	a, err := r.chatAgent(p.Spec, ask)
	if err != nil {
		return nil, coded{exitUsage, &absent{p, err}}
	}
	return labelled{a, p.Name}, nil
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
