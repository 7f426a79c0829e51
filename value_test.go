package agentbound_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
)

// TestValueKeepsItsBytes through encoding, decoding and encoding again.
func TestValueKeepsItsBytes(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `""`, `"<b>&\u2028é</b>"`, `0`, `-1`, `1.0`, `1e+100`, `12345678901234567890123`, `[]`, `{}`, `{"a":[1,1.0,{"b":null}]}`,
	} {
		v := agentbound.Value(text)
		b, err := agentbound.EncodeJSON(struct{ V agentbound.Value }{v})
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"V":` + text + `}`; string(b) != want {
			t.Errorf("%s encodes as %s", text, b)
		}
		var back struct{ V agentbound.Value }
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		if !back.V.Equal(v) || back.V.String() != text {
			t.Errorf("%s comes back as %s", text, back.V)
		}
	}
}

// TestValueOwnsItsBytes: what was decoded does not change with the buffer it came from.
func TestValueOwnsItsBytes(t *testing.T) {
	buffer := []byte(`{"a":1}`)
	var v agentbound.Value
	if err := v.UnmarshalJSON(buffer); err != nil {
		t.Fatal(err)
	}
	copy(buffer, `xxxxxxx`)
	if v.String() != `{"a":1}` {
		t.Errorf("the value is now %s", v)
	}
	if err := (*agentbound.Value)(nil).UnmarshalJSON(buffer); err == nil {
		t.Error("no error for a nil pointer")
	}
}

func TestZeroValueEncodesAsNull(t *testing.T) {
	b, err := agentbound.EncodeJSON(agentbound.Value(nil))
	if err != nil || string(b) != "null" {
		t.Errorf("%s, %v", b, err)
	}
	if (agentbound.Value)(nil).Equal(agentbound.Null) {
		t.Error("no value at all equals null")
	}
}

func TestStringValue(t *testing.T) {
	for text, want := range map[string]string{
		"":             `""`,
		`a "b" \`:      `"a \"b\" \\"`,
		"<&>":          `"<&>"`,
		"line\nbreak":  `"line\nbreak"`,
		"\u2028é\x00":  `"\u2028é\u0000"`,
		"broken \xff!": "\"broken \uFFFD!\"",
	} {
		v := agentbound.StringValue(text)
		if v.String() != want {
			t.Errorf("%q is %s, want %s", text, v, want)
		}
		var back string
		if err := json.Unmarshal(v, &back); err != nil {
			t.Fatal(err)
		}
		if again := agentbound.StringValue(back); !again.Equal(v) {
			t.Errorf("%q: read back and written again it is %s and was %s", text, again, v)
		}
	}
}

func TestEncodeJSON(t *testing.T) {
	b, err := agentbound.EncodeJSON(map[string]any{"b": "<&>", "a": 1})
	if err != nil || string(b) != `{"a":1,"b":"<&>"}` {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := agentbound.EncodeJSON(func() {}); err == nil {
		t.Error("a function was encoded")
	}
	if _, err := agentbound.EncodeJSON(agentbound.Value(`{"cut`)); err == nil {
		t.Error("malformed JSON was encoded")
	}
}

// TestOpKeepsNull: to add null is not to add nothing.
func TestOpKeepsNull(t *testing.T) {
	diff := agentbound.Diff{{Op: agentbound.OpAdd, Path: "/a", Value: agentbound.Null}, {Op: agentbound.OpRemove, Path: "/b"}}
	b, err := agentbound.EncodeJSON(diff)
	if err != nil {
		t.Fatal(err)
	}
	if want := `[{"op":"add","path":"/a","value":null},{"op":"remove","path":"/b"}]`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
	var back agentbound.Diff
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(diff, back); d != "" {
		t.Error(d)
	}
}
