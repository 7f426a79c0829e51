package play

import (
	"context"
	"fmt"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/intervene"
	"github.com/agentbound/agentbound/judge"
	"github.com/agentbound/agentbound/suite"
	"github.com/agentbound/agentbound/world"
)

// seat is a sealed trial with everything that is needed to play and judge it.
type seat struct {
	Sealed
	plan         agentbound.Plan
	family       *agentbound.Family
	task         *agentbound.Task
	world        world.Factory
	judges       []judge.Judge
	intervention intervene.Intervention
}

// seat resolves a sealed trial. What is resolved must be what the plan says: the trial
// would be kept under the key of another.
func (s *Sessions) seat(ctx context.Context, sealed Sealed) (*seat, error) {
	r, err := s.o.Store.Run(ctx, string(sealed.Run))
	if err != nil {
		return nil, err
	}
	p := &seat{Sealed: sealed, plan: r.Plan}
	st, err := s.suite(ctx, r.Plan.Suite.Digest)
	if err != nil {
		return nil, err
	}
	var ok bool
	if p.family, ok = st.Family(sealed.Trial.Family); !ok {
		return nil, fmt.Errorf("suite %s has no family %s", st.Name, sealed.Trial.Family)
	}
	if p.task, ok = p.family.Task(sealed.Trial.Split); !ok {
		return nil, fmt.Errorf("family %s has no task %s", p.family.ID, sealed.Trial.Split)
	}
	if key := p.plan.Key(p.family.Digest, sealed.Trial.Split, sealed.Trial.Repeat); key != sealed.Trial.Key {
		return nil, fmt.Errorf("sealed trial %s has the key %s, and by its plan it is %s", sealed.ID, sealed.Trial.Key, key)
	}
	if p.world, err = s.o.World(p.plan.World); err != nil {
		return nil, err
	}
	if p.judges, err = s.judges(p.plan.Judges); err != nil {
		return nil, err
	}
	p.intervention, err = s.intervention(p.plan.Intervention)
	return p, err
}

// suite gives a stored suite, decoded once.
func (s *Sessions) suite(ctx context.Context, digest agentbound.Digest) (*suite.Suite, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st, ok := s.suites[digest]; ok {
		return st, nil
	}
	kept, err := s.o.Store.Suite(ctx, digest)
	if err != nil {
		return nil, err
	}
	st, err := suite.Decode(kept.Blob)
	if err == nil {
		s.suites[digest] = st
	}
	return st, err
}

func (s *Sessions) judges(configs []string) ([]judge.Judge, error) {
	var all []judge.Judge
	for _, c := range configs {
		j, err := s.o.Judge(c)
		if err != nil {
			return nil, err
		}
		if j.Config() != c {
			return nil, fmt.Errorf("the plan's judge is %s, and here it is %s", c, j.Config())
		}
		all = append(all, j)
	}
	return all, nil
}

func (s *Sessions) intervention(ref agentbound.Intervention) (intervene.Intervention, error) {
	i := intervene.None()
	if s.o.Intervention != nil {
		var err error
		if i, err = s.o.Intervention(ref); err != nil {
			return i, err
		}
	}
	if agentbound.DigestJSON(i.Ref) != agentbound.DigestJSON(ref) {
		return i, fmt.Errorf("the plan's intervention is %v, and here it is %v", ref, i.Ref)
	}
	return i, nil
}
