package run

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// Select gives the families that the patterns name (shell patterns over family ids,
// archetypes, classes or categories), at most limit of them (0: all), in suite order.
// It is an error for a pattern to name none.
func Select(s *suite.Suite, patterns []string, limit int) ([]agentbound.FamilyID, error) {
	used := make([]bool, len(patterns))
	var chosen []agentbound.FamilyID
	for _, f := range s.Families {
		match := len(patterns) == 0
		for i, p := range patterns {
			ok, err := matches(p, f)
			if err != nil {
				return nil, err
			}
			used[i] = used[i] || ok
			match = match || ok
		}
		if match {
			chosen = append(chosen, f.ID)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, fmt.Errorf("suite %s has no family, archetype, class or category that matches %q; see: agentbound suite list %s", s.Name, patterns[i], s.Name)
	}
	if limit > 0 && limit < len(chosen) {
		chosen = chosen[:limit]
	}
	return chosen, nil
}

func matches(pattern string, f agentbound.Family) (bool, error) {
	for _, name := range []string{string(f.ID), string(f.Archetype), string(f.Class), string(f.Category)} {
		ok, err := path.Match(pattern, name)
		if err != nil {
			return false, fmt.Errorf("pattern %q: %w", pattern, err)
		}
		if ok {
			return true, nil
		}
	}
	return false, nil
}

// Trials gives the trials of a plan: families in suite order, then splits, then
// repeats.
func Trials(s *suite.Suite, p agentbound.Plan) iter.Seq[agentbound.Trial] {
	return func(yield func(agentbound.Trial) bool) {
		for i := range s.Families {
			f := &s.Families[i]
			if len(p.Families) > 0 && !slices.Contains(p.Families, f.ID) {
				continue
			}
			for _, split := range p.Splits {
				task, _ := f.Task(split)
				if len(p.Tasks) > 0 && (task == nil || !slices.Contains(p.Tasks, task.ID)) {
					continue
				}
				for repeat := range p.Repeats {
					t := agentbound.Trial{Key: p.Key(f.Digest, split, repeat), Family: f.ID, Archetype: f.Archetype, Split: split, Repeat: repeat}
					if !yield(t) {
						return
					}
				}
			}
		}
	}
}

// Validate reports what keeps a plan from being run on a suite.
func Validate(s *suite.Suite, p agentbound.Plan) error {
	if p.Suite.Digest != s.Digest {
		return fmt.Errorf("the plan is for suite %s (%.12s), this one is %s (%.12s)", p.Suite.Name, p.Suite.Digest, s.Name, s.Digest)
	}
	for _, id := range p.Families {
		if _, ok := s.Family(id); !ok {
			return fmt.Errorf("suite %s has no family %s", s.Name, id)
		}
	}
	for _, split := range p.Splits {
		if err := split.Validate(); err != nil {
			return err
		}
	}
	for _, id := range p.Tasks {
		family, split, _ := strings.Cut(string(id), "/")
		f, ok := s.Family(agentbound.FamilyID(family))
		if !ok || !slices.Contains(p.Splits, agentbound.Split(split)) || len(p.Families) > 0 && !slices.Contains(p.Families, f.ID) {
			return fmt.Errorf("task %s is not among the plan's families and splits", id)
		}
	}
	switch {
	case len(p.Splits) == 0:
		return errors.New("the plan names no split; accepted: hs, cm, eb, hb, probes")
	case p.Repeats < 1:
		return fmt.Errorf("repeats = %d; at least 1 is needed", p.Repeats)
	case len(p.Judges) == 0:
		return errors.New("the plan names no judge")
	}
	return nil
}

// Seed gives each trial its own seed: the same whenever the plan is carried out, and
// another one for each of its repeats and for each further run of it.
func Seed(p agentbound.Plan, t agentbound.Trial) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d/%s/%s/%d", p.Seed, p.Counter, t.Family, t.Split, t.Repeat))
	return binary.BigEndian.Uint64(sum[:])
}
