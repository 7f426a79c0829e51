package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agentbound/agentbound/agent/preset"
	"github.com/agentbound/agentbound/model"
)

// modelOptions are how an endpoint is asked, whatever it plays: a subject, a judge, a
// world or a writer of families.
type modelOptions struct {
	perCall time.Duration // of one attempt at a model call; 0: the default
	effort  string        // of reasoning; empty: the provider's own
	stream  bool          // ask for event streams; answers, and so keys, are the same
	once    bool          // an attempt that fails is not repeated
	live    bool          // somebody waits: an attempt that fails is repeated once, and soon
	pace    model.Pace    // holds attempts back; rooms.model sets it
	part    model.Part    // what it plays, as recordings say it
	key     string        // of the endpoint; rooms.model sets it
}

// retry is how a turn is attempted.
func (o modelOptions) retry() model.Retry {
	r := model.Retry{Timeout: o.perCall, Pace: o.pace}
	if o.live {
		r.Attempts, r.Base, r.Longest = 2, 500*time.Millisecond, time.Second
	}
	if o.once {
		r.Attempts = 1
	}
	return r
}

// model resolves what names a model: a preset, or PROTOCOL:MODEL, and @BASE_URL where it
// has no vendor of its own. Errors repeat no part of an address that could be secret.
func (r rooms) model(spec string, o modelOptions) (model.Model, error) {
	spec, o, err := r.named(spec, o)
	if err != nil {
		return nil, err
	}
	p, ok := protocolOf(spec)
	if !ok {
		kind, _, _ := strings.Cut(spec, "@") // what follows may be an address
		return nil, fmt.Errorf("model %q is not known; accepted: %s, or a preset's name", kind, modelForms())
	}
	return r.ask(p, spec, o)
}

// ask makes the model that a specification of a protocol names, within the command's
// limits and under its recording.
func (r rooms) ask(p protocol, spec string, o modelOptions) (m model.Model, err error) {
	o.key = r.keep.key(p.keyEnv)
	if !r.keep.replays() { // which asks nobody
		if o.pace, err = r.paceOf(spec, p, o); err != nil {
			return nil, err
		}
	}
	if m, err = p.open(spec, o); err != nil {
		return nil, err
	}
	if o.key == "" && !r.unasked && p.atHome(spec) {
		return nil, fmt.Errorf("model %q: no key: set %s", spec, p.keyEnv)
	}
	return r.look.watch(r.keep.wrap(weighed{m, o.key}, o.part), o.part), nil
}

// named turns a preset's name into its specification and effort. What has a colon is a
// specification already.
func (r rooms) named(spec string, o modelOptions) (string, modelOptions, error) {
	if strings.Contains(spec, ":") {
		return spec, o, nil
	}
	c, err := r.catalogue()
	if err != nil {
		return "", o, err
	}
	p, err := c.Find(spec)
	if err != nil {
		return "", o, fmt.Errorf("model %q is not known; accepted: %s, or a preset's name; %w", spec, modelForms(), r.unfound(err))
	}
	if p.Kind != preset.Model {
		return "", o, fmt.Errorf("%q is an agent program and no model%s", p.Name, bare(c, p))
	}
	if o.effort == "" {
		o.effort = p.Effort
	}
	return p.Spec, o, nil
}

// weighed lets pace and budget know what each turn asks for, and keeps the key out of what
// comes back: a server that repeats it must not have it stored.
type weighed struct {
	model.Model
	key string
}

// Chat implements model.Model.
func (w weighed) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	res, err := w.Model.Chat(model.Weigh(ctx, r), r)
	if len(w.key) < leastEnvironment { // what a server of one's own is given is often a word
		return res, err
	}
	strike := func(s string) string { return strings.ReplaceAll(s, w.key, "[key]") }
	m := &res.Message
	res.Refusal, res.Model, m.Text, m.Reasoning = strike(res.Refusal), strike(res.Model), strike(m.Text), strike(m.Reasoning)
	for i, c := range m.Calls {
		m.Calls[i] = model.ToolCall{ID: strike(c.ID), Name: strike(c.Name), Args: strike(c.Args)}
	}
	return res, err
}
