//go:build !linux

package confine

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"sync"
)

// Init does nothing on this system.
func Init() {}

// probe tells which levels there are on this system: only the first, since namespaces,
// and the checks that a change of user held, are Linux's.
func probe(level Level) error {
	if level != LevelProcess {
		return errors.New("this system has no namespaces; only Linux has this level")
	}
	return nil
}

// group holds a program as a process group.
type group struct {
	theirs [3]*os.File
	temp   string
	cmd    *exec.Cmd
	mu     sync.Mutex
	over   bool
}

func newHolder(ctx context.Context, s Spec, theirs [3]*os.File) (holder, []net.Listener, error) {
	if err := probe(s.Level); err != nil {
		return nil, nil, err
	}
	listeners, err := listen(ctx, s.Listen)
	if err != nil {
		return nil, nil, err
	}
	temp, err := os.MkdirTemp("", "confine-")
	if err != nil {
		closeAll(listeners)
		return nil, nil, err
	}
	return &group{theirs: theirs, temp: temp}, listeners, nil
}

func (g *group) start(p Program) error {
	name, err := lookPath(p)
	if err != nil {
		return err
	}
	g.cmd = &exec.Cmd{Path: name, Args: p.Args, Env: missing(p.Env, "TMPDIR="+g.temp), Dir: p.Dir, Stdin: g.theirs[0], Stdout: g.theirs[1], Stderr: g.theirs[2]}
	inGroup(g.cmd)
	return g.cmd.Start()
}

func (g *group) wait() (report, error) {
	err := g.cmd.Wait()
	g.mu.Lock()
	killGroup(g.cmd)
	g.over = true
	g.mu.Unlock()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return report{}, err
	}
	state := g.cmd.ProcessState
	r := report{Exit: state.ExitCode(), CPU: state.UserTime() + state.SystemTime()}
	if r.Exit < 0 {
		r.Signal = state.String()
	}
	return r, nil
}

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over && g.cmd != nil && g.cmd.Process != nil {
		killGroup(g.cmd)
		_ = g.cmd.Process.Kill() // where it has moved to another group
	}
}

func (g *group) holds() []string {
	return []string{"process group: ended with the program", "environment: allow-listed", "wall time and output: bounded"}
}

func (g *group) close() { _ = os.RemoveAll(g.temp) }
