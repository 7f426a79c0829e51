package transport

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// Vendor is a protocol that has a home: a server that is asked where a specification
// names no other.
type Vendor struct {
	Scheme string // what specifications begin with
	Home   string // the base URL of the vendor's own server, without a slash at its end
	KeyEnv string // the environment variable that holds the key
}

// Endpoint is a model at a server, as SCHEME:MODEL[@BASE_URL] names it.
type Endpoint struct {
	Vendor
	Model string // as the server knows it
	Base  string // without a slash at its end
}

var endpointShape = regexp.MustCompile(`^(.+?)(?:@(https?://.*))?$`)

// Endpoint reads a specification, with or without the scheme before it. An error repeats
// nothing of a user name or query: secrets are put there by mistake.
func (v Vendor) Endpoint(spec string) (Endpoint, error) {
	parts := endpointShape.FindStringSubmatch(strings.TrimPrefix(spec, v.Scheme+":"))
	if parts == nil {
		return Endpoint{}, fmt.Errorf("a model is named %s:MODEL or %s:MODEL@BASE_URL, as in %s:my-model@%s", v.Scheme, v.Scheme, v.Scheme, v.Home)
	}
	name, base := parts[1], parts[2]
	if base == "" && strings.Contains(name, "@") {
		return Endpoint{}, fmt.Errorf("%s:…@…: a base URL begins with https:// or http://; as in %s", v.Scheme, v.Home)
	}
	if base == "" {
		return Endpoint{v, name, v.Home}, nil
	}
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "":
		return Endpoint{}, fmt.Errorf("%s:%s@…: the base URL is not well formed; as in %s", v.Scheme, name, v.Home)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return Endpoint{}, fmt.Errorf("%s:%s@%s://%s…: a base URL has no user name, query or fragment; a key belongs in %s", v.Scheme, name, u.Scheme, u.Host, v.KeyEnv)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return Endpoint{v, name, u.String()}, nil
}

// Name is the specification, the base URL left out where it is the vendor's own.
func (e Endpoint) Name() string {
	if e.Base == e.Home {
		return e.Scheme + ":" + e.Model
	}
	return e.Scheme + ":" + e.Model + "@" + e.Base
}

// Explain says of a fault which model it is about, and what to do where that depends on
// the vendor. Keyed: a key was sent.
func (e Endpoint) Explain(fault *model.Error, keyed bool) *model.Error {
	said := *fault
	said.Who = e.Name()
	switch {
	case fault.Fault == model.FaultKey && keyed:
		said.Remedy = "check the key in " + e.KeyEnv
	case fault.Fault == model.FaultKey:
		said.What = strings.Replace(said.What, "does not accept the key", "wants a key", 1)
		said.Remedy = "set " + e.KeyEnv
	case fault.Fault == model.FaultQuota:
		said.Remedy = "add credit to the account of " + e.KeyEnv + ", or use another key"
	case fault.Fault == model.FaultModel:
		said.Remedy = fmt.Sprintf("check the name %q against the models that %s serves", e.Model, e.Base)
	case fault.Fault == model.FaultAddress && (fault.Remedy == "" || strings.HasPrefix(fault.Remedy, "check the base URL:")):
		said.Remedy = "check the base URL " + e.Base
		if e.Base != e.Home {
			said.Remedy += ": the vendor's own is " + e.Home
		}
	}
	return &said
}
