package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/agentbound/agentbound/model"
)

// An answer that is to be edited: nothing of it reaches the program before the Editor
// decided, and nothing that could not be read.
type draft struct {
	res      *http.Response
	raw      []byte
	whole    object
	turn     Turn
	streamed bool
}

// edited serves a turn through the Editor.
func (x *exchange) edited() {
	if x.asked.Choices > 1 {
		x.fail(UnreadableRequest, 0, fmt.Sprintf("the request asks for %d answers: where turns are edited one is given", x.asked.Choices))
		return
	}
	var before *Turn
	body, asCame := x.sent, true
	for attempt := 0; ; attempt++ {
		d, ok := x.draft(body, asCame)
		if !ok {
			return
		}
		d.turn.Attempt, d.turn.Draft = attempt, before
		x.idle.Stop() // how long it takes to decide is not the server's doing
		e, err := x.opts.Edit(x.ctx, d.turn)
		x.alive()
		if err == nil {
			err = e.check(attempt)
		}
		switch {
		case err != nil && x.ctx.Err() != nil:
			kind, what := transportFault(x.ctx, "", err)
			x.fail(kind, 0, what)
			return
		case err != nil:
			x.fail(EditFailed, 0, err.Error())
			return
		case len(e.Again) == 0:
			x.deliver(d, e)
			return
		}
		if body, err = x.again(e.Again); err != nil {
			x.fail(EditFailed, 0, fmt.Sprintf("the request cannot be sent once more: %v", err))
			return
		}
		said := d.turn
		before, asCame = &said, false
	}
}

// check refuses what cannot be done.
func (e Edit) check(attempt int) error {
	switch {
	case len(e.Again) == 0:
		return nil
	case attempt > 0:
		return errors.New("a request is sent once more at most once")
	case e.Thought != nil || e.Withhold:
		return errors.New("an edit either changes a turn or has the request sent once more")
	}
	for _, m := range e.Again {
		if m.Role != model.User && m.Role != model.Assistant || m.Text == "" {
			return fmt.Errorf("a message of %q with the text %.40q cannot be added: it takes users' and assistants' texts", m.Role, m.Text)
		}
	}
	if e.Again[len(e.Again)-1].Role != model.User {
		return errors.New("the last message that is added is the user's")
	}
	return nil
}

// again is the request with more at its end.
func (x *exchange) again(extra []Message) ([]byte, error) {
	body := clone(x.read)
	if err := x.codec.again(body, extra); err != nil {
		return nil, err
	}
	return encode(body), nil
}

// draft asks for an answer and reads it to its end. Where there is none to edit, the
// program has been answered.
func (x *exchange) draft(body []byte, asCame bool) (d draft, ok bool) {
	res, ok := x.ask(body, asCame)
	if !ok {
		return d, false
	}
	defer res.Body.Close()
	d.res = res
	var err error
	if d.raw, err = x.all(res.Body); err != nil {
		x.cut(res, nil, err)
		return d, false
	}
	d.raw = x.clean(d.raw) // before it is told, too
	var failure []byte     // the event that is one
	if d.streamed = x.isStream(d.res, d.raw); d.streamed {
		d.turn, d.whole, failure, err = x.decodeStream(d.raw)
	} else {
		d.turn, d.whole, err = x.decode(d.raw)
	}
	if err == nil {
		x.left(model.Response{Usage: d.turn.Usage}, nil)
		return d, true
	}
	if errors.As(err, new(*inside)) {
		if d.streamed {
			d.raw = failure // what came before it was not decided on
		}
		if d.streamed || !answers(d.raw) {
			x.report(Turn{}, err, d.res.StatusCode)
			x.raw(d)
			return d, false
		}
	}
	switch trimmed := bytes.TrimSpace(d.raw); {
	case errors.Is(err, errBroken):
		x.cut(d.res, nil, err)
	case !d.streamed && (!json.Valid(trimmed) || trimmed[0] != '{' && trimmed[0] != '['):
		x.report(Turn{}, err, d.res.StatusCode) // no program finds a turn in it either
		x.raw(d)
	default:
		x.fail(BadAnswer, 0, err.Error())
	}
	return d, false
}

func (x *exchange) isStream(res *http.Response, raw []byte) bool {
	return bytes.Contains([]byte(res.Header.Get("Content-Type")), []byte("text/event-stream")) || x.asked.Stream && eventStream.Match(raw)
}

// answers reports whether a body says something beside a failure.
func answers(raw []byte) bool {
	o, _ := parseObject(raw)
	return slices.ContainsFunc([]string{"choices", "output", "content", "candidates"}, func(k string) bool { return len(o.list(k)) > 0 })
}

// decodeStream reads a stream that came to its end.
func (x *exchange) decodeStream(raw []byte) (t Turn, whole object, failure []byte, err error) {
	var f framer
	f.feed(raw)
	s := x.codec.assemble()
	for more := true; more; {
		var frame []byte
		if frame, more = f.next(); !more {
			frame = f.rest()
		}
		name, data, ok := parse(frame)
		if !ok {
			continue
		}
		switch _, err := s.event(name, data); {
		case err != nil && !more && !errors.As(err, new(*inside)):
			// An event that was cut.
		case err != nil:
			return t, nil, frame, err
		}
	}
	if whole, err = s.whole(); err != nil {
		return t, nil, nil, err
	}
	t, err = x.turn(whole)
	t.Streamed = true
	return t, whole, nil, err
}

// deliver gives the program a turn as it was decided, in the form in which it came.
func (x *exchange) deliver(d draft, e Edit) {
	if e.keeps() && d.turn.Others == 0 {
		x.report(d.turn, nil, d.res.StatusCode)
		x.raw(d)
		return
	}
	said := d.turn
	x.codec.edit(d.whole, e)
	t, err := x.turn(d.whole)
	if err != nil {
		x.fail(EditFailed, 0, fmt.Sprintf("the edited turn is none of the protocol: %v", err))
		return
	}
	t.Attempt, t.Streamed, t.Draft = said.Attempt, said.Streamed, &said
	switch {
	case d.streamed:
		d.raw = bytes.Join(x.codec.events(d.whole), nil)
	case x.at.stream && bytes.HasPrefix(bytes.TrimSpace(d.raw), []byte("[")):
		d.raw = geminiListed(d.whole)
	default:
		d.raw = encode(d.whole)
	}
	for _, name := range []string{"Etag", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Last-Modified"} {
		d.res.Header.Del(name) // of other bytes
	}
	x.report(t, nil, d.res.StatusCode)
	x.raw(d)
}

// raw passes on what there is to pass.
func (x *exchange) raw(d draft) {
	if !d.streamed {
		x.whole(d.res, d.raw)
		return
	}
	x.headers(d.res)
	x.w.Header().Del("Content-Length")
	x.w.WriteHeader(d.res.StatusCode)
	_ = x.write(d.raw)
}
