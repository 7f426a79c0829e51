package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	osexec "os/exec"
	"sync"
	"time"

	"github.com/agentbound/agentbound/harness"
)

// Bare runs programs without a sandbox: a process group of their own, the environment
// they are given, and no more. They can read what the user can read.
type Bare struct {
	Output int // bytes kept of the end of each output; 0: 1 MiB
}

var _ Runner = Bare{}

const defaultOutput = 1 << 20

// linger is how long the pipes of a program that has ended are read on.
const linger = 500 * time.Millisecond

// Cell implements Runner.
func (b Bare) Cell(ctx context.Context, n Needs) (Cell, error) {
	home, err := os.MkdirTemp("", "home-") // its name says nothing of what it is for
	if err != nil {
		return nil, err
	}
	c := &bareCell{ctx: ctx, output: cmp.Or(b.Output, defaultOutput), home: home}
	for range n.Listeners {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.listeners = append(c.listeners, l)
	}
	return c, nil
}

type bareCell struct {
	ctx       context.Context //nolint:containedctx // the cell lives as long as its trial
	output    int
	home      string
	listeners []net.Listener
}

func (c *bareCell) Home() string              { return c.home }
func (c *bareCell) Listeners() []net.Listener { return c.listeners }
func (c *bareCell) Held() string              { return "process group and environment only" }

// Close takes the home away, folders that the program made unwritable too.
func (c *bareCell) Close() error {
	for _, l := range c.listeners {
		_ = l.Close() // of those that are still open
	}
	if os.RemoveAll(c.home) == nil {
		return nil
	}
	unlock(c.home)
	_ = os.RemoveAll(c.home) // what remains is litter in the system's folder for it, and no reason to lose the trial
	return nil
}

// unlock makes the folders below dir writable.
func unlock(dir string) {
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

func (c *bareCell) Run(cmd Command) (harness.Exit, error) {
	if len(cmd.Argv) == 0 {
		return harness.Exit{}, errors.New("no program is named")
	}
	stdout, stderr := tail{limit: c.output}, tail{limit: c.output}
	run := osexec.CommandContext(c.ctx, cmd.Argv[0], cmd.Argv[1:]...) //nolint:gosec // running an agent program is what this is for
	run.Dir, run.Env = cmd.Dir, cmd.Env
	run.Stdout, run.Stderr = &stdout, &stderr
	run.WaitDelay = linger
	inGroup(run)
	run.Cancel = func() error { killGroup(run); return run.Process.Kill() }
	if err := run.Start(); err != nil {
		return harness.Exit{}, fmt.Errorf("the program could not be started: %w", err)
	}
	err := run.Wait()
	killGroup(run) // what it has started and left
	exit := harness.Exit{Code: run.ProcessState.ExitCode(), Stdout: stdout.bytes(), Stderr: stderr.bytes()}
	if _, ok := errors.AsType[*osexec.ExitError](err); ok || errors.Is(err, osexec.ErrWaitDelay) {
		return exit, nil // its status says it, and what held its pipes open is ended
	}
	return exit, err
}

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	kept  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	b = b[max(0, len(b)-t.limit):]
	if over := len(t.kept) + len(b) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, b...)
	return n, nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.kept...)
}
