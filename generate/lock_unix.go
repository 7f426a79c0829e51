//go:build unix && !solaris && !aix

package generate

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// exclusive opens a file under flock(2), which belongs to the open file.
func exclusive(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the folder for attempts: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, busy(path)
	}
	return nil, &os.PathError{Op: "flock", Path: path, Err: err}
}
