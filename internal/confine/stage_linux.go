package confine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The descriptors of a stage beside the program's own three.
const (
	stageTold = 3
	stageFail = 4
)

// fail tells the warden why the program is not run.
func fail(err error) {
	fmt.Fprint(os.NewFile(stageFail, "fail"), err)
	os.Exit(1)
}

// enter gives up all that the program must not have and becomes the program. It
// returns only where that failed. The order matters: what takes rights comes first.
func enter() error {
	told := os.NewFile(stageTold, "told")
	body, err := io.ReadAll(told)
	if err != nil {
		return err
	}
	var s start
	if err := json.Unmarshal(body, &s); err != nil {
		return err
	}
	// The first to be ended where memory runs out; not on every system allowed.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if err := unix.CloseRange(stageTold, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	if err := s.limit(); err != nil {
		return err
	}
	if err := s.drop(); err != nil {
		return err
	}
	if err := os.Chdir(s.Dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	if s.Probe {
		return s.check()
	}
	path, err := lookPath(Program{Args: s.Args, Env: s.Env, Dir: s.Dir})
	if err != nil {
		return err
	}
	if err := unix.Exec(path, s.Args, s.Env); err != nil {
		return fmt.Errorf("%s: %w%s", path, err, hint(err, s.UID))
	}
	return nil
}

func hint(err error, uid int) string {
	switch {
	case errors.Is(err, unix.EACCES):
		return fmt.Sprintf(" (it runs as user %d, for whom it must be readable and executable, as must the folders above it)", uid)
	case errors.Is(err, unix.ENOENT):
		return " (the file is there: what is missing is the interpreter or the loader that it names)"
	}
	return ""
}

// check ends a probe: it is well where nothing is left of what was to be dropped.
func (s start) check() error {
	if s.Level.AtLeast(LevelUser) {
		var caps [2]unix.CapUserData
		if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0]); err != nil {
			return err
		}
		if caps[0].Permitted|caps[1].Permitted != 0 || unix.Geteuid() == 0 {
			return errors.New("capabilities were left after they were dropped")
		}
	}
	os.Exit(0)
	return nil
}

// limit sets the limits that the kernel holds for each process.
func (s start) limit() error {
	l := s.Limits
	cpu := uint64((l.CPU + time.Second - 1) / time.Second)
	processes := uint64(l.Processes)
	if !s.Switch {
		processes += 16 // in a user namespace the warden's threads count too
	}
	limits := []struct {
		what       string
		resource   int
		soft, hard uint64
	}{
		{"core files", unix.RLIMIT_CORE, 0, 0},
		{"CPU time", unix.RLIMIT_CPU, cpu, cpu + 1},
		{"size of files", unix.RLIMIT_FSIZE, uint64(l.File), uint64(l.File)},
		{"open files", unix.RLIMIT_NOFILE, uint64(l.Files), uint64(l.Files)},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 64 << 10, 64 << 10},
		{"processes", unix.RLIMIT_NPROC, processes, processes},
	}
	for _, x := range limits {
		if x.resource == unix.RLIMIT_NPROC && s.Level == LevelProcess {
			continue // it counts all processes of the user; the warden counts the program's
		}
		var old unix.Rlimit
		if err := unix.Getrlimit(x.resource, &old); err != nil {
			return fmt.Errorf("limit on %s: %w", x.what, err)
		}
		now := unix.Rlimit{Cur: min(x.soft, old.Max), Max: min(x.hard, old.Max)}
		if err := unix.Setrlimit(x.resource, &now); err != nil {
			return fmt.Errorf("limit on %s to %d: %w", x.what, now.Cur, err)
		}
	}
	return nil
}

// drop gives up capabilities and user for good.
func (s start) drop() error {
	if s.Level.AtLeast(LevelUser) {
		if err := s.dropRights(); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if s.Level.AtLeast(LevelUser) {
		return filter(s.Memfd)
	}
	return nil
}

func (s start) dropRights() error {
	last := 63
	if text, err := os.ReadFile("/proc/sys/kernel/cap_last_cap"); err == nil && len(text) > 1 {
		if n, err := strconv.Atoi(string(text[:len(text)-1])); err == nil {
			last = n
		}
	}
	for c := range last + 1 {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("bounding set, capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient capabilities: %w", err)
	}
	if s.Switch {
		if err := unix.Setgroups([]int{}); err != nil {
			return fmt.Errorf("groups: %w", err)
		}
		if err := unix.Setresgid(s.GID, s.GID, s.GID); err != nil {
			return fmt.Errorf("group %d: %w", s.GID, err)
		}
		if err := unix.Setresuid(s.UID, s.UID, s.UID); err != nil {
			return fmt.Errorf("user %d: %w", s.UID, err)
		}
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return nil
}
