package star

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"github.com/agentbound/agentbound"
)

func TestParseCall(t *testing.T) {
	for _, c := range []struct{ text, tool, args string }{
		{`list_extracts()`, "list_extracts", `{}`},
		{`read_claim(claim_id = "C-204")`, "read_claim", `{"claim_id":"C-204"}`},
		{`f(b = 1, a = -2, c = 1.0, d = -0.0, e = 1e300, f = --3)`, "f", `{"a":-2,"b":1,"c":1.0,"d":-0.0,"e":1e+300,"f":3}`},
		{`f(a = True, b = False, c = None, d = [1, "x", []], e = {"k": {"l": [1]}, 'j': ("x")})`, "f", `{"a":true,"b":false,"c":null,"d":[1,"x",[]],"e":{"j":"x","k":{"l":[1]}}}`},
		{"f(text = \"one \" +\n  \"two \" + (\"three\" + \"!\"))", "f", `{"text":"one two three!"}`},
		{`f(a = """x
y""", b = r"\d", c = "\u00e9\n", d = "x" "y",)`, "f", ""},
		{`f(n = 123456789012345678901234567890)`, "f", `{"n":123456789012345678901234567890}`},
		{`f(n = 0x10, m = 0o17, k = 0b11)`, "f", `{"k":3,"m":15,"n":16}`},
		{"f(a = 1) \n", "f", `{"a":1}`},
		{"f(a = 1) # comment", "f", `{"a":1}`},
	} {
		got, err := ParseCall(c.text)
		if c.args == "" {
			if err == nil {
				t.Errorf("%s: got %s", c.text, got)
			}
			continue
		}
		if err != nil || got.Tool != c.tool || string(got.Args) != c.args {
			t.Errorf("%s: got %s %s, %v", c.text, got.Tool, got.Args, err)
		}
	}
}

func TestParseCallRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "call:1:1: got end of file"}, {`f`, "call:1:1: a call is written tool(name = value, …)"}, {`f(`, "call:1:3: got end of file"},
		{`f(a = 1) g()`, "after expression"}, {`f(a = 1), g()`, "a call is written"}, {`f.g(a = 1)`, "call:1:1: a call begins with the name of a tool"},
		{`f()(a = 1)`, "a call begins with the name of a tool"}, {`f(1)`, "call:1:3: arguments are named: name = value"}, {`f(*[1])`, "arguments are named"},
		{`f(**{})`, "arguments are named"}, {`f(a = 1, a = 2)`, "call:1:10: argument a is given twice"}, {`f(a = b)`, "call:1:7: a value is a literal"},
		{`f(a = g())`, "a value is a literal"}, {`f(a = (1, 2))`, "a value is a literal"}, {`f(a = [x for x in []])`, "a value is a literal"},
		{`f(a = 1 + 2)`, "call:1:9: only texts are added"}, {`f(a = "x" + 1)`, "only texts are added"}, {`f(a = "x" - "y")`, "a value is a literal"},
		{`f(a = +1)`, "a value is a literal"}, {`f(a = -"x")`, "call:1:7: a value is a literal"}, {`f(a = -True)`, "a value is a literal"}, {`f(a = not True)`, "a value is a literal"},
		{`f(a = b"x")`, "call:1:7: a value is a literal"}, {`f(a = {1: 2})`, "call:1:8: a key is a text"}, {`f(a = {"k": 1, "k": 2})`, `key "k" is given twice`},
		{`f(a = {[]: 2})`, "a key is a text"}, {`f(a = [b])`, "call:1:8: a value is a literal"}, {`f(a = {"k": x})`, "a value is a literal"},
		{`f(a = 1e999)`, "call:1:12: invalid float literal"}, {`f(a = 1` + strings.Repeat("0", 2000) + `)`, "call:1:7: a number of more than 4096 bits"},
		{`f(a = ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `)`, "nested deeper"}, {`f(a = ` + strings.Repeat("[", 90000) + `)`, "excessive nesting"},
		{`f(a = ` + strings.Repeat(`-`, 90000) + `1)`, "excessive nesting"}, {`f(a = "` + strings.Repeat("x", MaxSource) + `")`, "bytes of source"},
		{`f(a 1)`, "call:1:6: got int literal"}, {"f(a = 'x\n')", "call:1"},
	} {
		got, err := ParseCall(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s: got %s, %.200v; want %q", c.text, got, err, c.want)
		}
	}
	long := `f(a = "` + strings.Repeat(`" + "x`, 40000) + `")`
	if got, err := ParseCall(long); err != nil || len(got.Args) != 40000+len(`{"a":""}`) {
		t.Errorf("a folded text: %d bytes, %v", len(got.Args), err)
	}
}

func TestFormatCall(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"f", `{}`, `f()`},
		{"f", `{"b":1,"a":"x\n\"\u2028é"}`, `f(a = "x\n\"\u2028é", b = 1)`},
		{"f", `{"a":null,"b":true,"c":[1.0,{"k":-0.0}]}`, `f(a = None, b = True, c = [1.0, {"k": -0.0}])`},
		{"f", `{"a b":1}`, `f{"a b":1}`},
		{"f", `{"if":1}`, `f{"if":1}`},
		{"f", `{"":1}`, `f{"":1}`},
		{"f g", `{}`, `f g{}`},
		{"f", `"{\"n\""`, `f"{\"n\""`},
		{"f", `[1]`, `f[1]`},
		{"f", `x`, `fx`},
		{"f(a = 1); g", `{}`, `f(a = 1); g{}`},
	} {
		if got := FormatCall(agentbound.Call{Tool: c.tool, Args: agentbound.Value(c.args)}); got != c.want {
			t.Errorf("%s%s: got %s, want %s", c.tool, c.args, got, c.want)
		}
	}
}

func TestParseUndoesFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := starlark.NewDict(0)
		for range rapid.IntRange(0, 4).Draw(t, "arguments") {
			_ = args.SetKey(starlark.String(rapid.StringMatching(`[a-z_][a-z0-9_]{3,5}x`).Draw(t, "name")), trees(2).Draw(t, "value"))
		}
		c := agentbound.Call{Tool: rapid.StringMatching(`[a-z_][a-z0-9_]{3,5}x`).Draw(t, "tool"), Args: must(Encode(args))}
		text := FormatCall(c)
		back, err := ParseCall(text)
		if err != nil || !back.Equal(c) {
			t.Fatalf("%s: %s, %v; want %s", text, back, err, c)
		}
	})
}

func FuzzParseCall(f *testing.F) {
	for _, s := range []string{`f()`, `f(a = "x" + "y", b = [1, -2.5, {"k": None}])`, `f(a = b"x")`, `f(a = 0x1F)`, `f(if = 1)`, `f(a = "\ud800")`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCall(text)
		if err != nil {
			return
		}
		v, err := Decode(c.Args)
		if err != nil {
			t.Fatalf("%s cannot be read: %v", c, err)
		}
		if enc := encode(t, v); !enc.Equal(c.Args) {
			t.Fatalf("%s is not canonical", c)
		}
		again := FormatCall(c)
		back, err := ParseCall(again)
		if err != nil || !back.Equal(c) {
			t.Fatalf("%s: %s, %v", again, back, err)
		}
	})
}
