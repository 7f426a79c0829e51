package play

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/agentbound/agentbound"
)

// Files of this room hold a JSON value a line and only grow. A last line without its
// end was being written when the process died: it was never acknowledged.

// readLines reads what was written in full; a file that is not there holds nothing.
// With the error of a damaged file come the lines before the damage.
func readLines[T any](path string) ([]T, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []T
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	for i, line := range bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n")) {
		if len(whole) == 0 {
			break
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return all, fmt.Errorf("%s:%d: %w; the file was damaged or changed by hand", path, i+1, err)
		}
		all = append(all, v)
	}
	return all, nil
}

// openLines opens a file to append to, makes its name durable and cuts off a last line
// that was not written in full.
func openLines(path string) (*os.File, error) {
	_, err := os.Stat(path)
	created := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err == nil {
		if whole := bytes.LastIndexByte(b, '\n') + 1; whole < len(b) {
			err = f.Truncate(int64(whole))
		}
	}
	if err == nil && created {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// appendLines writes values and waits until they are on the disk.
func appendLines[T any](f *os.File, values ...T) error {
	var lines []byte
	for _, v := range values {
		b, err := agentbound.EncodeJSON(v)
		if err != nil {
			return err
		}
		lines = append(append(lines, b...), '\n')
	}
	if _, err := f.Write(lines); err != nil {
		return err
	}
	return f.Sync()
}

// checksModes: Windows has other rights than modes, and keeps names of files durable
// without folders being synced.
const checksModes = runtime.GOOS != "windows"

// private makes a folder that only its owner can enter, and refuses one that others
// can.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && checksModes {
		return fmt.Errorf("%s can be entered by others (mode %04o) and holds what subjects must not see: chmod 700 it", dir, mode)
	}
	return nil
}

func syncDir(dir string) error {
	if !checksModes {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
