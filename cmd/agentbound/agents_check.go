package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/agent/preset"
	"github.com/agentbound/agentbound/model"
)

// checked is what --check found of an agent. It holds nothing secret.
type checked struct {
	Answers  bool   `json:"answers"`
	Key      string `json:"key"`               // set, missing or not needed
	Endpoint string `json:"endpoint"`          // reached, not reached or not asked
	Program  string `json:"program,omitempty"` // the version that an agent program told of itself
	Served   string `json:"served,omitempty"`
	MS       int64  `json:"ms,omitempty"`
	Tools    string `json:"tools,omitempty"` // called, not called, or rejected; empty: not asked, or not clear
	Why      string `json:"why,omitempty"`   // where it does not answer, or rejects tools
}

func (c checked) String() string {
	program := ""
	if c.Program != "" {
		program = "; starts as " + plainLine(c.Program)
	}
	if !c.Answers {
		return "no: " + c.Why + program
	}
	as := ""
	if c.Served != "" {
		as = fmt.Sprintf(" as %s", plainLine(c.Served))
	}
	calls := ""
	switch c.Tools {
	case toolsCalled:
		calls = "; calls tools"
	case toolsLeft:
		calls = "; called no tool when told to: is tool calling on at the server?" + c.without(" ")
	case toolsRejected:
		calls = "; rejects tools: " + plainLine(c.Why) + c.without("; ")
	}
	return fmt.Sprintf("answers%s, in %s%s%s", as, (time.Duration(c.MS) * time.Millisecond).Round(time.Millisecond), calls, program)
}

// without names the form that needs no tools, after a mark; an agent program's form is its
// own to decide.
func (c checked) without(mark string) string {
	if c.Program != "" {
		return ""
	}
	return mark + "--form react needs none"
}

const (
	// checkTime is how long a model may take to answer the question.
	checkTime = 30 * time.Second
	// checkTokens is room for the answer: the least that all providers take, and enough
	// to tell that a model speaks.
	checkTokens = 16
	// callTokens is room for a call, with some reasoning before it.
	callTokens = 1024
)

// What came of the question for a call.
const (
	toolsCalled   = "called"
	toolsLeft     = "not called"
	toolsRejected = "rejected"
)

// check asks one agent one short question, once.
func (r rooms) check(ctx context.Context, row agentRow) checked {
	c := checked{Key: "not needed", Endpoint: "not asked"}
	if row.Kind == string(preset.Harness) {
		return r.checkHarness(ctx, row)
	}
	if row.Kind != string(preset.Model) {
		c.Why = "only models and agent programs can be checked; to try another agent: agentbound run --limit 1"
		return c
	}
	if env := r.keyOf(row); env != "" {
		c.Key = "set"
		if os.Getenv(env) == "" {
			c.Key, c.Why = "missing", "no key: set "+env
			return c
		}
	}
	spec := row.Name // a preset's, with its effort
	if strings.Contains(spec, ":") {
		spec = row.Spec
	}
	m, err := r.model(spec, modelOptions{perCall: checkTime, once: true})
	if err != nil {
		c.Why = err.Error()
		return c
	}
	c.ask(ctx, m, r.formOf(row) != string(chat.ReAct))
	return c
}

// ask asks a model the short question, and for a call where calls are wanted.
func (c *checked) ask(ctx context.Context, m model.Model, calls bool) {
	began := time.Now()
	res, err := m.Chat(ctx, model.Request{
		Messages: []model.Message{{Role: model.User, Text: "Answer with the one word OK."}}, MaxTokens: checkTokens,
	})
	c.MS = time.Since(began).Milliseconds()
	c.Endpoint = "reached"
	if fault, ok := errors.AsType[*model.Error](err); ok && (fault.Fault == model.FaultTimeout || fault.Status == 0 && fault.Fault != model.FaultAnswer) {
		c.Endpoint = "not reached"
	}
	if err != nil {
		c.Why = err.Error()
		return
	}
	c.Answers, c.Served = true, res.Model
	if calls {
		c.Tools, c.Why = askCall(ctx, m)
	}
}

// askCall asks a model to call a tool: servers that cannot read its form of calls answer
// all the same, and a subject behind them would never act.
func askCall(ctx context.Context, m model.Model) (tools, why string) {
	res, err := m.Chat(ctx, model.Request{
		Messages:  []model.Message{{Role: model.User, Text: "Call the tool report with the word OK. Say nothing else."}},
		Tools:     []agentbound.Tool{{Name: "report", Description: "Reports a word.", Schema: agentbound.Value(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`)}},
		MaxTokens: callTokens,
	})
	fault, ok := errors.AsType[*model.Error](err)
	switch {
	case ok && fault.Fault == model.FaultRequest:
		return toolsRejected, err.Error()
	case err != nil || res.Stop == model.StopLength || res.Stop == model.StopRefusal:
		return "", "" // it says nothing about tools
	case len(res.Message.Calls) == 0:
		return toolsLeft, ""
	}
	return toolsCalled, ""
}

// formOf is the form that a preset asks for; empty where none does.
func (r rooms) formOf(row agentRow) string {
	if catalogue, err := r.catalogue(); err == nil {
		if p, err := catalogue.Find(row.Name); err == nil {
			return p.Form
		}
	}
	return ""
}

// keyOf is the variable that the key of a preset or a vendor's model is in; empty: it needs
// none, or may do without.
func (r rooms) keyOf(row agentRow) string {
	if p, ok := protocolOf(row.Spec); ok && p.atHome(row.Spec) {
		return p.keyEnv
	}
	catalogue, err := r.catalogue()
	if err != nil {
		return ""
	}
	p, err := catalogue.Find(row.Name)
	if err != nil {
		return ""
	}
	return p.Key
}
