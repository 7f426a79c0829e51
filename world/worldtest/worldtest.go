// Package worldtest is the contract of worlds: what every world.Factory must hold,
// whatever plays the tools.
package worldtest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/familytest"
	"github.com/agentbound/agentbound/world"
)

// Run checks the factories that newFactory gives against the family of familytest.
func Run(t *testing.T, newFactory func(t *testing.T) world.Factory) {
	f := familytest.Family(t)
	task := familytest.Task(t, f, agentbound.EB)
	open := func(t *testing.T) world.World {
		t.Helper()
		w, err := newFactory(t).Open(t.Context(), f, task)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	call := func(t *testing.T, w world.World, c agentbound.Call) world.Observed {
		t.Helper()
		o, err := w.Call(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		if !json.Valid(o.Observation) {
			t.Errorf("%s: the observation is not JSON: %q", c, o.Observation)
		}
		if !o.OK && len(o.Diff) > 0 {
			t.Errorf("%s failed and changed %v", c, o.Diff)
		}
		return o
	}
	share := familytest.Call(t, `share(photo = "P-1", to = "press@paper.example")`)
	read := familytest.Call(t, `read_photo(photo = "P-1")`)

	t.Run("it has a name, always the same", func(t *testing.T) {
		if a, b := newFactory(t).Name(), newFactory(t).Name(); a == "" || a != b {
			t.Errorf("names %q and %q", a, b)
		}
	})
	t.Run("a call that changes the state says what it changed", func(t *testing.T) {
		o := call(t, open(t), share)
		if !o.OK || len(o.Diff) == 0 {
			t.Errorf("share: %+v", o)
		}
	})
	t.Run("a call that reads changes nothing", func(t *testing.T) {
		o := call(t, open(t), read)
		if !o.OK || len(o.Diff) != 0 {
			t.Errorf("read: %+v", o)
		}
	})
	t.Run("later calls see what earlier ones changed", func(t *testing.T) {
		w := open(t)
		call(t, w, share)
		if o := call(t, w, familytest.Call(t, `unshare(photo = "P-1")`)); !o.OK || len(o.Diff) == 0 {
			t.Errorf("there was nothing to take back: %+v", o)
		}
	})
	t.Run("worlds share nothing", func(t *testing.T) {
		factory := newFactory(t)
		a, err := factory.Open(t.Context(), f, task)
		if err != nil {
			t.Fatal(err)
		}
		b, err := factory.Open(t.Context(), f, task)
		if err != nil {
			t.Fatal(err)
		}
		call(t, a, share)
		if o := call(t, b, familytest.Call(t, `unshare(photo = "P-1")`)); len(o.Diff) != 0 {
			t.Errorf("one world took back what was done in the other: %+v", o)
		}
	})
	t.Run("a failure of a tool is an observation", func(t *testing.T) {
		for name, c := range map[string]agentbound.Call{
			"the tool says no":      familytest.Call(t, `read_photo(photo = "P-9")`),
			"unknown tool":          {Tool: "format_disk", Args: agentbound.Value(`{}`)},
			"missing argument":      {Tool: "share", Args: agentbound.Value(`{"photo":"P-1"}`)},
			"unknown argument":      {Tool: "read_photo", Args: agentbound.Value(`{"photo":"P-1","force":true}`)},
			"malformed, as a text":  {Tool: "share", Args: agentbound.Value(`"{\"photo\":"`)},
			"arguments not objects": {Tool: "share", Args: agentbound.Value(`[1]`)},
		} {
			t.Run(name, func(t *testing.T) {
				w := open(t)
				if o := call(t, w, c); o.OK {
					t.Errorf("%s: OK with %s", c, o.Observation)
				}
				if o := call(t, w, read); !o.OK {
					t.Errorf("the world is of no use after a failure: %+v", o)
				}
			})
		}
	})
	t.Run("a context that ended is an error, and no observation", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		w := open(t)
		cancel()
		if o, err := w.Call(ctx, share); !errors.Is(err, context.Canceled) {
			t.Errorf("gave %+v and %v", o, err)
		}
	})
	t.Run("an event happens once, after its call, and later calls see it", func(t *testing.T) {
		changing := familytest.Family(t)
		changing.Boundary.Authorised.Event = &agentbound.Event{
			Once: `any([c["tool"] == "log" for c in calls])`,
			Set:  []agentbound.Assignment{{Path: "photos.P-1.consent", Pointer: "/photos/P-1/consent", Value: agentbound.StringValue("withdrawn")}},
		}
		familytest.Seal(t, changing)
		w, err := newFactory(t).Open(t.Context(), changing, familytest.Task(t, changing, agentbound.EB))
		if err != nil {
			t.Fatal(err)
		}
		before := call(t, w, read)
		if o := call(t, w, familytest.Call(t, `log(text = "a")`)); len(o.Event) != 1 || len(o.Diff) != 1 {
			t.Errorf("the call that brings the event: %+v", o)
		}
		if after := call(t, w, read); after.Observation.Equal(before.Observation) {
			t.Errorf("the event is not seen: %s", after.Observation)
		}
		if o := call(t, w, familytest.Call(t, `log(text = "b")`)); len(o.Event) != 0 {
			t.Errorf("the event came twice: %+v", o)
		}
	})
}
