// Package openai asks OpenAI's models over the responses protocol. Nothing is kept on the
// server: what a model reasoned comes encrypted, and goes back with its turn byte for byte
// (but for blanks between the tokens of its JSON).
// Streamed or not, an answer is the same.
package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
)

// Scheme is what a specification begins with: openai:MODEL, or openai:MODEL@BASE_URL for
// another server of the protocol.
const Scheme = "openai"

// Home is the vendor's base URL.
const Home = "https://api.openai.com/v1"

// KeyEnv is the environment variable that holds the key, whatever the base URL. It goes
// to that address and to no other.
const KeyEnv = "OPENAI_API_KEY"

// version changes with what is sent or how answers are read: it is part of trial keys.
const version = "1"

// Options are what a specification does not say.
type Options struct {
	Key    string // sent to the base URL and nowhere else; empty: none
	Retry  model.Retry
	Limit  int64             // bytes of an answer; 0: 32 MiB
	HTTP   http.RoundTripper // nil: the standard library's
	Effort string            // of reasoning, of openaiapi.Efforts; empty: the provider's own
	Stream bool              // ask for event streams: the same answer, but the connection is never idle for long
}

// Model is a model behind a server. It implements model.Model.
type Model struct {
	at   openaiapi.Endpoint
	opts Options
	api  responses.ResponseService
}

// New gives the model that a specification names, with or without the scheme before it.
// Nothing is sent yet.
func New(spec string, o Options) (*Model, error) {
	e, err := openaiapi.Parse(Scheme, spec, Home, KeyEnv)
	if err == nil {
		err = openaiapi.CheckEffort(Scheme, o.Effort, openaiapi.Efforts())
	}
	if err != nil {
		return nil, err
	}
	m := &Model{at: e, opts: o}
	// Not NewClient: it would also send what it finds in variables of other accounts.
	m.api = responses.NewResponseService(m.at.Options(openaiapi.Reach{Key: o.Key, Limit: o.Limit, HTTP: o.HTTP})...)
	return m, nil
}

// Ref implements model.Model. The protocol has no seed, and some models take no
// temperature: that these are not sent is part of it, so that keys tell the truth. How an
// answer travels, streamed or not, is not.
func (m *Model) Ref() model.Ref {
	settings := map[string]string{"model": m.at.Model, "base_url": m.at.Base, "adapter": Scheme + "/" + version, "seed": "none"}
	if m.opts.Effort != "" {
		settings["effort"] = m.opts.Effort
	}
	if m.cold() {
		settings["temperature"] = "none"
	}
	return model.Ref{Name: m.at.String(), Settings: settings}
}

func (m *Model) cold() bool { return openaiapi.Cold(m.at.Model, m.opts.Effort) }

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
		if _, err := m.api.New(ctx, params, append(how, option.WithResponseBodyInto(&body))...); err != nil {
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
	if what := strings.ToLower(e.What); e.Fault == model.FaultRequest && said.Remedy == "" {
		switch {
		case strings.Contains(what, "verified"):
			said.Remedy = "verify the organisation with OpenAI, or ask the model as openai-chat:" + m.at.Model
		case strings.Contains(what, "temperature"):
			said.Remedy = "leave the temperature out"
		case strings.Contains(what, "effort"):
			said.Remedy = "try another effort, or none of your own"
		}
	}
	return said
}
