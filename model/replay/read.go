package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Bounds of what is read.
const (
	longestLine  = 256 << 20
	mostUnpacked = 2 << 30
)

// Recording answers from a file. It may be used by many goroutines.
type Recording struct {
	striker
	path string
	src  io.ReaderAt
	file *os.File // nil where the recording was unpacked
	cut  bool

	plans  []agentbound.Plan
	groups map[group]*plays
	trials map[agentbound.TrialKey]*history
	order  []*played // as they began
	loose  []*span   // exchanges of no trial
	same   map[agentbound.Digest][]*span
	struck []struckSpan // of the loose ones

	mu   sync.Mutex
	plan *agentbound.Plan
}

// group is what plays are goes at: a trial, or one judge's verdict on it.
type group struct {
	trial agentbound.TrialKey
	judge string
}

// plays are the goes to be replayed, in order.
type plays struct {
	all   []*played
	next  int
	asked int // what next was when More last said yes
}

// played is a play that was recorded.
type played struct {
	place
	turns []span
	end   *ended // nil: it was broken off
}

// span is a line of the file.
type span struct {
	line int
	off  int64
	n    int
	turn int
	used bool // of a loose one
}

// Open reads a recording, packed with zstd or not. A last line that was cut is left
// out, see Cut. Errors name the line.
func Open(path string, o Options) (*Recording, error) {
	if err := regular(path); err != nil {
		return nil, fmt.Errorf("recording %s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &Recording{path: path, src: f, file: f, groups: map[group]*plays{}, trials: map[agentbound.TrialKey]*history{}, same: map[agentbound.Digest][]*span{}}
	for _, s := range o.Secrets {
		r.secret(s)
	}
	if err = r.unpack(); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	} else {
		err = r.index()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("recording %w", err), f.Close())
	}
	return r, nil
}

// Cut reports whether the recording ends in the middle of a line, as where a process
// was killed.
func (r *Recording) Cut() bool { return r.cut }

// Close closes the file.
func (r *Recording) Close() error { return r.file.Close() }

var packed = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878

func (r *Recording) unpack() error {
	head := make([]byte, len(packed))
	if n, _ := r.file.ReadAt(head, 0); n < len(head) || !bytes.Equal(head, packed) {
		return nil
	}
	dec, err := zstd.NewReader(r.file, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer dec.Close()
	b, err := io.ReadAll(io.LimitReader(dec, mostUnpacked+1))
	switch {
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case len(b) > mostUnpacked:
		return fmt.Errorf("it unpacks to more than %d bytes: unpack it, and name what comes of it", mostUnpacked)
	}
	r.src = bytes.NewReader(b)
	return nil
}

// readLine reads a line with its end; io.EOF comes with what is left.
func readLine(lines *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > longestLine:
			return nil, fmt.Errorf("a line of more than %d bytes, which is no exchange", longestLine)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// index reads all lines and remembers where they stand.
func (r *Recording) index() error {
	lines := bufio.NewReaderSize(io.NewSectionReader(r.src, 0, 1<<62), 1<<16)
	byID := map[string]*played{}
	at := span{line: 1}
	for {
		line, err := readLine(lines)
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return fmt.Errorf("%s:%d: %w", r.path, at.line, err)
		}
		if last && len(line) == 0 {
			break
		}
		at.n = len(line)
		if err := r.take(line, at, byID); err != nil {
			if last && !json.Valid(line) && at.line > 1 {
				r.cut = true
				break
			}
			return fmt.Errorf("%s:%d: %w", r.path, at.line, err)
		}
		at.off, at.line = at.off+int64(at.n), at.line+1
	}
	if at.line == 1 {
		return fmt.Errorf("%s: it is empty", r.path)
	}
	r.settle()
	return nil
}

// take files one line.
func (r *Recording) take(line []byte, at span, byID map[string]*played) error {
	var head struct {
		Kind    kind   `json:"kind"`
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return fmt.Errorf("not a line of a recording: %w", err)
	}
	switch {
	case at.line == 1 && (head.Kind != kindSession || head.Format != mark):
		return errors.New("it is no recording: name the file of a run --record")
	case head.Kind == kindSession && head.Version != Version:
		return fmt.Errorf("it has version %d, and version %d can be read", head.Version, Version)
	}
	switch head.Kind {
	case kindRun:
		var p planned
		if err := json.Unmarshal(line, &p); err != nil {
			return fmt.Errorf("not the plan of a run: %w", err)
		}
		r.plans = append(r.plans, p.Plan)
	case kindExchange:
		return r.takeExchange(line, at, byID)
	case kindEnd:
		var e ended
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("not the end of a play: %w", err)
		}
		if p := byID[e.Play]; p != nil && p.end == nil {
			p.end = &e
			h := r.trials[p.Trial]
			h.ended = append(h.ended, p)
		}
	case kindStored:
		var s stored
		if err := json.Unmarshal(line, &s); err != nil {
			return fmt.Errorf("not a trial that was stored: %w", err)
		}
		if h := r.trials[s.Trial]; h != nil {
			h.store()
		}
	case kindSession: // what was not stored when a process ended is lost
		for _, h := range r.trials {
			h.lose()
		}
	}
	return nil
}

func (r *Recording) takeExchange(line []byte, at span, byID map[string]*played) error {
	x, err := decodeExchange(line)
	if err != nil {
		return err
	}
	at.turn = x.Turn
	if x.Play == "" {
		whole, err := x.Request.whole(func(int) (request, bool) { return request{}, false })
		if err != nil {
			return err
		}
		r.loose = append(r.loose, &at)
		is := whole.identity()
		r.same[is.digest] = append(r.same[is.digest], &at)
		if is.parts != nil {
			r.struck = append(r.struck, struckSpan{is, &at})
		}
		return nil
	}
	p := byID[x.Play]
	if p == nil {
		p = &played{place: x.place}
		byID[x.Play] = p
		r.order = append(r.order, p)
		if r.trials[p.Trial] == nil {
			r.trials[p.Trial] = new(history)
		}
		if p.Judge == "" {
			r.trials[p.Trial].anew()
		}
	}
	if p.Trial != x.Trial || p.Judge != x.Judge {
		return fmt.Errorf("play %s is of trial %s, and here of %s", x.Play, p.Trial, x.Trial)
	}
	p.turns = append(p.turns, at)
	return nil
}

func decodeExchange(line []byte) (exchange, error) {
	var x exchange
	if err := json.Unmarshal(line, &x); err != nil {
		return x, fmt.Errorf("not an exchange: %w", err)
	}
	if (x.Response == nil) == (x.Error == nil) {
		return x, errors.New("an exchange has a response or an error, and this one has not")
	}
	if x.MS < 0 {
		return x, fmt.Errorf("ms is %d", x.MS)
	}
	return x, nil
}

// history is what became of the plays of one trial, its judges' included: a store takes
// them together.
type history struct {
	stored []*played
	ended  []*played // since then
	unsure []*played // a scored trial whose process ended before it said that it was stored
}

// store: what ended is in the store.
func (h *history) store() {
	h.stored = slices.Concat(h.stored, h.unsure, h.ended)
	h.unsure, h.ended = nil, nil
}

// anew: the trial is made again, so that what ended had not been stored.
func (h *history) anew() { h.unsure, h.ended = nil, nil }

// lose: the process is gone. A scored trial was stored all the same if nobody makes it
// again.
func (h *history) lose() {
	if slices.ContainsFunc(h.ended, func(p *played) bool { return p.Judge == "" && p.end.Scored }) {
		h.unsure = h.ended
	}
	h.ended = nil
}

// settle decides which plays are replayed: those that a store has seen, in order. Of a
// trial, or a judge's verdict, of which it has seen none it is the latest.
func (r *Recording) settle() {
	add := func(p *played) {
		g := r.groups[p.group()]
		if g == nil {
			g = &plays{asked: -1}
			r.groups[p.group()] = g
		}
		g.all = append(g.all, p)
	}
	for _, h := range r.trials {
		h.lose()
		h.store()
		for _, p := range h.stored {
			add(p)
		}
	}
	latest := map[group]*played{}
	for _, p := range r.order {
		latest[p.group()] = p
	}
	for g, p := range latest {
		if r.groups[g] == nil {
			add(p)
		}
	}
}

func (p *played) group() group { return group{p.Trial, p.Judge} }

// load reads a play's exchanges with their requests made whole.
func (r *Recording) load(p *played) ([]loaded, error) {
	var all []loaded
	for _, s := range p.turns {
		x, err := r.read(s)
		if err != nil {
			return nil, err
		}
		x.Request, err = x.Request.whole(func(turn int) (request, bool) {
			i := slices.IndexFunc(all, func(l loaded) bool { return l.Turn == turn })
			if i < 0 {
				return request{}, false
			}
			return all[i].Request, true
		})
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", r.name(), s.line, err)
		}
		all = append(all, loaded{exchange: x, line: s.line, recorded: x.Request.identity()})
	}
	return all, nil
}

// loaded is an exchange to be replayed.
type loaded struct {
	exchange
	line     int
	recorded identity
	used     bool
}

func (r *Recording) read(s span) (exchange, error) {
	line := make([]byte, s.n)
	if _, err := r.src.ReadAt(line, s.off); err != nil && !errors.Is(err, io.EOF) {
		return exchange{}, fmt.Errorf("%s:%d: %w", r.name(), s.line, err)
	}
	x, err := decodeExchange(line)
	if err != nil {
		return x, fmt.Errorf("%s:%d: %w", r.name(), s.line, err)
	}
	return x, nil
}

// name is the file's, without its folders: errors are stored.
func (r *Recording) name() string { return filepath.Base(r.path) }

// Run says which plan the questions that follow are of.
func (r *Recording) Run(p agentbound.Plan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plan = &p
}

// Runs are the plans that were recorded, in order.
func (r *Recording) Runs() []agentbound.Plan { return slices.Clone(r.plans) }

// More reports whether a trial, or a judge's verdict on it, was attempted once more
// than it has been replayed.
func (r *Recording) More(t agentbound.TrialKey, judge string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.groups[group{t, judge}]
	if g == nil || g.next >= len(g.all) || g.next == g.asked {
		return false // asked: the last go asked no model at all, and the next would not either
	}
	g.asked = g.next
	return true
}

var _ model.Model = replayed{}
