package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The names by which the own executable is started again. A person cannot type them as
// an argument: they stand in its place for the program's own name.
const (
	wardenName = "agentbound-confine-warden"
	stageName  = "agentbound-confine-stage"
)

var initialised bool

// Init does the work of a confinement's warden where this process was started as one,
// and does not return then. Call it first in main, and first in TestMain of tests that
// confine programs.
func Init() {
	initialised = true
	switch os.Args[0] {
	case wardenName:
		os.Exit(new(warden).run())
	case stageName:
		runtime.LockOSThread() // what is dropped is dropped by this thread, which becomes the program
		fail(enter())
	}
}

// warden is the parent of one program: at level full the first process of its process
// namespace, else a reaper to which all orphans of the program fall. It watches what
// they use and ends them all.
type warden struct {
	channel channel
	stdio   [3]*os.File
	s       start
	home    *os.Root // the caller's, from before the mount namespace was closed
	tree    tree

	program int // its process id
	ended   chan exited
	gone    chan struct{} // closed when no descendant is left
	cause   Cause
	peak    int64
}

// exited is how the program itself ended.
type exited struct {
	status syscall.WaitStatus
	rss    int64
}

func (w *warden) run() int {
	// A program of our own user could signal us; what is delivered here is dropped.
	// SIGKILL and SIGSTOP do not reach the first process of a namespace from within.
	signal.Notify(make(chan os.Signal, 1))
	c, err := openChannel(os.NewFile(3, "channel"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	w.channel = c
	for i := range w.stdio {
		unix.CloseOnExec(4 + i)
		w.stdio[i] = os.NewFile(uintptr(4+i), "stdio")
	}
	if err := w.serve(); err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// serve answers orders until the program has ended. Its error is one of the channel.
func (w *warden) serve() error {
	var o order
	if _, err := w.channel.receive(&o, 0); err != nil {
		return err
	}
	if o.Setup == nil {
		return errors.New("the first order is to set up")
	}
	a, files := prepare(*o.Setup)
	err := w.channel.send(a, files...)
	for _, f := range files {
		f.Close()
	}
	if err != nil || a.Err != "" {
		return err
	}
	o = order{}
	if _, err := w.channel.receive(&o, 0); err != nil {
		return err
	}
	if o.Start == nil {
		return nil
	}
	w.s = *o.Start
	if err := w.begin(); err != nil {
		return w.channel.send(answer{Err: err.Error()})
	}
	if err := w.channel.send(answer{}); err != nil {
		return err
	}
	return w.channel.send(w.watch())
}

// prepare does what comes before the program is known.
func prepare(s setup) (answer, []*os.File) {
	if s.Level == LevelFull {
		if err := loopback(); err != nil {
			return answer{Err: fmt.Sprintf("the loopback of the network namespace does not come up: %v", err)}, nil
		}
		if err := unix.Sethostname([]byte("agent")); err != nil {
			return answer{Err: fmt.Sprintf("host name: %v", err)}, nil
		}
	}
	listeners, err := listen(context.Background(), s.Listen)
	if err != nil {
		return answer{Err: err.Error()}, nil
	}
	defer closeAll(listeners)
	var files []*os.File
	for _, l := range listeners {
		f, err := l.(*net.TCPListener).File() // listen makes no other
		if err != nil {
			return answer{Err: err.Error()}, files
		}
		files = append(files, f)
	}
	return answer{Listeners: len(files)}, files
}

// loopback brings the namespace's only interface up.
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// begin makes what the program sees and runs it.
func (w *warden) begin() error {
	if w.s.Level == LevelFull {
		var err error
		if w.home, err = os.OpenRoot(w.s.Home); err != nil {
			return err
		}
		if err := w.s.mount(w.home); err != nil {
			return fmt.Errorf("the file system of the confinement: %w", err)
		}
		w.tree = namespace{}
	} else {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("child subreaper: %w", err)
		}
		w.tree = descendants{of: os.Getpid()}
	}
	if w.s.Switch { // programs open their outputs again as /dev/stdout
		for _, f := range w.stdio {
			if err := f.Chown(w.s.UID, w.s.GID); err != nil {
				return err
			}
		}
	}
	return w.spawn()
}

// spawn runs the program, by way of a stage that gives up all rights first.
func (w *warden) spawn() error {
	told, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer told.Close()
	defer tell.Close()
	failed, fails, err := os.Pipe()
	if err != nil {
		return err
	}
	defer failed.Close()
	defer fails.Close()
	body, err := json.Marshal(w.s)
	if err != nil {
		return err
	}
	var fds []uintptr
	for _, f := range append(w.stdio[:], told, fails) {
		fds = append(fds, f.Fd())
	}
	//nolint:gosec // it is this executable
	w.program, err = syscall.ForkExec("/proc/self/exe", []string{stageName}, &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: fds, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return fmt.Errorf("the stage is not started: %w", err)
	}
	w.ended, w.gone = make(chan exited, 1), make(chan struct{})
	go w.reap()
	told.Close()
	fails.Close()
	for _, f := range w.stdio {
		f.Close() // the program has them now: their end is its end
	}
	_, err = tell.Write(body)
	tell.Close()
	why, _ := io.ReadAll(failed) // its end is the stage's, whatever else
	if len(why) > 0 || err != nil {
		w.clear()
		return fmt.Errorf("%s is not run: %s", w.s.Args[0], orElse(string(why), err))
	}
	// What /proc tells of the warden is root's from here on, also where the program has
	// the warden's user id. Capabilities, which the program lacks, protect it as well.
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

func orElse(text string, err error) string {
	if text == "" {
		return fmt.Sprint(err)
	}
	return text
}

// reap waits for every child, and so, since orphans fall to the warden, for every
// process of the program.
func (w *warden) reap() {
	defer close(w.gone)
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, 0, &usage)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return
		case pid == w.program:
			w.ended <- exited{status, int64(usage.Maxrss) << 10} //nolint:unconvert // it is narrower on 32-bit systems
		}
	}
}

// watch holds the program until it ends or is to be ended, and then ends the rest.
func (w *warden) watch() answer {
	kill := make(chan struct{})
	go func() { // ends with the channel, at the latest with the warden
		defer close(kill)
		var o order
		for {
			if _, err := w.channel.receive(&o, 0); err != nil || o.Kill {
				return
			}
		}
	}()
	e := w.until(kill)
	left := len(w.tree.pids())
	w.clear()
	r := report{Cause: w.cause, Exit: e.status.ExitStatus(), Left: left, CPU: waitedFor(), Memory: max(w.peak, e.rss)}
	if e.status.Signaled() {
		r.Exit, r.Signal = -1, e.status.Signal().String()
		if e.status.Signal() == syscall.SIGXCPU {
			r.Cause = EndCPU
		}
	}
	a := answer{Report: &r}
	if w.s.Level != LevelFull {
		removeAll(w.s.Temp) // here, since who made it may have been killed
	}
	if w.home != nil {
		if err := w.keep(); err != nil {
			a.Err = err.Error()
		}
	}
	return a
}

// until waits for the program's end. Whatever ends it, it has ended then.
func (w *warden) until(kill <-chan struct{}) exited {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case e := <-w.ended:
			return e
		case <-kill:
			w.clear()
			return <-w.ended
		case <-timer.C:
			use := measure(w.tree, w.s.Limits.Memory)
			w.peak = max(w.peak, use.memory)
			if w.cause = use.beyond(w.s.Limits); w.cause != "" {
				w.clear()
				return <-w.ended
			}
			timer.Reset(use.next(w.s.Limits))
		}
	}
}

// clear ends all that runs below the warden and waits until it is gone.
func (w *warden) clear() {
	for {
		w.tree.kill()
		select {
		case <-w.gone:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// keep copies back what the caller wants of the program's home, whose processes are all
// gone by now. Links stay behind: outside they would lead elsewhere.
func (w *warden) keep() error {
	from, err := os.OpenRoot(w.s.Home)
	if err != nil {
		return err
	}
	defer from.Close()
	for _, path := range w.s.Keep {
		if _, err := from.Lstat(path); err != nil {
			continue
		}
		if err := w.home.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := copyTree(from, path, w.home, copying{uid: -1, gid: -1}); err != nil {
			return fmt.Errorf("%s is not kept: %w", path, err)
		}
	}
	return nil
}
