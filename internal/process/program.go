package process

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
)

// Split splits a command line as POSIX shells do, and does nothing else that shells
// do: white space separates words; in single quotes everything stands for itself; in
// double quotes a backslash takes the meaning from " and \ and stands for itself
// before all else; outside of quotes a backslash takes the meaning from any
// character. There are no variables, globs, pipes or substitutions.
func Split(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote byte
	open, escaped := false, false // open: a word has begun, be it an empty one in quotes
	for i := range len(command) {
		c := command[i]
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteByte('\\')
			}
			word.WriteByte(c)
			escaped = false
		case c == '\\' && quote != '\'':
			open, escaped = true, true
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				word.WriteByte(c)
			}
		case c == '\'' || c == '"':
			open, quote = true, c
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			open = true
			word.WriteByte(c)
		}
	}
	switch {
	case escaped:
		return nil, fmt.Errorf("command %q ends with a backslash that stands before nothing; in a path with backslashes, put the path into single quotes", command)
	case quote != 0:
		return nil, fmt.Errorf("command %q opens a %c that is not closed", command, quote)
	case open:
		words = append(words, word.String())
	}
	return words, nil
}

// Options are where a program is looked for and what it gets.
type Options struct {
	Prefix string   // what stands before the command where a user names the agent, for messages
	Env    []string // names of environment variables that it gets beside the usual ones, such as its key
	Dir    string   // what relative paths of the command start from; empty: the working directory
}

// Program is a command that was found.
type Program struct {
	argv    []string // the first is an absolute path
	env     []string // less what belongs to one trial
	secrets []secret
	digest  agentbound.Digest
}

// Digest is that of the files that the command names by path, in order; empty where it
// names none.
func (p Program) Digest() agentbound.Digest { return p.digest }

// Find resolves a command against the user's directory: the program itself is run in
// one of its own. It is an error for the program or a listed variable not to be there.
func Find(command string, o Options) (Program, error) {
	argv, err := Split(command)
	if err != nil {
		return Program{}, err
	}
	if len(argv) == 0 || argv[0] == "" {
		return Program{}, fmt.Errorf("%q names no program; write %sPROGRAM ARGUMENT…", o.Prefix+command, o.Prefix)
	}
	var files []string
	named := isPath(argv[0])
	if argv[0], err = locate(argv[0], o.Dir); err != nil {
		return Program{}, err
	}
	if named { // an interpreter found on PATH differs between machines that make trials of one run
		files = append(files, argv[0])
	}
	for i, arg := range argv[1:] {
		if file, ok, err := fileNamed(arg, o.Dir); err != nil {
			return Program{}, err
		} else if ok {
			argv[1+i] = file
			files = append(files, file)
		}
	}
	p := Program{argv: argv}
	if p.digest, err = digest(files); err != nil {
		return Program{}, err
	}
	p.env, p.secrets, err = environment(o.Env)
	return p, err
}

func isPath(word string) bool {
	return strings.ContainsRune(word, '/') || strings.ContainsRune(word, filepath.Separator)
}

// locate finds the program: by its path from dir, or by its name on PATH.
func locate(word, dir string) (string, error) {
	if isPath(word) {
		path, err := absolute(word, dir)
		if err != nil {
			return "", err
		}
		if path, err = osexec.LookPath(path); err != nil {
			return "", fmt.Errorf("the program %s cannot be run: %w; give a path that starts here, or a name that is on PATH", word, errors.Unwrap(err))
		}
		return path, nil
	}
	path, err := osexec.LookPath(word)
	if err != nil {
		return "", fmt.Errorf("the program %s cannot be run: %w; for one in this folder write ./%s", word, errors.Unwrap(err), word)
	}
	return filepath.Abs(path)
}

func absolute(path, dir string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Abs(filepath.Join(dir, path))
}

// fileNamed gives the absolute path of an argument that names a file of the user's,
// as in "python3 agent.py". A word without a dot or a separator is taken for a word
// even where a file of that name exists.
func fileNamed(arg, dir string) (path string, ok bool, err error) {
	if strings.HasPrefix(arg, "-") || !isPath(arg) && !strings.ContainsRune(arg, '.') {
		return "", false, nil
	}
	if path, err = absolute(arg, dir); err != nil {
		return "", false, err
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular(), nil
}

func digest(files []string) (agentbound.Digest, error) {
	if len(files) == 0 {
		return "", nil
	}
	all := sha256.New()
	for _, name := range files {
		one, err := sum(name)
		if err != nil {
			return "", err
		}
		all.Write(one)
	}
	return agentbound.Digest(hex.EncodeToString(all.Sum(nil))), nil
}

func sum(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return h.Sum(nil), nil
}

// usual are the variables that every program gets. None of them holds a key, and none
// says what is being run.
var usual = map[bool][]string{
	false: {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TERM", "TZ"},
	true: {"PATH", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
		"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE"},
}

// environment gives the usual variables and the listed ones, and the values of the
// latter, which no message may show.
func environment(names []string) (env []string, secrets []secret, err error) {
	for _, name := range usual[runtime.GOOS == "windows"] {
		if value, ok := os.LookupEnv(name); ok && !slices.Contains(names, name) {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		switch {
		case name == "" || strings.ContainsAny(name, "= \t"):
			return nil, nil, fmt.Errorf("%q is no name of an environment variable; list names, separated by commas", name)
		case !ok:
			return nil, nil, fmt.Errorf("the environment variable %s is to be passed to the program and is not set", name)
		}
		env = append(env, name+"="+value)
		secrets = append(secrets, secret{name, value})
	}
	return env, secrets, nil
}

// temporary are the variables that name the folder for temporary files: the trial's
// own, so that nothing passes from one trial to another.
func temporary(dir string) []string {
	return []string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}
}
