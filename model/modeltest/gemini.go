package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Gemini is generateContent and streamGenerateContent, as the API's reference has them.
// Options.Reasoning makes a model that thinks and signs what it calls: of each step of an
// unfinished turn it wants the signature back on the first call.
type Gemini struct{}

// Base implements Protocol.
func (Gemini) Base() string { return "" }

var geminiPath = regexp.MustCompile(`^/v1beta/models/([^/:]+):(generateContent|streamGenerateContent)$`)

// Serves implements Protocol.
func (Gemini) Serves(path string) bool { return geminiPath.MatchString(path) }

// Key implements Protocol.
func (Gemini) Key(r *http.Request) (string, bool) {
	key := r.Header.Get("X-Goog-Api-Key")
	return key, key != ""
}

type geminiRequest struct {
	System   *geminiContent  `json:"systemInstruction"`
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Declarations []geminiTool `json:"functionDeclarations"`
	} `json:"tools"`
	Generation struct {
		Temperature *float64 `json:"temperature"`
		Seed        *int64   `json:"seed"`
		MaxTokens   *int     `json:"maxOutputTokens"`
		Thinking    *struct {
			Include bool   `json:"includeThoughts"`
			Budget  *int   `json:"thinkingBudget"`
			Level   string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

type geminiPart struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string                     `json:"id"`
		Name     string                     `json:"name"`
		Response map[string]json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

// Decode implements Protocol.
func (Gemini) Decode(r *http.Request, body []byte, o Options) (asked model.Request, name string, stream bool, err error) {
	path := geminiPath.FindStringSubmatch(r.URL.Path)
	name, stream = path[1], path[2] == "streamGenerateContent"
	if want := map[bool]string{true: "alt=sse"}[stream]; r.URL.RawQuery != want {
		return asked, "", false, fmt.Errorf("the query is %q, want %q", r.URL.RawQuery, want)
	}
	var w geminiRequest
	if err := strict(body, &w); err != nil {
		return asked, "", false, err
	}
	if w.System != nil {
		for i, p := range w.System.Parts {
			if p.Text == nil || *p.Text == "" {
				return asked, "", false, fmt.Errorf("systemInstruction.parts[%d] is no text", i)
			}
			asked.Messages = append(asked.Messages, model.Message{Role: model.System, Text: *p.Text})
		}
	}
	for i, t := range w.Tools {
		for j, d := range t.Declarations {
			if !geminiName.MatchString(d.Name) || !isObjectSchema(d.Schema) {
				return asked, "", false, fmt.Errorf("tools[%d].function_declarations[%d]: name %q, schema %s", i, j, d.Name, d.Schema)
			}
			asked.Tools = append(asked.Tools, agentbound.Tool{Name: d.Name, Description: d.Description, Schema: agentbound.Value(unescaped(d.Schema))})
		}
	}
	c := geminiTalk{signs: o.Reasoning != ""}
	for i, content := range w.Contents {
		if err := number("contents", i, c.content(content)); err != nil {
			return asked, "", false, err
		}
	}
	if err := c.end(); err != nil {
		return asked, "", false, err
	}
	asked.Messages = append(asked.Messages, c.messages...)
	err = w.limits(&asked)
	return asked, name, stream, err
}

// limits are what stands beside the conversation.
func (w geminiRequest) limits(asked *model.Request) error {
	g := w.Generation
	if g.MaxTokens != nil {
		if asked.MaxTokens = *g.MaxTokens; asked.MaxTokens < 1 {
			return errors.New("max_output_tokens must be positive")
		}
	}
	if asked.Temperature = g.Temperature; g.Temperature != nil && (*g.Temperature < 0 || *g.Temperature > 2) {
		return errors.New("temperature outside of 0 to 2")
	}
	if asked.Seed = g.Seed; g.Seed != nil && *g.Seed != int64(int32(*g.Seed)) {
		return errors.New("seed is no int32")
	}
	if t := g.Thinking; t != nil {
		switch {
		case t.Budget != nil && t.Level != "":
			return errors.New("only one of thinking budget and thinking level can be set")
		case !slices.Contains([]string{"", "MINIMAL", "LOW", "MEDIUM", "HIGH"}, t.Level):
			return fmt.Errorf("thinking_level %q", t.Level)
		case t.Budget != nil && *t.Budget < -1:
			return fmt.Errorf("thinking_budget %d", *t.Budget)
		}
	}
	return nil
}

// geminiTalk reads contents one after the other: as many function responses as there
// were calls, of the same names and ids, follow a content with calls at once.
type geminiTalk struct {
	signs    bool
	messages []model.Message
	last     string
	open     []model.ToolCall
	made     int
	unsigned []string // names of first calls that are not signed, in the turn that is not finished
}

func (c *geminiTalk) content(m geminiContent) error {
	switch {
	case len(m.Parts) == 0:
		return errors.New("contents.parts must not be empty")
	case m.Role == "user":
		defer func() { c.last = m.Role }()
		return c.user(m.Parts)
	case m.Role == "model" && c.last != "user":
		return errors.New("a model's content comes after a user's")
	case m.Role == "model":
		defer func() { c.last = m.Role }()
		return c.model(m.Parts)
	}
	return fmt.Errorf("role %q is not valid: user, model", m.Role)
}

func (c *geminiTalk) user(parts []geminiPart) error {
	if len(c.open) > 0 || parts[0].Response != nil {
		return c.answers(parts)
	}
	c.unsigned = nil // a new turn begins
	for i, p := range parts {
		if p.Text == nil || *p.Text == "" || p.Thought || p.Signature != "" || p.Call != nil || p.Response != nil {
			return fmt.Errorf("parts[%d] is no text of a user", i)
		}
		c.messages = append(c.messages, model.Message{Role: model.User, Text: *p.Text})
	}
	return nil
}

func (c *geminiTalk) answers(parts []geminiPart) error {
	if len(parts) != len(c.open) {
		return errors.New("the number of function response parts is not equal to the number of function call parts of the function call turn")
	}
	for i, p := range parts {
		want := c.open[i].ID
		if strings.HasPrefix(want, noID) {
			want = ""
		}
		if p.Response == nil || p.Text != nil || p.Call != nil || p.Response.Name != c.open[i].Name || p.Response.ID != want {
			return fmt.Errorf("parts[%d] does not answer the call of %s", i, c.open[i].Name)
		}
		output, failed := p.Response.Response["output"], false
		if output == nil {
			output, failed = p.Response.Response["error"], true
		}
		if output == nil || len(p.Response.Response) != 1 {
			return fmt.Errorf("parts[%d] has neither output nor error, or more", i)
		}
		text := unescaped(output)
		if plain := ""; json.Unmarshal(output, &plain) == nil {
			text = plain
		}
		c.messages = append(c.messages, model.Message{Role: model.Result, CallID: c.open[i].ID, Tool: c.open[i].Name, Text: text, Failed: failed})
	}
	c.open = nil
	return nil
}

// noID begins the ids that calls without one are told by here.
const noID = "\x00"

func (c *geminiTalk) model(parts []geminiPart) error {
	m := model.Message{Role: model.Assistant}
	for i, p := range parts {
		switch {
		case p.Response != nil:
			return fmt.Errorf("parts[%d] is a function response of the model's", i)
		case p.Text != nil && p.Thought:
			m.Reasoning += *p.Text
		case p.Text != nil && (*p.Text != "" || p.Signature != ""):
			m.Text += *p.Text
		case p.Call == nil || !geminiName.MatchString(p.Call.Name) || !object(p.Call.Args):
			return fmt.Errorf("parts[%d] is no part of the model's: %+v", i, p.Call)
		default:
			if len(m.Calls) == 0 && c.signs && p.Signature != "skip_thought_signature_validator" {
				switch p.Signature {
				case "":
					c.unsigned = append(c.unsigned, p.Call.Name)
				case signature("call", p.Call.Name, unescaped(p.Call.Args)):
				default:
					return errors.New("thought signature is not valid")
				}
			}
			c.made++
			id := p.Call.ID
			if id == "" {
				id = fmt.Sprint(noID, c.made)
			}
			m.Calls = append(m.Calls, model.ToolCall{ID: id, Name: p.Call.Name, Args: unescaped(p.Call.Args)})
		}
	}
	c.open, c.messages = m.Calls, append(c.messages, m)
	return nil
}

func (c *geminiTalk) end() error {
	switch {
	case len(c.messages) == 0 || c.last == "model":
		return errors.New("the contents end with the user's")
	case len(c.unsigned) > 0:
		return fmt.Errorf("function call is missing a thought_signature in functionCall parts: %s", c.unsigned[0])
	}
	return nil
}

// Encode implements Protocol.
func (Gemini) Encode(name string, o Options, answer model.Response) map[string]any {
	m := answer.Message
	parts := []any{}
	if o.Reasoning != "" && m.Reasoning != "" {
		parts = append(parts, map[string]any{"text": m.Reasoning, "thought": true})
	}
	if m.Text != "" {
		text := map[string]any{"text": m.Text}
		if o.Reasoning != "" && len(m.Calls) == 0 {
			text["thoughtSignature"] = signature("text", m.Text)
		}
		parts = append(parts, text)
	}
	for i, c := range m.Calls {
		part := map[string]any{"functionCall": map[string]any{"id": c.ID, "name": c.Name, "args": written(c.Args)}}
		if o.Reasoning != "" && i == 0 {
			args, _ := agentbound.EncodeJSON(written(c.Args))
			part["thoughtSignature"] = signature("call", c.Name, string(args))
		}
		parts = append(parts, part)
	}
	candidate := map[string]any{
		"content": map[string]any{"role": "model", "parts": parts}, "index": 0,
		"finishReason": map[model.Stop]string{model.StopEnd: "STOP", model.StopCalls: "STOP", model.StopLength: "MAX_TOKENS", model.StopRefusal: "SAFETY"}[answer.Stop],
	}
	if answer.Refusal != "" {
		candidate["finishMessage"] = answer.Refusal
	}
	u := answer.Usage
	return map[string]any{
		"candidates": []any{candidate}, "modelVersion": name + "-served", "responseId": "1",
		"usageMetadata": map[string]any{
			"promptTokenCount": u.Input, "cachedContentTokenCount": u.Cached, "candidatesTokenCount": u.Output - u.Reasoning,
			"thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.Input + u.Output,
		},
	}
}

// Stream implements Protocol. Each chunk is an answer of the same form; texts are cut,
// calls are not, and the last chunk says why it ended.
func (Gemini) Stream(answer map[string]any) []string {
	var events []string
	send := func(chunk map[string]any) {
		data, _ := agentbound.EncodeJSON(chunk)
		events = append(events, fmt.Sprintf("data: %s\r\n\r\n", data))
	}
	candidates, _ := answer["candidates"].([]any)
	if len(candidates) == 0 {
		send(answer)
		return events
	}
	whole := candidates[0].(map[string]any)
	content, _ := whole["content"].(map[string]any)
	parts, _ := content["parts"].([]any)
	for _, p := range parts {
		for _, piece := range geminiPieces(p.(map[string]any)) {
			send(map[string]any{
				"candidates":   []any{map[string]any{"content": map[string]any{"role": "model", "parts": []any{piece}}, "index": 0}},
				"modelVersion": answer["modelVersion"], "usageMetadata": map[string]any{"promptTokenCount": 1},
			})
		}
	}
	last := map[string]any{"content": map[string]any{"role": "model", "parts": []any{map[string]any{"text": ""}}}}
	for k, v := range whole {
		if k != "content" {
			last[k] = v
		}
	}
	end := map[string]any{"candidates": []any{last}}
	for k, v := range answer {
		if k != "candidates" {
			end[k] = v
		}
	}
	send(end)
	return events
}

// geminiPieces are a part as a stream has it; the signature comes with the last.
func geminiPieces(part map[string]any) (cut []map[string]any) {
	text, ok := part["text"].(string)
	if !ok {
		return []map[string]any{part}
	}
	for _, p := range pieces(text) {
		piece := map[string]any{"text": p}
		if part["thought"] != nil {
			piece["thought"] = part["thought"]
		}
		cut = append(cut, piece)
	}
	if s := part["thoughtSignature"]; s != nil && len(cut) > 0 {
		cut[len(cut)-1]["thoughtSignature"] = s
	}
	return cut
}

// Fail implements Protocol: a google.rpc.Status. A wrong key is a wrong argument there.
func (Gemini) Fail(w http.ResponseWriter, status int, code, message string) {
	statuses := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
		500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}
	failure := map[string]any{}
	if code == "invalid_api_key" {
		status, message = http.StatusBadRequest, "API key not valid. Please pass a valid API key."
		failure["details"] = []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}}
	}
	failure["code"], failure["message"], failure["status"] = status, message, statuses[status]
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": failure})
}
