package wire

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/agentbound/agentbound/model"
)

// flow serves a stream through the Editor while its text goes on. From the first event on
// that lets a program know of a call, or of the end, everything is held until the turn is
// complete and the Editor has decided: kept, the rest passes to the byte; changed, what is
// held is dropped, and a continuation in the same stream takes its place.
type flow struct {
	*relay
	tail     []byte // of what is held, what belongs to parts that the program knows already
	complete bool   // no event of the turn is to come
	passing  bool   // decided: the rest passes
	over     bool   // the program has had its last byte
}

func (x *exchange) flow(res *http.Response, from io.Reader) {
	x.headers(res)
	x.w.Header().Del("Content-Length")
	x.w.WriteHeader(res.StatusCode)
	f := &flow{relay: &relay{exchange: x, status: res.StatusCode, stream: x.codec.assemble()}}
	err := x.write(nil)
	room := rooms.Get().(*[]byte)
	defer rooms.Put(room)
	piece := *room
	for err == nil && !f.over {
		var n int
		n, err = from.Read(piece)
		x.alive()
		f.take(piece[:n])
		if f.size > x.opts.MaxAnswer {
			err = errLarge
		}
		if failed := f.flush(); failed != nil && (err == nil || errors.Is(err, io.EOF)) {
			err = failed
			x.stop(nil)
		}
		if f.complete && !f.passing && !f.over && (err == nil || errors.Is(err, io.EOF)) {
			f.decided()
		}
	}
	switch {
	case f.over:
	case errors.Is(err, io.EOF):
		f.end()
	default:
		kind, what := x.broken(err)
		if !f.passing || kind != Gone && kind != Connection {
			x.fault(Fault{Kind: kind, What: what})
		}
		panic(http.ErrAbortHandler)
	}
}

// flush passes on what may pass.
func (f *flow) flush() error {
	if len(f.out) == 0 {
		return nil
	}
	err := f.write(f.out)
	f.out = f.out[:0]
	return err
}

func (f *flow) take(piece []byte) {
	f.size += int64(len(piece))
	f.frames.feed(piece)
	if f.passing {
		f.after()
		return
	}
	for !f.over && !f.complete {
		frame, ok := f.frames.next()
		if !ok {
			return
		}
		f.frame(frame)
	}
}

// after passes on what follows a turn that is complete: comments, and the mark that ends a
// stream. An event would be of a turn that nobody has decided on, and clients that read to
// the end would take it.
func (f *flow) after() {
	for {
		frame, ok := f.frames.next()
		if !ok {
			return
		}
		if _, data, ok := parse(frame); !ok && !foreign(frame) || string(bytes.TrimSpace(data)) == "[DONE]" {
			f.out = append(f.out, frame...)
		}
	}
}

var errForeign = malformed("its stream holds what is no event")

// foreign reports whether a frame that is no event holds JSON: a program that does not
// look for events would find it.
func foreign(frame []byte) bool {
	if bytes.IndexByte(frame, 0) >= 0 {
		return true
	}
	for line := range bytes.FieldsFuncSeq(frame, func(c rune) bool { return c == '\r' || c == '\n' }) {
		if opens(line) {
			return true
		}
	}
	return false
}

func (f *flow) frame(frame []byte) {
	at := going
	if name, data, ok := parse(frame); ok {
		var err error
		at, err = f.stream.event(name, data)
		if err == nil && f.stream.several() {
			err = malformed("it holds several answers, of which one was asked for")
		}
		if err != nil {
			f.fails(err, frame)
			return
		}
	} else if foreign(frame) {
		f.fails(errForeign, nil)
		return
	}
	if f.holding = f.holding || at > going; !f.holding {
		f.out = append(f.out, frame...)
		return
	}
	f.held = append(f.held, frame...)
	if f.stream.within() {
		f.tail = append(f.tail, frame...)
	}
	f.complete = at == ended
}

// fails ends a turn that cannot be read: what is held is not passed on. A failure that the
// server tells passes as it came.
func (f *flow) fails(err error, frame []byte) {
	f.report(Turn{}, err, f.status)
	if f.over = true; errors.As(err, new(*inside)) {
		f.out = append(f.out, frame...)
		return
	}
	f.out = append(f.out, f.broke(http.StatusBadGateway, err.Error())...)
}

// broke is a failure of the proxy's in the middle of the stream.
func (f *flow) broke(status int, what string) []byte {
	return f.hide(f.clean(f.codec.broke(status, ours+what)))
}

// end is the end of a stream in good order. Some turns are complete by that alone.
func (f *flow) end() {
	rest := f.frames.rest()
	if f.passing {
		return
	}
	if name, data, ok := parse(rest); ok {
		switch at, err := f.stream.event(name, data); {
		case errors.As(err, new(*inside)): // any other error is an event that was cut
			f.fails(err, rest)
			_ = f.flush()
			return
		case err == nil:
			f.holding = f.holding || at > going
		}
	} else if foreign(rest) {
		f.fails(errForeign, nil)
		_ = f.flush()
		return
	}
	whole, err := f.stream.whole()
	if err != nil {
		f.report(Turn{}, err, f.status)
		if !f.holding { // the program sees that it broke off
			_ = f.write(rest)
		}
		return
	}
	f.turnOf(whole)
}

// decided is called where the turn is complete.
func (f *flow) decided() {
	whole, err := f.stream.whole()
	if err != nil {
		f.fails(err, nil)
		_ = f.flush()
		return
	}
	f.turnOf(whole)
}

// turnOf has the Editor decide on the turn, and passes on what becomes of it.
func (f *flow) turnOf(whole object) {
	t, err := f.turn(whole)
	if err != nil {
		f.fails(err, nil)
		_ = f.flush()
		return
	}
	f.left(model.Response{Usage: t.Usage}, nil)
	t.Streamed, t.Flowed = true, f.stream.flowed()
	e, fault := f.decide(t, true)
	if fault != nil {
		f.gives(fault)
		return
	}
	if len(e.Again) > 0 {
		f.again(t, whole, e)
		return
	}
	f.become(t, whole, e)
}

// gives ends the turn with a failure of the proxy's.
func (f *flow) gives(fault *Fault) {
	f.fault(*fault)
	if f.over = true; fault.Kind == Gone {
		panic(http.ErrAbortHandler)
	}
	_ = f.write(f.broke(fault.Kind.status(), fault.What))
}

// become has the turn kept, or end with a text and without its calls.
func (f *flow) become(t Turn, whole object, e Edit) {
	if e.keeps() {
		f.passing = true
		f.report(t, nil, f.status)
		f.out = append(f.out, f.held...)
		f.held = nil
		f.after()
		_ = f.flush()
		return
	}
	// What of the text is held is the turn's, too.
	held := t.Text
	if rest, ok := strings.CutPrefix(t.Text, t.Flowed); ok || t.Flowed == "" {
		held = rest
	}
	text, _ := e.says(held)
	whole = clone(whole)
	f.codec.only(whole, text)
	f.goesOn(t, whole, text)
}

// again has the turn go on with the answer to the request that is sent once more.
func (f *flow) again(t Turn, whole object, e Edit) {
	body, err := f.exchange.again(e.Again)
	ok := err == nil
	var second draft
	if !ok {
		f.fault(Fault{Kind: EditFailed, What: err.Error()})
	} else {
		second, ok = f.once(body)
	}
	switch {
	case f.ctx.Err() != nil:
		f.over = true
		panic(http.ErrAbortHandler)
	case !ok && e.Else != nil:
		f.become(t, whole, *e.Else)
		return
	case !ok:
		f.over = true
		_ = f.write(f.broke(http.StatusBadGateway, "the turn was to be corrected, and the server gave no answer when it was asked once more"))
		return
	}
	second.turn.Attempt, second.turn.Streamed, second.turn.Draft = 1, true, &t
	after, fault := f.decide(second.turn, false)
	if fault != nil {
		f.gives(fault)
		return
	}
	f.addUsage(second.whole, whole)
	lead, _ := e.says("")
	text := *after.ledBy(lead, second.turn.Text).Thought
	if after.Withhold {
		f.codec.only(second.whole, text)
	}
	f.goesOn(t, second.whole, text)
}

// goesOn writes the continuation, and tells the turn that it makes.
func (f *flow) goesOn(draft Turn, whole object, text string) {
	f.over = true
	t, err := f.turn(whole)
	if err != nil {
		f.gives(&Fault{Kind: EditFailed, What: "the edited turn is none of the protocol: " + err.Error()})
		return
	}
	t.Streamed, t.Draft, t.Flowed = true, &draft, draft.Flowed
	t.Text = draft.Flowed + text
	t.settle(false)
	if s, ok := f.stream.(*responsesStream); ok && f.asked.Stored {
		f.renamed.put(s.begun.text("id"), whole.text("id"))
	}
	frames := f.stream.splice(whole, text)
	f.report(t, nil, f.status)
	out := f.tail
	for _, frame := range frames {
		out = append(out, frame...)
	}
	_ = f.write(out)
}
