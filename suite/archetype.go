package suite

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// Names of the files and folders of archetypes.
const (
	archetypeFile = "archetype.yaml"
	archetypesDir = "archetypes"
	functionsFile = "values.star"
)

// MaxFamilies bounds the families that an archetype lists, and those beyond them.
const MaxFamilies = 256

// archetype is a workflow with what may vary, before it is expanded.
type archetype struct {
	*report
	root      *node
	id        string
	seed      uint64
	more      int               // families beyond those that it lists
	listed    int               // families that it lists
	functions agentbound.Source // of values.star; zero without one
	axes      []axis
}

// axis is one way in which families of an archetype differ.
type axis struct {
	name    string
	options []entry
}

// archetype loads an archetype, expands it and compiles its families.
func (l *loader) archetype(folder string) error {
	root, r, err := l.yaml(path.Join(folder, archetypeFile), MaxFamilyBytes)
	if err != nil {
		return err
	}
	defer func() { l.problems = append(l.problems, r.problems...) }()
	if root == nil || !supported(r, root) {
		return nil
	}
	archetypeStructure().check(r, root)
	whole(r, root, "families")
	id := root.get("id")
	if name := l.folderName(folder); name != "" && id.is(text) && id.text != name && slug.MatchString(id.text) {
		r.at(id.pos, "id %s is not the name of its folder, %s; rename one of the two", quote(id.text), quote(name))
	}
	if len(r.problems) > 0 {
		return nil
	}
	a := &archetype{report: r, root: root, id: id.text, seed: l.suite.Seed, more: min(l.more, MaxFamilies)}
	if a.functions, err = l.functions(r, folder); err != nil || len(r.problems) > 0 {
		return err
	}
	a.readAxes()
	picks := a.picks()
	if len(r.problems) > 0 {
		return nil
	}
	return l.expand(a, folder, picks)
}

// functions reads values.star, where the archetype has one.
func (l *loader) functions(r *report, folder string) (agentbound.Source, error) {
	file := path.Join(folder, functionsFile)
	if !l.exists(file) {
		return agentbound.Source{}, nil
	}
	src, err := l.read(file, MaxToolkitBytes)
	if err != nil {
		if fault := (*fileFault)(nil); errors.As(err, &fault) {
			r.problems = append(r.problems, Problem{File: l.show(file), Message: fault.Error()})
			return agentbound.Source{}, nil
		}
		return agentbound.Source{}, err
	}
	s := agentbound.Source{Name: functionsFile, Text: string(src)}
	if _, err := star.NewBindings(s, ""); err != nil {
		p := Problem{File: l.show(file), Message: err.Error()}
		if m := placed.FindStringSubmatch(err.Error()); m != nil {
			p.Line, _ = strconv.Atoi(m[1])
			p.Column, _ = strconv.Atoi(m[2])
			p.Message = m[3]
			if lines := strings.Split(s.Text, "\n"); p.Line <= len(lines) {
				p.Source = lines[p.Line-1]
			}
		}
		r.problems = append(r.problems, p)
	}
	return s, nil
}

// expand builds each family and compiles it as one that was written by hand. What is
// wrong in several of them is told once, with their names.
func (l *loader) expand(a *archetype, folder string, picks []map[string]string) error {
	type found struct {
		Problem
		in []string
	}
	var all []*found
	for i, pick := range picks {
		id := a.familyID(i)
		r := &report{file: a.file, lines: a.lines}
		if root := a.family(r, id, i, pick); root != nil {
			if err := l.build(folder, "", root, r); err != nil {
				return err
			}
		}
		if i >= a.listed {
			l.further = append(l.further, Further{agentbound.FamilyID(id), agentbound.Class(a.root.str("class")), r.problems})
			continue
		}
		for _, p := range r.problems {
			at := slices.IndexFunc(all, func(f *found) bool { return f.Problem == p })
			if at < 0 {
				at, all = len(all), append(all, &found{Problem: p})
			}
			all[at].in = append(all[at].in, id)
		}
	}
	for _, f := range all {
		if len(f.in) < a.listed {
			f.Message += " (in " + strings.Join(f.in, ", ") + ")"
		}
		if !a.full() {
			a.problems = append(a.problems, f.Problem)
		}
	}
	return nil
}

func (a *archetype) familyID(i int) string { return a.id + "-" + strconv.Itoa(i+1) }

// readAxes reads the variation, in the order of the file.
func (a *archetype) readAxes() {
	if n := a.root.get("variation"); n.is(object) {
		for _, e := range n.entries {
			a.axes = append(a.axes, axis{e.key.text, e.value.entries})
			for _, o := range e.value.entries {
				a.checkOption(o)
			}
		}
	}
}

// changeable are the parts of the document that an option may change.
var changeable = []string{"values", "theme", "level", "patterns", "wanted", "setting", "toolkits", "state", "boundary", "instructions", "completion", "handled", "forbidden", "reference"}

func (a *archetype) checkOption(o entry) {
	for _, e := range o.value.entries {
		if !slices.Contains(changeable, e.key.text) {
			a.at(e.key.pos, "option %s: key %s is not one that varies%s; accepted: %s", quote(o.key.text), quote(e.key.text), didYouMean(e.key.text, changeable), strings.Join(changeable, ", "))
		}
	}
}

// picks are the option of every axis for each family.
func (a *archetype) picks() []map[string]string {
	n := a.root.get("families")
	if n.is(list) {
		out := make([]map[string]string, len(n.items))
		for i, item := range n.items {
			out[i] = a.pick(item)
			if twice := slices.IndexFunc(out[:i], func(p map[string]string) bool { return a.distance(p, out[i]) == 0 }); twice >= 0 && len(a.axes) > 0 {
				a.at(item.pos, "the same pick as that of family %s; change one of the two", a.familyID(twice))
			}
		}
		return a.further(out)
	}
	count := 1
	if n != nil {
		count = a.root.number("families")
	}
	return a.further(a.spread(n, count))
}

// further adds the families that are asked for beyond those listed, as far as there are
// combinations left.
func (a *archetype) further(chosen []map[string]string) []map[string]string {
	a.listed = len(chosen)
	if a.more == 0 || len(a.problems) > 0 {
		return chosen
	}
	rest := a.candidates(a.combinations(), chosen)
	return append(chosen, a.farthest(rest, min(a.more, len(rest)))...)
}

// pick completes a partial pick: an axis that is left out takes its first option.
func (a *archetype) pick(n *node) map[string]string {
	out := map[string]string{}
	for _, x := range a.axes {
		out[x.name] = x.options[0].key.text
	}
	for _, e := range n.entries {
		i := slices.IndexFunc(a.axes, func(x axis) bool { return x.name == e.key.text })
		if i < 0 {
			a.at(e.key.pos, "axis %s is not one of variation; accepted: %s", quote(e.key.text), strings.Join(a.axisNames(), ", "))
			continue
		}
		if names := a.axes[i].names(); !slices.Contains(names, e.value.text) {
			a.at(e.value.pos, "axis %s has no option %s; accepted: %s", e.key.text, quote(e.value.text), strings.Join(names, ", "))
		}
		out[e.key.text] = e.value.text
	}
	return out
}

func (a *archetype) axisNames() []string {
	names := make([]string, len(a.axes))
	for i, x := range a.axes {
		names[i] = x.name
	}
	return names
}

func (x axis) names() []string {
	names := make([]string, len(x.options))
	for i, o := range x.options {
		names[i] = o.key.text
	}
	return names
}

// distance is the number of axes on which two picks differ.
func (a *archetype) distance(p, q map[string]string) int {
	n := 0
	for _, x := range a.axes {
		if p[x.name] != q[x.name] {
			n++
		}
	}
	return n
}

// maxCombinations bounds what spread looks at.
const maxCombinations = 20_000

// spread chooses families that differ as much as they can: the first options first,
// then each time the combination that is farthest from the nearest one chosen, ties
// by a hash.
func (a *archetype) spread(at *node, count int) []map[string]string {
	all := a.combinations()
	if len(all) < count {
		a.at(at.pos, "families is %d, and the variation has %s; accepted: at most that", count, counted(len(all), "combination"))
		return nil
	}
	if len(all) == 0 {
		return nil
	}
	return append(all[:1:1], a.farthest(a.candidates(all, all[:1]), count-1)...)
}

// candidate is a combination with its distance from the nearest one chosen and its
// place in ties, both kept so that a choice takes one look at each.
type candidate struct {
	pick    map[string]string
	options []string // of the pick, in the order of the axes
	near    int
	tie     uint64
}

// nearer accounts for one more that is chosen.
func (c *candidate) nearer(options []string) {
	differ := 0
	for i, o := range c.options {
		if o != options[i] {
			differ++
		}
	}
	c.near = min(c.near, differ)
}

// candidates are the combinations that none of the chosen is.
func (a *archetype) candidates(combinations, chosen []map[string]string) []candidate {
	taken := make([][]string, len(chosen))
	for i, p := range chosen {
		taken[i] = a.optionsOf(p)
	}
	var out []candidate
	for _, p := range combinations {
		c := candidate{p, a.optionsOf(p), len(a.axes), 0}
		for _, q := range taken {
			c.nearer(q)
		}
		c.tie = a.draw("spread/" + strings.Join(c.options, "/"))
		if c.near > 0 {
			out = append(out, c)
		}
	}
	return out
}

// farthest chooses n of the candidates.
func (a *archetype) farthest(all []candidate, n int) []map[string]string {
	var chosen []map[string]string
	for len(chosen) < n {
		best := slices.MaxFunc(all, func(c, d candidate) int { return cmp.Or(cmp.Compare(c.near, d.near), cmp.Compare(c.tie, d.tie)) })
		chosen = append(chosen, best.pick)
		for i := range all {
			if c := &all[i]; c.near > 0 { // those chosen are at 0, and stay there
				c.nearer(best.options)
			}
		}
	}
	return chosen
}

func (a *archetype) optionsOf(p map[string]string) []string {
	parts := make([]string, len(a.axes))
	for i, x := range a.axes {
		parts[i] = p[x.name]
	}
	return parts
}

// combinations are all picks that without allows, the last axis fastest.
func (a *archetype) combinations() []map[string]string {
	all := []map[string]string{{}}
	for _, x := range a.axes {
		if len(all)*len(x.options) > maxCombinations {
			a.at(a.root.get("variation").pos, "the variation has more than %d combinations; list the families that are wanted", maxCombinations)
			return nil
		}
		var longer []map[string]string
		for _, p := range all {
			for _, o := range x.options {
				q := map[string]string{x.name: o.key.text}
				for k, v := range p {
					q[k] = v
				}
				longer = append(longer, q)
			}
		}
		all = longer
	}
	var without []map[string]string
	for _, n := range a.root.list("without") {
		a.pick(n) // for its checks
		part := map[string]string{}
		for _, e := range n.entries {
			part[e.key.text] = e.value.text
		}
		without = append(without, part)
	}
	return slices.DeleteFunc(all, func(p map[string]string) bool {
		return slices.ContainsFunc(without, func(part map[string]string) bool {
			for k, v := range part {
				if p[k] != v {
					return false
				}
			}
			return true
		})
	})
}

// draw is a number that depends on the suite's seed, the archetype and what it is for.
func (a *archetype) draw(what string) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "agentbound/archetype/1\x00%d\x00%s\x00%s", a.seed, a.id, what))
	return binary.BigEndian.Uint64(sum[:8])
}
