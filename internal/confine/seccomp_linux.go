package confine

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the filter refuses: ways to new namespaces and so to capabilities in them, to
// other processes, to kernel parts that a program has no use for and in which rights
// were often gained, and to memory that no process's size shows.
var (
	refused = []uintptr{ // with EPERM
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	}
	absent = []uintptr{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP} // with ENOSYS: programs then take another way
	hidden = []uintptr{unix.SYS_MEMFD_CREATE, unix.SYS_SHMGET}   // the same, where memory is counted by processes
	// Kinds of sockets that are let through: the others reach beyond a network namespace
	// (vsock) or are of no use.
	families = []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
)

// architectures whose system calls the filter knows.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

func seccompHolds() string {
	if architectures[runtime.GOARCH] == 0 {
		return "system calls: not filtered on " + runtime.GOARCH
	}
	return "system calls filtered: no namespaces, tracing, keys, BPF, io_uring or sockets other than unix, internet and netlink"
}

// filter sets the system call filter for this thread and what it becomes. memfd lets
// files through that live in memory only.
func filter(memfd bool) error {
	arch := architectures[runtime.GOARCH]
	if arch == 0 {
		return nil
	}
	program := compile(arch, memfd)
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.PrctlArg5Ptr(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&fprog)), 0, nil); err != nil { //nolint:gosec // the kernel's interface takes a pointer
		return fmt.Errorf("system call filter: %w", err)
	}
	return nil
}

// Offsets in struct seccomp_data; arguments are 64 bits wide, both architectures have
// the low half first.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArgument0    = 16
)

// compile writes the filter: a line of tests, each of which ends it or passes on.
func compile(arch uint32, memfd bool) []unix.SockFilter {
	var p []unix.SockFilter
	load := func(offset uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
	}
	end := func(action uint32) { p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}) }
	jump := func(test uint16, k uint32, yes, no uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: k})
	}
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }

	load(offsetArchitecture)
	jump(unix.BPF_JEQ, arch, 1, 0)
	end(errno(unix.ENOSYS)) // 32-bit calls have other numbers
	load(offsetNumber)
	if arch == unix.AUDIT_ARCH_X86_64 {
		jump(unix.BPF_JGE, 0x40000000, 0, 1)
		end(errno(unix.ENOSYS)) // so have those of x32
	}
	refuse := func(calls []uintptr, action uint32) {
		for _, c := range calls {
			jump(unix.BPF_JEQ, uint32(c), 0, 1)
			end(action)
		}
	}
	refuse(refused, errno(unix.EPERM))
	refuse(absent, errno(unix.ENOSYS))
	if !memfd {
		refuse(hidden, errno(unix.ENOSYS))
	}
	jump(unix.BPF_JEQ, unix.SYS_PRLIMIT64, 0, 4) // of another process, which may be the warden
	load(offsetArgument0)
	jump(unix.BPF_JEQ, 0, 1, 0)
	end(errno(unix.EPERM))
	end(unix.SECCOMP_RET_ALLOW)
	jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4)
	load(offsetArgument0)
	jump(unix.BPF_JSET, unix.CLONE_NEWUSER, 0, 1)
	end(errno(unix.EPERM))
	end(unix.SECCOMP_RET_ALLOW)
	jump(unix.BPF_JEQ, unix.SYS_SOCKET, 1, 0)
	end(unix.SECCOMP_RET_ALLOW)
	load(offsetArgument0)
	for _, f := range families {
		jump(unix.BPF_JEQ, f, 0, 1)
		end(unix.SECCOMP_RET_ALLOW)
	}
	end(errno(unix.EAFNOSUPPORT))
	return p
}
