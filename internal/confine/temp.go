package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/agentbound/agentbound/internal/filelock"
)

// Folders of TempDir are told apart from those of nobody by a lock, which ends with its
// process however that dies. Programs tell their models the path of their home: its name
// must not say what it is for.
const (
	tempPrefix = "session-"
	lockName   = "agentbound.lock"
)

// locks are those of this process's folders, by folder.
var locks sync.Map

var swept sync.Once

// TempDir makes a folder for temporary files that other users can enter but not list,
// and in it a home for a program. RemoveTemp takes it away; where a process was killed
// before it could, the next that asks for such a folder does.
func TempDir() (dir, home string, err error) {
	swept.Do(func() { sweep(os.TempDir()) })
	for range 100 { // a sweep may come between
		if dir, err = os.MkdirTemp("", tempPrefix); err != nil {
			return "", "", fmt.Errorf("no home for a program in the folder for temporary files, which TMPDIR names: %w", err)
		}
		if dir, err = filepath.EvalSymlinks(dir); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", "", err
		}
		kept, err := keep(dir)
		if err != nil {
			_ = os.RemoveAll(dir)
			return "", "", err
		}
		if kept {
			break
		}
	}
	if err := os.Chmod(dir, 0o711); err != nil { // another user id has to pass
		return "", "", err
	}
	home = filepath.Join(dir, "home")
	return dir, home, os.Mkdir(home, 0o700)
}

// keep locks a folder. False: a sweep was quicker.
func keep(dir string) (bool, error) {
	name := filepath.Join(dir, lockName)
	lock, held, err := filelock.Open(name, 0o600)
	if held || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	there, err := os.Stat(name)
	mine, mineErr := lock.Stat()
	if err != nil || mineErr != nil || !os.SameFile(there, mine) {
		return false, lock.Close()
	}
	locks.Store(dir, lock)
	return true, nil
}

// RemoveTemp removes a folder of TempDir with all that is in it.
func RemoveTemp(dir string) {
	removeAll(dir)
	if lock, ok := locks.LoadAndDelete(dir); ok {
		_ = lock.(*os.File).Close() // nobody looks for it any more
	}
}

// sweep removes the folders of processes that are gone.
func sweep(temp string) {
	all, _ := filepath.Glob(filepath.Join(temp, tempPrefix+"*")) // the pattern is good
	for _, dir := range all {
		if !ours(dir) || !ours(filepath.Join(dir, lockName)) {
			continue
		}
		lock, held, err := filelock.Open(filepath.Join(dir, lockName), 0o600)
		if held || err != nil {
			continue
		}
		gone := dir + ".gone" // so that nobody takes it meanwhile
		if os.Rename(dir, gone) == nil {
			removeAll(gone)
		}
		_ = lock.Close() // it is gone with its folder
	}
}

// removeAll removes a folder, also where a program has made folders in it that are not
// writable. What remains is litter in the system's folder for it.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	if root, err := os.OpenRoot(dir); err == nil {
		_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = root.Chmod(path, 0o700)
			}
			return nil
		})
		root.Close()
	}
	_ = os.RemoveAll(dir)
}
