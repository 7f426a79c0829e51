package star

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"github.com/agentbound/agentbound"
)

func TestDecodeUndoesEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := trees(3).Draw(t, "tree")
		enc, err := Encode(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(enc)
		if err != nil {
			t.Fatalf("%v of %s", err, enc)
		}
		again, err := Encode(back)
		if err != nil || !again.Equal(enc) {
			t.Fatalf("%s became %s, %v", enc, again, err)
		}
		if !sameTree(normal(v), back) {
			t.Fatalf("%s became %s", v, back)
		}
		if !json.Valid(enc) {
			t.Fatalf("not JSON: %s", enc)
		}
	})
}

// normal is a copy in the form that a state has.
func normal(v starlark.Value) starlark.Value {
	c, err := copyTree(v)
	if err != nil {
		panic(err)
	}
	return c
}

func TestStringsAsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := texts().Draw(t, "text")
		got, err := Encode(starlark.String(s))
		if want := agentbound.StringValue(s); err != nil || !got.Equal(want) {
			t.Fatalf("%q: got %s, encoding/json gives %s", s, got, want)
		}
	})
}

func TestBrokenTextIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes"))
		first := must(Encode(starlark.String(s)))
		back := must(Decode(first))
		if second := must(Encode(back)); !second.Equal(first) {
			t.Fatalf("%q: %s, then %s", s, first, second)
		}
		var std string
		if err := json.Unmarshal(first, &std); err != nil || starlark.String(std) != back {
			t.Fatalf("%q: encoding/json reads %q, here %s", s, std, back)
		}
		if c := normal(starlark.String(s)); c != back {
			t.Fatalf("%q: a state would keep %s, a replay %s", s, c, back)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCanonicalForms(t *testing.T) {
	huge, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	for _, c := range []struct {
		in   any
		want string
	}{
		{nil, `null`}, {true, `true`}, {4200, `4200`}, {int64(-1), `-1`}, {uint64(math.MaxUint64), `18446744073709551615`},
		{huge, `-123456789012345678901234567890`}, {4200.0, `4200.0`}, {0.1, `0.1`}, {math.Copysign(0, -1), `-0.0`},
		{1e300, `1e+300`}, {1e21, `1e+21`}, {1e-7, `1e-07`}, {123456789.0, `1.23456789e+08`},
		{"<>&", `"<>&"`}, {"\u2028", `"\u2028"`}, {"\x7f", "\"\x7f\""}, {"a\tb\x01", `"a\tb\u0001"`}, {"\xff", "\"\uFFFD\""}, {"é", `"é"`},
		{json.Number("1e3"), `1000.0`}, {json.Number("10"), `10`}, {json.Number("-0"), `0`},
		{map[string]any{"é": 1, "b": 2, "a": 3, "B": 4, "": 5}, `{"":5,"B":4,"a":3,"b":2,"é":1}`},
		{[]any{1, 1.0, "1", []any{}, map[string]any{}}, `[1,1.0,"1",[],{}]`},
	} {
		got, err := Canonical(c.in)
		if err != nil || string(got) != c.want {
			t.Errorf("Canonical(%v) = %s, %v; want %s", c.in, got, err, c.want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	for _, c := range []struct {
		in   any
		want string
	}{
		{math.NaN(), "NaN has no JSON form"}, {math.Inf(1), "+Inf has no JSON form"}, {struct{}{}, "a struct {} has no JSON form"},
		{map[string]any{"\xff": 1}, "key must be UTF-8"}, {json.Number("1e999"), "not a number that fits"},
		{json.Number(strings.Repeat("9", 1236)), "a number of 1236 digits"}, {json.Number(strings.Repeat("9", 1235)), "more than 4096 bits"},
		{new(big.Int).Lsh(big.NewInt(1), 5000), "more than 4096 bits"}, {nested(66), "nested deeper"},
	} {
		if got, err := Canonical(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Canonical(%.40v) = %s, %v; want %q", c.in, got, err, c.want)
		}
	}
}

func nested(n int) any {
	var v any = 1
	for range n {
		v = []any{v}
	}
	return v
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, "not JSON"}, {`{`, "not JSON"}, {`{} {}`, "more than one"}, {`{}]`, "more than one"}, {`{}}`, "more than one"}, {`1 x`, "more than one"},
		{`NaN`, "not JSON"}, {strings.Repeat("[", 66) + strings.Repeat("]", 66), "nested deeper"},
		{strings.Repeat("[", 1<<20), "not JSON"}, {"[" + strings.Repeat("1,", MaxNodes) + "1]", "larger than 65536 values"},
		{`"` + strings.Repeat("x", MaxBytes) + `"`, "bytes"}, {`1e999`, "that fits"},
	} {
		if v, err := Decode(agentbound.Value(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Decode(%.30s) = %v, %v; want %q", c.in, v, err, c.want)
		}
	}
	if _, err := DecodeState(agentbound.Value(`[]`)); err == nil || !strings.Contains(err.Error(), "an object is needed") && !strings.Contains(err.Error(), "JSON object is needed") {
		t.Errorf("a list as a state: %v", err)
	}
}

func TestDecodedIsFrozenAndInOrder(t *testing.T) {
	v := must(Decode(agentbound.Value(`{"b": [1], "a": {"z": 1, "y": 2}}`)))
	if err := v.(*starlark.Dict).SetKey(starlark.String("c"), starlark.None); err == nil {
		t.Error("a decoded value can be changed")
	}
	if got := v.String(); got != `{"a": {"y": 2, "z": 1}, "b": [1]}` {
		t.Errorf("got %s", got)
	}
}

func TestNoState(t *testing.T) {
	var s State
	if _, err := s.Value(); !errors.Is(err, errNoState) || !s.Zero() {
		t.Error(err)
	}
	if _, err := Apply(s, nil); !errors.Is(err, errNoState) {
		t.Error(err)
	}
	if _, err := Get(s, ""); !errors.Is(err, errNoState) {
		t.Error(err)
	}
	if _, err := Difference(s, state(t, `{}`)); !errors.Is(err, errNoState) {
		t.Error(err)
	}
	if _, err := Encode(nil); err == nil {
		t.Error("nil was encoded")
	}
}

// What copyTree lets through can be stored, and read back.
func TestCopiedCanBeEncoded(t *testing.T) {
	many := make([]starlark.Value, 1000)
	for i := range many {
		many[i] = starlark.String(strings.Repeat("\x01", 4000))
	}
	if _, err := copyTree(starlark.NewList(many)); !errors.Is(err, errBytes) {
		t.Errorf("4 MB that take 24 MB to write: %v", err)
	}
	if c, err := copyTree(starlark.NewList(many[:100])); err != nil {
		t.Error(err)
	} else if enc := encode(t, c); !bytes.HasPrefix(enc, []byte(`["\u0001`)) {
		t.Error("escape lost")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{}`, `[1,1.0,-0.0,1e300,"\u2028\ud800",{"a~/b":null}]`, `{"a":1,"a":2}`, "\"\xff\"", `123456789012345678901234567890`, `1e-999`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Decode(b)
		if err != nil {
			return
		}
		enc, err := Encode(v)
		if errors.Is(err, errBytes) {
			return // escapes made it longer
		}
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(enc)
		if err != nil || !sameTree(v, back) {
			t.Fatalf("%q: %s, then %v, %v", b, enc, back, err)
		}
		if again := encode(t, back); !again.Equal(enc) {
			t.Fatalf("%s, then %s", enc, again)
		}
	})
}
