package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/gemini"
)

// modelOptions are how an endpoint is asked, whatever it plays: a subject, a judge, a
// world or a writer of families.
type modelOptions struct {
	perCall time.Duration // of one attempt at a model call; 0: the default
	effort  string        // how much to think, in the provider's words; empty: its own default
	stream  bool          // have answers streamed
}

// modelForms are what names a model, for messages.
const modelForms = "anthropic:MODEL, gemini:MODEL, compat:MODEL@BASE_URL"

// modelSchemes are what such a name begins with.
var modelSchemes = []string{anthropic.Scheme, gemini.Scheme, compat.Scheme}

// model resolves what names a model: PROTOCOL:MODEL, and @BASE_URL where it has no
// vendor of its own. Errors repeat no part of an address that could be secret.
func (rooms) model(spec string, o modelOptions) (model.Model, error) {
	retry := model.Retry{Timeout: o.perCall}
	switch kind, _, _ := strings.Cut(spec, ":"); kind {
	case anthropic.Scheme:
		return anthropic.New(spec, anthropic.Options{Key: os.Getenv(anthropic.KeyEnv), Retry: retry, Stream: o.stream, Effort: o.effort})
	case gemini.Scheme:
		return gemini.New(spec, gemini.Options{Key: os.Getenv(gemini.KeyEnv), Retry: retry, Stream: o.stream, Effort: o.effort})
	case compat.Scheme:
		return compat.New(spec, compat.Options{Key: os.Getenv(compat.KeyEnv), Retry: retry})
	}
	return nil, fmt.Errorf("model %q is not known; accepted: %s", spec, modelForms)
}
