// Package gemini asks models over Google's Gemini API, generateContent and
// streamGenerateContent, through the vendor's own SDK. Thought signatures go back on the
// parts they came on.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"

	"google.golang.org/genai"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// Scheme is what a specification begins with: gemini:MODEL, with @BASE_URL where another
// server is asked.
const Scheme = "gemini"

// KeyEnv is the environment variable that holds the key. No other is read.
const KeyEnv = "GEMINI_API_KEY"

// version changes with what is sent or how answers are read: it is part of trial keys.
const version = "1"

// Home is the base URL where none is named.
const Home = "https://generativelanguage.googleapis.com"

var vendor = transport.Vendor{Scheme: Scheme, Home: Home, KeyEnv: KeyEnv}

// Options are what a specification does not say.
type Options struct {
	Key    string // sent to the base URL, in a header, and nowhere else; empty: none
	Retry  model.Retry
	Limit  int64             // bytes of an answer; 0: 32 MiB
	HTTP   http.RoundTripper // nil: the standard library's
	Stream bool              // have answers streamed: the same turns come back
	Effort string            // how much to think, see [Efforts]; empty: what the model does by itself
}

// Model is a model behind a server. It implements model.Model.
type Model struct {
	at       transport.Endpoint
	key      string
	retry    model.Retry
	stream   bool
	effort   string
	thinking *genai.ThinkingConfig
	models   *genai.Models
}

// apiVersion at the end of a base URL is a version of the API; the SDK wants it apart.
var apiVersion = regexp.MustCompile(`/(v\d+(?:alpha|beta)?\d*)$`)

// New gives the model that MODEL or MODEL@BASE_URL names, with or without the scheme
// before it. Nothing is sent yet.
func New(spec string, o Options) (*Model, error) {
	at, err := vendor.Endpoint(spec)
	if err != nil {
		return nil, err
	}
	api := "v1beta"
	if end := apiVersion.FindStringSubmatchIndex(at.Base); end != nil {
		at.Base, api = at.Base[:end[0]], at.Base[end[2]:end[3]]
	}
	how, err := thinkingOf(at.Model, o.Effort)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.Name(), err)
	}
	guarded := transport.Client(transport.Options{Limit: o.Limit, Secret: o.Key, Base: o.HTTP})
	guarded.Transport = door{guarded.Transport, o.Key}
	client, err := genai.NewClient(context.Background(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, HTTPClient: guarded,
		APIKey:      "unused", // where it is empty the SDK looks into the environment; door sends ours, or none
		HTTPOptions: genai.HTTPOptions{BaseURL: at.Base + "/", APIVersion: api},
	})
	if err != nil {
		return nil, fmt.Errorf("%s: the SDK does not take it", at.Name()) // its own words hold the whole configuration
	}
	return &Model{at: at, key: o.Key, retry: o.Retry, stream: o.Stream, effort: o.Effort, thinking: how, models: client.Models}, nil
}

// Ref implements model.Model.
func (m *Model) Ref() model.Ref {
	settings := map[string]string{"model": m.at.Model, "base_url": m.at.Base, "adapter": Scheme + "/" + version}
	if m.effort != "" {
		maps.Copy(settings, map[string]string{"effort": m.effort})
	}
	return model.Ref{Name: m.at.Name(), Settings: settings}
}

// Chat implements model.Model.
func (m *Model) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	config, err := m.encode(r)
	if err != nil {
		return model.Response{}, m.explain(&model.Error{Fault: model.FaultRequest, What: err.Error(), Err: err})
	}
	res, err := m.retry.Do(ctx, func(ctx context.Context) (model.Response, error) {
		body, err := m.ask(ctx, *config)
		if err != nil {
			return model.Response{}, err
		}
		return read(body, m.key, m.stream)
	})
	if e, ok := errors.AsType[*model.Error](err); ok {
		return model.Response{}, m.explain(e)
	}
	return res, err
}

// ask is one attempt. The SDK makes the request; the answer is what door kept of it.
func (m *Model) ask(ctx context.Context, config genai.GenerateContentConfig) ([]byte, error) {
	var kept answer
	ctx = context.WithValue(ctx, keep{}, &kept)
	// What is sent comes from the configuration: contents have to be given, no more.
	contents := []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "-"}}}}
	var err error
	if m.stream {
		for _, err = range m.models.GenerateContentStream(ctx, m.at.Model, contents, &config) {
			break
		}
	} else {
		_, err = m.models.GenerateContent(ctx, m.at.Model, contents, &config)
	}
	switch e, ok := errors.AsType[*model.Error](err); {
	case kept.came:
		return kept.body, nil
	case ok:
		return nil, e
	}
	// Only a request that could not be made comes here.
	return nil, &model.Error{Fault: model.FaultRequest, What: "the request could not be made", Err: err}
}

func (m *Model) explain(e *model.Error) *model.Error { return m.at.Explain(e, m.key != "") }
