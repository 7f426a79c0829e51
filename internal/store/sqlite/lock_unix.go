//go:build unix && !solaris && !aix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// openExclusive opens path under flock(2), which belongs to the open file: it
// excludes other stores of this process as well as other processes.
func openExclusive(path string) (f *os.File, held bool, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
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

// unlock removes the file while it is locked, so that nobody who has it open can
// take it for the live one (see lockFile).
func (l *fileLock) unlock() error { return errors.Join(os.Remove(l.path), l.f.Close()) }
