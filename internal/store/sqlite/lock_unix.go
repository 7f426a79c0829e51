//go:build unix && !solaris && !aix

package sqlite

import (
	"errors"
	"os"
)

// unlock removes the file while it is locked, so that nobody who has it open can
// take it for the live one (see lockFile).
func (l *fileLock) unlock() error { return errors.Join(os.Remove(l.path), l.f.Close()) }
