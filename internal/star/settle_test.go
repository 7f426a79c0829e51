package star

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"github.com/agentbound/agentbound"
)

// do executes what its argument says, so that one tool writes now here, now there.
const restless = `
def do(state, ops):
    seen = []
    for op in ops:
        verb, a, b = op.split(" ")
        if verb == "set":
            state[a] = b
        elif verb == "nest":
            state[a] = {"x": [b]}
        elif verb == "alias":
            state[a] = state.get(b, "none")
        elif verb == "push" and type(state.get(a)) == "list":
            state[a].append(b)
        elif verb == "deep" and type(state.get(a)) == "dict":
            state[a]["x"] = state[a].get("x", []) + [b]
        elif verb == "grow" and type(state.get(a)) == "dict" and "x" in state[a]:
            state[a]["x"] += [b]
        elif verb == "drop":
            seen.append(state.pop(a, None))
        elif verb == "clear" and type(state.get(a)) in ["list", "dict"]:
            state[a].clear()
        elif verb == "same" and a in state:
            state[a] = {"dict": dict, "list": list}.get(type(state[a]), str)(state[a])
        elif verb == "front" and type(state.get(a)) == "list":
            state[a].insert(0, b)
        elif verb == "loop" and type(state.get(a)) == "list":
            for x in state[a]:
                state[a].append(x)
        elif verb == "fail":
            fail(a)
        else:
            seen.append(state.get(a))
    return [seen, [k for k in state]]
tool(do, "D.", ops = strings())
`

// What a call does is the same whether its tool was seen to write before or not, and
// the same as on a copy of everything.
func TestCopiedPartsDoNotMatter(t *testing.T) {
	verb := rapid.SampledFrom(strings.Fields("set nest alias push deep grow drop clear same front loop read read read fail"))
	name := rapid.SampledFrom([]string{"a", "b", "c", "new", "z"})
	warm := kit(t, restless)
	rapid.Check(t, func(t *rapid.T) {
		s := must(DecodeState(agentbound.Value(`{"a":[1,{"k":[2]}],"b":{"x":["y"],"n":{"m":1.0}},"c":"text","z":[]}`)))
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			var ops []any
			for range rapid.IntRange(0, 4).Draw(t, "ops") {
				ops = append(ops, fmt.Sprintf("%s %s %s", verb.Draw(t, "verb"), name.Draw(t, "a"), name.Draw(t, "b")))
			}
			args := must(Canonical(map[string]any{"ops": ops}))
			c := agentbound.Call{Tool: "do", Args: args}
			cold := must(LoadKit([]agentbound.Source{{Name: "t.star", Text: restless}}))
			fresh := must(cold.Call(context.Background(), s, c))
			used := must(warm.Call(context.Background(), s, c))
			whole := must(cold.byName["do"].execute(context.Background(), s, must(cold.byName["do"].arguments(args)), wholeCall, true))
			whole.Args = fresh.Args
			want := outcomeText(whole)
			if got := outcomeText(fresh); got != want {
				t.Fatalf("%v\nfresh tool:  %s\nwhole copy: %s", ops, got, want)
			}
			if got := outcomeText(used); got != want {
				t.Fatalf("%v\nused tool:  %s\nwhole copy: %s", ops, got, want)
			}
			replayed := must(Apply(s, used.Diff))
			if got, want := string(must(replayed.Value())), string(must(used.After.Value())); got != want {
				t.Fatalf("%v\nreplayed: %s\nwas:      %s", ops, got, want)
			}
			if got, want := replayed.v.String(), used.After.v.String(); got != want {
				t.Fatalf("%v: the order of keys\nreplayed: %s\nwas:      %s", ops, got, want)
			}
			s = used.After
		}
	})
}

func outcomeText(r Result) string {
	return fmt.Sprintf("%v %q %s %s\n%s\n%s", r.OK, r.Fault, r.Args, r.Observation, show(r.Diff), must(r.After.Value()))
}

// The bounds are the state's, not one call's.
func TestStateStaysBounded(t *testing.T) {
	k := kit(t, `
def grow(state, n):
    state["l%d" % len(state)] = [0] * n
def write(state, n):
    state["t%d" % len(state)] = ["x" * 100000] * n
def control(state, n):
    state["c%d" % len(state)] = ["\x01" * 10000] * n
def inner(state, n):
    if "in" not in state:
        state["in"] = {}
    state["in"][str(len(state["in"]))] = [0] * n
def shrink(state):
    for k in state.keys():
        state.pop(k)
tool(grow, "G.", n = integer())
tool(write, "W.", n = integer())
tool(control, "C.", n = integer())
tool(inner, "I.", n = integer())
tool(shrink, "S.")
`)
	ctx := context.Background()
	for _, c := range []struct {
		tool string
		n    int
		want string
	}{
		{"grow", 20000, "larger than 65536 values"}, {"write", 15, "larger than 4194304 bytes"},
		{"control", 30, "larger than 4194304 bytes"}, {"inner", 20000, "larger than 65536 values"},
	} {
		start := state(t, `{"a":1}`)
		applied := must(Apply(start, agentbound.Diff{{Op: "add", Path: "/b", Value: agentbound.Value(`[1]`)}}))
		for _, s := range []State{start, applied} {
			for i := 0; ; i++ {
				r := must(k.Call(ctx, s, agentbound.Call{Tool: c.tool, Args: must(Canonical(map[string]any{"n": c.n}))}))
				if _, err := r.After.Value(); err != nil {
					t.Fatalf("%s: a state that cannot be stored: %v", c.tool, err)
				}
				if !r.OK {
					if i < 2 || i > 3 || !strings.Contains(string(r.Observation), c.want) {
						t.Errorf("%s: call %d: %s", c.tool, i, r.Observation)
					}
					break
				}
				if i > 5 {
					t.Fatalf("%s: not bounded", c.tool)
				}
				s = r.After
			}
			if r := must(k.Call(ctx, s, agentbound.Call{Tool: "shrink"})); !r.OK || textOf(t, r.After) != `{}` {
				t.Errorf("%s: it does not shrink: %s", c.tool, r.Observation)
			} else if r := must(k.Call(ctx, r.After, agentbound.Call{Tool: c.tool, Args: must(Canonical(map[string]any{"n": c.n}))})); !r.OK {
				t.Errorf("%s: it does not grow again: %s", c.tool, r.Observation)
			}
		}
	}
}

// A tool that writes ever new parts is not remembered without bound.
func TestManyParts(t *testing.T) {
	k := kit(t, "def f(state):\n    for i in range(20000):\n        state['k%d' % i] = i\n    return len(state)\ntool(f, 'F.')\n")
	r := do(t, k, `{}`, "f", `{}`)
	if !r.OK || string(r.Observation) != "20000" {
		t.Fatal(string(r.Observation))
	}
	if n := len(*k.byName["f"].writes.parts.Load()); n > maxWritten {
		t.Errorf("%d parts are remembered", n)
	}
	if got := textOf(t, must(Apply(state(t, `{}`), r.Diff))); got != textOf(t, r.After) {
		t.Error("the difference does not lead there")
	}
}

// Parts that did not change are shared with the state before, however deep.
func TestUnchangedPartsAreShared(t *testing.T) {
	k := kit(t, "def f(state):\n    state['a']['list'][1]['n'] += 1\ntool(f, 'F.')\n")
	before := state(t, `{"a":{"list":[{"n":1},{"n":2},{"n":3}],"other":{}},"b":[1]}`)
	after := must(k.Call(context.Background(), before, agentbound.Call{Tool: "f"})).After
	part := func(s State, path ...any) starlark.Value {
		v := s.v
		for _, p := range path {
			switch p := p.(type) {
			case string:
				v, _, _ = v.(*starlark.Dict).Get(starlark.String(p))
			case int:
				v = v.(*starlark.List).Index(p)
			}
		}
		return v
	}
	for _, path := range [][]any{{"b"}, {"a", "other"}, {"a", "list", 0}, {"a", "list", 2}} {
		if part(before, path...) != part(after, path...) {
			t.Errorf("%v was copied", path)
		}
	}
	if part(before, "a", "list", 1) == part(after, "a", "list", 1) || textOf(t, before) == textOf(t, after) {
		t.Error("what changed is shared")
	}
}
