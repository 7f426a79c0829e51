package exec_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbound/agentbound"
)

// TestMain lets the test binary be the program under test: "BINARY subject NAME
// ARGUMENT…" plays one of the subjects below and nothing else.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "subject" {
		leave(subjects[os.Args[2]](os.Args[3:]))
	}
	os.Exit(m.Run())
}

// leave ends a subject. The race detector would have os.Exit wait for a second.
func leave(status int) { syscall.Exit(status) }

// command is the command line of a subject.
func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if subjects[name] == nil {
		t.Fatalf("no subject %q", name)
	}
	words := append([]string{self, "subject", name}, args...)
	for i, w := range words {
		words[i] = "'" + w + "'"
	}
	return strings.Join(words, " ")
}

// subjects are the programs, by name; each gives its exit status. They speak the
// protocol on their own, without a line of the package under test.
var subjects map[string]func(args []string) int

func init() { // it names itself
	subjects = map[string]func([]string) int{
		"playbook": playbook, "witness": witness, "fixed": fixed, "calls": calls, "obeys": obeys, "says": says,
		"silent": silent, "floods": floods, "floods-stderr": floodsStderr, "parent": parent, "child": child, "litters": litters,
		"crashes": crashes, "closes": closes, "transcript": transcript, "deaf": deaf, "echoes": echoes,
	}
}

type message struct {
	Type         string
	Version      int
	Setting      string
	Instruction  string
	Tools        []agentbound.Tool
	Observations []struct {
		Tool        string
		OK          bool
		Observation json.RawMessage
	}
	Thought, Reason, Error string
}

var stdin = bufio.NewReader(os.Stdin)

// next reads a message; at the end of the input the program ends. What it is refused
// for it says on stderr.
func next() message {
	line, err := stdin.ReadBytes('\n')
	if err != nil {
		leave(7)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		fmt.Fprintln(os.Stderr, "no JSON:", err)
		leave(8)
	}
	if m.Type == "error" {
		fmt.Fprintln(os.Stderr, "I was told:", m.Error)
		leave(9)
	}
	return m
}

func say(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(b))
}

type fields map[string]any

func act(thought string, calls ...fields) {
	say(fields{"type": "act", "thought": thought, "calls": calls})
}

func end(thought, word, reason string) {
	say(fields{"type": "act", "thought": thought, "outcome": fields{"word": word, "reason": reason}})
}

// fixed declines whatever comes and does not wait to be asked.
func fixed([]string) int {
	end("I never do.", "declined", "it is my rule")
	return 0
}

// calls makes the calls that its arguments spell (JSON lists), a list a message, and is
// done.
func calls(args []string) int {
	next()
	for _, list := range args {
		fmt.Printf(`{"type":"act","thought":"On I go.","calls":%s}`+"\n", list)
		next()
	}
	end("All made.", "done", "as asked")
	next()
	return 0
}

// echoes calls log with what it was shown last, byte for byte.
func echoes([]string) int {
	next()
	fmt.Println(`{"type":"act","thought":"Look.","calls":[{"tool":"exact","args":{}}]}`)
	line, _ := stdin.ReadString('\n')
	text, _ := json.Marshal(strings.TrimSpace(line))
	fmt.Printf(`{"type":"act","thought":"Say it.","calls":[{"tool":"log","args":{"text":%s}}]}`+"\n", text)
	next()
	end("Said.", "done", "shown")
	return 0
}

// obeys drafts to share, and does what a revised Thought says.
func obeys(args []string) int {
	next()
	act("I share it.", fields{"tool": "share", "args": fields{"photo": "P-1", "to": "press@paper.example"}})
	m := next()
	if m.Type == "revise" {
		answer := fields{"type": "act", "thought": m.Thought, "calls": []fields{{"tool": "read_photo", "args": fields{"photo": "P-1"}}}}
		if len(args) > 0 && args[0] == "quietly" {
			delete(answer, "thought")
		}
		say(answer)
		m = next()
	}
	end("Enough.", "done", m.Type+" of "+m.Observations[0].Tool)
	next()
	return 0
}

// says writes its arguments, a line each, after it was greeted, and waits.
func says(args []string) int {
	next()
	fmt.Println(strings.Join(args, "\n"))
	next()
	return 0
}

func silent([]string) int {
	next()
	fmt.Fprintln(os.Stderr, "thinking for ever")
	time.Sleep(time.Minute)
	return 0
}

func deaf([]string) int {
	time.Sleep(time.Minute)
	return 0
}

func floods([]string) int {
	next()
	for {
		fmt.Print(strings.Repeat("x", 1<<16))
	}
}

func floodsStderr([]string) int {
	next()
	for i := range 1 << 17 {
		fmt.Fprintln(os.Stderr, "line", i, "of very many, none of which anybody reads")
	}
	return 4
}

// crashes states an outcome or nothing, writes to stderr and ends with a status.
func crashes(args []string) int {
	next()
	if args[0] == "after" {
		end("Done.", "done", "it says")
	}
	fmt.Fprintln(os.Stderr, "Traceback: the key was", os.Getenv("SUBJECT_KEY"))
	status, _ := strconv.Atoi(args[1])
	return status
}

// closes its output and stays.
func closes([]string) int {
	next()
	os.Stdout.Close()
	time.Sleep(time.Minute)
	return 0
}

// parent starts a child that writes into a file as long as it lives, waits until it
// does, and then ends as its second argument says.
func parent(args []string) int {
	next()
	cmd := osexec.Command(os.Args[0], "subject", "child", args[0])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if len(args) > 2 {
		apart(cmd)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	for {
		if info, err := os.Stat(args[0]); err == nil && info.Size() > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	switch args[1] {
	case "noise":
		fmt.Println("Loading model...")
		time.Sleep(time.Minute)
	case "stays":
		end("Done, but I stay.", "done", "I like it here")
		time.Sleep(time.Minute)
	case "hangs":
		time.Sleep(time.Minute)
	case "leaves":
		end("Done.", "done", "it is")
	}
	return 0
}

// child lives for twenty seconds at most, and not longer than its file.
func child(args []string) int {
	f, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	for range 2000 {
		fmt.Fprint(f, ".")
		time.Sleep(10 * time.Millisecond)
		if _, err := os.Stat(args[0]); err != nil {
			break
		}
	}
	return 0
}

// litters leaves files behind, some where they cannot be removed at once.
func litters([]string) int {
	next()
	dir, err := os.MkdirTemp("", "mine-") // lands in the trial's own folder
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("x"), 0o400); err != nil {
		panic(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		panic(err)
	}
	end("Left some.", "done", "it is")
	return 0
}

// witness tells everything that a program can see of its trial, as its Thought.
func witness([]string) int {
	greeting, _ := stdin.ReadString('\n')
	dir, _ := os.Getwd()
	env := os.Environ()
	sort.Strings(env)
	var files []string
	_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
		files = append(files, path)
		return nil
	})
	text, _ := json.MarshalIndent(fields{"hello": greeting, "args": os.Args, "env": env, "dir": dir, "files": files}, "", " ")
	end(string(text), "declined", "I only look")
	return 0
}

// guide is what the playbook knows of a family: its paths, and the authorised
// observations by which it decides.
type guide struct {
	Tools                 []string
	Workflow, Containment []agentbound.Call
	Evidence              []agentbound.Call
	Expected              []agentbound.Value
}

// playbook plays "comply", "refuse" or "evidence" by a file of guides.
func playbook(args []string) int {
	text, err := os.ReadFile(args[1])
	if err != nil {
		panic(err)
	}
	var guides []guide
	if err := json.Unmarshal(text, &guides); err != nil {
		panic(err)
	}
	task := next()
	var g *guide
	for i := range guides {
		if guides[i].Tools[0] == task.Tools[0].Name {
			g = &guides[i]
		}
	}
	if args[0] == "refuse" {
		end("I decline.", "declined", "I decline every request")
		return 0
	}
	for i, c := range g.Workflow {
		act("I go on.", fields{"tool": c.Tool, "args": c.Args})
		m := next()
		evidence := false
		for _, e := range g.Evidence {
			evidence = evidence || e.Equal(c)
		}
		if args[0] == "evidence" && evidence && string(m.Observations[0].Observation) != string(g.Expected[i]) {
			contain(g, g.Workflow[:i+1])
			end("I stop.", "declined", "the records do not permit it")
			return 0
		}
	}
	end("Done.", "done", "the request was carried out")
	return 0
}

// contain makes the calls of the containment path that were not made yet.
func contain(g *guide, made []agentbound.Call) {
	left := append([]agentbound.Call(nil), made...)
path:
	for _, c := range g.Containment {
		for i, m := range left {
			if m.Equal(c) {
				left = append(left[:i], left[i+1:]...)
				continue path
			}
		}
		act("I contain it.", fields{"tool": c.Tool, "args": c.Args})
		next()
	}
}
