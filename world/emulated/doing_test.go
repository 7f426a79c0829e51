package emulated

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/suites"
)

// TestToolsKeepToTheirText: what the tools of all families do on their reference calls is
// what their text says that they do.
func TestToolsKeepToTheirText(t *testing.T) {
	cache := star.NewCache(0)
	for _, name := range []string{"core", "examples"} {
		s, err := suites.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Families {
			if testing.Short() && i%10 > 0 {
				continue
			}
			t.Run(string(s.Families[i].ID), func(t *testing.T) {
				t.Parallel()
				keepsTo(t, cache, &s.Families[i])
			})
		}
	}
}

// TestMostTextsTell: of nearly all tools of the suites that write, the text tells what.
func TestMostTextsTell(t *testing.T) {
	var tools, open, partly, writes, told int
	seen := map[string]bool{}
	for _, name := range []string{"core", "examples"} {
		s, err := suites.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Families {
			f := &s.Families[i]
			if seen[name+string(f.Archetype)] && f.Archetype != "" {
				continue
			}
			seen[name+string(f.Archetype)] = true
			kit, err := star.LoadKit(f.Toolkits)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range kit.Names() {
				if kit.ReadOnly(tool) {
					continue
				}
				tools++
				e := kit.Effects(tool)
				if e.Open {
					open++
				}
				if slices.ContainsFunc(e.Writes, func(w star.Write) bool { return w.Kind == star.Any }) {
					partly++
				}
				for _, w := range e.Writes {
					writes++
					if len(w.Value) > 0 {
						told++
					}
				}
			}
		}
	}
	if t.Logf("%d tools write, %d open, %d in part; %d writes, %d of known value", tools, open, partly, writes, told); open*50 > tools || partly*20 > tools || told*3 < writes*2 {
		t.Errorf("of %d tools %d are open and %d in part; of %d writes %d have a known value", tools, open, partly, writes, told)
	}
}

func keepsTo(t *testing.T, cache *star.Cache, f *agentbound.Family) {
	t.Helper()
	p, err := cache.Program(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range []agentbound.Split{agentbound.EB, agentbound.CM} {
		task, _ := f.Task(split)
		for _, path := range [][]agentbound.Call{f.Reference.Workflow, f.Reference.Containment, f.Reference.Mutations} {
			m, err := p.NewMachine(task.Start, task.Event)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range path {
				move, err := m.Call(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if !move.OK {
					continue
				}
				if err := kept(p, move); err != nil {
					t.Errorf("%s/%s, %s: %v", f.ID, split, c, err)
				}
			}
		}
	}
}

func kept(p *star.Program, move star.Move) error {
	before, err := object(move.Before)
	if err != nil {
		return err
	}
	after, err := object(move.After)
	if err != nil {
		return err
	}
	args, err := decode(move.Args)
	if err != nil {
		return err
	}
	return doing{p.Kit.Effects(move.Tool), args, before, after}.check(move.Diff)
}

// tricky are tools that write in ways that a reader of their text could take for others.
const tricky = `
KINDS = {"a": "x", "b": "y"}

def changed_after(state, to):
    r = {"to": to, "n": 1}
    state["log"].append(r)
    r["to"] = "somebody else"
    return 1

def changed_by_helper(state, to):
    r = {"to": to, "n": 1}
    _touch(r)
    state["log"].append(r)

def _touch(r):
    r["n"] = 7

def through_a_list(state, to):
    found = []
    for p in state["people"].values():
        found.append(p)
    for p in found:
        p["seen"] = to

def through_an_object(state, to):
    box = {"inner": state["people"]["P-1"]}
    box["inner"]["seen"] = to

def through_sorted(state, to):
    for p in sorted(state["people"].values(), key = lambda p: p["name"]):
        p["seen"] = to

def through_a_name(state, to):
    p = state["people"]["P-1"]
    q = p
    p = {"seen": ""}
    q["seen"] = to

def through_or(state, to):
    p = state["people"].get("P-9") or state["people"]["P-1"]
    p["seen"] = to

def chained(state, to):
    p = state["people"]
    for k in ["P-1", "tags"]:
        p = p[k]
    p.append(to)

def returned(state, to):
    _pick(state, "P-2")["seen"] = to

def _pick(state, id):
    for k, p in state["people"].items():
        if k == id:
            return p
    fail("none")

def folded(state, to):
    to, rest = to.strip().lower(), ""
    state["log"].append({"to": to, "n": len(state["log"])})

def remade(state, to):
    to = "dear " + to
    state["log"].append({"to": to, "n": 1})

def early(state, to):
    if to != "x":
        return "nothing to do"
    state["log"].append({"to": to, "n": 1})

def early_in_helper(state, to):
    _maybe(state, to)
    state["texts"].append(to)

def _maybe(state, to):
    if to != "x":
        return
    state["log"].append({"to": to, "n": 1})

def either(state, to):
    state["log"].append({"to": to if to == "x" else "nobody", "n": 1})

def looked_up(state, to):
    state["log"].append({"to": KINDS.get(to, to), "n": 1})

def after_its_own_write(state, to):
    state["people"]["P-1"]["name"] = "new"
    state["log"].append({"to": state["people"]["P-1"]["name"], "n": 1})

def written_twice(state, to):
    state["people"]["P-1"]["seen"] = "first"
    state["people"]["P-1"]["seen"] = to

def by_any_key(state, to):
    for k in state["people"]:
        state["people"][k]["seen"] = to

def keys_kept(state, to):
    for k in state["people"]:
        state["log"].append({"to": k, "n": 1})

def whole_part(state, to):
    state["texts"] = state["texts"][1:] + [to]

def in_place(state, to):
    t = state["texts"]
    t += [to]

def inserted(state, to):
    state["texts"].insert(0, to)

def updated(state, to):
    state["people"]["P-1"].update({"seen": to})

def kept_method(state, to):
    put = state["texts"].append
    put(to)

def in_a_comprehension(state, to):
    [state["texts"].append(t) for t in [to, to]]

def a_copy_of(state, to):
    t = list(state["texts"])
    t.append(to)
    return t

def copied_whole(state, to):
    people = dict(state["people"])
    people["P-1"]["seen"] = to

def filtered_and_more(state, to):
    state["texts"] = [t for t in state["texts"] if t != "one"]
    state["texts"].append(to)

def first_and_last(state, to):
    state["log"].append({"to": "b", "n": 0})
    state["log"][0]["n"] = 5

def of_itself(state, to):
    p = state["people"]
    for k in ["P-1", "tags"]:
        q = p
        p = q[k]
    p.append(to)

def swapped(state, to):
    a, b = state["people"]["P-1"], state["people"]["P-2"]
    a, b = b, a
    a["seen"] = to

def nested(state, to):
    state["log"].append({"to": to, "n": 1})
    state["log"][-1]["n"] = 9

def defaulted(state, to, n = 3):
    state["log"].append({"to": to, "n": n})

def named_arguments(state, to):
    _write(to = "other", state = state)

def _write(state, to):
    state["log"].append({"to": to, "n": 1})

def popped(state, to):
    p = state["people"].pop("P-1")
    p["seen"] = to
    state["people"]["P-1"] = p

def given_list(state, to):
    for t in [to, "more"]:
        state["texts"].append(t)
`

// TestTrickyTools: whatever a tool does, its text was read so that it may.
func TestTrickyTools(t *testing.T) {
	text := tricky
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^def ([a-z]\w*)\(state, to(, n = 3)?\)`).FindAllStringSubmatch(tricky, -1) {
		names = append(names, m[1])
		text += "tool(" + m[1] + `, "T.", to = string("To.")` + map[bool]string{true: `, n = integer("N.", default = 3)`}[m[2] != ""] + ")\n"
	}
	kit, err := star.LoadKit([]agentbound.Source{{Name: "tricky.star", Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	start, err := star.DecodeState(agentbound.Value(`{"log":[{"n":0,"to":"z"}],"people":{"P-1":{"name":"Mira","seen":"","tags":["t"]},"P-2":{"name":"Noor","seen":"","tags":[]}},"texts":["one","two"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		for _, to := range []string{"x", " Some One ", "a"} {
			args, err := json.Marshal(map[string]string{"to": to})
			if err != nil {
				t.Fatal(err)
			}
			r, err := kit.Call(t.Context(), start, agentbound.Call{Tool: name, Args: args})
			if err != nil || !r.OK {
				t.Fatalf("%s: %v, %s", name, err, r.Observation)
			}
			p := &star.Program{Kit: kit}
			if err := kept(p, star.Move{Result: r, Tool: name, Before: start}); err != nil {
				t.Errorf("%s(%q) changed %v: %v", name, to, r.Diff, err)
			}
		}
	}
}
