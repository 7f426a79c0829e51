package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeLines serves one client over lines of JSON, as the protocol's stdio has it, until
// the client ends its side or ctx ends. It closes r. The error is one of reading or
// writing.
//
// The SDK's own transport ends the conversation at the first line it cannot read, and
// cancels what is in flight when the input ends. This one answers such a line and goes
// on, and answers what came before the end.
func (s *Server) ServeLines(ctx context.Context, r io.ReadCloser, w io.Writer) error {
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	l := newLines(r, w, s.o.MaxMessage)
	connected := context.WithValue(context.WithValue(alive, lifeKey, alive), linesKey, l)
	session, err := s.mcp.Connect(connected, l, nil)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.drain()
		kill()
		_ = session.Close()
		s.o.Log.Debug("the client was left", "error", <-ended) // that it was closed is no error
	}
	_ = l.Close() // once more does no harm
	l.left()
	return err
}

// lines is a connection. A goroutine of its own reads; it ends with the input.
type lines struct {
	r        io.ReadCloser
	limit    int
	incoming chan line
	read     chan struct{} // closed when the reader has ended
	closed   chan struct{}
	closing  sync.Once

	mu       sync.Mutex // of what follows
	w        io.Writer
	inFlight map[jsonrpc.ID]*ticket
	tickets  map[string]*ticket // of calls that wait for their turn
	queue    []*ticket          // of calls that are not settled, in order
	issued   int
	answered chan struct{} // has room for one: something was answered
}

type line struct {
	text []byte
	long bool
	err  error
}

// ticket is a request that was not answered yet. Calls are carried out in the order in
// which they stood in the input: each waits for all that stood before it.
type ticket struct {
	name     string        // of a call
	before   chan struct{} // closed when the calls before it are answered; nil: there were none
	settled  chan struct{} // closed when it is answered as well
	answered bool
}

func newLines(r io.ReadCloser, w io.Writer, limit int) *lines {
	l := &lines{
		r: r, w: w, limit: limit, incoming: make(chan line), read: make(chan struct{}), closed: make(chan struct{}),
		inFlight: map[jsonrpc.ID]*ticket{}, tickets: map[string]*ticket{}, answered: make(chan struct{}, 1),
	}
	go l.scan()
	return l
}

// Connect implements mcp.Transport.
func (l *lines) Connect(context.Context) (mcp.Connection, error) { return l, nil }

// SessionID implements mcp.Connection.
func (l *lines) SessionID() string { return "" }

func (l *lines) scan() {
	defer close(l.read)
	in := bufio.NewReaderSize(l.r, 64<<10)
	for {
		n, err := next(in, l.limit)
		if err != nil && (len(n.text) > 0 || n.long) { // a last line without its end
			if !l.deliver(n) {
				return
			}
			n = line{}
		}
		n.err = err
		if !l.deliver(n) || err != nil {
			return
		}
	}
}

func (l *lines) deliver(n line) bool {
	select {
	case l.incoming <- n:
		return true
	case <-l.closed:
		return false
	}
}

// next reads a line; of one that is longer than limit nothing is kept.
func next(in *bufio.Reader, limit int) (line, error) {
	var n line
	for {
		part, err := in.ReadSlice('\n')
		if n.long = n.long || len(n.text)+len(part) > limit; n.long {
			n.text = nil
		} else {
			n.text = append(n.text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return n, err
		}
	}
}

// Read implements mcp.Connection: the next request. What is none is answered here.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var n line
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.closed:
			return nil, io.EOF
		case n = <-l.incoming:
		}
		if n.err != nil {
			return nil, l.settle(ctx, n.err)
		}
		if !n.long && len(bytes.TrimSpace(n.text)) == 0 {
			continue
		}
		req, refusal := l.decode(n)
		if refusal == nil && req != nil {
			refusal = l.register(req)
		}
		if refusal != nil {
			if err := l.write(refusal); err != nil {
				return nil, err
			}
			continue
		}
		if req != nil {
			return req, nil
		}
	}
}

// settle waits, at the end of the input, until what came before it is answered.
func (l *lines) settle(ctx context.Context, end error) error {
	for {
		l.mu.Lock()
		left := len(l.inFlight)
		l.mu.Unlock()
		if left == 0 {
			return end
		}
		select {
		case <-l.answered:
		case <-ctx.Done():
			return end
		case <-l.closed:
			return end
		}
	}
}

// decode gives the request of a line, or what to answer. An answer of the client, who was
// asked nothing, is neither.
func (l *lines) decode(n line) (*jsonrpc.Request, *jsonrpc.Response) {
	switch {
	case n.long:
		return nil, refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "the message has more than %d bytes", l.limit)
	case !json.Valid(n.text):
		return nil, refuse(jsonrpc.ID{}, jsonrpc.CodeParseError, "the line is not JSON; one message a line is wanted")
	case bytes.HasPrefix(bytes.TrimSpace(n.text), []byte("[")):
		return nil, refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "batches are not taken: send each message on a line of its own")
	}
	msg, err := jsonrpc.DecodeMessage(n.text)
	if err != nil {
		return nil, refuse(idOf(n.text), jsonrpc.CodeInvalidRequest, "the line is no request of JSON-RPC 2.0: %v", err)
	}
	req, _ := msg.(*jsonrpc.Request)
	return req, nil
}

// idOf finds the id of what is otherwise no request.
func idOf(text []byte) jsonrpc.ID {
	var m struct {
		ID any `json:"id"`
	}
	_ = json.Unmarshal(text, &m) // one without is answered without
	id, err := jsonrpc.MakeID(m.ID)
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}

func refuse(id jsonrpc.ID, code int64, format string, args ...any) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// ticketHeader is where a call's ticket travels through the SDK. Only this file sets it.
const ticketHeader = "Agentbound-Ticket"

// register notes a request until it is answered.
func (l *lines) register(req *jsonrpc.Request) *jsonrpc.Response {
	if !req.IsCall() {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight[req.ID] != nil {
		return refuse(jsonrpc.ID{}, jsonrpc.CodeInvalidRequest, "the id %v is that of a request which is not answered yet", req.ID.Raw())
	}
	t := &ticket{settled: make(chan struct{})}
	l.inFlight[req.ID] = t
	if req.Method != "tools/call" {
		return nil
	}
	l.issued++
	t.name = strconv.Itoa(l.issued)
	if n := len(l.queue); n > 0 {
		t.before = l.queue[n-1].settled
	}
	l.queue, l.tickets[t.name] = append(l.queue, t), t
	req.Extra = &mcp.RequestExtra{Header: http.Header{ticketHeader: {t.name}}}
	return nil
}

// await waits until the calls before this one are answered.
func (l *lines) await(ctx context.Context, extra *mcp.RequestExtra) error {
	if extra == nil {
		return nil
	}
	l.mu.Lock()
	t := l.tickets[extra.Header.Get(ticketHeader)]
	l.mu.Unlock()
	if t == nil || t.before == nil {
		return nil
	}
	select {
	case <-t.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Write implements mcp.Connection.
func (l *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	err := l.write(msg)
	if res, ok := msg.(*jsonrpc.Response); ok {
		l.done(res.ID)
	}
	return err
}

func (l *lines) write(msg jsonrpc.Message) error {
	text, err := encode(msg)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.w.Write(append(text, '\n'))
	return err
}

// encode spells a message. The SDK leaves the id of an answer to nobody out; JSON-RPC
// wants it to be null.
func encode(msg jsonrpc.Message) ([]byte, error) {
	res, ok := msg.(*jsonrpc.Response)
	if !ok || res.ID.IsValid() {
		return jsonrpc.EncodeMessage(msg)
	}
	return json.Marshal(struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   error  `json:"error"`
	}{"2.0", nil, res.Error})
}

func (l *lines) done(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.inFlight[id]
	if t == nil {
		return
	}
	delete(l.inFlight, id)
	delete(l.tickets, t.name)
	t.answered = true
	for len(l.queue) > 0 && l.queue[0].answered {
		close(l.queue[0].settled)
		l.queue = l.queue[1:]
	}
	select {
	case l.answered <- struct{}{}:
	default:
	}
}

// Close implements mcp.Connection.
func (l *lines) Close() (err error) {
	l.closing.Do(func() {
		close(l.closed)
		err = l.r.Close()
	})
	return err
}

// left waits for the reader. One whose input cannot be closed under it, as a terminal
// cannot, is left behind: the process ends.
func (l *lines) left() {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-l.read:
	case <-timer.C:
	}
}
