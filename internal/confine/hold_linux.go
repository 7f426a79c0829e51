package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How long the warden may take to make a confinement, and to end one before it is ended
// itself.
const (
	making = 30 * time.Second
	ending = 5 * time.Second
)

// keeper is our side of a confinement: it holds the warden, which holds the program.
type keeper struct {
	spec   Spec
	theirs [3]*os.File
	id     identity
	temp   string // at levels below full
	group  *cgroup
	cmd    *exec.Cmd
	log    tail // what the warden says beside the channel: nothing, or why it crashed
	chan_  channel
	probe  bool

	mu     sync.Mutex
	killed bool
	last   *time.Timer // the end of the warden itself
	closed bool
}

// newHolder starts a warden and has it make the namespaces and open the listeners.
func newHolder(_ context.Context, s Spec, theirs [3]*os.File) (holder, []net.Listener, error) {
	if !initialised {
		return nil, nil, errors.New("confine.Init was not called: main, and TestMain of a test, must do so first")
	}
	k := &keeper{spec: s, theirs: theirs}
	listeners, err := k.open()
	if err != nil {
		k.close()
		return nil, nil, err
	}
	return k, listeners, nil
}

func (k *keeper) open() ([]net.Listener, error) {
	var err error
	if k.id, err = newIdentity(k.spec.Level); err != nil {
		return nil, err
	}
	if k.spec.Level != LevelFull {
		if k.temp, err = os.MkdirTemp("", "confine-"); err != nil {
			return nil, err
		}
	}
	if k.group, err = newCgroup(k.spec.Limits); err != nil {
		return nil, err
	}
	if err := k.launch(); err != nil {
		return nil, err
	}
	_ = k.chan_.SetDeadline(time.Now().Add(making))
	if err := k.chan_.send(order{Setup: &setup{Level: k.spec.Level, Listen: k.spec.Listen}}); err != nil {
		return nil, k.fault(err)
	}
	var a answer
	files, err := k.chan_.receive(&a, len(k.spec.Listen))
	if err != nil {
		return nil, k.fault(err)
	}
	listeners, err := fromFiles(files)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	if err == nil && len(listeners) != len(k.spec.Listen) {
		err = fmt.Errorf("%d of %d listeners were handed over", len(listeners), len(k.spec.Listen))
	}
	if err != nil {
		closeAll(listeners)
		return nil, err
	}
	return listeners, nil
}

// launch starts the warden in its namespaces.
func (k *keeper) launch() error {
	ours, theirs, err := newChannel()
	if err != nil {
		return err
	}
	defer theirs.Close()
	k.chan_ = ours
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{wardenName}, Dir: "/", Env: []string{"GOMAXPROCS=1"}}
	cmd.ExtraFiles = append([]*os.File{theirs}, k.theirs[:]...)
	cmd.Stderr, cmd.WaitDelay = &k.log, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of the terminal
	if k.spec.Level == LevelFull {
		k.id.namespaces(cmd.SysProcAttr)
	}
	k.group.join(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		if k.spec.Level == LevelFull && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL)) {
			return fmt.Errorf("the system does not give the namespaces: %w; a container's profile or a limit (user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns) may forbid them", err)
		}
		return err
	}
	k.cmd = cmd
	return nil
}

func fromFiles(files []*os.File) (listeners []net.Listener, err error) {
	for _, f := range files {
		l, e := net.FileListener(f)
		f.Close()
		if e != nil {
			err = e
			continue
		}
		listeners = append(listeners, l)
	}
	return listeners, err
}

func (k *keeper) start(p Program) error {
	s := start{
		Args: p.Args, Env: p.Env, Dir: p.Dir, Home: k.spec.Home, Temp: k.temp, Keep: k.spec.Keep, ReadOnly: k.spec.ReadOnly,
		Limits: k.spec.Limits, Level: k.spec.Level, UID: k.id.uid, GID: k.id.gid, Switch: k.id.change, Memfd: k.group != nil, Probe: k.probe,
	}
	temp := "/tmp"
	if k.spec.Level != LevelFull {
		temp = k.temp
	}
	s.Env = missing(s.Env, "TMPDIR="+temp)
	if k.spec.Level == LevelUser {
		if err := k.give(); err != nil {
			return err
		}
	}
	_ = k.chan_.SetDeadline(time.Now().Add(making))
	if err := k.chan_.send(order{Start: &s}); err != nil {
		return k.fault(err)
	}
	var a answer
	if _, err := k.chan_.receive(&a, 0); err != nil {
		return k.fault(err)
	}
	_ = k.chan_.SetDeadline(time.Time{})
	if a.Err != "" {
		return errors.New(a.Err)
	}
	return nil
}

// way reports a folder above path that the program's user cannot enter.
func (k *keeper) way(path, to string) error {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("at level %s the program runs as user %d, which cannot enter %s (mode %o) on the way to %s", LevelUser, k.id.uid, dir, info.Mode().Perm(), to)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// give hands home and temporary folder to the program's user.
func (k *keeper) give() error {
	if err := k.way(k.spec.Home, "its home"); err != nil {
		return fmt.Errorf("%w: chmod o+x it, or use confine.TempDir", err)
	}
	for _, path := range k.spec.ReadOnly {
		if err := k.way(path, path); err != nil {
			return fmt.Errorf("%w: chmod o+x it, or put what the program reads elsewhere", err)
		}
	}
	for _, dir := range []string{k.spec.Home, k.temp} {
		if err := giveTree(dir, k.id.uid, k.id.gid); err != nil {
			return fmt.Errorf("the home is not given to the program's user: %w", err)
		}
	}
	return nil
}

func giveTree(dir string, uid, gid int) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(path, uid, gid)
	})
}

func (k *keeper) wait() (report, error) {
	var a answer
	_, err := k.chan_.receive(&a, 0)
	if err == nil && a.Report == nil {
		err = errors.New(a.Err)
	}
	if err != nil {
		return report{}, k.fault(err)
	}
	k.reap()
	if k.group.killedForMemory() && a.Report.Cause == "" {
		a.Report.Cause = EndMemory
	}
	if a.Err != "" {
		return *a.Report, errors.New(a.Err)
	}
	return *a.Report, nil
}

// fault is the error of a warden that has not answered as it should.
func (k *keeper) fault(err error) error {
	if k.cmd != nil {
		_ = k.cmd.Process.Kill()
		k.reap()
	}
	if log := strings.TrimSpace(k.log.String()); log != "" {
		return fmt.Errorf("the confinement's warden failed: %w: %s", err, log)
	}
	return fmt.Errorf("the confinement's warden failed: %w", err)
}

// reap waits for the warden, once.
func (k *keeper) reap() {
	if k.cmd != nil && k.cmd.ProcessState == nil {
		_ = k.cmd.Wait() // how it went is told over the channel
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killed = true
	if k.last != nil {
		k.last.Stop()
	}
}

// kill asks the warden to end the program. One that does not is ended with all that is
// in its namespace.
func (k *keeper) kill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed {
		return
	}
	k.killed = true
	k.last = time.AfterFunc(ending, func() { _ = k.cmd.Process.Kill() })
	_ = k.chan_.send(order{Kill: true}) // one that is gone needs no telling
}

func (k *keeper) holds() []string {
	how := []string{"environment: allow-listed", "session of its own; all that descends from it is ended with it", "no new privileges",
		"wall time, CPU time, open files, size of files, output: limited"}
	if k.spec.Level.AtLeast(LevelUser) {
		who := fmt.Sprintf("user id %d of its own", k.id.uid)
		if !k.id.change {
			who = fmt.Sprintf("user id %d, without capabilities, in a user namespace", k.id.uid)
		}
		how = append(how, who, seccompHolds())
	}
	if k.spec.Level == LevelFull {
		how = append(how,
			"mount namespace: system and install read-only, a private home and /tmp, nothing else",
			"network namespace: its own loopback with the listeners it was given",
			"process, IPC, host name and cgroup namespaces")
	}
	return append(how, k.group.holds(k.spec.Level))
}

func (k *keeper) close() {
	if k.closed {
		return
	}
	k.closed = true
	if k.chan_.UnixConn != nil {
		k.chan_.Close() // a warden that still waits takes it for the end
	}
	if k.cmd != nil && k.cmd.ProcessState == nil {
		k.last = time.AfterFunc(ending, func() { _ = k.cmd.Process.Kill() })
		k.reap()
	}
	k.group.remove()
	if k.temp != "" {
		removeAll(k.temp)
	}
}

// probe makes a confinement and does all but run a program in it.
func probe(level Level) error {
	dir, home, err := TempDir()
	if err != nil {
		return err
	}
	defer RemoveTemp(dir)
	ctx, cancel := context.WithTimeout(context.Background(), making)
	defer cancel()
	p, err := command(ctx, Spec{Home: home, Program: Program{Args: []string{"probe"}}}, level)
	if err != nil {
		return err
	}
	defer p.Close()
	k, ok := p.hold.(*keeper)
	if !ok {
		return fmt.Errorf("held by %T", p.hold)
	}
	k.probe = true
	r, err := p.Run()
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("a program that does nothing ended with exit code %d %s", r.Exit, r.Signal)
	}
	return err
}

// tail keeps the first of what is written to it.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	if room := 4<<10 - t.Len(); room > 0 {
		t.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
