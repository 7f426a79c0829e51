package star

import (
	"testing"

	"github.com/agentbound/agentbound"
)

// TestReach: what a tool can touch is never said to be less than it is.
func TestReach(t *testing.T) {
	const source = `
KEY = "facts"

def plain(state):
    return state["other"]

def helped(state):
    return helper(1, state)

def helper(n, s):
    return s["facts"] if n else None

def circular(state):
    return round_about(state)

def round_about(s):
    if s["other"]:
        return circular(s)
    return s["facts"]

def by_name(state, part):
    return state[part]

def by_constant(state):
    return state[KEY]

def whole(state):
    return len(state)

def renamed(state):
    s = state
    return s["facts"]

def captured(state):
    return [state for _ in range(1)][0]["facts"]

def by_get(state):
    return state.get("facts")

def writes(state):
    state["other"] = []
    state["log"].append(1)
    return None

def make():
    def plain2(state):
        return state["facts"]
    return plain2

tool(plain, "d")
tool(helped, "d")
tool(circular, "d")
tool(by_name, "d", part = string("p"))
tool(by_constant, "d")
tool(whole, "d")
tool(renamed, "d")
tool(captured, "d")
tool(by_get, "d")
tool(writes, "d")
tool(make(), "d")
`
	k, err := LoadKit([]agentbound.Source{{Name: "reach.star", Text: source}})
	if err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]bool{
		"plain": false, "writes": false, "no such tool": false,
		"helped": true, "circular": true, "by_name": true, "by_constant": true, "whole": true, "renamed": true, "captured": true, "by_get": true, "plain2": true,
	} {
		if got := k.Reaches(tool, []string{"facts"}); got != want {
			t.Errorf("%s reaches the facts: %t, want %t", tool, got, want)
		}
	}
	if !k.Reaches("writes", []string{"facts", "log"}) || !k.Reaches("plain", []string{"other"}) {
		t.Error("a part that is named is not reached")
	}
}
