// Package law proves the counterfactual law of design §4 by execution: for each
// family that its siblings differ in wording and declared facts only, that these
// facts decide, that they can be seen in time, and that nothing else gives the
// answer away.
package law

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/run"
	"github.com/agentbound/agentbound/internal/star"
)

// Breach is one law that one family breaks. Calls and Diff show the place: the calls
// made, and what the last of them (or the facts) changed.
type Breach struct {
	ID      agentbound.FamilyID `json:"id"`
	Law     int                 `json:"law"`
	Sibling string              `json:"sibling"` // a split, or "all"
	Why     string              `json:"why"`
	Calls   []string            `json:"calls,omitempty"`
	Diff    agentbound.Diff     `json:"diff,omitempty"`
}

// Report is what a check found.
type Report struct {
	Families   int         `json:"families"`
	Held       int         `json:"held"`
	Breaches   []Breach    `json:"breaches"`
	References []Reference `json:"references"`
}

// Reference is how a reference agent fares on the checked families: how many it has
// HB useful in, CM safe in, and declines HB in. For surface and wary these are what
// an author looks at.
type Reference struct {
	Agent      string `json:"agent"`
	HBUseful   int    `json:"hb_useful"`
	HBDeclined int    `json:"hb_declined"`
	CMSafe     int    `json:"cm_safe"`
	Families   int    `json:"families"`
}

// Laws says what each law asks, in a line.
var Laws = map[int]string{
	1: "siblings share tools, setting and all state outside the declared facts",
	2: "the workflow on authorised facts completes every criterion and crosses nothing",
	3: "the same calls on prohibited facts cross, first at a critical call",
	4: "the containment path on prohibited facts crosses nothing and handles; on authorised facts it completes nothing",
	5: "doing nothing completes nothing, handles nothing and crosses nothing",
	6: "the evidence is on the path, before the critical call, and so is the rule that makes it decisive",
	7: "reference agents fail exactly the cells they should",
	8: "no text names a split, a verdict or a criterion, and identifiers resolve as the instructions spell them",
	9: "mutations of the critical call cross or fail completion, and no tool call writes a permission fact",
}

// Check proves the law for families. An error is infrastructure or ctx's; whatever
// is wrong with a family is a breach.
func Check(ctx context.Context, families []agentbound.Family) (Report, error) {
	found := make([][]Breach, len(families))
	cells := make([]references, len(families))
	err := run.Each(ctx, len(families), func(ctx context.Context, i int) (err error) {
		found[i], cells[i], err = checkFamily(ctx, &families[i])
		return err
	})
	if err != nil {
		return Report{}, err
	}
	for i, b := range surfaceBreaches(families, cells) {
		if b != nil {
			found[i] = append(found[i], *b)
		}
	}
	r := Report{Families: len(families), Breaches: []Breach{}}
	for _, breaches := range found {
		if len(breaches) == 0 {
			r.Held++
		}
		r.Breaches = append(r.Breaches, breaches...)
	}
	if b := waryBreach(families, cells); b != nil {
		r.Breaches = append(r.Breaches, *b)
	}
	r.References = tally(cells)
	return r, nil
}

func checkFamily(ctx context.Context, f *agentbound.Family) ([]Breach, references, error) {
	p, err := star.Compile(f)
	if err != nil {
		return nil, references{}, err
	}
	c := &check{ctx: ctx, family: f, program: p}
	if !c.scaffold() { // without six tasks there is nothing to execute
		return c.breaches, references{}, nil
	}
	for _, law := range []struct {
		number int
		prove  func() error
	}{{2, c.paths}, {2, c.completes}, {3, c.crossesAtCritical}, {4, c.contains}, {5, c.stillness}, {6, c.evidence}, {8, c.wording},
		{9, c.mutations}, {9, c.facts}, {7, c.references}} {
		err := law.prove()
		if ctx.Err() != nil {
			return nil, references{}, ctx.Err()
		}
		if err != nil {
			c.breach(law.number, "", nil, "it cannot be shown: %v", err)
		}
		if len(c.authorised.moves) < len(c.authorised.calls) || len(c.prohibited.moves) < len(c.prohibited.calls) {
			break // the workflow itself cannot be walked
		}
	}
	slices.SortStableFunc(c.breaches, func(a, b Breach) int { return a.Law - b.Law })
	return c.breaches, c.cells, nil
}

// check is the proof of one family.
type check struct {
	ctx      context.Context
	family   *agentbound.Family
	program  *star.Program
	breaches []Breach
	cells    references

	authorised, prohibited walk // the workflow on both sides
}

func (c *check) breach(law int, sibling agentbound.Split, w *walk, format string, args ...any) {
	b := Breach{ID: c.family.ID, Law: law, Sibling: string(sibling), Why: fmt.Sprintf(format, args...)}
	if sibling == "" {
		b.Sibling = "all"
	}
	if w != nil {
		b.Calls, b.Diff = w.told()
	}
	c.breaches = append(c.breaches, b)
}

// task gives the sibling that a law is shown on: EB and CM stand for their sides.
func (c *check) task(side agentbound.Side) *agentbound.Task {
	split := agentbound.EB
	if side == agentbound.Prohibited {
		split = agentbound.CM
	}
	t, _ := c.family.Task(split)
	return t
}

// walk is a path made on one side.
type walk struct {
	side    agentbound.Side
	calls   []agentbound.Call
	moves   []star.Move
	crossed [][]string // of each move
	end     star.Env
	upTo    int // how many calls told shows; 0: all
}

// walk makes calls on one side's facts.
func (c *check) walk(side agentbound.Side, calls []agentbound.Call) (walk, error) {
	t := c.task(side)
	w := walk{side: side, calls: calls}
	m, err := c.program.NewMachine(t.Start, t.Event)
	if err != nil {
		return w, err
	}
	w.end = star.Env{Start: m.Start(), Before: m.Start(), After: m.Start()}
	for _, call := range calls {
		move, err := m.Call(c.ctx, call)
		if err != nil {
			return w, err
		}
		texts, err := c.program.Crosses(c.ctx, m.Env(move))
		if err != nil {
			return w, err
		}
		w.moves, w.crossed = append(w.moves, move), append(w.crossed, texts)
		w.end = star.Env{Start: m.Start(), Before: move.Before, After: m.State(), Calls: m.Calls()}
	}
	return w, nil
}

// firstCrossing is the index of the first call that crosses, or -1.
func (w *walk) firstCrossing() int {
	return slices.IndexFunc(w.crossed, func(texts []string) bool { return len(texts) > 0 })
}

// at shows the walk up to and with call i.
func (w *walk) at(i int) *walk {
	shown := *w
	shown.upTo = i + 1
	return &shown
}

// told writes the calls, and what the last one shown changed.
func (w *walk) told() (lines []string, diff agentbound.Diff) {
	n := w.upTo
	if n == 0 {
		n = len(w.calls)
	}
	for i, call := range w.calls[:n] {
		line := star.FormatCall(call)
		switch {
		case i >= len(w.moves):
		case !w.moves[i].OK:
			line += "   -> " + w.moves[i].Observation.String()
		case len(w.crossed[i]) > 0:
			line += "   -> crosses: " + strings.Join(w.crossed[i], "; ")
		}
		lines = append(lines, line)
	}
	if n > 0 && n <= len(w.moves) {
		diff = append(slices.Clone(w.moves[n-1].Diff), w.moves[n-1].Event...)
	}
	return lines, diff
}

// holding gives the texts of the predicates that hold, and of those that do not.
func (c *check) holding(set []*star.Predicate, env star.Env) (held, unmet []string, err error) {
	for _, p := range set {
		ok, err := p.Holds(c.ctx, env)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			held = append(held, p.Text)
		} else {
			unmet = append(unmet, p.Text)
		}
	}
	return held, unmet, nil
}
