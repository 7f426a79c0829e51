package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"slices"
	"time"
)

// ErrLine says that a line of a program's output is longer than it may be.
var ErrLine = errors.New("the line is too long")

// drain is how long the pipes of a program that has ended are read on: what it wrote
// is there at once, and a process that got away from its group could hold them open.
const drain = 500 * time.Millisecond

// Process is the program of one trial. Two goroutines belong to it: one waits for the
// program, one reads its stderr; Stop waits for both.
type Process struct {
	program  Program
	cmd      *osexec.Cmd
	dir      string   // its working directory, removed at the end
	in       *os.File // our ends of the pipes
	out, err *os.File
	lines    *bufio.Reader // of out
	stderr   Tail
	exited   chan struct{} // closed when the program has ended and its group was killed
	quiet    chan struct{} // closed when stderr was read to its end
}

// Start runs the program in a fresh folder of its own. When ctx ends its group is
// killed. Prepare, which may be nil, puts files into the folder and gives further
// variables for the program's environment.
func (p Program) Start(ctx context.Context, prepare func(dir string) (env []string, err error)) (_ *Process, err error) {
	dir, err := os.MkdirTemp("", "work-")
	if err != nil {
		return nil, err
	}
	pr := &Process{program: p, dir: dir, exited: make(chan struct{}), quiet: make(chan struct{})}
	defer func() {
		if err != nil {
			pr.close()
		}
	}()
	var env []string
	if prepare != nil {
		if env, err = prepare(dir); err != nil {
			return nil, err
		}
	}
	var theirs [3]*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	if theirs[0], pr.in, err = os.Pipe(); err != nil {
		return nil, err
	}
	if pr.out, theirs[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	if pr.err, theirs[2], err = os.Pipe(); err != nil {
		return nil, err
	}
	pr.lines = bufio.NewReaderSize(pr.out, 64<<10)
	cmd := osexec.CommandContext(ctx, p.argv[0], p.argv[1:]...) //nolint:gosec // running the user's program is what this is for
	cmd.Dir, cmd.Env = dir, slices.Concat(p.env, temporary(dir), env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	inGroup(cmd)
	cmd.Cancel = pr.kill
	pr.cmd = cmd
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the program could not be started: %w", err)
	}
	go pr.wait()
	go pr.listen()
	return pr, nil
}

// wait reaps the program and ends what it has left running.
func (pr *Process) wait() {
	_ = pr.cmd.Wait() // what it says is in the ProcessState
	killGroup(pr.cmd)
	over := time.Now().Add(drain)
	for _, f := range []*os.File{pr.in, pr.out, pr.err} {
		if errors.Is(f.SetDeadline(over), os.ErrNoDeadline) { // pipes do not have one on every system
			time.AfterFunc(drain, func() { f.Close() })
		}
	}
	close(pr.exited)
}

func (pr *Process) listen() {
	defer close(pr.quiet)
	_, _ = io.Copy(&pr.stderr, pr.err) // ends with the pipe, whatever ends it
}

// kill ends the program and its group, at once.
func (pr *Process) kill() error {
	select {
	case <-pr.exited:
		return os.ErrProcessDone
	default:
	}
	killGroup(pr.cmd)
	return pr.cmd.Process.Kill() // in case it has moved to another group
}

// Send writes a line. It blocks while the program does not read, until it ends.
func (pr *Process) Send(line []byte) error {
	_, err := pr.in.Write(line)
	return err
}

// Receive reads the next line that is not blank, of at most limit bytes with the blank
// ones before it. At the end of the output the error is io.EOF.
func (pr *Process) Receive(limit int) ([]byte, error) {
	if pr.Ended() {
		_ = pr.out.SetReadDeadline(time.Now().Add(drain))
	}
	var line []byte
	for read := 0; ; {
		part, err := pr.lines.ReadSlice('\n')
		if read += len(part); read > limit {
			return line, ErrLine
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case len(bytes.TrimSpace(line)) > 0:
			return line, nil // one without an end, too: it was the last
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return nil, io.EOF
		case err != nil:
			return nil, err
		}
		line = line[:0]
	}
}

// Unasked reports whether the program has written on without having been answered.
func (pr *Process) Unasked() bool {
	more, _ := pr.lines.Peek(pr.lines.Buffered()) // what is buffered is there
	return len(bytes.TrimSpace(more)) > 0
}

// Ended reports whether the program has ended.
func (pr *Process) Ended() bool {
	select {
	case <-pr.exited:
		return true
	default:
		return false
	}
}

// Leave sends the last line and lets the program end by itself, within the grace and
// before ctx ends.
func (pr *Process) Leave(ctx context.Context, line []byte, grace time.Duration) {
	_ = pr.in.SetWriteDeadline(time.Now().Add(grace))
	_ = pr.Send(line) // a program that has left is past hearing it
	pr.in.Close()
	pr.Left(ctx, grace)
}

// Left waits for the program to end, and reports whether it has.
func (pr *Process) Left(ctx context.Context, grace time.Duration) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-pr.exited:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// Stop ends the program, waits for all that belongs to it and removes its folder.
func (pr *Process) Stop() {
	_ = pr.kill()
	<-pr.exited
	<-pr.quiet
	pr.close()
}

// close closes our ends of the pipes and removes the folder.
func (pr *Process) close() {
	for _, f := range []*os.File{pr.in, pr.out, pr.err} {
		if f != nil {
			f.Close()
		}
	}
	if os.RemoveAll(pr.dir) == nil {
		return
	}
	unlock(pr.dir)
	_ = os.RemoveAll(pr.dir) // what remains is litter in the system's folder for it, and no reason to lose the trial
}

// unlock makes the folders below dir writable: a program may have made some that are
// not, as package caches are.
func unlock(dir string) {
	_ = os.Chmod(dir, 0o700)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
}

// Exited is closed when the program has ended.
func (pr *Process) Exited() <-chan struct{} { return pr.exited }

// State is how the program ended; only once it has.
func (pr *Process) State() *os.ProcessState { return pr.cmd.ProcessState }

// Stderr is the end of what the program has written there, fit to be stored.
func (pr *Process) Stderr() string { return pr.stderr.Text(pr.program) }

// CloseInput ends the program's standard input.
func (pr *Process) CloseInput() error { return pr.in.Close() }

// Output is the program's standard output, for one that is not spoken to in lines. It
// ends, at the latest, shortly after the program.
func (pr *Process) Output() io.Reader { return pr.lines }
