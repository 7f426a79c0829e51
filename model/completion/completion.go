// Package completion asks models over OpenAI's plain completions endpoint, as vLLM and
// llama.cpp's server serve it: one text goes out as it stands, with no chat template
// around it, and what the model writes after it comes back. It is for checkpoints with a
// format of their own. It is no model for an agent: it takes neither tools nor a
// conversation.
package completion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/openaiapi"
	"github.com/agentbound/agentbound/model/transport"
)

// Scheme is what the specification begins with: completion:MODEL@BASE_URL.
const Scheme = "completion"

// KeyEnv holds the key, where the server asks for one: it is that of compat, since the
// same servers serve both endpoints.
const KeyEnv = "COMPAT_API_KEY"

// version changes with what is sent or how answers are read.
const version = "1"

// Options are what a specification does not say.
type Options struct {
	Key   string // sent to the base URL and nowhere else; empty: none
	Retry model.Retry
	Limit int64             // bytes of an answer; 0: 32 MiB
	HTTP  http.RoundTripper // nil: the standard library's
}

// Model is a model behind a server. It implements model.Model.
type Model struct {
	at   openaiapi.Endpoint
	opts Options
	api  openai.CompletionService
}

// New gives the model that a specification names, with or without the scheme before it.
// Nothing is sent yet.
func New(spec string, o Options) (*Model, error) {
	e, err := openaiapi.Parse(Scheme, spec, "", KeyEnv)
	if err != nil {
		return nil, err
	}
	m := &Model{at: e, opts: o}
	m.api = openai.NewCompletionService(m.at.Options(openaiapi.Reach{Key: o.Key, Limit: o.Limit, HTTP: o.HTTP})...)
	return m, nil
}

// Ref implements model.Model.
func (m *Model) Ref() model.Ref {
	return model.Ref{Name: m.at.String(), Settings: map[string]string{"model": m.at.Model, "base_url": m.at.Base, "adapter": Scheme + "/" + version}}
}

// Chat implements model.Model: the request is one message of the user's, whose text is
// the whole prompt.
func (m *Model) Chat(ctx context.Context, r model.Request) (model.Response, error) {
	if len(r.Messages) != 1 || r.Messages[0].Role != model.User || len(r.Tools) > 0 {
		return model.Response{}, m.at.Explain(&model.Error{Fault: model.FaultRequest, What: "a plain completion is asked for with one text, and neither a conversation nor tools"})
	}
	res, err := m.opts.Retry.Do(ctx, func(ctx context.Context) (model.Response, error) {
		var body []byte
		if _, err := m.api.New(ctx, m.encode(r), option.WithResponseBodyInto(&body)); err != nil {
			return model.Response{}, openaiapi.Fault(err)
		}
		return m.decode(body)
	})
	if e, ok := errors.AsType[*model.Error](err); ok {
		if answer, ok := openaiapi.Refusal(e); ok {
			return answer, nil
		}
		return model.Response{}, m.at.Explain(e)
	}
	return res, err
}

// encode: without max_tokens servers of this endpoint stop after 16.
func (m *Model) encode(r model.Request) openai.CompletionNewParams {
	p := openai.CompletionNewParams{Model: openai.CompletionNewParamsModel(m.at.Model), Prompt: openai.CompletionNewParamsPromptUnion{OfString: param.NewOpt(r.Messages[0].Text)}}
	if r.Temperature != nil {
		p.Temperature = param.NewOpt(*r.Temperature)
	}
	if r.Seed != nil {
		p.Seed = param.NewOpt(*r.Seed)
	}
	if r.MaxTokens > 0 {
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens))
	}
	return p
}

func (m *Model) decode(body []byte) (model.Response, error) {
	if e := transport.Dense(body); e != nil {
		return model.Response{}, e
	}
	var c openai.Completion
	if err := json.Unmarshal(body, &c); err != nil {
		return model.Response{}, transport.Malformed("it is no JSON object", body)
	}
	if raw := c.JSON.ExtraFields["error"].Raw(); raw != "" && raw != "null" {
		return model.Response{}, transport.Inside([]byte(raw), m.opts.Key)
	}
	if len(c.Choices) != 1 || !c.Choices[0].JSON.Text.Valid() {
		return model.Response{}, transport.Malformed(fmt.Sprintf("it has %d choices, and not one with a text", len(c.Choices)), body)
	}
	choice := c.Choices[0]
	res := model.Response{
		Message: model.Message{Role: model.Assistant, Text: strings.ToValidUTF8(choice.Text, "\uFFFD")}, Stop: model.StopEnd, Model: c.Model,
		Usage: model.Usage{
			Input: c.Usage.PromptTokens, Cached: c.Usage.PromptTokensDetails.CachedTokens,
			Output: c.Usage.CompletionTokens, Reasoning: c.Usage.CompletionTokensDetails.ReasoningTokens,
		},
	}
	switch choice.FinishReason {
	case openai.CompletionChoiceFinishReasonLength:
		res.Stop = model.StopLength
	case openai.CompletionChoiceFinishReasonContentFilter:
		res.Stop = model.StopRefusal
	}
	return res, nil
}
