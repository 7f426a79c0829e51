package confine

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// FuzzStat: whatever a process calls itself, the fields after its name are found.
func FuzzStat(f *testing.F) {
	f.Add("bash")
	f.Add("a) Z 1")
	f.Add(") (\n")
	f.Fuzz(func(t *testing.T, name string) {
		got := statFields([]byte("12 (" + name + ") S 7 8 9\n"))
		if len(got) != 4 || got[0] != "S" || got[3] != "9" {
			t.Errorf("%q", got)
		}
		statFields([]byte(name)) // and nothing else is taken for one badly
	})
}

// FuzzReceive: no bytes on a channel harm who reads it.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Add([]byte{255, 255, 255, 255, '{'})
	f.Add(append(binary.BigEndian.AppendUint32(nil, 20), `{"Setup":{"Level":1}}`...))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := ends(t)
		if _, err := a.Write(data); err != nil {
			t.Fatal(err)
		}
		a.Close()
		for range 10 {
			var o order
			if _, err := b.receive(&o, 1); err != nil {
				return
			}
		}
	})
}

func ends(t *testing.T) (channel, channel) {
	t.Helper()
	a, theirs, err := newChannel()
	if err != nil {
		t.Fatal(err)
	}
	b, err := openChannel(theirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

// TestChannel: messages and descriptors arrive as they were sent.
func TestChannel(t *testing.T) {
	a, b := ends(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	long := strings.Repeat("x", 1<<20)
	sent := make(chan error, 1)
	go func() {
		err := a.send(answer{Listeners: 1}, file)
		if err == nil {
			err = a.send(order{Start: &start{Args: []string{long}}})
		}
		sent <- err
	}()
	var first answer
	files, err := b.receive(&first, 1)
	if err != nil || first.Listeners != 1 || len(files) != 1 {
		t.Fatalf("%+v, %d files, %v", first, len(files), err)
	}
	got, err := fromFiles(files)
	if err != nil || got[0].Addr().String() != l.Addr().String() {
		t.Errorf("%v, %v", got, err)
	}
	closeAll(got)
	var second order
	if _, err := b.receive(&second, 0); err != nil || second.Start == nil || second.Start.Args[0] != long {
		t.Errorf("%v", err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if err := a.send(order{Start: &start{Args: []string{strings.Repeat("x", longest)}}}); err == nil {
		t.Error("a message that nobody would read is sent")
	}
}

// TestEnviron: nothing but what is listed comes along, and what is added wins.
func TestEnviron(t *testing.T) {
	t.Setenv("SECRET_KEY", "1")
	t.Setenv("LC_TIME", "C")
	t.Setenv("PATH", "/a")
	got := Environ("PATH=/b", "X=1", "X=2")
	if slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "SECRET") }) || !slices.Contains(got, "LC_TIME=C") {
		t.Errorf("%q", got)
	}
	if !slices.Contains(got, "PATH=/b") || slices.Contains(got, "PATH=/a") || !slices.Contains(got, "X=2") || slices.Contains(got, "X=1") {
		t.Errorf("%q", got)
	}
}

func TestLevels(t *testing.T) {
	if !LevelFull.AtLeast(LevelUser) || !LevelUser.AtLeast(LevelUser) || LevelProcess.AtLeast(LevelUser) {
		t.Error("the levels are out of order")
	}
}

// TestNext: a program that is close to its memory is looked at sooner.
func TestNext(t *testing.T) {
	l := Limits{Memory: 1 << 30}
	if far, near := (use{}).next(l), (use{memory: 1<<30 - 1<<20}).next(l); far != 25*time.Millisecond || near != 5*time.Millisecond {
		t.Errorf("%v, %v", far, near)
	}
}

// TestCgroupFiles: what a cgroup is told, and what it tells.
func TestCgroupFiles(t *testing.T) {
	g, err := makeCgroup(t.TempDir(), Limits{Memory: 100, Disk: 11, Processes: 5})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "111", "pids.max": "37", "memory.swap.max": "0"} {
		if got, err := os.ReadFile(filepath.Join(g.dir, file)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", file, got, err)
		}
	}
	for text, want := range map[string]bool{"oom 3\noom_kill 0\n": false, "oom 1\noom_kill 2\n": true, "": false} {
		if err := os.WriteFile(filepath.Join(g.dir, "memory.events"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := g.killedForMemory(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	var none *cgroup
	none.remove()
	if none.killedForMemory() {
		t.Error("no cgroup has killed")
	}
}

// TestFilter: the filter ends on every path, and every jump stays within it.
func TestFilter(t *testing.T) {
	for name, arch := range architectures {
		for _, memfd := range []bool{false, true} {
			p := compile(arch, memfd)
			for i, f := range p {
				if f.Code&7 == unix.BPF_JMP && i+1+int(max(f.Jt, f.Jf)) >= len(p) {
					t.Errorf("%s: instruction %d jumps out", name, i)
				}
			}
			if last := p[len(p)-1]; last.Code != unix.BPF_RET|unix.BPF_K {
				t.Errorf("%s: it runs over its end", name)
			}
			for _, test := range []struct {
				arch, nr, arg uint32
				want          uint32
			}{
				{arch, unix.SYS_READ, 0, unix.SECCOMP_RET_ALLOW},
				{arch, unix.SYS_PTRACE, 0, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
				{arch, unix.SYS_CLONE, unix.CLONE_VM, unix.SECCOMP_RET_ALLOW},
				{arch, unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_VM, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
				{arch, unix.SYS_PRLIMIT64, 0, unix.SECCOMP_RET_ALLOW},
				{arch, unix.SYS_PRLIMIT64, 1, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
				{arch, unix.SYS_SOCKET, unix.AF_INET6, unix.SECCOMP_RET_ALLOW},
				{arch, unix.SYS_SOCKET, unix.AF_VSOCK, unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
				{arch ^ 1, unix.SYS_READ, 0, unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
			} {
				if got := interpret(p, test.arch, test.nr, test.arg); got != test.want {
					t.Errorf("%s: call %d of %x with %x: %x, want %x", name, test.nr, test.arch, test.arg, got, test.want)
				}
			}
		}
	}
}

// interpret runs a filter as the kernel does.
func interpret(p []unix.SockFilter, arch, nr, arg uint32) uint32 {
	var a uint32
	for i := 0; ; i++ {
		f := p[i]
		var yes bool
		switch f.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = map[uint32]uint32{offsetNumber: nr, offsetArchitecture: arch, offsetArgument0: arg}[f.K]
			continue
		case unix.BPF_RET | unix.BPF_K:
			return f.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			yes = a == f.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			yes = a >= f.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			yes = a&f.K != 0
		default:
			return 0xdead
		}
		if yes {
			i += int(f.Jt)
		} else {
			i += int(f.Jf)
		}
	}
}

// TestTail keeps the beginning of what a warden says.
func TestTail(t *testing.T) {
	var log tail
	for range 100 {
		if n, err := log.Write(bytes.Repeat([]byte("x"), 1000)); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if log.Len() != 4<<10 {
		t.Errorf("%d bytes", log.Len())
	}
}
