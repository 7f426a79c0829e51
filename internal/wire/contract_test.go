package wire_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/gemini"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/model/openai"
)

const (
	realKey  = "sk-the-real/key+of=the_vendor"
	dummyKey = "dummy-of-this-trial"
)

// front puts a proxy before a base URL, and gives the URL to ask instead.
func front(t testing.TB, base string, o wire.Options) string {
	t.Helper()
	if o.Dummy == "" {
		o.Dummy, o.Key = dummyKey, realKey
	}
	return frontOf(t, base, o)
}

// frontOf is front without a key of its own.
func frontOf(t testing.TB, base string, o wire.Options) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	o.Upstream = u
	p, err := wire.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(p)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		p.Close()
	})
	return p.At(s.Listener.Addr().String())
}

// adapter is one of model's, as the contract of the port asks it.
type adapter struct {
	name   string
	peer   modeltest.Protocol
	model  string
	open   func(spec, key string, r model.Retry, stream bool) (model.Model, error)
	traits []modeltest.Trait
}

func adapters() []adapter {
	all := []adapter{
		{"openai", modeltest.Responses{}, "", func(spec, key string, r model.Retry, stream bool) (model.Model, error) {
			return openai.New("openai:"+spec, openai.Options{Key: key, Retry: r, Stream: stream})
		}, nil},
		{"openai gpt-5.5", modeltest.Responses{}, "gpt-5.5", func(spec, key string, r model.Retry, stream bool) (model.Model, error) {
			return openai.New("openai:"+spec, openai.Options{Key: key, Retry: r, Stream: stream})
		}, nil},
		{"anthropic", modeltest.Anthropic{}, "", func(spec, key string, r model.Retry, stream bool) (model.Model, error) {
			return anthropic.New("anthropic:"+spec, anthropic.Options{Key: key, Retry: r, Stream: stream})
		}, []modeltest.Trait{modeltest.Limited, modeltest.Objects}},
		{"gemini", modeltest.Gemini{}, "", func(spec, key string, r model.Retry, stream bool) (model.Model, error) {
			return gemini.New("gemini:"+spec, gemini.Options{Key: key, Retry: r, Stream: stream})
		}, []modeltest.Trait{modeltest.Objects}},
	}
	for _, d := range compat.Dialects() {
		a := adapter{d.Scheme, modeltest.Dialects()[d.Scheme], "", func(spec, key string, r model.Retry, stream bool) (model.Model, error) {
			return compat.New(d.Scheme+":"+spec, compat.Options{Key: key, Retry: r, Stream: stream})
		}, nil}
		if len(d.Returns) == 0 {
			a.traits = append(a.traits, modeltest.NoReasoning)
		}
		all = append(all, a)
	}
	return all
}

// TestContract: the contract of every adapter of the model port holds through the proxy,
// as it holds without it: whether the proxy only listens, or an editor who keeps every
// turn sees it whole first.
func TestContract(t *testing.T) {
	keeps := func(context.Context, wire.Turn) (wire.Edit, error) { return wire.Edit{}, nil }
	var group sync.WaitGroup
	room := make(chan struct{}, 6) // they wait more than they work
	for _, a := range adapters() {
		for _, stream := range []bool{false, true} {
			for name, edit := range map[string]wire.Editor{"listens": nil, "edits": keeps} {
				if testing.Short() && edit != nil {
					continue
				}
				mode := map[bool]string{false: "whole", true: "streamed"}[stream]
				traits := slices.Clone(a.traits)
				if stream {
					traits = append(traits, modeltest.Streamed)
				}
				group.Go(func() {
					room <- struct{}{}
					defer func() { <-room }()
					t.Run(a.name+"/"+mode+"/"+name, func(t *testing.T) {
						modeltest.Run(t, func(t *testing.T, o modeltest.Options) model.Model {
							t.Helper()
							return a.through(t, o, stream, edit)
						}, traits...)
					})
				})
			}
		}
	}
	group.Wait()
}

// through connects the adapter with its peer through a proxy.
func (a adapter) through(t *testing.T, o modeltest.Options, stream bool, edit wire.Editor) model.Model {
	t.Helper()
	return a.with(t, o, stream, wire.Options{Edit: edit})
}

// with is through, with options of the proxy's.
func (a adapter) with(t *testing.T, o modeltest.Options, stream bool, options wire.Options) model.Model {
	t.Helper()
	o.Protocol, o.Model, o.Key = a.peer, a.model, realKey
	if slices.Contains(a.traits, modeltest.NoReasoning) {
		o.Reasoning = ""
	}
	p := modeltest.Serve(t, o)
	base := front(t, p.URL, options)
	m, err := a.open(p.Model+"@"+base, dummyKey, modeltest.Retry(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
