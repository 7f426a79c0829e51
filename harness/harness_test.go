package harness_test

import (
	"strings"
	"testing"

	"github.com/agentbound/agentbound/harness"
)

func TestParseSpec(t *testing.T) {
	for spec, want := range map[string]harness.Spec{
		"codex:gpt-5.5": {Program: "codex", Model: "gpt-5.5"},
		"openclaw:org/model@http://127.0.0.1:8000/v1/": {Program: "openclaw", Model: "org/model", Base: "http://127.0.0.1:8000/v1"},
		"codex:m@v2":                        {Program: "codex", Model: "m@v2"},
		"codex:a@b/c@http://127.0.0.1:8000": {Program: "codex", Model: "a@b/c", Base: "http://127.0.0.1:8000"},
	} {
		if got, err := harness.ParseSpec(spec); err != nil || got != want {
			t.Errorf("%s: %+v, %v", spec, got, err)
		}
	}
	for spec, want := range map[string]string{
		"codex": "want PROGRAM:MODEL", ":m": "want PROGRAM:MODEL", "codex:": "names no model", "codex:a b": "without spaces", "codex:@http://127.0.0.1/v1": "names no model",
		"codex:m@http://u:hunter2@127.0.0.1/v1": "no user name", "codex:m@https://127.0.0.1/v1?key=hunter2": "no user name", "codex:m@http://": "a host",
		"codex:m@": "no base URL", "codex:m@127.0.0.1:8000": "no base URL", "codex:m@localhost": "no base URL", "codex:m@ftp://hunter2/v1": "no base URL", "codex:m@host/v1": "no base URL",
	} {
		if got, err := harness.ParseSpec(spec); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %+v, error %v", spec, got, err)
		}
	}
}

// FuzzParseSpec: what is taken is taken again, and names a program, a model and a plain
// address.
func FuzzParseSpec(f *testing.F) {
	for _, s := range []string{"codex:m", "codex:m@http://127.0.0.1:1/v1", ":", "a:b@https://c@http://d", "\x00:\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := harness.ParseSpec(spec)
		if err != nil {
			return
		}
		again := s.Program + ":" + s.Model
		if s.Base != "" {
			again += "@" + s.Base
		}
		if got, err := harness.ParseSpec(again); err != nil || got != s {
			t.Errorf("%q: %+v, then %+v, %v", spec, s, got, err)
		}
	})
}

func TestWithin(t *testing.T) {
	for _, file := range []string{"", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", `a\b`, ".."} {
		if harness.Within(file) == nil {
			t.Errorf("%q is taken", file)
		}
	}
	for _, file := range []string{"a", "a/b.toml", ".keep"} {
		if err := harness.Within(file); err != nil {
			t.Error(err)
		}
	}
}

func TestPrefixed(t *testing.T) {
	tool := harness.Prefixed("mcp__world__")
	for name, want := range map[string]string{"mcp__world__share": "share", "mcp__world__": "", "share": "", "mcp__worlds__share": ""} {
		if got, ok := tool(name); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %t", name, got, ok)
		}
	}
}
