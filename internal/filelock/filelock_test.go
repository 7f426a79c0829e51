package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentbound/agentbound/internal/filelock"
)

// TestOpen: one at a time has the file, with what is in it; the next takes it over.
func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, content := range []string{"", "one"} {
		f, held, err := filelock.Open(path, 0o600)
		if err != nil || held {
			t.Fatal(held, err)
		}
		if second, held, err := filelock.Open(path, 0o600); second != nil || !held || err != nil {
			t.Errorf("opened twice: %v, %v, %v", second, held, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("%q, %v", b, err)
		}
		if _, err := f.WriteString("one"); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, held, err := filelock.Open(filepath.Join(path, "below"), 0o600); err == nil || held {
		t.Errorf("held %v, %v", held, err)
	}
}
