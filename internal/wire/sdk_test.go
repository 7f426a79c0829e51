package wire_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model/modeltest"
)

// program asks once in the way of a vendor's SDK, by its stream, and gives what the SDK
// makes of it: its text, its reasoning, its calls, and why it ended.
type program func(ctx context.Context, base string) (string, error)

const saidForm = "%s|%s|%v|%s"

func vendors() map[string]struct {
	peer modeltest.Protocol
	asks program
} {
	type vendor = struct {
		peer modeltest.Protocol
		asks program
	}
	return map[string]vendor{
		"responses": {modeltest.Responses{}, asksResponses}, "chat": {modeltest.Chat{}, asksChat},
		"messages": {modeltest.Anthropic{}, asksMessages}, "generateContent": {modeltest.Gemini{}, asksGenerate},
	}
}

func asksResponses(ctx context.Context, base string) (string, error) {
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(dummyKey), option.WithMaxRetries(0))
	stream := client.Responses.NewStreaming(ctx, responses.ResponseNewParams{
		Model: "test-model", Store: param.NewOpt(false), Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage("hi", "user")}},
	})
	defer stream.Close()
	text, calls, stop, thoughts := "", []string{}, "", ""
	for stream.Next() {
		// As programs do that act on events, and as those do that wait for the response.
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			thoughts += e.Delta
		case responses.ResponseOutputItemDoneEvent:
			if e.Item.Type == "function_call" {
				calls = append(calls, e.Item.CallID+e.Item.Name+e.Item.Arguments.OfString)
			}
		case responses.ResponseCompletedEvent:
			stop = string(e.Response.Status)
			if e.Response.OutputText() != text {
				stop = "the response says " + e.Response.OutputText()
			}
		}
	}
	return fmt.Sprintf(saidForm, text, thoughts, calls, stop), stream.Err()
}

func asksChat(ctx context.Context, base string) (string, error) {
	client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(dummyKey), option.WithMaxRetries(0))
	stream := client.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{
		Model: "test-model", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	})
	defer stream.Close()
	var whole openai.ChatCompletionAccumulator
	thoughts := ""
	for stream.Next() {
		chunk := stream.Current()
		if !whole.AddChunk(chunk) {
			return "", fmt.Errorf("the SDK does not take %s", chunk.RawJSON())
		}
		for _, c := range chunk.Choices {
			thoughts += plainText(c.Delta.JSON.ExtraFields["reasoning_content"].Raw())
		}
	}
	if len(whole.Choices) == 0 {
		return "", stream.Err()
	}
	m, calls := whole.Choices[0].Message, []string{}
	for _, c := range m.ToolCalls {
		calls = append(calls, c.ID+c.Function.Name+c.Function.Arguments)
	}
	return fmt.Sprintf(saidForm, m.Content, thoughts, calls, whole.Choices[0].FinishReason), stream.Err()
}

func asksMessages(ctx context.Context, base string) (string, error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(base), anthropicoption.WithAPIKey(dummyKey), anthropicoption.WithMaxRetries(0))
	stream := client.Messages.NewStreaming(ctx, anthropic.MessageNewParams{
		Model: "test-model", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))},
	})
	defer stream.Close()
	var whole anthropic.Message
	for stream.Next() {
		if err := whole.Accumulate(stream.Current()); err != nil {
			return "", err
		}
	}
	text, thoughts, calls := "", "", []string{}
	for _, b := range whole.Content {
		text, thoughts = text+b.Text, thoughts+b.Thinking
		if b.Type == "tool_use" {
			calls = append(calls, b.ID+b.Name+string(b.Input))
		}
		if b.Type == "thinking" && b.Signature == "" {
			thoughts += " unsigned"
		}
	}
	return fmt.Sprintf(saidForm, text, thoughts, calls, whole.StopReason), stream.Err()
}

func asksGenerate(ctx context.Context, base string) (string, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: dummyKey, HTTPClient: &http.Client{}, HTTPOptions: genai.HTTPOptions{BaseURL: base + "/", APIVersion: "v1beta"},
	})
	if err != nil {
		return "", err
	}
	text, thoughts, calls, stop := "", "", []string{}, ""
	for chunk, err := range client.Models.GenerateContentStream(ctx, "test-model", genai.Text("hi"), nil) {
		if err != nil {
			return "", err
		}
		for _, p := range chunk.Candidates[0].Content.Parts {
			switch {
			case p.FunctionCall != nil:
				calls = append(calls, fmt.Sprint(p.FunctionCall.ID, p.FunctionCall.Name, p.FunctionCall.Args, len(p.ThoughtSignature) > 0))
			case p.Thought:
				thoughts += p.Text
			default:
				text += p.Text
			}
		}
		stop = string(chunk.Candidates[0].FinishReason)
	}
	return fmt.Sprintf(saidForm, text, thoughts, calls, stop), nil
}

func plainText(raw string) (s string) {
	_, _ = fmt.Sscanf(raw, "%q", &s)
	return s
}

// TestVendorsClients: vendors' own clients, by their streams, read from the proxy what
// they read from the server; and where a turn was edited, the turn that it became.
func TestVendorsClients(t *testing.T) {
	for name, v := range vendors() {
		reasoning := "reasoning_content"
		asks := func(edit *wire.Edit) string {
			t.Helper()
			p := modeltest.Serve(t, modeltest.Options{Protocol: v.peer, Key: realKey, Play: reads("I read both."), Reasoning: reasoning, Piece: 5})
			var o wire.Options
			if edit != nil {
				o.Edit = func(context.Context, wire.Turn) (wire.Edit, error) { return *edit, nil }
			}
			said, err := v.asks(t.Context(), front(t, p.URL, o))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return said
		}
		direct := modeltest.Serve(t, modeltest.Options{Protocol: v.peer, Key: dummyKey, Play: reads("I read both."), Reasoning: reasoning})
		want, err := v.asks(t.Context(), direct.URL)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var text, thoughts, calls, stop string
		parts := [](*string){&text, &thoughts, &calls, &stop}
		for i, part := range splitBars(want) {
			*parts[i] = part
		}
		if text != "I read both." || thoughts != "hm “é”" || len(calls) < 10 {
			t.Fatalf("%s: %s", name, want)
		}
		if got := asks(nil); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := asks(&wire.Edit{}); got != want {
			t.Errorf("%s, kept: %s, want %s", name, got, want)
		}
		if got := asks(&wire.Edit{Thought: thought("I wait. “So.”\n")}); got != fmt.Sprintf(saidForm, "I wait. “So.”\n", thoughts, calls, stop) {
			t.Errorf("%s, edited: %s", name, got)
		}
		// The text flows; a turn that is changed goes on with the answer to a second request.
		goes := func(o wire.Options, play modeltest.Player) string {
			t.Helper()
			p := modeltest.Serve(t, modeltest.Options{Protocol: v.peer, Key: realKey, Play: play, Reasoning: reasoning, Piece: 5})
			o.Flow = true
			said, err := v.asks(t.Context(), front(t, p.URL, o))
			if err != nil {
				t.Errorf("%s, flowing: %v", name, err)
			}
			return said
		}
		if got := goes(wire.Options{Edit: func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, nil }}, reads("I read both.")); got != want {
			t.Errorf("%s, flowing and kept: %s, want %s", name, got, want)
		}
		var seen []wire.Turn
		got := splitBars(goes(wire.Options{Edit: corrects(&seen, goesOn)}, replays("I read both.", "As I said.")))
		if !strings.HasPrefix(got[0], "I read both."+mark+corrected) || !strings.HasSuffix(got[0], "As I said.") || !strings.Contains(got[2], "c") || strings.Contains(got[2], "Ä") || got[3] != stop {
			t.Errorf("%s, going on: %q", name, got)
		}
		ends := map[string]string{"responses": "completed", "chat": "stop", "messages": "end_turn", "generateContent": "STOP"}[name]
		if got := asks(&wire.Edit{Withhold: true}); got != fmt.Sprintf(saidForm, text, thoughts, "[]", ends) {
			t.Errorf("%s, withheld: %s", name, got)
		}
	}
}

func splitBars(s string) (parts []string) {
	start := 0
	for i := range len(s) {
		if s[i] == '|' {
			parts, start = append(parts, s[start:i]), i+1
		}
	}
	return append(parts, s[start:])
}
