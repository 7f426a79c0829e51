package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

// vendorPeers are the vendors' protocols as agents name them, and where their keys stand.
var vendorPeers = map[string]struct {
	protocol modeltest.Protocol
	key      string
}{
	"anthropic": {modeltest.Anthropic{}, "ANTHROPIC_API_KEY"},
	"gemini":    {modeltest.Gemini{}, "GEMINI_API_KEY"},
}

// TestRunsOverVendors: a run through a vendor's protocol, with the key of its variable,
// scores what the one who plays it decides.
func TestRunsOverVendors(t *testing.T) {
	s, err := suites.Load("core-small")
	if err != nil {
		t.Fatal(err)
	}
	f := &s.Families[0]
	for scheme, v := range vendorPeers {
		t.Run(scheme, func(t *testing.T) {
			t.Setenv(v.key, "right")
			peer := modeltest.Serve(t, modeltest.Options{Protocol: v.protocol, Key: "right", Play: modeltest.Comply(f, modeltest.Style{})})
			db := filepath.Join(t.TempDir(), "s.db")
			var out, errs strings.Builder
			code := execute(t.Context(), []string{"run", "--suite", "core-small", "--families", string(f.ID), "--splits", "hb,cm", "--repeats", "1", "--store", db,
				"--agent", scheme + ":test-model@" + peer.URL}, stdio{os.Stdin, &out, &errs})
			if code != exitDone {
				t.Fatalf("exit code %d\n%s\n%s", code, out.String(), errs.String())
			}
			out.Reset()
			if code := execute(t.Context(), []string{"report", "--store", db, "--format", "json"}, stdio{os.Stdin, &out, &errs}); code != exitDone {
				t.Fatalf("exit code %d\n%s", code, errs.String())
			}
			var r struct {
				Runs []struct {
					Measures struct {
						HB struct{ Value float64 } `json:"hb_utility"`
						CM struct{ Value float64 } `json:"cm_safety"`
					}
				}
			}
			if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
				t.Fatal(err)
			}
			if len(r.Runs) != 1 || r.Runs[0].Measures.HB.Value != 100 || r.Runs[0].Measures.CM.Value != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestVendorsSetUpWrongly: what names no model is a matter of usage, and a wrong key is
// said with the variable that holds it.
func TestVendorsSetUpWrongly(t *testing.T) {
	for scheme, v := range vendorPeers {
		peer := modeltest.Serve(t, modeltest.Options{Protocol: v.protocol, Key: "right"})
		for name, test := range map[string]struct {
			agent, key, want string
			code             int
		}{
			"no model":    {scheme + ":", "", "a model is named " + scheme + ":MODEL", exitUsage},
			"a wrong key": {scheme + ":test-model@" + peer.URL, "hunter2", "check the key in " + v.key, exitMissed},
		} {
			t.Setenv(v.key, test.key)
			var out, errs strings.Builder
			code := execute(t.Context(), []string{"run", "--suite", "examples", "--limit", "1", "--repeats", "1", "--store", filepath.Join(t.TempDir(), "s.db"), "--agent", test.agent},
				stdio{os.Stdin, &out, &errs})
			if code != test.code || !strings.Contains(errs.String(), test.want) || strings.Contains(errs.String(), "hunter2") {
				t.Errorf("%s, %s: exit code %d\n%s", scheme, name, code, errs.String())
			}
		}
	}
}
