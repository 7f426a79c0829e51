package star

import (
	"testing"

	"github.com/agentbound/agentbound"
)

// TestReadOnly: of a tool that could change something it is never said that it reads.
func TestReadOnly(t *testing.T) {
	const source = `
def pick(state):
    return [x for x in state["list"] if x != "a"]

def add(xs, x):
    xs.append(x)

def read(state):
    found = [x for x in state["list"]]
    first, second = "a", found
    return {"found": second, "picked": pick(state)}

def sets(state):
    state["part"] = 1

def sets_below(state):
    state["record"]["field"] = 1

def grows(state):
    xs = state["list"]
    xs += ["a"]

def appends(state):
    state["list"].append("a")

def helped(state):
    add(state["list"], "a")

ADD = add
TABLE = {"add": add}

def renamed(state):
    ADD(state["list"], "a")

def tabled(state):
    TABLE["add"](state["list"], "a")

def kept(state):
    f = state["list"].append
    f("a")

def loops(state):
    for state["part"] in ["a"]:
        pass

def comprehends(state):
    return [1 for state["part"] in ["a"]]

def by_name(state):
    getattr(state["list"], "append")("a")

def inner(state):
    def deep():
        state["record"].update({"field": 1})
    deep()

tool(read, "d")
tool(sets, "d")
tool(sets_below, "d")
tool(grows, "d")
tool(appends, "d")
tool(helped, "d")
tool(renamed, "d")
tool(tabled, "d")
tool(kept, "d")
tool(loops, "d")
tool(comprehends, "d")
tool(by_name, "d")
tool(inner, "d")
`
	kit, err := LoadKit([]agentbound.Source{{Name: "t.star", Text: source}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range kit.Names() {
		if got := kit.ReadOnly(name); got != (name == "read") {
			t.Errorf("ReadOnly(%s) = %t", name, got)
		}
		if parts, all := kit.Touches(name); !all && len(parts) == 0 {
			t.Errorf("Touches(%s): nothing", name)
		}
	}
	if kit.ReadOnly("none") {
		t.Error("a tool that is not there reads")
	}
}

// TestAdmit: what is checked without a call is what a call checks.
func TestAdmit(t *testing.T) {
	kit, err := LoadKit([]agentbound.Source{{Name: "t.star", Text: "def f(state, n, m = 2):\n    return n\n\ntool(f, \"d\", n = integer(\"n\"), m = integer(\"m\", default = 2))\n"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := DecodeState(agentbound.Value(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []agentbound.Call{
		{Tool: "f", Args: agentbound.Value(`{"n":1.0}`)}, {Tool: "f", Args: agentbound.Value(`{"n":"1"}`)},
		{Tool: "g", Args: agentbound.Value(`{}`)}, {Tool: "f", Args: agentbound.Value(`"{"`)},
	} {
		made, err := kit.Call(t.Context(), s, c)
		if err != nil {
			t.Fatal(err)
		}
		args, refused, ok := kit.Admit(s, c)
		if ok != made.OK || ok && !args.Equal(made.Args) || !ok && !refused.Observation.Equal(made.Observation) {
			t.Errorf("%s: admitted %t with %s and %s; Call gives %+v", c, ok, args, refused.Observation, made)
		}
	}
}
