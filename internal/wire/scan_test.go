package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzScan: what is valid here is valid for encoding/json and the other way round, and an
// object has the members that it has there.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":[true,{"c":null}],"a":"\u00e4\\\""}`, `[]`, ` { } `, `{"a":}`, `{"a":1,}`, `[1 2]`, `"\x"`, `"\ud800"`, "\"a\nb\"", `-0.5e+3`, `01`, `1.`, `-`, `nul`, `{"\u0061":1}`, `{"a":"\\"}`, "{\"a\xff\":\"\xff\"}", ``, `{"a":"b"`, `"`, `[[[[1]]]]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, want := valid(raw), json.Valid(raw); got != want {
			t.Fatalf("%q: valid %v, encoding/json says %v", raw, got, want)
		}
		var want object
		failed := json.Unmarshal(raw, &want) != nil || want == nil
		got, err := parseObject(raw)
		if (err != nil) != failed {
			t.Fatalf("%q: %v", raw, err)
		}
		if failed {
			return
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", raw, d)
		}
		for k, v := range got {
			var s string
			if v[0] == '"' && json.Unmarshal(v, &s) == nil && unquote(v) != s {
				t.Errorf("%q says %q, not %q", v, s, unquote(v))
			}
			var list []json.RawMessage
			if v[0] == '[' && json.Unmarshal(v, &list) == nil {
				n := 0
				for e := range elements(v) {
					if n >= len(list) || !bytes.Equal(e, list[n]) {
						t.Errorf("%s of %q: element %d is %q", k, raw, n, e)
					}
					n++
				}
				if n != len(list) {
					t.Errorf("%s of %q has %d elements", k, raw, n)
				}
			}
		}
	})
}

// TestScanDepth: nesting has the bound that it has in encoding/json: none can exhaust the
// stack.
func TestScanDepth(t *testing.T) {
	for _, n := range []int{deepest - 1, deepest, deepest + 1, 1 << 20} {
		for _, s := range []string{strings.Repeat("[", n) + strings.Repeat("]", n), strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)} {
			if got, want := valid([]byte(s)), json.Valid([]byte(s)); got != want {
				t.Errorf("%d deep, %.10s: %v, encoding/json says %v", n, s, got, want)
			}
		}
	}
}
