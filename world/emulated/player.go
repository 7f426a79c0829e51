package emulated

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/model"
)

// player asks the model what calls do.
type player struct {
	world       *emulated
	model       model.Model
	instruction string
	tools       []agentbound.Tool
	sources     []agentbound.Source
	temperature *float64
	seed        *int64
	usage       model.Usage
}

func (*player) skip(agentbound.Call) error { return nil }

// answer asks, and asks again with the reason where the answer does not pass.
func (p *player) answer(ctx context.Context, c agentbound.Call, args agentbound.Value) (star.Result, error) {
	state, err := object(p.world.machine.State())
	if err != nil {
		return star.Result{}, err
	}
	visible, types := p.world.visible(c.Tool, state)
	readOnly := p.world.program.Kit.ReadOnly(c.Tool)
	question := ask{
		instruction: p.instruction, tools: p.tools, sources: p.sources, call: agentbound.Call{Tool: c.Tool, Args: args},
		readOnly: readOnly, state: visible, types: types, past: p.world.past,
	}
	messages := []model.Message{{Role: model.System, Text: system}, {Role: model.User, Text: question.String()}}
	var why error
	var text string
	for range Attempts {
		if text, err = p.chat(ctx, c, messages); err != nil {
			return star.Result{}, err
		}
		var r star.Result
		if r, why = p.take(c, args, state, text, readOnly); why == nil {
			return r, nil
		}
		messages = append(messages, model.Message{Role: model.Assistant, Text: shownBack(text)},
			model.Message{Role: model.User, Text: "That answer was not taken: " + why.Error() + ".\nAnswer again, with the whole JSON object."})
	}
	return star.Result{}, fmt.Errorf("the model that plays the tools, %s, gave no valid answer to the call of %s in %d attempts; the last one: %w; it said %q; have another model play them (--world-model), or show it their programs (--world-source)",
		p.model.Ref().Name, c.Tool, Attempts, why, excerpt(text))
}

// chat is one turn of the model's. A provider that refuses to play the tool is no behaviour
// of the subject's.
func (p *player) chat(ctx context.Context, c agentbound.Call, messages []model.Message) (string, error) {
	res, err := p.model.Chat(ctx, model.Request{Messages: messages, Temperature: p.temperature, Seed: p.seed})
	if err != nil {
		return "", err
	}
	p.usage = p.usage.Add(res.Usage)
	if res.Stop == model.StopRefusal {
		return "", fmt.Errorf("%s: the provider refused to play the tool %s: %s", p.model.Ref().Name, c.Tool, clip(res.Refusal+res.Message.Text))
	}
	return res.Message.Text, nil
}

// excerpt is how an answer begins, on one line.
func excerpt(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// shownBack keeps an answer that goes back from being empty, which servers reject, or huge.
func shownBack(text string) string {
	const most = 8 << 10
	switch {
	case strings.TrimSpace(text) == "":
		return "(no text)"
	case len(text) > most:
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// take makes a result of a model's answer, or says to the model why it cannot.
func (p *player) take(c agentbound.Call, args agentbound.Value, state map[string]any, text string, readOnly bool) (star.Result, error) {
	e := p.world
	now := e.machine.State()
	proposed, err := parseProposal(text, readOnly)
	if err != nil {
		return star.Result{}, err
	}
	if proposed.Failure != "" {
		failure := "error: " + strings.TrimPrefix(proposed.Failure, "error: ")
		if len(failure) > maxFailure {
			return star.Result{}, fmt.Errorf("the error has %d bytes; at most %d are shown", len(failure), maxFailure)
		}
		return star.Result{Fault: star.FaultTool, Observation: agentbound.StringValue(failure), Args: args, After: now}, nil
	}
	tree, err := decode(args)
	if err != nil {
		return star.Result{}, err
	}
	r := newResolver(e, state, tree, len(proposed.Patch) > 0)
	r.parts, r.all = e.program.Kit.Touches(c.Tool)
	if readOnly && len(proposed.Patch) > 0 {
		return star.Result{}, errors.New("this tool only reads: its patch must be empty")
	}
	for i, o := range proposed.Patch {
		if err := r.apply(o); err != nil {
			return star.Result{}, fmt.Errorf("operation %d of the patch (%s): %w", i+1, o.asText(), err)
		}
	}
	after, diff := now, agentbound.Diff(nil)
	if len(proposed.Patch) > 0 {
		if after, diff, err = e.settle(c.Tool, r.work, state); err != nil {
			return star.Result{}, err
		}
	}
	if err := r.made.noteDiff(diff); err != nil {
		return star.Result{}, err
	}
	observation, err := r.eval(proposed.Observation)
	if err != nil {
		return star.Result{}, fmt.Errorf("the observation: %w", err)
	}
	shown, err := canonical(observation)
	if err != nil {
		return star.Result{}, fmt.Errorf("the observation: %w", err)
	}
	e.issued = r.issued
	return star.Result{OK: true, Observation: shown, Args: args, After: after, Diff: diff}, nil
}

// maxFailure bounds a tool's error, in bytes.
const maxFailure = 2000

// settle makes a state of what a patch left, and holds it to the rules.
func (e *emulated) settle(tool string, work, before map[string]any) (star.State, agentbound.Diff, error) {
	enc, err := star.Canonical(any(work))
	if err != nil {
		return star.State{}, nil, fmt.Errorf("the state after the patch is %w", err)
	}
	after, err := star.DecodeState(enc)
	if err != nil {
		return star.State{}, nil, err
	}
	diff, err := star.Difference(e.machine.State(), after)
	if err != nil || len(diff) == 0 {
		return e.machine.State(), nil, err
	}
	is := issued{}
	for k, n := range e.issued {
		is[k] = n
	}
	err = e.rules.check(e.shape, effect{before: before, after: work, diff: diff, readOnly: e.program.Kit.ReadOnly(tool), reach: e.reach(tool)}, is)
	return after, diff, err
}
