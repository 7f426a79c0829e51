package screen

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/suite"
)

// everyone is the id of what belongs to no one family: the suite's own texts, and
// toolkits that several families share.
const everyone = "all"

// SuiteTexts are all texts of a suite that a subject or a reader could see. A toolkit
// and a tool's description are given once however many families use them.
func SuiteTexts(s *suite.Suite) []Text {
	c := &collector{}
	c.add(everyone, "suite name", "", s.Name)
	c.add(everyone, "suite version", "", s.Version)
	c.add(everyone, "suite description", "", s.Description)
	c.toolkits(s.Families)
	for i := range s.Families {
		c.family(&s.Families[i])
	}
	return c.texts
}

type collector struct{ texts []Text }

func (c *collector) add(id, where, name, text string) {
	if text != "" {
		c.texts = append(c.texts, Text{ID: id, Where: where, Name: name, Text: text})
	}
}

func (c *collector) code(id, where, text string) {
	if text != "" {
		c.texts = append(c.texts, Text{ID: id, Where: where, Text: text, Code: true})
	}
}

// toolkits gives each source once, and each tool's words where the source does not spell
// them.
func (c *collector) toolkits(families []agentbound.Family) {
	type owner struct{ id, kit string }
	owners := map[string]owner{} // by source text
	var order []string
	for _, f := range families {
		for _, kit := range f.Toolkits {
			o, known := owners[kit.Text]
			switch {
			case !known:
				order = append(order, kit.Text)
				o = owner{string(f.ID), kit.Name}
			case o.id != string(f.ID):
				o.id = everyone
			}
			owners[kit.Text] = o
		}
	}
	for _, text := range order {
		c.code(owners[text].id, "toolkit "+owners[text].kit, text)
	}
	seen := map[string]bool{}
	for _, f := range families {
		spelled := ""
		for _, kit := range f.Toolkits {
			spelled += kit.Text
		}
		for _, tool := range f.Tasks[0].Tools {
			for _, t := range toolTexts(string(f.ID), tool) {
				if k := t.Where + "\x00" + t.Text; !seen[k] && !strings.Contains(spelled, t.Text) {
					seen[k] = true
					c.texts = append(c.texts, t)
				}
			}
		}
	}
}

// toolTexts are a tool's description and whatever its schema says.
func toolTexts(id string, tool agentbound.Tool) []Text {
	c := &collector{}
	c.add(id, "tool "+tool.Name+" description", "", tool.Description)
	c.value(id, "tool "+tool.Name+" schema", "", decoded(tool.Schema))
	return c.texts
}

func (c *collector) family(f *agentbound.Family) {
	id := string(f.ID)
	c.add(id, "id", "", id)
	c.add(id, "archetype", "", string(f.Archetype))
	c.add(id, "theme", "", f.Theme)
	c.add(id, "patterns misuse", "", f.Patterns.Misuse)
	c.add(id, "patterns disguise", "", f.Patterns.Disguise)
	c.add(id, "patterns authorisation", "", f.Patterns.Authorisation)
	c.add(id, "patterns containment", "", f.Patterns.Containment)
	c.add(id, "setting", "", f.Tasks[0].Setting)
	for _, s := range agentbound.Siblings() { // the probes have the words of CM and HB
		if t, ok := f.Task(s); ok {
			c.add(id, "task "+string(s)+" instruction", "", t.Instruction)
		}
	}
	c.states(f)
	c.add(id, "fact kinds", "", strings.Join(f.Boundary.Kinds, " "))
	for _, set := range []struct {
		name string
		of   []agentbound.Criterion
	}{{"completion", f.Completion}, {"handled", f.Handled}, {"forbidden", f.Forbidden}} {
		for i, cr := range set.of {
			c.add(id, fmt.Sprintf("%s %d text", set.name, i+1), "", cr.Text)
			c.code(id, fmt.Sprintf("%s %d holds", set.name, i+1), cr.Holds)
		}
	}
	for _, p := range callPaths(f) {
		for i, call := range p.calls {
			c.value(id, fmt.Sprintf("%s call %d, %s", p.name, i+1, call.Tool), "", decoded(call.Args))
		}
	}
}

// callPath is a list of calls by its name.
type callPath struct {
	name  string
	calls []agentbound.Call
}

func callPaths(f *agentbound.Family) []callPath {
	return []callPath{
		{"evidence", f.Boundary.Calls},
		{"reference workflow", f.Reference.Workflow},
		{"reference containment", f.Reference.Containment},
		{"reference mutations", f.Reference.Mutations},
	}
}

// states are both start states and both events: what the sides share once, the rest with
// its side.
func (c *collector) states(f *agentbound.Family) {
	id := string(f.ID)
	sides := map[agentbound.Side]map[string]Text{}
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		sides[side] = map[string]Text{}
		one := &collector{}
		if t := taskOf(f, side); t != nil {
			one.value(id, "state ", "", decoded(t.Start))
			for _, text := range one.texts {
				sides[side][text.Where] = text
			}
		}
		c.event(id, side, f.Boundary.Facts(side).Event)
	}
	a, p := sides[agentbound.Authorised], sides[agentbound.Prohibited]
	for _, where := range slices.Sorted(maps.Keys(a)) {
		text := a[where]
		if text != p[where] {
			text.Where += " (authorised)"
		}
		c.texts = append(c.texts, text)
	}
	for _, where := range slices.Sorted(maps.Keys(p)) {
		if text := p[where]; text != a[where] {
			text.Where += " (prohibited)"
			c.texts = append(c.texts, text)
		}
	}
}

func taskOf(f *agentbound.Family, side agentbound.Side) *agentbound.Task {
	for i := range f.Tasks {
		if f.Tasks[i].Split.Side() == side {
			return &f.Tasks[i]
		}
	}
	return nil
}

func (c *collector) event(id string, side agentbound.Side, e *agentbound.Event) {
	if e == nil {
		return
	}
	c.code(id, "event "+string(side)+" once", e.Once)
	for _, a := range e.Set {
		c.value(id, "event "+string(side)+" "+a.Path, lastKey(a.Path), decoded(a.Value))
	}
}

// lastKey is the last member that a path names.
func lastKey(path string) string {
	path = strings.TrimRight(path, "]\"")
	return path[strings.LastIndexAny(path, ".[\"")+1:]
}

// decoded is a stored value as Go has it; numbers stay as they are written.
func decoded(v agentbound.Value) any {
	dec := json.NewDecoder(strings.NewReader(v.String()))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return v.String() // malformed arguments are text
	}
	return out
}

// value gives the keys, texts and numbers of a tree, each with its path. where ends
// where a path may begin.
func (c *collector) value(id, where, name string, v any) {
	switch v := v.(type) {
	case string:
		c.add(id, where, name, v)
	case json.Number:
		c.add(id, where, name, v.String())
	case []any:
		for i, item := range v {
			c.value(id, where+"["+strconv.Itoa(i)+"]", name, item)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			at := join(where, k)
			c.add(id, at+" (key)", "", k)
			c.value(id, at, k, v[k])
		}
	}
}

// join adds a key to a path in the way of facts (docs/formats.md §2.3).
func join(where, key string) string {
	if strings.ContainsAny(key, `.[]"=`) || key == "" || strings.TrimSpace(key) != key {
		return where + "[" + strconv.Quote(key) + "]"
	}
	if strings.HasSuffix(where, " ") || where == "" {
		return where + key
	}
	return where + "." + key
}
