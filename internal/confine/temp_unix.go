//go:build unix

package confine

import (
	"os"
	"syscall"
)

// ours reports whether a file or folder, and no link, is this user's.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
