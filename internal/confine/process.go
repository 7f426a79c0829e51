package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// drain is how long the pipes of a program that has ended are read on: what it wrote is
// there at once, and where processes could get away they may hold them open.
const drain = 500 * time.Millisecond

// Process is a confinement and the program in it. Its methods are for one goroutine,
// Kill for any.
type Process struct {
	Level     Level
	Listeners []net.Listener // in the order of Spec.Listen; Close closes them
	Program                  // what Start runs; may be changed until then

	spec    Spec
	limits  Limits
	ctx     context.Context // as in exec.Cmd: it bounds the process
	hold    holder
	pipes   pipes
	began   time.Time
	started bool
	waited  bool
	result  Result
	err     error

	stdout, stderr capture
	readers        sync.WaitGroup // of the two outputs and the input
	clock          sync.WaitGroup // watches time and context
	over           chan struct{}  // closed when the program and all it left have ended
	ending         sync.Once
	cause          Cause // set within ending
}

// holder is what a system does: it keeps a program to its level.
type holder interface {
	start(Program) error
	wait() (report, error) // until the last process is gone; called once, after start
	kill()                 // all of the program's processes, soon; may be repeated
	holds() []string
	close()
}

// report is what a holder knows of a program that has ended.
type report struct {
	Cause  Cause
	Exit   int
	Signal string
	Left   int
	CPU    time.Duration
	Memory int64
}

// Command makes a confinement and opens its listeners. The program is not started yet;
// ctx ends it. The caller calls Close in any case.
func Command(ctx context.Context, spec Spec) (*Process, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	level, err := choose(spec.Level)
	if err != nil {
		return nil, err
	}
	return command(ctx, spec, level)
}

func command(ctx context.Context, spec Spec, level Level) (*Process, error) {
	p := &Process{Level: level, Program: spec.Program, spec: spec, limits: spec.Limits.withDefaults(), ctx: ctx, over: make(chan struct{})}
	p.spec.Level, p.spec.Limits = level, p.limits
	pipes, err := newPipes()
	if err != nil {
		return nil, err
	}
	p.pipes = pipes
	p.hold, p.Listeners, err = newHolder(ctx, p.spec, pipes.theirs)
	if err != nil {
		p.pipes.close()
		return nil, fmt.Errorf("confinement of level %s: %w", level, err)
	}
	return p, nil
}

// Run is Start and Wait.
func (p *Process) Run() (Result, error) {
	if err := p.Start(); err != nil {
		return Result{}, err
	}
	return p.Wait()
}

// Start runs the program.
func (p *Process) Start() error {
	if p.started {
		return errors.New("the program of a confinement is started once")
	}
	if err := p.check(); err != nil {
		return err
	}
	if err := p.ctx.Err(); err != nil {
		return err
	}
	program := p.Program
	program.Env = missing(missing(program.Env[:len(program.Env):len(program.Env)], "HOME="+p.spec.Home), "PATH=/usr/local/bin:/usr/bin:/bin")
	if program.Dir == "" {
		program.Dir = p.spec.Home
	}
	p.started, p.began = true, time.Now()
	if err := p.hold.start(program); err != nil {
		p.waited, p.err = true, err
		return err
	}
	p.pipes.closeTheirs()
	p.stdout = capture{keep: p.limits.Output, more: p.Stdout, full: func() { p.end(EndOutput) }}
	p.stderr = capture{keep: p.limits.Output, more: p.Stderr, full: func() { p.end(EndOutput) }}
	p.readers.Go(func() { _, _ = io.Copy(&p.stdout, p.pipes.out) }) // ends with the pipe, whatever ends it
	p.readers.Go(func() { _, _ = io.Copy(&p.stderr, p.pipes.err) })
	p.readers.Go(p.feed)
	p.clock.Go(p.watch)
	return nil
}

// feed hands the program its input. One that does not read it is no fault.
func (p *Process) feed() {
	if p.Stdin != nil {
		_, _ = io.Copy(p.pipes.in, p.Stdin)
	}
	p.pipes.in.Close()
}

// watch ends the program when its time is over.
func (p *Process) watch() {
	timer := time.NewTimer(p.limits.Wall)
	defer timer.Stop()
	select {
	case <-timer.C:
		p.end(EndWall)
	case <-p.ctx.Done():
		p.end(EndCancelled)
	case <-p.over:
	}
}

// end ends the program; the first cause counts.
func (p *Process) end(cause Cause) {
	p.ending.Do(func() { p.cause = cause })
	p.hold.kill()
}

// Kill ends the program and all that it started.
func (p *Process) Kill() {
	select {
	case <-p.over:
	default:
		p.end(EndCancelled)
	}
}

// Wait waits until the program and all that it started have ended. An error is one of
// the confinement, or of the context; what the program did wrong is in the result.
func (p *Process) Wait() (Result, error) {
	if !p.started {
		return Result{}, errors.New("the program was not started")
	}
	if p.waited {
		return p.result, p.err
	}
	p.waited = true
	rep, err := p.hold.wait()
	wall := time.Since(p.began)
	close(p.over)
	p.clock.Wait()
	p.pipes.finish()
	if c, ok := p.Stdin.(io.Closer); ok {
		c.Close()
	}
	p.readers.Wait()
	p.ending.Do(func() { p.cause = rep.Cause }) // and from here on it is not written any more
	p.result = Result{
		Level: p.Level, Holds: p.hold.holds(), Cause: p.cause, Exit: rep.Exit, Signal: rep.Signal,
		Stdout: p.stdout.kept, Stderr: p.stderr.kept,
		Left: rep.Left, Wall: wall, CPU: rep.CPU, Memory: rep.Memory,
	}
	if p.err = err; err == nil && p.cause == EndCancelled && p.ctx.Err() != nil {
		p.err = context.Cause(p.ctx)
	}
	return p.result, p.err
}

// Close ends what still runs and gives back all that the confinement holds.
func (p *Process) Close() {
	if p.started && !p.waited {
		p.Kill()
		_, _ = p.Wait() // nobody asked for it
	}
	for _, l := range p.Listeners {
		l.Close()
	}
	p.hold.close()
	p.pipes.close()
}

// capture keeps the beginning of an output, passes it on, and tells when there is more.
type capture struct {
	keep int64
	more io.Writer
	full func()
	kept []byte
}

func (c *capture) Write(b []byte) (int, error) {
	n, room := len(b), c.keep-int64(len(c.kept))
	if int64(n) > room {
		b = b[:room]
		c.full()
	}
	c.kept = append(c.kept, b...)
	if c.more != nil && len(b) > 0 {
		if _, err := c.more.Write(b); err != nil {
			c.more = nil // whoever listened has left
		}
	}
	return n, nil // the rest is read and dropped until the program is gone
}

// pipes are the program's standard input and outputs.
type pipes struct {
	in, out, err *os.File    // our ends
	theirs       [3]*os.File // the program's
}

func newPipes() (p pipes, err error) {
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.theirs[0], p.in, err = os.Pipe(); err != nil {
		return p, err
	}
	if p.out, p.theirs[1], err = os.Pipe(); err != nil {
		return p, err
	}
	p.err, p.theirs[2], err = os.Pipe()
	return p, err
}

// finish bounds how long the ends are read and written on.
func (p pipes) finish() {
	over := time.Now().Add(drain)
	for _, f := range []*os.File{p.in, p.out, p.err} {
		if errors.Is(f.SetDeadline(over), os.ErrNoDeadline) { // pipes do not have one on every system
			time.AfterFunc(drain, func() { f.Close() })
		}
	}
}

func (p pipes) closeTheirs() {
	for _, f := range p.theirs {
		f.Close() // of a nil file is an error, and no more
	}
}

func (p pipes) close() {
	p.closeTheirs()
	for _, f := range []*os.File{p.in, p.out, p.err} {
		f.Close()
	}
}
