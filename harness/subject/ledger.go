package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/agent/chat"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/harness"
)

// By names the program in the record of calls that it did not execute.
const By = agentbound.ByHarness

const notExecuted = "the agent program did not execute the call that its model proposed"

// grace is how long a call waits for those that its turn proposed before it: programs
// that make calls side by side may send them in any order. Then it goes first, and the
// record has the order in which calls were executed.
const grace = 300 * time.Millisecond

// ledger is where the model's turns and the program's calls meet. A turn is a step of
// the episode; each call that arrives must be one that the turn proposes.
type ledger struct {
	program harness.Program
	episode *episode.Episode
	tools   map[string]bool
	grace   time.Duration
	held    string // by what the program was held

	mu       sync.Mutex
	changed  chan struct{} // closed, and another put in its place, when a waiting call should look again
	over     chan struct{} // closed when the trial needs the program no more
	isOver   bool
	err      error // why the trial is unscored
	asking   int   // requests to the model that are under way
	step     *episode.Step
	open     []proposed // by the step's turn, in order
	last     *decided   // a turn without calls, which is the final answer if none follows
	draft    *decided   // whose Thought a corrector changed: the model is asked once more
	revised  string     // that Thought, as corrected
	turns    int
	steps    int // recorded
	offered  map[string]agentbound.OfferedTool
	own      []agentbound.OwnCall
	aside    int
	asideUse agentbound.Usage
	requests []agentbound.OtherRequest // that brought no turn
	// fault is why the last request with the task's tools brought none, lost why one
	// without them did.
	fault, lost error
}

// decided is a turn with what the record says of it beside its calls.
type decided struct {
	Turn
	episode.Decision
}

// proposed is a call that the model wants made.
type proposed struct {
	call agentbound.Call
	key  string
	done bool // executed
}

func newLedger(p harness.Program, e *episode.Episode) *ledger {
	l := &ledger{
		program: p, episode: e, grace: grace, changed: make(chan struct{}), over: make(chan struct{}),
		tools: map[string]bool{}, offered: map[string]agentbound.OfferedTool{},
	}
	for _, t := range e.Brief().Tools {
		l.tools[t.Name] = true
	}
	return l
}

// wake has waiting calls look again.
func (l *ledger) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *ledger) finish(err error) {
	if !l.isOver {
		l.isOver, l.err = true, err
		close(l.over)
		l.wake()
	}
}

// begun and ended tell of requests to the model, so that a call knows whether the turn
// that proposes it may still be on its way.
func (l *ledger) begun() { l.mu.Lock(); l.asking++; l.mu.Unlock() }
func (l *ledger) ended() { l.mu.Lock(); l.asking--; l.wake(); l.mu.Unlock() }

func (l *ledger) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(err)
}

// cutShort reports whether the trial was over before the program.
func (l *ledger) cutShort() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.isOver
}

// turn takes a turn of the model's and rules on it.
func (l *ledger) turn(ctx context.Context, t Turn) Ruling {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.wake()
	if l.isOver {
		return Ruling{}
	}
	l.turns++
	if !l.offer(t.Offered) && len(t.Calls) == 0 {
		l.aside++
		l.asideUse = l.asideUse.Add(t.Usage)
		return Ruling{}
	}
	l.fault, l.lost = nil, nil
	if draft := l.draft; draft != nil {
		l.draft = nil
		if t.Attempt > 0 {
			return l.goOn(*draft, t)
		}
		l.asideUse = l.asideUse.Add(draft.Turn.Usage) // the program asked anew itself
	}
	if err := l.settle(); err != nil {
		l.halt(err)
		return Ruling{}
	}
	return l.review(ctx, decided{t, l.decision(t)})
}

// review has a turn's Thought reviewed. Where it comes back changed, the model is asked
// once more before the program gets anything.
func (l *ledger) review(ctx context.Context, d decided) Ruling {
	if d.Refused { // a provider's word is no Thought
		l.take(d)
		return Ruling{}
	}
	thought, changed, err := l.episode.Review(ctx, d.Decision)
	if err != nil {
		l.halt(err)
		return Ruling{}
	}
	if changed {
		l.draft, l.revised = &d, thought
		return Ruling{Again: &thought}
	}
	l.take(d)
	return Ruling{}
}

// goOn takes what the model does from the corrected Thought, which stands in the place of
// its own text; what it answers at the end stays below.
func (l *ledger) goOn(draft decided, t Turn) Ruling {
	d := decided{t, l.decision(t)}
	d.Decision.Thought, d.Source = l.revised, agentbound.ThoughtText
	said := l.revised
	if len(t.Calls) == 0 {
		said = strings.TrimSpace(said + "\n\n" + t.Thought)
		d.Turn.Thought = said
	}
	before := draft.Decision
	before.Calls = l.judged(draft.Turn)
	d.Decision = episode.Revised(d.Decision, before)
	l.take(d)
	if t.Refused {
		return Ruling{}
	}
	return Ruling{Text: &said}
}

// take has a turn that was decided wait for its calls, or for the program's end.
func (l *ledger) take(d decided) {
	if len(d.Turn.Calls) == 0 {
		l.last = &d
		return
	}
	if err := l.begin(d); err != nil {
		l.halt(err)
	}
}

// mostRequests bounds the list of different requests in a record.
const mostRequests = 50

// request takes a request that brought no turn. A program may try again, and do without
// what has no tool of the task.
func (l *ledger) request(r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isOver {
		return
	}
	l.note(agentbound.OtherRequest{Request: short(r.Method+" "+r.Path, 200), What: r.What, Status: r.Status, Count: 1})
	switch {
	case r.Fault == nil:
	case l.offer(r.Offered):
		l.fault = r.Fault
	default:
		l.lost = r.Fault
	}
	if r.Final {
		l.finish(asking(r.Fault))
	}
}

func (l *ledger) note(r agentbound.OtherRequest) {
	i := slices.IndexFunc(l.requests, func(o agentbound.OtherRequest) bool {
		return o.Request == r.Request && o.What == r.What && o.Status == r.Status
	})
	switch {
	case i >= 0:
		l.requests[i].Count++
	case len(l.requests) < mostRequests:
		l.requests = append(l.requests, r)
	}
}

// asking is a fault of the model's server, as the reason why a trial is unscored: the
// same for all trials that meet it, whatever a program makes of it.
func asking(fault error) error { return fmt.Errorf("asking its model: %w", fault) }

// halt ends the trial: out of steps as behaviour, anything else as a fault.
func (l *ledger) halt(err error) {
	if errors.Is(err, episode.ErrSteps) {
		err = nil
	}
	l.finish(err)
}

// offer notes the tools of a request and reports whether any is the task's.
func (l *ledger) offer(tools []Offered) (ours bool) {
	for _, o := range tools {
		tool, ok := l.program.Tool(o.Name)
		if ok = ok && l.tools[tool]; !ok {
			tool = ""
		}
		ours = ours || ok
		l.offered[o.Name] = agentbound.OfferedTool{Name: o.Name, Tool: tool, Digest: o.Digest}
	}
	return ours
}

// shown reports whether the model was offered any of the task's tools.
func (l *ledger) shown() bool {
	for _, o := range l.offered {
		if o.Tool != "" {
			return true
		}
	}
	return false
}

// settle ends the step that is open: what it proposed and nobody executed, the program
// kept back. A turn without calls that another follows was a step of thinking.
func (l *ledger) settle() error {
	if d := l.last; d != nil {
		l.last = nil
		d.Outcome = nil // it was no end
		s, err := l.episode.Begin(d.Decision)
		if err != nil {
			return err
		}
		s.Close()
		l.steps++
	}
	if l.step == nil {
		return nil
	}
	for _, p := range l.open {
		if !p.done {
			l.step.Stop(p.call, By, notExecuted)
		}
	}
	l.step.Close()
	l.step, l.open = nil, nil
	l.steps++
	return nil
}

// begin opens the step of a turn. Calls of the program's own tools are noted beside it.
func (l *ledger) begin(d decided) error {
	s, err := l.episode.Begin(d.Decision)
	if err != nil {
		return err
	}
	l.step = s
	for i, c := range d.Turn.Calls {
		if call, ok := l.judge(c); ok { // the step refuses those over the most by itself
			l.open = append(l.open, proposed{call: call, key: canonical(call)})
		} else if i < episode.MostCalls {
			l.own = append(l.own, agentbound.OwnCall{Step: l.steps, Name: short(c.Name, 200), Args: short(c.Args, 500)})
		}
	}
	return nil
}

func most(calls []Proposal) []Proposal { return calls[:min(len(calls), episode.MostCalls)] }

// judged are the calls of a turn that a judge would read.
func (l *ledger) judged(t Turn) (calls []agentbound.Call) {
	for _, c := range most(t.Calls) {
		if call, ok := l.judge(c); ok {
			calls = append(calls, call)
		}
	}
	return calls
}

// judge gives the call of the task's tool that a proposal is; not ok: it is of the
// program's own tools. A name of the model's own making, which nobody will execute, is
// kept as it is.
func (l *ledger) judge(c Proposal) (agentbound.Call, bool) {
	tool, ours := l.program.Tool(c.Name)
	if !ours {
		if _, offered := l.offered[c.Name]; offered || l.program.Owns(c.Name) {
			return agentbound.Call{}, false
		}
		tool = c.Name
	}
	return agentbound.Call{Tool: tool, Args: without(agentbound.Value(c.Args), l.program.OwnArgs)}, true
}

// decision is a turn without its calls. Where it has none, its text is read as a final
// answer: the Thought is what stands before the outcome line.
func (l *ledger) decision(t Turn) episode.Decision {
	d := episode.Decision{Thought: strings.TrimSpace(t.Thought), Usage: t.Usage.Add(l.asideUse)}
	l.asideUse = agentbound.Usage{}
	if d.Thought == "" && t.Reasoning != "" {
		d.Thought, d.Source = t.Reasoning, agentbound.ThoughtReasoning
		if t.Summary {
			d.Source = agentbound.ThoughtSummary
		}
	}
	if len(t.Calls) == 0 && !t.Refused {
		thought, outcome := chat.Ended(t.Thought)
		if d.Outcome = outcome; d.Source == "" {
			d.Thought = strings.TrimSpace(thought)
		}
	}
	return d
}

// call takes a call that the program makes. It waits while the turn that proposes it may
// be on its way, and for calls that the turn proposed before it.
func (l *ledger) call(ctx context.Context, c agentbound.Call) (agentbound.Value, bool, error) {
	c.Args = without(c.Args, l.program.OwnArgs)
	late := time.NewTimer(l.grace)
	defer late.Stop()
	for passed := false; ; { // the grace
		o, changed, err := l.try(ctx, c, passed)
		if changed == nil {
			return o.Value, o.OK, err
		}
		select {
		case <-changed:
		case <-late.C:
			passed = true
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// ErrOver is given to calls that come when the trial has ended.
var ErrOver = errors.New("the session is over")

// try executes a call if its turn has come. Else changed says when to look again.
func (l *ledger) try(ctx context.Context, c agentbound.Call, passed bool) (o episode.Observation, changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isOver {
		return o, nil, ErrOver
	}
	key := canonical(c)
	i := slices.IndexFunc(l.open, func(p proposed) bool { return !p.done && p.key == key })
	first := slices.IndexFunc(l.open, func(p proposed) bool { return !p.done })
	switch {
	case i >= 0 && (i == first || passed):
		o, err = l.execute(ctx, i, c)
		return o, nil, err
	case i < 0 && l.asking == 0:
		l.finish(l.mismatch(c))
		return o, nil, ErrOver
	}
	return o, l.changed, nil
}

func (l *ledger) execute(ctx context.Context, i int, c agentbound.Call) (episode.Observation, error) {
	l.open[i].done = true
	o, err := l.step.Call(ctx, c)
	if err != nil {
		l.finish(err)
		return o, err
	}
	l.wake()
	return o, nil
}

// mismatch says how a call differs from what was proposed.
func (l *ledger) mismatch(c agentbound.Call) error {
	why := "no turn of its model proposed it"
	for _, p := range l.open {
		switch {
		case p.done && p.key == canonical(c):
			why = "its model proposed it fewer times"
		case !p.done && p.call.Tool == c.Tool:
			why = "its model proposed other arguments: " + short(p.call.Args.String(), 300)
		}
	}
	return fmt.Errorf("the agent program executed %s, and %s", short(c.String(), 300), why)
}

// close ends the trial with what the program has left: exit is how it ended, err why it
// could not be run to its end.
func (l *ledger) close(ctx context.Context, exit harness.Exit, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.finish(nil)
	defer func() { l.episode.Describe(l.describe()) }()
	if l.episode.Ended() { // out of steps, or a fault that it knows by itself
		return l.err
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
		if l.fault != nil {
			err = fmt.Errorf("%w; its model was not to be had: %w", err, l.fault)
		}
	case l.err != nil:
		err = l.err
	case err == nil:
		err = l.complete(ctx, exit)
	}
	if err != nil {
		if l.step != nil { // what was done before a fault is kept
			l.step.Close()
		}
		err = fmt.Errorf("%s: %w", l.program, err)
		l.episode.Fault(err)
	}
	return err
}

// complete ends a trial whose program has ended by itself.
func (l *ledger) complete(ctx context.Context, exit harness.Exit) error {
	last := l.last
	if last == nil || !last.Refused { // a provider's refusal is behaviour, whatever a program makes of it
		if err := l.failed(exit); err != nil {
			return err
		}
		if !l.shown() { // its connection to them failed, and it went on
			return fmt.Errorf("the program ended with status %d and has shown its model none of the task's tools%s", exit.Code, said(exit))
		}
	}
	l.last = nil
	if err := l.settle(); err != nil {
		return err
	}
	d := episode.Decision{Outcome: &agentbound.Outcome{Word: agentbound.Unstated, Reason: "the program ended without a last message of its model's"}}
	if last != nil {
		d = l.conclude(*last)
	}
	d.Usage = d.Usage.Add(l.asideUse)
	_, err := l.episode.Commit(ctx, d)
	return err
}

// failed says why a program that has ended has not done its work: its model could not be
// asked, or it failed by itself.
func (l *ledger) failed(exit harness.Exit) error {
	why := l.program.Fault(exit)
	switch {
	case l.fault != nil:
		return asking(l.fault)
	case l.lost != nil && (why != "" || l.turns == l.aside):
		return asking(l.lost)
	case why != "":
		return fmt.Errorf("%s%s", why, said(exit))
	case l.turns == l.aside:
		return fmt.Errorf("the program ended with status %d and has asked its model nothing%s", exit.Code, said(exit))
	}
	return nil
}

// conclude reads the final answer.
func (l *ledger) conclude(last decided) episode.Decision {
	d := last.Decision
	if last.Refused {
		text := cmp.Or(last.Refusal, d.Thought)
		d.Outcome = &agentbound.Outcome{Word: agentbound.Declined, Reason: cmp.Or(text, "the provider refused the turn"), Text: text, RefusedBy: agentbound.RefusedByProvider}
		return d
	}
	_, d.Outcome = chat.Ended(last.Turn.Thought)
	return d
}

// describe is what the record says of the program.
func (l *ledger) describe() agentbound.Harness {
	h := agentbound.Harness{Program: l.program.String(), Held: l.held, Tools: []agentbound.OfferedTool{}, Own: l.own, Aside: l.aside, Requests: l.requests}
	for _, name := range slices.Sorted(maps.Keys(l.offered)) {
		h.Tools = append(h.Tools, l.offered[name])
	}
	return h
}

// said is the end of what a program wrote, for a message.
func said(exit harness.Exit) string {
	for _, out := range [][]byte{exit.Stderr, exit.Stdout} {
		if text := strings.TrimSpace(strings.ToValidUTF8(string(out), "\uFFFD")); text != "" {
			return "; its output ends: " + text[max(0, len(text)-mostSaid):]
		}
	}
	return ""
}

const mostSaid = 1500

// short keeps the beginning of a text, fit to be stored.
func short(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
