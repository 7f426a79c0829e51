// Package anthropic asks models over Anthropic's Messages protocol, through the vendor's
// own SDK. Thinking goes back with the calls it led to, signed as it came.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// Scheme is what a specification begins with: anthropic:MODEL, with @BASE_URL where
// another server is asked.
const Scheme = "anthropic"

// KeyEnv is the environment variable that holds the key. No other is read.
const KeyEnv = "ANTHROPIC_API_KEY"

// version changes with what is sent or how answers are read: it is part of trial keys.
const version = "1"

// DefaultMaxTokens is asked for where a request sets no limit: the protocol has no
// default. Every model since Claude 3.7 writes that much, and it stays below what the
// vendor wants streamed.
const DefaultMaxTokens = 16384

// mostPauses bounds how often a turn that the server paused is taken up again.
const mostPauses = 8

// Home is the base URL where none is named.
const Home = "https://api.anthropic.com"

var vendor = transport.Vendor{Scheme: Scheme, Home: Home, KeyEnv: KeyEnv}

// Options are what a specification does not say.
type Options struct {
	Key    string // sent to the base URL and nowhere else; empty: none
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
	thinking thinking
	messages anthropic.MessageService
}

// New gives the model that MODEL or MODEL@BASE_URL names, with or without the scheme
// before it. Nothing is sent yet.
func New(spec string, o Options) (*Model, error) {
	at, err := vendor.Endpoint(spec)
	if err != nil {
		return nil, err
	}
	at.Base = strings.TrimSuffix(at.Base, "/v1") // the SDK's paths begin with it
	how, err := thinkingOf(at.Model, o.Effort)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at.Name(), err)
	}
	options := []option.RequestOption{
		option.WithBaseURL(at.Base + "/"), option.WithMaxRetries(0), option.WithRequestTimeout(forever), option.WithoutOpenTelemetry(),
		option.WithHTTPClient(transport.Client(transport.Options{Limit: o.Limit, Secret: o.Key, Base: o.HTTP, Filtered: filtered})),
	}
	if o.Key != "" {
		options = append(options, option.WithAPIKey(o.Key))
	}
	// Not NewClient: it would send what it finds in the environment and in profiles.
	return &Model{
		at: at, key: o.Key, retry: o.Retry, stream: o.Stream, effort: o.Effort, thinking: how,
		messages: anthropic.NewMessageService(options...),
	}, nil
}

// forever takes the SDK's own time limit out of the way, and with it its refusal to ask
// for long answers unstreamed: how long an attempt may last is Retry's to say.
const forever = 24 * time.Hour

// Ref implements model.Model. The protocol knows no seed; a temperature that the model
// does not take is not sent, so what a run asks for there decides nothing.
func (m *Model) Ref() model.Ref {
	settings := map[string]string{"model": m.at.Model, "base_url": m.at.Base, "adapter": Scheme + "/" + version, "seed": "none"}
	if !m.takesTemperature() {
		settings["temperature"] = "none"
	}
	maps.Copy(settings, m.thinking.settings(m.effort))
	return model.Ref{Name: m.at.Name(), Settings: settings}
}

// Chat implements model.Model. A turn that the server paused is taken up again until it
// ends, and comes back as one.
func (m *Model) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	params, err := m.encode(r)
	if err != nil {
		return model.Response{}, m.explain(&model.Error{Fault: model.FaultRequest, What: err.Error(), Err: err})
	}
	r.MaxTokens = int(params.MaxTokens) // what is asked for decides what it can cost
	var whole answer
	for pauses := 0; ; pauses++ {
		part, err := m.turn(model.Weigh(ctx, r), params, r)
		if e, ok := errors.AsType[*model.Error](err); ok {
			if e.Code == transport.Filter {
				return model.Response{Message: model.Message{Role: model.Assistant}, Stop: model.StopRefusal, Refusal: e.What, Usage: whole.usage}, nil
			}
			return model.Response{}, m.explain(e)
		}
		if err != nil {
			return model.Response{}, err
		}
		whole.add(part)
		if !part.paused() || pauses == mostPauses {
			return whole.response(), nil
		}
		params.Messages = append(params.Messages, anthropic.NewAssistantMessage(asCame(part.blocks)...))
		r.Messages = append(slices.Clip(r.Messages), model.Message{Role: model.Assistant, State: part.raw()})
	}
}

// turn is one request and its retries.
func (m *Model) turn(ctx context.Context, params anthropic.MessageNewParams, r model.Request) (answer, error) {
	options := m.options(r)
	var got answer
	_, err := m.retry.Do(ctx, func(ctx context.Context) (model.Response, error) {
		var body []byte
		if _, err := m.messages.New(ctx, params, append(options, option.WithResponseBodyInto(&body))...); err != nil {
			return model.Response{}, fault(err)
		}
		var err error
		got, err = read(ctx, body, m.key)
		return model.Response{Usage: got.usage}, err
	})
	return got, err
}

// options are what the SDK's parameters have no place for.
func (m *Model) options(r model.Request) []option.RequestOption {
	var options []option.RequestOption
	if m.stream {
		options = append(options, option.WithJSONSet("stream", true))
	}
	if r.Temperature != nil && m.takesTemperature() {
		// The protocol's version of 2026-10-21 takes none; the one before it does.
		options = append(options, option.WithHeader("anthropic-version", "2023-06-01"), option.WithJSONSet("temperature", *r.Temperature))
	}
	return options
}

// fault is the transport's own error, without what the SDK put around it.
func fault(err error) error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	// Only a request that could not be made comes here.
	return &model.Error{Fault: model.FaultRequest, What: "the request could not be made", Err: err}
}

// blocked is what the vendor's filter says, with the status of a rejected request.
var blocked = regexp.MustCompile(`(?i)blocked by (?:our )?content filter`)

func filtered(status int, body []byte) bool {
	return status == http.StatusBadRequest && blocked.Match(body)
}

// explain says of a fault which model it is about. A request that is too large is a
// conversation that has outgrown what can be sent.
func (m *Model) explain(e *model.Error) *model.Error {
	said := m.at.Explain(e, m.key != "")
	if e.Status == http.StatusRequestEntityTooLarge {
		said.Fault = model.FaultContext
	}
	return said
}
