// Package compat asks models over the chat-completions protocol as OpenAI published it
// and as most other servers speak it. Where they differ it is lenient in what it reads;
// what it sends is what all of them take, and of a server that is named by its own scheme
// what that one takes (dialect.go). Streamed or not, an answer is the same.
package compat

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
)

// Scheme is what the specification of a server without a dialect begins with:
// compat:MODEL@BASE_URL.
const Scheme = "compat"

// KeyEnv is the environment variable that holds the key of such a server. No other is
// read: a key for one vendor must not reach another.
const KeyEnv = "COMPAT_API_KEY"

// version changes with what is sent or how answers are read: it is part of trial keys.
const version = "1"

// Options are what a specification does not say.
type Options struct {
	Key    string // sent to the base URL and nowhere else; empty: none, as local servers have it
	Retry  model.Retry
	Limit  int64             // bytes of an answer; 0: 32 MiB
	HTTP   http.RoundTripper // nil: the standard library's
	Effort string            // of reasoning; empty: the provider's own
	Stream bool              // ask for event streams: the same answer, but the connection is never idle for long
}

// Model is a model behind a server. It implements model.Model.
type Model struct {
	at      openaiapi.Endpoint
	dialect Dialect
	opts    Options
	chat    openai.ChatService
}

// New gives the model that a specification names: of compat with or without the scheme
// before it, of the others with it. Nothing is sent yet.
func New(spec string, o Options) (*Model, error) {
	scheme, _, _ := strings.Cut(spec, ":")
	d, ok := Speak(scheme)
	if !ok {
		d, _ = Speak(Scheme)
	}
	e, err := openaiapi.Parse(d.Scheme, spec, d.Base, d.KeyEnv)
	if err == nil {
		err = openaiapi.CheckEffort(d.Scheme, o.Effort, d.efforts())
	}
	if err != nil {
		return nil, err
	}
	m := &Model{at: e, dialect: d, opts: o}
	// Not NewClient: it would send what it finds in OPENAI_API_KEY and its like.
	m.chat = openai.NewChatService(m.at.Options(openaiapi.Reach{Key: o.Key, Limit: o.Limit, HTTP: o.HTTP, Filtered: d.filtered})...)
	return m, nil
}

// Parse splits a specification of compat. The base URL comes back without a slash at its
// end. An error repeats nothing of a user name or query.
func Parse(spec string) (name, base string, err error) {
	e, err := openaiapi.Parse(Scheme, spec, "", KeyEnv)
	return e.Model, e.Base, err
}

// Ref implements model.Model. How an answer travels, streamed or not, is no part of it.
func (m *Model) Ref() model.Ref {
	settings := map[string]string{"model": m.at.Model, "base_url": m.at.Base, "adapter": m.at.Scheme + "/" + version}
	if m.opts.Effort != "" {
		settings["effort"] = m.opts.Effort
	}
	if m.dialect.NoSeed {
		settings["seed"] = "none"
	}
	if m.cold() {
		settings["temperature"] = "none"
	}
	return model.Ref{Name: m.at.String(), Settings: settings}
}

// cold reports whether the model takes no temperature.
func (m *Model) cold() bool {
	return m.dialect.Cold != nil && m.dialect.Cold(m.at.Model, m.opts.Effort)
}

// Chat implements model.Model.
func (m *Model) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	params, err := m.encode(r)
	if err != nil {
		return model.Response{}, m.explain(&model.Error{Fault: model.FaultRequest, What: err.Error(), Err: err})
	}
	var how []option.RequestOption
	if m.opts.Stream {
		how = []option.RequestOption{option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream")}
	}
	res, err := m.opts.Retry.Do(ctx, func(ctx context.Context) (model.Response, error) {
		var body []byte
		if _, err := m.chat.Completions.New(ctx, params, append(how, option.WithResponseBodyInto(&body))...); err != nil {
			return model.Response{}, openaiapi.Fault(err)
		}
		return m.read(body)
	})
	if e, ok := errors.AsType[*model.Error](err); ok {
		if answer, ok := openaiapi.Refusal(e); ok {
			return answer, nil
		}
		return model.Response{}, m.explain(e)
	}
	return res, err
}

// explain says of a fault which model it is about, and what to do.
func (m *Model) explain(e *model.Error) *model.Error {
	said := m.at.Explain(e)
	if e.Fault == model.FaultRequest && said.Remedy == "" {
		said.Remedy = m.dialect.remedy(e.What)
	}
	return said
}
