package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
)

// modelOptions are how an endpoint is asked, whatever it plays: a subject, a judge, a
// world or a writer of families.
type modelOptions struct {
	perCall time.Duration // of one attempt at a model call; 0: the default
	part    model.Part    // what it plays, as recordings say it
}

// model resolves what names a model: PROTOCOL:MODEL, and @BASE_URL where it has no
// vendor of its own. Errors repeat no part of an address that could be secret.
func (r rooms) model(spec string, o modelOptions) (model.Model, error) {
	m, err := r.connect(spec, o)
	if err != nil {
		return nil, err
	}
	return r.keep.wrap(m, o.part), nil
}

// connect opens the adapter. Nothing is sent yet, so that a replay too learns here how
// the model is called.
func (r rooms) connect(spec string, o modelOptions) (model.Model, error) {
	retry := model.Retry{Timeout: o.perCall}
	switch kind, _, _ := strings.Cut(spec, ":"); kind {
	case compat.Scheme:
		return compat.New(spec, compat.Options{Key: r.keep.key(compat.KeyEnv), Retry: retry})
	}
	return nil, fmt.Errorf("model %q is not known; accepted: compat:MODEL@BASE_URL", spec)
}
