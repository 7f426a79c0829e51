package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/filelock"
	"github.com/agentbound/agentbound/model"
)

// Options of a recorder, a recording and a cache.
type Options struct {
	Secrets []string         // struck wherever they stand, from 6 bytes on
	Clock   func() time.Time // nil: time.Now
}

func (o Options) clock() func() time.Time {
	if o.Clock == nil {
		return time.Now
	}
	return o.Clock
}

// Recorder writes exchanges to a file, one line each, before whoever asked gets the
// answer: what a store holds is in the recording. It may be used by many goroutines.
type Recorder struct {
	striker
	path    string
	file    *os.File
	clock   func() time.Time
	dropped int64
	session int

	mu     sync.Mutex
	size   int64
	plays  int
	broken error
	open   map[agentbound.TrialKey]bool // with exchanges since they were stored
}

// Record opens a recording to add to, or begins one. Of what a killed process left the
// line that it was writing is dropped, and nothing else. One process at a time may
// write. Errors say what is wrong with the file and what to do.
func Record(path string, o Options) (*Recorder, error) {
	if err := regular(path); err != nil {
		return nil, fmt.Errorf("recording %s: %w", path, err)
	}
	f, held, err := filelock.Open(path, 0o600)
	switch {
	case held:
		return nil, fmt.Errorf("recording %s: another process is writing to it: wait for it, or name another file", path)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("recording %s: its folder does not exist: create it, or name another file", path)
	case err != nil:
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &Recorder{path: path, file: f, clock: o.clock(), open: map[agentbound.TrialKey]bool{}}
	for _, s := range o.Secrets {
		r.secret(s)
	}
	if err := r.resume(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// regular refuses what is there and is no file: of a pipe a reader waits for ever.
func regular(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no regular file: name another")
	}
	return nil
}

// Secret is a further one to strike.
func (r *Recorder) Secret(s string) { r.secret(s) }

// Dropped is how many bytes of a line that was cut were dropped when the recording was
// opened.
func (r *Recorder) Dropped() int64 { return r.dropped }

// resume finds the end of what is there and begins a session after it.
func (r *Recorder) resume() error {
	sessions, whole, total, err := sessions(r.file)
	if err != nil {
		return fmt.Errorf("recording %s: %w", r.path, err)
	}
	r.size, r.dropped, r.session = whole, total-whole, sessions+1
	if r.dropped > 0 {
		if err := r.file.Truncate(whole); err != nil {
			return fmt.Errorf("recording %s: %w", r.path, err)
		}
	}
	return r.write(session{kindSession, mark, Version, r.session, r.clock().UTC().Format(time.RFC3339)})
}

// opening is how every recording begins.
var opening = fmt.Sprintf(`{"kind":%q,"format":%q,"version":`, kindSession, mark)

// sessions counts the sessions of a file and finds the end of its last whole line. It
// is an error for the file to be something else.
func sessions(f io.Reader) (n int, whole, total int64, err error) {
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, 0, err
		}
		cut := errors.Is(err, io.EOF)
		if total == 0 && len(line) > 0 {
			if begins := strings.HasPrefix(string(line), opening); !begins && !(cut && strings.HasPrefix(opening, string(line))) {
				return 0, 0, 0, errors.New("there is a file that is no recording: name another file")
			}
		}
		total += int64(len(line))
		if cut {
			return n, whole, total, nil
		}
		whole = total
		var s session
		if bytes.HasPrefix(line, []byte(opening)) && json.Unmarshal(line, &s) == nil {
			if s.Version != Version {
				return 0, 0, 0, fmt.Errorf("it has version %d, and version %d can be added to: name another file", s.Version, Version)
			}
			n = max(n, s.Session)
		}
	}
}

// write adds a line. After a failure nothing more is written, and the file ends with
// the last whole line.
func (r *Recorder) write(line any) error {
	b, err := agentbound.EncodeJSON(line)
	if err != nil {
		return fmt.Errorf("recording %s: %w", r.path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken
	}
	b = append(b, '\n')
	if _, err := r.file.WriteAt(b, r.size); err != nil {
		r.broken = fmt.Errorf("recording %s: %w", r.path, errors.Join(err, r.file.Truncate(r.size)))
		return r.broken
	}
	r.size += int64(len(b))
	return nil
}

// fit is an error where nothing more can be recorded: then nobody is asked either.
func (r *Recorder) fit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// Run says which plan the exchanges that follow are of.
func (r *Recorder) Run(p agentbound.Plan) error {
	id := p.ID()
	b, err := agentbound.EncodeJSON(p)
	if err == nil && r.holds(b) { // in an address, by mistake
		p = agentbound.Plan{}
		err = json.Unmarshal([]byte(r.told(string(b))), &p)
	}
	if err != nil {
		return fmt.Errorf("recording %s: %w", r.path, err)
	}
	return r.write(planned{kindRun, id, p})
}

// Stored says that a trial is in the store with what was recorded of it: where a process
// is killed, a replay knows by it what the store has seen.
func (r *Recorder) Stored(t agentbound.TrialKey) error {
	r.mu.Lock()
	open := r.open[t]
	delete(r.open, t)
	r.mu.Unlock()
	if !open {
		return nil
	}
	return r.write(stored{kindStored, t})
}

// Close ends the recording. The error is the first that kept something from it.
func (r *Recorder) Close() error { return errors.Join(r.fit(), r.file.Close()) }

// Wrap gives a model whose exchanges are recorded. What it gives on is what a replay
// will give: where something was struck from an answer or an error, it is struck there
// as well. Only message.State goes on as it came, since the provider wants it back.
func (r *Recorder) Wrap(m model.Model, part model.Part) model.Model { return recorded{m, r, part} }

type recorded struct {
	model.Model
	recorder *Recorder
	part     model.Part
}

// Chat implements model.Model.
func (m recorded) Chat(ctx context.Context, req model.Request) (model.Response, error) {
	r := m.recorder
	if err := r.fit(); err != nil {
		return model.Response{}, unkept(err)
	}
	x := exchange{Kind: kindExchange, Part: m.part}
	began := r.clock()
	res, err := m.Model.Chat(model.Noticing(ctx, func(e *model.Error) {
		x.Failed = append(x.Failed, attempt{e.Fault, e.Status, r.words(e.Code)})
	}), req)
	x.MS = max(0, r.clock().Sub(began).Milliseconds())
	switch said, ok := errors.AsType[*model.Error](err); {
	case err == nil:
		x.Response = encodeResponse(r.response(res))
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled):
		return res, err // the play is broken off, to be forgotten
	case ctx.Err() != nil:
		x.Error = &fault{Ended: r.words(context.Cause(ctx).Error())}
	case ok:
		x.Error = encodeFault(r.fault(said))
	default:
		x.Error = &fault{Ended: r.words(err.Error())}
	}
	if err := r.keep(ctx, x, encodeRequest(r.ref(m.Ref()), r.request(req))); err != nil {
		return model.Response{}, unkept(err)
	}
	switch {
	case err == nil:
		given, err := x.Response.decode()
		given.Message.State = res.Message.State
		return given, err
	case x.Error.Ended != "":
		return model.Response{}, err
	}
	return model.Response{}, x.Error.decode()
}

func unkept(err error) error {
	return &model.Error{Fault: model.FaultRequest, What: "the exchange cannot be recorded: " + err.Error(), Remedy: "mend that, and run the same command again", Err: err}
}

// tape is a play as it is recorded.
type tape struct {
	place
	mu    sync.Mutex
	turns int
	last  map[string]turn // by part and model: a conversation each
}

type turn struct {
	n       int
	request request
}

func (r *Recorder) keep(ctx context.Context, x exchange, whole request) error {
	p := model.PlayOf(ctx)
	if p == nil || p.Trial == "" {
		x.Request = whole
		return r.write(x)
	}
	p.Took(time.Duration(x.MS) * time.Millisecond)
	t := r.tape(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	x.place, x.Turn, x.Request = t.place, t.turns, whole
	conversation := string(x.Part) + " " + string(agentbound.DigestJSON(whole.Model))
	if last, ok := t.last[conversation]; ok {
		x.Request = whole.shortened(last.n, last.request)
	}
	if err := r.write(x); err != nil {
		return err
	}
	t.last[conversation] = turn{t.turns, whole}
	t.turns++
	return nil
}

// tape is the play's, begun at its first exchange.
func (r *Recorder) tape(p *model.Play) *tape {
	begun := false
	t := p.Keep(r, func() any {
		begun = true
		r.mu.Lock()
		defer r.mu.Unlock()
		r.plays++
		r.open[p.Trial] = true
		return &tape{place: place{fmt.Sprintf("%d.%d", r.session, r.plays), p.Trial, p.Judge}, last: map[string]turn{}}
	}).(*tape)
	if begun {
		p.AtEnd(func(scored bool, why string) {
			_ = r.write(ended{kindEnd, t.place, scored, r.words(why)}) // Close says so
		})
	}
	return t
}
