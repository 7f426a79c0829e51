package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/transport"
)

// serveTurn passes a request for a turn on, and its answer back.
func (x *exchange) serveTurn() {
	body, ok := x.body()
	if !ok {
		return
	}
	plain, err := x.unpacked(body)
	if err == nil {
		x.read, err = parseObject(plain)
	}
	if err != nil {
		x.fail(UnreadableRequest, 0, fmt.Sprintf("the request cannot be read: %v", err))
		return
	}
	x.sent, x.asCame = body, true
	x.asked = x.codec.request(x.read, x.at.name)
	x.asked.Digest = digest(plain)
	x.asked.Stream = x.asked.Stream || x.at.stream
	if kept, ok := x.renamed.get(x.asked.Previous); ok && x.at.protocol == Responses {
		x.read.set("previous_response_id", kept)
		x.sent, x.asCame = encode(x.read), false
	}
	x.size = max(len(plain), len(body))
	if x.opts.Edit != nil {
		x.edited()
		return
	}
	res, ok := x.ask(x.sent, x.asCame)
	if !ok {
		return
	}
	defer res.Body.Close()
	from := reader(res.Body)
	defer readers.Put(from)
	if x.streamed(res, from) {
		x.stream(res, from)
		return
	}
	raw, err := x.all(from)
	if err != nil {
		x.cut(res, raw, err)
		return
	}
	raw = x.clean(raw) // before it is told, too
	t, _, err := x.decode(raw)
	x.report(t, err, res.StatusCode)
	x.whole(res, raw)
}

// ask sends the request, and once more where the server is asked too much. A failure is
// passed on to the program, and there is no answer.
func (x *exchange) ask(body []byte, asCame bool) (*http.Response, bool) {
	for n := 1; ; n++ {
		if !x.enter(max(x.size, len(body))) {
			return nil, false
		}
		res, err := x.send(body, asCame)
		if err != nil {
			x.err = err
			f := x.unsent(err)
			x.fail(f.Kind, 0, f.What)
			return nil, false
		}
		if res.StatusCode >= 200 && res.StatusCode <= 299 {
			return res, true
		}
		if !x.turned(res, n) {
			return nil, false
		}
	}
}

// turned takes the n-th answer that is a failure. True: after a while the request may be
// sent once more. Else the failure was passed on.
func (x *exchange) turned(res *http.Response, n int) bool {
	defer res.Body.Close()
	if x.redirects(res) {
		x.fail(BadAnswer, 0, errRedirect)
		return false
	}
	raw, err := x.all(res.Body)
	if err != nil {
		x.cut(res, raw, err)
		return false
	}
	f := x.refused(res, raw)
	f.Again = n < x.opts.Attempts && overload(f.Server) && f.Server.After <= longestWait
	x.fault(f)
	if !f.Again {
		x.whole(res, raw)
		return false
	}
	if err := x.rest(n, f.Server.After); err != nil {
		kind, what := transportFault(x.ctx, x.opts.Upstream.Host, err)
		x.fail(kind, 0, what)
		return false
	}
	return true
}

// redirects reports whether an answer sends a program elsewhere that has a key of the
// server's. Many clients go there by themselves, with the key, and past the proxy.
func (x *exchange) redirects(res *http.Response) bool {
	return x.opts.PassKeys && res.StatusCode >= 300 && res.StatusCode <= 399 && res.Header.Get("Location") != ""
}

const errRedirect = "the server sends on to another address, which would lead past the proxy: give that address as the upstream"

// unsent is a request that brought no answer.
func (x *exchange) unsent(err error) Fault {
	if errors.Is(err, errCoded) {
		return Fault{Kind: BadAnswer, What: err.Error()}
	}
	kind, what := transportFault(x.ctx, x.opts.Upstream.Host, err)
	return Fault{Kind: kind, What: what}
}

// refused is an answer that is a failure.
func (x *exchange) refused(res *http.Response, raw []byte) Fault {
	fault := transport.Unserved(transport.Status(res.StatusCode, transport.Said(x.hide(raw), x.opts.Key)), x.in.URL.Path)
	fault.After = max(fault.After, transport.After(res.Header, time.Now()))
	return Fault{Kind: Server, Status: res.StatusCode, What: fault.What, Server: fault}
}

// eventStream is how a stream begins, whatever its content type says.
var eventStream = regexp.MustCompile(`^(?:\x{FEFF})?\s*(?:data|event|id|retry)?:`)

func (x *exchange) streamed(res *http.Response, from *bufio.Reader) bool {
	kind := res.Header.Get("Content-Type")
	if strings.Contains(kind, "text/event-stream") {
		return true
	}
	if !x.asked.Stream || strings.Contains(kind, "json") {
		return false
	}
	begins, _ := from.Peek(6)
	return eventStream.Match(begins)
}

// What answers are read through is used again: nothing of it stays with a request.
var (
	rooms   = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}
	readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 32<<10) }}
)

func reader(from io.Reader) *bufio.Reader {
	r := readers.Get().(*bufio.Reader)
	r.Reset(from)
	return r
}

var errLarge = errors.New("too large")

// all reads an answer to its end; an error comes with what there was before it.
func (x *exchange) all(from io.Reader) ([]byte, error) {
	var b bytes.Buffer
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	piece := *room
	for {
		n, err := from.Read(piece)
		b.Write(piece[:n])
		x.alive()
		switch {
		case int64(b.Len()) > x.opts.MaxAnswer:
			return nil, errLarge
		case errors.Is(err, io.EOF):
			return b.Bytes(), nil
		case err != nil:
			return b.Bytes(), err
		}
	}
}

// broken is what an error in the middle of an answer was.
func (x *exchange) broken(err error) (Kind, string) {
	if errors.Is(err, errBroken) {
		return Connection, err.Error()
	}
	if errors.Is(err, errLarge) {
		return BadAnswer, fmt.Sprintf("the answer has more than %d bytes", x.opts.MaxAnswer)
	}
	kind, what := transportFault(x.ctx, x.opts.Upstream.Host, err)
	if kind == Connection {
		what = "the connection broke off in the middle of the answer"
	}
	return kind, what
}

// cut passes on an answer that broke off, as it did.
func (x *exchange) cut(res *http.Response, raw []byte, err error) {
	kind, what := x.broken(err)
	if kind != Connection {
		x.fail(kind, 0, what)
		return
	}
	x.fault(Fault{Kind: kind, What: what})
	x.headers(res)
	if raw == nil {
		x.w.Header().Del("Content-Length")
	}
	x.w.WriteHeader(res.StatusCode)
	_ = x.write(raw)
	panic(http.ErrAbortHandler)
}

// whole passes an answer on.
func (x *exchange) whole(res *http.Response, raw []byte) {
	raw = x.clean(raw)
	x.headers(res)
	if x.in.Method != http.MethodHead && res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusNotModified {
		x.w.Header().Set("Content-Length", fmt.Sprint(len(raw)))
	}
	x.w.WriteHeader(res.StatusCode)
	if len(raw) > 0 {
		_ = x.write(raw)
	}
}

// decode reads an answer that came whole.
func (x *exchange) decode(raw []byte) (Turn, object, error) {
	var whole object
	var err error
	raw = bytes.TrimPrefix(raw, bom)
	if trimmed := bytes.TrimSpace(raw); x.at.stream && bytes.HasPrefix(trimmed, []byte("[")) {
		whole, err = geminiList(trimmed)
	} else if whole, err = parseObject(raw); err != nil {
		err = malformed("%w", err)
	}
	if err != nil {
		return Turn{}, nil, err
	}
	t, err := x.turn(whole)
	return t, whole, err
}

// turn is a whole answer's.
func (x *exchange) turn(whole object) (Turn, error) {
	t := Turn{N: x.n, Protocol: x.at.protocol, Request: x.asked, Took: time.Since(x.began)}
	err := x.codec.decode(whole, &t)
	if err == nil && x.tells(t) {
		err = errPieces
	}
	return t, err
}

// report hands a turn over, or says why there is none.
func (x *exchange) report(t Turn, err error, status int) {
	if err == nil {
		x.left(model.Response{Usage: t.Usage}, nil)
	}
	switch {
	case err != nil:
		x.fault(x.unread(err, status))
	case x.opts.OnTurn != nil:
		x.opts.OnTurn(x.told(t))
	}
}

// unread is an answer that is no turn.
func (x *exchange) unread(err error, status int) Fault {
	if failed, ok := errors.AsType[*inside](err); ok {
		fault := transport.Inside(x.hide(failed.raw), x.opts.Key)
		return Fault{Kind: Server, Status: status, What: fault.What, Server: fault}
	}
	if errors.Is(err, errBroken) {
		return Fault{Kind: Connection, Status: status, What: err.Error()}
	}
	return Fault{Kind: BadAnswer, Status: status, What: err.Error()}
}

// relay is a stream on its way. What would let the program know of a call, or of the end,
// is held until the turn is handed over.
type relay struct {
	*exchange
	status  int
	frames  framer
	stream  assembler
	out     []byte // for the program, by the next write
	held    []byte
	holding bool
	settled bool // handed over, or failed
	size    int64
}

func (x *exchange) stream(res *http.Response, from io.Reader) {
	x.headers(res)
	x.w.Header().Del("Content-Length")
	x.w.WriteHeader(res.StatusCode)
	r := &relay{exchange: x, status: res.StatusCode, stream: x.codec.assemble()}
	err := x.write(nil)
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	piece := *room
	for err == nil {
		var n int
		n, err = from.Read(piece)
		x.alive()
		r.take(piece[:n])
		if r.size > x.opts.MaxAnswer {
			err = errLarge
		}
		if len(r.out) > 0 {
			if failed := x.write(r.out); failed != nil && err == nil {
				err = failed
				x.stop(nil)
			}
			r.out = r.out[:0]
		}
	}
	if errors.Is(err, io.EOF) {
		r.end()
		return
	}
	kind, what := x.broken(err)
	if !r.settled || kind != Gone && kind != Connection {
		x.fault(Fault{Kind: kind, What: what})
	}
	panic(http.ErrAbortHandler)
}

// take takes what came.
func (r *relay) take(piece []byte) {
	r.size += int64(len(piece))
	r.frames.feed(piece)
	for {
		frame, ok := r.frames.next()
		if !ok {
			return
		}
		r.frame(frame)
	}
}

func (r *relay) frame(frame []byte) {
	frame = r.clean(frame)
	if r.settled {
		r.out = append(r.out, frame...)
		return
	}
	at := going
	if name, data, ok := parse(frame); ok {
		var err error
		if at, err = r.stream.event(name, data); err != nil {
			r.settle(Turn{}, err)
		}
	}
	if r.holding = r.holding || at >= acting; !r.holding {
		r.out = append(r.out, frame...)
		return
	}
	r.held = append(r.held, frame...)
	if at == ended {
		r.hand()
	}
	if r.settled {
		r.out = append(r.out, r.held...)
		r.held = nil
	}
}

// hand hands the turn over.
func (r *relay) hand() {
	whole, err := r.stream.whole()
	var t Turn
	if err == nil {
		t, err = r.turn(whole)
		t.Streamed = true
	}
	r.settle(t, err)
}

func (r *relay) settle(t Turn, err error) {
	r.settled = true
	r.report(t, err, r.status)
}

// end is the end of a stream in good order. What is held of a turn that is not complete
// is not passed on: to the program the stream broke off before it.
func (r *relay) end() {
	rest := r.frames.rest()
	if name, data, ok := parse(rest); ok && !r.settled {
		at, err := r.stream.event(name, data)
		if errors.As(err, new(*inside)) { // any other error is an event that was cut
			r.settle(Turn{}, err)
		}
		r.holding = r.holding || at >= acting
	}
	if !r.settled {
		whole, err := r.stream.whole()
		var t Turn
		if err == nil {
			t, err = r.turn(whole)
			t.Streamed = true
		}
		if r.settle(t, err); errors.Is(err, errBroken) && r.holding {
			return
		}
	}
	if r.held = append(r.held, rest...); len(r.held) > 0 {
		_ = r.write(r.held)
	}
}
