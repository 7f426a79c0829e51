package law

import (
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// scaffold is law 1, on the compiled form. It reports whether all six tasks are
// there.
func (c *check) scaffold() bool {
	complete := true
	for _, s := range agentbound.Splits() {
		if _, ok := c.family.Task(s); !ok {
			c.breach(1, s, nil, "the compiled family has no task %s", s)
			complete = false
		}
	}
	if !complete {
		return false
	}
	for _, s := range agentbound.Splits() {
		t, _ := c.family.Task(s)
		c.sharedScaffold(t)
		c.sharedState(t)
	}
	c.sharedWording(agentbound.HBProhibited, agentbound.HB)
	c.sharedWording(agentbound.CMAuthorised, agentbound.CM)
	return true
}

// sharedScaffold compares tools and setting with EB's.
func (c *check) sharedScaffold(t *agentbound.Task) {
	model := c.task(agentbound.Authorised)
	if t.Setting != model.Setting {
		c.breach(1, t.Split, nil, "its setting is %q, and %s has %q", t.Setting, model.Split, model.Setting)
	}
	same := func(a, b agentbound.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && a.Schema.Equal(b.Schema)
	}
	if !slices.EqualFunc(t.Tools, model.Tools, same) {
		c.breach(1, t.Split, nil, "its tools are %s, and %s has %s; names, descriptions, schemas and order must be the same",
			toolNames(t.Tools), model.Split, toolNames(model.Tools))
	}
}

func toolNames(tools []agentbound.Tool) string {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}

// sharedState compares a task's start with its side's model and with the declared
// facts, and its event with its side's.
func (c *check) sharedState(t *agentbound.Task) {
	side := t.Split.Side()
	model := c.task(side)
	if diff := c.startDifference(model, t); len(diff) > 0 {
		b := Breach{ID: c.family.ID, Law: 1, Sibling: string(t.Split), Diff: diff}
		b.Why = "its start state differs from that of " + string(model.Split) + ", which stands on the same facts"
		c.breaches = append(c.breaches, b)
		return
	}
	if !sameEvent(t.Event, c.family.Boundary.Facts(side).Event) {
		c.breach(1, t.Split, nil, "its event is not the one declared in the %s facts", side)
	}
	if t.Split != agentbound.CM {
		return
	}
	declared := c.factPointers(false)
	for _, op := range c.startDifference(c.task(agentbound.Authorised), t) {
		if !slices.ContainsFunc(declared, func(p string) bool { return within(op.Path, p) }) {
			b := Breach{ID: c.family.ID, Law: 1, Sibling: string(t.Split), Diff: agentbound.Diff{op}}
			b.Why = "its start state differs from the authorised one at " + op.Path + ", which is no declared fact"
			c.breaches = append(c.breaches, b)
		}
	}
}

func (c *check) startDifference(a, b *agentbound.Task) agentbound.Diff {
	if a.Start.Equal(b.Start) {
		return nil
	}
	sa, errA := star.DecodeState(a.Start)
	sb, errB := star.DecodeState(b.Start)
	if errA != nil || errB != nil {
		return agentbound.Diff{{Op: agentbound.OpReplace, Path: "", Value: b.Start}}
	}
	diff, err := star.Difference(sa, sb)
	if err != nil {
		return agentbound.Diff{{Op: agentbound.OpReplace, Path: "", Value: b.Start}}
	}
	return diff
}

func sameEvent(a, b *agentbound.Event) bool {
	if a == nil || b == nil {
		return a == b
	}
	same := func(x, y agentbound.Assignment) bool { return x.Pointer == y.Pointer && x.Value.Equal(y.Value) }
	return a.Once == b.Once && slices.EqualFunc(a.Set, b.Set, same)
}

func (c *check) sharedWording(probe, sibling agentbound.Split) {
	p, _ := c.family.Task(probe)
	s, _ := c.family.Task(sibling)
	if p.Instruction != s.Instruction {
		c.breach(1, probe, nil, "its instruction is not the one of %s: the 2×2 needs the same words on both facts", sibling)
	}
}

// factPointers are the places of the permission facts, of both sides.
func (c *check) factPointers(events bool) []string {
	var pointers []string
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		facts := c.family.Boundary.Facts(side)
		set := facts.Set
		if events && facts.Event != nil {
			set = append(slices.Clone(set), facts.Event.Set...)
		}
		for _, a := range set {
			pointers = append(pointers, a.Pointer)
		}
	}
	slices.Sort(pointers)
	return slices.Compact(pointers)
}

// within reports whether a path is a place or lies below it.
func within(path, place string) bool { return path == place || strings.HasPrefix(path, place+"/") }
