package mcpserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/mcpserve"
)

// TestMalformedLines: each is answered, and the conversation goes on.
func TestMalformedLines(t *testing.T) {
	s := server(t, echoes, mcpserve.Options{MaxMessage: 1000})
	p := overLines(t.Context(), t, s)
	p.greet(t)
	for _, test := range []struct{ line, want string }{
		{`{`, `"id":null,"error":{"code":-32700`},
		{`nonsense`, `"id":null,"error":{"code":-32700`},
		{"\xff\xfe", `"id":null,"error":{"code":-32700`},
		{`{} {}`, `"id":null,"error":{"code":-32700`},
		{`7`, `"id":null,"error":{"code":-32600`},
		{`null`, `"id":null,"error":{"code":-32600`},
		{`{}`, `"id":null,"error":{"code":-32600`},
		{`[]`, `"id":null,"error":{"code":-32600`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `batches are not taken`},
		{`{"jsonrpc":"1.0","id":3,"method":"ping"}`, `"id":3,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"id":null,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":4,"method":7}`, `"id":4,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":5,"method":"` + strings.Repeat("x", 1000) + `"}`, `the message has more than 1000 bytes`},
		{`{"jsonrpc":"2.0","id":6,"method":"no/such"}`, `"id":6,"error":{"code":-32601`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, `"id":7,"error":{"code":-32600`},
		{`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[]}`, `"id":8,"error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":7}}`, `"id":9,"error":{"code":-32602`},
		{`{"jsonrpc":"2.0","id":10,"method":"initialize"}`, `"id":10,"error"`},
	} {
		p.send(t, test.line)
		if got := p.next(t); !strings.Contains(got, test.want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s; want %s", test.line, got, test.want)
		}
	}
	// These are nothing to answer.
	p.send(t, "", " \t\r", `{"jsonrpc":"2.0","id":11,"result":{}}`, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"look"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12}}`, `{"jsonrpc":"2.0","method":"no/such"}`)
	p.send(t, `{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"look"}}`+"\r")
	if got := p.next(t); !strings.Contains(got, `"id":13`) || !strings.Contains(got, `\"tool\":\"look\"`) {
		t.Errorf("a call after all that: %s", got)
	}
	if rest := p.leave(t); len(rest) > 0 {
		t.Errorf("left over: %q", rest)
	}
	if n := len(s.Log()); n != 1 {
		t.Errorf("%d calls logged", n)
	}
}

// TestBeforeTheGreeting nothing is carried out.
func TestBeforeTheGreeting(t *testing.T) {
	s := server(t, echoes, mcpserve.Options{})
	p := overLines(t.Context(), t, s)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look"}}`)
	if got := p.next(t); !strings.Contains(got, `"error"`) || len(s.Log()) > 0 {
		t.Errorf("%s; log %+v", got, s.Log())
	}
	p.leave(t)
}

// TestTheOrderOfTheInput: calls that are sent without waiting for answers are carried out
// as they stand, and answered, also where the input ends behind them.
func TestTheOrderOfTheInput(t *testing.T) {
	for range 5 {
		s := server(t, echoes, mcpserve.Options{})
		p := overLines(t.Context(), t, s)
		p.greet(t)
		var want []string
		answered := make(chan []string)
		go func() {
			var all []string
			for p.from.Scan() {
				all = append(all, p.from.Text())
			}
			answered <- all
		}()
		const n = 100
		for i := range n {
			args := fmt.Sprintf(`{"text":"%d"}`, i)
			want = append(want, args)
			name := "write"
			if i%10 == 9 {
				name = "no such tool"
			}
			p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i, name, args),
				fmt.Sprintf(`{"jsonrpc":"2.0","id":"m%d","method":"tools/call"}`, i)) // never carried out
		}
		p.to.Close()
		if all := <-answered; len(all) != 2*n {
			t.Errorf("%d answers", len(all))
		}
		if err := <-p.done; err != nil {
			t.Error(err)
		}
		var got []string
		for _, e := range s.Log() {
			got = append(got, e.Call.Args.String())
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	}
}

// TestCancelled: what was begun is carried to its end, what waits is not begun.
func TestCancelled(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := server(t, func(ctx context.Context, c agentbound.Call) (agentbound.Value, bool, error) {
		if c.Tool == "write" {
			close(begun)
			<-goOn
		}
		return agentbound.Value(`1`), true, ctx.Err()
	}, mcpserve.Options{})
	p := overLines(t.Context(), t, s)
	p.greet(t)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}`)
	<-begun
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if got := p.next(t); !strings.Contains(got, "not answered yet") {
		t.Errorf("a second request under an id: %s", got)
	}
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"look"}}`)
	for i := 1; i <= 2; i++ {
		p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	if got := p.next(t); !strings.Contains(got, `"id":2`) || !strings.Contains(got, "error") {
		t.Errorf("the call that waited: %s", got)
	}
	close(goOn)
	p.next(t)
	p.leave(t)
	if log := s.Log(); len(log) != 1 || log[0].Err != nil || s.Fault() != nil {
		t.Errorf("log %+v, fault %v", log, s.Fault())
	}
}

// TestStopped: the server ends with its context, what is in flight gets its grace, and
// nothing is left.
func TestStopped(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	begun := make(chan struct{})
	s := server(t, func(ctx context.Context, _ agentbound.Call) (agentbound.Value, bool, error) {
		close(begun)
		<-ctx.Done()
		return nil, false, ctx.Err()
	}, mcpserve.Options{Grace: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	p := overLines(ctx, t, s)
	p.greet(t)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}`)
	<-begun
	go func() { // it reads on
		for p.from.Scan() {
		}
	}()
	cancel()
	if err := <-p.done; err != nil {
		t.Errorf("ServeLines: %v", err)
	}
	if s.Fault() == nil {
		t.Error("a call that was broken off is no fault")
	}
	settle(t, goroutines)
}

// FuzzLines: whatever is sent, the server answers with lines of JSON, ends with its input
// and leaves nothing.
func FuzzLines(f *testing.F) {
	f.Add([]byte(hello + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	f.Add([]byte(hello + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{"a":[1e999]},"_meta":{"agentbound/thought":"x"}}}` + "\n{\n[]\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	f.Add([]byte(hello + "\n" + `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}` + "\n" + hello))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := server(t, echoes, mcpserve.Options{MaxMessage: 4096, Grace: 100 * time.Millisecond})
		var out bytes.Buffer
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { done <- s.ServeLines(ctx, io.NopCloser(bytes.NewReader(input)), &out) }()
		select {
		case err := <-done:
			t.Log(err)
		case <-time.After(2 * time.Second): // a subscription may wait for more than the input
			cancel()
			select {
			case err := <-done:
				t.Log(err)
			case <-time.After(10 * time.Second):
				t.Fatal("it does not end")
			}
		}
		for _, line := range bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n")) {
			if len(line) > 0 && !json.Valid(line) {
				t.Errorf("it said %q", line)
			}
		}
	})
}
