package confine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentbound/agentbound/internal/confine"
)

// The hostile programs of TestHostile: this test binary with their name in HOSTILE. Each
// prints a line for each thing that it tries, "done WHAT" or "held WHAT: ERROR", and
// bounds itself: where a confinement fails nothing is to be hurt.
var programs = map[string]func(){
	"reads": func() {
		for _, path := range append(strings.Fields(os.Getenv("PLANTED")), "/root", "/etc/shadow", "/etc/gshadow", "/proc/1/environ", "/proc/1/root/etc/shadow",
			"/proc/"+os.Getenv("PARENT")+"/environ", fmt.Sprintf("/proc/%d/environ", os.Getppid()), "/proc/kcore", "/dev/mem", "/proc/1/cwd/etc/shadow", "/proc/1/fd") {
			_, err := os.ReadFile(path)
			if err != nil {
				if _, e := os.ReadDir(path); e == nil {
					err = nil
				}
			}
			tried("read "+path, err)
		}
		for n := range 16 { // what the warden has open
			f, err := os.OpenFile(fmt.Sprintf("/proc/1/fd/%d", n), os.O_RDONLY|unix.O_NONBLOCK, 0)
			if err == nil {
				f.Close()
			}
			tried(fmt.Sprintf("open descriptor %d of the first process", n), err)
		}
		for _, dir := range []string{"/", "/home", "/root", "/tmp"} {
			entries, _ := os.ReadDir(dir)
			fmt.Println("sees", dir, entries)
		}
		processes, _ := filepath.Glob("/proc/[0-9]*")
		fmt.Println("processes", len(processes))
	},
	"forks": func() {
		started := 0
		for range 400 {
			c := exec.Cmd{Path: "/bin/sleep", Args: []string{os.Args[0], "20"}}
			if err := c.Start(); err != nil {
				tried("fork", err)
				break
			}
			started++
		}
		fmt.Println("started", started)
		time.Sleep(time.Second)
	},
	"prints": func() { flood(os.Stdout) },
	"warns":  func() { flood(os.Stderr) },
	"fills": func() {
		block, total := make([]byte, 1<<20), 0
		for _, dir := range []string{os.Getenv("HOME"), "/tmp", "/var/tmp", "/dev/shm"} {
			for i := range 8 {
				if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), bytes.Repeat(block, 20), 0o600); err != nil {
					tried("fill "+dir, err)
					break
				}
				total += 20
			}
		}
		fmt.Println("filled", total)
	},
	"inodes": func() {
		made := 0
		for ; made < 40000; made++ {
			if err := os.WriteFile(filepath.Join(os.Getenv("HOME"), strconv.Itoa(made)), nil, 0o600); err != nil {
				tried("make files", err)
				break
			}
		}
		fmt.Println("made", made)
	},
	"writes-large": func() { // one file
		f, err := os.Create(filepath.Join(os.Getenv("HOME"), "large"))
		for i := 0; err == nil && i < 100; i++ {
			_, err = f.Write(make([]byte, 1<<20))
		}
		tried("write a large file", err)
	},
	"allocates": func() { touch(1500) },
	"allocates-together": func() {
		for range 8 {
			c := exec.Command(os.Args[0], os.Args[1:]...)
			c.Env = append(os.Environ(), "HOSTILE=allocates-some")
			tried("start", c.Start())
		}
		time.Sleep(10 * time.Second)
	},
	"allocates-some": func() { touch(150); time.Sleep(10 * time.Second) },
	"hides-memory": func() { // in files that are in no file system, and segments in no process
		_, err := unix.MemfdCreate("x", 0)
		tried("memfd", err)
		_, err = unix.SysvShmGet(0, 1<<20, unix.IPC_CREAT|0o600)
		tried("shared memory", err)
	},
	"computes": func() {
		for range 3 {
			c := exec.Command(os.Args[0], os.Args[1:]...)
			c.Env = append(os.Environ(), "HOSTILE=spins")
			tried("start", c.Start())
		}
		spin()
	},
	"spins": spin,
	"names": func() { // itself so that who reads its status is led astray
		tried("name", os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", os.Getpid()), []byte("a) Z 1 1\n(b)"), 0))
		spin()
	},
	"plants": func() { // a link where somebody outside may follow it
		tried("link", os.MkdirAll(filepath.Join(os.Getenv("HOME"), "logs"), 0o700))
		tried("link", os.Symlink("/etc/shadow", filepath.Join(os.Getenv("HOME"), "logs", "log")))
		tried("file", os.WriteFile(filepath.Join(os.Getenv("HOME"), "logs", "file"), []byte("x"), 0o600))
	},
	"sleeps": func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
		fmt.Println("sleeping")
		time.Sleep(20 * time.Second)
	},
	"outlives": func() { // leaves a grandchild in a session of its own that holds the outputs
		daemon("daemon-1")
		waitFor(filepath.Join(os.Getenv("HOME"), "alive"))
	},
	"daemon-1": func() { daemon("daemon-2") },
	"daemon-2": func() {
		signal.Ignore()
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			f, err := os.OpenFile(filepath.Join(os.Getenv("HOME"), "alive"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err == nil {
				fmt.Fprintln(f, "alive")
				f.Close()
			}
		}
	},
	"connects": func() {
		for _, to := range strings.Fields(os.Getenv("ADDRESSES")) {
			network, address, _ := strings.Cut(to, "!")
			c, err := net.DialTimeout(network, address, 2*time.Second)
			if err == nil {
				c.Close()
			}
			tried("connect "+to, err)
		}
		_, err := net.LookupHost("localhost.example.com")
		tried("look up a name", err)
		_, err = unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		tried("vsock", err)
		_, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		tried("raw socket", err)
		answer, err := http.Get(os.Getenv("OURS"))
		if err == nil {
			body, _ := io.ReadAll(answer.Body)
			fmt.Printf("ours says %s\n", body)
		}
	},
	"writes": func() {
		for _, path := range append(strings.Fields(os.Getenv("PLANTED")+" "+os.Getenv("INSTALL")), "/usr/x", "/etc/x", "/x", "/bin/x", "/etc/passwd", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", os.Args[0]) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600) // nothing is written
			if err == nil {
				f.Close()
			}
			tried("write "+path, err)
		}
		tried("make it mine", os.Chmod(os.Args[0], 0o777))
		tried("remove it", os.Remove(os.Args[0]))
		tried("remount", unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	},
	"attacks": func() {
		for _, pid := range []string{os.Getenv("PARENT"), strconv.Itoa(os.Getppid())} {
			n, _ := strconv.Atoi(pid)
			for _, s := range []syscall.Signal{0, syscall.SIGCONT} { // harmless where it is not held
				tried(fmt.Sprintf("signal %d to %d", s, n), syscall.Kill(n, s))
			}
			err := syscall.PtraceAttach(n)
			if err == nil {
				_ = syscall.PtraceDetach(n)
			}
			tried("trace "+pid, err)
			tried("limit "+pid, unix.Prlimit(n, unix.RLIMIT_CORE, nil, new(unix.Rlimit)))
		}
		tried("become root", syscall.Setuid(0))
		tried("user namespace", unix.Unshare(unix.CLONE_NEWUSER))
		c := exec.Cmd{Path: "/bin/true", SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}}
		tried("user namespace by clone", c.Run())
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		tried("keys", err)
		status, _ := os.ReadFile("/proc/self/status")
		fmt.Printf("%s", status)
	},
	// Where the warden is of the same user, as in a user namespace.
	"kills-warden": func() {
		for s := syscall.Signal(1); s < 65; s++ {
			_ = syscall.Kill(os.Getppid(), s)
		}
		time.Sleep(100 * time.Millisecond)
		fmt.Println("I am still here")
	},
	"opens": func() {
		links, _ := os.ReadDir("/proc/self/fd")
		for _, l := range links {
			if to, err := os.Readlink("/proc/self/fd/" + l.Name()); err == nil && !strings.Contains(to, "eventpoll") && !strings.Contains(to, "eventfd") {
				fmt.Println(l.Name(), to)
			}
		}
		fmt.Println(strings.Join(os.Environ(), "\n"))
	},
	// A confining process that is killed.
	"dies": func() {
		p, err := confine.Command(context.Background(), confine.Spec{
			Level: confine.Level(os.Getenv("LEVEL")), Home: os.Getenv("HOME"), ReadOnly: []string{os.Args[0]},
			Program: confine.Program{Args: []string{os.Args[0]}, Env: []string{"HOSTILE=daemon-2"}},
		})
		if err == nil {
			err = p.Start()
		}
		fmt.Println("started", err)
		time.Sleep(200 * time.Millisecond)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	},
}

func hostile(name string) {
	programs[name]()
	os.Exit(0)
}

func tried(what string, err error) {
	if err == nil {
		fmt.Println("done", what)
	} else {
		fmt.Printf("held %s: %v\n", what, err)
	}
}

// flood prints a gigabyte.
func flood(f *os.File) {
	line := bytes.Repeat([]byte("all work and no play\n"), 3000)
	for n := 0; n < 1<<30; n += len(line) {
		if _, err := f.Write(line); err != nil {
			return
		}
	}
	time.Sleep(10 * time.Second)
}

// touch uses so many megabytes of memory.
func touch(megabytes int) {
	var all [][]byte
	for range megabytes {
		b := make([]byte, 1<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
		time.Sleep(time.Millisecond) // the warden looks now and then, on a busy machine less often
	}
	fmt.Println("touched", len(all))
}

func spin() {
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); {
	}
}

// daemon starts this program under another name in a session of its own.
func daemon(name string) {
	c := exec.Command(os.Args[0], os.Args[1:]...)
	c.Env = append(os.Environ(), "HOSTILE="+name)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	tried("start", c.Start())
}

func waitFor(path string) {
	for range 500 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
