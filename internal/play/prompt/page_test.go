package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
)

// TestObservation: an observation as a person reads it.
func TestObservation(t *testing.T) {
	for name, c := range map[string]struct{ json, want string }{
		"text":   {`"sent"`, "  sent\n"},
		"error":  {`"error: no such thing"`, "  error: no such thing\n"},
		"nought": {`null`, "  –\n"},
		"empty":  {`[]`, "  (none)\n"},
		"aligned keys": {`{"id":"X-1","handling":"Restricted","open":true,"count":3,"rate":1.50,"note":"","who":null}`, `
  id        X-1
  handling  Restricted
  open      yes
  count     3
  rate      1.50
  note      ""
  who       –
`},
		"nested": {`{"id":"X-1","owner":{"name":"Dana","tags":["a","b"],"extra":{}},"tail":1}`, `
  id    X-1
  owner
    name   Dana
    tags
      • a
      • b
    extra  (nothing)
  tail  1
`},
		"records": {`[{"id":"A","n":1},{"id":"B","n":2}]`, `
  • id  A
    n   1

  • id  B
    n   2
`},
		"lists of lists": {`[["a","b"],[]]`, `
  • • a
    • b
  • (none)
`},
		"wrapped below itself": {`{"rule":"a text that is much longer than the narrow line it stands on","k":"v"}`, `
  rule  a text that is much longer
        than the narrow line it
        stands on
  k     v
`},
		"wide characters": {`{"名":"x","ab":"y"}`, `
  名  x
  ab  y
`},
		"harmless": {`{"a":"x\u001b[31my"}`, "\n  a  x\uFFFD[31my\n"},
	} {
		var out strings.Builder
		page{out: &out, width: 36}.observation(agentbound.Value(c.json))
		if d := cmp.Diff(strings.TrimPrefix(c.want, "\n"), out.String()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestColour: colours are there when asked for, and only then.
func TestColour(t *testing.T) {
	for _, colour := range []bool{true, false} {
		var out strings.Builder
		p := page{out: &out, width: 60, colour: colour}
		p.heading("Tools")
		p.hint("a hint")
		p.bad("a slip")
		p.observation(agentbound.Value(`{"a":{"b":1}}`))
		if strings.Contains(out.String(), "\x1b[") != colour {
			t.Errorf("colour %v: %q", colour, out.String())
		}
	}
}
