package confine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbound/agentbound/internal/confine"
)

// TestMain: this binary is its own warden, and the hostile programs.
func TestMain(m *testing.M) {
	confine.Init()
	if name := os.Getenv("HOSTILE"); name != "" {
		hostile(name)
	}
	os.Exit(m.Run())
}

// need skips where a level cannot be had. On CI, which runs as root on Linux, that fails.
func need(t testing.TB, level confine.Level) {
	t.Helper()
	if err := confine.Require(level); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for _, a := range confine.Available() {
		if a.Level == level && !a.OK {
			t.Skipf("level %s: %s", level, a.Why)
		}
	}
}

// box is a specification for the test binary as a hostile program, in a fresh home.
func box(t testing.TB, level confine.Level, name string, env ...string) confine.Spec {
	t.Helper()
	need(t, level)
	home, self := home(t), executable(t)
	return confine.Spec{
		Level: level, Home: home, ReadOnly: []string{self},
		Program: confine.Program{Args: []string{self, "-test.run=^$"}, Env: confine.Environ(append(env, "HOSTILE="+name)...)},
		// So that a failure of the confinement does not hurt the machine; the hostile
		// programs bound themselves, too.
		Limits: confine.Limits{Wall: 40 * time.Second, CPU: 15 * time.Second, Memory: 512 << 20, Disk: 64 << 20, Processes: 100, Output: 1 << 20},
	}
}

func home(t testing.TB) string {
	t.Helper()
	dir, home, err := confine.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confine.RemoveTemp(dir) })
	return home
}

// executable gives the test binary at a place that every user may reach.
func executable(t testing.TB) string {
	t.Helper()
	dir, _, err := confine.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confine.RemoveTemp(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "hostile.test")
	if err := os.Link(self, path); err == nil {
		return path
	}
	data, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(path, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a program to its end.
func run(t testing.TB, s confine.Spec) confine.Result {
	t.Helper()
	p, err := confine.Command(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r, err := p.Run()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shell is a specification for a line of shell.
func shell(t testing.TB, level confine.Level, line string) confine.Spec {
	t.Helper()
	s := box(t, level, "")
	s.Args = []string{"/bin/sh", "-c", line}
	return s
}

func TestAvailable(t *testing.T) {
	all := confine.Available()
	for _, a := range all {
		t.Logf("%s: %v %s", a.Level, a.OK, a.Why)
		if a.OK == (a.Why != "") {
			t.Errorf("%+v: a level that cannot be had says why, and only such a one", a)
		}
	}
	if len(all) != 3 || !all[0].OK {
		t.Errorf("%+v: the first level is always to be had", all)
	}
	if os.Geteuid() == 0 && os.Getenv("CI") != "" && !all[2].OK {
		t.Errorf("CI runs as root on Linux and has no level %s: %s", all[2].Level, all[2].Why)
	}
	if err := confine.Require("steel"); err == nil || !strings.Contains(err.Error(), "process, user, full") {
		t.Errorf("%v", err)
	}
}

// TestRuns: an ordinary program notices little of its confinement, at every level.
func TestRuns(t *testing.T) {
	for _, level := range confine.Levels() {
		t.Run(string(level), func(t *testing.T) {
			s := shell(t, level, `cat; cat in/file; echo "$HOME"; pwd; echo "$GREETING"; echo x > "$TMPDIR/y" && cat "$TMPDIR/y"; echo err >&2; echo kept > out; env | wc -l; exit 7`)
			if err := os.MkdirAll(filepath.Join(s.Home, "in"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(s.Home, "in", "file"), []byte("from home\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s.Env, s.Stdin, s.Keep = []string{"GREETING=hello", "PATH=/usr/bin:/bin"}, strings.NewReader("from stdin\n"), []string{"out", "not/there"}
			var passed strings.Builder
			s.Stdout = &passed
			r := run(t, s)
			want := "from stdin\nfrom home\n" + s.Home + "\n" + s.Home + "\nhello\nx\n"
			if got := string(r.Stdout); !strings.HasPrefix(got, want) || string(r.Stderr) != "err\n" || passed.String() != got {
				t.Errorf("stdout %q, passed on %q, stderr %q", got, passed.String(), r.Stderr)
			}
			if r.Exit != 7 || r.Cause != "" || r.Signal != "" || r.Level != level || r.Left != 0 {
				t.Errorf("%+v", r)
			}
			if text, err := os.ReadFile(filepath.Join(s.Home, "out")); err != nil || string(text) != "kept\n" {
				t.Errorf("kept %q, %v", text, err)
			}
			t.Logf("held by %q", r.Holds)
		})
	}
}

// TestRefused: what cannot be run is told before anything runs, and what to do.
func TestRefused(t *testing.T) {
	good := shell(t, confine.LevelProcess, "true")
	for name, test := range map[string]struct {
		change func(*confine.Spec)
		want   string
	}{
		"a level":            {func(s *confine.Spec) { s.Level = "steel" }, "the levels are process, user, full"},
		"no home":            {func(s *confine.Spec) { s.Home = "" }, "absolute path"},
		"a home that is not": {func(s *confine.Spec) { s.Home += "/not" }, "no such file"},
		"the root":           {func(s *confine.Spec) { s.ReadOnly = []string{"/"} }, "below the root"},
		"a home within":      {func(s *confine.Spec) { s.ReadOnly = []string{filepath.Dir(s.Home)} }, "is in the read-only folder"},
		"kept from outside":  {func(s *confine.Spec) { s.Keep = []string{"../x"} }, "within the home"},
		"a limit":            {func(s *confine.Spec) { s.Limits.Memory = -1 }, "limit Memory is -1"},
		"an open listener":   {func(s *confine.Spec) { s.Listen = []string{"0.0.0.0:0"} }, "on loopback"},
		"no program":         {func(s *confine.Spec) { s.Args = nil }, "no program is named"},
		"an environment":     {func(s *confine.Spec) { s.Env = []string{"SECRET"} }, "NAME=value"},
		"not found":          {func(s *confine.Spec) { s.Args = []string{"no-such-program"} }, "not found in PATH"},
		"not there":          {func(s *confine.Spec) { s.Args = []string{"/no/such/program"} }, "no such file"},
		"a folder":           {func(s *confine.Spec) { s.Args = []string{"/usr"} }, "permission denied"},
		"no such directory":  {func(s *confine.Spec) { s.Dir = "/no/such/folder" }, "working directory"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			test.change(&s)
			p, err := confine.Command(t.Context(), s)
			if err == nil {
				defer p.Close()
				err = p.Start()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestUnprivileged runs the tests again as a user who is not root: level full is then
// made with a user namespace.
func TestUnprivileged(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this run is the unprivileged one")
	}
	if testing.Short() {
		t.Skip("runs the package's tests once more")
	}
	dir, _, err := confine.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confine.RemoveTemp(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("no setpriv (util-linux) to become another user with")
	}
	self := executable(t)
	c := exec.Command(setpriv, "--reuid=54321", "--regid=54321", "--clear-groups", self, "-test.v", "-test.timeout=4m", "-test.run=^Test")
	c.Dir, c.Env = dir, confine.Environ("TMPDIR="+dir, "HOME="+dir) // no CI: what users who are not root may do differs
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	t.Logf("%s", out)
	switch {
	case !strings.Contains(string(out), "full: true"):
		t.Skip("users who are not root get no level full here; the log above says why")
	case !strings.Contains(string(out), "--- PASS: TestHostile/full/reads"):
		t.Error("the hostile programs were not run")
	}
}

// TestCgroup runs the programs that a cgroup holds in one, where the system has the
// controllers in version 2 and we may make one.
func TestCgroup(t *testing.T) {
	need(t, confine.LevelFull)
	if os.Geteuid() != 0 || os.Getenv(confine.CgroupVariable) != "" {
		t.Skip("takes root, once")
	}
	root := cgroup2(t)
	parent := filepath.Join(root, fmt.Sprintf("agentbound-test-%d", os.Getpid()))
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = os.Remove(parent) })
	for _, dir := range []string{root, parent} {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +pids"), 0); err != nil {
			t.Skipf("the memory and pids controllers are not to be had in version 2: %v", err)
		}
	}
	c := exec.Command(executable(t), "-test.v", "-test.timeout=2m", "-test.run=^(TestRuns|TestHostile)$/^full$/^(allocates.*|forks|outlives)$")
	c.Env = append(os.Environ(), confine.CgroupVariable+"="+parent)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	t.Logf("%s", out)
	if left, err := filepath.Glob(filepath.Join(parent, "confine-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// cgroup2 gives where cgroups of version 2 are mounted.
func cgroup2(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			controllers, _ := os.ReadFile(filepath.Join(f[1], "cgroup.controllers"))
			if strings.Contains(string(controllers), "memory") && strings.Contains(string(controllers), "pids") {
				return f[1]
			}
			t.Skipf("the cgroups at %s have the controllers %q: memory is not among them", f[1], strings.TrimSpace(string(controllers)))
		}
	}
	t.Skip("no cgroups of version 2 are mounted")
	return ""
}

// TestInstallOutOfReach: at level user an install that the program's user cannot reach is
// told before the program fails at it in its own words.
func TestInstallOutOfReach(t *testing.T) {
	if err := confine.Require(confine.LevelUser); err != nil || os.Geteuid() != 0 {
		t.Skipf("needs root and level user: %v", err)
	}
	dir, home, err := confine.TempDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confine.RemoveTemp(dir) })
	install := filepath.Join(dir, "shut", "install")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "shut"), 0o700), os.Mkdir(install, 0o755)); err != nil {
		t.Fatal(err)
	}
	p, err := confine.Command(t.Context(), confine.Spec{Level: confine.LevelUser, Home: home, ReadOnly: []string{install}, Program: confine.Program{Args: []string{"/bin/true"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Run(); err == nil || !strings.Contains(err.Error(), "cannot enter "+filepath.Join(dir, "shut")) {
		t.Errorf("%v", err)
	}
}
