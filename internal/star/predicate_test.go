package star

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/agentbound/agentbound"
)

func predicate(t testing.TB, expr string, vars ...string) *Predicate {
	t.Helper()
	p, err := CompilePredicate(agentbound.Criterion{Text: "c", Holds: expr}, vars...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPredicates(t *testing.T) {
	calls := Calls{}
	for _, c := range []struct{ tool, args, result string }{{"read", `{"id":"C-1"}`, `{"status":"open"}`}, {"pay", `{"id":"C-1","n":2}`, `"error: no"`}} {
		calls = calls.Add(c.tool, agentbound.Value(c.args), c.tool == "read", agentbound.Value(c.result))
	}
	env := Env{
		Start:  state(t, `{"board":[],"inbox":[]}`),
		Before: state(t, `{"board":[{"id":"P-1"}],"cases":{"K":{"remedy":"notice to members, by name"}},"agreements":{"A":{"covers":["X"],"status":"active"}}}`),
		After:  state(t, `{"board":[{"id":"P-1","names":["a"],"audience":"members","case":"K"},{"id":"P-2","n":4200}],"inbox":["x"],"tickets":[{"owner":"Dana Ortiz"}]}`),
		Calls:  calls,
	}
	for _, c := range []struct {
		expr string
		want bool
	}{
		{`len(after["inbox"]) > len(start["inbox"])`, true},
		{`[p["id"] for p in after["board"]] == ["P-1", "P-2"]`, true},
		{`[(p["id"], p.get("n")) for p in after["board"]] == [("P-1", None), ("P-2", 4200)]`, true},
		{`any(["dana" in t["owner"].lower() for t in after["tickets"]])`, true},
		{`any([p["id"] not in [q["id"] for q in before["board"]] for p in after["board"]])`, true},
		{`any([p["n"] == 4200.0 for p in after["board"][len(before["board"]):]])`, true},
		{`("notice to " + after["board"][0]["audience"]) in before["cases"]["K"]["remedy"]`, true},
		{`any([a["status"] == "active" and "X" in a["covers"] for a in before["agreements"].values()])`, true},
		{`any([c["tool"] == "pay" and c["ok"] for c in calls])`, false},
		{`calls[0]["args"]["id"] == "C-1" and calls[0]["result"]["status"] == "open" and calls[1]["result"].startswith("error")`, true},
		{`[c["tool"] for c in calls] == ["read", "pay"] and len(calls) == 2 and calls[-1]["args"]["n"] == 2`, true},
		{`bool(after["inbox"])`, true}, {`not after["inbox"]`, false}, {`True`, true}, {`after == after`, true},
		{"\nany([True\n    for x in [1]])\n", true},
		{`all([k in after for k in ["board", "inbox"]]) and sorted(after) == ["board", "inbox", "tickets"]`, true},
	} {
		got, err := predicate(t, c.expr, JudgeNames...).Holds(context.Background(), env)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v, %v", c.expr, got, err)
		}
	}
}

func TestPredicatesThatDoNotCompile(t *testing.T) {
	for _, c := range []struct {
		expr, want string
		vars       []string
	}{
		{``, "predicate:1:1: got end of file, want primary expression", JudgeNames},
		{`1 +`, "predicate:1:4: got end of file, want primary expression", JudgeNames},
		{`after["x"] = 1`, "got '=' after expression", JudgeNames},
		{`a; b`, "after expression", JudgeNames},
		{`nope == 1`, "predicate:1:1: undefined: nope", JudgeNames},
		{"[x\n for x in afte]", "predicate:2:11: undefined: afte (did you mean after?)", JudgeNames},
		{`after == start`, "undefined: after", OnceNames},
		{`tool == 1`, "undefined: tool", JudgeNames},
		{`set([1]) == 1`, "", JudgeNames}, // compiles; it is when it runs that set is not available
		{`(lambda *a: a)(1) == 1`, "predicate:1:9: *args", JudgeNames},
		{"any([" + strings.Repeat("x", MaxSource) + "])", "bytes of source", JudgeNames},
		{"1" + strings.Repeat("+ 1", 20000), "a function of more than", JudgeNames},
	} {
		_, err := CompilePredicate(agentbound.Criterion{Text: "c", Holds: c.expr}, c.vars...)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.60s: got %v, want %q", c.expr, err, c.want)
		}
		if check := CheckPredicate(c.expr, c.vars...); (check == nil) != (err == nil) {
			t.Errorf("%.60s: CheckPredicate gives %v", c.expr, check)
		}
	}
	var list resolve.ErrorList
	if err := CheckPredicate(`nope`, JudgeNames...); !errors.As(err, &list) || list[0].Pos.Col != 1 {
		t.Errorf("got %T %v", err, err)
	}
	var at syntax.Error
	if err := CheckPredicate(`1 +`, JudgeNames...); !errors.As(err, &at) || at.Pos.Col != 4 {
		t.Errorf("got %T %v", err, err)
	}
}

func TestPredicateNeedsItsNames(t *testing.T) {
	p := predicate(t, `before == after`, JudgeNames...)
	s := state(t, `{}`)
	if holds, err := p.Holds(context.Background(), Env{Start: s, Before: s}); holds || err == nil || !strings.Contains(err.Error(), "after is missing") {
		t.Errorf("got %v, %v", holds, err)
	}
	if holds, err := predicate(t, `len(calls) == 0`, OnceNames...).Holds(context.Background(), Env{}); !holds || err != nil {
		t.Errorf("got %v, %v", holds, err)
	}
}

func TestPredicateContext(t *testing.T) {
	p := predicate(t, `any([False for i in range(1 << 40)]) or True`, OnceNames...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if holds, err := p.Holds(ctx, Env{}); holds || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", holds, err)
	}
	if holds, err := p.Holds(context.Background(), Env{}); holds || err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", holds, err)
	}
}

func TestCallsAreImmutable(t *testing.T) {
	add := func(c Calls, tool string) Calls {
		return c.Add(tool, agentbound.Value(`{}`), true, agentbound.Value(`null`))
	}
	names := func(c Calls) string {
		l, err := c.list()
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for e := range l.Elements() {
			v, _, _ := e.(*starlark.Dict).Get(starlark.String("tool"))
			all = append(all, v.String())
		}
		return strings.Join(all, " ")
	}
	one := add(Calls{}, "a")
	two, other := add(one, "b"), add(one, "c")
	three := add(two, "d")
	for c, want := range map[string]string{names(one): `"a"`, names(two): `"a" "b"`, names(other): `"a" "c"`, names(three): `"a" "b" "d"`} {
		if c != want {
			t.Errorf("got %s, want %s", c, want)
		}
	}
	if one.Len() != 1 || three.Len() != 3 || (Calls{}).Len() != 0 {
		t.Error("lengths")
	}
	for _, broken := range []Calls{
		one.Add("x", agentbound.Value(`{`), true, agentbound.Value(`null`)),
		one.Add("x", agentbound.Value(`{}`), true, nil),
	} {
		if holds, err := predicate(t, `calls == calls`, OnceNames...).Holds(context.Background(), Env{Calls: broken}); holds || err == nil || !strings.Contains(err.Error(), "of x: not JSON") {
			t.Errorf("got %v, %v", holds, err)
		}
		if holds, err := predicate(t, `1 == 1`, OnceNames...).Holds(context.Background(), Env{Calls: broken}); !holds || err != nil {
			t.Errorf("calls that nobody reads: %v, %v", holds, err)
		}
	}
	if holds, err := predicate(t, `[(lambda: calls)() for x in [1]][0][1]["tool"] == "b"`, OnceNames...).Holds(context.Background(), Env{Calls: two}); !holds || err != nil {
		t.Errorf("calls within: %v, %v", holds, err)
	}
}

// The toolkits of the examples load, where the checkout has them.
func TestExampleToolkitsLoad(t *testing.T) {
	files, err := filepath.Glob("../../suites/*/*/*.star")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if k, err := LoadKit([]agentbound.Source{{Name: file, Text: string(text)}}); err != nil || len(k.Names()) == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func FuzzPredicate(f *testing.F) {
	for _, s := range []string{`any([p["n"] > 1 for p in after["list"]])`, `after == before`, `1`, `range(0, 10, 1 << 62)[::4] == 1`, `{1.5: 2}[1.5] == len("x" * 3)`,
		`(lambda h: h(h))(lambda h: h(h))`, `"%s%s" % (after, [1]) != sorted({"b": 1, "a": 2}, key = lambda x: x)`, `calls[0]["args"] | {"a": 1} == {}`} {
		f.Add(s)
	}
	s := state(f, `{"list":[{"n":1},{"n":2.5}],"text":"abc"}`)
	calls := Calls{}.Add("t", agentbound.Value(`{"a":1}`), true, agentbound.Value(`"x"`))
	f.Fuzz(func(t *testing.T, expr string) {
		p, err := CompilePredicate(agentbound.Criterion{Text: "c", Holds: expr}, JudgeNames...)
		if err != nil {
			return
		}
		env := Env{Start: s, Before: s, After: s, Calls: calls}
		holds, err := p.Holds(context.Background(), env)
		if holds && err != nil {
			t.Fatal("true and an error")
		}
		again, err2 := p.Holds(context.Background(), env)
		if again != holds || (err == nil) != (err2 == nil) {
			t.Fatalf("%v %v, then %v %v", holds, err, again, err2)
		}
		if textOf(t, s) != `{"list":[{"n":1},{"n":2.5}],"text":"abc"}` {
			t.Fatal("the state changed")
		}
	})
}
