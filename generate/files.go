package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Bounds of the files of a folder, in bytes.
const (
	maxJSON    = 16 << 20 // report.json holds what every gate said
	maxJournal = 64 << 20
)

// readRegular gives a file that is one: no link, which would lead out of the folder, and
// nothing that never ends. A missing file is fs.ErrNotExist, anything else that its
// owner can mend a [UsageError].
func readRegular(name string, limit int64) ([]byte, error) {
	b, err := readHead(name, limit)
	if err == nil && int64(len(b)) > limit {
		return nil, usage("%s is larger than %d MiB; the file was damaged: remove it, or restore it", name, limit>>20)
	}
	return b, err
}

// readHead is readRegular that gives one byte over the limit of a file that is larger.
func readHead(name string, limit int64) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, usage("%s is %s, and a file is wanted here; replace it by one", name, kindOf(info.Mode()))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	return io.ReadAll(io.LimitReader(f, limit+1))
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode.IsRegular():
		return "a file"
	}
	return "no regular file"
}

// unlinked refuses a folder in which a link stands where rounds and families are written:
// what is behind it belongs to somebody else. The folder itself may be behind one.
func unlinked(dir string) error {
	for _, name := range []string{settingsFile, journalFile, suiteFile, lockFile} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !info.Mode().IsRegular() {
			return usage("%s is %s, and a file is wanted here; replace it by one", filepath.Join(dir, name), kindOf(info.Mode()))
		}
	}
	for _, sub := range []string{attemptsDir, familiesDir} {
		err := filepath.WalkDir(filepath.Join(dir, sub), func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.Type()&fs.ModeSymlink != 0:
				return usage("%s is a link; links are not followed here: put what it leads to in its place, or remove it", name)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// decodeJSON reads an object; the error says what is wrong in words of JSON.
func decodeJSON(b []byte, into any) error {
	if trimmed := bytes.TrimSpace(b); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("it is no JSON object")
	}
	err := json.Unmarshal(b, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%q must not be a %s", wrong.Field, wrong.Value)
	}
	return err
}

// readJSON reads a file of a round.
func (f folder) readJSON(name string, into any) error {
	b, err := readRegular(f.path(name), maxJSON)
	if err != nil {
		return err
	}
	if err := decodeJSON(b, into); err != nil {
		return f.damaged(name, err)
	}
	return nil
}

func (f folder) damaged(name string, why error) error {
	return usage("%s: %w; the file was damaged: remove its folder, and the round is made again", f.path(name), why)
}

// judgement reads report.json, and takes it only for what a round of this place can have
// left: a damaged one must not count as a failure.
func (f folder) judgement() (j Judgement, err error) {
	if err := f.readJSON(reportFile, &j); err != nil {
		return j, err
	}
	candidate, round := filepath.Base(filepath.Dir(string(f))), filepath.Base(string(f))
	switch {
	case j.Version != Version:
		err = fmt.Errorf("version %d; accepted: %d", j.Version, Version)
	case fmt.Sprintf(candidateName, j.Candidate) != candidate || fmt.Sprintf(roundName, j.Round) != round:
		err = fmt.Errorf("it is of candidate %d, round %d", j.Candidate, j.Round)
	case len(j.Gates) == 0:
		err = errors.New("it has no gates")
	case j.Passed != j.report().Passed():
		err = errors.New("passed contradicts its gates")
	case j.Passed && !isName(j.Family):
		err = fmt.Errorf("family %q is no name", j.Family)
	}
	for _, g := range j.Gates {
		if !isGate(g.Name) {
			err = fmt.Errorf("gate %q is not known", g.Name)
		}
	}
	if err != nil {
		return j, f.damaged(reportFile, err)
	}
	return j, nil
}

// maxCount bounds what a file may say that a call cost, so that sums stay exact.
const (
	maxCount = 1 << 32
	maxTimes = 10_000
)

func (f folder) asked() (a Asked, err error) {
	if err = f.readJSON(askedFile, &a); errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil && (a.Times < 0 || a.Times > maxTimes || a.Tokens < 0 || a.Tokens > maxCount) {
		err = f.damaged(askedFile, fmt.Errorf("times %d, tokens %d; accepted: 0 to %d, 0 to %d", a.Times, a.Tokens, maxTimes, maxCount))
	}
	return a, err
}

func (f folder) meta() (a Answer, err error) {
	if err = f.readJSON(metaFile, &a); err == nil && !a.Usage.plausible() {
		err = f.damaged(metaFile, fmt.Errorf("tokens %d and %d; accepted: 0 to %d", a.Usage.Input, a.Usage.Output, maxCount))
	}
	return a, err
}

func (u Usage) plausible() bool {
	return u.Input >= 0 && u.Input <= maxCount && u.Output >= 0 && u.Output <= maxCount
}

// isName reports whether a text can name a folder of its own, and a terminal shows it.
func isName(s string) bool {
	return s != "" && !slices.ContainsFunc([]rune(s), func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	})
}
