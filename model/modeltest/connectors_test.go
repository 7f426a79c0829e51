package modeltest_test

import (
	"slices"
	"testing"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/openai"
)

// connector is an adapter with the peer of its protocol. The contract runs over each, and
// so do the verdicts of a scripted subject: a new adapter needs a line here, and no more.
type connector struct {
	name   string // a column of the table
	mode   string // of asking, for the tests' names; a cell of the table is of all modes
	serve  func(o *modeltest.Options)
	open   func(spec, key string, r model.Retry) (model.Model, error)
	traits []modeltest.Trait
}

// connect gives the model behind a fresh peer, as the contract wants it.
func (c connector) connect(t *testing.T, o modeltest.Options) model.Model {
	t.Helper()
	return c.patient(t, o, modeltest.Retry())
}

// patient is a model with a policy of its own.
func (c connector) patient(t *testing.T, o modeltest.Options, r model.Retry) model.Model {
	t.Helper()
	c.serve(&o)
	if slices.Contains(c.traits, modeltest.NoReasoning) {
		o.Reasoning = ""
	}
	p := modeltest.Serve(t, o)
	m, err := c.open(p.Model+"@"+p.URL, p.Key, r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func connectors() []connector {
	var all []connector
	for _, stream := range []bool{false, true} {
		all = append(all, responses(stream, ""), responses(stream, "gpt-5.5"))
		for _, d := range compat.Dialects() {
			all = append(all, dialect(d, stream))
		}
	}
	return all
}

// in names a connector, streamed or not.
func (c connector) in(name string, stream bool) connector {
	c.name, c.mode = name, "whole"
	if stream {
		c.mode, c.traits = "streamed", append(c.traits, modeltest.Streamed)
	}
	return c
}

// responses is the responses protocol, with a model of any name and one that refuses a
// temperature.
func responses(stream bool, served string) connector {
	name := "openai"
	if served != "" {
		name += " " + served
	}
	c := connector{
		serve: func(o *modeltest.Options) {
			o.Protocol, o.Model = modeltest.Responses{}, served
		},
		open: func(spec, key string, r model.Retry) (model.Model, error) {
			return openai.New(openai.Scheme+":"+spec, openai.Options{Key: key, Retry: r, Stream: stream})
		},
	}
	return c.in(name, stream)
}

func dialect(d compat.Dialect, stream bool) connector {
	c := connector{
		serve: func(o *modeltest.Options) { o.Protocol = modeltest.Dialects()[d.Scheme] },
		open: func(spec, key string, r model.Retry) (model.Model, error) {
			return compat.New(d.Scheme+":"+spec, compat.Options{Key: key, Retry: r, Stream: stream})
		},
	}
	if len(d.Returns) == 0 {
		c.traits = []modeltest.Trait{modeltest.NoReasoning}
	}
	return c.in(d.Scheme, stream)
}
