package wire

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

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
	led      bool // a text stands before what it says (see Edit.Again)
}

// edited serves a turn through the Editor.
func (x *exchange) edited() {
	if x.asked.Choices > 1 {
		x.fail(UnreadableRequest, 0, fmt.Sprintf("the request asks for %d answers: where turns are edited one is given", x.asked.Choices))
		return
	}
	res, ok := x.ask(x.sent, x.asCame)
	if !ok {
		return
	}
	if x.opts.Flow {
		from := reader(res.Body)
		defer readers.Put(from)
		if x.streamed(res, from) {
			defer res.Body.Close()
			x.flow(res, from)
			return
		}
		res.Body = unzipped{from, res.Body}
	}
	x.held(res)
}

// held serves a turn of which nothing has gone out.
func (x *exchange) held(res *http.Response) {
	d, ok := x.draft(res)
	if !ok {
		return
	}
	e, f := x.decide(d.turn, false)
	if f != nil {
		x.fail(f.Kind, 0, f.What)
		return
	}
	if len(e.Again) == 0 {
		x.deliver(d, e)
		return
	}
	second, ok := x.secondDraft(e)
	switch {
	case ok:
	case e.Else == nil:
		return
	default:
		x.deliver(d, *e.Else)
		return
	}
	said := d.turn
	second.turn.Attempt, second.turn.Draft = 1, &said
	after, f := x.decide(second.turn, false)
	if f != nil {
		x.fail(f.Kind, 0, f.What)
		return
	}
	if lead, ok := e.says(said.Text); ok {
		x.addUsage(second.whole, d.whole)
		second.led = true
		after = after.ledBy(lead, second.turn.Text)
	}
	x.deliver(second, after)
}

// secondDraft asks once more. Where nothing comes of it, and nothing else is to become of
// the turn, the program has been answered.
func (x *exchange) secondDraft(e Edit) (draft, bool) {
	body, err := x.again(e.Again)
	switch {
	case err != nil && e.Else == nil:
		x.fail(EditFailed, 0, err.Error())
		return draft{}, false
	case err != nil:
		x.fault(Fault{Kind: EditFailed, What: err.Error()})
		return draft{}, false
	case e.Else != nil:
		return x.once(body)
	}
	res, ok := x.ask(body, false)
	if !ok {
		return draft{}, false
	}
	return x.draft(res)
}

// decide asks the Editor, however long he takes: that is not the server's doing.
func (x *exchange) decide(t Turn, flows bool) (Edit, *Fault) {
	x.idle.Stop()
	e, err := x.opts.Edit(x.ctx, x.told(t))
	x.alive()
	if err == nil {
		err = e.check(t, flows)
	}
	switch {
	case err == nil:
		return e, nil
	case x.ctx.Err() != nil:
		kind, what := transportFault(x.ctx, "", err)
		return e, &Fault{Kind: kind, What: what}
	}
	return e, &Fault{Kind: EditFailed, What: err.Error()}
}

// says is the text that an edit makes of a turn's, if it makes one.
func (e Edit) says(text string) (string, bool) {
	if e.Thought != nil {
		text = *e.Thought
	}
	return text + e.Add, e.Thought != nil || e.Add != ""
}

// ledBy has a text stand before what the answer says.
func (e Edit) ledBy(lead, text string) Edit {
	said, _ := e.says(text)
	both := paragraphs([]string{lead, said})
	e.Thought, e.Add = &both, ""
	return e
}

// addUsage puts what an answer used to what another one did.
func (x *exchange) addUsage(to, of object) {
	if k := x.codec.usage(); given(to[k]) && given(of[k]) {
		to[k] = sum(to[k], of[k])
	}
}

// check refuses what cannot be done.
func (e Edit) check(t Turn, flows bool) error {
	if e.Else != nil {
		if len(e.Else.Again) > 0 || e.Else.Else != nil {
			return errors.New("what becomes of a turn otherwise is not that its request is sent once more")
		}
		if err := e.Else.check(t, flows); err != nil {
			return err
		}
	}
	switch {
	case t.Flowed != "" && e.Thought != nil:
		return errors.New("the text of the turn has flowed: it can be added to, not changed")
	case flows && !e.keeps() && !e.Withhold && len(e.Again) == 0:
		return errors.New("of a turn that flows the calls are withheld, or asked for again")
	case len(e.Again) == 0:
		return nil
	case t.Attempt > 0:
		return errors.New("a request is sent once more at most once")
	case e.Withhold:
		return errors.New("an edit either withholds calls or has the request sent once more")
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
		return nil, fmt.Errorf("the request cannot be sent once more: %w", err)
	}
	return encode(body), nil
}

// once asks for an answer and tells what went wrong, without a word to the program.
func (x *exchange) once(body []byte) (d draft, ok bool) {
	if f := x.paced(max(x.size, len(body))); f != nil {
		x.fault(*f)
		return d, false
	}
	res, err := x.send(body, false)
	if err != nil {
		x.err = err
		x.fault(x.unsent(err))
		return d, false
	}
	defer res.Body.Close()
	d.res = res
	if d.raw, err = x.all(res.Body); err != nil {
		kind, what := x.broken(err)
		x.fault(Fault{Kind: kind, What: what})
		return d, false
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		x.fault(x.refused(res, d.raw))
		return d, false
	}
	if _, err = x.readDraft(&d); err != nil {
		x.fault(x.unread(err, res.StatusCode))
		return d, false
	}
	x.left(model.Response{Usage: d.turn.Usage}, nil)
	return d, true
}

// readDraft decodes what came. An event that is a failure comes with it.
func (x *exchange) readDraft(d *draft) (failure []byte, err error) {
	d.raw = x.clean(d.raw) // before it is told, too
	if d.streamed = x.isStream(d.res, d.raw); d.streamed {
		d.turn, d.whole, failure, err = x.decodeStream(d.raw)
	} else {
		d.turn, d.whole, err = x.decode(d.raw)
	}
	return failure, err
}

// draft reads an answer to its end. Where there is none to edit, the program has been
// answered.
func (x *exchange) draft(res *http.Response) (d draft, ok bool) {
	defer res.Body.Close()
	d.res = res
	var err error
	if d.raw, err = x.all(res.Body); err != nil {
		x.cut(res, nil, err)
		return d, false
	}
	failure, err := x.readDraft(&d)
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
	switch {
	case errors.Is(err, errBroken):
		x.cut(d.res, nil, err)
	case !d.streamed && words(d.raw):
		x.report(Turn{}, err, d.res.StatusCode) // no program finds a turn in it either
		x.raw(d)
	default:
		x.fail(BadAnswer, 0, err.Error())
	}
	return d, false
}

// isStream reports whether an answer is a stream, whatever was asked for and whatever its
// content type says of JSON.
func (x *exchange) isStream(res *http.Response, raw []byte) bool {
	return strings.Contains(res.Header.Get("Content-Type"), "text/event-stream") && !opens(raw) || eventStream.Match(raw)
}

// words reports whether a body is no JSON to any reader. Some take what follows a byte
// order mark, a value that more comes after, NaN, or another encoding than UTF-8.
func words(raw []byte) bool {
	return !opens(raw) && bytes.IndexByte(raw, 0) < 0
}

// opens reports whether a text begins as an object or a list does.
func opens(raw []byte) bool {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(raw), bom))
	return len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[')
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
	if text, ok := e.says(said.Text); ok {
		e.Thought, e.Add = &text, ""
	}
	x.codec.edit(d.whole, e)
	t, err := x.turn(d.whole)
	if err != nil {
		x.fail(EditFailed, 0, fmt.Sprintf("the edited turn is none of the protocol: %v", err))
		return
	}
	if t.Attempt, t.Streamed, t.Draft = said.Attempt, said.Streamed, &said; d.led {
		t.Draft = said.Draft // what goes on from a text is no draft of it
	}
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
