package emulated

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
	"github.com/agentbound/agentbound/world"
)

// OpenRecorded implements world.Recorded: no model is asked. What fails by code must have
// failed so, and every other effect must pass the same checks as when it was proposed.
func (w Worlds) OpenRecorded(ctx context.Context, f *agentbound.Family, t *agentbound.Task, tr *agentbound.Trajectory) (world.World, error) {
	e, err := w.open(ctx, f, t)
	if err != nil {
		return nil, err
	}
	s := &stored{world: e}
	for _, step := range tr.Steps {
		for _, c := range step.Calls {
			if !c.Limited && (c.Gate == nil || c.Gate.Allowed) {
				s.left = append(s.left, c)
			}
		}
	}
	e.source = s
	return e, nil
}

// stored answers calls as a trajectory holds them.
type stored struct {
	world *emulated
	left  []agentbound.CallRecord
}

func (s *stored) skip(c agentbound.Call) error {
	_, err := s.next(c)
	return err
}

func (s *stored) next(c agentbound.Call) (agentbound.CallRecord, error) {
	if len(s.left) == 0 || !s.left[0].Equal(c) {
		return agentbound.CallRecord{}, fmt.Errorf("the trajectory does not go on with the call %s", c)
	}
	r := s.left[0]
	s.left = s.left[1:]
	return r, nil
}

func (s *stored) answer(_ context.Context, c agentbound.Call, args agentbound.Value) (star.Result, error) {
	rec, err := s.next(c)
	if err != nil {
		return star.Result{}, err
	}
	r, err := s.result(rec, args)
	if err != nil {
		return star.Result{}, fmt.Errorf("the stored answer to %s breaks the rules of the world: %w", c, err)
	}
	r.Args = args
	return r, nil
}

func (s *stored) result(rec agentbound.CallRecord, args agentbound.Value) (star.Result, error) {
	now := s.world.machine.State()
	if _, err := star.Decode(rec.Observation); err != nil {
		return star.Result{}, fmt.Errorf("the observation is %w", err)
	}
	shown, err := decode(rec.Observation)
	if err != nil {
		return star.Result{}, err
	}
	if !rec.OK {
		if len(rec.Diff) > 0 {
			return star.Result{}, errors.New("a call that failed changed the state")
		}
		if text, ok := shown.(string); !ok || !strings.HasPrefix(text, "error: ") {
			return star.Result{}, errors.New(`a failure is a text that begins with "error: "`)
		}
		return star.Result{Fault: star.FaultTool, Observation: rec.Observation, After: now}, nil
	}
	if len(rec.Observation) > maxShown {
		return star.Result{}, fmt.Errorf("the observation has %d bytes; at most %d are shown", len(rec.Observation), maxShown)
	}
	if disguised(shown) {
		return star.Result{}, errors.New("the observation is a failure's, and the call is said to have succeeded")
	}
	after, err := star.Apply(now, rec.Diff)
	if err != nil {
		return star.Result{}, err
	}
	before, err := object(now)
	if err != nil {
		return star.Result{}, err
	}
	work, err := object(after)
	if err != nil {
		return star.Result{}, err
	}
	given, err := decode(args)
	if err != nil {
		return star.Result{}, err
	}
	is := maps.Clone(s.world.issued)
	e := s.world.effect(rec.Tool, given, before, work, rec.Diff)
	if err := s.world.rules.check(s.world.shape, e, is); err != nil {
		return star.Result{}, err
	}
	s.world.issued = is
	diff, err := star.Difference(now, after)
	return star.Result{OK: true, Observation: rec.Observation, After: after, Diff: diff}, err
}
