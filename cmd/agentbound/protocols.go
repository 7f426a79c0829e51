package main

import (
	"net/url"
	"slices"
	"strings"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/anthropic"
	"github.com/agentbound/agentbound/model/compat"
	"github.com/agentbound/agentbound/model/gemini"
	"github.com/agentbound/agentbound/model/openai"
)

// protocol is one way to name models: SCHEME:MODEL, or SCHEME:MODEL@BASE_URL.
type protocol struct {
	scheme string
	speaks string // the wire protocol
	about  string
	home   string // the base URL where none is named; empty: one must be
	keyEnv string
	local  bool // a key only where the server asks for one
	// most is what a request asks for at most where a run asks for asked tokens, or for
	// none; nil: what the run asks for.
	most func(model, effort string, asked int64) int64
	open func(spec string, o modelOptions) (model.Model, error)
}

// protocols are the ways there are, in the order in which agents lists them.
func protocols() []protocol {
	all := []protocol{{
		scheme: openai.Scheme, speaks: "responses", about: "a model of OpenAI's, over responses", home: openai.Home, keyEnv: openai.KeyEnv,
		open: func(spec string, o modelOptions) (model.Model, error) {
			return openai.New(spec, openai.Options{Key: o.key, Retry: o.retry(), Effort: o.effort, Stream: o.stream})
		},
	}, {
		scheme: anthropic.Scheme, speaks: "messages", about: "a model of Anthropic's", home: anthropic.Home, keyEnv: anthropic.KeyEnv,
		most: anthropic.MaxTokens,
		open: func(spec string, o modelOptions) (model.Model, error) {
			return anthropic.New(spec, anthropic.Options{Key: o.key, Retry: o.retry(), Effort: o.effort, Stream: o.stream})
		},
	}, {
		scheme: gemini.Scheme, speaks: "generate-content", about: "a model of Google's", home: gemini.Home, keyEnv: gemini.KeyEnv,
		open: func(spec string, o modelOptions) (model.Model, error) {
			return gemini.New(spec, gemini.Options{Key: o.key, Retry: o.retry(), Effort: o.effort, Stream: o.stream})
		},
	}}
	for _, d := range compat.Dialects() {
		all = append(all, protocol{
			scheme: d.Scheme, speaks: "chat-completions", about: d.About, home: d.Base, keyEnv: d.KeyEnv, local: d.Local,
			open: func(spec string, o modelOptions) (model.Model, error) {
				return compat.New(spec, compat.Options{Key: o.key, Retry: o.retry(), Effort: o.effort, Stream: o.stream})
			},
		})
	}
	return all
}

// form is how models of the protocol are named.
func (p protocol) form() string {
	switch {
	case p.home == "":
		return p.scheme + ":MODEL@BASE_URL"
	case p.local:
		return p.scheme + ":MODEL[@BASE_URL]"
	}
	return p.scheme + ":MODEL"
}

// atHome reports whether a specification is of the vendor's own address, which wants a key.
func (p protocol) atHome(spec string) bool {
	if p.home == "" || p.local {
		return false
	}
	_, named, ok := strings.Cut(spec, "@http")
	if !ok {
		return true
	}
	own, errOwn := url.Parse(p.home)
	at, err := url.Parse("http" + named)
	return errOwn == nil && err == nil && strings.EqualFold(own.Hostname(), at.Hostname())
}

func (p protocol) row() agentRow {
	r := agentRow{Name: p.form(), Kind: "model", Protocol: p.speaks, Model: "MODEL", Needs: []string{p.keyEnv}, About: p.about + "; --form native or react"}
	switch {
	case p.home == "":
		r.Needs[0] = "an endpoint; " + p.keyEnv + " where it asks for a key"
	case p.local:
		r.Needs[0] = "a server, at " + p.home + " unless named; " + p.keyEnv + " where it asks for a key"
	}
	return r
}

// protocolOf finds the protocol that a specification names.
func protocolOf(spec string) (protocol, bool) {
	kind, _, named := strings.Cut(spec, ":")
	all := protocols()
	i := slices.IndexFunc(all, func(p protocol) bool { return named && p.scheme == kind })
	if i < 0 {
		return protocol{}, false
	}
	return all[i], true
}

// modelForms are the forms that name a model, for messages.
func modelForms() string {
	var forms []string
	for _, p := range protocols() {
		forms = append(forms, p.form())
	}
	return strings.Join(forms, ", ")
}
