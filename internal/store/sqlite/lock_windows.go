package sqlite

import "os"

// unlock closes first: Windows removes no open file. Where another process has
// taken the lock in between, the removal fails, as it should.
func (l *fileLock) unlock() error {
	err := l.f.Close()
	_ = os.Remove(l.path)
	return err
}
