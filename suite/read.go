package suite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// fileFault says why a file or folder is not read: what its owner can mend, where
// another error is of the machine.
type fileFault struct{ why string }

func (e *fileFault) Error() string { return e.why }

func faultf(format string, args ...any) error { return &fileFault{fmt.Sprintf(format, args...)} }

// read gives a file with line ends as \n, so that digests are alike everywhere. It
// reads regular files only: another may never end.
func (l *loader) read(name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(l.fsys, name)
	if err != nil {
		return nil, l.explain(name, err)
	}
	if err := regular(info.Mode()); err != nil {
		return nil, err
	}
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, l.explain(name, err)
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, l.explain(name, err)
	}
	if int64(len(b)) > limit {
		return nil, faultf("larger than %d KiB; shorten it", limit>>10)
	}
	return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), nil
}

func regular(mode fs.FileMode) error {
	what := "a device"
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return faultf("%s, and a file is wanted here; replace it by one", what)
}

// explain words the failure to reach a file or folder, without the machine's terms.
func (l *loader) explain(name string, err error) error {
	if !utf8.ValidString(name) {
		return faultf("the name is not UTF-8; rename it")
	}
	if link, target := l.link(name); link != "" && !errors.Is(err, fs.ErrPermission) {
		which := "it"
		if link != name {
			which = l.show(link)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return faultf("%s is a link to %s, and nothing is there; mend the link", which, printable(target))
		}
		return faultf("%s is a link to %s; only relative links that stay within the suite are followed: put a copy there instead", which, printable(target))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return faultf("there is no such file; add it")
	case errors.Is(err, fs.ErrPermission):
		return faultf("you may not read it; give yourself the right to (chmod u+rX)")
	}
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	return fmt.Errorf("suite: %s cannot be read: %w", l.show(name), err)
}

// link is the first link on the way to a name, with what it says; empty for none.
func (l *loader) link(name string) (link, target string) {
	for i, c := range name + "/" {
		if c != '/' {
			continue
		}
		if info, err := fs.Lstat(l.fsys, name[:i]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			target, _ = fs.ReadLink(l.fsys, name[:i])
			return name[:i], target
		}
	}
	return "", ""
}

// there reports whether a name is taken, by whatever it is. The error says why that
// cannot be known.
func (l *loader) there(name string) (bool, error) {
	_, err := fs.Lstat(l.fsys, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err == nil, nil
	}
	if parent, e := fs.Stat(l.fsys, path.Dir(name)); e == nil && !parent.IsDir() {
		return false, nil
	}
	return false, l.explain(name, err)
}

// exists is there, and takes what cannot be known for there: reading it tells why.
func (l *loader) exists(name string) bool {
	there, err := l.there(name)
	return there || err != nil
}

// printable gives a name as it is where a terminal shows it so, and quoted otherwise.
func printable(name string) string {
	for _, r := range name {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return strconv.Quote(name)
		}
	}
	return name
}

// printableNames has messages name files so.
func printableNames(show func(string) string) func(string) string {
	return func(name string) string { return printable(show(name)) }
}
