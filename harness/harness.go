// Package harness is the port to agent programs ("harnesses"): what such a program is,
// how it is installed, and how one trial of it is set up. A package below is one
// program, as data and a small file; harness/subject makes agents of them.
package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Server is what the task's tools are called where a program lists its MCP servers. It
// is part of the names that models see.
const Server = "world"

// Protocol is what a program speaks with its model.
type Protocol string

// The four protocols.
const (
	Responses       Protocol = "responses"
	ChatCompletions Protocol = "chat-completions"
	Messages        Protocol = "messages"
	GenerateContent Protocol = "generate-content"
)

// Program is an agent program. Its fields are facts of one version of it; the functions
// must be pure, since trials run beside each other.
type Program struct {
	Name     string // as --agent names it, such as codex
	Title    string // as its makers call it
	Protocol Protocol
	Endpoint string // base URL of its maker's models, asked where a specification names no other
	KeyEnv   string // holds the key for Endpoint
	About    string // one line

	Install Install
	// Adapter is the version of this description: it changes with the configuration
	// and the mapping of names, and so makes another agent of the program.
	Adapter string
	// Memory is what one process of it was seen to need at most, in bytes.
	Memory int64

	// Launch says how to start it for one trial.
	Launch func(Trial) (Launch, error)
	// Tool gives the task's tool that a name at the model stands for. Where the protocol
	// has namespaces the name is NAMESPACE__NAME. False: no name of the task's server.
	Tool func(name string) (tool string, ok bool)
	// OwnArgs are arguments that the program puts into the schemas of the task's tools for
	// itself, and passes on to the server. They are taken off what its model proposes and
	// what it calls.
	OwnArgs []string
	// Own are the program's own tools that cannot be taken from its model, and how the
	// program answers them.
	Own []OwnTool
	// Fault says why a program that has ended did not do its work, in a few words; empty
	// where it has. The model's own part in it is judged elsewhere.
	Fault func(Exit) string
}

// OwnTool is a tool of the program's own that its model may see.
type OwnTool struct{ Name, Answer string }

// Install is how it gets onto a machine: npm packages, all in a lock file that holds
// their SHA-512 and no addresses.
type Install struct {
	Package  string   // the one that it is in
	Manifest []byte   // package.json
	Lock     []byte   // package-lock.json
	Flags    []string // further ones of npm ci
	// Start is the file below node_modules that is run, by GOOS/GOARCH; under Node it is
	// one for all, by "".
	Start map[string]string
	Node  bool // it is run by the Node that the lock names
}

// Trial is what the launch of one trial is made from.
type Trial struct {
	Start  []string // begins the command line: the program, or Node and the program
	Home   string   // a private folder, empty at first: home and state of the program
	Work   string   // an empty folder within it, to work in
	Model  string
	Effort string   // of reasoning; empty: the program's own
	URL    string   // base URL of the model endpoint, at the proxy
	Key    string   // to be sent there: it is none of a person's
	MCP    string   // URL of the task's tools, streamable HTTP
	Tools  []string // their names
	Steps  int      // the most decisions that the subject may take

	System      string // who asks, and how to end: for the place that the program has for it
	Instruction string // what is asked
}

// Launch is a command to run.
type Launch struct {
	Argv  []string
	Env   []string          // beside those that all programs get, NAME=VALUE
	Files map[string][]byte // to be written first, by slash path from the home
}

// Exit is how a program ended.
type Exit struct {
	Code           int    // -1: by a signal
	Stdout, Stderr []byte // their ends, where long
}

// Version is the program's version, as its lock has it.
func (p Program) Version() string {
	v, err := p.Install.version(p.Install.Package)
	if err != nil {
		return "unknown" // a test reads every lock
	}
	return v
}

// NodeVersion is that of the Node it is run by; empty where it needs none.
func (p Program) NodeVersion() string {
	if !p.Install.Node {
		return ""
	}
	v, err := p.Install.version(NodePackage("linux", "amd64"))
	if err != nil {
		return "unknown"
	}
	return v
}

// String is the program with its version.
func (p Program) String() string { return p.Name + "@" + p.Version() }

// Owns reports whether a name is one of the program's own known tools.
func (p Program) Owns(name string) bool {
	return slices.ContainsFunc(p.Own, func(o OwnTool) bool { return o.Name == name })
}

// NodePackage is the npm package that holds Node for a system.
func NodePackage(goos, goarch string) string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[goarch]
	return "node-" + goos + "-" + arch
}

func (i Install) version(name string) (string, error) {
	var lock struct {
		Packages map[string]struct {
			Version string `json:"version"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(i.Lock, &lock); err != nil {
		return "", fmt.Errorf("package-lock.json: %w", err)
	}
	p, ok := lock.Packages["node_modules/"+name]
	if !ok {
		return "", fmt.Errorf("package-lock.json has no %s", name)
	}
	return p.Version, nil
}

// HasNode reports whether the lock names a Node for a system.
func (i Install) HasNode(goos, goarch string) bool {
	_, err := i.version(NodePackage(goos, goarch))
	return err == nil
}

// Spec is what a specification PROGRAM:MODEL[@BASE_URL] names.
type Spec struct {
	Program string
	Model   string
	Base    string // empty: the program's own endpoint
}

// ParseSpec reads a specification. Its errors repeat no part of an address, which could
// be secret.
func ParseSpec(spec string) (Spec, error) {
	name, rest, ok := strings.Cut(spec, ":")
	if !ok || name == "" {
		return Spec{}, errors.New("want PROGRAM:MODEL or PROGRAM:MODEL@BASE_URL, such as codex:gpt-5.5")
	}
	s := Spec{Program: name, Model: rest}
	if i := strings.Index(rest, "@http"); i >= 0 {
		s.Model, s.Base = rest[:i], strings.TrimRight(rest[i+1:], "/")
		if err := plainURL(s.Base); err != nil {
			return Spec{}, err
		}
	}
	if s.Model == "" || strings.ContainsFunc(s.Model, func(r rune) bool { return r <= ' ' || r == 0x7f || r > 0x7e }) {
		return Spec{}, fmt.Errorf("%s: names no model: want %s:MODEL, in printable ASCII without spaces", name, name)
	}
	if _, after, ok := cutLast(s.Model, "@"); ok && s.Base == "" && (after == "" || after == "localhost" || strings.ContainsAny(after, ":/")) {
		return Spec{}, fmt.Errorf("%s: what follows the @ is no base URL: want %s:MODEL@http://… or %s:MODEL@https://…", name, name, name)
	}
	return s, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func plainURL(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("the base URL is not taken: want http:// or https://, a host and a path, and no user name, query or fragment (a key belongs in the environment)")
	}
	return nil
}

// Within checks that a path of Files stays within the home.
func Within(file string) error {
	if file == "" || path.IsAbs(file) || path.Clean(file) != file || strings.HasPrefix(file, "..") || strings.Contains(file, "\\") {
		return fmt.Errorf("the file %q is not a clean path within the home", file)
	}
	return nil
}

// Prefixed is the mapping of most programs: what follows a prefix is the task's tool.
func Prefixed(prefix string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if tool, ok := strings.CutPrefix(name, prefix); ok && tool != "" {
			return tool, true
		}
		return "", false
	}
}
