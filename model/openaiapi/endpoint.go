// Package openaiapi is what OpenAI's two protocols have in common, responses and chat
// completions, for the adapters that speak them: how a model behind an endpoint is named,
// what may be sent of names, arguments and schemas, and how failures read.
package openaiapi

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/option"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// Endpoint is a model behind an address.
type Endpoint struct {
	Scheme string // of the specification
	Model  string // as the server knows it
	Base   string // the base URL, without a slash at its end
	Home   string // the vendor's own base URL; empty: there is none
	KeyEnv string // the variable that holds the key, for messages
	Keyed  bool   // a key is sent
}

// Parse reads a specification, SCHEME:MODEL@BASE_URL with or without the scheme before
// it. Where there is a home the address may be left out. An error repeats nothing of a
// user name or query: secrets are put there by mistake.
func Parse(scheme, spec, home, keyEnv string) (Endpoint, error) {
	e := Endpoint{Scheme: scheme, Home: home, KeyEnv: keyEnv}
	spec = strings.TrimPrefix(spec, scheme+":")
	parts := shape.FindStringSubmatch(spec)
	if parts == nil {
		if home == "" || spec == "" || strings.ContainsAny(spec, "@ \t\n") {
			return e, fmt.Errorf("a model is named %s", e.form())
		}
		e.Model, e.Base = spec, home
		return e, nil
	}
	e.Model = parts[1]
	u, err := url.Parse(parts[2])
	switch {
	case err != nil || u.Host == "":
		return e, fmt.Errorf("%s:%s@…: the base URL is not well formed; as in http://127.0.0.1:8000/v1", scheme, e.Model)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return e, fmt.Errorf("%s:%s@%s://%s…: a base URL has no user name, query or fragment; a key belongs in %s", scheme, e.Model, u.Scheme, u.Host, keyEnv)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	e.Base = u.String()
	return e, nil
}

var shape = regexp.MustCompile(`^(.+?)@(https?://.*)$`)

func (e Endpoint) form() string {
	if e.Home == "" {
		return fmt.Sprintf("%s:MODEL@BASE_URL, as in %s:my-model@http://127.0.0.1:8000/v1", e.Scheme, e.Scheme)
	}
	return fmt.Sprintf("%s:MODEL, or %s:MODEL@BASE_URL with a base URL that begins with http:// or https://", e.Scheme, e.Scheme)
}

// String is the specification in its shortest form.
func (e Endpoint) String() string {
	if e.Base == e.Home {
		return e.Scheme + ":" + e.Model
	}
	return e.Scheme + ":" + e.Model + "@" + e.Base
}

// Reach is how to reach a server.
type Reach struct {
	Key      string            // sent to the base URL and nowhere else; empty: none
	Limit    int64             // bytes of an answer; 0: 32 MiB
	HTTP     http.RoundTripper // nil: the standard library's
	Filtered func(status int, body []byte) bool
}

// Options make the SDK's services ask this endpoint, once an attempt. They do not look at
// the SDK's own variables: those hold keys and headers for other addresses.
func (e *Endpoint) Options(r Reach) []option.RequestOption {
	e.Keyed = r.Key != ""
	options := []option.RequestOption{
		option.WithBaseURL(e.Base), option.WithMaxRetries(0),
		option.WithHTTPClient(transport.Client(transport.Options{Limit: r.Limit, Secret: r.Key, Base: r.HTTP, Filtered: r.Filtered})),
	}
	if e.Keyed {
		options = append(options, option.WithAPIKey(r.Key))
	}
	return options
}

// Fault is the transport's own error, without what the SDK put around it.
func Fault(err error) error {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e
	}
	// Only a request that could not be made comes here.
	return &model.Error{Fault: model.FaultRequest, What: "the request could not be made", Err: err}
}

// Refusal is the answer that a failure stands for where it is the provider's filter at
// work: that is the subject's provider speaking, not the infrastructure failing.
func Refusal(e *model.Error) (model.Response, bool) {
	var rejected bool
	switch {
	case e.Code == transport.Filter:
		rejected = true
	case e.Status != http.StatusBadRequest:
	case e.Code == "content_filter" || policy.MatchString(e.Code):
		rejected = true
	case e.Code == "invalid_prompt":
		rejected = strings.Contains(e.What, "policy")
	}
	return model.Response{Message: model.Message{Role: model.Assistant}, Stop: model.StopRefusal, Refusal: e.What}, rejected
}

// policy are the codes of filters: content_policy_violation, bio_policy, and those to come.
var policy = regexp.MustCompile(`_policy(?:_violation)?$`)

// Explain says of a fault which model it is about, and what to do.
func (e Endpoint) Explain(fault *model.Error) *model.Error {
	said := *fault
	said.Who = e.String()
	switch {
	case fault.Fault == model.FaultKey && e.Keyed:
		said.Remedy = "check the key in " + e.KeyEnv
	case fault.Fault == model.FaultKey:
		said.What = strings.Replace(said.What, "does not accept the key", "wants a key", 1)
		said.Remedy = "set " + e.KeyEnv
	case fault.Fault == model.FaultModel:
		said.Remedy = fmt.Sprintf("check the name %q against %s/models", e.Model, e.Base)
	case fault.Fault == model.FaultAddress && fault.Remedy == "":
		said.Remedy = "check the base URL " + e.Base
	}
	return &said
}

// Efforts are how much a model may reason, from none to most. Vendors know some of them.
func Efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// CheckEffort refuses an effort that a scheme does not know; empty is the provider's own.
func CheckEffort(scheme, effort string, known []string) error {
	if effort == "" || slices.Contains(known, effort) {
		return nil
	}
	return fmt.Errorf("%s: effort %q is not known; accepted: %s", scheme, effort, strings.Join(known, ", "))
}
