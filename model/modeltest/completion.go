package modeltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/agentbound/agentbound/model"
)

// Completion is the plain completions endpoint, in the part of it that vLLM's and
// llama.cpp's servers share: one text in, what comes after it out.
type Completion struct{ Chat }

// Serves implements Protocol.
func (Completion) Serves(path string) bool { return path == "/v1/completions" }

// Decode implements Protocol. The prompt is the one message.
func (Completion) Decode(_ *http.Request, body []byte, _ Options) (asked model.Request, name string, stream bool, err error) {
	var w struct {
		Model       string   `json:"model"`
		Prompt      *string  `json:"prompt"`
		Temperature *float64 `json:"temperature"`
		Seed        *int64   `json:"seed"`
		MaxTokens   int      `json:"max_tokens"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return asked, "", false, err
	}
	switch {
	case w.Model == "" || w.Prompt == nil:
		return asked, "", false, errors.New("model and prompt are required")
	case w.MaxTokens < 0:
		return asked, "", false, errors.New("max_tokens below 0")
	}
	return model.Request{
		Messages: []model.Message{{Role: model.User, Text: *w.Prompt}}, Temperature: w.Temperature, Seed: w.Seed, MaxTokens: w.MaxTokens,
	}, w.Model, false, nil
}

// Encode implements Protocol.
func (Completion) Encode(name string, _ Options, answer model.Response) map[string]any {
	finish := map[model.Stop]string{model.StopLength: "length", model.StopRefusal: "content_filter"}[answer.Stop]
	if finish == "" {
		finish = "stop"
	}
	return map[string]any{
		"id": "cmpl-1", "object": "text_completion", "created": 1_700_000_000, "model": name,
		"choices": []any{map[string]any{"index": 0, "text": answer.Message.Text, "logprobs": nil, "finish_reason": finish}},
		"usage": map[string]any{
			"prompt_tokens": answer.Usage.Input, "completion_tokens": answer.Usage.Output, "total_tokens": answer.Usage.Input + answer.Usage.Output,
		},
	}
}

// Stream implements Protocol: the peer does not stream.
func (Completion) Stream(map[string]any) []string { return nil }
