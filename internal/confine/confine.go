// Package confine runs a foreign program, an agent harness, so that it can do its work
// and no harm. How much is held is a level; what each holds, and what none does, is in
// docs/confinement.md.
//
// A program is run in two steps, since what it is told often names where its listeners
// are: Command makes the confinement and opens the listeners, Start runs the program.
//
//	p, err := confine.Command(ctx, confine.Spec{Home: home, Listen: []string{"127.0.0.1:0"}})
//	defer p.Close()
//	// write the configuration, with p.Listeners[0].Addr(), into home
//	p.Args, p.Env = []string{"codex", "exec", prompt}, confine.Environ("CODEX_HOME="+home)
//	result, err := p.Run()
//
// On Linux the own executable is started again as the confinement's warden: main, and
// TestMain of tests, call Init before anything else.
package confine

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Level says how much a program is held. Each holds what those before it hold.
type Level string

// The levels, in order.
const (
	LevelProcess Level = "process" // own session, environment, resource limits, time, output; files and network are open to it
	LevelUser    Level = "user"    // and: a user id that owns nothing, no capabilities, no new privileges, system calls filtered
	LevelFull    Level = "full"    // and: mount, network, process, IPC, host name and cgroup namespaces of its own
)

// Levels lists the levels, the weakest first.
func Levels() []Level { return []Level{LevelProcess, LevelUser, LevelFull} }

// Validate reports a level that is not known.
func (l Level) Validate() error {
	if !slices.Contains(Levels(), l) {
		return fmt.Errorf("confinement level %q is not known; the levels are %s", l, names(Levels()))
	}
	return nil
}

// AtLeast reports whether l holds what other holds.
func (l Level) AtLeast(other Level) bool {
	return slices.Index(Levels(), l) >= slices.Index(Levels(), other)
}

// Limits bound what a program uses. A zero field has the default that it names. Where
// one is passed, either the system refuses the program more (files, disk, processes) or
// the program is ended with that Cause.
type Limits struct {
	Wall      time.Duration // from Start; 10 minutes
	CPU       time.Duration // of all its processes together; 10 minutes, rounded up to seconds
	Memory    int64         // bytes of all its processes together, beyond files that are mapped; 4 GiB
	Disk      int64         // bytes in home and temporary folders together; held at level full only; 1 GiB
	File      int64         // bytes of any one file; Disk
	Processes int           // processes and their threads; 512
	Files     int           // open files of one process; 4096
	Output    int64         // bytes of standard output, and as many of standard error; 16 MiB
}

func (l Limits) withDefaults() Limits {
	set := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	set((*int64)(&l.Wall), int64(10*time.Minute))
	set((*int64)(&l.CPU), int64(10*time.Minute))
	set(&l.Memory, 4<<30)
	set(&l.Disk, 1<<30)
	set(&l.File, l.Disk)
	set(&l.Output, 16<<20)
	if l.Processes == 0 {
		l.Processes = 512
	}
	if l.Files == 0 {
		l.Files = 4096
	}
	return l
}

// Program is what is run. Paths are the same inside as outside, at every level.
type Program struct {
	Args []string // the program, absolute or found in Env's PATH, and its arguments
	Env  []string // all of its environment, NAME=value; see Environ. HOME, PATH and TMPDIR are added where missing
	Dir  string   // the working directory; Spec.Home where empty

	// Stdin is read until its end or the program's; nil is empty. A reader that is an
	// io.Closer is closed when the program has ended.
	Stdin io.Reader
	// Stdout and Stderr also get what Result keeps of them, as it comes.
	Stdout, Stderr io.Writer
}

// Spec is a confinement to be made.
type Spec struct {
	Level Level // the highest that is available where empty; never less than what is asked for
	Program

	// Home is the program's only writable folder beside the temporary ones. At level
	// full the program gets a copy of it, made at Start; at level user it is given to
	// the program's user id, and every folder above it must be open to others (TempDir
	// makes such); at level process it is used as it is.
	Home string
	// Keep lists what of the home is copied back after the program's end at level full:
	// files and folders, relative to Home; no links, which a program may have laid to
	// where the caller would follow. What is not there is passed over.
	Keep []string
	// ReadOnly lists the folders and files that the program needs beside the system's
	// own (/usr, /bin, /lib…): an install, say. At levels below full their modes decide.
	ReadOnly []string
	// Listen lists TCP addresses on loopback to listen on where the program can reach
	// them; port 0 picks one. At level full nothing else listens there.
	Listen []string
	Limits Limits
}

// Cause says why a program was ended before it ended by itself.
type Cause string

// Causes; the empty one is a program that ended by itself.
const (
	EndCancelled Cause = "cancelled" // Kill, or the end of the context
	EndWall      Cause = "wall time"
	EndCPU       Cause = "cpu time"
	EndMemory    Cause = "memory"
	EndProcesses Cause = "processes"
	EndOutput    Cause = "output"
)

// Result is what became of a program.
type Result struct {
	Level  Level    // under which it ran
	Holds  []string // by what it was held, for a reader
	Cause  Cause    // why it was ended
	Exit   int      // its exit code; -1 where a signal ended it
	Signal string   // that signal, as in "killed"

	Stdout, Stderr []byte // the first Limits.Output bytes of each

	Left   int           // processes it had left running, which were ended
	Wall   time.Duration // from Start to the end of the last process
	CPU    time.Duration // of all processes that were waited for
	Memory int64         // bytes, the most that was seen
}

// Environ picks from this process's environment what a program needs and nothing else
// (PATH, LANG, LANGUAGE, LC_…, TZ) and adds NAME=value entries, which win.
func Environ(more ...string) []string {
	var env []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if slices.Contains([]string{"PATH", "LANG", "LANGUAGE", "TZ"}, name) || strings.HasPrefix(name, "LC_") {
			env = with(env, e)
		}
	}
	for _, e := range more {
		env = with(env, e)
	}
	return env
}

// with sets a NAME=value entry.
func with(env []string, entry string) []string {
	name, _, _ := strings.Cut(entry, "=")
	env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(env, entry)
}

// missing adds an entry whose name has none yet.
func missing(env []string, entry string) []string {
	name, _, _ := strings.Cut(entry, "=")
	if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
		return env
	}
	return append(env, entry)
}

// check reports what of a specification cannot be.
func (s Spec) check() error {
	if s.Level != "" {
		if err := s.Level.Validate(); err != nil {
			return err
		}
	}
	clean := func(what, path string) error {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || filepath.Dir(path) == path {
			return fmt.Errorf("%s %q: give an absolute path below the root and without dots for folders", what, path)
		}
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	if err := clean("home", s.Home); err != nil {
		return err
	}
	for _, path := range s.ReadOnly {
		if err := clean("read-only folder", path); err != nil {
			return err
		}
		if below(s.Home, path) {
			return fmt.Errorf("home %q is in the read-only folder %q: put it elsewhere", s.Home, path)
		}
	}
	for _, path := range s.Keep {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("%q is to be kept: give a path within the home", path)
		}
	}
	l := s.Limits
	for name, v := range map[string]int64{"Wall": int64(l.Wall), "CPU": int64(l.CPU), "Memory": l.Memory, "Disk": l.Disk, "File": l.File,
		"Processes": int64(l.Processes), "Files": int64(l.Files), "Output": l.Output} {
		if v < 0 {
			return fmt.Errorf("limit %s is %d: give a positive number, or 0 for the default", name, v)
		}
	}
	return nil
}

// check reports what of a program cannot be run.
func (p Program) check() error {
	if len(p.Args) == 0 || p.Args[0] == "" {
		return fmt.Errorf("no program is named: Args is %q", p.Args)
	}
	for _, e := range p.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" || strings.ContainsRune(e, 0) {
			return fmt.Errorf("the environment of %s has an entry that is not NAME=value, or holds a zero byte (its name: %q)", p.Args[0], name)
		}
	}
	if i := slices.IndexFunc(p.Args, func(a string) bool { return strings.ContainsRune(a, 0) }); i >= 0 {
		return fmt.Errorf("argument %d of %s holds a zero byte, which no program can be handed", i, p.Args[0])
	}
	return nil
}

// below reports whether path is dir or lies in it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func names(levels []Level) string {
	var s []string
	for _, l := range levels {
		s = append(s, string(l))
	}
	return strings.Join(s, ", ")
}
