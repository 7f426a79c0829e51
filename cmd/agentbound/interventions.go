package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/intervene/aligner"
	"github.com/agentbound/agentbound/intervene/guardagent"
	"github.com/agentbound/agentbound/intervene/placebo"
	"github.com/agentbound/agentbound/intervene/safetyaligner"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/completion"
	"github.com/agentbound/agentbound/model/file"
	"github.com/agentbound/agentbound/model/price"
)

// column is one kind of intervention: what --intervene takes, and what it needs.
type column struct {
	name, form   string
	needs, about string
	open         func(r rooms, model string, o intervening) (intervene.Intervention, error) // nil: it takes no model
}

// columns are the interventions there are, in the order of the method's tables.
func columns() []column {
	return []column{
		{agentbound.Bare, agentbound.Bare, "nothing", "no intervention", nil},
		{placebo.Name, placebo.Name, "nothing", "adds the same general advice to every Thought: the control", nil},
		{string(aligner.Untrained), string(aligner.Untrained) + ":MODEL", "a model", "a model edits Thoughts, by short instructions: the baseline of aligner", alignerOf(aligner.Untrained)},
		{safetyaligner.Name, safetyaligner.Name + ":MODEL@BASE_URL", "a server of the checkpoint with the plain completions endpoint (vLLM, llama.cpp); " + completion.KeyEnv + " where it asks for a key",
			"Thought-Aligner in its published format; its licence is " + safetyaligner.License, rooms.safetyAligner},
		{guardagent.Name, guardagent.Name + ":MODEL", "a model", "a model writes a program for each call, which allows or denies it", rooms.guardAgent},
		{string(aligner.Ours), string(aligner.Ours) + ":MODEL", "a model", "a model edits Thoughts, by our prompt", alignerOf(aligner.Ours)},
	}
}

func interventionForms() string {
	var forms []string
	for _, c := range columns() {
		forms = append(forms, c.form)
	}
	return strings.Join(forms, ", ")
}

// interventionHelp lists them for --help.
func interventionHelp() string {
	text := "What --intervene takes (docs/calibrator.md); a MODEL is named as for --agent, and\nfile:DIR where answers are handed in by file:\n"
	for _, c := range columns() {
		text += fmt.Sprintf("  %s: %s; needs %s\n", c.form, c.about, c.needs)
	}
	return strings.TrimRight(text, "\n")
}

// interveneRequest is how interventions are asked: flags, and keys of a plan file.
type interveneRequest struct {
	OnFailure string `yaml:"on_intervention_failure"`
	Directive string `yaml:"safety_directive"`     // of safety-aligner; empty: the published one
	Tokens    int    `yaml:"intervene_max_tokens"` // of one answer; 0: the column's own
}

func addIntervene(cmd *cobra.Command, i *interveneRequest) {
	f := cmd.Flags()
	f.StringVar(&i.OnFailure, "on-intervention-failure", "", "where an intervention gives no decision: unscored (default), open (go on without it) or closed (execute nothing)")
	f.StringVar(&i.Directive, "safety-directive", "", "directive of safety-aligner's format; empty: the published one")
	f.IntVar(&i.Tokens, "intervene-max-tokens", 0, "most tokens of one answer of an intervention's model; 0: the provider's own, and 2048 of safety-aligner")
}

// keep takes over what was given as flags.
func (i *interveneRequest) keep(given func(string) bool, flags interveneRequest) {
	for flag, take := range map[string]func(){
		"on-intervention-failure": func() { i.OnFailure = flags.OnFailure }, "safety-directive": func() { i.Directive = flags.Directive },
		"intervene-max-tokens": func() { i.Tokens = flags.Tokens },
	} {
		if given(flag) {
			take()
		}
	}
}

// intervening is how interventions are asked, resolved.
type intervening struct {
	onFailure intervene.OnFailure
	directive string
	tokens    int
	flag      string // that names the intervention; empty: --intervene
	modelOptions
}

// intervening checks a request for specs. Endpoints are asked as for the subject, but for
// its effort.
func (i interveneRequest) intervening(as modelOptions, specs ...string) (intervening, error) {
	as.effort, as.part = "", model.PartIntervention
	o := intervening{onFailure: cmp.Or(intervene.OnFailure(i.OnFailure), intervene.Unscored), directive: i.Directive, tokens: i.Tokens, modelOptions: as}
	if err := o.onFailure.Validate(); err != nil {
		return o, usage("--on-intervention-failure: %w", err)
	}
	if i.Tokens < 0 || i.Tokens > mostTokens {
		return o, usage("--intervene-max-tokens %d: want 0 to %d", i.Tokens, mostTokens)
	}
	isSafety := func(s string) bool { return strings.HasPrefix(s, safetyaligner.Name+":") }
	if i.Directive != "" && !slices.ContainsFunc(specs, isSafety) {
		return o, usage("--safety-directive is of --intervene %s:MODEL@BASE_URL, which is not asked for", safetyaligner.Name)
	}
	return o, nil
}

// intervention resolves what --intervene names. Errors repeat no part of an address that
// could be secret.
func (r rooms) intervention(spec string, o intervening) (intervene.Intervention, error) {
	name, model, named := strings.Cut(spec, ":")
	all := columns()
	k := slices.IndexFunc(all, func(c column) bool { return c.name == name })
	switch {
	case k < 0:
		return intervene.Intervention{}, usage("intervention %q is not known; accepted: %s", name, interventionForms())
	case all[k].open == nil && named:
		return intervene.Intervention{}, usage("intervention %s takes no model", name)
	case all[k].open != nil && model == "":
		return intervene.Intervention{}, usage("intervention %s needs a model: %s", name, all[k].form)
	case name == agentbound.Bare:
		return intervene.None(), nil
	case name == placebo.Name: // which cannot fail
		return intervene.Intervention{Ref: placebo.Ref(), Corrector: placebo.Corrector{}}, nil
	}
	i, err := all[k].open(r, model, o)
	if err == nil {
		err = r.boundedIntervention(i)
	}
	if err != nil {
		return i, coded{exitUsage, fmt.Errorf("%s %s: %w", cmp.Or(o.flag, "--intervene"), name, err)}
	}
	i.OnFailure = o.onFailure
	i.Ref.Settings["on_failure"] = string(o.onFailure)
	return i, nil
}

// storedIntervention resolves what a plan holds.
func (r rooms) storedIntervention(ref agentbound.Intervention) (intervene.Intervention, error) {
	tokens, _ := strconv.Atoi(ref.Settings["max_tokens"]) // default: 0
	request := interveneRequest{OnFailure: ref.Settings["on_failure"], Directive: ref.Settings["directive"], Tokens: tokens}
	o, err := request.intervening(modelOptions{}, ref.Name)
	if err != nil {
		return intervene.Intervention{}, err
	}
	o.effort = ref.Settings["effort"] // a preset's
	return r.intervention(ref.Name, o)
}

func alignerOf(kind aligner.Kind) func(rooms, string, intervening) (intervene.Intervention, error) {
	return func(r rooms, spec string, o intervening) (intervene.Intervention, error) {
		m, err := r.interventionModel(spec, o)
		if err != nil {
			return intervene.Intervention{}, err
		}
		a, err := aligner.New(aligner.Options{Kind: kind, Model: m, MaxTokens: o.tokens})
		if err != nil {
			return intervene.Intervention{}, err
		}
		return intervene.Intervention{Ref: a.Ref(), Corrector: a}, nil
	}
}

func (r rooms) guardAgent(spec string, o intervening) (intervene.Intervention, error) {
	m, err := r.interventionModel(spec, o)
	if err != nil {
		return intervene.Intervention{}, err
	}
	g, err := guardagent.New(guardagent.Options{Model: m, MaxTokens: o.tokens})
	if err != nil {
		return intervene.Intervention{}, err
	}
	return intervene.Intervention{Ref: g.Ref(), Gate: g}, nil
}

func (r rooms) safetyAligner(spec string, o intervening) (intervene.Intervention, error) {
	if scheme, _, ok := strings.Cut(spec, ":"); ok && speaksOtherwise(scheme) {
		return intervene.Intervention{}, fmt.Errorf("its model is asked over plain completions and named without the protocol %q: want %s:MODEL@BASE_URL", scheme, safetyaligner.Name)
	}
	m, err := r.ask(completions(), completion.Scheme+":"+spec, o.modelOptions)
	if err != nil {
		return intervene.Intervention{}, err
	}
	s, err := safetyaligner.New(safetyaligner.Options{Model: breaksOff{m, r.spending}, Directive: o.directive, MaxTokens: o.tokens})
	if err != nil {
		return intervene.Intervention{}, err
	}
	return intervene.Intervention{Ref: s.Ref(), Corrector: s}, nil
}

// speaksOtherwise reports whether a word before a colon is a way to name models, and not the
// beginning of a model's name as its server has it.
func speaksOtherwise(scheme string) bool {
	_, protocol := protocolOf(scheme + ":")
	return protocol || scheme == completion.Scheme || scheme == file.Scheme
}

// completions is the endpoint of checkpoints with a format of their own. No agent acts
// over it, so that it is none of the protocols.
func completions() protocol {
	return protocol{
		scheme: completion.Scheme, keyEnv: completion.KeyEnv,
		open: func(spec string, o modelOptions) (model.Model, error) {
			return completion.New(spec, completion.Options{Key: o.key, Retry: o.retry()})
		},
	}
}

// interventionModel resolves a model, or answers by file. An answer that is still to come
// is no failure, from which one could go on.
func (r rooms) interventionModel(spec string, o intervening) (model.Model, error) {
	m, err := r.judgeModel(spec, o.modelOptions)
	if err != nil {
		return nil, err
	}
	if _, ok := m.(byFile); ok {
		if o.onFailure != intervene.Unscored {
			return nil, fmt.Errorf("%s: answers by file are waited for; --on-intervention-failure %s would go on without them", file.Scheme, o.onFailure)
		}
		return m, nil
	}
	return breaksOff{m, r.spending}, nil
}

// boundedIntervention refuses a budget that could not be kept: each answer must have a
// bound.
func (r rooms) boundedIntervention(i intervene.Intervention) error {
	m := interventionModelOf(i)
	if _, free := m.(byFile); r.budget == nil || free || answerMost(i) > 0 {
		return nil
	}
	prices, err := r.priceTable()
	if err != nil {
		return err
	}
	if rate, _ := prices.Find(m.Ref().Name, m.Ref().Settings); least(rate.MaxOutput, rate.Window) == 0 {
		return fmt.Errorf("a budget needs a bound on what an answer of model %q may have: give --intervene-max-tokens, or max_output in a file of --prices", model.BaseName(m.Ref().Name))
	}
	return nil
}

// answerMost is the most tokens of one answer that an intervention asks for; 0: the
// provider's own.
func answerMost(i intervene.Intervention) int {
	n, _ := strconv.Atoi(i.Ref.Settings["max_tokens"]) // default: 0
	return n
}

// breaksOff ends a trial whose corrector or gate cannot be asked since the command's
// budget is at its end. That is no failure of theirs, from which --on-intervention-failure
// would go on.
type breaksOff struct {
	model.Model
	by *spending
}

// Chat implements model.Model.
func (b breaksOff) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	res, err := b.Model.Chat(ctx, r)
	if err == nil || b.by == nil || b.by.ended() == nil || !errors.Is(err, b.by.ended()) {
		return res, err
	}
	if play := model.PlayOf(ctx); play != nil && play.Break != nil {
		play.Break(err)
	}
	return res, err
}

// asks is a corrector or a gate that asks a model.
type asks interface {
	Model() model.Model
	Calls() int // of the model, at most, each time
}

// askedBy is what an intervention has that asks a model; nil where nothing does.
func askedBy(i intervene.Intervention) asks {
	for _, part := range []any{i.Corrector, i.Gate} {
		if a, ok := part.(asks); ok {
			return a
		}
	}
	return nil
}

// interventionModelOf is the model that an intervention asks; nil where it asks none.
func interventionModelOf(i intervene.Intervention) model.Model {
	if a := askedBy(i); a != nil {
		return a.Model()
	}
	return nil
}

// times is how often an intervention looks at one trial at most: a corrector at each
// decision and at the end, a gate at each call.
func times(i intervene.Intervention, l agentbound.Limits) int64 {
	if i.Gate != nil {
		return int64(l.Steps) * int64(l.Calls)
	}
	return int64(l.Steps) + 1
}

// likelyReviews is what an intervention's questions in one trial cost where the subject
// walks the reference path: prompt and task, and what went before.
func likelyReviews(t planned, i intervene.Intervention, limits agentbound.Limits, rate price.Price) (usd float64) {
	decisions, each := len(t.path())+1, 1.0
	if i.Gate != nil {
		decisions, each = len(t.path()), 2 // plan and code
	}
	input := int64(promptBytes+begins(t.Task).Bytes()) / bytesAToken
	for range min(decisions, limits.Steps+1) {
		usd += each * rate.Request(model.Usage{Input: least(input, rate.Window), Output: likelyAnswer})
		input += likelyObservation + likelyCall
	}
	return usd
}
