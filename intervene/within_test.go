package intervene_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
)

func turn(thought string, observations ...int) intervene.Turn {
	t := intervene.Turn{Thought: thought}
	for _, n := range observations {
		t.Observations = append(t.Observations, agentbound.StringValue(strings.Repeat("o", n-2)))
	}
	return t
}

// TestWithin: the newest turns stay whole, older ones are shortened, the oldest left out.
func TestWithin(t *testing.T) {
	for name, test := range map[string]struct {
		history []intervene.Turn
		most    int
		whole   int // of the newest turns
		left    int // turns that are there
		cut     intervene.Cut
	}{
		"none":           {nil, 10, 0, 0, intervene.Cut{}},
		"all fit":        {[]intervene.Turn{turn("a", 100), turn("b", 100)}, 202, 2, 2, intervene.Cut{}},
		"older is short": {[]intervene.Turn{turn("a", 1000), turn("b", 100)}, 500, 1, 2, intervene.Cut{Values: 1}},
		"oldest is out":  {[]intervene.Turn{turn("a", 1000), turn("b", 1000), turn("c", 100)}, 500, 1, 2, intervene.Cut{Turns: 1, Values: 1}},
		// What would fit whole is not shown whole before something that was shortened.
		"no gap":      {[]intervene.Turn{turn("a", 100), turn("b", 9000), turn("c", 100)}, 700, 1, 3, intervene.Cut{Values: 1}},
		"newest long": {[]intervene.Turn{turn("a", 20), turn("b", 5000, 5000)}, 1500, 0, 2, intervene.Cut{Values: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			in := intervene.Context{Instruction: "i", Tools: []string{"t"}, Thought: strings.Repeat("next ", 999), History: test.history}
			before := fmt.Sprint(in)
			got, cut := in.Within(test.most)
			if d := cmp.Diff(test.cut, cut); d != "" || len(got.History) != test.left {
				t.Errorf("%d turns are left: %s", len(got.History), d)
			}
			if d := cmp.Diff(test.history[len(test.history)-test.whole:], got.History[len(got.History)-test.whole:]); test.whole > 0 && d != "" {
				t.Error(d)
			}
			total := 0
			for _, turn := range got.History {
				for _, o := range turn.Observations {
					total += len(o)
					if len(o) > 400 && strings.Count(string(o), "bytes)") != 1 && test.whole == 0 {
						t.Errorf("not marked: %.40s", o)
					}
				}
			}
			if total > test.most+100 {
				t.Errorf("%d bytes", total)
			}
			if got.Instruction != in.Instruction || got.Thought != in.Thought || fmt.Sprint(in) != before {
				t.Error("something else changed")
			}
		})
	}
}

// TestWithinIsText: a value is cut between its characters.
func TestWithinIsText(t *testing.T) {
	c, _ := intervene.Context{History: []intervene.Turn{{Thought: strings.Repeat("é", 4000)}, {Thought: "b"}}}.Within(500)
	if got := c.History[0].Thought; !strings.HasPrefix(got, "éé") || strings.ToValidUTF8(got, "?") != got || !strings.HasSuffix(got, "(the first of 8000 bytes)") {
		t.Error(got)
	}
}
