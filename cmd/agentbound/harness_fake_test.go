package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/install"
	"github.com/agentbound/agentbound/harness/subject"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

// A small agent program between the real parts: this test's own executable, told by a
// variable. It asks its model once a turn and makes the calls in order, until it does
// what its mode says.
const (
	fakeMode = "FAKE_PROGRAM"
	fakeURL  = "FAKE_URL"
	fakeKey  = "FAKE_KEY"
	fakeMCP  = "FAKE_MCP"
)

func fakeProgram(mode string) harness.Program {
	return harness.Program{
		Name: "fake", Title: "Fake", Protocol: harness.ChatCompletions, Adapter: "1", Memory: 64 << 20,
		Install: harness.Install{Package: "fake", Lock: []byte(`{"packages":{"node_modules/fake":{"version":"1"}}}`)},
		Launch: func(t harness.Trial) (harness.Launch, error) {
			return harness.Launch{Argv: t.Start, Env: []string{fakeMode + "=" + mode, fakeURL + "=" + t.URL, fakeKey + "=" + t.Key, fakeMCP + "=" + t.MCP}}, nil
		},
		Tool: harness.Prefixed("w__"),
		Fault: func(e harness.Exit) string {
			if e.Code == 0 {
				return ""
			}
			return fmt.Sprintf("it ended with status %d", e.Code)
		},
	}
}

// runFake is main of the small program.
func runFake(mode string) (err error) {
	client, err := mcp.NewClient(&mcp.Implementation{Name: "fake", Version: "1"}, nil).Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: os.Getenv(fakeMCP)}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	list, err := client.ListTools(context.Background(), nil)
	if err != nil {
		return err
	}
	var tools []any
	for _, t := range list.Tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": "w__" + t.Name, "parameters": t.InputSchema}})
	}
	messages := []any{map[string]any{"role": "user", "content": "Go on."}}
	for made := 0; ; {
		said, err := askFake(messages, tools)
		if err != nil || len(said.ToolCalls) == 0 {
			return err
		}
		messages = append(messages, said)
		for _, c := range said.ToolCalls {
			text, err := callFake(client, c.Function.Name, c.Function.Arguments)
			if err != nil {
				return err
			}
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": c.ID, "content": text})
			switch made++; mode {
			case "leaves":
				return nil
			case "dies":
				if self, err := os.FindProcess(os.Getpid()); err == nil {
					_ = self.Kill()
				}
			case "swallows": // all that there is
				for {
					swallowed = append(swallowed, bytes.Repeat([]byte{1}, 8<<20))
					time.Sleep(time.Millisecond)
				}
			case "calls on": // as often as it is let
				for range 3 {
					_, _ = callFake(client, c.Function.Name, c.Function.Arguments)
				}
			}
		}
	}
}

var swallowed [][]byte

type fakeMessage struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls,omitempty"`
}

func askFake(messages, tools []any) (said fakeMessage, err error) {
	body, err := json.Marshal(map[string]any{"model": "test-model", "messages": messages, "tools": tools})
	if err != nil {
		return said, err
	}
	req, err := http.NewRequest(http.MethodPost, os.Getenv(fakeURL)+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return said, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+os.Getenv(fakeKey))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return said, err
	}
	defer res.Body.Close()
	var answer struct {
		Choices []struct{ Message fakeMessage }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return said, fmt.Errorf("status %d, %w", res.StatusCode, err)
	}
	return answer.Choices[0].Message, nil
}

func callFake(client *mcp.ClientSession, name, args string) (string, error) {
	res, err := client.CallTool(context.Background(), &mcp.CallToolParams{Name: strings.TrimPrefix(name, "w__"), Arguments: json.RawMessage(args)})
	if err != nil {
		return "", err
	}
	text, _ := res.Content[0].(*mcp.TextContent)
	return text.Text, nil
}

// playFake has it play a task of core-small with a model that says turns.
func playFake(t *testing.T, mode string, play modeltest.Player) agentbound.Result {
	t.Helper()
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	dir, _, err := confine.TempDir() // every user may reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confine.RemoveTemp(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("needs its own executable")
	}
	bin := filepath.Join(dir, "bin")
	if err := errors.Join(os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(bin, "fake"), self, 0o755)); err != nil {
		t.Fatal(err)
	}
	peer := modeltest.Serve(t, modeltest.Options{Protocol: modeltest.ChatProgram{}, Key: realKey, Play: modeltest.Through(play, modeltest.Names{Prefix: "w__"})})
	a, err := subject.New(fakeProgram(mode), surroundings{}.parts(), subject.Options{
		Model: peer.Model, Base: peer.URL, Key: realKey, Start: []string{filepath.Join(bin, "fake")}, ReadOnly: []string{bin},
	})
	if err != nil {
		t.Fatal(err)
	}
	return playOnce(t, a, &s.Families[0], agentbound.HB)
}

// TestProgramsThatEnd in the middle of what they do, by themselves or not.
func TestProgramsThatEnd(t *testing.T) {
	look := agentbound.Call{Tool: "list_paths", Args: agentbound.Value("{}")}
	turns := func() modeltest.Player {
		return modeltest.Script(modeltest.Calls("I look twice.", look, look), modeltest.Says("Seen.\nOUTCOME: done — seen"))
	}
	for mode, c := range map[string]struct {
		fault   string // empty: none
		word    agentbound.Word
		stopped int // calls that were proposed and not executed
	}{
		"goes on":  {"", agentbound.Done, 0},
		"leaves":   {"", agentbound.Unstated, 1}, // it says nothing, and its second call is none
		"dies":     {"fake@1: it ended with status -1", agentbound.Unstated, 0},
		"swallows": {"fake@1: the program was ended, at its limit of memory", agentbound.Unstated, 0},
		"calls on": {"and its model proposed it fewer times", agentbound.Unstated, 0},
	} {
		r := playFake(t, mode, turns())
		if end := r.Trajectory.End.Fault; !strings.Contains(end, c.fault) || (end == "") != (c.fault == "") || r.Trajectory.Outcome.Word != c.word {
			t.Errorf("%s: %+v, %+v", mode, r.Trajectory.End, r.Trajectory.Outcome)
		}
		stopped := 0
		for _, s := range r.Trajectory.Steps {
			for _, call := range s.Calls {
				if call.Gate != nil && call.Gate.By == subject.By {
					stopped++
				}
			}
		}
		if stopped != c.stopped {
			t.Errorf("%s: %d calls are marked as not executed", mode, stopped)
		}
	}
}

// TestToolsThatFail: what the server of tools meets reaches the trial: its own failure,
// and no end of a trial.
func TestToolsThatFail(t *testing.T) {
	tools := []agentbound.Tool{{Name: "look", Schema: agentbound.Value(`{"type":"object"}`)}}
	for name, c := range map[string]struct {
		call   subject.Call
		client string // what the program reads
		fault  string // empty: none
	}{
		"a panic": {func(context.Context, agentbound.Call) (agentbound.Value, bool, error) { panic("lost") }, "the server has failed", "panic: lost"},
		"infrastructure": {func(context.Context, agentbound.Call) (agentbound.Value, bool, error) {
			return nil, false, errors.New("the world is gone")
		}, "the server has failed", "the world is gone"},
		"the trial's end": {func(context.Context, agentbound.Call) (agentbound.Value, bool, error) {
			return nil, false, subject.ErrOver
		}, "the task has ended", ""},
		"a tool's failure": {func(context.Context, agentbound.Call) (agentbound.Value, bool, error) {
			return agentbound.StringValue("no such path"), false, nil
		}, "no such path", ""},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- serveTools(ctx, l, tools, c.call) }()
		client, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + l.Addr().String() + "/"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var read string
		if res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "look"}); err != nil {
			read = err.Error()
		} else {
			read = res.Content[0].(*mcp.TextContent).Text
		}
		if !strings.Contains(read, c.client) {
			t.Errorf("%s: the program reads %q", name, read)
		}
		client.Close()
		stop()
		if err := <-served; c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAskVersion: a program that does not start is told with its own words.
func TestAskVersion(t *testing.T) {
	dir, _, err := confine.TempDir() // every user may reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confine.RemoveTemp(dir) })
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string][2]string{
		"echo 1.2.3":                   {"1.2.3", ""},
		"echo 'no part x' >&2; exit 1": {"", "it ended with status 1: no part x"},
		"exit 0":                       {"", "it ended with status 0"},
	} {
		file := filepath.Join(bin, "program")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := rooms{}.askVersion(t.Context(), install.Program{Folder: bin, Start: []string{file}}, 64<<20)
		if got != want[0] || (err == nil) != (want[1] == "") || err != nil && !strings.Contains(err.Error(), want[1]) {
			t.Errorf("%s: %q, %v", script, got, err)
		}
	}
}
