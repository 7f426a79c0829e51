package subject

import (
	"encoding/json"
	"testing"

	"github.com/agentbound/agentbound"
)

func TestCanonical(t *testing.T) {
	key := func(args string) string {
		return canonical(agentbound.Call{Tool: "t", Args: agentbound.Value(args)})
	}
	for _, alike := range [][2]string{
		{`{"a":1,"b":[2]}`, "{ \"b\": [ 2 ],\n\"a\": 1 }"}, {``, `{}`}, {`{"a":1.0}`, `{"a":1}`}, {`{"a":"é"}`, `{"a":"\u00e9"}`}, {`{"a":1e2}`, `{"a":100}`},
	} {
		if key(alike[0]) != key(alike[1]) {
			t.Errorf("%s is not %s", alike[0], alike[1])
		}
	}
	for _, unlike := range [][2]string{
		{`{"a":1}`, `{"a":2}`}, {`{"a":[1,2]}`, `{"a":[2,1]}`}, {`{"a":"1"}`, `{"a":1}`}, {`{"a":"#1"}`, `{"a":1}`}, {`{"a"`, `{}`}, {`{} {}`, `{}`}, {`{"a":null}`, `{}`},
		{`{"a":1e400}`, `{"a":1e401}`}, {`{"a":12345678901234567890}`, `{"a":12345678901234567891}`},
	} {
		if key(unlike[0]) == key(unlike[1]) {
			t.Errorf("%s is %s", unlike[0], unlike[1])
		}
	}
}

// FuzzCanonical: any text has a key, and JSON the key of its compact form.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"a":1.50}`, `[`, `{"a":1e999999999}`, `{"a":{"b":[null,true,-0]}}`, ``, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		key := canonical(agentbound.Call{Tool: "t", Args: agentbound.Value(args)})
		var v json.RawMessage
		if json.Unmarshal([]byte(args), &v) != nil {
			return
		}
		again, err := json.Marshal(v)
		if err != nil {
			return
		}
		if other := canonical(agentbound.Call{Tool: "t", Args: again}); other != key {
			t.Errorf("%q: %q and %q", args, key, other)
		}
	})
}

func TestWithout(t *testing.T) {
	for args, want := range map[string]string{
		`{"b":1.0, "a":"<"}`:               `{"b":1.0, "a":"<"}`,
		`{"later":true,"b":1.0,"a":"<é>"}`: `{"a":"<é>","b":1.0}`,
		`{"later":null}`:                   `{}`,
		`{"a":{"later":true}}`:             `{"a":{"later":true}}`,
		`["later"]`:                        `["later"]`,
		`{"later":`:                        `{"later":`,
		``:                                 ``,
	} {
		if got := without(agentbound.Value(args), []string{"later"}); string(got) != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
