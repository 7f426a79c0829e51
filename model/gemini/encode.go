package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"google.golang.org/genai"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// noText stands where a message has nothing to send: the protocol takes no empty one.
const noText = "(no text)"

// noSignature is what the vendor takes in place of a thought signature, on calls that did
// not come from it with one (ai.google.dev/gemini-api/docs/thought-signatures).
const noSignature = "skip_thought_signature_validator"

// content is one of the conversation's, as it is sent.
type content struct {
	Role  string            `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

// encode gives the SDK what it has a place for, and has contents and tools put in as they
// are to be sent: the SDK would take schemas and arguments apart.
func (m *Model) encode(r model.Request) (*genai.GenerateContentConfig, error) {
	off := false // one request is one request
	config := &genai.GenerateContentConfig{ThinkingConfig: m.thinking, AutomaticContinuation: &off, HTTPOptions: &genai.HTTPOptions{}}
	if r.MaxTokens > 0 {
		config.MaxOutputTokens = int32(min(r.MaxTokens, math.MaxInt32))
	}
	if r.Temperature != nil {
		t := float32(*r.Temperature)
		config.Temperature = &t
	}
	if r.Seed != nil {
		s := int32(*r.Seed & math.MaxInt32) // what the protocol takes
		config.Seed = &s
	}
	talk := talk{calls: map[string]call{}}
	for _, message := range r.Messages {
		if message.Role == model.System {
			if strings.TrimSpace(message.Text) != "" {
				talk.system = append(talk.system, &genai.Part{Text: message.Text})
			}
			continue
		}
		if err := talk.add(message); err != nil {
			return nil, err
		}
	}
	if len(talk.system) > 0 {
		config.SystemInstruction = &genai.Content{Parts: talk.system}
	}
	declared, err := declarations(r.Tools)
	if err != nil {
		return nil, err
	}
	config.HTTPOptions.ExtrasRequestProvider = func(body map[string]any) map[string]any {
		body["contents"] = talk.contents
		if declared != nil {
			body["tools"] = []any{map[string]any{"functionDeclarations": declared}}
		}
		return body
	}
	return config, nil
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

func declarations(tools []agentbound.Tool) (declared []declaration, err error) {
	for _, t := range tools {
		if !json.Valid(t.Schema) {
			return nil, fmt.Errorf("the schema of tool %s is no JSON", t.Name)
		}
		declared = append(declared, declaration{t.Name, t.Description, json.RawMessage(t.Schema)})
	}
	return declared, nil
}

// talk is a conversation as it is put together: the answers to a message's calls are one
// content.
type talk struct {
	system   []*genai.Part
	contents []content
	calls    map[string]call // by the id that answers name
	results  bool            // the last content holds answers
}

func (t *talk) add(m model.Message) error {
	if m.Role == model.Result {
		answer, err := t.answer(m)
		if err != nil {
			return err
		}
		if !t.results {
			t.contents = append(t.contents, content{Role: genai.RoleUser})
		}
		last := &t.contents[len(t.contents)-1]
		last.Parts, t.results = append(last.Parts, answer), true
		return nil
	}
	t.results = false
	switch m.Role {
	case model.User:
		t.contents = append(t.contents, content{genai.RoleUser, []json.RawMessage{textPart(m.Text)}})
	case model.Assistant:
		parts, err := t.assistant(m)
		if err != nil {
			return err
		}
		t.contents = append(t.contents, content{genai.RoleModel, parts})
	default:
		return fmt.Errorf("role %q is not known", m.Role)
	}
	return nil
}

func textPart(text string) json.RawMessage { return encoded(map[string]string{"text": text}) }

func encoded(v any) json.RawMessage {
	b, _ := agentbound.EncodeJSON(v) // strings, and what is JSON already
	return b
}

// answer is a tool's, under the id that the vendor gave, if it gave one.
func (t *talk) answer(m model.Message) (json.RawMessage, error) {
	c, ok := t.calls[m.CallID]
	if !ok {
		return nil, fmt.Errorf("the answer %q belongs to no call", m.CallID)
	}
	key := "output"
	if m.Failed {
		key = "error"
	}
	var value any = m.Text
	if s := strings.TrimLeft(m.Text, " \t\r\n"); strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		if json.Valid([]byte(s)) {
			value = json.RawMessage(s)
		}
	}
	response := map[string]any{"name": c.Name, "response": map[string]any{key: value}}
	if c.ID != "" {
		response["id"] = c.ID
	}
	return encoded(map[string]any{"functionResponse": response}), nil
}

// assistant is a message of the model's as it goes back. State holds its parts as they
// came, with their signatures; text and calls are taken from the message, which may say
// less or something else by now.
func (t *talk) assistant(m model.Message) ([]json.RawMessage, error) {
	b := builder{message: m}
	var was []json.RawMessage
	if len(m.State) > 0 {
		if err := json.Unmarshal(m.State, &was); err != nil {
			return nil, fmt.Errorf("a message's state is not of this adapter: %w", err)
		}
	}
	parts, err := parsed(was)
	if err != nil {
		return nil, errors.New("a message's state is not of this adapter")
	}
	b.edited = joined(parts, false) != m.Text
	for _, p := range parts {
		b.part(p)
	}
	b.rest(len(was) == 0)
	for i, c := range b.made {
		t.calls[m.Calls[i].ID] = c
	}
	return b.parts, nil
}

type builder struct {
	message model.Message
	edited  bool   // the text is another than the one that came
	said    bool   // the other text has its place
	made    []call // as they are sent, in order
	parts   []json.RawMessage
}

func (b *builder) part(p part) {
	switch {
	case p.Call != nil:
		b.say()
		if len(b.made) < len(b.message.Calls) {
			b.call(p.Call.ID, p.raw, p.Signature)
		}
	case p.Text != nil && !p.Thought && b.edited:
		b.say()
	default:
		b.parts = append(b.parts, p.raw)
	}
}

// say puts the edited text where the first of the texts stood, or before the calls.
func (b *builder) say() {
	if b.edited && !b.said {
		b.said = true
		if strings.TrimSpace(b.message.Text) != "" {
			b.parts = append(b.parts, textPart(b.message.Text))
		}
	}
}

// call puts the next of the calls. As it came it goes back to the byte.
func (b *builder) call(id string, came json.RawMessage, signature string) {
	next := b.message.Calls[len(b.made)]
	c := call{ID: id, Name: sendable(next.Name), Args: object(next.Args)}
	b.made = append(b.made, c)
	if p, err := parse(came); err == nil && p.Call != nil && p.Call.Name == c.Name && same(p.Call.Args, c.Args) {
		b.parts = append(b.parts, came)
		return
	}
	sent := map[string]any{"functionCall": c}
	if signature != "" {
		sent["thoughtSignature"] = signature
	}
	b.parts = append(b.parts, encoded(sent))
}

// rest puts what has no place in State. The calls of a message without one did not come
// from the vendor as they stand: the first says so in place of a signature.
func (b *builder) rest(foreign bool) {
	b.say()
	for len(b.made) < len(b.message.Calls) {
		signature := ""
		if foreign && len(b.made) == 0 {
			signature = noSignature
		}
		b.call(b.message.Calls[len(b.made)].ID, nil, signature)
	}
	if len(b.parts) == 0 {
		b.parts = append(b.parts, textPart(noText))
	}
}

// same compares arguments; none are an empty object.
func same(came, sent json.RawMessage) bool {
	if len(came) == 0 {
		came = json.RawMessage("{}")
	}
	var b bytes.Buffer
	return json.Compact(&b, came) == nil && b.String() == compact(string(sent))
}

// object is a call's arguments as the protocol takes them back: an object. What is none
// goes inside of one.
func object(args string) json.RawMessage {
	var fields map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(args), &fields); {
	case args == "":
		return json.RawMessage("{}")
	case err == nil && fields != nil:
		return json.RawMessage(args)
	}
	return encoded(map[string]string{"malformed": args})
}

// sendable is a name as the protocol allows it: models make names up, and the server
// rejects the whole conversation for one.
func sendable(name string) string {
	name = unsendable.ReplaceAllString(name, "_")
	if !begins.MatchString(name) {
		name = "_" + name
	}
	return name[:min(len(name), 64)]
}

var (
	unsendable = regexp.MustCompile(`[^a-zA-Z0-9_.:-]`)
	begins     = regexp.MustCompile(`^[a-zA-Z_]`)
)
