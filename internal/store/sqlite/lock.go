package sqlite

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/agentbound/agentbound/internal/filelock"
)

// fileLock is an exclusive lock on a file, held by the open file.
type fileLock struct {
	f    *os.File
	path string
}

// lockFile takes the lock at path without waiting, and writes owner into the file.
// Where somebody else has it, the lock is nil and the owner the one written there.
// The file is removed when the lock is given up; one that a killed process left is
// taken over.
func lockFile(path, owner string) (*fileLock, string, error) {
	for {
		f, held, err := filelock.Open(path, 0o644)
		if err != nil {
			return nil, "", err
		}
		if held {
			return nil, readOwner(path), nil
		}
		// The file may have been removed by its owner between opening and locking.
		opened, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, "", err
		}
		if there, err := os.Stat(path); err != nil || !os.SameFile(opened, there) {
			_ = f.Close()
			continue
		}
		if err := f.Truncate(0); err == nil { // for people: its lack does no harm
			_, _ = f.WriteAt([]byte(owner+"\n"), 0)
		}
		return &fileLock{f: f, path: path}, "", nil
	}
}

// waitLock is lockFile that waits.
func waitLock(ctx context.Context, path, owner string) (*fileLock, error) {
	deadline := time.Now().Add(busyTimeout)
	for {
		l, other, err := lockFile(path, owner)
		if l != nil || err != nil {
			return l, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s is held (%s) for more than %v: stop that process", path, other, busyTimeout)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func readOwner(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 256)
	n, _ := io.ReadFull(f, b)
	for i, c := range b[:n] {
		if c < ' ' {
			return string(b[:i])
		}
	}
	return string(b[:n])
}
