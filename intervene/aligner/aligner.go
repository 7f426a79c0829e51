// Package aligner is the corrector that asks a served language model, by a prompt of ours
// and in a form that a checkpoint trained for it serves as well (specification §8). Its
// baseline is the same model in the same form with short instructions only.
package aligner

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/model"
)

// Kind is which instructions the model gets; the names are those of --intervene.
type Kind string

// Ours has the two-sided rule of specification §8. Untrained is its baseline: the same
// form, and instructions in two sentences.
const (
	Ours      Kind = "aligner"
	Untrained Kind = "untrained"
)

// version changes with the form of questions and answers, and with what is made of them;
// the prompts' words have a digest of their own.
const version = "1"

// Options decide how the model is asked. All of them are part of the column's settings.
type Options struct {
	Kind      Kind
	Model     model.Model
	History   int // bytes of the history that is shown, see intervene.Context.Within; 0: 32 KiB
	MaxTokens int // of one answer; 0: the provider's own
}

// defaultHistory leaves room in a window of 16k tokens.
const defaultHistory = 32 << 10

// Corrector asks the model. It implements intervene.Corrector.
type Corrector struct {
	o      Options
	prompt string
}

// New checks the options.
func New(o Options) (*Corrector, error) {
	switch {
	case o.Kind != Ours && o.Kind != Untrained:
		return nil, fmt.Errorf("aligner: kind %q is not known; accepted: %s, %s", o.Kind, Ours, Untrained)
	case o.Model == nil:
		return nil, fmt.Errorf("%s: it needs a model", o.Kind)
	case o.History < 0 || o.MaxTokens < 0:
		return nil, fmt.Errorf("%s: history and tokens cannot be negative", o.Kind)
	case o.History == 0:
		o.History = defaultHistory
	}
	return &Corrector{o, part(string(o.Kind)) + part("form")}, nil
}

//go:embed prompt/*.md
var prompts embed.FS

func part(name string) string {
	b, err := prompts.ReadFile("prompt/" + name + ".md")
	if err != nil { // it is embedded
		panic(err)
	}
	return string(b)
}

// Ref is the column as plans hold it.
func (a *Corrector) Ref() agentbound.Intervention {
	ref := a.o.Model.Ref()
	settings := map[string]string{
		"prompt": string(agentbound.DigestBytes([]byte(a.prompt)))[:12], "history": strconv.Itoa(a.o.History),
		"temperature": "0", "seed": "trial", "max_tokens": "default",
	}
	if a.o.MaxTokens > 0 {
		settings["max_tokens"] = strconv.Itoa(a.o.MaxTokens)
	}
	for k, v := range ref.Settings { // what a model cannot take, it says itself
		settings[k] = v
	}
	return agentbound.Intervention{Name: string(a.o.Kind) + ":" + ref.Name, Version: version, Settings: settings}
}

// Model is the model that is asked.
func (a *Corrector) Model() model.Model { return a.o.Model }

// Calls is how many model calls one decision takes at most.
func (a *Corrector) Calls() int { return 1 + again }

// again is how often an answer that does not have the form is sent back.
const again = 1

// Correct implements intervene.Corrector. An answer that cannot be read after one more
// asking is an error, and so is a provider's refusal: neither stands for a Thought that
// was looked at and kept.
func (a *Corrector) Correct(ctx context.Context, c intervene.Context) (intervene.Correction, error) {
	out := intervene.Correction{Thought: c.Thought}
	r := a.request(ctx, c)
	for left := again; ; left-- {
		res, err := a.o.Model.Chat(ctx, r)
		if err != nil {
			return out, err
		}
		out.Usage = out.Usage.Add(res.Spent())
		if res.Stop == model.StopRefusal {
			return out, fmt.Errorf("%s: the provider refused or filtered the corrector's turn", a.o.Model.Ref().Name)
		}
		thought, err := read(res, c.Thought)
		if err == nil {
			out.Thought = thought
			return out, nil
		}
		if left == 0 {
			return out, fmt.Errorf("%s: no answer in the form that was asked for, after %d: %w", a.o.Model.Ref().Name, 1+again, err)
		}
		r.Messages = append(r.Messages, sentBack(res), model.Message{Role: model.User, Text: "Your answer does not have the form that was asked for: " +
			err.Error() + ". Look at the same lines again, and answer KEEP, or REVISE: and the whole new thought, and nothing else."})
	}
}

func (a *Corrector) request(ctx context.Context, c intervene.Context) model.Request {
	return model.Request{
		Messages:    []model.Message{{Role: model.System, Text: a.prompt}, {Role: model.User, Text: lines(c, a.o.History)}},
		Temperature: new(float64), Seed: model.SeedOf(ctx), MaxTokens: a.o.MaxTokens,
	}
}

// lines is all that the model is shown: a label and one JSON value a line, so that no
// value can pass for another line.
func lines(c intervene.Context, most int) string {
	var b strings.Builder
	line := func(label string, v any) {
		enc, err := agentbound.EncodeJSON(v)
		if err != nil { // an observation that is no JSON
			enc = agentbound.StringValue(fmt.Sprint(v))
		}
		fmt.Fprintf(&b, "%s: %s\n", label, enc)
	}
	all := len(c.History)
	shown, cut := c.Within(most)
	line("instruction", shown.Instruction)
	line("tools", shown.Tools)
	if cut != (intervene.Cut{}) {
		line("cut", fmt.Sprintf("the history was too long: its oldest %d steps are left out, and %d older values are shortened", cut.Turns, cut.Values))
	}
	for i, turn := range shown.History {
		step := fmt.Sprintf("[step %d] ", all-len(shown.History)+i)
		line(step+"thought", turn.Thought)
		for _, o := range turn.Observations {
			line(step+"observation", o)
		}
	}
	line("next thought", shown.Thought)
	return b.String()
}

// The two forms of an answer.
const (
	keep   = "KEEP"
	revise = "REVISE:"
)

// read takes a turn apart. A Thought that is kept comes back to the letter.
func read(res model.Response, draft string) (string, error) {
	text := strings.TrimSpace(res.Message.Text)
	thought, revised := strings.CutPrefix(text, revise)
	thought = strings.TrimSpace(thought)
	switch {
	case len(res.Message.Calls) > 0:
		return "", errors.New("there are no tools to call")
	case res.Stop == model.StopLength:
		return "", errors.New("it was cut at its limit of tokens; answer in fewer words")
	case text == keep:
		return draft, nil
	case text == "":
		return "", errors.New("it is empty")
	case !revised:
		return "", errors.New("it begins neither with REVISE: nor with KEEP, alone")
	case thought == "" || thought == keep || strings.Contains(thought, revise):
		return "", errors.New("after REVISE: comes the whole new thought, once, and nothing else")
	case thought == strings.TrimSpace(draft):
		return draft, nil
	}
	return strings.ToValidUTF8(thought, "\uFFFD"), nil
}

// sentBack is the model's turn as it is sent back: without calls, which it was given no
// tools for, and never empty, which servers refuse.
func sentBack(res model.Response) model.Message {
	m := res.Message
	if len(m.Calls) > 0 {
		return model.Message{Role: model.Assistant, Text: "(a call)"}
	}
	if strings.TrimSpace(m.Text) == "" {
		m.Text = "(nothing)"
	}
	return m
}
