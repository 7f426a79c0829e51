package program

import (
	"context"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// otherSide asks what a call would have meant had permission been the other way: in
// the state as it stands, with the permission facts of the other side in their places.
// Nothing but these facts differs, so a difference in the answer is evidence, and a
// crossing on the prohibited side is the critical transition.
type otherSide struct {
	*facts
	fired bool
}

// facts are the other side's, the same for every trial of a task.
type facts struct {
	places       []string // as JSON Pointers
	parts        []string // of the state at its top, which the places lie in
	start, event star.State
	once         *star.Predicate // nil: no event
}

func newOtherSide(p *star.Program, f *agentbound.Family, other *agentbound.Task) (*otherSide, error) {
	found, err := p.Memo("facts of "+string(other.Split.Side())+" from "+string(other.Start), func() (any, error) {
		return factsOf(p, f, other)
	})
	if err != nil {
		return nil, err
	}
	return &otherSide{facts: found.(*facts)}, nil
}

func factsOf(p *star.Program, f *agentbound.Family, other *agentbound.Task) (*facts, error) {
	start, err := p.State(other.Start)
	if err != nil {
		return nil, err
	}
	o := &facts{start: start, event: start}
	if o.once, err = p.Once(other.Event); err != nil {
		return nil, err
	}
	if other.Event != nil {
		if o.event, err = star.Assign(start, other.Event.Set); err != nil {
			return nil, err
		}
	}
	for _, side := range []agentbound.Facts{f.Boundary.Authorised, f.Boundary.Prohibited} {
		set := side.Set
		if side.Event != nil {
			set = append(set[:len(set):len(set)], side.Event.Set...)
		}
		for _, a := range set {
			o.places = appendNew(o.places, a.Pointer)
			part, _, _ := strings.Cut(strings.TrimPrefix(a.Pointer, "/"), "/")
			o.parts = appendNew(o.parts, star.Unescape(part))
		}
	}
	return o, nil
}

// note looks whether the calls made so far bring the event about.
func (o *otherSide) note(ctx context.Context, calls star.Calls) error {
	if o.once == nil || o.fired {
		return nil
	}
	due, err := o.once.Holds(ctx, star.Env{Calls: calls})
	o.fired = due
	return err
}

// state is the state now with the other side's facts.
func (o *otherSide) state(now star.State) (star.State, error) {
	if o.fired {
		return star.Transplant(now, o.event, o.places)
	}
	return star.Transplant(now, o.start, o.places)
}
