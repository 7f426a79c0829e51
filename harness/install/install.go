// Package install puts agent programs into a private folder, each from a lock that holds
// the SHA-512 of every package and no addresses: npm fetches from the registry that the
// user's npm is set to and checks each package against it; scripts of packages are not
// run. What was installed is never changed again.
package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/internal/filelock"
)

// DirEnv names the folder of programs where the default is not wanted.
const DirEnv = "AGENTBOUND_HARNESS"

// DefaultDir is DirEnv, or agent-programs in $XDG_DATA_HOME or ~/.local/share: some
// programs tell their models where they are installed, so its name says nothing of us.
func DefaultDir() (string, error) {
	if dir := os.Getenv(DirEnv); dir != "" {
		return filepath.Abs(dir)
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) { // as its specification has it
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("no folder for agent programs: set %s: %w", DirEnv, err)
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "agent-programs"), nil
}

// Store is a folder of installed programs.
type Store struct {
	Dir string
	NPM string // the npm to install with; empty: the one on PATH

	goos, goarch string // of tests; empty: this machine's
}

// ErrMissing is wrapped where a program is not installed, or not as its lock says now.
var ErrMissing = errors.New("not installed")

// Program is an installed program.
type Program struct {
	Folder string   // read by the program
	Start  []string // begins its command line: absolute paths
}

// stamp is the file that is written last. It holds the digest of the lock.
const stamp = "installed.json"

type stamped struct {
	Program string `json:"program"`
	Lock    string `json:"lock"`
}

// Folder is where a program of this version belongs.
func (s Store) Folder(p harness.Program) string { return filepath.Join(s.Dir, p.String()) }

// Find gives an installed program. The error wraps ErrMissing where there is none.
func (s Store) Find(p harness.Program) (Program, error) {
	dir := s.Folder(p)
	b, err := os.ReadFile(filepath.Join(dir, stamp))
	if errors.Is(err, fs.ErrNotExist) {
		return Program{}, fmt.Errorf("%s is %w: agentbound harness install %s", p, ErrMissing, p.Name)
	}
	if err != nil {
		return Program{}, unusable(err)
	}
	var was stamped
	if err := json.Unmarshal(b, &was); err != nil || was.Lock != digest(p) {
		return Program{}, fmt.Errorf("%s is %w as its lock says now, another one is: agentbound harness install %s", p, ErrMissing, p.Name)
	}
	start, err := s.start(p, dir)
	if err != nil {
		return Program{}, fmt.Errorf("%s is %w whole (%w): agentbound harness install %s", p, ErrMissing, err, p.Name)
	}
	return Program{dir, start}, nil
}

// unusable says what to do about a folder of programs that cannot be used.
func unusable(err error) error {
	return fmt.Errorf("the folder of agent programs: %w; set %s to a folder that can be read and written", err, DirEnv)
}

// start is what is run, if it is there.
func (s Store) start(p harness.Program, dir string) ([]string, error) {
	goos, goarch := s.system()
	var start []string
	file, ok := p.Install.Start[goos+"/"+goarch]
	if p.Install.Node {
		file, ok = p.Install.Start[""]
		start = []string{filepath.Join(dir, "node_modules", harness.NodePackage(goos, goarch), "bin", "node")}
	}
	if !ok {
		return nil, fmt.Errorf("%s is not made for %s/%s", p, goos, goarch)
	}
	start = append(start, filepath.Join(dir, "node_modules", filepath.FromSlash(file)))
	for _, f := range start {
		if info, err := os.Stat(f); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is missing", f)
		}
	}
	return start, nil
}

func (s Store) system() (goos, goarch string) {
	if s.goos == "" {
		return runtime.GOOS, runtime.GOARCH
	}
	return s.goos, s.goarch
}

// digest is of all that decides what is installed.
func digest(p harness.Program) string {
	h := sha256.New()
	for _, part := range [][]byte{p.Install.Manifest, p.Install.Lock, []byte(strings.Join(p.Install.Flags, " "))} {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Install installs a program unless it is there, and says whether it did. Several
// processes may: one works, the others wait. What fails leaves nothing behind.
func (s Store) Install(ctx context.Context, p harness.Program) (done bool, err error) {
	if _, err := s.Find(p); err == nil || !errors.Is(err, ErrMissing) {
		return false, err
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return false, unusable(err)
	}
	unlock, err := s.lock(ctx, p)
	if err != nil {
		return false, err
	}
	defer unlock()
	if _, err := s.Find(p); err == nil || !errors.Is(err, ErrMissing) { // another process was faster
		return false, err
	}
	tmp, err := os.MkdirTemp(s.Dir, ".installing-")
	if err != nil {
		return false, err
	}
	defer discard(tmp)
	if err := s.fill(ctx, p, tmp); err != nil {
		return false, fmt.Errorf("%s could not be installed: %w", p, err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil { // programs may run under another user id
		return false, err
	}
	old := tmp + ".old" // of another lock, or damaged
	if err := os.Rename(s.Folder(p), old); err == nil {
		defer discard(old)
	}
	return true, os.Rename(tmp, s.Folder(p))
}

// discard removes what is of no use: what stays of it is litter that nothing reads.
func discard(dir string) { _ = os.RemoveAll(dir) }

// lock waits until no other process installs this program.
func (s Store) lock(ctx context.Context, p harness.Program) (unlock func(), err error) {
	path := filepath.Join(s.Dir, "."+p.String()+".lock")
	for {
		f, held, err := filelock.Open(path, 0o644)
		if err != nil {
			return nil, unusable(err)
		}
		if !held {
			return func() { f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// fill has npm install into a folder, checks what came and stamps it.
func (s Store) fill(ctx context.Context, p harness.Program, dir string) error {
	goos, goarch := s.system()
	if _, ok := p.Install.Start[goos+"/"+goarch]; !ok && !p.Install.Node || p.Install.Node && !p.Install.HasNode(goos, goarch) {
		return fmt.Errorf("it is not made for %s/%s", goos, goarch)
	}
	for name, content := range map[string][]byte{"package.json": p.Install.Manifest, "package-lock.json": p.Install.Lock} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	if err := s.npm(ctx, dir, p.Install.Flags); err != nil {
		return err
	}
	if err := verify(dir, p.Install.Lock); err != nil {
		return err
	}
	if _, err := s.start(p, dir); err != nil {
		return err
	}
	b, err := json.Marshal(stamped{p.String(), digest(p)})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, stamp), b, 0o644)
}

const mostOutput = 2000

func (s Store) npm(ctx context.Context, dir string, flags []string) error {
	npm := s.NPM
	if npm == "" {
		var err error
		if npm, err = osexec.LookPath("npm"); err != nil {
			return errors.New("no npm is on PATH: install Node.js with npm (any supported version will do; the program gets its own Node)")
		}
	}
	args := append([]string{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}, flags...)
	cmd := osexec.CommandContext(ctx, npm, args...) //nolint:gosec // the user's npm, with arguments of this package
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := strings.TrimSpace(strings.ToValidUTF8(out.String(), "\uFFFD"))
		return fmt.Errorf("npm ci: %w: %s", err, text[:min(len(text), mostOutput)])
	}
	return nil
}

// verify holds what npm says it installed against the lock: no other package, no other
// version, no other content.
func verify(dir string, lock []byte) error {
	b, err := os.ReadFile(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err != nil {
		return fmt.Errorf("npm left no record of what it installed: %w", err)
	}
	want, err := locked(lock)
	if err != nil {
		return err
	}
	got, err := locked(b)
	if err != nil {
		return err
	}
	for name, p := range got {
		if w, ok := want[name]; name != "" && (!ok || w.Version != p.Version || w.Integrity != p.Integrity) {
			return fmt.Errorf("%s %s (%s) is not what the lock names: %s (%s)", name, p.Version, p.Integrity, w.Version, w.Integrity)
		}
	}
	return nil
}

type lockedPackage struct {
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
	Resolved  string `json:"resolved"`
	InBundle  bool   `json:"inBundle"`
	Link      bool   `json:"link"`
}

// locked reads the packages of a lock file.
func locked(lock []byte) (map[string]lockedPackage, error) {
	var l struct {
		Version  int                      `json:"lockfileVersion"`
		Packages map[string]lockedPackage `json:"packages"`
	}
	if err := json.Unmarshal(lock, &l); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	if l.Version != 3 || len(l.Packages) == 0 {
		return nil, fmt.Errorf("package-lock.json: version %d with %d packages; want version 3", l.Version, len(l.Packages))
	}
	return l.Packages, nil
}

// CheckLock says what of a program's lock is not as it must be: every package with its
// SHA-512, and no address.
func CheckLock(i harness.Install) error {
	all, err := locked(i.Lock)
	if err != nil {
		return err
	}
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch p := all[name]; {
		case name == "" || p.InBundle: // the folder itself; what is part of another package's content
		case p.Resolved != "" || p.Link:
			return fmt.Errorf("%s: has an address or is a link", name)
		case !strings.HasPrefix(p.Integrity, "sha512-"):
			return fmt.Errorf("%s: integrity %q is no SHA-512", name, p.Integrity)
		}
	}
	return nil
}
