package subject_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbound/agentbound/harness"
)

// A small agent program: this test's own executable, told by a variable. It asks its
// model over chat completions, makes the calls over MCP, and misbehaves as it is told.
const (
	modeEnv = "FAKE_PROGRAM"
	urlEnv  = "FAKE_URL"
	keyEnv  = "FAKE_KEY"
	mcpEnv  = "FAKE_MCP"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeEnv); mode != "" {
		os.Exit(fake(mode))
	}
	os.Exit(m.Run())
}

func fakeProgram(mode string) harness.Program {
	return harness.Program{
		Name: "fake", Title: "Fake", Protocol: harness.ChatCompletions, Adapter: "1",
		Install: harness.Install{Package: "fake", Lock: []byte(`{"packages":{"node_modules/fake":{"version":"1"}}}`)},
		Launch: func(t harness.Trial) (harness.Launch, error) {
			return harness.Launch{
				Argv:  t.Start,
				Env:   []string{modeEnv + "=" + mode, urlEnv + "=" + t.URL, keyEnv + "=" + t.Key, mcpEnv + "=" + t.MCP},
				Files: map[string][]byte{"sub/message": []byte(t.Instruction), "system": []byte(t.System)},
			}, nil
		},
		Tool:    harness.Prefixed("w__"),
		OwnArgs: []string{"later"},
		Own:     []harness.OwnTool{{Name: "todo", Answer: "noted"}},
		Fault: func(e harness.Exit) string {
			if e.Code == 0 {
				return ""
			}
			return fmt.Sprintf("it ended with status %d", e.Code)
		},
	}
}

type fakeCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func fake(mode string) int {
	home := os.Getenv("HOME")
	message, err := os.ReadFile(home + "/sub/message")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	switch mode {
	case "silent":
		return 0
	case "crash":
		fmt.Fprintln(os.Stderr, "out of luck")
		return 3
	case "hang":
		child := exec.Command("sleep", "300")
		_ = child.Start()
		_ = os.WriteFile(os.Getenv("TMPDIR")+"/pid", fmt.Append(nil, child.Process.Pid), 0o600)
		time.Sleep(5 * time.Minute)
	case "environment":
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
		return 5
	}
	if mode == "early" { // a call before any turn
		tool("read_photo", `{"photo":"P-1"}`)
		return 0
	}
	system, _ := os.ReadFile(home + "/system")
	messages := []any{map[string]any{"role": "system", "content": string(system)}, map[string]any{"role": "user", "content": string(message)}}
	switch mode {
	case "wanders":
		for range 3 {
			if res, err := http.Get(os.Getenv(urlEnv) + "/telemetry"); err == nil {
				res.Body.Close()
			}
		}
	case "titled":
		ask([]any{map[string]any{"role": "user", "content": "Title this."}}, nil)
	}
	for {
		offered := tools()
		if mode == "toolless" {
			offered = offered[:1] // its own
		}
		said, calls := ask(messages, offered)
		if len(calls) == 0 {
			fmt.Println(said)
			if mode == "fails late" {
				return 6
			}
			return 0
		}
		messages = append(messages, map[string]any{"role": "assistant", "content": said, "tool_calls": calls})
		messages = append(messages, carry(mode, calls)...)
	}
}

// carry makes the calls of a turn.
func carry(mode string, calls []fakeCall) []any {
	answers := make([]any, len(calls))
	one := func(i int) {
		c := calls[i]
		text := "noted"
		if name, ok := strings.CutPrefix(c.Function.Name, "w__"); ok {
			args := c.Function.Arguments
			switch {
			case mode == "blocks" && name == "share":
				text = "error: blocked by policy"
			case mode == "alters":
				text = tool(name, strings.Replace(args, "P-1", "P-2", 1))
			case mode == "invents":
				text = tool(name, args)
				tool("log", `{"text":"by the way"}`)
			case mode == "twice":
				tool(name, args)
				text = tool(name, args)
			case mode == "reorders":
				var v any
				_ = json.Unmarshal([]byte(args), &v)
				b, _ := json.MarshalIndent(v, "", "  ")
				text = tool(name, string(b))
			default:
				text = tool(name, args)
			}
		}
		answers[i] = map[string]any{"role": "tool", "tool_call_id": c.ID, "content": text}
	}
	if mode == "side by side" {
		var all sync.WaitGroup
		for i := len(calls) - 1; i >= 0; i-- {
			all.Go(func() { one(i) })
			time.Sleep(20 * time.Millisecond)
		}
		all.Wait()
		return answers
	}
	for i := range calls {
		one(i)
	}
	return answers
}

func post(url string, body any, header map[string]string) []byte {
	b, _ := json.Marshal(body)
	req, _ := http.NewRequest(http.MethodPost, url, bytes.NewReader(b))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(7)
	}
	out, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if mode := os.Getenv(modeEnv); res.StatusCode >= 300 {
		switch {
		case mode == "shrugs":
			fmt.Println("Something went wrong.")
			os.Exit(0)
		case mode == "tries again", mode == "persists":
			time.Sleep(10 * time.Millisecond)
			return post(url, body, header)
		case strings.Contains(string(b), "Title this."):
			return nil
		}
		fmt.Fprintf(os.Stderr, "status %d: %s\n", res.StatusCode, out)
		os.Exit(8)
	}
	return out
}

func ask(messages []any, tools []any) (string, []fakeCall) {
	body := map[string]any{"model": "test-model", "stream": true, "messages": messages}
	if tools != nil {
		body["tools"] = tools
	}
	answer := post(os.Getenv(urlEnv)+"/chat/completions", body, map[string]string{"Authorization": "Bearer " + os.Getenv(keyEnv)})
	t := decodeChat(answer)
	var calls []fakeCall
	for _, p := range t.Calls {
		c := fakeCall{ID: p.ID, Type: "function"}
		c.Function.Name, c.Function.Arguments = p.Name, p.Args
		calls = append(calls, c)
	}
	return t.Thought, calls
}

func rpc(method string, params any) json.RawMessage {
	var out struct{ Result json.RawMessage }
	_ = json.Unmarshal(post(os.Getenv(mcpEnv), map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, nil), &out)
	return out.Result
}

func tools() []any {
	var list struct {
		Tools []struct {
			Name        string
			InputSchema json.RawMessage
		}
	}
	_ = json.Unmarshal(rpc("tools/list", map[string]any{}), &list)
	all := []any{map[string]any{"type": "function", "function": map[string]any{"name": "todo", "parameters": map[string]any{"type": "object"}}}}
	for _, t := range list.Tools {
		all = append(all, map[string]any{"type": "function", "function": map[string]any{"name": "w__" + t.Name, "parameters": t.InputSchema}})
	}
	return all
}

func tool(name, args string) string {
	var result struct{ Content []struct{ Text string } }
	_ = json.Unmarshal(rpc("tools/call", map[string]any{"name": name, "arguments": json.RawMessage(args)}), &result)
	if len(result.Content) == 0 {
		return "error"
	}
	return result.Content[0].Text
}
