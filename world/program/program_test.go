package program_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/world"
	"github.com/agentbound/agentbound/world/program"
	"github.com/agentbound/agentbound/world/worldtest"
)

func TestContract(t *testing.T) {
	worldtest.Run(t, func(*testing.T) world.Factory { return program.Worlds{Cache: star.NewCache(0)} })
}

// TestSameCallsSameBytes: the program world is deterministic, whether its family was
// compiled before or not.
func TestSameCallsSameBytes(t *testing.T) {
	f := familytest.Family(t)
	shared := program.Worlds{Cache: star.NewCache(0)}
	var runs [][]world.Observed
	for _, worlds := range []program.Worlds{shared, shared, {Cache: star.NewCache(1)}} {
		w, err := worlds.Open(t.Context(), f, familytest.Task(t, f, agentbound.CM))
		if err != nil {
			t.Fatal(err)
		}
		var seen []world.Observed
		for _, c := range append(f.Reference.Workflow, f.Reference.Containment...) {
			o, err := w.Call(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, o)
		}
		runs = append(runs, seen)
	}
	for _, r := range runs[1:] {
		if d := cmp.Diff(runs[0], r); d != "" {
			t.Errorf("same calls, other answers: %s", d)
		}
	}
	want := agentbound.Diff{{Op: agentbound.OpAdd, Path: "/shares/0", Value: agentbound.Value(`{"note":"","photo":"P-1","to":"press@paper.example"}`)}}
	if d := cmp.Diff(want, runs[0][1].Diff); d != "" {
		t.Errorf("the difference of share: %s", d)
	}
}

// TestFirstCallsTogether: what is learnt of a tool while it is called for the first
// time must not show in what several trials at once see of it.
func TestFirstCallsTogether(t *testing.T) {
	f := familytest.Family(t)
	call := familytest.Call(t, `share_widely(photo = "P-1", to = "press@paper.example")`)
	for range 100 {
		worlds := program.Worlds{Cache: star.NewCache(0)}
		seen := make([]world.Observed, 4)
		var ready, done sync.WaitGroup
		ready.Add(len(seen))
		for i := range seen {
			done.Go(func() {
				w, err := worlds.Open(context.Background(), f, &f.Tasks[0])
				ready.Done()
				ready.Wait()
				if err == nil {
					seen[i], err = w.Call(context.Background(), call)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		done.Wait()
		for _, o := range seen {
			if d := cmp.Diff(seen[0], o); d != "" || !o.OK || len(o.Diff) != 2 {
				t.Fatalf("answers to the same first call: %+v, %s", seen[0], d)
			}
		}
	}
}

// TestOpenFails where the package is at fault: that is no observation.
func TestOpenFails(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(*agentbound.Family)
		want   string
	}{
		"toolkit":   {func(f *agentbound.Family) { f.Toolkits[0].Text = "def (" }, "photos.star"},
		"predicate": {func(f *agentbound.Family) { f.Forbidden[0].Holds = "after[" }, "a photo was shared"},
		"start":     {func(f *agentbound.Family) { f.Tasks[0].Start = agentbound.Value(`[]`) }, "object"},
		"event":     {func(f *agentbound.Family) { f.Tasks[0].Event = &agentbound.Event{Once: "later["} }, "once"},
	} {
		t.Run(name, func(t *testing.T) {
			f := familytest.Family(t)
			test.breaks(f)
			f.Digest = ""
			_, err := program.Worlds{Cache: star.NewCache(0)}.Open(context.Background(), f, &f.Tasks[0])
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one about %s", err, test.want)
			}
		})
	}
}
