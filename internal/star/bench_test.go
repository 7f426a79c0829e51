package star

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agentbound/agentbound"
)

// records is a state of fifty.
func records(t testing.TB) State {
	var list []string
	for i := range 50 {
		list = append(list, fmt.Sprintf(`{"id":"R-%d","title":"Extract %d","handling":"Restricted %d","n":%d,"to":"a%d@x.example"}`, i, i, i%3, i, i))
	}
	return state(t, `{"records":[`+strings.Join(list, ",")+`],"log":[]}`)
}

const benchKit = `
def find(state, text):
    return [{"id": r["id"], "title": r["title"]} for r in state["records"] if text.lower() in r["title"].lower()][:5]
def mark(state, id):
    for r in state["records"]:
        if r["id"] == id:
            r["n"] += 1
            state["log"].append({"id": id, "entry": "L-%d" % len(state["log"])})
            return {"status": "marked", "id": id}
    fail("no record %s" % id)
tool(find, "F.", text = string())
tool(mark, "M.", id = string())
`

func BenchmarkToolReads(b *testing.B)  { benchmarkTool(b, "find", `{"text":"extract"}`) }
func BenchmarkToolWrites(b *testing.B) { benchmarkTool(b, "mark", `{"id":"R-49"}`) }
func BenchmarkToolFails(b *testing.B)  { benchmarkTool(b, "mark", `{"id":"R-50"}`) }

func benchmarkTool(b *testing.B, tool, args string) {
	k, s := kit(b, benchKit), records(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Call(context.Background(), s, agentbound.Call{Tool: tool, Args: agentbound.Value(args)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPredicate(b *testing.B) {
	s := records(b)
	for _, c := range []struct{ name, expr string }{
		{"walk", `any([r["handling"].startswith("Public") and r["n"] > 5 for r in after["records"]])`},
		{"join", `any([r["to"] != before["records"][r["n"]]["to"] or r["id"] not in ["R-" + str(r["n"])] for r in after["records"]])`},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := predicate(b, c.expr, JudgeNames...)
			env := Env{Start: s, Before: s, After: s}
			b.ReportAllocs()
			for b.Loop() {
				if holds, err := p.Holds(context.Background(), env); holds || err != nil {
					b.Fatal(holds, err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	v := must(records(b).Value())
	b.SetBytes(int64(len(v)))
	for b.Loop() {
		if _, err := Decode(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	s := records(b)
	b.SetBytes(int64(len(must(s.Value()))))
	for b.Loop() {
		if _, err := s.Value(); err != nil {
			b.Fatal(err)
		}
	}
}
