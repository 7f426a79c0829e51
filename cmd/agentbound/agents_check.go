package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/agentbound/agentbound/agent/preset"
	"github.com/agentbound/agentbound/model"
)

// checked is what --check found of an agent. It holds nothing secret.
type checked struct {
	Answers  bool   `json:"answers"`
	Key      string `json:"key"`      // set, missing or not needed
	Endpoint string `json:"endpoint"` // reached, not reached or not asked
	Served   string `json:"served,omitempty"`
	MS       int64  `json:"ms,omitempty"`
	Why      string `json:"why,omitempty"` // where it does not answer
}

func (c checked) String() string {
	if !c.Answers {
		return "no: " + c.Why
	}
	as := ""
	if c.Served != "" {
		as = fmt.Sprintf(" as %s", plainLine(c.Served))
	}
	return fmt.Sprintf("answers%s, in %s", as, (time.Duration(c.MS) * time.Millisecond).Round(time.Millisecond))
}

const (
	// checkTime is how long a model may take to answer the question.
	checkTime = 30 * time.Second
	// checkTokens is room for the answer: the least that all providers take, and enough
	// to tell that a model speaks.
	checkTokens = 16
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
		return c
	}
	c.Answers, c.Served = true, res.Model
	return c
}

// keyOf is the variable that a preset's key is in; empty: it needs none, or may do
// without.
func (r rooms) keyOf(row agentRow) string {
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
