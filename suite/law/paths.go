package law

import (
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// paths walks the workflow on both sides, for the laws that look at it.
func (c *check) paths() (err error) {
	if c.authorised, err = c.walk(agentbound.Authorised, c.family.Reference.Workflow); err != nil {
		return err
	}
	c.prohibited, err = c.walk(agentbound.Prohibited, c.family.Reference.Workflow)
	return err
}

// completes is law 2.
func (c *check) completes() error {
	w := &c.authorised
	if i := w.firstCrossing(); i >= 0 {
		c.breach(2, agentbound.EB, w.at(i), "the workflow's call %d crosses on authorised facts: %s", i+1, strings.Join(w.crossed[i], "; "))
	}
	_, unmet, err := c.holding(c.program.Completion, w.end)
	if len(unmet) > 0 {
		c.breach(2, agentbound.EB, w, "after the whole workflow this does not hold: %s", strings.Join(unmet, "; "))
	}
	return err
}

// crossesAtCritical is law 3.
func (c *check) crossesAtCritical() error {
	w, critical := &c.prohibited, c.family.Boundary.Critical
	i := w.firstCrossing()
	switch {
	case i < 0:
		c.breach(3, agentbound.CM, w, "the workflow's calls cross nothing on prohibited facts; %s should cross", critical)
	case w.calls[i].Tool != critical:
		c.breach(3, agentbound.CM, w.at(i), "the first call to cross on prohibited facts is %s, not the critical %s", w.calls[i].Tool, critical)
	}
	return nil
}

// contains is law 4.
func (c *check) contains() error {
	w, err := c.walk(agentbound.Prohibited, c.family.Reference.Containment)
	if err != nil {
		return err
	}
	if i := w.firstCrossing(); i >= 0 {
		c.breach(4, agentbound.CM, w.at(i), "the containment's call %d crosses: %s", i+1, strings.Join(w.crossed[i], "; "))
	}
	_, unmet, err := c.holding(c.program.Handled, w.end)
	if err != nil {
		return err
	}
	if len(unmet) > 0 {
		c.breach(4, agentbound.CM, &w, "after the containment this does not hold: %s", strings.Join(unmet, "; "))
	}
	return c.containmentCompletesNothing()
}

// containmentCompletesNothing: on authorised facts the containment meets no criterion.
// Where the workflow is a batch (it makes several critical calls), right handling may
// do the rest of it; then the containment must not be a success, and what it does
// beyond the workflow must meet nothing.
func (c *check) containmentCompletesNothing() error {
	c.sameCriterion()
	w, err := c.walk(agentbound.Authorised, c.family.Reference.Containment)
	if err != nil {
		return err
	}
	if !c.batch() {
		met, err := c.newlyMet(w.end)
		if len(met) > 0 {
			c.breach(4, agentbound.EB, &w, "on authorised facts the containment alone meets: %s", strings.Join(met, "; "))
		}
		return err
	}
	if _, unmet, err := c.holding(c.program.Completion, w.end); err != nil {
		return err
	} else if len(unmet) == 0 {
		c.breach(4, agentbound.EB, &w, "on authorised facts the containment alone meets every criterion of completion")
		return nil
	}
	var own []agentbound.Call
	for _, call := range c.family.Reference.Containment {
		if !slices.ContainsFunc(c.family.Reference.Workflow, call.Equal) {
			own = append(own, call)
		}
	}
	alone, err := c.walk(agentbound.Authorised, own)
	if err != nil {
		return err
	}
	met, err := c.newlyMet(alone.end)
	if len(met) > 0 {
		c.breach(4, agentbound.EB, &alone, "on authorised facts what the containment adds to the workflow alone meets: %s", strings.Join(met, "; "))
	}
	return err
}

// batch reports whether the workflow makes several critical calls.
func (c *check) batch() bool {
	n := 0
	for _, call := range c.family.Reference.Workflow {
		if call.Tool == c.family.Boundary.Critical {
			n++
		}
	}
	return n > 1
}

// sameCriterion: a completion criterion that asks what handled asks is met by it.
func (c *check) sameCriterion() {
	for _, done := range c.family.Completion {
		for _, h := range c.family.Handled {
			if flatten(done.Holds) == flatten(h.Holds) {
				c.breach(4, agentbound.EB, &c.authorised, "the completion criterion %q asks the same as the handled criterion %q", done.Text, h.Text)
			}
		}
	}
}

// newlyMet are the completion criteria that hold at the end and did not at the
// start, which is law 5's business.
func (c *check) newlyMet(end star.Env) ([]string, error) {
	idle := star.Env{Start: end.Start, Before: end.Start, After: end.Start}
	before, _, err := c.holding(c.program.Completion, idle)
	if err != nil {
		return nil, err
	}
	met, _, err := c.holding(c.program.Completion, end)
	return slices.DeleteFunc(met, func(s string) bool { return slices.Contains(before, s) }), err
}

// stillness is law 5: nothing done.
func (c *check) stillness() error {
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		idle, err := c.walk(side, nil)
		if err != nil {
			return err
		}
		split := c.task(side).Split
		for _, set := range []struct {
			what string
			from []*star.Predicate
		}{{"completion", c.program.Completion}, {"handled", c.program.Handled}, {"forbidden", c.program.Forbidden}} {
			held, unmet, err := c.holding(set.from, idle.end)
			if err != nil {
				return err
			}
			if set.what == "handled" && len(unmet) > 0 { // it takes all of them to handle
				continue
			}
			if len(held) > 0 {
				c.breach(5, split, nil, "with nothing done this %s predicate holds on %s facts: %s", set.what, side, strings.Join(held, "; "))
			}
		}
	}
	return nil
}
