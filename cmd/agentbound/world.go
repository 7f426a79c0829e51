package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/emulated"
	"github.com/agentbound/agentbound/world/fault"
	programworld "github.com/agentbound/agentbound/world/program"
)

// emulatedWorld is what --world calls the world that a model plays.
const emulatedWorld = "emulated"

// worldRequest is which world a user asks for.
type worldRequest struct {
	World       string   `yaml:"world"`
	WorldModel  string   `yaml:"world_model"`
	WorldSource bool     `yaml:"world_source"`
	WorldTokens int      `yaml:"world_max_tokens"` // of one answer; 0: as max_tokens
	Faults      []string `yaml:"faults"`
}

func addWorld(cmd *cobra.Command, w *worldRequest) {
	f := cmd.Flags()
	f.StringVar(&w.World, "world", programworld.Name, "world: program, or emulated, in which a model plays the tools (emulated:MODEL names it)")
	f.StringVar(&w.WorldModel, "world-model", "", "model that plays the tools of the emulated world, such as compat:MODEL@BASE_URL")
	f.BoolVar(&w.WorldSource, "world-source", false, "show that model the tools' programs")
	f.IntVar(&w.WorldTokens, "world-max-tokens", 0, "most tokens of one answer of that model; 0: as --max-tokens")
	f.StringArrayVar(&w.Faults, "fault", nil, "let calls of a tool fail, as pay:2, pay:3- or *:1-2=the service is down; repeat for several")
}

// keep takes over what was given as flags.
func (w *worldRequest) keep(given func(string) bool, flags worldRequest) {
	for flag, take := range map[string]func(){
		"world": func() { w.World = flags.World }, "world-model": func() { w.WorldModel = flags.WorldModel },
		"world-source": func() { w.WorldSource = flags.WorldSource }, "world-max-tokens": func() { w.WorldTokens = flags.WorldTokens },
		"fault": func() { w.Faults = flags.Faults },
	} {
		if given(flag) {
			take()
		}
	}
}

// requested resolves the world that a user asks for.
func (r rooms) requested(w worldRequest, o modelOptions) (world.Factory, error) {
	kind, spec, named := strings.Cut(w.World, ":")
	var factory world.Factory
	switch {
	case kind == emulatedWorld:
		if named && w.WorldModel != "" && w.WorldModel != spec {
			return nil, usage("--world %s and --world-model %s name two models; give one", w.World, w.WorldModel)
		}
		if !named {
			spec = w.WorldModel
		}
		if spec == "" {
			return nil, usage("--world %s needs a model that plays the tools: --world-model compat:MODEL@BASE_URL", emulatedWorld)
		}
		o.effort, o.part = "", model.PartWorld // effort is the subject's
		m, err := r.model(spec, o)
		if err != nil {
			return nil, coded{exitUsage, fmt.Errorf("--world-model: %w", err)}
		}
		if err := r.boundedWorld(m, w.WorldTokens); err != nil {
			return nil, err
		}
		factory = emulated.Worlds{Cache: r.cache, Model: m, Source: w.WorldSource, Tokens: w.WorldTokens}
	case w.World != programworld.Name:
		return nil, usage("world %q is not known; accepted: %s, %s", w.World, programworld.Name, emulatedWorld)
	case w.WorldModel != "" || w.WorldSource:
		return nil, usage("--world-model and --world-source are for --world %s; the world is %s", emulatedWorld, programworld.Name)
	default:
		factory = programworld.Worlds{Cache: r.cache}
	}
	return withFaults(factory, w.Faults)
}

// boundedWorld refuses a budget that could not be kept: each answer of the world's model
// must have a bound.
func (r rooms) boundedWorld(m model.Model, tokens int) error {
	if tokens < 0 {
		return usage("--world-max-tokens cannot be negative")
	}
	if r.budget == nil || tokens > 0 {
		return nil
	}
	prices, err := r.priceTable()
	if err != nil {
		return err
	}
	if rate, _ := prices.Find(m.Ref().Name, m.Ref().Settings); least(rate.MaxOutput, rate.Window) == 0 {
		return usage("--world-model %s: a budget needs a bound on what an answer may have: give --world-max-tokens, or max_output in a file of --prices", m.Ref().Name)
	}
	return nil
}

func withFaults(factory world.Factory, written []string) (world.Factory, error) {
	script := make([]fault.Fault, len(written))
	for i, s := range written {
		var err error
		if script[i], err = fault.Parse(s); err != nil {
			return nil, usage("--fault: %w", err)
		}
	}
	if len(script) == 0 {
		return factory, nil
	}
	return fault.Worlds{Factory: factory, Script: script}, nil
}

// world resolves the world that a plan names, to prove what was made in it: without a model.
func (r rooms) world(name string) (world.Factory, error) {
	inner, script, err := fault.Split(name)
	if err != nil {
		return nil, coded{exitUsage, err}
	}
	var factory world.Factory
	switch {
	case inner == programworld.Name:
		factory = programworld.Worlds{Cache: r.cache}
	case strings.HasPrefix(inner, emulated.Kind+":"):
		factory = emulated.Worlds{Cache: r.cache, Stored: inner}
	default:
		return nil, usage("world %q is not known; this version has %s and %s", name, programworld.Name, emulated.Kind)
	}
	if len(script) == 0 {
		return factory, nil
	}
	return fault.Worlds{Factory: factory, Script: script}, nil
}

// meetsFaults refuses a script for a tool that no family of a plan has.
func meetsFaults(s *suite.Suite, p agentbound.Plan) error {
	_, script, err := fault.Split(p.World)
	if err != nil {
		return err
	}
	tools := map[string]bool{fault.Any: true}
	for i := range s.Families {
		f := &s.Families[i]
		if len(p.Families) > 0 && !containsFamily(p.Families, f.ID) {
			continue
		}
		for _, t := range f.Tasks[0].Tools {
			tools[t.Name] = true
		}
	}
	for _, f := range script {
		if !tools[f.Tool] {
			return usage("--fault %s: no family of the run has a tool %s%s; see: agentbound suite show", f, f.Tool, suite.DidYouMean(f.Tool, slices.Sorted(maps.Keys(tools))))
		}
	}
	return nil
}

func containsFamily(ids []agentbound.FamilyID, id agentbound.FamilyID) bool {
	for _, have := range ids {
		if have == id {
			return true
		}
	}
	return false
}
