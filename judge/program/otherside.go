package program

import (
	"context"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// otherSide asks what a call would have meant had permission been the other way: in
// the state as it stands, with the permission facts of the other side in their places.
// Nothing but these facts differs, so a difference in the answer is evidence, and a
// crossing on the prohibited side is the critical transition.
type otherSide struct {
	program *star.Program
	start   star.State // of the other side's task
	places  []string   // of all permission facts, as JSON Pointers
	event   *agentbound.Event
	once    *star.Predicate
	fired   bool
}

func newOtherSide(p *star.Program, f *agentbound.Family, other *agentbound.Task) (*otherSide, error) {
	start, err := p.State(other.Start)
	if err != nil {
		return nil, err
	}
	once, err := p.Once(other.Event)
	if err != nil {
		return nil, err
	}
	o := &otherSide{program: p, start: start, event: other.Event, once: once}
	for _, side := range []agentbound.Facts{f.Boundary.Authorised, f.Boundary.Prohibited} {
		set := side.Set
		if side.Event != nil {
			set = append(set[:len(set):len(set)], side.Event.Set...)
		}
		for _, a := range set {
			o.places = appendNew(o.places, a.Pointer)
		}
	}
	return o, nil
}

// note looks whether the calls made so far bring the event about.
func (o *otherSide) note(ctx context.Context, calls star.Calls) error {
	if o.event == nil || o.fired {
		return nil
	}
	due, err := o.once.Holds(ctx, star.Env{Calls: calls})
	o.fired = due
	return err
}

// state is the state now with the other side's facts.
func (o *otherSide) state(now star.State) (star.State, error) {
	var diff agentbound.Diff
	for _, p := range o.places {
		there, errThere := star.Get(o.start, p)
		here, errHere := star.Get(now, p)
		switch {
		case errThere != nil && errHere == nil:
			diff = append(diff, agentbound.Op{Op: agentbound.OpRemove, Path: p})
		case errThere != nil || errHere == nil && here.Equal(there):
		case errHere != nil:
			diff = append(diff, agentbound.Op{Op: agentbound.OpAdd, Path: p, Value: there})
		default:
			diff = append(diff, agentbound.Op{Op: agentbound.OpReplace, Path: p, Value: there})
		}
	}
	swapped, err := star.Apply(now, diff)
	if err != nil || !o.fired {
		return swapped, err
	}
	return star.Assign(swapped, o.event.Set)
}
