package confine

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tree is the processes of a program.
type tree interface {
	pids() []int
	kill()
}

// namespace is a process namespace seen by its first process, which is the warden.
type namespace struct{}

func (namespace) pids() []int {
	var all []int
	entries, _ := os.ReadDir("/proc") // ours: it can be read as long as we are
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != 1 && alive(pid) {
			all = append(all, pid)
		}
	}
	return all
}

func (namespace) kill() { _ = syscall.Kill(-1, syscall.SIGKILL) } // all but the caller

// descendants are the processes below a reaper of orphans: none gets away from it.
type descendants struct{ of int }

func (d descendants) pids() []int {
	all := children(d.of, nil)
	for i := 0; i < len(all); i++ {
		all = children(all[i], all)
	}
	live := all[:0]
	for _, pid := range all {
		if alive(pid) {
			live = append(live, pid)
		}
	}
	return live
}

// kill first takes the right to fork, which counts for other users than root, and then
// all lives.
func (d descendants) kill() {
	all := d.pids()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
		_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{}, nil)
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// children appends the children of a process that all does not have yet.
func children(pid int, all []int) []int {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	for _, name := range lists {
		text, _ := os.ReadFile(name) // a thread that has ended has none
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// alive reports whether a process has not ended: one that was not waited for has.
func alive(pid int) bool {
	f := stat(pid)
	return len(f) > 0 && f[0] != "Z" && f[0] != "X"
}

// stat gives the fields of a process's status line from the third, its state, on.
func stat(pid int) []string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // gone: no fields
	return statFields(text)
}

func statFields(text []byte) []string {
	if end := bytes.LastIndexByte(text, ')'); end >= 0 { // its name may hold anything
		return strings.Fields(string(text[end+1:]))
	}
	return nil
}

// use is what the processes of a program use together.
type use struct {
	memory  int64 // bytes
	threads int
	cpu     time.Duration
}

// measure adds up what a program's processes use. Memory that is shared after a fork
// counts once for each at first, and is looked at closely only beyond limit.
func measure(t tree, limit int64) use {
	u := use{cpu: waitedFor()}
	pids := t.pids()
	for _, pid := range pids {
		f := stat(pid)
		if len(f) < 18 {
			continue
		}
		for _, ticks := range f[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.ParseInt(ticks, 10, 64)
			u.cpu += time.Duration(n) * (time.Second / userHz)
		}
		n, _ := strconv.Atoi(f[17])
		u.threads += n
		u.memory += kilobytes(pid, "status", "RssAnon:", "RssShmem:", "VmSwap:")
	}
	if u.memory > limit {
		u.memory = 0
		for _, pid := range pids {
			u.memory += kilobytes(pid, "smaps_rollup", "Pss_Anon:", "Pss_Shmem:", "SwapPss:")
		}
	}
	return u
}

// userHz is the unit of times in /proc, fixed by the kernel's interface.
const userHz = 100

// kilobytes adds up fields of a file about a process, in bytes.
func kilobytes(pid int, file string, fields ...string) int64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file) // gone: nothing
	var sum int64
	for line := range strings.Lines(string(text)) {
		for _, name := range fields {
			if rest, ok := strings.CutPrefix(line, name); ok {
				n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
				sum += n << 10
			}
		}
	}
	return sum
}

// waitedFor is the CPU time of all processes that this one, or one that it has waited
// for, has waited for.
func waitedFor() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &r) // cannot fail
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// beyond gives the limit that is passed.
func (u use) beyond(l Limits) Cause {
	switch {
	case u.memory > l.Memory:
		return EndMemory
	case u.cpu > l.CPU:
		return EndCPU
	case u.threads > l.Processes+16: // where the kernel counts it refuses before
		return EndProcesses
	}
	return ""
}

// next is when to look again: a program cannot touch memory faster than about 16 GiB/s.
func (u use) next(l Limits) time.Duration {
	return max(5*time.Millisecond, min(25*time.Millisecond, time.Duration(l.Memory-u.memory)*time.Second/(16<<30)))
}
