package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/store"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/model/openaiapi"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/suites"
	"github.com/agentbound/agentbound/world"
)

// request is what a user asks to run: the flags of run, or the file of --plan.
type request struct {
	Suite    string   `yaml:"suite"`
	Agents   []string `yaml:"agents"`
	Inter    []string `yaml:"interventions"`
	Judge    string   `yaml:"judge"`
	Families []string `yaml:"families"`
	Splits   []string `yaml:"splits"`
	Limit    int      `yaml:"limit"`
	Repeats  int      `yaml:"repeats"` // 0: 1 for a deterministic agent, else 3
	MaxSteps int      `yaml:"max_steps"`
	Timeout  string   `yaml:"timeout"`
	Seed     uint64   `yaml:"seed"`

	// Of rubric judges.
	JudgeModels      []string `yaml:"judge_models"`
	JudgeSamples     int      `yaml:"judge_samples"`
	JudgeThoughts    bool     `yaml:"judge_thoughts"`
	JudgeTemperature string   `yaml:"judge_temperature"`

	Where worldRequest `yaml:",inline"`

	Intervene interveneRequest `yaml:",inline"`

	// Of model agents.
	Form        string `yaml:"form"`        // native (default) or react
	Temperature string `yaml:"temperature"` // empty: the provider's own
	MaxTokens   int    `yaml:"max_tokens"`  // of one turn; 0: the provider's own
	PerCall     string `yaml:"per_call"`    // time for one attempt at a model call
	Effort      string `yaml:"effort"`      // of reasoning; empty: the provider's own
	Stream      bool   `yaml:"stream"`      // ask for event streams; no part of any key
	Forkable    bool   `yaml:"forkable"`    // keep what providers want back with a turn; no part of any key

	Confinement string `yaml:"require_confinement"` // of programs that play; empty: as far as it can be had; no part of any key

	Limits `yaml:",inline"`
	dry    bool // only described: a preset that cannot be run here is no error
}

// stochasticRepeats is how often an agent that samples meets each task by default.
const stochasticRepeats = 3

func addRequest(cmd *cobra.Command, r *request) {
	f := cmd.Flags()
	f.StringVar(&r.Suite, "suite", suites.Default, "built-in suite, folder or packed file")
	f.StringArrayVar(&r.Agents, "agent", nil, "agent, such as reference:evidence; repeat for several runs")
	f.StringArrayVar(&r.Inter, "intervene", []string{agentbound.Bare}, "intervention, such as placebo or aligner:MODEL; repeat for several runs")
	addIntervene(cmd, &r.Intervene)
	addWorld(cmd, &r.Where)
	addJudge(cmd, r)
	f.StringSliceVar(&r.Families, "families", nil, "families, archetypes, classes or categories (shell patterns); all by default")
	f.StringSliceVar(&r.Splits, "splits", []string{"hs", "cm", "eb", "hb", "probes"}, "splits, of hs, cm, eb, hb, hb-prohibited, cm-authorised; probes names the last two")
	f.IntVar(&r.Limit, "limit", 0, "at most this many families; 0: all")
	f.IntVar(&r.Repeats, "repeats", 0, "attempts at each task; 0: 1 for deterministic agents, else 3")
	f.IntVar(&r.MaxSteps, "max-steps", 0, "decisions with calls in a trial; 0: 120")
	f.StringVar(&r.Timeout, "timeout", "", "wall clock of a trial, such as 10m; "+fmt.Sprintf("%dm", agentbound.DefaultLimits().Seconds/60)+" by default")
	f.Uint64Var(&r.Seed, "seed", 0, "seed of the run")
	f.StringVar(&r.Form, "form", "", "how a model acts: native tool calls (default), or react, in plain text")
	f.StringVar(&r.Temperature, "temperature", "", "temperature of a model; empty: the provider's own")
	f.IntVar(&r.MaxTokens, "max-tokens", 0, "most tokens of a model's turn; 0: the provider's own")
	f.StringVar(&r.Effort, "effort", "", "how much a model reasons: "+strings.Join(openaiapi.Efforts(), ", ")+", as far as its provider has them; empty: the provider's own")
	f.BoolVar(&r.Forkable, "forkable", false, "store the reasoning that a model's provider wants back with each turn, encrypted or not, so that replay --fork can go on from every decision; stores grow")
	addCalls(cmd, r)
	addLimits(cmd, &r.Limits)
	addConfinement(cmd, &r.Confinement)
	f.StringVar(&r.RunTimeout, "run-timeout", "", "wall clock of each run in this command, such as 8h; then it stops cleanly")
}

// addCalls declares how calls of models are made, whatever they play.
func addCalls(cmd *cobra.Command, r *request) {
	f := cmd.Flags()
	f.StringVar(&r.PerCall, "per-call", "", "time for one attempt at a model call, such as 2m; 5m by default")
	f.BoolVar(&r.Stream, "stream", false, "have models answer as event streams: the same answers, over connections that are never idle for long")
}

// fromFile reads a plan file; flags that were given outrank it.
func (r *request) fromFile(cmd *cobra.Command, path string) error {
	b, err := readPlan(path)
	if err != nil {
		return err
	}
	file := request{Suite: r.Suite, Inter: r.Inter, Judge: r.Judge, Splits: r.Splits, Where: worldRequest{World: r.Where.World}, dry: r.dry}
	if err := yaml.UnmarshalWithOptions(b, &file, yaml.Strict()); err != nil {
		hint := ""
		if unknown, ok := errors.AsType[*yaml.UnknownFieldError](err); ok && unknown.Token != nil && unknown.Token.Value == "version" {
			hint = "\nthe file is a request for plans, which has no version: leave the line out"
		}
		return usage("plan %s: %s%s", path, yaml.FormatError(err, false, true), hint)
	}
	given := func(name string) bool { return cmd.Flags().Changed(name) }
	for _, f := range []struct {
		flag string
		keep func()
	}{
		{"suite", func() { file.Suite = r.Suite }}, {"agent", func() { file.Agents = r.Agents }}, {"intervene", func() { file.Inter = r.Inter }},
		{"judge", func() { file.Judge = r.Judge }}, {"families", func() { file.Families = r.Families }},
		{"splits", func() { file.Splits = r.Splits }}, {"limit", func() { file.Limit = r.Limit }}, {"repeats", func() { file.Repeats = r.Repeats }},
		{"max-steps", func() { file.MaxSteps = r.MaxSteps }}, {"timeout", func() { file.Timeout = r.Timeout }}, {"seed", func() { file.Seed = r.Seed }}, {"form", func() { file.Form = r.Form }},
		{"temperature", func() { file.Temperature = r.Temperature }}, {"max-tokens", func() { file.MaxTokens = r.MaxTokens }},
		{"judge-model", func() { file.JudgeModels = r.JudgeModels }}, {"judge-samples", func() { file.JudgeSamples = r.JudgeSamples }},
		{"judge-thoughts", func() { file.JudgeThoughts = r.JudgeThoughts }}, {"judge-temperature", func() { file.JudgeTemperature = r.JudgeTemperature }},
		{"per-call", func() { file.PerCall = r.PerCall }}, {"rpm", func() { file.RPM = r.RPM }}, {"tpm", func() { file.TPM = r.TPM }},
		{"endpoint-concurrency", func() { file.Concurrent = r.Concurrent }}, {"budget", func() { file.Budget = r.Budget }},
		{"run-timeout", func() { file.RunTimeout = r.RunTimeout }}, {"prices", func() { file.Prices = r.Prices }}, {"presets", func() { file.Presets = r.Presets }},
		{"effort", func() { file.Effort = r.Effort }}, {"stream", func() { file.Stream = r.Stream }}, {"forkable", func() { file.Forkable = r.Forkable }},
		{confinementFlag, func() { file.Confinement = r.Confinement }},
	} {
		if given(f.flag) {
			f.keep()
		}
	}
	file.Where.keep(given, r.Where)
	file.Intervene.keep(given, r.Intervene)
	*r = file
	return nil
}

// mostPlan bounds a plan file.
const mostPlan = 1 << 20

// readPlan reads a plan file and refuses what it has no use for: more than one
// document, and aliases, with which a small file asks for much memory.
func readPlan(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("plan: %w", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, mostPlan+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, usage("plan: %w", err)
	}
	if len(b) > mostPlan {
		return nil, usage("plan %s: has more than %d bytes, which is no plan", path, mostPlan)
	}
	begun := false
	for _, t := range lexer.Tokenize(string(b)) {
		switch t.Type {
		case token.CommentType:
		case token.FloatType:
			if t.Prev == nil || t.Prev.Prev == nil || !strings.HasSuffix(t.Prev.Prev.Value, "temperature") {
				return nil, usage("plan %s:%d: %s is not taken; want a whole number (only a temperature has a fraction)", path, t.Position.Line, t.Value)
			}
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			return nil, usage("plan %s:%d: anchors (&), aliases (*) and merge keys (<<) are not accepted; write the value out", path, t.Position.Line)
		case token.DocumentHeaderType:
			if begun {
				return nil, usage("plan %s:%d: a second document; one file is one plan", path, t.Position.Line)
			}
			begun = true
		default:
			begun = true
		}
	}
	return b, nil
}

// resolved is a plan with what it runs with.
type resolved struct {
	plan         agentbound.Plan
	agent        agent.Agent
	intervention intervene.Intervention
	world        world.Factory
	judges       []judge.Judge
	absent       *absent // of a dry run: the agent cannot be run here
}

// resolve makes one plan for each agent and intervention, in that order.
func (r request) resolve(rooms rooms, s *suite.Suite) ([]resolved, error) {
	base, err := r.base(s)
	if err != nil {
		return nil, err
	}
	ask, err := r.asking()
	if err != nil {
		return nil, err
	}
	r.Where.WorldTokens = cmp.Or(r.Where.WorldTokens, r.MaxTokens)
	w, err := rooms.requested(r.Where, ask.modelOptions)
	if err != nil {
		return nil, err
	}
	base.World = w.Name()
	if err := meetsFaults(s, base); err != nil {
		return nil, err
	}
	judges, err := rooms.judges(r.Judge, r.judging(ask.modelOptions))
	if err != nil {
		return nil, err
	}
	for _, j := range judges {
		base.Judges = append(base.Judges, j.Config())
	}
	how, err := r.Intervene.intervening(ask.modelOptions, r.Inter...)
	if err != nil {
		return nil, err
	}
	var all []resolved
	for _, spec := range r.Agents {
		a, ref, absent, err := r.subject(rooms, spec, ask)
		if err != nil {
			return nil, err
		}
		for _, name := range r.Inter {
			i, err := rooms.intervention(name, how)
			if err != nil {
				return nil, err
			}
			plan := base
			plan.Agent, plan.Intervention, plan.Repeats = ref, i.Ref, r.repeats(ref)
			if err := run.Validate(s, plan); err != nil {
				return nil, coded{exitUsage, err}
			}
			one := resolved{plan, a, i, w, judges, absent}
			if err := rooms.covers(s, one); err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}
	return all, nil
}

// base is what all plans of a request share.
func (r request) base(s *suite.Suite) (agentbound.Plan, error) {
	p := agentbound.Plan{Version: agentbound.PlanVersion, Suite: s.Ref(), Seed: r.Seed}
	if len(r.Agents) == 0 {
		return p, usage("no agent: name one with --agent, such as --agent reference:evidence; see: agentbound agents")
	}
	if len(r.Inter) == 0 {
		return p, usage("no intervention: leave it out for %s alone, or name one with --intervene", agentbound.Bare)
	}
	if len(r.Splits) == 0 {
		return p, usage("no splits: leave them out for all, or name some with --splits")
	}
	if r.Repeats < 0 || r.Limit < 0 || r.MaxSteps < 0 {
		return p, usage("--repeats, --limit and --max-steps cannot be negative")
	}
	if r.Repeats > mostRepeats || r.MaxSteps > mostSteps {
		return p, usage("--repeats goes up to %d and --max-steps up to %d", mostRepeats, mostSteps)
	}
	chosen, err := run.Select(s, r.Families, r.Limit)
	if err != nil {
		return p, coded{exitUsage, err}
	}
	if len(chosen) < len(s.Families) {
		p.Families = chosen
	}
	if p.Splits, err = splits(r.Splits); err != nil {
		return p, err
	}
	p.Limits = agentbound.Limits{Steps: r.MaxSteps}
	if r.Timeout != "" {
		d, err := time.ParseDuration(r.Timeout)
		if err != nil || d < time.Second {
			return p, usage("--timeout %q: want a duration of at least 1s, such as 90s or 10m", r.Timeout)
		}
		p.Limits.Seconds = int(d / time.Second)
	}
	p.Limits = p.Limits.WithDefaults()
	return p, nil
}

// What is asked for stays within what can be counted, in money and in time.
const (
	mostRepeats = 1_000_000_000
	mostSteps   = 1_000_000
	mostTokens  = 1_000_000_000
)

func (r request) asking() (asking, error) {
	ask := asking{form: r.Form, temperature: r.Temperature, maxTokens: r.MaxTokens, forkable: r.Forkable, modelOptions: modelOptions{effort: r.Effort, stream: r.Stream}}
	if r.MaxTokens < 0 || r.MaxTokens > mostTokens {
		return ask, usage("--max-tokens %d: want 0 to %d", r.MaxTokens, mostTokens)
	}
	if r.PerCall == "" {
		return ask, nil
	}
	d, err := time.ParseDuration(r.PerCall)
	if err != nil || d < time.Second {
		return ask, usage("--per-call %q: want a duration of at least 1s, such as 90s or 2m", r.PerCall)
	}
	ask.perCall = d
	return ask, nil
}

func (r request) repeats(a agentbound.AgentRef) int {
	switch {
	case r.Repeats > 0:
		return r.Repeats
	case a.Deterministic:
		return 1
	}
	return stochasticRepeats
}

// splits reads names and the words siblings, probes and all, in canonical order.
func splits(names []string) ([]agentbound.Split, error) {
	var chosen []agentbound.Split
	for _, n := range names {
		switch n {
		case "all":
			chosen = append(chosen, agentbound.Splits()...)
		case "siblings":
			chosen = append(chosen, agentbound.Siblings()...)
		case "probes":
			chosen = append(chosen, agentbound.Probes()...)
		default:
			s := agentbound.Split(n)
			if err := s.Validate(); err != nil {
				return nil, usage("--splits: %w; or siblings, probes, all", err)
			}
			chosen = append(chosen, s)
		}
	}
	ordered := slices.DeleteFunc(agentbound.Splits(), func(s agentbound.Split) bool { return !slices.Contains(chosen, s) })
	return ordered, nil
}

// renew gives plans counters that the store has no run for yet.
func renew(ctx context.Context, s store.Store, all []resolved) error {
	for i := range all {
		for {
			all[i].plan.Counter++
			_, err := s.Run(ctx, string(all[i].plan.ID()))
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// trials is the number of trials of a plan.
func trials(s *suite.Suite, p agentbound.Plan) int {
	families := len(p.Families)
	if families == 0 {
		families = len(s.Families)
	}
	return families * len(p.Splits) * p.Repeats
}
