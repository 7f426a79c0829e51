package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/internal/confine"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
)

// installedInName puts small programs where agent programs are installed: each says a
// version, and can do nothing else.
func installedInName(t *testing.T, all ...harness.Program) {
	t.Helper()
	dir, _, err := confine.TempDir() // every user may reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { confine.RemoveTemp(dir) })
	t.Setenv("AGENTBOUND_HARNESS", dir)
	for _, p := range all {
		into := filepath.Join(dir, p.String())
		start, ok := p.Install.Start[runtime.GOOS+"/"+runtime.GOARCH]
		files := []string{}
		if p.Install.Node {
			start, ok = p.Install.Start[""]
			files = append(files, filepath.Join(into, "node_modules", harness.NodePackage(runtime.GOOS, runtime.GOARCH), "bin", "node"))
		}
		if !ok {
			t.Skipf("%s is not made for %s/%s", p, runtime.GOOS, runtime.GOARCH)
		}
		h := sha256.New()
		for _, part := range [][]byte{p.Install.Manifest, p.Install.Lock, []byte(strings.Join(p.Install.Flags, " "))} {
			fmt.Fprintf(h, "%d\n", len(part))
			h.Write(part)
		}
		stamp := fmt.Sprintf(`{"program":%q,"lock":%q}`, p, hex.EncodeToString(h.Sum(nil)))
		for _, file := range append(files, filepath.Join(into, "node_modules", filepath.FromSlash(start))) {
			writeInName(t, file, "#!/bin/sh\necho "+p.Name+" in name\n")
		}
		writeInName(t, filepath.Join(into, "installed.json"), stamp)
	}
}

func writeInName(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// plainPeers are servers of the protocols of agent programs, without what programs add.
var plainPeers = map[harness.Protocol]modeltest.Protocol{
	harness.Responses: modeltest.Responses{}, harness.ChatCompletions: modeltest.Chat{}, harness.Messages: modeltest.Anthropic{}, harness.GenerateContent: modeltest.Gemini{},
}

// reports answers a question, and calls the tool where there is one.
func reports(r model.Request) model.Response {
	if len(r.Tools) == 0 {
		return modeltest.Says("OK")
	}
	res := modeltest.Says("")
	res.Stop, res.Message.Calls = model.StopCalls, []model.ToolCall{{ID: "1", Name: "report", Args: `{"word":"OK"}`}}
	return res
}

// TestAgentsCheckPrograms: an agent program that starts answers only where its model does,
// which is asked in the program's protocol.
func TestAgentsCheckPrograms(t *testing.T) {
	if _, err := confine.Best(); err != nil {
		t.Skip(err)
	}
	const secret = "hunter2-hunter2"
	t.Setenv("COMPAT_API_KEY", secret)
	installedInName(t, programs()...)
	for _, p := range programs() {
		t.Run(p.Name, func(t *testing.T) {
			peer := modeltest.Serve(t, modeltest.Options{Protocol: plainPeers[p.Protocol], Play: reports, Key: secret})
			code, out, errs := inside(t, "agents", "--check", p.Name+":test-model@"+peer.URL)
			if code != exitDone || !strings.Contains(out, "answers as test-model-served, in ") || !strings.Contains(out, "; calls tools; starts as "+p.Name+" in name") || strings.Contains(out+errs, secret) {
				t.Errorf("exit code %d: %s%s", code, out, errs)
			}
			if n := len(peer.Requests()); n != 2 {
				t.Errorf("its model was asked %d times", n)
			}
			code, out, _ = inside(t, "agents", "--format", "json", "--check", p.Name+":test-model@http://127.0.0.1:1/v1")
			var rows []agentRow
			if err := json.Unmarshal([]byte(out), &rows); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if c := rows[0].Check; code != exitMissed || c.Answers || c.Endpoint != "not reached" || c.Program != p.Name+" in name" || !strings.Contains(c.Why, "connection refused") {
				t.Errorf("nobody there: exit code %d: %+v", code, *c)
			}
		})
	}
}

// TestAgentsCheckForm: --form is advised to models, and not to agent programs, which have none.
func TestAgentsCheckForm(t *testing.T) {
	for _, test := range []struct {
		checked
		want string
	}{
		{checked{Answers: true, Tools: toolsLeft}, "answers, in 0s; called no tool when told to: is tool calling on at the server? --form react needs none"},
		{checked{Answers: true, Tools: toolsRejected, Why: "no"}, "answers, in 0s; rejects tools: no; --form react needs none"},
		{checked{Answers: true, Tools: toolsLeft, Program: "p 1"}, "answers, in 0s; called no tool when told to: is tool calling on at the server?; starts as p 1"},
		{checked{Answers: true, Tools: toolsRejected, Why: "no", Program: "p 1"}, "answers, in 0s; rejects tools: no; starts as p 1"},
		{checked{Why: "no", Program: "p 1"}, "no: no; starts as p 1"},
	} {
		if got := test.String(); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}

// TestAgentsCheckBadName: a name that nothing answers to keeps no other from being checked.
func TestAgentsCheckBadName(t *testing.T) {
	peer := modeltest.Serve(t, modeltest.Options{Play: reports})
	good := "compat:test-model@" + peer.URL
	code, out, _ := inside(t, "agents", "--check", "exec:no-such-program-anywhere", good, "compat:m@http://u:hunter2@127.0.0.1:1/v1")
	if code != exitMissed || !strings.Contains(out, good+": answers as test-model-served") || !strings.Contains(out, "exec:no-such-program-anywhere: no: ") || strings.Contains(out, "hunter2") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, _, errs := inside(t, "agents", "--check", "nobody:1", "nobody:2"); code != exitUsage || !strings.Contains(errs, "nobody") {
		t.Errorf("none that is known: exit code %d: %s", code, errs)
	}
}

// TestAgentsCheckOtherProtocol: a server that does not speak a program's protocol is told by
// what it lacks, and not by what its address has already.
func TestAgentsCheckOtherProtocol(t *testing.T) {
	if _, err := confine.Best(); err != nil {
		t.Skip(err)
	}
	installedInName(t, programs()...)
	peer := modeltest.Serve(t, modeltest.Options{Play: reports})
	for spec, want := range map[string]string{
		"codex:test-model@" + peer.URL:                                  "codex speaks responses with its model; openai:test-model@" + peer.URL + ": this server has no /v1/responses (status 404)",
		"claude-code:test-model@" + strings.TrimSuffix(peer.URL, "/v1"): "claude-code speaks messages with its model; anthropic:test-model@" + strings.TrimSuffix(peer.URL, "/v1") + ": this server has no /v1/messages (status 404)",
		"claude-code:test-model@" + peer.URL:                            "this server has no /v1/messages (status 404)", // of /v1/v1/messages
	} {
		code, out, _ := inside(t, "agents", "--check", spec)
		if code != exitMissed || !strings.Contains(out, want) || strings.Contains(out, "most end in /v1") {
			t.Errorf("%s: exit code %d: %s\nwant %s", spec, code, out, want)
		}
	}
}
