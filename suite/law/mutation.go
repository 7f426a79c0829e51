package law

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// mutations is the first half of law 9: the critical call done wrong on authorised
// facts crosses, or fails completion.
func (c *check) mutations() error {
	for _, m := range c.family.Reference.Mutations {
		i := c.closest(m)
		if i < 0 {
			c.breach(9, agentbound.EB, nil, "the mutation %s is the workflow's own call: write the critical call as it should not be made", star.FormatCall(m))
			continue
		}
		calls := slices.Clone(c.family.Reference.Workflow)
		calls[i] = m
		w, err := c.walk(agentbound.Authorised, calls)
		if err != nil {
			return err
		}
		_, unmet, err := c.holding(c.program.Completion, w.end)
		if err != nil {
			return err
		}
		if w.firstCrossing() < 0 && len(unmet) == 0 {
			c.breach(9, agentbound.EB, &w, "with the mutation %s the workflow crosses nothing and still meets every criterion", star.FormatCall(m))
		}
	}
	return nil
}

// closest is the workflow's call of the same tool that shares most arguments with m
// and is another call; -1 where there is none.
func (c *check) closest(m agentbound.Call) int {
	best, most := -1, -1
	for i, call := range c.family.Reference.Workflow {
		if call.Tool != m.Tool || call.Equal(m) {
			continue
		}
		shared := 0
		mine := values(m.Args)
		for _, v := range values(call.Args) {
			if slices.Contains(mine, v) {
				shared++
			}
		}
		if shared > most {
			best, most = i, shared
		}
	}
	return best
}

// randomTries is how many times random well-formed calls are tried on each side: half
// are one call on the start state, half are four more calls from there.
const randomTries = 200

// facts is the second half of law 9: no call writes a permission fact.
func (c *check) facts() error {
	pointers := c.factPointers(true)
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		for _, path := range [][]agentbound.Call{c.family.Reference.Workflow, c.family.Reference.Containment} {
			w, err := c.walk(side, path)
			if err != nil {
				return err
			}
			if i := writes(w.moves, pointers); i >= 0 {
				c.writesFact(side, w.at(i), w.calls[i], w.moves[i].Diff, pointers)
				return nil
			}
		}
		for _, look := range []func(agentbound.Side, []string) (bool, error){c.directedWrites, c.randomWrites} {
			if found, err := look(side, pointers); found || err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *check) writesFact(side agentbound.Side, w *walk, call agentbound.Call, diff agentbound.Diff, pointers []string) {
	i := touches(diff, pointers)
	c.breach(9, c.task(side).Split, w, "the call %s writes a permission fact, %s: only the facts of the family may", star.FormatCall(call), diff[i].Path)
}

func writes(moves []star.Move, pointers []string) int {
	return slices.IndexFunc(moves, func(m star.Move) bool { return touches(m.Diff, pointers) >= 0 })
}

// touches is the index of the first operation at, above or below a place, or -1. An
// item added to a list beside one that is a fact moves nothing: lists grow at the end.
func touches(diff agentbound.Diff, pointers []string) int {
	return slices.IndexFunc(diff, func(op agentbound.Op) bool {
		return slices.ContainsFunc(pointers, func(p string) bool { return within(op.Path, p) || within(p, op.Path) })
	})
}

// mostDirected bounds the calls that directedWrites makes on a side.
const mostDirected = 4000

// directedWrites aims at the facts: every tool, with the names of the facts' records
// in its text arguments and every combination of its choices, on the start state and
// after each call of the reference paths.
func (c *check) directedWrites(side agentbound.Side, pointers []string) (found bool, err error) {
	aims := c.aims(pointers)
	made := 0
	for _, path := range [][]agentbound.Call{nil, c.family.Reference.Workflow, c.family.Reference.Containment} {
		w, err := c.walk(side, path)
		if err != nil {
			return false, err
		}
		states := []star.State{w.end.After}
		for _, m := range w.moves {
			states = append(states, m.Before)
		}
		for _, s := range states {
			for _, call := range aims {
				if made++; made > mostDirected {
					return false, nil
				}
				r, err := c.program.Kit.Call(c.ctx, s, call)
				if err != nil {
					return false, err
				}
				if touches(r.Diff, pointers) >= 0 {
					c.writesFact(side, nil, call, r.Diff, pointers)
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// aims are the calls of directedWrites.
func (c *check) aims(pointers []string) []agentbound.Call {
	var names []string
	for _, p := range pointers {
		for _, seg := range strings.Split(strings.Trim(p, "/"), "/") {
			if _, err := strconv.Atoi(seg); err != nil && !slices.Contains(names, seg) {
				names = append(names, seg)
			}
		}
	}
	var calls []agentbound.Call
	for _, t := range c.task(agentbound.Authorised).Tools {
		s := parseSchema(t.Schema)
		for _, args := range c.combinations(t.Name, s, names) {
			calls = append(calls, agentbound.Call{Tool: t.Name, Args: agentbound.Value(args)})
		}
	}
	return calls
}

// mostCombinations bounds the calls that are aimed with one tool.
const mostCombinations = 96

// combinations gives argument objects: each choice in all its values, each text
// argument as the reference paths have it and as each of the names.
func (c *check) combinations(tool string, s schema, names []string) []string {
	given := c.given(tool)
	partial := []string{""}
	for _, name := range s.names() {
		var next []string
		for _, p := range partial {
			for _, v := range alternatives(s.Properties[name], given[name], names) {
				if len(next) < mostCombinations {
					next = append(next, p+","+agentbound.StringValue(name).String()+":"+v)
				}
			}
		}
		partial = next
	}
	for i, p := range partial {
		partial[i] = "{" + strings.TrimPrefix(p, ",") + "}"
	}
	return partial
}

// alternatives are the JSON values to try for an argument.
func alternatives(s schema, given string, names []string) []string {
	var all []string
	switch {
	case len(s.Enum) > 0:
		for _, v := range s.Enum {
			all = append(all, agentbound.StringValue(v).String())
		}
		return all
	case s.Type == "boolean":
		return []string{"true", "false"}
	case s.Type == "integer", s.Type == "number":
		all = []string{"1"}
	case s.Type == "string":
		for _, n := range names {
			all = append(all, agentbound.StringValue(n).String())
		}
	case s.Type == "array":
		all = []string{"[]"}
	default:
		all = []string{"{}"}
	}
	if given != "" {
		all = append([]string{given}, all...)
	}
	return all
}

// randomWrites tries random well-formed calls, the same ones every time.
func (c *check) randomWrites(side agentbound.Side, pointers []string) (found bool, err error) {
	g := c.newGenerator()
	t := c.task(side)
	m, err := c.program.NewMachine(t.Start, t.Event)
	if err != nil {
		return false, err
	}
	for i := range randomTries {
		if i%2 == 0 { // from the start
			if m, err = c.program.NewMachine(t.Start, t.Event); err != nil {
				return false, err
			}
		}
		call := g.call()
		for range 1 + i%2*3 {
			move, err := m.Call(c.ctx, call)
			if err != nil {
				return false, err
			}
			if touches(move.Diff, pointers) >= 0 {
				w := walk{side: side, calls: []agentbound.Call{call}, moves: []star.Move{move}, crossed: [][]string{nil}}
				c.writesFact(side, &w, call, move.Diff, pointers)
				return true, nil
			}
			call = g.call()
		}
	}
	return false, nil
}

// generator makes random well-formed calls from what a family's state and reference
// calls hold.
type generator struct {
	rng    *rand.Rand
	tools  []agentbound.Tool
	schema []schema
	texts  []string
	used   map[string][]string // by argument name
	sizes  []string
}

func (c *check) newGenerator() *generator {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, c.family.ID)
	g := &generator{rng: rand.New(rand.NewPCG(h.Sum64(), 9)), tools: c.task(agentbound.Authorised).Tools, used: map[string][]string{}}
	for _, t := range g.tools {
		g.schema = append(g.schema, parseSchema(t.Schema))
	}
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		for _, s := range leaves(c.task(side).Start) {
			if len(s) <= 80 {
				g.texts = append(g.texts, s)
			}
		}
	}
	ref := c.family.Reference
	for _, call := range slices.Concat(ref.Workflow, ref.Containment, ref.Mutations) {
		for name, v := range members(call.Args) {
			g.used[name] = append(g.used[name], v)
		}
	}
	g.texts = append(g.texts, "anything else")
	g.sizes = []string{"0", "1", "2", "10", "4200", "-1"}
	return g
}

func (g *generator) call() agentbound.Call {
	if len(g.tools) == 0 {
		return agentbound.Call{Tool: "none", Args: agentbound.Value("{}")}
	}
	i := g.rng.IntN(len(g.tools))
	return agentbound.Call{Tool: g.tools[i].Name, Args: agentbound.Value(g.object(g.schema[i]))}
}

func (g *generator) object(s schema) string {
	var fields []string
	for _, name := range s.names() {
		if !slices.Contains(s.Required, name) && g.rng.IntN(4) == 0 {
			continue
		}
		fields = append(fields, agentbound.StringValue(name).String()+":"+g.value(name, s.Properties[name]))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func (g *generator) value(name string, s schema) string {
	if used := g.used[name]; len(used) > 0 && g.rng.IntN(2) == 0 {
		return pick(g.rng, used)
	}
	switch {
	case len(s.Enum) > 0:
		return agentbound.StringValue(pick(g.rng, s.Enum)).String()
	case s.Type == "integer", s.Type == "number":
		return pick(g.rng, g.sizes)
	case s.Type == "boolean":
		return pick(g.rng, []string{"true", "false"})
	case s.Type == "object":
		return g.object(s)
	case s.Type == "array" && s.Items != nil:
		return "[" + g.value("", *s.Items) + "]"
	}
	return agentbound.StringValue(pick(g.rng, g.texts)).String()
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }
