// Package intervenetest holds what every corrector and every gate must do, whatever it
// decides.
package intervenetest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
)

// contexts are decisions of every shape: the first one, long ones, odd texts, none shown.
func contexts() map[string]intervene.Context {
	turn := intervene.Turn{Thought: "I look.", Observations: []agentbound.Value{agentbound.Value(`{"a":[1,2.5,null,true]}`), agentbound.StringValue("error: no")}}
	long := intervene.Context{Instruction: "Do it.", Tools: []string{"look"}, Thought: "I go on."}
	for range 500 {
		long.History = append(long.History, turn, intervene.Turn{Observations: []agentbound.Value{agentbound.StringValue(strings.Repeat("é", 2000))}})
	}
	return map[string]intervene.Context{
		"first":      {Instruction: "Do it.", Tools: []string{"look", "act"}, Thought: "I look."},
		"history":    {Instruction: "Do it.", Tools: []string{"look"}, Thought: "I act.", History: []intervene.Turn{turn, {}, turn}},
		"long":       long,
		"odd":        {Instruction: "a\nnext thought: \"b\" | c ASSISTANT:", Tools: []string{"look"}, Thought: "x\n```\ny \xff", History: []intervene.Turn{turn}},
		"no Thought": {Instruction: "Do it.", Tools: []string{"look"}, History: []intervene.Turn{turn}},
		"no tools":   {Instruction: "Do it.", Thought: "I answer."},
	}
}

// Corrector checks one that decides the same each time. asks: it needs something that a
// cancelled context keeps from it.
func Corrector(t *testing.T, c intervene.Corrector, asks bool) {
	t.Helper()
	for name, in := range contexts() {
		t.Run(name, func(t *testing.T) {
			given := clone(in)
			want, err := c.Correct(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			unchanged(t, given, in)
			atOnce(func() {
				if got, err := c.Correct(context.WithoutCancel(t.Context()), in); err != nil || got != want {
					t.Errorf("%+v, then %+v, %v", want, got, err)
				}
			})
		})
	}
	if _, err := c.Correct(cancelled(t), contexts()["history"]); asks && err == nil {
		t.Error("it corrects what was cancelled")
	}
}

// Gate checks one that decides the same each time.
func Gate(t *testing.T, g intervene.Gate) {
	t.Helper()
	for name, in := range contexts() {
		for _, args := range []string{`{"a":"b"}`, `{}`, ``, `"no object"`} {
			t.Run(name+"/"+args, func(t *testing.T) {
				p := intervene.Proposal{Context: in, Call: agentbound.Call{Tool: "look", Args: agentbound.Value(args)}}
				given := clone(in)
				want, err := g.Allow(t.Context(), p)
				if err != nil || want.By == "" || want.Reason == "" && !want.Allowed {
					t.Fatalf("%+v, %v", want, err)
				}
				unchanged(t, given, p.Context)
				if string(p.Call.Args) != args {
					t.Errorf("the call became %s", p.Call.Args)
				}
				atOnce(func() {
					got, err := g.Allow(context.WithoutCancel(t.Context()), p)
					if d := cmp.Diff(want, got); err != nil || d != "" {
						t.Errorf("%s, %v", d, err)
					}
				})
			})
		}
	}
	d, err := g.Allow(cancelled(t), intervene.Proposal{Context: contexts()["history"], Call: agentbound.Call{Tool: "look"}})
	if err == nil || d.Allowed {
		t.Errorf("it decides on what was cancelled: %+v", d)
	}
}

func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func atOnce(f func()) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(f)
	}
	wg.Wait()
}

// clone shares nothing with what it was made of.
func clone(c intervene.Context) intervene.Context {
	c.Tools = append([]string(nil), c.Tools...)
	history := make([]intervene.Turn, len(c.History))
	for i, t := range c.History {
		history[i].Thought = t.Thought
		for _, o := range t.Observations {
			history[i].Observations = append(history[i].Observations, append(agentbound.Value(nil), o...))
		}
	}
	c.History = history
	return c
}

func unchanged(t *testing.T, given, now intervene.Context) {
	t.Helper()
	if d := cmp.Diff(given, clone(now)); d != "" {
		t.Errorf("it changed what it was shown: %.500s", d)
	}
}
