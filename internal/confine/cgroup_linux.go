package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// CgroupVariable names a cgroup (version 2) folder in which confinements may make their
// own: one with the memory and pids controllers enabled for its children and no process
// in it, such as systemd-run --user --property=Delegate=yes gives. Without it memory is
// held by looking at the processes.
const CgroupVariable = "AGENTBOUND_CGROUP"

// cgroup holds one program's memory and number of processes. A nil one holds nothing.
type cgroup struct {
	dir string
	fd  *os.File
}

var cgroups atomic.Uint32

// delegated is the folder that was given, and why it cannot be used.
var delegated = sync.OnceValues(func() (string, error) {
	dir := os.Getenv(CgroupVariable)
	if dir == "" {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return "", fmt.Errorf("%s: %w", CgroupVariable, err)
	}
	for _, c := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(string(text)), c) {
			return "", fmt.Errorf("%s: %s does not enable the %s controller for its children: write +memory +pids to its cgroup.subtree_control", CgroupVariable, dir, c)
		}
	}
	return dir, nil
})

// newCgroup makes a cgroup with limits, or none where no folder is given for them.
func newCgroup(l Limits) (*cgroup, error) {
	parent, err := delegated()
	if parent == "" || err != nil {
		return nil, err
	}
	return makeCgroup(parent, l)
}

func makeCgroup(parent string, l Limits) (*cgroup, error) {
	g := &cgroup{dir: filepath.Join(parent, fmt.Sprintf("confine-%d-%d", os.Getpid(), cgroups.Add(1)))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	for _, x := range []struct{ file, value string }{
		{"memory.max", strconv.FormatInt(l.Memory+l.Disk, 10)}, // its file system is in memory, too
		{"memory.swap.max", "0"},
		{"pids.max", strconv.Itoa(l.Processes + 32)}, // the warden has some
	} {
		err := os.WriteFile(filepath.Join(g.dir, x.file), []byte(x.value), 0o600)
		if err != nil && (x.file != "memory.swap.max" || !errors.Is(err, fs.ErrNotExist)) {
			g.remove()
			return nil, fmt.Errorf("cgroup %s: %w", x.file, err)
		}
	}
	var err error
	if g.fd, err = os.OpenFile(g.dir, unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// join has a command start in the cgroup.
func (g *cgroup) join(attr *syscall.SysProcAttr) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(g.fd.Fd())
	}
}

// killedForMemory reports whether the kernel has ended a process for its memory.
func (g *cgroup) killedForMemory() bool {
	if g == nil {
		return false
	}
	text, _ := os.ReadFile(filepath.Join(g.dir, "memory.events")) // without it nothing is known
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			return f[1] != "0"
		}
	}
	return false
}

// remove ends what is in the cgroup and removes it. The kernel may take a moment.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.fd != nil {
		g.fd.Close()
	}
	_ = os.WriteFile(filepath.Join(g.dir, "cgroup.kill"), []byte("1"), 0o600)
	for range 100 {
		if err := unix.Rmdir(g.dir); err == nil || errors.Is(err, unix.ENOENT) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// holds says by what memory and processes are held.
func (g *cgroup) holds(level Level) string {
	switch {
	case g != nil:
		return "memory and processes: by a cgroup"
	case level == LevelProcess:
		return "memory and processes: looked at every 5 to 25 ms"
	}
	return "memory: looked at every 5 to 25 ms; processes: by the kernel, for the user id"
}
