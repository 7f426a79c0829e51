package emulated

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	tokens      int // of one answer at most; 0: the provider's own
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
		var cut bool
		if text, cut, err = p.chat(ctx, c, messages); err != nil {
			return star.Result{}, err
		}
		var r star.Result
		if r, why = p.take(c, args, state, text, readOnly); why == nil {
			return r, nil
		}
		if cut {
			why = fmt.Errorf("the answer was cut at the limit of tokens%s and is not whole: %w", p.limit(), why)
		}
		messages = append(messages, model.Message{Role: model.Assistant, Text: shownBack(text)},
			model.Message{Role: model.User, Text: "That answer was not taken: " + why.Error() + ".\nAnswer again, with the whole JSON object."})
	}
	return star.Result{}, fmt.Errorf("the model that plays the tools, %s, gave no valid answer to the call of %s in %d attempts; the last one: %w; it said %q; have another model play them (--world-model), or show it their programs (--world-source)",
		p.model.Ref().Name, c.Tool, Attempts, why, excerpt(text))
}

// chat is one turn of the model's. A provider that refuses to play the tool is no behaviour
// of the subject's.
func (p *player) chat(ctx context.Context, c agentbound.Call, messages []model.Message) (text string, cut bool, err error) {
	res, err := p.model.Chat(ctx, model.Request{Messages: messages, Temperature: p.temperature, Seed: p.seed, MaxTokens: p.tokens})
	if err != nil {
		return "", false, err
	}
	p.usage = p.usage.Add(res.Usage)
	if res.Stop == model.StopRefusal {
		return "", false, fmt.Errorf("%s: the provider refused to play the tool %s: %s", p.model.Ref().Name, c.Tool, clip(res.Refusal+res.Message.Text))
	}
	return res.Message.Text, res.Stop == model.StopLength, nil
}

// limit names the limit of an answer.
func (p *player) limit() string {
	if p.tokens == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d)", p.tokens)
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
	after, diff, err := e.settle(r.work)
	if err != nil {
		return star.Result{}, err
	}
	if err := r.made.noteDiff(diff); err != nil {
		return star.Result{}, err
	}
	observation, err := r.eval(proposed.Observation)
	if err != nil {
		return star.Result{}, fmt.Errorf("the observation: %w", err)
	}
	if disguised(observation) {
		return star.Result{}, errors.New(`an answer that tells an error is none: where the tool says no, write {"error": "why"} and nothing else`)
	}
	shown, err := canonical(observation)
	if err != nil {
		return star.Result{}, fmt.Errorf("the observation: %w", err)
	}
	if err := e.rules.check(e.shape, e.effect(c.Tool, tree, state, r.work, diff), maps.Clone(e.issued)); err != nil {
		return star.Result{}, err
	}
	e.issued = r.issued
	return star.Result{OK: true, Observation: shown, Args: args, After: after, Diff: diff}, nil
}

// disguised reports whether an answer is a failure that poses as a success: the subject
// would read a failure, and the record would hold a call that succeeded.
func disguised(observation any) bool {
	switch v := observation.(type) {
	case string:
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(v)), "error:")
	case map[string]any:
		return len(v) == 1 && has(v, "error")
	}
	return false
}

// maxFailure bounds a tool's error, in bytes.
const maxFailure = 2000

// settle makes a state of what a patch left.
func (e *emulated) settle(work map[string]any) (after star.State, diff agentbound.Diff, err error) {
	now := e.machine.State()
	enc, err := star.Canonical(any(work))
	if err != nil {
		return now, nil, fmt.Errorf("the state after the patch is %w", err)
	}
	if after, err = star.DecodeState(enc); err != nil {
		return now, nil, err
	}
	if diff, err = star.Difference(now, after); len(diff) == 0 {
		after = now
	}
	return after, diff, err
}

// effect is what the rules are asked about.
func (e *emulated) effect(tool string, args any, before, after map[string]any, diff agentbound.Diff) effect {
	kit := e.program.Kit
	return effect{
		before: before, after: after, diff: diff, args: args,
		readOnly: kit.ReadOnly(tool), reach: e.reach(tool), does: kit.Effects(tool),
	}
}
