package confine_test

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/internal/confine"
)

// leaveEnv has the test binary make a folder, name it and wait to be killed.
const leaveEnv = "CONFINE_TEST_LEAVES"

// TestSweep: what a killed process has left is removed by the next, and nothing else.
func TestSweep(t *testing.T) {
	if os.Getenv(leaveEnv) != "" {
		dir, home, err := confine.TempDir()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Mkdir(filepath.Join(home, "shut"), 0o700), os.WriteFile(filepath.Join(home, "shut", "f"), nil, 0o600), os.Chmod(filepath.Join(home, "shut"), 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stdout.WriteString(dir + "\n"); err != nil {
			t.Fatal(err)
		}
		select {}
	}
	tmp := t.TempDir()
	foreign := filepath.Join(tmp, "session-of-somebody")
	if err := errors.Join(os.Mkdir(foreign, 0o700), os.WriteFile(filepath.Join(tmp, "session-file"), nil, 0o600), os.Symlink(foreign, filepath.Join(tmp, "session-link"))); err != nil {
		t.Fatal(err)
	}
	start := func() (*exec.Cmd, string) {
		c := exec.Command(os.Args[0], "-test.run=^TestSweep$")
		c.Env = append(os.Environ(), leaveEnv+"=1", "TMPDIR="+tmp)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		dir, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return c, strings.TrimSpace(dir)
	}
	first, gone := start()
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	second, alive := start()
	third, last := start()
	for dir, want := range map[string]error{gone: fs.ErrNotExist, alive: nil, last: nil, foreign: nil, filepath.Join(tmp, "session-file"): nil, filepath.Join(tmp, "session-link"): nil} {
		if _, err := os.Lstat(dir); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
	for _, c := range []*exec.Cmd{second, third} {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}
	for _, dir := range []string{alive, last} {
		if err := os.Chmod(filepath.Join(dir, "home", "shut"), 0o700); err != nil { // else the test's folder cannot be removed
			t.Error(err)
		}
	}
}
