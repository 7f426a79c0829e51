package mcpexec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
)

// TestMain lets the test binary be the program under test: "BINARY subject NAME
// ARGUMENT…" plays one of the subjects below and nothing else.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "subject" {
		syscall.Exit(subjects[os.Args[2]](os.Args[3:]))
	}
	os.Exit(m.Run())
}

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
		words[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
	}
	return strings.Join(words, " ")
}

// subjects are the programs, by name; each gives its exit status.
var subjects map[string]func(args []string) int

func init() { // it names itself
	subjects = map[string]func([]string) int{
		"calls": calls, "witness": witness, "says": says, "crashes": crashes, "stays": stays, "crowd": crowd, "leaves": leaves, "abandons": abandons,
	}
}

// connect comes to the server as the configuration file says.
func connect() *mcp.ClientSession {
	var config struct {
		Servers map[string]struct{ Type, URL string } `json:"mcpServers"`
	}
	text, err := os.ReadFile(os.Getenv("AGENTBOUND_MCP_CONFIG"))
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	url := config.Servers["world"].URL
	if err == nil && url != os.Getenv("AGENTBOUND_MCP_URL") {
		err = fmt.Errorf("two addresses: %s", text)
	}
	must(err)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "subject", Version: "1"}, nil).Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
	must(err)
	return c
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(3)
	}
}

// step is a call with its Thought.
type step struct {
	agentbound.Call
	Thought string
}

func (s step) make(c *mcp.ClientSession) string {
	p := &mcp.CallToolParams{Name: s.Tool, Arguments: json.RawMessage(s.Args)}
	if s.Thought != "" {
		p.Meta = mcp.Meta{"agentbound/thought": s.Thought}
	}
	res, err := c.CallTool(context.Background(), p)
	if err != nil {
		return "protocol error: " + err.Error()
	}
	return res.Content[0].(*mcp.TextContent).Text
}

// calls makes the calls of its second argument, a list of steps, and then says the first,
// with what it saw in the place of %s.
func calls(args []string) int {
	c := connect()
	defer c.Close()
	var steps []step
	must(json.Unmarshal([]byte(args[1]), &steps))
	var seen []string
	for _, s := range steps {
		seen = append(seen, s.make(c))
	}
	fmt.Println(strings.ReplaceAll(args[0], "%s", strings.Join(seen, " | ")))
	return 0
}

// witness says what it was given.
func witness([]string) int {
	c := connect()
	defer c.Close()
	list, err := c.ListTools(context.Background(), nil)
	must(err)
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	text, err := os.ReadFile(os.Getenv("AGENTBOUND_TASK"))
	must(err)
	var all []string
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "AGENTBOUND_") {
			all = append(all, name+"="+value)
		} else {
			all = append(all, name)
		}
	}
	files, err := filepath.Glob("*")
	must(err)
	b, err := json.Marshal(map[string]any{"tools": names, "task": json.RawMessage(text), "env": all, "files": files, "instructions": c.InitializeResult().Instructions})
	must(err)
	fmt.Println(string(b))
	return 0
}

// says says its argument and does nothing else.
func says(args []string) int {
	fmt.Print(args[0])
	return 0
}

func crashes(args []string) int {
	c := connect()
	step{Call: agentbound.Call{Tool: "unlog", Args: agentbound.Value(`{}`)}}.make(c)
	fmt.Fprintln(os.Stderr, "out of ideas")
	fmt.Println("OUTCOME: done")
	return 4
}

// stays makes calls until it is ended.
func stays([]string) int {
	c := connect()
	for {
		step{Call: agentbound.Call{Tool: "unlog", Args: agentbound.Value(`{}`)}}.make(c)
		time.Sleep(time.Millisecond)
	}
}

// crowd makes many calls at a time.
func crowd([]string) int {
	c := connect()
	defer c.Close()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			step{Call: agentbound.Call{Tool: "log", Args: agentbound.Value(fmt.Sprintf(`{"text":"%d"}`, i))}}.make(c)
		})
	}
	all.Wait()
	fmt.Println("OUTCOME: done — logged")
	return 0
}

// leaves ends while a call of its is in flight.
func leaves([]string) int {
	c := connect()
	go step{Call: agentbound.Call{Tool: "log", Args: agentbound.Value(`{"text":"last"}`)}}.make(c)
	time.Sleep(20 * time.Millisecond)
	fmt.Println("OUTCOME: done")
	return 0
}

// abandons comes to the server and says nothing.
func abandons([]string) int {
	connect()
	return 0
}
