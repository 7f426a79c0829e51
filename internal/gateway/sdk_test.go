package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/gateway"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// heard is what a program made of a conversation: the text and the calls of its first turn,
// and what came at the end, after the calls were answered.
type heard struct {
	Text  string
	Calls []string
	Final string
}

// A program asks by a vendor's own client as its documentation has it: it runs the calls of
// each turn, sends everything back, and goes on until there is none.
type program func(ctx context.Context, base string, stream bool) (heard, error)

const task = "Compare A and B."

var schemaOfRead = map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}}

// run stands for a program's tool: what it gives depends on what it was called with.
func run(name, args string) string {
	var a struct{ ID string }
	_ = json.Unmarshal([]byte(args), &a)
	return fmt.Sprintf(`{%q:%q}`, name, "record of "+a.ID)
}

func (h *heard) turn(text string, calls []string) {
	if h.Calls == nil {
		h.Text, h.Calls = text, calls
		return
	}
	h.Final = text
}

func programChat(ctx context.Context, base string, stream bool) (h heard, err error) {
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(secret), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{
		Model: "test-model", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(task)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: "read", Parameters: schemaOfRead})},
	}
	if stream {
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)}
	}
	for range 3 {
		var m openai.ChatCompletionMessage
		if stream {
			s := client.Chat.Completions.NewStreaming(ctx, params)
			var whole openai.ChatCompletionAccumulator
			for s.Next() {
				if !whole.AddChunk(s.Current()) {
					return h, fmt.Errorf("the SDK does not take %s", s.Current().RawJSON())
				}
			}
			if s.Err() != nil || len(whole.Choices) == 0 {
				return h, fmt.Errorf("no turn: %w", s.Err())
			}
			m = whole.Choices[0].Message
		} else {
			c, err := client.Chat.Completions.New(ctx, params)
			if err != nil {
				return h, err
			}
			m = c.Choices[0].Message
		}
		var calls []string
		params.Messages = append(params.Messages, m.ToParam())
		for _, c := range m.ToolCalls {
			calls = append(calls, c.ID+" "+c.Function.Arguments)
			params.Messages = append(params.Messages, openai.ToolMessage(run(c.Function.Name, c.Function.Arguments), c.ID))
		}
		if h.turn(m.Content, calls); calls == nil {
			return h, nil
		}
	}
	return h, nil
}

func programResponses(ctx context.Context, base string, stream bool) (h heard, err error) {
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(secret), option.WithMaxRetries(0))
	params := responses.ResponseNewParams{
		Model: "test-model", Store: param.NewOpt(false), Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage(task, "user")}},
		Tools: []responses.ToolUnionParam{responses.ToolParamOfFunction("read", schemaOfRead, false)},
	}
	for range 3 {
		var r responses.Response
		told := ""
		if stream {
			s := client.Responses.NewStreaming(ctx, params)
			for s.Next() {
				switch e := s.Current().AsAny().(type) {
				case responses.ResponseTextDeltaEvent:
					told += e.Delta
				case responses.ResponseCompletedEvent:
					r = e.Response
				}
			}
			if s.Err() != nil {
				return h, s.Err()
			}
			if whole := r.OutputText(); whole != told {
				return h, fmt.Errorf("the events say %q, the response %q", told, whole)
			}
		} else {
			whole, err := client.Responses.New(ctx, params)
			if err != nil {
				return h, err
			}
			r = *whole
		}
		var calls []string
		input := &params.Input.OfInputItemList
		for _, it := range r.Output {
			*input = append(*input, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(it.RawJSON())))
		}
		for _, it := range r.Output {
			if it.Type == "function_call" {
				calls = append(calls, it.CallID+" "+it.Arguments.OfString)
				out := responses.ResponseInputItemParamOfFunctionCallOutput(run(it.Name, it.Arguments.OfString))
				out.OfFunctionCallOutput.CallID = param.NewOpt(it.CallID)
				*input = append(*input, out)
			}
		}
		if h.turn(r.OutputText(), calls); calls == nil {
			return h, nil
		}
	}
	return h, nil
}

func programMessages(ctx context.Context, base string, stream bool) (h heard, err error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(base), anthropicoption.WithAPIKey(secret), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: "test-model", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(task))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{Name: "read", InputSchema: anthropic.ToolInputSchemaParam{Properties: schemaOfRead["properties"]}}}},
	}
	for range 3 {
		var m anthropic.Message
		if stream {
			s := client.Messages.NewStreaming(ctx, params)
			for s.Next() {
				if err := m.Accumulate(s.Current()); err != nil {
					return h, err
				}
			}
			if s.Err() != nil {
				return h, s.Err()
			}
		} else {
			whole, err := client.Messages.New(ctx, params)
			if err != nil {
				return h, err
			}
			m = *whole
		}
		text := ""
		var calls []string
		var back, results []anthropic.ContentBlockParamUnion
		for _, b := range m.Content {
			text += b.Text
			switch b.Type {
			case "text":
				back = append(back, anthropic.NewTextBlock(b.Text))
			case "thinking":
				back = append(back, anthropic.NewThinkingBlock(b.Signature, b.Thinking))
			case "tool_use":
				back = append(back, anthropic.NewToolUseBlock(b.ID, b.Input, b.Name))
				calls = append(calls, b.ID+" "+string(b.Input))
				results = append(results, anthropic.NewToolResultBlock(b.ID, run(b.Name, string(b.Input)), false))
			}
		}
		params.Messages = append(params.Messages, anthropic.NewAssistantMessage(back...))
		if h.turn(text, calls); calls == nil {
			return h, nil
		}
		params.Messages = append(params.Messages, anthropic.NewUserMessage(results...))
	}
	return h, nil
}

func programGenerate(ctx context.Context, base string, stream bool) (h heard, err error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: secret, HTTPClient: &http.Client{}, HTTPOptions: genai.HTTPOptions{BaseURL: base + "/", APIVersion: "v1beta"},
	})
	if err != nil {
		return h, err
	}
	contents := genai.Text(task)
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{Name: "read", ParametersJsonSchema: schemaOfRead}}}}}
	for range 3 {
		said := &genai.Content{Role: "model"}
		if stream {
			for chunk, err := range client.Models.GenerateContentStream(ctx, "test-model", contents, config) {
				if err != nil {
					return h, err
				}
				for _, part := range chunk.Candidates[0].Content.Parts {
					if part.Text != "" || part.FunctionCall != nil { // some chunks say nothing
						said.Parts = append(said.Parts, part)
					}
				}
			}
		} else {
			whole, err := client.Models.GenerateContent(ctx, "test-model", contents, config)
			if err != nil {
				return h, err
			}
			said = whole.Candidates[0].Content
		}
		text := ""
		var calls []string
		results := &genai.Content{Role: "user"}
		for _, p := range said.Parts {
			if p.FunctionCall != nil {
				args, _ := json.Marshal(p.FunctionCall.Args)
				calls = append(calls, p.FunctionCall.ID+" "+string(args))
				var out map[string]any
				_ = json.Unmarshal([]byte(run(p.FunctionCall.Name, string(args))), &out)
				results.Parts = append(results.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Response: map[string]any{"output": out}}})
			} else if !p.Thought {
				text += p.Text
			}
		}
		contents = append(contents, said)
		if h.turn(text, calls); calls == nil {
			return h, nil
		}
		contents = append(contents, results)
	}
	return h, nil
}

const better = "A alone will do."

// agent plays a model that reads both records at once, or the one that it is told to.
func agent(text, anew string) modeltest.Player {
	return func(r model.Request) model.Response {
		last := r.Messages[len(r.Messages)-1]
		call := func(text string, ids ...string) model.Response {
			m := model.Message{Role: model.Assistant, Text: text, Reasoning: "hm"}
			for _, id := range ids {
				m.Calls = append(m.Calls, model.ToolCall{ID: "call_" + id, Name: "read", Args: fmt.Sprintf(`{"id":%q}`, id)})
			}
			return model.Response{Stop: model.StopCalls, Message: m}
		}
		switch {
		case last.Role == model.Result:
			return modeltest.Says("It is " + last.Text)
		case last.Text == intervene.GoOn && r.Messages[len(r.Messages)-2].Text == better:
			return call(anew, "A")
		}
		return call(text, "A", "B")
	}
}

// TestSDKs: the vendors' own clients behind the gateway, streamed and not: a turn that is
// edited is one turn to them, whose call they run, and which they send back; the model goes
// on from there, and the corrector sees the Thought as it was corrected.
func TestSDKs(t *testing.T) {
	for name, c := range map[string]struct {
		peer modeltest.Protocol
		asks program
	}{
		"responses": {modeltest.Responses{}, programResponses}, "chat": {modeltest.Chat{}, programChat},
		"messages": {modeltest.Anthropic{}, programMessages}, "generateContent": {modeltest.Gemini{}, programGenerate},
	} {
		for _, stream := range []bool{true, false} {
			for _, text := range []string{draft, ""} {
				for _, edits := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/streamed=%v/%q/edited=%v", name, stream, text, edits), func(t *testing.T) {
						p := modeltest.Serve(t, modeltest.Options{Protocol: c.peer, Key: secret, Play: agent(text, "As you wish."), Piece: 7})
						seen := &fixed{do: func(_ context.Context, in intervene.Context) (intervene.Correction, error) {
							if edits && len(in.History) == 0 {
								return intervene.Correction{Thought: better}, nil
							}
							return intervene.Correction{Thought: in.Thought}, nil
						}}
						s := front(t, p.URL, seen, gateway.Options{})
						got, err := c.asks(t.Context(), s.base, stream)
						if err != nil {
							t.Fatal(err)
						}
						want := heard{Text: text, Calls: []string{`call_A {"id":"A"}`, `call_B {"id":"B"}`}, Final: `It is {"read":"record of B"}`}
						thought := text
						if edits {
							thought, want.Calls, want.Final = better, want.Calls[:1], `It is {"read":"record of A"}`
							if want.Text = better; stream && text != "" {
								want.Text = text + "\n\n" + gateway.Mark + "\n\n" + better
							}
						}
						if d := cmp.Diff(want, got); d != "" {
							t.Error(d)
						}
						contexts := seen.contexts()
						if len(contexts) != 2 {
							t.Fatalf("the corrector was asked %d times", len(contexts))
						}
						results := []agentbound.Value{agentbound.Value(`{"read":"record of A"}`)}
						if !edits {
							results = append(results, agentbound.Value(`{"read":"record of B"}`))
						}
						now := contexts[1]
						if thought == "" {
							now.History[0].Thought = "" // where it says nothing a protocol may show its reasoning
						}
						if d := cmp.Diff(intervene.Context{Instruction: task, Tools: []string{"read"}, History: []intervene.Turn{{Thought: thought, Observations: results}}, Thought: want.Final}, now); d != "" {
							t.Error(d)
						}
						if raw := fmt.Sprint(contexts); strings.Contains(raw, `"id"`) {
							t.Errorf("the corrector sees arguments: %s", raw)
						}
						if !edits {
							return
						}
						if e := s.entries(t, 1); len(e) != 1 || e[0].Result != gateway.Changed || e[0].Before.Thought != contexts[0].Thought || len(e[0].Before.Calls) != 2 || len(e[0].After.Calls) != 1 {
							t.Errorf("%+v", e)
						}
					})
				}
			}
		}
	}
}
