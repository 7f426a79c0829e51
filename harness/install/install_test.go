package install_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/claudecode"
	"github.com/agentbound/agentbound/harness/codex"
	"github.com/agentbound/agentbound/harness/dsh"
	"github.com/agentbound/agentbound/harness/geminicli"
	"github.com/agentbound/agentbound/harness/install"
	"github.com/agentbound/agentbound/harness/openclaw"
	"github.com/agentbound/agentbound/harness/opencode"
	"github.com/agentbound/agentbound/harness/qwencode"
)

// TestLocks: every package of every program is locked by its SHA-512, without an
// address, and its Node for Linux with it.
func TestLocks(t *testing.T) {
	for _, p := range []harness.Program{codex.Program(), openclaw.Program(), dsh.Program(), claudecode.Program(), geminicli.Program(), qwencode.Program(), opencode.Program()} {
		if err := install.CheckLock(p.Install); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if v := p.Version(); v == "unknown" || strings.ContainsAny(v, "/ ") {
			t.Errorf("%s: version %q", p.Name, v)
		}
		if p.Install.Node != (p.NodeVersion() != "") || p.NodeVersion() == "unknown" || p.Install.Node && !p.Install.HasNode("linux", "arm64") {
			t.Errorf("%s: node %q", p.Name, p.NodeVersion())
		}
	}
}

const lock = `{"lockfileVersion":3,"packages":{"":{"name":"x"},"node_modules/tool":{"version":"1.2.3","integrity":"sha512-AAAA"}}}`

func tool(lock string) harness.Program {
	return harness.Program{Name: "tool", Title: "Tool", Install: harness.Install{
		Package: "tool", Manifest: []byte(`{}`), Lock: []byte(lock), Start: map[string]string{runtime.GOOS + "/" + runtime.GOARCH: "tool/run"},
	}}
}

// npm is a stand-in that installs what script says, and counts how often it was run.
func npm(t *testing.T, script string) (path string, runs func() int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for npm is a shell script")
	}
	dir := t.TempDir()
	path = filepath.Join(dir, "npm")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho \"$@\" >>"+dir+"/runs\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path, func() int {
		b, _ := os.ReadFile(filepath.Join(dir, "runs"))
		for line := range strings.Lines(string(b)) {
			if !strings.HasPrefix(line, "ci --ignore-scripts ") {
				t.Errorf("npm was asked to %s", line)
			}
		}
		return strings.Count(string(b), "\n")
	}
}

const good = "mkdir -p node_modules/tool && echo x >node_modules/tool/run && cp package-lock.json node_modules/.package-lock.json\n"

// TestInstall: several at once install once; later it stays; another lock replaces it.
func TestInstall(t *testing.T) {
	program, runs := npm(t, "sleep 0.2\n"+good)
	s := install.Store{Dir: filepath.Join(t.TempDir(), "harness"), NPM: program}
	if _, err := s.Find(tool(lock)); !errors.Is(err, install.ErrMissing) || !strings.Contains(err.Error(), "agentbound harness install tool") {
		t.Errorf("error %v", err)
	}
	var done atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			did, err := s.Install(t.Context(), tool(lock))
			if err != nil {
				t.Error(err)
			}
			if did {
				done.Add(1)
			}
		})
	}
	all.Wait()
	if done.Load() != 1 || runs() != 1 {
		t.Errorf("installed %d times, npm ran %d times", done.Load(), runs())
	}
	found, err := s.Find(tool(lock))
	if err != nil || found.Folder != filepath.Join(s.Dir, "tool@1.2.3") || found.Start[0] != filepath.Join(found.Folder, "node_modules", "tool", "run") {
		t.Errorf("%+v, %v", found, err)
	}
	other := strings.Replace(lock, "AAAA", "BBBB", 1)
	if _, err := s.Find(tool(other)); !errors.Is(err, install.ErrMissing) || !strings.Contains(err.Error(), "another one") {
		t.Errorf("error %v", err)
	}
	if did, err := s.Install(t.Context(), tool(other)); err != nil || !did {
		t.Errorf("%t, %v", did, err)
	}
	if _, err := s.Find(tool(other)); err != nil {
		t.Error(err)
	}
	if err := os.Remove(found.Start[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(tool(other)); !errors.Is(err, install.ErrMissing) || !strings.Contains(err.Error(), "run is missing") {
		t.Errorf("error %v", err)
	}
	only(t, s.Dir, "tool@1.2.3")
}

// only: nothing is in the folder beside lock files and the given ones.
func only(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".lock") {
			got = append(got, e.Name())
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
}

// TestFailures leave nothing behind, and say what happened.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct{ script, lock, want string }{
		"npm fails":        {"echo 'npm error network unreachable' >&2; exit 1", lock, "network unreachable"},
		"no record":        {"mkdir node_modules", lock, "no record"},
		"another content":  {good + `sed -i.old s/AAAA/EVIL/ node_modules/.package-lock.json`, lock, "is not what the lock names"},
		"another package":  {good + `sed -i.old s,node_modules/tool,node_modules/evil, node_modules/.package-lock.json`, lock, "node_modules/evil"},
		"nothing to start": {good + "rm node_modules/tool/run", lock, "run is missing"},
		"no lock":          {good, `{"lockfileVersion":2,"packages":{"node_modules/tool":{"version":"1.2.3"}}}`, "want version 3"},
	} {
		t.Run(name, func(t *testing.T) {
			program, _ := npm(t, test.script)
			s := install.Store{Dir: t.TempDir(), NPM: program}
			if _, err := s.Install(t.Context(), tool(test.lock)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
			only(t, s.Dir)
		})
	}
}

func TestStopped(t *testing.T) {
	program, _ := npm(t, "exec sleep 60")
	s := install.Store{Dir: t.TempDir(), NPM: program}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("enough"))
	if _, err := s.Install(ctx, tool(lock)); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v", err)
	}
	only(t, s.Dir)
}

func TestDefaultDir(t *testing.T) {
	t.Setenv(install.DirEnv, "")
	t.Setenv("XDG_DATA_HOME", "/data")
	if dir, err := install.DefaultDir(); err != nil || dir != filepath.FromSlash("/data/agent-programs") {
		t.Errorf("%s, %v", dir, err)
	}
	t.Setenv(install.DirEnv, "/srv/h")
	if dir, err := install.DefaultDir(); err != nil || dir != "/srv/h" {
		t.Errorf("%s, %v", dir, err)
	}
}

func TestCheckLock(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(lock, `"version"`, `"resolved":"https://example.test/x.tgz","version"`, 1): "address",
		strings.Replace(lock, "sha512-AAAA", "sha1-AAAA", 1):                                       "SHA-512",
		`{`: "package-lock.json",
	} {
		if err := install.CheckLock(harness.Install{Lock: []byte(text)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
