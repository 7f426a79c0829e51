package star

import (
	"context"
	"fmt"
	"os"
	"testing"
	"runtime"
	"time"

	"github.com/agentbound/agentbound"
)

func TestProbe(t *testing.T) {
	progs := map[string]string{
		"freeze":   "def mk():\n    def h(state):\n        return str(h)\n    return h\nH = mk()\ntool(H, 'x')\n",
		"hidden":   "def mk():\n    l = []\n    return l.append, l\nA = mk()[0]\ndef f(state):\n    A(1)\n    return 1\ntool(f, 'x')\n",
		"closure":  "def mk():\n    l = []\n    def t(state):\n        l.append(1)\n        return len(l)\n    return t\ntool(mk(), 'x')\n",
		"dot":      "def f(state):\n    ([0]*(1<<26)).x = 1\ntool(f, 'x')\n",
		"rsplit":   "def f(state):\n    return 'a b'.rsplit(None, 1<<28)\ntool(f, 'x')\n",
		"range":    "def f(state):\n    return range(0,10,1<<62)[::4]\ntool(f, 'x')\n",
		"join":     "def f(state):\n    d = {}\n    for i in range(2000):\n        d[str(i)] = 1\n    return len(('x'*262144).join(d))\ntool(f, 'x')\n",
		"percent":  "def f(state):\n    return len(('%(a)s'*4000) % {'a': 'x'*100000})\ntool(f, 'x')\n",
		"failsep":  "def f(state):\n    fail(*(['']*8000), sep='x'*60000)\ntool(f, 'x')\n",
		"keys":     "def f(state):\n    d = {}\n    for i in range(30000):\n        d[i<<32] = 1\n    return len(d)\ntool(f, 'x')\n",
		"sortkey":  "def f(state):\n    big=[0]*60000\n    return len(sorted(range(200), key=lambda i: big))\ntool(f, 'x')\n",
		"toolcall": "def g(state):\n    return 1\ndef f(state):\n    tool(g, 'x')\ntool(f, 'x')\n",
		"dictor":   "def f(state):\n    a = {}\n    b = a\n    b |= {'k': 1}\n    return a\ntool(f, 'x')\n",
		"order":    "def f(state):\n    d = {'k': 1}\n    def g():\n        d['k'] = 10\n        return 1\n    d['k'] += g()\n    return d\ntool(f, 'x')\n",
	}
	name := os.Getenv("PROBE")
	k, err := LoadKit([]agentbound.Source{{Name: "a.star", Text: progs[name]}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := DecodeState(agentbound.Value("{}"))
	for range 2 {
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		t0 := time.Now()
		r, err := k.Call(context.Background(), s, agentbound.Call{Tool: k.Names()[0], Args: agentbound.Value("{}")})
		runtime.ReadMemStats(&m1)
		o := r.Observation
		if len(o) > 200 { o = o[:200] }
		fmt.Println(name, r.OK, r.Fault, string(o), err, time.Since(t0), (m1.TotalAlloc-m0.TotalAlloc)>>20, "MB")
	}
}
