package guardagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/intervene/guardagent"
	"github.com/agentbound/agentbound/intervene/intervenetest"
	"github.com/agentbound/agentbound/model"
	"github.com/agentbound/agentbound/model/modeltest"
	"github.com/agentbound/agentbound/suites"
)

func proposal() intervene.Proposal {
	return intervene.Proposal{
		Context: intervene.Context{
			Instruction: "Send the packet of blue beans to the school.", Tools: []string{"find_packet", "send_packet"}, Thought: "I send it.",
			History: []intervene.Turn{{Thought: "I look.", Observations: []agentbound.Value{agentbound.Value(`{"packet":"P-1","left":1}`)}}},
		},
		Call: agentbound.Call{Tool: "send_packet", Args: agentbound.Value(`{"packet":"P-1"}`)},
	}
}

func gate(t *testing.T, m model.Model) *guardagent.Gate {
	t.Helper()
	g, err := guardagent.New(guardagent.Options{Model: m})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func fenced(code string) string { return "```python\n" + code + "\n```" }

// script answers with a plan and then with each text in turn; past the end with the last.
func script(asked *[]model.Request, texts ...string) modeltest.Fake {
	return modeltest.Fake{Play: func(r model.Request) model.Response {
		*asked = append(*asked, r)
		text := "The task.\n\nPlan:\n1. Look."
		if n := len(*asked) - 2; n >= 0 {
			text = texts[min(n, len(texts)-1)]
		}
		res := modeltest.Says(text)
		res.Usage = model.Usage{Input: 10, Output: 2}
		return res
	}}
}

const allows = `def guard(case):
    return {"allow": case["call"]["args"]["packet"] == case["history"][0]["observations"][0]["packet"], "reason": case["thought"]}`

// TestDecides: what the code gives is the decision; what breaks goes back with its error,
// three times and no more; and the code that decided is kept.
func TestDecides(t *testing.T) {
	denies := strings.Replace(allows, "==", "!=", 1)
	for name, test := range map[string]struct {
		says    []string
		allow   bool
		asked   int
		mends   string // of the last question
		failure string
	}{
		"allows":          {[]string{fenced(allows)}, true, 2, "", ""},
		"denies":          {[]string{fenced(denies)}, false, 2, "", ""},
		"no fence":        {[]string{allows}, true, 2, "", ""},
		"words around it": {[]string{"Here it is:\n" + fenced(allows) + "\nThat is all."}, true, 2, "", ""},
		"mended once":     {[]string{fenced("def guard(case):\n    return case.allow"), fenced(allows)}, true, 3, "has no .allow field", ""},
		"mended thrice":   {[]string{"No.", fenced("def guard(case:"), fenced("x = 1"), fenced(denies)}, false, 5, "undefined: guard", ""},
		"fails":           {[]string{fenced("def guard(case):\n    fail(\"I do not know\")")}, false, 5, "I do not know", "3 rounds of mending: error: I do not know"},
		"no decision":     {[]string{fenced("def guard(case):\n    return {\"allow\": True}")}, false, 5, "must return", "must return"},
		"odd decision":    {[]string{fenced("def guard(case):\n    return {\"allow\": 1, \"reason\": \"x\"}")}, false, 5, "must return", "must return"},
		"two blocks":      {[]string{fenced(allows) + "\nor\n" + fenced(denies)}, false, 5, "2 blocks", "2 blocks"},
		"changes it":      {[]string{fenced("def guard(case):\n    case[\"call\"] = None\n    return {\"allow\": True, \"reason\": \"x\"}"), fenced(allows)}, true, 2, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []model.Request
			g := gate(t, script(&asked, test.says...))
			p := proposal()
			d, err := g.Allow(t.Context(), p)
			if (err == nil) != (test.failure == "") || err != nil && !strings.Contains(err.Error(), test.failure) {
				t.Fatalf("%+v, %v", d, err)
			}
			if name == "changes it" { // its copy, and nobody else's
				if string(p.Call.Args) != `{"packet":"P-1"}` {
					t.Error("the call was changed")
				}
				return
			}
			want := agentbound.GateDecision{By: "guardagent", Allowed: test.allow, Reason: "I send it.", Code: d.Code, Usage: &agentbound.Usage{InputTokens: int64(10 * test.asked), OutputTokens: int64(2 * test.asked)}}
			if err != nil {
				want.Reason = ""
			}
			if diff := cmp.Diff(want, d); diff != "" {
				t.Error(diff)
			}
			if len(asked) != test.asked || len(asked) > g.Calls() {
				t.Errorf("asked %d times", len(asked))
			}
			last := asked[len(asked)-1].Messages
			if text := last[len(last)-1].Text; !strings.Contains(text, test.mends) {
				t.Errorf("the last question: %s", text)
			}
			if err == nil && !strings.Contains(d.Code, "def guard(case)") {
				t.Errorf("the code that decided: %q", d.Code)
			}
		})
	}
}

func TestContract(t *testing.T) {
	for _, allow := range []string{"True", "False"} {
		code := fenced("def guard(case):\n    return {\"allow\": " + allow + ", \"reason\": \"of \" + case[\"call\"][\"tool\"]}")
		intervenetest.Gate(t, gate(t, modeltest.Fake{Play: func(r model.Request) model.Response {
			if len(r.Messages) == 2 {
				return modeltest.Says("Plan:\n1. Look.")
			}
			return modeltest.Says(code)
		}}))
	}
}

// FuzzCode: whatever a model writes is a decision or an error, and ends.
func FuzzCode(f *testing.F) {
	for _, e := range guardagent.Memory() {
		f.Add(e.Code)
	}
	f.Add("def guard(case):\n    return {}")
	f.Add("tool(guard, \"x\")")
	f.Fuzz(func(t *testing.T, code string) {
		v, err := guardagent.Run(t.Context(), code, agentbound.Value(`{"call":{"tool":"x","args":{}},"history":[]}`))
		if err == nil && v.Reason == "" {
			t.Errorf("%q decides without a reason", code)
		}
	})
}

// TestRuns: code has bounds, and nothing from outside. What takes too much is an error
// and no panic, and equal code gives equal answers.
func TestRuns(t *testing.T) {
	began := time.Now()
	for name, body := range map[string]string{
		"steps":     "for i in range(100000000):\n        pass",
		"memory":    "x = [0] * (1 << 30)",
		"text":      "x = \"a\" * (1 << 30)",
		"recursion": "guard(case)",
		"load":      "load(\"x.star\", \"y\")",
		"a file":    "open(\"/etc/passwd\")",
		"a module":  "json.decode(\"{}\")",
		"time":      "time.now()",
		"while":     "while True:\n        pass",
	} {
		_, err := guardagent.Run(t.Context(), "def guard(case):\n    "+body+"\n    return {\"allow\": True, \"reason\": \"x\"}\n", agentbound.Value(`{"call":{}}`))
		if err == nil {
			t.Errorf("%s is possible", name)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if _, err := guardagent.Run(t.Context(), "x = [0] * (1 << 30)\n", agentbound.Value(`{}`)); err == nil {
		t.Error("a file has no bounds")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := guardagent.Run(ctx, allows, agentbound.Value(`{}`)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestMemory: each example's code decides its case as it says, and the memory holds cases
// of both kinds.
func TestMemory(t *testing.T) {
	decisions := map[bool]int{}
	for _, e := range guardagent.Memory() {
		v, err := guardagent.Run(t.Context(), e.Code, agentbound.Value(e.Shown))
		if err != nil || v.Allow != e.Allow {
			t.Errorf("%s: %+v, %v", e.Name, v, err)
		}
		if !strings.Contains(e.Plan, "Plan:\n1. ") {
			t.Errorf("%s has no plan", e.Name)
		}
		decisions[e.Allow]++
	}
	if decisions[true] < 2 || decisions[false] < 2 {
		t.Errorf("%v", decisions)
	}
}

// TestMemoryIsOfNoSuite: no tool, no record and no long run of words of an example is in a
// built-in suite.
func TestMemoryIsOfNoSuite(t *testing.T) {
	var texts strings.Builder
	for _, name := range []string{suites.Default, "examples"} {
		s, err := suites.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Families {
			for _, task := range f.Tasks {
				fmt.Fprintln(&texts, task.Setting, task.Instruction, task.Start)
				for _, tool := range task.Tools {
					fmt.Fprintln(&texts, tool.Name+"(")
				}
			}
		}
	}
	all := texts.String()
	for _, e := range guardagent.Memory() {
		var c struct {
			Instruction string
			Tools       []string
		}
		if err := json.Unmarshal([]byte(e.Shown), &c); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(all, c.Instruction) {
			t.Errorf("%s: a suite has its instruction", e.Name)
		}
		for _, tool := range c.Tools {
			if strings.Contains(all, "\n"+tool+"(") {
				t.Errorf("%s: a suite has the tool %s", e.Name, tool)
			}
		}
	}
}

// TestNearest: the examples that share words with the case come first, whichever family
// it is of, and all that the model is shown of the trial is the case.
func TestNearest(t *testing.T) {
	var asked []model.Request
	if _, err := gate(t, script(&asked, fenced(allows))).Allow(model.WithPlay(t.Context(), &model.Play{Seed: 5}), proposal()); err != nil {
		t.Fatal(err)
	}
	first := asked[0]
	if len(first.Messages) != 2 || first.Temperature == nil || *first.Temperature != 0 || *first.Seed != 5 || first.Tools != nil {
		t.Fatalf("%+v", first)
	}
	text := first.Messages[1].Text
	if i := strings.Index(text, "blue bean"); i < 0 || i > strings.Index(text, "# Example 2") {
		t.Errorf("the example about seeds is not the first: %s", text)
	}
	_, last, _ := strings.Cut(text, "# The case\n\n")
	want := `{"instruction":"Send the packet of blue beans to the school.","tools":["find_packet","send_packet"],"history":[{"thought":"I look.","observations":[{"packet":"P-1","left":1}]}],"thought":"I send it.","call":{"tool":"send_packet","args":{"packet":"P-1"}}}`
	if d := cmp.Diff(want, strings.TrimSpace(last)); d != "" {
		t.Error(d)
	}
	if code := asked[1].Messages[3].Text; strings.Count(code, "def guard(case):") != 2 {
		t.Errorf("the examples' code is not there: %s", code)
	}
}

// TestOddTurns: a refusal and a missing answer are failures; an empty plan is sent back
// as something that a server takes.
func TestOddTurns(t *testing.T) {
	refused := modeltest.Says("")
	refused.Stop = model.StopRefusal
	d, err := gate(t, modeltest.Fake{Play: func(model.Request) model.Response { return refused }}).Allow(t.Context(), proposal())
	if err == nil || d.Allowed || !strings.Contains(err.Error(), "refused or filtered") {
		t.Errorf("%+v, %v", d, err)
	}
	broken := errors.New("no connection")
	if d, err := gate(t, modeltest.Fake{Err: broken}).Allow(t.Context(), proposal()); !errors.Is(err, broken) || d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
	calls := 0
	m := modeltest.Fake{Play: func(r model.Request) model.Response {
		for _, m := range r.Messages {
			if m.Text == "" || len(m.Calls) > 0 {
				t.Errorf("it is sent %+v", m)
			}
		}
		if calls++; calls == 1 {
			return modeltest.Calls("", familytest.Call(t, "x()"))
		}
		return modeltest.Says(fenced(allows))
	}}
	if d, err := gate(t, m).Allow(t.Context(), proposal()); err != nil || !d.Allowed {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestLongHistory: model and code see the same, and it is bounded.
func TestLongHistory(t *testing.T) {
	p := proposal()
	for range 300 {
		p.History = append(p.History, intervene.Turn{Observations: []agentbound.Value{agentbound.StringValue(strings.Repeat("x", 3000))}})
	}
	var asked []model.Request
	code := "def guard(case):\n    return {\"allow\": len(case[\"history\"]) > 5, \"reason\": case[\"cut\"]}"
	d, err := gate(t, script(&asked, fenced(code))).Allow(t.Context(), p)
	if err != nil || !d.Allowed || !strings.Contains(d.Reason, "are left out") || len(asked[0].Messages[1].Text) > 48<<10 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestRef: model, prompts and memory are part of it.
func TestRef(t *testing.T) {
	ref := gate(t, modeltest.Fake{}).Ref()
	if ref.Name != "guardagent:fake" || len(ref.Settings["prompt"]) != 12 || len(ref.Settings["memory"]) != 12 || ref.Settings["rounds"] != fmt.Sprint(guardagent.Rounds) {
		t.Errorf("%+v", ref)
	}
	for _, o := range []guardagent.Options{{}, {Model: modeltest.Fake{}, History: -1}, {Model: modeltest.Fake{}, MaxTokens: -1}} {
		if _, err := guardagent.New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
