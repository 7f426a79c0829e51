// Package compat asks models over the chat-completions protocol as OpenAI published it
// and as most other servers speak it (vLLM, llama.cpp, Ollama, DeepSeek, Moonshot, Z.ai,
// xAI, OpenRouter, …). Where they differ it is lenient in what it reads and sends what
// all of them take: not streamed, one choice, plain strings.
package compat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// Scheme is what a specification begins with: compat:MODEL@BASE_URL.
const Scheme = "compat"

// KeyEnv is the environment variable that holds the key. No other is read: a key for
// one vendor must not reach another.
const KeyEnv = "COMPAT_API_KEY"

// version changes with what is sent or how answers are read: it is part of trial keys.
const version = "1"

// Options are what a specification does not say.
type Options struct {
	Key   string // sent to the base URL and nowhere else; empty: none, as local servers have it
	Retry model.Retry
	Limit int64             // bytes of an answer; 0: 32 MiB
	HTTP  http.RoundTripper // nil: the standard library's
}

// Model is a model behind a server. It implements model.Model.
type Model struct {
	name  string // of the model, as the server knows it
	base  string
	keyed bool
	retry model.Retry
	chat  openai.ChatService
}

// New gives the model that MODEL@BASE_URL names, with or without the scheme before it.
// Nothing is sent yet.
func New(spec string, o Options) (*Model, error) {
	name, base, err := Parse(spec)
	if err != nil {
		return nil, err
	}
	m := &Model{name: name, base: base, keyed: o.Key != "", retry: o.Retry}
	options := []option.RequestOption{
		option.WithBaseURL(base), option.WithMaxRetries(0),
		option.WithHTTPClient(transport.Client(transport.Options{Limit: o.Limit, Secret: o.Key, Base: o.HTTP})),
	}
	if m.keyed {
		options = append(options, option.WithAPIKey(o.Key))
	}
	// Not NewClient: it would send what it finds in OPENAI_API_KEY and its like.
	m.chat = openai.NewChatService(options...)
	return m, nil
}

// Parse splits a specification. The base URL comes back without a slash at its end. An
// error repeats nothing of a user name or query: secrets are put there by mistake.
func Parse(spec string) (name, base string, err error) {
	parts := shape.FindStringSubmatch(strings.TrimPrefix(spec, Scheme+":"))
	if parts == nil {
		return "", "", fmt.Errorf("a model is named %s:MODEL@BASE_URL, as in %s:my-model@http://127.0.0.1:8000/v1", Scheme, Scheme)
	}
	name = parts[1]
	u, err := url.Parse(parts[2])
	switch {
	case err != nil || u.Host == "":
		return "", "", fmt.Errorf("%s:%s@…: the base URL is not well formed; as in http://127.0.0.1:8000/v1", Scheme, name)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", "", fmt.Errorf("%s:%s@%s://%s…: a base URL has no user name, query or fragment; a key belongs in %s", Scheme, name, u.Scheme, u.Host, KeyEnv)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return name, u.String(), nil
}

var shape = regexp.MustCompile(`^(.+?)@(https?://.*)$`)

// Ref implements model.Model.
func (m *Model) Ref() model.Ref {
	return model.Ref{
		Name:     Scheme + ":" + m.name + "@" + m.base,
		Settings: map[string]string{"model": m.name, "base_url": m.base, "adapter": Scheme + "/" + version},
	}
}

// Chat implements model.Model.
func (m *Model) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	params, err := encode(m.name, r)
	if err != nil {
		return model.Response{}, m.explain(&model.Error{Fault: model.FaultRequest, What: err.Error(), Err: err})
	}
	res, err := m.retry.Do(ctx, func(ctx context.Context) (model.Response, error) {
		var body []byte
		if _, err := m.chat.Completions.New(ctx, params, option.WithResponseBodyInto(&body)); err != nil {
			return model.Response{}, fault(err)
		}
		return decode(body)
	})
	if e, ok := errors.AsType[*model.Error](err); ok {
		if refused(e) {
			return refusal(e), nil
		}
		return model.Response{}, m.explain(e)
	}
	return res, err
}

// fault is the transport's own error, without what the SDK put around it.
func fault(err error) error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	// Only a request that could not be made comes here.
	return &model.Error{Fault: model.FaultRequest, What: "the request could not be made", Err: err}
}

// refused reports whether a rejected request is the provider's filter at work: that is
// an answer of the subject's provider, not a failure of the infrastructure.
func refused(e *model.Error) bool {
	switch e.Code {
	case "content_filter", "content_policy_violation":
		return e.Status == http.StatusBadRequest
	case "invalid_prompt":
		return e.Status == http.StatusBadRequest && strings.Contains(e.What, "policy")
	}
	return false
}

func refusal(e *model.Error) model.Response {
	return model.Response{Message: model.Message{Role: model.Assistant}, Stop: model.StopRefusal, Refusal: e.What}
}

// explain says of a fault which model it is about, and what to do where that depends on
// this adapter.
func (m *Model) explain(e *model.Error) *model.Error {
	said := *e
	said.Who = m.Ref().Name
	switch {
	case e.Fault == model.FaultKey && m.keyed:
		said.Remedy = "check the key in " + KeyEnv
	case e.Fault == model.FaultKey:
		said.What = strings.Replace(said.What, "does not accept the key", "wants a key", 1)
		said.Remedy = "set " + KeyEnv
	case e.Fault == model.FaultModel:
		said.Remedy = fmt.Sprintf("check the name %q against %s/models", m.name, m.base)
	case e.Fault == model.FaultAddress && e.Remedy == "":
		said.Remedy = "check the base URL " + m.base
	case e.Fault == model.FaultRequest && strings.Contains(strings.ToLower(e.What), "tool"):
		said.Remedy = "start the server with tool calling, or use the form react, which needs none"
	}
	return &said
}
