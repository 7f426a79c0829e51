package confine

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// FreeMemory is how many bytes programs can still use here: what the machine has
// available, or what the limits of our control groups leave, whichever is less; 0: not
// known.
func FreeMemory() int64 { return freeMemory(os.DirFS("/")) }

func freeMemory(root fs.FS) int64 {
	free := int64(0)
	lower := func(n int64, ok bool) {
		if ok && (free == 0 || n < free) {
			free = max(n, 1) // none is left, which is known
		}
	}
	kib, ok := field(root, "proc/meminfo", "MemAvailable:")
	lower(kib<<10, ok)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup") // without it there are no groups to heed
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		at, names := "sys/fs/cgroup", [2]string{"memory.max", "memory.current"}
		switch {
		case part[1] == "memory": // version 1
			at, names = "sys/fs/cgroup/memory", [2]string{"memory.limit_in_bytes", "memory.usage_in_bytes"}
		case part[1] != "":
			continue
		}
		for dir := path.Join(at, part[2]); strings.HasPrefix(dir, at); dir = path.Dir(dir) {
			lower(left(root, dir, names))
		}
	}
	return free
}

// left is what the limit of a control group leaves: files that are held in memory and
// could be let go are as good as free.
func left(root fs.FS, dir string, names [2]string) (int64, bool) {
	limit, ok := number(root, path.Join(dir, names[0]))
	used, known := number(root, path.Join(dir, names[1]))
	if !ok || !known {
		return 0, false // no limit, or none here
	}
	idle, _ := field(root, path.Join(dir, "memory.stat"), "inactive_file")
	return limit - used + min(idle, used), true
}

func number(root fs.FS, file string) (int64, bool) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// field is a number behind its name, on a line of its own.
func field(root fs.FS, file, name string) (int64, bool) {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
