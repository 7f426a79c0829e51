package dsh_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/harness"
	"github.com/agentbound/agentbound/harness/dsh"
)

func TestLaunch(t *testing.T) {
	given := harness.Trial{
		Start: []string{"/n/node", "/d/bin.js"}, Home: "/x", Model: "m-1", URL: "http://127.0.0.1:1", Key: "key-1",
		MCP: "http://127.0.0.1:2/", System: "Who asks: {{secret}}", Instruction: "--help $HOME",
	}
	l, err := dsh.Program().Launch(given)
	if err != nil {
		t.Fatal(err)
	}
	if last := l.Argv[len(l.Argv)-1]; last != " --help $HOME" {
		t.Errorf("the instruction is %q, which is taken for an option", last)
	}
	var patch []struct {
		ID       string
		Disabled bool
		Config   struct{ Model, Persona string }
		Insert   []struct{ Config struct{ URL string } }
	}
	if err := json.Unmarshal(l.Files["patch.yml"], &patch); err != nil {
		t.Fatal(err)
	}
	off, model, persona, url := 0, "", "", ""
	for _, p := range patch {
		if p.Disabled {
			off++
		}
		model, persona = model+p.Config.Model, persona+p.Config.Persona
		for _, i := range p.Insert {
			url += i.Config.URL
		}
	}
	if off < 20 || model != "m-1" || strings.Contains(persona, "{{secret}}") || !strings.Contains(persona, "Who asks") || url != given.MCP {
		t.Errorf("%d are off, model %q, persona %q, url %q", off, model, persona, url)
	}
	given.Effort = "high"
	if _, err := dsh.Program().Launch(given); err == nil || !strings.Contains(err.Error(), "effort") {
		t.Errorf("error %v", err)
	}
}

func TestFault(t *testing.T) {
	p := dsh.Program()
	if got := p.Fault(harness.Exit{}); got != "" {
		t.Errorf("%q", got)
	}
	if got := p.Fault(harness.Exit{Code: 1}); got != "it ended with status 1" {
		t.Errorf("%q", got)
	}
}
