package gateway

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/filelock"
	"github.com/agentbound/agentbound/internal/wire"
	"github.com/agentbound/agentbound/intervene"
)

// auditVersion is that of entries. What is added to them leaves it; what means something
// else raises it.
const auditVersion = 1

// Result is what became of a turn.
type Result string

// The results there are.
const (
	Kept        Result = "kept"
	Changed     Result = "changed"     // the client has the turn that was made anew; in shadow it would have
	Opened      Result = "open"        // something failed, and the draft passed
	Closed      Result = "closed"      // something failed, and the calls were held back
	Failed      Result = "failed"      // in shadow: the corrector failed, and the turn had passed
	Undelivered Result = "undelivered" // the client had none of it
)

// The modes there are.
const (
	Live   = "live"
	Shadow = "shadow" // nothing is changed or held back
)

// Entry is one line of an audit log (docs/gateway.md).
type Entry struct {
	V           int       `json:"v"`
	Time        time.Time `json:"time"`
	Mode        string    `json:"mode"`
	Result      Result    `json:"result"`
	Protocol    string    `json:"protocol"`
	Model       string    `json:"model,omitempty"`
	Streamed    bool      `json:"streamed,omitempty"`
	Corrector   string    `json:"corrector,omitempty"`
	Instruction string    `json:"instruction_sha256"`
	Decision    int       `json:"decision"` // how many decisions the request tells of before this one
	Before      Side      `json:"before"`
	After       *Side     `json:"after,omitempty"`
	Failure     string    `json:"failure,omitempty"`
	MS          float64   `json:"corrector_ms"`
	Tokens      Tokens    `json:"corrector_tokens"`
	Upstream    Tokens    `json:"upstream_tokens"` // of all answers that the turn took
}

// Word tells the result to people: in shadow a turn only would have been changed.
func (e Entry) Word() string {
	if e.Mode == Shadow && e.Result == Changed {
		return "would have changed"
	}
	return string(e.Result)
}

// Side is a turn before the edit, or after it.
type Side struct {
	Thought string   `json:"thought"`
	Source  string   `json:"source,omitempty"`
	Calls   []Called `json:"calls"`
}

// Called is a call of a turn's. Arguments are there only where that was asked for.
type Called struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments,omitempty"`
}

// Tokens are how many there were.
type Tokens struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
}

// enter counts a review, and writes it into the audit log where it belongs there. t is the
// turn as the client has it; nil: the client has none.
func (g *Gateway) enter(r *review, t *wire.Turn) {
	g.meters.review(r)
	e := g.entry(r, t)
	if g.opts.Shadow {
		g.meters.requests.WithLabelValues(e.Protocol, "shadowed").Inc()
	} else {
		g.meters.requests.WithLabelValues(e.Protocol, string(e.Result)).Inc()
	}
	if e.Failure != "" {
		g.opts.Log.Warn("a turn could not be reviewed as it should", "result", string(e.Result), "protocol", e.Protocol, "why", e.Failure)
	}
	if g.opts.Audit == nil || e.Result == Kept && !g.opts.AuditKept {
		return
	}
	if err := g.opts.Audit.Append(e); err != nil {
		g.meters.audits.WithLabelValues("failed").Inc()
		g.opts.Log.Error("an edit is not in the audit log", "error", err)
		g.missed.Store(true)
		return
	}
	g.meters.audits.WithLabelValues("written").Inc()
	g.missed.Store(false)
}

// ready reports whether requests should come. Where an entry could not be written the log
// is tried again: who is sent no requests has no other occasion to.
func (g *Gateway) ready() bool {
	if g.missed.Load() && g.opts.Audit.try() == nil {
		g.missed.Store(false)
	}
	return !g.ends.Load() && !g.missed.Load()
}

// entry is what is told of a review.
func (g *Gateway) entry(r *review, t *wire.Turn) Entry {
	sum := sha256.Sum256([]byte(r.seen.Instruction))
	e := Entry{
		V: auditVersion, Time: g.opts.Clock().UTC(), Mode: Live, Protocol: string(r.draft.Protocol), Model: r.draft.Model, Streamed: r.draft.Streamed,
		Corrector: g.opts.Intervention.Ref.Name, Instruction: hex.EncodeToString(sum[:]), Decision: len(r.seen.History),
		Before: g.side(r.draft.Thought, r.draft), MS: float64(r.took.Microseconds()) / 1000,
		Tokens: Tokens{r.usage.InputTokens, r.usage.OutputTokens}, Upstream: Tokens{r.draft.Usage.Input, r.draft.Usage.Output},
	}
	if t != nil && !g.opts.Shadow {
		e.Upstream = Tokens{t.Usage.Input, t.Usage.Output}
	}
	open := g.opts.Intervention.OnFailure == intervene.Open
	fails := func(why string) {
		e.Failure = why
		if e.Result = Closed; open {
			e.Result = Opened
		}
	}
	switch {
	case g.opts.Shadow:
		e.Mode, e.Result = Shadow, Kept
		if r.changed {
			e.Result, e.After = Changed, &Side{Thought: r.thought, Calls: []Called{}} // what it would have called nobody knows
		}
		if r.failed != "" {
			e.Result, e.Failure = Failed, r.failed
		}
		return e
	case t == nil:
		e.Result, e.Failure = Undelivered, r.undelivered
		return e
	case r.failed != "":
		fails(r.failed)
	case r.changed && r.again != "":
		fails(r.again)
	case r.changed:
		e.Result = Changed
	default:
		e.Result = Kept
	}
	thought := r.draft.Thought
	if e.Result == Changed {
		thought = r.thought
	}
	after := g.side(thought, *t)
	after.Source = ""
	e.After = &after
	return e
}

func (g *Gateway) side(thought string, t wire.Turn) Side {
	s := Side{Thought: thought, Source: string(t.Source), Calls: []Called{}}
	for _, c := range t.Calls {
		called := Called{Tool: toolName(c.Namespace, c.Name)}
		if g.opts.Arguments {
			called.Arguments = c.Args
		}
		s.Calls = append(s.Calls, called)
	}
	return s
}

// Audit is a log of entries, a line each, that is appended to and never changed. A file
// that has grown past its bound is put aside under a name with the time, and a new one is
// begun; none is ever removed.
type Audit struct {
	path  string
	most  int64
	clock func() time.Time

	mu   sync.Mutex
	file *os.File
	size int64
	torn bool // the last line has no end
}

// OpenAudit opens a log, or begins one. One process at a time has it. most is how large a
// file may grow, in bytes; 0: without a bound.
func OpenAudit(path string, most int64) (*Audit, error) {
	a := &Audit{path: path, most: most, clock: time.Now}
	if err := a.open(); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	return a, nil
}

func (a *Audit) open() error {
	f, held, err := filelock.Open(a.path, 0o600) // it holds what agents said
	if err != nil {
		return err
	}
	if held {
		return fmt.Errorf("%s: another gateway writes it", a.path)
	}
	size, err := f.Seek(0, io.SeekEnd)
	last := []byte{'\n'}
	if err == nil && size > 0 {
		_, err = f.ReadAt(last, size-1)
	}
	if err != nil {
		f.Close()
		return err
	}
	a.file, a.size, a.torn = f, size, last[0] != '\n' // a process died in the middle of a line
	return nil
}

// Append writes an entry. When it returns the entry is on the disk, or there is an error.
func (a *Audit) Append(e Entry) error {
	line, err := agentbound.EncodeJSON(e)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		if err := a.open(); err != nil { // it could not be begun anew before
			return err
		}
	}
	if a.most > 0 && a.size > 0 && a.size+int64(len(line)) > a.most {
		if err := a.rotate(); err != nil {
			return err
		}
	}
	if line = append(line, '\n'); a.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := a.file.Write(line)
	a.size += int64(n)
	a.torn = n > 0 && n < len(line) || n == 0 && a.torn
	if err != nil {
		return err
	}
	return a.file.Sync()
}

// try writes an empty line, which is no entry.
func (a *Audit) try() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		if err := a.open(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(a.path); err != nil {
		return err // it is written where nobody finds it
	}
	n, err := a.file.Write([]byte{'\n'})
	a.size += int64(n)
	if a.torn = a.torn && n == 0; err != nil {
		return err
	}
	return a.file.Sync()
}

// rotate puts the file aside.
func (a *Audit) rotate() error {
	aside := fmt.Sprintf("%s.%s", a.path, a.clock().UTC().Format("20060102T150405.000000000"))
	if _, err := os.Lstat(aside); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there already", aside)
	}
	if err := os.Rename(a.path, aside); err != nil {
		return err
	}
	a.file.Close() // each entry was synced
	a.file = nil
	if err := a.open(); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(a.path))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

// Close closes the log.
func (a *Audit) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	err := a.file.Close()
	a.file = nil
	return err
}

// asides are the files of a log that were put aside.
var asideName = strings.Repeat("[0-9]", 8) + "T*"

// ReadAudit reads a log with all that was put aside, oldest first. Lines that cannot be
// read are told beside what can.
func ReadAudit(path string) (all []Entry, unread []string, err error) {
	files, err := filepath.Glob(globEscape(path) + "." + asideName)
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(files)
	if _, err := os.Stat(path); err != nil {
		return nil, nil, err
	}
	for _, name := range append(files, path) {
		entries, bad, err := readFile(name)
		if err != nil {
			return nil, nil, err
		}
		all, unread = append(all, entries...), append(unread, bad...)
	}
	return all, unread, nil
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func readFile(name string) (all []Entry, unread []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	from := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := from.ReadBytes('\n')
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			var e Entry
			switch failed := json.Unmarshal(trimmed, &e); {
			case failed != nil:
				unread = append(unread, fmt.Sprintf("%s, line %d: %v", filepath.Base(name), n, failed))
			case e.V != auditVersion:
				unread = append(unread, fmt.Sprintf("%s, line %d: version %d; this agentbound reads %d", filepath.Base(name), n, e.V, auditVersion))
			default:
				all = append(all, e)
			}
		}
		if errors.Is(err, io.EOF) {
			return all, unread, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}
