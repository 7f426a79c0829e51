package star

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
)

const allTypes = `
def take(state, text, texts, whole, number, flag, kind, thing, things, note = "none", maybe = None, hidden = 7):
    state["got"] = [text, texts, whole, number, flag, kind, thing, things, note, maybe, hidden]
    return [type(x) for x in state["got"]]

tool(take, "Take one of each.",
     text = string("A text."),
     texts = strings("Texts."),
     whole = integer("A whole number."),
     number = number("A number."),
     flag = boolean("Yes or no."),
     kind = enum(["a", "b"], "A kind."),
     thing = object("A thing.", city = string("City."), zip = integer(default = 1), inner = object(deep = boolean())),
     things = objects("Things.", id = string(), n = integer(default = 0)),
     note = string("A note.", default = "none"),
     maybe = string(default = None))
`

func TestArgumentTypes(t *testing.T) {
	k := kit(t, allTypes)
	want := agentbound.Tool{Name: "take", Description: "Take one of each.", Schema: must(Canonical(map[string]any{
		"type": "object", "additionalProperties": false,
		"required": []any{"text", "texts", "whole", "number", "flag", "kind", "thing", "things"},
		"properties": map[string]any{
			"text":   map[string]any{"type": "string", "description": "A text."},
			"texts":  map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "Texts."},
			"whole":  map[string]any{"type": "integer", "description": "A whole number."},
			"number": map[string]any{"type": "number", "description": "A number."},
			"flag":   map[string]any{"type": "boolean", "description": "Yes or no."},
			"kind":   map[string]any{"type": "string", "enum": []any{"a", "b"}, "description": "A kind."},
			"thing": map[string]any{
				"type": "object", "additionalProperties": false, "description": "A thing.", "required": []any{"city", "inner"},
				"properties": map[string]any{
					"city": map[string]any{"type": "string", "description": "City."},
					"zip":  map[string]any{"type": "integer", "default": 1},
					"inner": map[string]any{
						"type": "object", "additionalProperties": false, "required": []any{"deep"},
						"properties": map[string]any{"deep": map[string]any{"type": "boolean"}},
					},
				},
			},
			"things": map[string]any{"type": "array", "description": "Things.", "items": map[string]any{
				"type": "object", "additionalProperties": false, "required": []any{"id"},
				"properties": map[string]any{"id": map[string]any{"type": "string"}, "n": map[string]any{"type": "integer", "default": 0}},
			}},
			"note":  map[string]any{"type": "string", "description": "A note.", "default": "none"},
			"maybe": map[string]any{"type": "string"},
		},
	}))}
	if diff := cmp.Diff([]agentbound.Tool{want}, k.Tools()); diff != "" {
		t.Error(diff)
	}

	r := do(t, k, `{}`, "take", `{"things":[{"id":"x"},{"id":"y","n":2.0}],"text":"t","texts":["a"],"whole":3.0,"number":3,"flag":true,"kind":"b","thing":{"inner":{"deep":false},"city":"C"}}`)
	if got, want := string(r.Observation), `["string","list","int","int","bool","string","dict","list","string","NoneType","int"]`; got != want {
		t.Errorf("types: got %s, want %s", got, want)
	}
	if got, want := textOf(t, r.After), `{"got":["t",["a"],3,3,true,"b",{"city":"C","inner":{"deep":false},"zip":1},[{"id":"x","n":0},{"id":"y","n":2}],"none",null,7]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if again := do(t, k, `{}`, "take", string(r.Args)); !again.OK || !again.Args.Equal(r.Args) {
		t.Errorf("completed arguments do not fit: %s", again.Observation)
	}
	if got, want := string(r.Args), `{"flag":true,"kind":"b","maybe":null,"note":"none","number":3,"text":"t","texts":["a"],"thing":{"city":"C","inner":{"deep":false},"zip":1},"things":[{"id":"x","n":0},{"id":"y","n":2}],"whole":3}`; got != want {
		t.Errorf("arguments: got %s, want %s", got, want)
	}
}

func do(t testing.TB, k *Kit, before, tool, args string) Result {
	t.Helper()
	r, err := k.Call(context.Background(), state(t, before), agentbound.Call{Tool: tool, Args: agentbound.Value(args)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	k := kit(t, `
def f(state, n, kind = "a", list = [], things = []):
    state["n"] = n
def none(state):
    return "ok"
tool(f, "F.", n = integer(), kind = enum(["a", "b"], default = "a"), list = strings(default = []), things = objects(default = [], id = string()))
tool(none, "None.")
`)
	for _, c := range []struct{ tool, args, want, sent string }{
		{"g", `{}`, `there is no tool "g"; the tools are f, none`, `{}`},
		{"", `{}`, `there is no tool ""`, `{}`},
		{"f", `{}`, `f: missing property 'n'`, `{}`},
		{"f", ``, `f: missing property 'n'`, `""`},
		{"f", `{"n":"1"}`, `f: n: got string, want integer`, `{"n":"1"}`},
		{"f", `{"n":1.5}`, `f: n: got number, want integer`, `{"n":1.5}`},
		{"f", `{"n":null}`, `f: n: got null, want integer`, `{"n":null}`},
		{"f", `{"n":true}`, `f: n: got boolean, want integer`, `{"n":true}`},
		{"f", `{"n":1,"m":2}`, `additional properties 'm' not allowed`, `{"m":2,"n":1}`},
		{"f", `{"n":1,"kind":"c"}`, `kind: value must be one of 'a', 'b'`, `{"kind":"c","n":1}`},
		{"f", `{"n":1,"list":["a",1]}`, `list.1: got number, want string`, `{"list":["a",1],"n":1}`},
		{"f", `{"n":1,"list":"a"}`, `list: got string, want array`, `{"list":"a","n":1}`},
		{"f", `{"n":1,"things":[{}]}`, `things.0: missing property 'id'`, `{"n":1,"things":[{}]}`},
		{"f", `{"n":1,"things":[{"id":"x","y":1}]}`, `things.0: additional properties 'y' not allowed`, `{"n":1,"things":[{"id":"x","y":1}]}`},
		{"f", `[]`, `got array, want object`, `[]`},
		{"f", `null`, `got null, want object`, `null`},
		{"f", `"{\"n\": 1"`, `the arguments are not a JSON object: {"n": 1`, `"{\"n\": 1"`},
		{"f", `{"n":1`, `the arguments are not JSON`, `"{\"n\":1"`},
		{"f", `{"n":1} x`, `the arguments are not JSON`, `"{\"n\":1} x"`},
		{"f", `{"n":1e999}`, `is not a number that fits`, `"{\"n\":1e999}"`},
		{"f", `{"n":1e999999}`, `is not a number that fits`, `"{\"n\":1e999999}"`},
		{"f", `{"n":1e-999999999}`, ``, `{"kind":"a","list":[],"n":0,"things":[]}`},
		{"f", `{"n":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, `nested deeper`, ``},
		{"f", `{"n":1,"list":[` + strings.Repeat(`"",`, MaxNodes) + `""]}`, `larger than 65536 values`, ``},
		{"f", `{"n":9007199254740993}`, ``, `{"kind":"a","list":[],"n":9007199254740993,"things":[]}`},
		{"none", ``, ``, `{}`},
		{"none", ` `, ``, `{}`},
		{"none", `{"x":1}`, `additional properties 'x' not allowed`, `{"x":1}`},
	} {
		r := do(t, k, `{"s":1}`, c.tool, c.args)
		var text string
		if err := json.Unmarshal(r.Observation, &text); err != nil && !r.OK {
			t.Errorf("%s %.40s: %v", c.tool, c.args, err)
		}
		switch {
		case c.want == "" && (!r.OK || r.Fault != FaultNone):
			t.Errorf("%s %.40s: refused: %s", c.tool, c.args, r.Observation)
		case c.want != "" && (r.OK || r.Fault != FaultArgs || !strings.Contains(text, c.want) || !strings.HasPrefix(text, "error: ")):
			t.Errorf("%s %.40s: got %q %s, want %q", c.tool, c.args, r.Fault, text, c.want)
		case !r.OK && (textOf(t, r.After) != `{"s":1}` || r.Diff != nil):
			t.Errorf("%s %.40s: the state changed", c.tool, c.args)
		case c.sent != "" && string(r.Args) != c.sent:
			t.Errorf("%s %.40s: arguments are kept as %s, want %s", c.tool, c.args, r.Args, c.sent)
		case !json.Valid(r.Args):
			t.Errorf("%s %.40s: arguments are not JSON: %s", c.tool, c.args, r.Args)
		}
		if got := k.Complete(agentbound.Call{Tool: c.tool, Args: agentbound.Value(c.args)}); !got.Equal(r.Args) {
			t.Errorf("Complete gives %s, Call %s", got, r.Args)
		}
	}
}

func TestLoadKitRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"def f(state):\n  return (\n", "t.star:3:1: got outdent"},
		{"def f(state):\n    return x\n", "t.star:2:12: undefined: x"},
		{"def f(state):\n    return x + y\n\ndef f(state):\n    pass\n", "t.star:4:5: cannot reassign"},
		{"x = 1 + 'a'\n", "t.star:1:7: unknown binary op: int + string"},
		{"x = [].nope()\n", "t.star:1:12: list has no .nope field or method"},
		{"x = {}['k']\n", "t.star:1:7: key \"k\" not in dict"},
		{"def f(state):\n    pass\ntool(f, 'F.')\ntool(f, 'F.')\n", "t.star:4:5: tool f is declared twice, here and in t.star; rename one"},
		{"tool(len, 'L.')\n", "t.star:1:5: tool: for parameter function: got builtin_function_or_method, want function"},
		{"tool(lambda state: 1, 'L.')\n", "tool lambda: a tool is a function with a name"},
		{"def ä(state):\n    pass\ntool(ä, 'F.')\n", "tool ä: a tool is a function with a name"},
		{"def " + strings.Repeat("f", 65) + "(state):\n    pass\ntool(" + strings.Repeat("f", 65) + ", 'F.')\n", "at most 64"},
		{"def f(state):\n    pass\ntool(f)\n", "missing argument for description"},
		{"def f(state):\n    pass\ntool(f, 1)\n", "for parameter description: got int, want string"},
		{"def f():\n    pass\ntool(f, 'F.')\n", "needs a first parameter, the state"},
		{"def f(*, state):\n    pass\ntool(f, 'F.')\n", "needs a first parameter, the state"},
		{"def f(state, a):\n    pass\ntool(f, 'F.')\n", "tool f: its function's parameter a is not declared; add a = string(…) or the like"},
		{"def f(state):\n    pass\ntool(f, 'F.', a = string())\n", "argument a is declared, but its function has no such parameter after the state"},
		{"def f(state):\n    pass\ntool(f, 'F.', state = string())\n", "argument state is declared, but"},
		{"def f(state, a):\n    pass\ntool(f, 'F.', a = string(), **{'a': string()})\n", "argument a is declared, but"},
		{"def f(state, a):\n    pass\ntool(f, 'F.', a = 'text')\n", "argument a must be string(…), integer(…) or the like, found a string"},
		{"def f(state, a):\n    pass\ntool(f, 'F.', a = string)\n", "found a builtin_function_or_method"},
		{"x = string(1)\n", "string: for parameter description: got int, want string"},
		{"x = string('d', 'x', 3)\n", "string: got 3 arguments, want at most 2"},
		{"x = string(nope = 1)\n", "string: unexpected keyword argument \"nope\""},
		{"x = integer(default = 'a')\n", "integer: the default is a string, and a int is needed"},
		{"x = integer(default = 1.0)\n", "integer: the default is a float, and a int is needed"},
		{"x = integer(default = True)\n", "integer: the default is a bool, and a int is needed"},
		{"x = strings(default = 'a')\n", "strings: the default is a string, and a list is needed"},
		{"x = strings(default = [1])\n", "strings: the default holds a int"},
		{"x = enum()\n", "enum: missing argument for values"},
		{"x = enum([])\n", "at least one value is needed"},
		{"x = enum(['a', 1])\n", "values must be texts, found a int"},
		{"x = enum(['a'], default = 'b')\n", `the default "b" is not one of its values`},
		{"x = object('d', a = 1)\n", "object: field a must be string(…), integer(…) or the like, found a int"},
		{"x = object('d', a = string(), **{'a': string()})\n", "object: field a is given twice"},
		{"x = objects('d', default = {})\n", "objects: the default is a dict, and a list is needed"},
		{"def f(state, a):\n    pass\ntool(f, 'F.', a = object(default = {1: 2}))\n", "key must be a string"},
		{"def f(state, a):\n    pass\ntool(f, 'F.', a = object(default = {'x': len}))\n", "has no JSON form"},
		{"def g():\n    fail('no ' + 'good')\ng()\n", "t.star:2:9: fail: no good"},
	} {
		_, err := LoadKit([]agentbound.Source{{Name: "t.star", Text: c.text}})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "t.star:") {
			t.Errorf("%s\ngot %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestNameClashAcrossFiles(t *testing.T) {
	f := "def f(state):\n    pass\ntool(f, 'F.')\n"
	_, err := LoadKit([]agentbound.Source{{Name: "a.star", Text: f}, {Name: "b.star", Text: "\n" + f}})
	if err == nil || err.Error() != "b.star:4:5: tool f is declared twice, here and in a.star; rename one" {
		t.Error(err)
	}
	k, err := LoadKit([]agentbound.Source{{Name: "a.star", Text: f}, {Name: "b.star", Text: strings.ReplaceAll(f, "f(", "g(") + "\n"}})
	if err == nil {
		t.Errorf("f is not defined in b.star: %v", k.Names())
	}
	k, err = LoadKit([]agentbound.Source{{Name: "b.star", Text: "def z(state):\n    pass\ntool(z, 'Z.')\n"}, {Name: "a.star", Text: f}})
	if err != nil || !cmp.Equal(k.Names(), []string{"z", "f"}) {
		t.Errorf("%v, %v", k, err)
	}
}

func TestFailIsClean(t *testing.T) {
	k := kit(t, `
def say(state, text):
    state["changed"] = True
    fail(text)
def more(state):
    fail("no claim", "C-1", ["a"], None, sep = "; ")
def nothing(state):
    fail()
def nested(state):
    return sorted([1], key = lambda x: fail("from a key"))
def broken(state):
    return state["nope"]
def wrong(state):
    fail("x", nope = 1)
tool(say, "S.", text = string())
tool(more, "M.")
tool(nothing, "N.")
tool(nested, "N.")
tool(broken, "B.")
tool(wrong, "W.")
`)
	for _, c := range []struct {
		tool, args string
		fault      Fault
		want       string
	}{
		{"say", `{"text":"no claim C-204"}`, FaultTool, "error: no claim C-204"},
		{"say", `{"text":"fail: again"}`, FaultTool, "error: fail: again"},
		{"say", `{"text":"<a> & \"b\"\n"}`, FaultTool, "error: <a> & \"b\"\n"},
		{"say", `{"text":"` + strings.Repeat("é", 1001) + `"}`, FaultTool, "error: " + strings.Repeat("é", 1000) + "…"},
		{"say", `{"text":"x` + strings.Repeat("é", 1001) + `"}`, FaultTool, "error: x" + strings.Repeat("é", 999) + "…"},
		{"more", `{}`, FaultTool, `error: no claim; C-1; ["a"]; None`},
		{"nothing", `{}`, FaultTool, "error: "},
		{"nested", `{}`, FaultTool, "error: from a key"},
		{"broken", `{}`, FaultProgram, `error: key "nope" not in dict`},
		{"wrong", `{}`, FaultProgram, `error: fail: unexpected keyword argument "nope"`},
	} {
		r := do(t, k, `{"s":1}`, c.tool, c.args)
		if want := agentbound.StringValue(c.want); r.OK || r.Fault != c.fault || !r.Observation.Equal(want) {
			t.Errorf("%s: got %q %s, want %q %s", c.tool, r.Fault, r.Observation, c.fault, want)
		}
		if textOf(t, r.After) != `{"s":1}` || r.Diff != nil {
			t.Errorf("%s: the state became %s", c.tool, textOf(t, r.After))
		}
	}
}

func TestSnapshots(t *testing.T) {
	k := kit(t, `
RULES = ["one"]

def read(state):
    seen = state["record"]
    out = {"z": seen, "a": [seen, RULES]}
    seen["n"] += 1
    return out
def share(state, thing):
    state["a"] = thing
    state["b"] = [state["a"], state["a"], RULES]
    state["b"][0]["x"] = 1
def order(state):
    d = {}
    for k in ["b", "a", "é", "B"]:
        d[k] = {k + "2": 1, k + "1": 2}
    state["o"] = d
    return [k for k in state]
def keys(state):
    return [k for k in state], [k for k in state["o"]]
def same(state):
    state["record"] = dict(state["record"])
    return None
tool(read, "R.")
tool(share, "S.", thing = object(default = {}))
tool(order, "O.")
tool(keys, "K.")
tool(same, "S.")
`)
	before := state(t, `{"record":{"n":1}}`)
	ctx := context.Background()
	r, err := k.Call(ctx, before, agentbound.Call{Tool: "read"})
	if err != nil || string(r.Observation) != `{"a":[{"n":2},["one"]],"z":{"n":2}}` {
		t.Errorf("an observation is what stands at the end of the call: %s, %v", r.Observation, err)
	}
	observed := string(r.Observation)
	r2, err := k.Call(ctx, r.After, agentbound.Call{Tool: "read"})
	if err != nil || string(r.Observation) != observed || textOf(t, r2.After) != `{"record":{"n":3}}` || textOf(t, r.After) != `{"record":{"n":2}}` || textOf(t, before) != `{"record":{"n":1}}` {
		t.Errorf("states and observations are not snapshots: %s %s %s", r.Observation, r2.After.v, r.After.v)
	}
	if got := show(r2.Diff); got != `replace /record/n 3` {
		t.Errorf("diff: %s", got)
	}

	if r := do(t, k, `{}`, "share", `{}`); r.Fault != FaultProgram || !strings.Contains(string(r.Observation), "frozen") {
		t.Errorf("a tool changed its argument: %s", r.Observation)
	}

	r = do(t, k, `{"z":1,"a":2}`, "order", ``)
	if got := string(r.Observation); got != `["a","z","o"]` {
		t.Errorf("in the call a new key stands last, as the program put it: %s", got)
	}
	if got, want := r.After.v.String(), `{"a": 2, "o": {"B": {"B1": 2, "B2": 1}, "a": {"a1": 2, "a2": 1}, "b": {"b1": 2, "b2": 1}, "é": {"é1": 2, "é2": 1}}, "z": 1}`; got != want {
		t.Errorf("after the call: got %s, want %s", got, want)
	}
	r, err = k.Call(ctx, r.After, agentbound.Call{Tool: "keys"})
	if err != nil || string(r.Observation) != `[["a","o","z"],["B","a","b","é"]]` {
		t.Errorf("in the next call keys are in order: %s", r.Observation)
	}

	if r := do(t, k, `{"record":{"n":1}}`, "same", ``); !r.OK || r.Diff != nil || string(r.Observation) != `null` {
		t.Errorf("a call that changes nothing: %v", show(r.Diff))
	}
}

// The states before and after are a difference apart, and a replay gives the same
// bytes, broken text included.
func TestDiffReplays(t *testing.T) {
	k := kit(t, `
def cut(state):
    state["text"] = state["text"][:4]
    state["list"] = [{"a": 1.0}, {"b": -0.0}] + state["list"][1:]
    return state["text"]
tool(cut, "C.")
`)
	before := state(t, `{"text":"naïve","list":[1,2,3]}`)
	for range 3 {
		r, err := k.Call(context.Background(), before, agentbound.Call{Tool: "cut", Args: agentbound.Value(`{}`)})
		if err != nil || !r.OK {
			t.Fatal(err, string(r.Observation))
		}
		replayed := must(Apply(before, r.Diff))
		if got, want := textOf(t, replayed), textOf(t, r.After); got != want {
			t.Errorf("replayed %s, was %s", got, want)
		}
		before = r.After
	}
}

// Nothing of one call may show in the next: not through closures, methods or
// defaults that a file leaves behind.
func TestNoStateOutsideTheState(t *testing.T) {
	k := kit(t, `
def make():
    hidden = []
    def closure(state):
        hidden.append(1)
        return len(hidden)
    return closure, hidden.append, {"n": 0}

MADE = make()
PUSH = MADE[1]

def method(state):
    PUSH(1)
def table(state):
    MADE[2]["n"] += 1
def default(state, seen = []):
    seen.append(1)
    return seen
def given(state, seen):
    seen.append(1)
    return seen
def anonymous():
    own = []
    def inner(state):
        own.append(1)
        return own
    return inner
def keyed(state):
    return sorted([2, 1], key = PUSH)

tool(MADE[0], "C.")
tool(method, "M.")
tool(table, "T.")
tool(default, "D.")
tool(given, "G.", seen = strings(default = []))
tool(anonymous(), "A.")
tool(keyed, "K.")
`)
	for _, name := range k.Names() {
		for range 2 {
			if r := do(t, k, `{}`, name, `{}`); r.Fault != FaultProgram || !strings.Contains(string(r.Observation), "frozen") {
				t.Errorf("%s: %s", name, r.Observation)
			}
		}
	}
}

func TestCallContext(t *testing.T) {
	k := kit(t, "def f(state):\n    for i in range(1 << 40):\n        pass\ndef g(state):\n    return 1\ntool(f, 'F.')\ntool(g, 'G.')\n")
	s := state(t, `{}`)
	cause := errors.New("the lights went out")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for _, tool := range []string{"f", "g"} {
		if r, err := k.Call(ctx, s, agentbound.Call{Tool: tool}); !errors.Is(err, context.Canceled) || r.Observation != nil {
			t.Errorf("%s on a cancelled context: %s, %v", tool, r.Observation, err)
		}
	}
	if r, err := k.Call(ctx, s, agentbound.Call{Tool: "nope"}); err != nil || r.Fault != FaultArgs {
		t.Errorf("a call without execution: %v", err)
	}
	if _, err := k.Call(context.Background(), State{}, agentbound.Call{Tool: "g"}); !errors.Is(err, errNoState) {
		t.Errorf("no state: %v", err)
	}
	live, stop := context.WithCancel(context.Background())
	defer stop()
	r, err := k.Call(live, s, agentbound.Call{Tool: "f"})
	if err != nil || r.Fault != FaultProgram {
		t.Errorf("the step limit is the program's failure: %v, %v", r.Fault, err)
	}
}

func TestKitIsConcurrent(t *testing.T) {
	k := kit(t, allTypes+`
RULES = {"a": ["x", {"b": (1, 2)}]}
def walk(state, n):
    for r in state["records"]:
        r["n"] += n
        if r["n"] == 13:
            fail("unlucky", RULES["a"][0])
    state["rules"] = RULES["a"]
    return [state["records"], sorted(RULES), [x for x in RULES["a"]]]
tool(walk, "W.", n = integer("N.", default = 1))
`)
	s := state(t, `{"records":[{"n":1},{"n":2},{"n":3}]}`)
	p, err := CompilePredicate(agentbound.Criterion{Text: "p", Holds: `any([r["n"] > 2 for r in before["records"]]) and sorted([r["n"] for r in start["records"]]) != []`}, JudgeNames...)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithCancel(context.Background())
				n := (g + i) % 20
				r, err := k.Call(ctx, s, agentbound.Call{Tool: "walk", Args: agentbound.Value(fmt.Sprintf(`{"n":%d}`, n))})
				if unlucky := n >= 10 && n <= 12; err != nil || r.OK == unlucky || unlucky && r.Fault != FaultTool {
					t.Errorf("n = %d: %q %s %v", n, r.Fault, r.Observation, err)
				}
				if _, err := k.Call(ctx, s, agentbound.Call{Tool: "take", Args: agentbound.Value(`{"text":1}`)}); err != nil {
					t.Error(err)
				}
				if ok, err := p.Holds(ctx, Env{Start: s, Before: s, After: r.After}); !ok || err != nil {
					t.Error(ok, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

func FuzzKit(f *testing.F) {
	f.Add(allTypes)
	f.Add("X = [i for i in range(3)]\ndef f(state, a = 1):\n    state['x'] += a\n    return {k: v for k, v in state.items()}\ntool(f, 'F.', a = integer(default = 2))\n")
	f.Add("def mk():\n    def h(state):\n        return h\n    return h\ntool(mk(), 'x')\n")
	f.Add("def f(state):\n    x = range(0, 10, 1 << 62)[::4]\n    return 'a'.rsplit(None, 5), [0] * 70000, ''.join(('x' * 9).codepoints())\ntool(f, 'F')\n")
	for _, c := range hostile[:40] {
		f.Add("def f(state):\n    " + strings.ReplaceAll(c.body, "\n", "\n    ") + "\ntool(f, 'F.')\n")
	}
	s := state(f, `{"list":[1,2],"x":1,"text":"a"}`)
	f.Fuzz(func(t *testing.T, text string) {
		k, err := LoadKit([]agentbound.Source{{Name: "t.star", Text: text}})
		if err != nil {
			return
		}
		for _, name := range k.Names() {
			r, err := k.Call(context.Background(), s, agentbound.Call{Tool: name, Args: agentbound.Value(`{}`)})
			if err != nil || !json.Valid(r.Observation) || !json.Valid(r.Args) {
				t.Fatalf("%s: %v %s %s", name, err, r.Observation, r.Args)
			}
			if textOf(t, s) != `{"list":[1,2],"text":"a","x":1}` {
				t.Fatal("the state before changed")
			}
			if back := must(Apply(s, r.Diff)); textOf(t, back) != textOf(t, r.After) {
				t.Fatalf("%v", show(r.Diff))
			}
			again, err := k.Call(context.Background(), s, agentbound.Call{Tool: name, Args: agentbound.Value(`{}`)})
			if err != nil || !again.Observation.Equal(r.Observation) || textOf(t, again.After) != textOf(t, r.After) {
				t.Fatalf("the same call gave %s, then %s", r.Observation, again.Observation)
			}
		}
	})
}

func FuzzArguments(f *testing.F) {
	k := kit(f, strings.Replace(allTypes, `state["got"] = [`, `state["got"] = [1, `, 1))
	for _, s := range []string{``, `{}`, `"x"`, `{"text":"t","texts":["a"],"whole":3.0,"number":3,"flag":true,"kind":"b","thing":{"inner":{"deep":false},"city":"C"},"things":[{"id":"x"}]}`, `{"whole":1e400}`, `{"whole":1e-999999}`} {
		f.Add([]byte(s))
	}
	s := state(f, `{}`)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := k.Call(context.Background(), s, agentbound.Call{Tool: "take", Args: b})
		if err != nil || !json.Valid(r.Args) || !json.Valid(r.Observation) || r.Fault == FaultProgram || r.Fault == FaultTool {
			t.Fatalf("%v %q %s %s", err, r.Fault, r.Args, r.Observation)
		}
		if !r.OK {
			return
		}
		again, err := k.Call(context.Background(), s, agentbound.Call{Tool: "take", Args: r.Args})
		if err != nil {
			t.Fatal(err)
		}
		if !again.OK || !again.Args.Equal(r.Args) || textOf(t, again.After) != textOf(t, r.After) {
			t.Fatalf("completed arguments %s became %s", r.Args, again.Args)
		}
	})
}
