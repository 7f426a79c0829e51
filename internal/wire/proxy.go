package wire

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbound/agentbound/model"
)

// Options are what a proxy stands between. Upstream and Dummy are needed.
type Options struct {
	// Upstream is the server's base URL, as its programs are given it. The proxy serves the
	// same path: a program is given the proxy's address with that path (see [Proxy.At]).
	Upstream *url.URL
	Key      string // put in the place of the dummy, and sent to Upstream alone; empty: none is sent
	Dummy    string // what the program holds
	// PassKeys passes on the keys that the program shows, as they come, instead: whoever asks
	// has a key of the server. Key and Dummy stay empty. What the proxy tells holds none.
	PassKeys bool
	// Protocols are those that are served; none: all.
	Protocols []Protocol
	// Asides says what is done with requests that are no turns; what is not named is
	// forwarded.
	Asides map[Auxiliary]Handling
	Models []string // what is answered where models are asked for

	// The functions are called from the goroutines of requests, several at a time. OnTurn
	// gets a turn before the program gets its end, or the whole of a call.
	OnTurn  func(Turn)
	OnAside func(Aside)
	OnFault func(Fault)
	Edit    Editor // nil: turns are passed on as they come
	// Flow lets the text and the reasoning of a stream go on as they come where an Editor
	// stands: it is the action that waits for him, which is every call, and the end.
	Flow bool
	// Pace is asked before each request for a turn is sent; it knows its size (see
	// [model.Weight]). The time that it takes is nobody's. What it refuses is not sent. Nil:
	// requests go at once.
	Pace model.Pace

	// Attempts are how often a request for a turn is sent where the server turns it away
	// since too much is asked (429, 503, 529), as long as it asks to wait a minute at most; 0:
	// once.
	Attempts int

	MaxRequest int64         // bytes; 0: 64 MiB
	MaxAnswer  int64         // bytes; 0: 64 MiB
	Idle       time.Duration // how long the server may send nothing, or the program take nothing; 0: 10 minutes
	Timeout    time.Duration // of a request, from when Pace lets it go; 0: 1 hour

	HTTP http.RoundTripper // nil: the standard library's
}

// Proxy is the recording reverse proxy. It starts no goroutine of its own: a request is
// served on its server's, and whatever ends the request's context ends it.
type Proxy struct {
	opts   Options
	base   string
	http   http.RoundTripper
	secret [][]byte
	turns  atomic.Int64

	renamed renamed
}

// ShortestKey is the least length of a key: a shorter one could not be told from text.
const ShortestKey = 8

// New gives a proxy, or says what its options lack. Nothing is sent yet.
func New(o Options) (*Proxy, error) {
	switch {
	case o.Upstream == nil || o.Upstream.Host == "" || o.Upstream.Scheme != "http" && o.Upstream.Scheme != "https":
		return nil, errors.New("wire: the upstream is no http or https URL")
	case o.Upstream.User != nil || o.Upstream.RawQuery != "" || o.Upstream.Fragment != "":
		return nil, fmt.Errorf("wire: upstream %s://%s…: a base URL has no user name, query or fragment", o.Upstream.Scheme, o.Upstream.Host)
	case o.PassKeys && (o.Dummy != "" || o.Key != ""):
		return nil, errors.New("wire: keys either pass or are exchanged: with PassKeys there is neither Key nor Dummy")
	case o.Dummy == "" && !o.PassKeys:
		return nil, errors.New("wire: a dummy key is needed, which the program is to show")
	case o.Key != "" && len(o.Key) < ShortestKey:
		return nil, fmt.Errorf("wire: the key has fewer than %d bytes: it could not be kept from the program", ShortestKey)
	case o.Key != "" && strings.Contains(o.Dummy, o.Key):
		return nil, errors.New("wire: the dummy key holds the real one")
	}
	for _, p := range o.Protocols {
		if codecOf(p) == nil {
			return nil, fmt.Errorf("wire: protocol %q is not known; accepted: %v", p, Protocols())
		}
	}
	for kind, h := range o.Asides {
		if !slices.Contains([]Auxiliary{ListModels, GetModel, CountTokens, Probe}, kind) || !slices.Contains([]Handling{Forward, Answer, Refuse}, h) {
			return nil, fmt.Errorf("wire: %q cannot be handled by %q", kind, h)
		}
	}
	if len(o.Protocols) == 0 {
		o.Protocols = Protocols()
	}
	o.MaxRequest, o.MaxAnswer = cmp.Or(o.MaxRequest, 64<<20), cmp.Or(o.MaxAnswer, 64<<20)
	o.Idle, o.Timeout = cmp.Or(o.Idle, 10*time.Minute), cmp.Or(o.Timeout, time.Hour)
	p := &Proxy{opts: o, base: strings.TrimRight(o.Upstream.Path, "/"), http: o.HTTP, secret: spellings(o.Key)}
	if p.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DisableCompression, t.MaxIdleConnsPerHost = true, 64
		p.http = t
	}
	return p, nil
}

// At is the base URL that a program is given, where the proxy listens at an address.
func (p *Proxy) At(address string) string { return "http://" + address + p.base }

// Close lets go of connections that no request uses.
func (p *Proxy) Close() {
	if t, ok := p.http.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Refuse answers a request that is not served now, in the form of its protocol. It is told
// to nobody.
func (p *Proxy) Refuse(w http.ResponseWriter, r *http.Request, status int, what string) {
	at, _, _ := p.route(r)
	x := &exchange{Proxy: p, w: w, in: r, at: at, codec: codecOf(at.protocol), n: -1}
	x.answer(status, x.codec.fail(status, ours+what))
}

// exchange is a request and what is known of it.
type exchange struct {
	*Proxy
	w     http.ResponseWriter
	in    *http.Request
	at    route
	codec codec
	n     int
	began time.Time

	ctx    context.Context
	stop   context.CancelCauseFunc
	idle   *time.Timer
	total  *time.Timer
	leave  func(model.Response, error) // of Pace, while a request is with the server
	err    error                       // of the connection, for fault
	size   int                         // of the request, as it is before it is compressed
	asked  Request
	asCame bool     // the body is sent as it came
	sent   []byte   // the body, as it is sent
	read   object   // the same, decoded
	shown  [][]byte // keys that the program shows, see hide
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, known, ok := p.route(r)
	x := &exchange{Proxy: p, w: w, in: r, at: at, codec: codecOf(at.protocol), n: -1, began: time.Now()}
	if ok && at.aside != "" && p.handling(at.aside) == Refuse {
		ok, known = false, false
	}
	switch {
	case !ok && known:
		x.fail(UnknownPath, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not served with %s here", r.URL.Path, r.Method))
		return
	case !ok:
		x.fail(UnknownPath, 0, fmt.Sprintf("%s %s is not served here: this proxy passes on turns of %s", r.Method, r.URL.Path, list(p.opts.Protocols)))
		return
	case !p.admit(r, at.aside == Probe):
		x.fail(WrongKey, 0, "the key is not the one that was handed out for this proxy")
		return
	case r.Header.Get("Upgrade") != "":
		x.fail(UnreadableRequest, 0, "this proxy does not change protocols: ask by HTTP")
		return
	}
	x.ctx, x.stop = context.WithCancelCause(r.Context())
	x.total = time.AfterFunc(p.opts.Timeout, func() { x.stop(errTotal) })
	x.idle = time.AfterFunc(p.opts.Idle, func() { x.stop(errIdle) })
	defer func() {
		x.idle.Stop()
		x.total.Stop()
		x.stop(nil)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}()
	if at.aside != "" {
		x.serveAside()
		return
	}
	x.n = int(p.turns.Add(1)) - 1
	defer x.left(model.Response{}, errBroken) // where nothing else was told
	x.serveTurn()
}

func list(all []Protocol) string {
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

// fault reports what went wrong.
func (x *exchange) fault(f Fault) {
	f.N, f.Protocol, f.Method, f.Path = x.n, x.at.protocol, x.in.Method, x.in.URL.Path
	f.What, f.Request = string(x.hide(x.clean([]byte(f.What)))), x.asked
	if f.Server == nil {
		f.Server = f.model(x.err)
	}
	x.left(model.Response{}, f)
	if x.opts.OnFault != nil {
		x.opts.OnFault(f)
	}
}

// ours is how the proxy's own words begin.
const ours = "agentbound's proxy: "

// fail answers with an error of the protocol, and reports it. Status 0: that of its kind.
func (x *exchange) fail(k Kind, status int, what string) {
	status = cmp.Or(status, k.status())
	x.fault(Fault{Kind: k, Status: status, What: what})
	if k == Gone {
		panic(http.ErrAbortHandler)
	}
	x.refuse(status, what)
}

// refuse answers with an error of the protocol.
func (x *exchange) refuse(status int, what string) {
	x.answer(status, x.hide(x.clean(x.codec.fail(status, ours+what))))
}

// answer is one of the proxy's own.
func (x *exchange) answer(status int, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", fmt.Sprint(len(body)))
	x.w.WriteHeader(status)
	_, _ = io.Copy(x.w, bytes.NewReader(body))
}

// body reads the request's body, as it came.
func (x *exchange) body() ([]byte, bool) {
	control := http.NewResponseController(x.w)
	_ = control.SetReadDeadline(time.Now().Add(x.opts.Idle))
	var all bytes.Buffer
	// What is announced is believed up to a bound, and one read more tells that it has ended.
	all.Grow(int(min(max(x.in.ContentLength, 0), 1<<20)) + bytes.MinRead)
	_, err := all.ReadFrom(http.MaxBytesReader(nil, x.in.Body, x.opts.MaxRequest))
	body := all.Bytes()
	_ = control.SetReadDeadline(time.Time{})
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		x.fail(UnreadableRequest, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", x.opts.MaxRequest))
		return nil, false
	}
	if err != nil {
		x.fail(UnreadableRequest, http.StatusBadRequest, "the request broke off")
		return nil, false
	}
	return body, true
}

// unpacked is a body as it was before it was compressed.
func (x *exchange) unpacked(body []byte) ([]byte, error) {
	var from io.Reader
	switch coding := strings.ToLower(x.in.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		return body, nil
	case "gzip":
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, errors.New("the request is no gzip")
		}
		from = z
	case "zstd":
		z, err := zstd.NewReader(bytes.NewReader(body), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(x.opts.MaxRequest)))
		if err != nil {
			return nil, errors.New("the request is no zstd")
		}
		defer z.Close()
		from = z
	default:
		return nil, fmt.Errorf("the request is compressed by %.20q; accepted: gzip, zstd", coding)
	}
	plain, err := io.ReadAll(io.LimitReader(from, x.opts.MaxRequest+1))
	if err != nil {
		return nil, errors.New("the request cannot be decompressed")
	}
	if int64(len(plain)) > x.opts.MaxRequest {
		return nil, fmt.Errorf("the request has more than %d bytes", x.opts.MaxRequest)
	}
	return plain, nil
}

// hop are the headers of a connection, and what else is not passed on.
var hop = []string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

func endToEnd(from http.Header) http.Header {
	h := from.Clone()
	for _, named := range from.Values("Connection") {
		for name := range strings.SplitSeq(named, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hop {
		h.Del(name)
	}
	return h
}

// send sends the request with a body. The answer's body is decompressed, if a server
// compresses what it was asked not to.
func (x *exchange) send(body []byte, asCame bool) (*http.Response, error) {
	to := *x.opts.Upstream
	to.Path, to.RawPath, to.RawQuery = x.in.URL.Path, x.in.URL.RawPath, x.in.URL.RawQuery
	if !x.opts.PassKeys {
		to.RawQuery = withoutKey(to.RawQuery)
	}
	out, err := http.NewRequestWithContext(x.ctx, x.in.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	out.URL = &to
	out.Header = endToEnd(x.in.Header)
	for _, name := range []string{"Cookie", "Content-Length", "Expect"} {
		out.Header.Del(name)
	}
	if !asCame {
		out.Header.Del("Content-Encoding")
	}
	out.Header.Set("Accept-Encoding", "identity")
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", "")
	}
	x.authorise(x.in, out.Header)
	x.alive()
	res, err := x.http.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	x.alive()
	switch coding := strings.ToLower(res.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			res.Body.Close()
			return nil, errors.New("the answer is no gzip")
		}
		res.Body = unzipped{z, res.Body}
		res.ContentLength = -1
		res.Header.Del("Content-Length")
	default:
		res.Body.Close()
		return nil, fmt.Errorf("%w by %.20q, which was not asked for", errCoded, coding)
	}
	res.Header.Del("Content-Encoding")
	return res, nil
}

var errCoded = errors.New("the answer is compressed")

type unzipped struct {
	io.Reader
	under io.Closer
}

func (u unzipped) Close() error { return u.under.Close() }

// alive puts off the end for lack of progress.
func (x *exchange) alive() {
	x.idle.Reset(x.opts.Idle)
}

// headers passes an answer's headers on.
func (x *exchange) headers(res *http.Response) {
	h := x.w.Header()
	for name, values := range endToEnd(res.Header) {
		for _, v := range values {
			h.Add(name, string(x.clean([]byte(v))))
		}
	}
}

// write passes bytes on and flushes them.
func (x *exchange) write(b []byte) error {
	control := http.NewResponseController(x.w)
	_ = control.SetWriteDeadline(time.Now().Add(x.opts.Idle))
	if _, err := x.w.Write(x.clean(b)); err != nil {
		return err
	}
	x.alive()
	if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
