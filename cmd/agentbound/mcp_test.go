package main

import (
	"bufio"
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPOverHTTP: the verb prints its URL, serves a client, and ends when the client has
// finished.
func TestMCPOverHTTP(t *testing.T) {
	out, in := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	store := filepath.Join(t.TempDir(), "runs.db")
	go func() {
		args := []string{"mcp", "--suite", "examples", "transfer-under-agreement/hb", "--store", store, "--http", "127.0.0.1:0"}
		code <- execute(t.Context(), args, stdio{strings.NewReader(""), in, &errs})
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("no URL: %s", errs.String())
	}
	url := lines.Text()
	if !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/mcp") {
		t.Fatalf("URL %q", url)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []*mcp.CallToolParams{
		{Name: "find_contact", Arguments: map[string]any{"name": "Northwind"}},
		{Name: "finish", Arguments: map[string]any{"outcome": "unable", "reason": "no time"}},
	} {
		if res, err := client.CallTool(t.Context(), call); err != nil || res.IsError {
			t.Fatalf("%s: %+v, %v", call.Name, res, err)
		}
	}
	client.Close()
	select {
	case got := <-code:
		if got != exitDone || !strings.Contains(errs.String(), "the session is recorded") || !strings.Contains(errs.String(), `client "tester 1" over http, MCP 2025-11-25`) {
			t.Errorf("exit code %d: %s", got, errs.String())
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server stays")
	}
	if lines.Scan() {
		t.Errorf("it also printed %q", lines.Text())
	}
}
