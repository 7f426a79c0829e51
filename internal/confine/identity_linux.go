package confine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is who a program runs as.
type identity struct {
	uid, gid int
	change   bool // to them, which takes root; else they are ours
}

// newIdentity gives a program a user id that nothing else has, where we are root. The
// system then counts its processes, and nobody else's, against their limit.
func newIdentity(level Level) (identity, error) {
	own := identity{uid: os.Getuid(), gid: os.Getgid()}
	switch {
	case level == LevelProcess:
		return own, nil
	case os.Geteuid() == 0:
		id, err := unusedID()
		return identity{uid: id, gid: id, change: true}, err
	case level == LevelUser:
		return own, errors.New("to run a program as another user takes root")
	}
	return own, nil
}

var drawn atomic.Uint32

// unusedID gives an id far from those of people and services, or, where only few ids
// are mapped into this user namespace, near the upper end of those.
func unusedID() (int, error) {
	const base, span = 0x70000000, 0x0fffffff
	n := uint32(os.Getpid())*4096 + drawn.Add(1)
	data, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 0, err
	}
	var most uint32
	for line := range strings.Lines(string(data)) {
		var inside, outside, count uint32
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err != nil {
			return 0, fmt.Errorf("/proc/self/uid_map: %q: %w", line, err)
		}
		if inside <= base && uint64(inside)+uint64(count) > base+span {
			return int(base + n%span), nil
		}
		most = max(most, inside+count-1)
	}
	if most < 2000 {
		return 0, fmt.Errorf("only user ids up to %d are mapped into this user namespace: none is free for a program", most)
	}
	return int(most - n%(most/4)), nil
}

// namespaces has a command start in namespaces of its own. Where we are not root a user
// namespace, in which only our own id is mapped, gives the right to make the others, and
// the command gets the capabilities in it that the warden needs.
func (id identity) namespaces(attr *syscall.SysProcAttr) {
	attr.Cloneflags = unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if id.change {
		return
	}
	attr.Cloneflags |= unix.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id.uid, HostID: id.uid, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: id.gid, HostID: id.gid, Size: 1}}
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP, unix.CAP_KILL, unix.CAP_SYS_PTRACE, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_SYS_RESOURCE}
}
