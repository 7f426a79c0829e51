//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Open opens a file for reading and writing under flock(2), and makes it with mode
// where there is none. Held: somebody else has it, and nothing was opened.
func Open(path string, mode os.FileMode) (f *os.File, held bool, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode); err != nil {
		return nil, false, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return f, false, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, true, nil
	}
	return nil, false, &os.PathError{Op: "flock", Path: path, Err: err}
}
