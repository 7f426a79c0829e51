// Package transport is the HTTP client under every vendor's SDK. It makes one attempt
// at a time and turns whatever is not an answer into a [*model.Error], so that SDKs
// see answers only and their own ideas of retrying, redirecting and reporting never
// come up.
package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/agentbound/agentbound/model"
)

// Options are how to reach a server.
type Options struct {
	Limit  int64                                 // bytes of an answer; 0: 32 MiB
	Secret string                                // cut out of whatever a server's words repeat
	Base   http.RoundTripper                     // nil: the standard library's, with more idle connections a host
	Proxy  func(*http.Request) (*url.URL, error) // where Base is nil; nil: of the environment
	Clock  func() time.Time                      // nil: time.Now; for a Retry-After that is a date
	// Filtered reports whether a rejection is the provider's filter at work, where the
	// vendor has words of its own for that: the error's code is Filter. Nil: never.
	Filtered func(status int, body []byte) bool
}

// Filter is the code of an error that is a provider's filter at work.
const Filter = "filter"

// Client gives a client that reads the whole answer within the request's context, at
// most Limit bytes of it; that follows no redirect, so that a key stays with the
// address it was meant for; and whose errors hold a *model.Error.
func Client(o Options) *http.Client {
	if o.Limit <= 0 {
		o.Limit = 32 << 20
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Base == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		t.OnProxyConnectResponse = tunnel
		if o.Proxy != nil {
			t.Proxy = o.Proxy
		}
		o.Base = t
	}
	return &http.Client{Transport: guard{o}} // a redirect is a fault of guard's, so none is followed
}

type guard struct{ Options }

// RoundTrip implements http.RoundTripper.
func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := g.Base.RoundTrip(req)
	if err != nil {
		return nil, unreached(req, err)
	}
	body, err := g.read(res)
	if err != nil {
		return nil, err
	}
	fault := dense(body)
	switch refused := res.StatusCode < 200 || res.StatusCode > 299; {
	case refused && fault != nil:
		return nil, g.refusal(res, nil) // its status says enough
	case refused:
		return nil, g.refusal(res, body)
	case fault != nil:
		fault.Status = res.StatusCode
		return nil, fault
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return res, nil
}

func (g guard) read(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, g.Limit+1))
	switch {
	case err != nil:
		return nil, &model.Error{Fault: model.FaultConnection, Status: res.StatusCode, What: "the connection broke off in the middle of the answer", Err: err}
	case int64(len(body)) > g.Limit:
		return nil, &model.Error{Fault: model.FaultAnswer, Status: res.StatusCode, What: fmt.Sprintf("the answer has more than %d bytes", g.Limit)}
	}
	return body, nil
}

// proxyRemedy: the standard library's client takes proxies from the environment.
const proxyRemedy = "check HTTP_PROXY, HTTPS_PROXY and NO_PROXY"

// opProxy is what the standard library calls the way to a proxy.
const opProxy = "proxyconnect"

// tunnel reads what a proxy answers who was asked for a way to a host: one that the host
// does not take part in. Nothing of the request has been sent yet.
func tunnel(_ context.Context, _ *url.URL, _ *http.Request, res *http.Response) error {
	if res.StatusCode == http.StatusOK {
		return nil
	}
	fault := model.FaultAddress
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		fault = model.FaultConnection
	}
	return &model.Error{
		Fault: fault, What: fmt.Sprintf("the proxy gives no way there (status %d)", res.StatusCode), Remedy: proxyRemedy,
		Err: &net.OpError{Op: opProxy, Err: errors.New(http.StatusText(res.StatusCode))},
	}
}

// unreached tells a server that may be back from an address that will never do. What
// the cause says may hold the address, and an address may hold anything: only what
// the cause is goes into the message.
func unreached(req *http.Request, err error) *model.Error {
	host := req.URL.Host
	if e, ok := errors.AsType[*model.Error](err); ok { // tunnel's
		said := *e
		said.What = host + ": " + e.What
		return &said
	}
	permanent := func(why, remedy string) *model.Error {
		return &model.Error{Fault: model.FaultAddress, What: host + ": " + why, Remedy: remedy, Err: err}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == opProxy {
		return &model.Error{Fault: model.FaultConnection, What: host + ": the proxy on the way there was not reached", Remedy: proxyRemedy, Err: err}
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok && lookup.IsNotFound {
		return permanent("no such host", "check the base URL")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return permanent("the server does not speak https", "write http:// in the base URL")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return permanent("the server's certificate is not trusted", "check the base URL, or install the certificate's authority")
	}
	if strings.Contains(err.Error(), "connection refused") { // the error's number differs between systems
		return &model.Error{Fault: model.FaultConnection, What: host + ": connection refused", Remedy: "is the server running?", Err: err}
	}
	return &model.Error{Fault: model.FaultConnection, What: host + ": the connection failed", Err: err}
}
