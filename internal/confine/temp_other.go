//go:build !unix

package confine

import "os"

// ours reports whether a file or folder, and no link, is there: temporary folders are a
// user's own here.
func ours(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink == 0
}
