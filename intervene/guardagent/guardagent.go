// Package guardagent is the gate that writes a program for each call, after GuardAgent
// (Xiang et al., GuardAgent: Safeguard LLM Agents by a Guard Agent via Knowledge-Enabled
// Reasoning, arXiv:2406.09187): a model says what the task is and plans the check, with
// the nearest examples of a memory before it; it writes guard code; the code is executed
// and decides, and where it breaks it goes back to be mended. Prompts, examples and the
// language are ours: the code is Starlark with limits, without input and output, where
// the original runs Python.
package guardagent

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

// Name begins the name of the column.
const Name = "guardagent"

// version changes with the steps, with what code may do and with what is made of it; the
// words of prompts and memory have a digest of their own.
const version = "1"

// Bounds of one decision.
const (
	examples = 2 // of the memory
	rounds   = 3 // of mending
)

// Options decide how the model is asked. All of them are part of the column's settings.
type Options struct {
	Model     model.Model
	History   int // bytes of the history that is shown, see intervene.Context.Within; 0: 24 KiB
	MaxTokens int // of one answer; 0: the provider's own
}

// defaultHistory leaves room for the examples in a window of 16k tokens.
const defaultHistory = 24 << 10

// Gate asks the model. It implements intervene.Gate.
type Gate struct{ o Options }

// New checks the options.
func New(o Options) (*Gate, error) {
	switch {
	case o.Model == nil:
		return nil, fmt.Errorf("%s: it needs a model", Name)
	case o.History < 0 || o.MaxTokens < 0:
		return nil, fmt.Errorf("%s: history and tokens cannot be negative", Name)
	case o.History == 0:
		o.History = defaultHistory
	}
	return &Gate{o}, nil
}

//go:embed prompt/*.md
var prompts embed.FS

func prompt(name string) string { return embedded(prompts, "prompt/"+name+".md") }

func embedded(fs embed.FS, path string) string {
	b, err := fs.ReadFile(path)
	if err != nil { // it is embedded
		panic(err)
	}
	return string(b)
}

// Ref is the column as plans hold it.
func (g *Gate) Ref() agentbound.Intervention {
	ref := g.o.Model.Ref()
	settings := map[string]string{
		"prompt": string(agentbound.DigestJSON([]string{prompt("plan"), prompt("code")}))[:12], "memory": memoryDigest(),
		"examples": strconv.Itoa(examples), "rounds": strconv.Itoa(rounds), "history": strconv.Itoa(g.o.History),
		"temperature": "0", "seed": "trial", "max_tokens": "default",
	}
	if g.o.MaxTokens > 0 {
		settings["max_tokens"] = strconv.Itoa(g.o.MaxTokens)
	}
	for k, v := range ref.Settings { // what a model cannot take, it says itself
		settings[k] = v
	}
	return agentbound.Intervention{Name: Name + ":" + ref.Name, Version: version, Settings: settings}
}

// Model is the model that is asked.
func (g *Gate) Model() model.Model { return g.o.Model }

// Calls is how many model calls one decision takes at most.
func (g *Gate) Calls() int { return 2 + rounds }

// Allow implements intervene.Gate. The decision holds the code that made it. Code that
// still breaks after the last round of mending is an error, and so is a provider's
// refusal: neither is a call that was looked at and allowed.
func (g *Gate) Allow(ctx context.Context, p intervene.Proposal) (agentbound.GateDecision, error) {
	w := &work{gate: g, decision: agentbound.GateDecision{By: Name, Usage: &agentbound.Usage{}}}
	c, err := newCase(p, g.o.History)
	if err == nil {
		err = w.decide(ctx, c, nearest(c))
	}
	if err != nil {
		w.decision.Allowed = false
		return w.decision, fmt.Errorf("%s: %w", g.o.Model.Ref().Name, err)
	}
	return w.decision, nil
}

// work is one decision in the making.
type work struct {
	gate     *Gate
	request  model.Request
	decision agentbound.GateDecision
}

func (w *work) decide(ctx context.Context, c guarded, like []example) error {
	w.request = model.Request{
		Messages:    []model.Message{{Role: model.System, Text: prompt("plan")}},
		Temperature: new(float64), Seed: model.SeedOf(ctx), MaxTokens: w.gate.o.MaxTokens,
	}
	if _, err := w.ask(ctx, planned(c, like)); err != nil {
		return fmt.Errorf("the plan: %w", err)
	}
	question := coded(like)
	for left := rounds; ; left-- {
		text, err := w.ask(ctx, question)
		if err != nil {
			return fmt.Errorf("the guard code: %w", err)
		}
		v, err := w.execute(ctx, text, c)
		if err == nil {
			w.decision.Allowed, w.decision.Reason = v.Allow, v.Reason
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if left == 0 {
			return fmt.Errorf("the guard code still fails after %d rounds of mending: %w", rounds, err)
		}
		question = "The program does not decide: " + err.Error() + "\n\nMend it, and answer with the whole program alone, in one block as before."
	}
}

// planned is the question for task and plan: the nearest examples, and then the case.
func planned(c guarded, like []example) string {
	var b strings.Builder
	for i, e := range like {
		fmt.Fprintf(&b, "# Example %d, from another place\n\n%s\n\n## Task and plan of example %d\n\n%s\n", i+1, e.shown, i+1, e.plan)
	}
	fmt.Fprintf(&b, "# The case\n\n%s\n", c.encoded)
	return b.String()
}

// coded is the question for the code.
func coded(like []example) string {
	text := prompt("code")
	for i, e := range like {
		text += fmt.Sprintf("\nThe program of example %d:\n\n```python\n%s```\n", i+1, e.code)
	}
	return text
}

// ask puts a question at the end of the conversation, and the answer after it.
func (w *work) ask(ctx context.Context, question string) (string, error) {
	w.request.Messages = append(w.request.Messages, model.Message{Role: model.User, Text: question})
	res, err := w.gate.o.Model.Chat(ctx, w.request)
	if err != nil {
		return "", err
	}
	*w.decision.Usage = w.decision.Usage.Add(res.Spent())
	if res.Stop == model.StopRefusal {
		return "", errors.New("the provider refused or filtered the guard's turn")
	}
	said := res.Message
	if text := strings.TrimSpace(said.Text); text == "" || len(said.Calls) > 0 { // servers refuse an empty turn, and open calls
		said = model.Message{Role: model.Assistant, Text: "(nothing)"}
	}
	w.request.Messages = append(w.request.Messages, said)
	return said.Text, nil
}
