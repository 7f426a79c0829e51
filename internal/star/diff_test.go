package star

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"github.com/agentbound/agentbound"
)

// mutated changes some places of a tree, so that two states have much in common.
func mutated(t *rapid.T, v starlark.Value, depth int) starlark.Value {
	if rapid.IntRange(0, 5).Draw(t, "here") == 0 {
		return trees(depth).Draw(t, "new")
	}
	switch v := v.(type) {
	case *starlark.List:
		var elems []starlark.Value
		for x := range v.Elements() {
			switch rapid.IntRange(0, 9).Draw(t, "item") {
			case 0: // gone
			case 1:
				elems = append(elems, trees(depth-1).Draw(t, "put in"), x)
			default:
				elems = append(elems, mutated(t, x, depth-1))
			}
		}
		return starlark.NewList(elems)
	case *starlark.Dict:
		d := starlark.NewDict(0)
		for k, x := range v.Entries() {
			if rapid.IntRange(0, 9).Draw(t, "key") > 0 {
				_ = d.SetKey(k, mutated(t, x, depth-1))
			}
		}
		if rapid.Bool().Draw(t, "more") {
			_ = d.SetKey(starlark.String(texts().Draw(t, "new key")), trees(depth-1).Draw(t, "value"))
		}
		return d
	}
	return v
}

func TestApplyUndoesDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := objects(3).Draw(t, "before")
		a := must(DecodeState(must(Encode(root))))
		changed, ok := mutated(t, root, 3).(*starlark.Dict)
		if !ok || rapid.IntRange(0, 4).Draw(t, "unrelated") == 0 {
			changed = objects(3).Draw(t, "after").(*starlark.Dict)
		}
		b := must(DecodeState(must(Encode(changed))))
		was := must(a.Value())
		diff := must(Difference(a, b))
		got, err := Apply(a, diff)
		if err != nil {
			t.Fatalf("%v\nbefore %s\nafter  %s\ndiff   %v", err, was, must(b.Value()), show(diff))
		}
		if g, w := must(got.Value()), must(b.Value()); !g.Equal(w) {
			t.Fatalf("before %s\nafter  %s\ngot    %s\ndiff   %v", was, w, g, show(diff))
		}
		if g := got.v.String(); g != b.v.String() {
			t.Fatalf("the order of keys: got %s, want %s", g, b.v)
		}
		if g := must(a.Value()); !g.Equal(was) {
			t.Fatalf("the state before changed from %s to %s", was, g)
		}
		if err := got.v.(*starlark.Dict).SetKey(starlark.String("x"), starlark.None); err == nil {
			t.Fatal("the state after can be changed")
		}
		if same := must(Difference(b, got)); len(same) != 0 {
			t.Fatalf("equal states differ by %v", show(same))
		}
	})
}

func show(d agentbound.Diff) string {
	var parts []string
	for _, op := range d {
		parts = append(parts, fmt.Sprintf("%s %s %s", op.Op, op.Path, op.Value))
	}
	return strings.Join(parts, "; ")
}

func TestDifferenceIsSmall(t *testing.T) {
	for _, c := range []struct{ before, after, want string }{
		{`{"a":[1,2]}`, `{"a":[1,2,3]}`, `add /a/2 3`},
		{`{"a":[]}`, `{"a":[{"x":1},{"x":2}]}`, `add /a/0 {"x":1}; add /a/1 {"x":2}`},
		{`{"a":[1,2,3]}`, `{"a":[1,3]}`, `remove /a/1 `},
		{`{"a":[1,2,3]}`, `{"a":[0,1,2,3]}`, `add /a/0 0`},
		{`{"a":[1,2,3,4]}`, `{"a":[1]}`, `remove /a/3 ; remove /a/2 ; remove /a/1 `},
		{`{"a":[{"x":1,"y":2},{"x":3}]}`, `{"a":[{"x":1,"y":5},{"x":3}]}`, `replace /a/0/y 5`},
		{`{"a":1,"b":2}`, `{"b":2,"c":3}`, `remove /a ; add /c 3`},
		{`{"a":1}`, `{"a":1.0}`, `replace /a 1.0`},
		{`{"a":0.0}`, `{"a":-0.0}`, `replace /a -0.0`},
		{`{"a":true}`, `{"a":1}`, `replace /a 1`},
		{`{"a":{"b":1}}`, `{"a":[1]}`, `replace /a [1]`},
		{`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, `replace /a~1b/~0 2`},
		{`{"":{"":1}}`, `{"":{"":2}}`, `replace // 2`},
		{`{"a":{}}`, `{"a":{}}`, ``},
	} {
		diff := must(Difference(state(t, c.before), state(t, c.after)))
		if got := show(diff); got != c.want {
			t.Errorf("%s → %s: got %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

func TestLongDifferenceReplaces(t *testing.T) {
	list := func(n int, item string) string { return `{"a":[` + strings.Repeat(item+",", n-1) + item + `]}` }
	for _, c := range []struct{ name, before, after string }{
		{"many places", list(5000, "0"), list(5000, "1")},
		{"long paths", fmt.Sprintf(`{%q:[%s0]}`, strings.Repeat("k", 1<<17), strings.Repeat("0,", 99)), fmt.Sprintf(`{%q:[%s1]}`, strings.Repeat("k", 1<<17), strings.Repeat("1,", 99))},
	} {
		a, b := state(t, c.before), state(t, c.after)
		diff := must(Difference(a, b))
		if len(diff) != 1 || diff[0].Path != "" {
			t.Fatalf("%s: %d operations", c.name, len(diff))
		}
		if got := textOf(t, must(Apply(a, diff))); got != c.after {
			t.Errorf("%s: got %.60s", c.name, got)
		}
	}
}

// The examples of RFC 6902, appendix A, that use the three operations.
func TestApplyRFC6902(t *testing.T) {
	for _, c := range []struct{ name, doc, op, path, value, want string }{
		{"A.1", `{"foo":"bar"}`, "add", "/baz", `"qux"`, `{"baz":"qux","foo":"bar"}`},
		{"A.2", `{"foo":["bar","baz"]}`, "add", "/foo/1", `"qux"`, `{"foo":["bar","qux","baz"]}`},
		{"A.3", `{"baz":"qux","foo":"bar"}`, "remove", "/baz", ``, `{"foo":"bar"}`},
		{"A.4", `{"foo":["bar","qux","baz"]}`, "remove", "/foo/1", ``, `{"foo":["bar","baz"]}`},
		{"A.5", `{"baz":"qux","foo":"bar"}`, "replace", "/baz", `"boo"`, `{"baz":"boo","foo":"bar"}`},
		{"A.10", `{"foo":"bar"}`, "add", "/child", `{"grandchild":{}}`, `{"child":{"grandchild":{}},"foo":"bar"}`},
		{"A.14", `{"/":9,"~1":10}`, "replace", "/~01", `11`, `{"/":9,"~1":11}`},
		{"A.16", `{"foo":["bar"]}`, "add", "/foo/-", `["abc","def"]`, `{"foo":["bar",["abc","def"]]}`},
		{"add to a key that is there", `{"foo":1}`, "add", "/foo", `2`, `{"foo":2}`},
		{"the whole", `{"foo":1}`, "replace", "", `{"b":2}`, `{"b":2}`},
		{"keys in order", `{"a":1,"c":3}`, "add", "/b", `2`, `{"a":1,"b":2,"c":3}`},
	} {
		got, err := Apply(state(t, c.doc), agentbound.Diff{{Op: c.op, Path: c.path, Value: agentbound.Value(c.value)}})
		if err != nil || textOf(t, got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, got.v, err, c.want)
		}
	}
}

func TestApplyInTurn(t *testing.T) {
	before := state(t, `{"a":{"x":[1,2]},"b":[{"y":1}]}`)
	after, err := Apply(before, agentbound.Diff{
		{Op: "add", Path: "/c", Value: agentbound.Value(`{"k":[]}`)},
		{Op: "add", Path: "/c/k/-", Value: agentbound.Value(`1`)},
		{Op: "add", Path: "/c/k/0", Value: agentbound.Value(`0`)},
		{Op: "replace", Path: "/c/k/1", Value: agentbound.Value(`5`)},
		{Op: "add", Path: "/c/a", Value: agentbound.Value(`2`)},
		{Op: "remove", Path: "/a/x/0"},
		{Op: "remove", Path: "/a/x/0"},
		{Op: "replace", Path: "/b/0/y", Value: agentbound.Value(`2`)},
		{Op: "add", Path: "/b/0/x", Value: agentbound.Value(`3`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := textOf(t, after), `{"a":{"x":[]},"b":[{"x":3,"y":2}],"c":{"a":2,"k":[0,5]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := after.v.String(), `{"a": {"x": []}, "b": [{"x": 3, "y": 2}], "c": {"a": 2, "k": [0, 5]}}`; got != want {
		t.Errorf("order: got %s, want %s", got, want)
	}
	if got := textOf(t, before); got != `{"a":{"x":[1,2]},"b":[{"y":1}]}` {
		t.Errorf("the state before became %s", got)
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, c := range []struct{ op, path, value, want string }{
		{"replace", "/nope", `1`, `no key "nope"`}, {"remove", "/nope", ``, `no key`}, {"add", "/nope/x", `1`, `no key "nope"`},
		{"replace", "/a/2", `1`, `no item "2" in a list of 2`}, {"add", "/a/3", `1`, "no item"}, {"remove", "/a/-1", ``, "no item"},
		{"add", "/a/01", `1`, "no item"}, {"add", "/a/+1", `1`, "no item"}, {"replace", "/a/-", `1`, "no item"}, {"add", "/a/1e0", `1`, "no item"},
		{"add", "/a/-/x", `1`, "no item"}, {"add", "/n/x", `1`, `"x" leads into a int`}, {"add", "a", `1`, "must begin with /"}, {"add", "/a~", `1`, "after ~"},
		{"add", "/~2", `1`, "after ~"}, {"remove", "", ``, "cannot be removed"}, {"replace", "", `[]`, "a state is a JSON object"},
		{"move", "/a", `1`, "unknown operation"}, {"", "/a", `1`, "unknown operation"}, {"add", "/x", ``, "not JSON"}, {"add", "/x", `{`, "not JSON"},
	} {
		_, err := Apply(state(t, `{"a":[1,2],"n":3}`), agentbound.Diff{{Op: c.op, Path: c.path, Value: agentbound.Value(c.value)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s %s: got %v, want %q", c.op, c.path, c.value, err, c.want)
		}
	}
	if _, err := Apply(state(t, `{}`), make(agentbound.Diff, maxOps+1)); err == nil {
		t.Error("too many operations were applied")
	}
}

func TestAssignAndGet(t *testing.T) {
	s := state(t, `{"accounts":{"A.9":{"standing":"verified"}},"list":[{"id":1}]}`)
	set := []agentbound.Assignment{
		{Pointer: "/accounts/A.9/standing", Value: agentbound.Value(`"taken over"`)},
		{Pointer: "/accounts/A.9/remark", Value: agentbound.Value(`"new"`)},
		{Pointer: "/list/0/id", Value: agentbound.Value(`2`)},
		{Pointer: "/fresh", Value: agentbound.Value(`[1,2]`)},
		{Pointer: "/fresh/0", Value: agentbound.Value(`7`)}, // of what was just made
	}
	got, err := Assign(s, set)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"accounts":{"A.9":{"remark":"new","standing":"taken over"}},"fresh":[7,2],"list":[{"id":2}]}`
	if diff := cmp.Diff(want, textOf(t, got)); diff != "" {
		t.Error(diff)
	}
	if v, err := Get(got, "/accounts/A.9/remark"); err != nil || string(v) != `"new"` {
		t.Errorf("Get: %s, %v", v, err)
	}
	for _, p := range []string{"/no", "/list/1", "/list/x", "/list/0/id/x", "list"} {
		if v, err := Get(got, p); err == nil {
			t.Errorf("Get(%s) = %s", p, v)
		}
	}
	if _, err := Assign(s, []agentbound.Assignment{{Pointer: "/no/where", Value: agentbound.Value(`1`)}}); err == nil {
		t.Error("an object was created on the way")
	}
}

func TestRestored(t *testing.T) {
	before, end := state(t, `{"a":1,"l":[1,2],"o":{"k":1}}`), state(t, `{"a":1,"l":[2,1],"o":{"k":2}}`)
	for _, c := range []struct {
		op   agentbound.Op
		want bool
	}{
		{agentbound.Op{Op: "replace", Path: "/a", Value: agentbound.Value(`5`)}, true},
		{agentbound.Op{Op: "replace", Path: "/o/k", Value: agentbound.Value(`2`)}, false},
		{agentbound.Op{Op: "add", Path: "/l/2", Value: agentbound.Value(`3`)}, true},
		{agentbound.Op{Op: "add", Path: "/l/0", Value: agentbound.Value(`1`)}, true},
		{agentbound.Op{Op: "add", Path: "/x", Value: agentbound.Value(`1`)}, true},
	} {
		if got := Restored(before, end, c.op); got != c.want {
			t.Errorf("%v: got %v", c.op, got)
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}]}`), "add", "/a/1/c", []byte(`3`), "remove", "/a/0")
	f.Add([]byte(`{"a~b":{"/":1}}`), "replace", "/a~0b/~1", []byte(`[]`), "add", "/a~0b/x")
	f.Fuzz(func(t *testing.T, doc []byte, op1, path1 string, value []byte, op2, path2 string) {
		s, err := DecodeState(doc)
		if err != nil {
			return
		}
		was, err := s.Value()
		if err != nil {
			return
		}
		after, err := Apply(s, agentbound.Diff{{Op: op1, Path: path1, Value: value}, {Op: op2, Path: path2, Value: value}})
		if now := textOf(t, s); now != string(was) {
			t.Fatalf("the state before changed from %s to %s", was, now)
		}
		if err != nil {
			return
		}
		enc, err := after.Value()
		if err != nil {
			return // deeper or larger than a state may be
		}
		again, err := DecodeState(enc)
		if err != nil || !sameTree(again.v, after.v) || again.v.String() != after.v.String() {
			t.Fatalf("%s is not in canonical order: %v", after.v, err)
		}
		diff, err := Difference(s, after)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Apply(s, diff); err != nil || textOf(t, back) != string(enc) {
			t.Fatalf("%v: %v", show(diff), err)
		}
	})
}
