package agentbound_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What no file of the repository may say. The patterns are written so that they do
// not match themselves.
var unwanted = []struct {
	what    string
	pattern *regexp.Regexp
	except  string // a path prefix where it may stand
}{
	{"the host of a package registry", regexp.MustCompile(`proxy\.golang\.or[g]|sum\.golang\.or[g]|registry\.npmjs\.or[g]|\bpypi\.or[g]|pythonhosted\.or[g]|\bcrates\.i[o]\b|repo1?\.maven\.|deb\.debian\.or[g]`), ""},
	// The files of a simulated world may lie anywhere.
	{"an absolute path of somebody's machine", regexp.MustCompile("(^|[\\s\"'`=(:])/(wor[k]|roo[t]|home/[a-z]+|Users/[A-Za-z]+)/"), "suites/"},
	{"a note left by a tool", regexp.MustCompile(`(?i)co-authored-b[y]:|generated with \[`), ""},
}

// TestRepository reads every file that is or would be under version control.
func TestRepository(t *testing.T) {
	readTree(t)
	// The folder may belong to another user than the one who runs the test.
	out, err := exec.CommandContext(t.Context(), "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("git ls-files: %v", err)
		}
		t.Skipf("not a git checkout: %v", err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			continue // a link, or removed and not yet committed
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(text, 0) >= 0 {
			if !strings.HasPrefix(name, "recordings/") && !strings.HasSuffix(name, ".suite") { // proved by tests of their own
				t.Errorf("%s is no text: what is built stays out of the repository", name)
			}
			continue
		}
		for _, u := range unwanted {
			if u.except != "" && strings.HasPrefix(name, u.except) {
				continue
			}
			if at := u.pattern.FindIndex(text); at != nil {
				t.Errorf("%s:%d: %q is %s", name, 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]], u.what)
			}
		}
	}
}

// readTree looks at every folder, so that go test knows them as inputs and does
// not answer from its cache when a file came, went or changed: it does not see
// what go list and git read.
func readTree(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // a test of another package removed it meanwhile
			return nil
		}
		if err != nil || !d.IsDir() {
			return err
		}
		if base := filepath.Base(name); base == ".git" || base == "bin" || base == "node_modules" {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
