package mcpserve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/mcpserve"
)

// desk is a set of tools whose names are not in the order of the alphabet.
var desk = []agentbound.Tool{
	{Name: "write", Description: "Write <it> & keep it.", Schema: agentbound.Value(`{"properties":{"text":{"description":"a \u003c b & <c>","type":"string"}},"required":["text"],"type":"object"}`)},
	{Name: "look", Description: "Look.", Schema: agentbound.Value(`{"additionalProperties":false,"properties":{},"type":"object"}`)},
}

// echoes answers with the call itself.
func echoes(_ context.Context, c agentbound.Call) (agentbound.Value, bool, error) {
	return agentbound.Value(`{"args":` + c.Args.String() + `,"tool":"` + c.Tool + `"}`), true, nil
}

func server(t testing.TB, call mcpserve.Call, o mcpserve.Options) *mcpserve.Server {
	t.Helper()
	s, err := mcpserve.New(desk, call, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// overHTTP serves on loopback until the test ends or stop is called, which waits.
func overHTTP(t testing.TB, s *mcpserve.Server) (url string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(stop)
	return "http://" + l.Addr().String() + "/", stop
}

// peer is the client's end of a server on lines.
type peer struct {
	to   *io.PipeWriter
	from *bufio.Scanner
	done chan error
}

func overLines(ctx context.Context, t testing.TB, s *mcpserve.Server) *peer {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	p := &peer{to: to, from: bufio.NewScanner(from), done: make(chan error, 1)}
	p.from.Buffer(nil, 16<<20)
	go func() {
		err := s.ServeLines(ctx, in, out)
		out.Close()
		p.done <- err
	}()
	return p
}

func (p *peer) send(t testing.TB, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.to, l+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *peer) next(t testing.TB) string {
	t.Helper()
	if !p.from.Scan() {
		t.Fatalf("the server says no more: %v", p.from.Err())
	}
	return p.from.Text()
}

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"0"}}}`

// greet shakes hands.
func (p *peer) greet(t testing.TB) {
	t.Helper()
	p.send(t, hello)
	if got := p.next(t); !strings.Contains(got, `"protocolVersion":"2025-06-18"`) {
		t.Fatalf("greeting: %s", got)
	}
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// leave ends the client's side and gives what ServeLines gave, and what it still said.
func (p *peer) leave(t testing.TB) (rest []string) {
	t.Helper()
	p.to.Close()
	for p.from.Scan() {
		rest = append(rest, p.from.Text())
	}
	if err := <-p.done; err != nil {
		t.Errorf("ServeLines: %v", err)
	}
	return rest
}

// connect is the SDK's own client at a server, over either transport.
func connect(t testing.TB, s *mcpserve.Server, transport string) *mcp.ClientSession {
	t.Helper()
	return connectAs(t, s, transport, "tester")
}

func connectAs(t testing.TB, s *mcpserve.Server, transport, name string) *mcp.ClientSession {
	t.Helper()
	var to mcp.Transport
	if transport == mcpserve.HTTP {
		url, _ := overHTTP(t, s)
		to = &mcp.StreamableClientTransport{Endpoint: url}
	} else {
		in, theirs := io.Pipe()
		ours, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.ServeLines(context.Background(), in, out) }()
		t.Cleanup(func() { t.Log(transport, <-done) })
		to = &mcp.IOTransport{Reader: ours, Writer: theirs}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: name, Version: "7"}, nil).Connect(t.Context(), to, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func tool(t testing.TB, c *mcp.ClientSession, name, args string) (text string, ok bool, err error) {
	t.Helper()
	return toolWith(t, c, name, args, nil)
}

func toolWith(t testing.TB, c *mcp.ClientSession, name, args string, meta mcp.Meta) (text string, ok bool, err error) {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		return "", false, err
	}
	if len(res.Content) != 1 {
		t.Fatalf("%d contents", len(res.Content))
	}
	return res.Content[0].(*mcp.TextContent).Text, !res.IsError, nil
}

// settle waits for goroutines that are on their way out.
func settle(t testing.TB, want int) {
	t.Helper()
	var got int
	for range 100 {
		if got = runtime.NumGoroutine(); got <= want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines, were %d:\n%s", got, want, stacks[:runtime.Stack(stacks, true)])
}
