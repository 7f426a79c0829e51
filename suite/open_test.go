package suite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agentbound/agentbound/suite"
)

// onDisk writes the example families into dir.
func onDisk(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS("testdata/base")); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skip("no links here:", err)
	}
}

// refused wants problems that say something, in the words of the file's owner.
func refused(t *testing.T, err error, want ...string) {
	t.Helper()
	var problems suite.Problems
	if !errors.As(err, &problems) {
		t.Errorf("error %v, want problems", err)
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%v\ndoes not say %q", err, w)
		}
	}
	for _, term := range []string{"escapes", "statat", "openat", "no such file or directory"} {
		if strings.Contains(err.Error(), term) {
			t.Errorf("%v\nsays %q", err, term)
		}
	}
}

// TestOpenFollowsLinksToIt covers links on the way to the folder that is named.
func TestOpenFollowsLinksToIt(t *testing.T) {
	dir := t.TempDir()
	onDisk(t, filepath.Join(dir, "real"))
	shared := filepath.Join(dir, "real", "toolkits")
	must(t, os.Mkdir(shared, 0o755))
	must(t, os.Rename(filepath.Join(dir, "real", "transfer-under-agreement", "records.star"), filepath.Join(shared, "records.star")))
	must(t, os.Mkdir(filepath.Join(dir, "links"), 0o755))
	link(t, filepath.Join(dir, "real"), filepath.Join(dir, "links", "suite"))
	link(t, "../real/transfer-under-agreement", filepath.Join(dir, "links", "one"))
	want, err := suite.Open(filepath.Join(dir, "real"))
	must(t, err)
	got, err := suite.Open(filepath.Join(dir, "links", "suite"))
	if err != nil || got.Digest != want.Digest {
		t.Errorf("a link to the suite: %v", err)
	}
	for _, name := range []string{"links/one", "links/suite/transfer-under-agreement"} {
		one, err := suite.Open(filepath.Join(dir, name))
		if err != nil || one.Name != "transfer-under-agreement" {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(shared, "records.star"), []byte("def"), 0o644))
	_, err = suite.Open(filepath.Join(dir, "links", "one"))
	refused(t, err, filepath.Join("real", "toolkits", "records.star")+":1")
}

// TestLinksInASuite: those that stay in it are followed, the others refused, whatever
// they stand for.
func TestLinksInASuite(t *testing.T) {
	for name, c := range map[string]struct{ target, at, want string }{
		"toolkit within":  {"real.star", "transfer-under-agreement/records.star", ""},
		"toolkit out":     {"../../out.star", "transfer-under-agreement/records.star", "records.star: it is a link to ../../out.star; only relative links"},
		"toolkit, device": {"/dev/zero", "transfer-under-agreement/records.star", "records.star: it is a link to /dev/zero; only relative links"},
		"toolkit, gone":   {"none.star", "transfer-under-agreement/records.star", "it is a link to none.star, and nothing is there"},
		"toolkits out":    {"../out", "toolkits", "toolkits is a link to ../out; only relative links"},
		"file out":        {"../../out.yaml", "transfer-under-agreement/family.yaml", "family.yaml: it is a link to ../../out.yaml; only"},
		"file, loop":      {"family.yaml", "transfer-under-agreement/family.yaml", "it is a link to family.yaml; only"},
		"family out":      {"../out", "other", "other: it is a link to ../out; only relative links"},
		"family, gone":    {"none", "other", "other: it is a link to none, and nothing is there"},
		"no family":       {"../out", "Notes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.Mkdir(filepath.Join(dir, "out"), 0o755))
			home := filepath.Join(dir, "suite")
			onDisk(t, home)
			star := filepath.Join(home, "transfer-under-agreement", "records.star")
			for _, copied := range []string{filepath.Join(home, "transfer-under-agreement", "real.star"), filepath.Join(dir, "out.star")} {
				b, err := os.ReadFile(star)
				must(t, err)
				must(t, os.WriteFile(copied, b, 0o644))
			}
			must(t, os.RemoveAll(filepath.Join(home, c.at)))
			link(t, c.target, filepath.Join(home, c.at))
			_, err := suite.Open(home)
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" {
				refused(t, err, c.want)
			}
		})
	}
}

// TestNotRegular: a pipe or device would never end.
func TestNotRegular(t *testing.T) {
	for mode, what := range map[fs.FileMode]string{
		fs.ModeNamedPipe: "a named pipe", fs.ModeSocket: "a socket", fs.ModeDevice: "a device", fs.ModeDir: "a folder",
	} {
		for _, name := range []string{transfer, toolkit} {
			files := base(t)
			files[name] = &fstest.MapFile{Mode: mode | 0o755}
			_, err := suite.Load(files, ".")
			refused(t, err, name+": "+what+", and a file is wanted here")
		}
	}
}

// closed is a file system that lets nobody read what lies below some names.
type closed struct {
	fs.FS
	names []string
}

func (c closed) Open(name string) (fs.File, error) {
	if err := c.refuse(name); err != nil {
		return nil, err
	}
	return c.FS.Open(name)
}

func (c closed) Stat(name string) (fs.FileInfo, error) {
	if err := c.refuse(filepath.Dir(name)); err != nil {
		return nil, err
	}
	return fs.Stat(c.FS, name)
}

func (c closed) refuse(name string) error {
	for _, n := range c.names {
		if name == n || strings.HasPrefix(name, n+"/") {
			return &fs.PathError{Op: "openat", Path: name, Err: fs.ErrPermission}
		}
	}
	return nil
}

func TestUnreadable(t *testing.T) {
	for name, want := range map[string]string{
		transfer:                            transfer + ": you may not read it; give yourself the right to",
		toolkit:                             "toolkit " + toolkit + ": you may not read it; give yourself the right to",
		"families/transfer-under-agreement": "families/transfer-under-agreement: you may not read it",
	} {
		files := base(t)
		swap(t, files, claim, "class: fraud", "class: frauds")
		_, err := suite.Load(closed{files, []string{name}}, ".")
		refused(t, err, want, `class "frauds"`) // and the others are checked
	}
	files := base(t)
	files["lost+found/x"] = &fstest.MapFile{}
	if _, err := suite.Load(closed{files, []string{"lost+found"}}, "."); err != nil {
		t.Errorf("a folder that can be no family: %v", err)
	}
	_, err := suite.Load(closed{base(t), []string{"families"}}, ".")
	if err == nil || !strings.Contains(err.Error(), "suite families: you may not read it") {
		t.Errorf("no families: %v", err)
	}
}

// TestExpressionsOfCalls: those that are asked after a call may rely on one.
func TestExpressionsOfCalls(t *testing.T) {
	files := base(t)
	swap(t, files, claim, `'any([c["tool"] == "pay_instalment" and c["ok"] for c in calls])'`, `'calls[-1]["tool"] == "pay_instalment" and calls[-1]["ok"]'`)
	swap(t, files, transfer, `len(before["deliveries"]):]])`, `len(before["deliveries"]):]]) and calls[-1]["tool"] == "send_file"`)
	load(t, files, ".")
}
