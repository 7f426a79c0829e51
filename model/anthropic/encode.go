package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

type content = anthropic.ContentBlockParamUnion

// noText stands where an assistant's message has nothing to send: the protocol takes no
// empty one.
const noText = "(no text)"

func (m *Model) encode(r model.Request) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: m.at.Model, MaxTokens: DefaultMaxTokens}
	if r.MaxTokens > 0 {
		p.MaxTokens = min(int64(r.MaxTokens), mostTokens)
	}
	m.thinking.set(&p)
	var turns turns
	for _, message := range r.Messages {
		if message.Role == model.System {
			if !blank(message.Text) {
				p.System = append(p.System, anthropic.TextBlockParam{Text: message.Text})
			}
			continue
		}
		if err := turns.add(message); err != nil {
			return p, err
		}
	}
	p.Messages = turns.messages()
	for _, t := range r.Tools {
		if !json.Valid(t.Schema) {
			return p, fmt.Errorf("the schema of tool %s is no JSON", t.Name)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(t.Schema)),
		}})
	}
	return p, nil
}

// turns are what user and assistant say in turn: what one of them says in a row, the
// answers to calls above all, is one message of the protocol.
type turns []struct {
	assistant bool
	blocks    []content
}

func (t *turns) add(m model.Message) error {
	var blocks []content
	switch m.Role {
	case model.User:
		blocks = []content{anthropic.NewTextBlock(m.Text)}
	case model.Result:
		blocks = []content{result(m)}
	case model.Assistant:
		var err error
		if blocks, err = assistant(m); err != nil {
			return err
		}
	default:
		return fmt.Errorf("role %q is not known", m.Role)
	}
	if n := len(*t); n > 0 && (*t)[n-1].assistant == (m.Role == model.Assistant) {
		(*t)[n-1].blocks = append((*t)[n-1].blocks, blocks...)
		return nil
	}
	*t = append(*t, struct {
		assistant bool
		blocks    []content
	}{m.Role == model.Assistant, blocks})
	return nil
}

func (t turns) messages() (messages []anthropic.MessageParam) {
	for _, turn := range t {
		if turn.assistant {
			messages = append(messages, anthropic.NewAssistantMessage(turn.blocks...))
			continue
		}
		messages = append(messages, anthropic.NewUserMessage(turn.blocks...))
	}
	return messages
}

func result(m model.Message) content {
	block := anthropic.ToolResultBlockParam{ToolUseID: m.CallID}
	if !blank(m.Text) {
		block.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: m.Text}}}
	}
	if m.Failed {
		block.IsError = anthropic.Bool(true)
	}
	return content{OfToolResult: &block}
}

// assistant is a message of the model's as it goes back. State says in which order its
// parts stood and holds those that are to come back as they were; text and calls are
// taken from the message, which may say less or something else by now.
func assistant(m model.Message) ([]content, error) {
	var was []part
	if len(m.State) > 0 {
		if err := json.Unmarshal(m.State, &was); err != nil {
			return nil, fmt.Errorf("a message's state is not of this adapter: %w", err)
		}
	}
	b := builder{message: m, edited: joined(was) != m.Text}
	for _, p := range was {
		b.part(p)
	}
	b.rest()
	return b.blocks, nil
}

// part is one block of a message in State: as it came, or a text, or the place of a call.
type part struct {
	AsCame json.RawMessage `json:"as_came,omitempty"`
	Text   string          `json:"text,omitempty"`
	Call   bool            `json:"call,omitempty"`
}

// joined is the text of a message: blocks in a row run on, others are paragraphs.
func joined(parts []part) string {
	var b strings.Builder
	apart := false
	for _, p := range parts {
		if p.Text == "" {
			apart = true
			continue
		}
		if apart && b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(p.Text)
		apart = false
	}
	return b.String()
}

type builder struct {
	message model.Message
	edited  bool // the text is another than the one that came
	said    bool // the other text has its place
	calls   int  // that have theirs
	blocks  []content
}

func (b *builder) part(p part) {
	switch {
	case p.AsCame != nil:
		b.blocks = append(b.blocks, param.Override[content](p.AsCame))
	case p.Call:
		b.say()
		b.call()
	case b.edited:
		b.say()
	default:
		b.text(p.Text)
	}
}

// say puts the edited text where the first of the texts stood, or before the calls.
func (b *builder) say() {
	if b.edited && !b.said {
		b.said = true
		b.text(b.message.Text)
	}
}

func (b *builder) text(s string) {
	if !blank(s) {
		b.blocks = append(b.blocks, anthropic.NewTextBlock(s))
	}
}

func (b *builder) call() {
	if b.calls == len(b.message.Calls) {
		return
	}
	c := b.message.Calls[b.calls]
	b.calls++
	b.blocks = append(b.blocks, anthropic.NewToolUseBlock(c.ID, object(c.Args), sendable(c.Name)))
}

func (b *builder) rest() {
	b.say()
	for b.calls < len(b.message.Calls) {
		b.call()
	}
	if len(b.blocks) == 0 {
		b.text(noText)
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// asCame are blocks sent back unchanged.
func asCame(blocks []block) (sent []content) {
	for _, b := range blocks {
		sent = append(sent, param.Override[content](b.raw))
	}
	return sent
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
	b, _ := agentbound.EncodeJSON(map[string]string{"malformed": args}) // strings encode
	return b
}

// compact is arguments without the white space that a stream has and a whole answer has
// not, so that both give one turn. What is no JSON stays as it is.
func compact(args string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(args)) != nil {
		return args
	}
	return b.String()
}

// sendable is a name as the protocol allows it: models make names up, and the server
// rejects the whole conversation for one.
func sendable(name string) string {
	name = unsendable.ReplaceAllString(name, "_")
	if name == "" {
		return "_"
	}
	return name[:min(len(name), 128)]
}

var unsendable = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
