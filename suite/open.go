package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbound/agentbound"
)

// Open loads the suite or the one family at a folder of the file system. Links on
// the way to the folder are followed, those in the suite only where they stay in it.
func Open(folder string) (*Suite, error) {
	s, _, err := OpenMore(folder, 0)
	return s, err
}

// Further is a family of an archetype beyond those that it lists. Problems say why it
// does not load: not every combination of options makes sense.
type Further struct {
	ID       agentbound.FamilyID
	Class    agentbound.Class
	Problems Problems
}

// OpenMore is Open with more families of each archetype, beyond those that it lists: the
// combinations of its options that differ most from them and from each other, as far as
// there are any. What it lists keeps its ids; the others' follow. Those that load are in
// the suite.
func OpenMore(folder string, more int) (*Suite, []Further, error) {
	l, done, err := openLoader(folder)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	l.more = more
	s, err := l.load()
	return s, l.further, err
}

// openLoader makes the loader of a folder, which is closed by done.
func openLoader(folder string) (l *loader, done func(), err error) {
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, nil, unreachable(folder, err)
	}
	abs, err := filepath.Abs(resolved)
	if err != nil {
		return nil, nil, unreachable(folder, err)
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, nil, noFolder(printable(folder))
	}
	home := homeOf(abs)
	root, err := os.OpenRoot(home)
	if err != nil {
		return nil, nil, unreachable(folder, err)
	}
	rel, err := filepath.Rel(home, abs)
	if err != nil {
		_ = root.Close() // the first error is the one to tell
		return nil, nil, unreachable(folder, err)
	}
	l = &loader{fsys: root.FS(), root: filepath.ToSlash(rel), name: filepath.Base(abs)}
	l.show = printableNames(func(name string) string {
		under, err := filepath.Rel(l.root, name)
		if err != nil {
			return name
		}
		if strings.HasPrefix(under, "..") { // above the folder, and so not above a link to it
			return filepath.Join(resolved, under)
		}
		return filepath.Join(folder, under)
	})
	return l, func() { _ = root.Close() }, nil // read only: nothing to lose
}

// homeOf is the folder of the suite that a folder is, or that the family at it lies in.
func homeOf(abs string) string {
	has := func(dir, name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	if !has(abs, familyFile) && !has(abs, archetypeFile) {
		return abs
	}
	for dir, i := filepath.Dir(abs), 0; i < 2; dir, i = filepath.Dir(dir), i+1 {
		if has(dir, suiteFile) || has(dir, toolkitsDir) {
			return dir
		}
	}
	return abs
}

// unreachable words the failure to reach the folder that was named.
func unreachable(folder string, err error) error {
	failed := (*fs.PathError)(nil)
	if errors.As(err, &failed) {
		err = failed.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("suite %s: %w; name a folder that is there, or mend the link to it", printable(folder), fs.ErrNotExist)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("suite %s: %w; give yourself the right to read it (chmod u+rX)", printable(folder), fs.ErrPermission)
	}
	return fmt.Errorf("suite %s cannot be read: %s", printable(folder), strings.TrimPrefix(err.Error(), "EvalSymlinks: "))
}

func noFolder(name string) error {
	return fmt.Errorf("suite %s: not a folder; name the folder that holds suite.yaml or family.yaml", name)
}
