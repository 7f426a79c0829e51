package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// errorSharingViolation is ERROR_SHARING_VIOLATION of winerror.h.
const errorSharingViolation = syscall.Errno(32)

// openExclusive opens path for writing without sharing that: a second such open
// fails until the first handle, or its process, is gone.
func openExclusive(path string) (f *os.File, held bool, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, errorSharingViolation):
		return nil, true, nil
	case err != nil:
		return nil, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), false, nil
}

// unlock closes first: Windows removes no open file. Where another process has
// taken the lock in between, the removal fails, as it should.
func (l *fileLock) unlock() error {
	err := l.f.Close()
	_ = os.Remove(l.path)
	return err
}
