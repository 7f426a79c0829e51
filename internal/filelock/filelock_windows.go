package filelock

import (
	"errors"
	"os"
	"syscall"
)

// errorSharingViolation is ERROR_SHARING_VIOLATION of winerror.h.
const errorSharingViolation = syscall.Errno(32)

// Open opens a file for reading and writing without sharing that, and makes it where
// there is none. Held: somebody else has it, and nothing was opened.
func Open(path string, _ os.FileMode) (f *os.File, held bool, err error) {
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
