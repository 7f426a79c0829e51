package confine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentbound/agentbound/internal/confine"
)

// held is what a hostile program must meet.
type held struct {
	program string
	from    confine.Level // the first level at which it is held
	change  func(*confine.Spec)
	cause   confine.Cause
	by      string         // what holds it, for the log
	want    []string       // regular expressions that its output matches
	never   *regexp.Regexp // and one that it does not
	check   func(*testing.T, confine.Spec, confine.Result)
}

var nothingDone = regexp.MustCompile(`(?m)^done .*`)

var holds = []held{
	{program: "reads", from: confine.LevelFull, by: "the mount and process namespaces", never: nothingDone,
		want: []string{`held read \S*planted: .*no such file`, `held read /etc/shadow: .*no such file`, `processes [23]\n`, `sees /home \[\]`}},
	{program: "forks", from: confine.LevelUser, by: "RLIMIT_NPROC, for a user id of its own", want: []string{`held fork: .*resource temporarily unavailable`, `started (\d\d|1[01]\d)\n`}},
	{program: "forks", from: confine.LevelProcess, by: "the warden, which counts", cause: confine.EndProcesses},
	{program: "prints", from: confine.LevelProcess, by: "the limit on output", cause: confine.EndOutput, check: func(t *testing.T, s confine.Spec, r confine.Result) {
		if int64(len(r.Stdout)) != s.Limits.Output {
			t.Errorf("%d bytes were kept", len(r.Stdout))
		}
	}},
	{program: "warns", from: confine.LevelProcess, by: "the limit on output", cause: confine.EndOutput},
	{program: "fills", from: confine.LevelFull, by: "the size of the file system for home and /tmp", want: []string{`held fill \S*/home: .*no space left`, `held fill /tmp: .*no space left`, `held fill /dev/shm: .*no space`, `filled [46]0\n`}},
	{program: "inodes", from: confine.LevelFull, by: "the number of its files", want: []string{`held make files: .*no space left`, `made 1\d{4}\n`}},
	{program: "writes-large", from: confine.LevelProcess, by: "RLIMIT_FSIZE", want: []string{`held write a large file: .*(file too large|no space)`}, change: func(s *confine.Spec) { s.Limits.File = 10 << 20 }},
	{program: "allocates", from: confine.LevelProcess, by: "the warden, which adds up", cause: confine.EndMemory, check: peaked},
	{program: "allocates-together", from: confine.LevelProcess, by: "the warden, which adds up", cause: confine.EndMemory, check: peaked},
	{program: "hides-memory", from: confine.LevelUser, by: "the system call filter", never: nothingDone, want: []string{`held memfd: function not implemented`}},
	{program: "computes", from: confine.LevelProcess, by: "the warden, which adds up", cause: confine.EndCPU, change: func(s *confine.Spec) { s.Limits.CPU = time.Second }},
	{program: "names", from: confine.LevelProcess, by: "the kernel, which bounds a name", cause: confine.EndCPU, change: func(s *confine.Spec) { s.Limits.CPU = time.Second }},
	{program: "plants", from: confine.LevelFull, by: "links not being kept", change: func(s *confine.Spec) { s.Keep = []string{"logs"} }, check: func(t *testing.T, s confine.Spec, _ confine.Result) {
		kept, err := os.ReadDir(filepath.Join(s.Home, "logs"))
		if err != nil || len(kept) != 1 || kept[0].Name() != "file" {
			t.Errorf("kept %v, %v", kept, err)
		}
	}},
	{program: "sleeps", from: confine.LevelProcess, by: "the wall clock", cause: confine.EndWall, change: func(s *confine.Spec) { s.Limits.Wall = 500 * time.Millisecond }},
	{program: "outlives", from: confine.LevelProcess, by: "the reaper of orphans, at level full the end of the process namespace", check: func(t *testing.T, _ confine.Spec, r confine.Result) {
		if r.Left == 0 || r.Wall > 15*time.Second {
			t.Errorf("it left %d processes and took %v", r.Left, r.Wall)
		}
	}},
	{program: "writes", from: confine.LevelFull, by: "read-only mounts", never: nothingDone, change: install,
		want: []string{`held write \S*open/file: .*read-only file system`, `held write \S*open/new: .*read-only file system`, `held write /usr/x: .*read-only`, `held write \S*planted: .*no such file`}},
	{program: "writes", from: confine.LevelUser, by: "modes of files, for a user who owns nothing", never: nothingDone},
	{program: "attacks", from: confine.LevelFull, by: "the process namespace and the system call filter",
		want: []string{`held trace \d+: operation not permitted`, `held user namespace: operation not permitted`, `held user namespace by clone: .*operation not permitted`, `held become root`, `held keys`,
			`CapPrm:\s0+\n`, `CapBnd:\s0+\n`, `CapAmb:\s0+\n`, `NoNewPrivs:\s1\n`, `Seccomp:\s2\n`}, check: parentUntouched},
	{program: "attacks", from: confine.LevelUser, by: "the user id and the system call filter", never: nothingDone, want: []string{`CapPrm:\s0+\n`, `NoNewPrivs:\s1\n`}},
	{program: "kills-warden", from: confine.LevelUser, by: "the user id, or being the first process of a namespace", want: []string{"I am still here"}},
	{program: "opens", from: confine.LevelProcess, by: "descriptors that are closed, an environment that is given", check: func(t *testing.T, _ confine.Spec, r confine.Result) {
		for line := range strings.Lines(string(r.Stdout)) {
			if fd, _, ok := strings.Cut(line, " "); ok && fd > "2" {
				if n, err := strconv.Atoi(fd); err == nil && !strings.Contains(line, "/proc/") && !strings.Contains(line, "/sys/fs/cgroup/") { // Go's own
					t.Errorf("descriptor %d is open: %s", n, line)
				}
			}
		}
		if bytes.Contains(r.Stdout, []byte("SECRET_OF_OURS")) {
			t.Error("our environment reached it")
		}
	}},
}

// install gives the program an install that everybody may write to, by its modes.
func install(s *confine.Spec) {
	dir := filepath.Join(filepath.Dir(s.Args[0]), "open")
	file := filepath.Join(dir, "file")
	for _, err := range []error{os.Mkdir(dir, 0o700), os.WriteFile(file, nil, 0o600), os.Chmod(dir, 0o777), os.Chmod(file, 0o666)} {
		if err != nil {
			panic(err)
		}
	}
	s.ReadOnly = append(s.ReadOnly, dir)
	s.Env = append(s.Env, "INSTALL="+file+" "+filepath.Join(dir, "new"))
}

// peaked: it was ended for what it held, and told so. How far past its limit it came
// before the warden looked depends on how busy the machine is.
func peaked(t *testing.T, s confine.Spec, r confine.Result) {
	if r.Memory < s.Limits.Memory/2 || bytes.Contains(r.Stdout, []byte("touched 1500")) {
		t.Errorf("it used %d bytes of %d", r.Memory, s.Limits.Memory)
	}
}

// parentUntouched: in a process namespace a number may be that of another process, so
// that what counts is that nobody outside was reached: our own number is not there.
func parentUntouched(t *testing.T, _ confine.Spec, r confine.Result) {
	if !bytes.Contains(r.Stdout, fmt.Appendf(nil, "held signal 0 to %d: no such process", os.Getpid())) {
		t.Error("our process can be signalled")
	}
}

// TestHostile runs each hostile program at each level that holds it.
func TestHostile(t *testing.T) {
	t.Setenv("SECRET_OF_OURS", "1")
	planted := filepath.Join(t.TempDir(), "planted")
	if err := os.WriteFile(planted, []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, level := range confine.Levels() {
		t.Run(string(level), func(t *testing.T) {
			need(t, level)
			if testing.Short() && level != confine.LevelFull {
				t.Skip("the strongest level only, with -short")
			}
			done := map[string]bool{}
			for _, h := range holds {
				if !level.AtLeast(h.from) || done[h.program] {
					continue
				}
				done[h.program] = true
				t.Run(h.program, func(t *testing.T) {
					s := box(t, level, h.program, "PLANTED="+planted, "PARENT="+strconv.Itoa(os.Getpid()))
					if h.change != nil {
						h.change(&s)
					}
					r := run(t, s)
					h.verify(t, s, r)
					if left := running(t, s.Args[0]); len(left) > 0 {
						t.Errorf("processes %v live on", left)
					}
					t.Logf("held by %s: cause %q, exit %d %s, %d left, %v, cpu %v, %d MiB", h.by, r.Cause, r.Exit, r.Signal, r.Left, r.Wall.Round(time.Millisecond), r.CPU.Round(time.Millisecond), r.Memory>>20)
				})
			}
		})
	}
}

func (h held) verify(t *testing.T, s confine.Spec, r confine.Result) {
	t.Helper()
	shown := r.Stdout[:min(len(r.Stdout), 6000)]
	if r.Cause != h.cause {
		t.Errorf("cause %q, want %q: %+v\n%s%s", r.Cause, h.cause, r.Exit, shown, r.Stderr[:min(len(r.Stderr), 2000)])
	}
	for _, w := range h.want {
		if !regexp.MustCompile(w).Match(r.Stdout) {
			t.Errorf("it does not say %s:\n%s%s", w, shown, r.Stderr[:min(len(r.Stderr), 2000)])
		}
	}
	if h.never != nil {
		if bad := h.never.FindAll(r.Stdout, -1); bad != nil {
			t.Errorf("not held: %s", bytes.Join(bad, []byte("; ")))
		}
	}
	if h.check != nil {
		h.check(t, s, r)
	}
}

// running lists the processes of the machine that run a program by its path.
func running(t *testing.T, path string) (all []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err == nil && bytes.HasPrefix(line, []byte(path+"\x00")) && filepath.Base(filepath.Dir(name)) != strconv.Itoa(os.Getpid()) {
			all = append(all, filepath.Base(filepath.Dir(name)))
		}
	}
	return all
}

// serve answers on a listener until the test ends, and counts connections.
func serve(t *testing.T, l net.Listener) *counted {
	t.Helper()
	c := &counted{Listener: l}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello from outside to "+r.Host)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(c) }()
	t.Cleanup(func() { server.Close(); <-done })
	return c
}

type counted struct {
	net.Listener
	n atomic.Int64
}

func (c *counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// TestNetwork: at level full only the listeners that were handed in are there; a test's
// own listener on the same loopback address outside is not.
func TestNetwork(t *testing.T) {
	for _, level := range confine.Levels() {
		t.Run(string(level), func(t *testing.T) {
			s := box(t, level, "connects")
			outside, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			host := serve(t, outside)
			abstract, err := net.Listen("unix", fmt.Sprintf("@confine-test-%d", os.Getpid()))
			if err != nil {
				t.Fatal(err)
			}
			serve(t, abstract)
			s.Listen = []string{"127.0.0.1:0", "127.0.0.1:0"}
			p, err := confine.Command(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, l := range p.Listeners {
				serve(t, l)
			}
			if len(p.Listeners) != 2 || p.Listeners[0].Addr().String() == p.Listeners[1].Addr().String() {
				t.Fatalf("listeners %v", p.Listeners)
			}
			// Addresses for documentation lead nowhere, if somebody should get out.
			p.Env = append(p.Env, "OURS=http://"+p.Listeners[1].Addr().String(),
				fmt.Sprintf("ADDRESSES=tcp!%s unix!%s tcp!192.0.2.1:80 udp!192.0.2.1:53 tcp![2001:db8::1]:80", outside.Addr(), abstract.Addr()))
			r, err := p.Run()
			if err != nil {
				t.Fatal(err)
			}
			if want := "ours says hello from outside to " + p.Listeners[1].Addr().String(); !bytes.Contains(r.Stdout, []byte(want)) {
				t.Errorf("its own listener is not reached:\n%s%s", r.Stdout, r.Stderr)
			}
			if level != confine.LevelFull {
				if !bytes.Contains(r.Stdout, fmt.Appendf(nil, "done connect tcp!%s\n", outside.Addr())) {
					t.Errorf("level %s is said to leave the network open:\n%s", level, r.Stdout)
				}
				return
			}
			if bad := nothingDone.FindAll(r.Stdout, -1); bad != nil || host.n.Load() != 0 {
				t.Errorf("not held: %s, %d connections", bytes.Join(bad, []byte("; ")), host.n.Load())
			}
			for _, want := range []string{`held connect tcp!127.0.0.1:\d+: .*connection refused`, `held connect tcp!192.0.2.1:80: .*network is unreachable`, `held vsock: address family not supported`} {
				if !regexp.MustCompile(want).Match(r.Stdout) {
					t.Errorf("not %s:\n%s", want, r.Stdout)
				}
			}
		})
	}
}

// TestCancelled: the end of the context ends the program, and is an error.
func TestCancelled(t *testing.T) {
	for _, level := range confine.Levels() {
		t.Run(string(level), func(t *testing.T) {
			s := box(t, level, "sleeps")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.Stdout = writer(func([]byte) { cancel() })
			p, err := confine.Command(ctx, s)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			r, err := p.Run()
			if !errors.Is(err, context.Canceled) || r.Cause != confine.EndCancelled || r.Wall > 15*time.Second {
				t.Errorf("%v, %+v", err, r)
			}
			if left := running(t, s.Args[0]); len(left) > 0 {
				t.Errorf("processes %v live on", left)
			}
		})
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

// TestClosed: a confinement that is given up holds nothing, started or not.
func TestClosed(t *testing.T) {
	for _, level := range confine.Levels() {
		t.Run(string(level), func(t *testing.T) {
			for _, started := range []bool{false, true} {
				s := box(t, level, "outlives")
				s.Listen = []string{"127.0.0.1:0"}
				p, err := confine.Command(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				if started {
					err = p.Start()
				}
				p.Close()
				p.Close()
				if err != nil {
					t.Fatal(err)
				}
				if left := running(t, s.Args[0]); len(left) > 0 {
					t.Errorf("processes %v live on", left)
				}
				if c, err := net.DialTimeout("tcp", p.Listeners[0].Addr().String(), time.Second); err == nil {
					c.Close()
					t.Error("its listener lives on")
				}
			}
		})
	}
}

// TestOrphaned: when the process that holds a confinement is killed, the program is, too.
func TestOrphaned(t *testing.T) {
	for _, level := range confine.Levels() {
		t.Run(string(level), func(t *testing.T) {
			s := box(t, level, "")
			c := exec.Command(s.Args[0])
			c.Env = append(confine.Environ("HOSTILE=dies", "LEVEL="+string(level), "HOME="+s.Home), "TMPDIR="+filepath.Dir(s.Home))
			out, err := c.Output()
			if err == nil || !strings.Contains(string(out), "started <nil>") {
				t.Fatalf("%v %s", err, out)
			}
			for range 1000 {
				folders, err := filepath.Glob(filepath.Join(filepath.Dir(s.Home), "confine-*"))
				if err != nil {
					t.Fatal(err)
				}
				if len(running(t, s.Args[0]))+len(folders) == 0 {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("processes %v live on, or folders are left", running(t, s.Args[0]))
		})
	}
}

// TestInterpreters: what harnesses are written in runs, and reaches a listener.
func TestInterpreters(t *testing.T) {
	for name, args := range map[string][]string{
		"node":    {"-e", `fetch(process.env.OURS).then(r => r.text()).then(t => { console.log(t, require("os").cpus().length, typeof WebAssembly) })`},
		"python3": {"-c", `import os, ssl, urllib.request, multiprocessing; print(urllib.request.urlopen(os.environ["OURS"]).read().decode(), os.path.expanduser("~"), multiprocessing.Lock())`},
	} {
		for _, level := range confine.Levels() {
			t.Run(name+"/"+string(level), func(t *testing.T) {
				s := box(t, level, "")
				path := interpreter(t, name)
				s.Args, s.Listen = append([]string{path}, args...), []string{"127.0.0.1:0"}
				s.Limits = confine.Limits{Wall: time.Minute}
				p, err := confine.Command(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				serve(t, p.Listeners[0])
				p.Env = []string{"OURS=http://" + p.Listeners[0].Addr().String()}
				r, err := p.Run()
				if err != nil {
					t.Fatal(err)
				}
				if r.Exit != 0 || r.Cause != "" || !strings.Contains(string(r.Stdout), "hello from outside") {
					t.Errorf("%s: exit %d %s\n%s%s", r.Cause, r.Exit, r.Signal, r.Stdout, r.Stderr)
				}
				t.Logf("%s (%v, %d MiB)", bytes.TrimSpace(r.Stdout), r.Wall.Round(time.Millisecond), r.Memory>>20)
			})
		}
	}
}

// interpreter finds one that is installed for everybody.
func interpreter(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/bin", "/usr/local/bin"} {
		if path := filepath.Join(dir, name); exec.Command(path, "--version").Run() == nil {
			return path
		}
	}
	t.Skipf("no %s in /usr/bin or /usr/local/bin", name)
	return ""
}

// BenchmarkStart is what a confinement costs: a program that does nothing, from Command
// to Close.
func BenchmarkStart(b *testing.B) {
	for _, level := range confine.Levels() {
		b.Run(string(level), func(b *testing.B) {
			s := box(b, level, "")
			s.Args = []string{"/bin/true"}
			s.Listen = []string{"127.0.0.1:0", "127.0.0.1:0"}
			for b.Loop() {
				run(b, s)
			}
		})
	}
}
