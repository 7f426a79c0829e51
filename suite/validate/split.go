package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/agentbound/agentbound"
)

// splitSemantics looks at what can be told of the splits mechanically: HS, CM, EB and HB
// want one transition of one object for one beneficiary (specification §3). What an
// argument of the critical call stands for is told by the records that hold it; where
// one wording speaks of it, all must. A wording need not spell an argument (law 6 even
// wants one to be looked up), so an argument that none of them speaks of is no matter.
func splitSemantics(f *agentbound.Family) (messages []string) {
	said := wordings(f)
	words := make([][]string, len(said))
	for i, w := range said {
		words[i] = terms(w.text)
	}
	start := tree(f)
	seen := map[string]bool{}
	for _, c := range f.Reference.Workflow {
		if c.Tool != f.Boundary.Critical {
			continue
		}
		var args map[string]any
		_ = json.Unmarshal(c.Args, &args) // a reference call's arguments are an object
		for _, name := range slices.Sorted(maps.Keys(args)) {
			value, ok := args[name].(string)
			if !ok || seen[name+"\x00"+value] {
				continue
			}
			seen[name+"\x00"+value] = true
			silent, spoken := kept(said, words, meant(start, value))
			if spoken && len(silent) > 0 {
				messages = append(messages, fmt.Sprintf("%s says nothing of what %s = %q in %s stands for, and another wording does: all four want the same transition of the same object for the same beneficiary; name it by one of: %s",
					strings.Join(silent, ", "), name, value, c.Tool, strings.Join(shorter(meant(start, value).own, 10), ", ")))
			}
		}
	}
	return messages
}

func shorter(list []string, most int) []string { return list[:min(len(list), most)] }

// meaning is what a value stands for: in the words of its own records, and in those of
// the records around them and of those that name them in turn.
type meaning struct{ own, around []string }

// kept tells which wordings do not speak of a value, and whether any speaks of it by the
// words of its own records.
func kept(said []worded, words [][]string, of meaning) (silent []string, spoken bool) {
	for i := range said {
		own := shares(of.own, words[i])
		spoken = spoken || own
		if !own && !shares(of.around, words[i]) {
			silent = append(silent, said[i].name)
		}
	}
	return silent, spoken
}

// tree is the authorised start state.
func tree(f *agentbound.Family) any {
	t, ok := f.Task(agentbound.EB)
	if !ok {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(t.Start))
	dec.UseNumber()
	var v any
	_ = dec.Decode(&v) // of our own making
	return v
}

// meant finds the records that hold a value: as a member, in a list of theirs, or as
// their key. Long texts are left out: rules speak of everything.
func meant(start any, value string) meaning {
	var m meaning
	var names []string
	find(start, nil, value, func(record map[string]any, above []map[string]any) {
		m.own = append(m.own, shortTerms(record)...)
		names = append(names, properNames(record)...)
		for _, a := range above {
			m.around = append(m.around, shortTerms(a)...)
		}
	})
	for _, name := range distinct(names) {
		find(start, nil, name, func(record map[string]any, above []map[string]any) {
			m.around = append(m.around, shortTerms(record)...)
		})
	}
	if len(m.own) > 0 {
		m.own = append(m.own, terms(value)...)
	}
	m.own, m.around = distinct(m.own), distinct(m.around)
	return m
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// find calls with every record that holds a value, and the records around it.
func find(v any, above []map[string]any, value string, found func(record map[string]any, above []map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			find(e, above, value, found)
		}
	case map[string]any:
		if holds(v, value) {
			found(v, above)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			record, ok := v[k].(map[string]any)
			if ok && k == value && !holds(record, value) {
				found(record, append(above, v))
			}
			find(v[k], append(slices.Clone(above), v), value, found)
		}
	}
}

// properNames are the members of a record that name another thing: with a capital or a
// digit, and short.
func properNames(record map[string]any) []string {
	var out []string
	for _, e := range record {
		if s, ok := e.(string); ok && len(s) < ruleLength && strings.ContainsFunc(s, func(r rune) bool { return unicode.IsUpper(r) || unicode.IsDigit(r) }) {
			out = append(out, s)
		}
	}
	return out
}

// holds reports whether a record has a value as a member or in a list of plain values.
func holds(record map[string]any, value string) bool {
	for _, e := range record {
		switch e := e.(type) {
		case string:
			if e == value {
				return true
			}
		case []any:
			if slices.Contains(e, any(value)) {
				return true
			}
		}
	}
	return false
}

// ruleLength is from how many characters on a text is a rule or note, no name.
const ruleLength = 60

func shortTerms(record map[string]any) []string {
	var out []string
	var take func(v any)
	take = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) < ruleLength {
				out = append(out, terms(v)...)
			}
		case []any:
			for _, e := range v {
				if _, ok := e.(string); ok {
					take(e)
				}
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(record)) {
		take(record[k])
	}
	return out
}

// scaffold: one topic and one set of tools.
func scaffold(f *agentbound.Family) (messages []string) {
	said := wordings(f)
	world := terms(worldText(f))
	for i, w := range said {
		mine := terms(w.text)
		if got := overlap(mine, world); len(got) < 2 {
			messages = append(messages, fmt.Sprintf("%s has fewer than two words in common with the world (state, tools, theme): it asks for something else than the workflow", w.name))
		}
		for _, other := range said[i+1:] {
			if !shares(mine, terms(other.text)) {
				messages = append(messages, fmt.Sprintf("%s and %s have no word of content in common: all four are about the same thing", w.name, other.name))
			}
		}
	}
	return append(messages, sharedTools(f)...)
}

func worldText(f *agentbound.Family) string {
	parts := []string{f.Theme}
	var take func(v any)
	take = func(v any) {
		switch v := v.(type) {
		case string:
			parts = append(parts, v)
		case []any:
			for _, e := range v {
				take(e)
			}
		case map[string]any:
			for k, e := range v {
				parts = append(parts, k)
				take(e)
			}
		}
	}
	take(tree(f))
	for _, t := range f.Tasks[0].Tools {
		parts = append(parts, t.Name, t.Description)
	}
	return strings.Join(parts, " \n")
}

// sharedTools: the containment goes the workflow's way until the evidence is met, then
// another; and every toolkit is used.
func sharedTools(f *agentbound.Family) (messages []string) {
	evidence := func(path []agentbound.Call) bool {
		return slices.ContainsFunc(path, func(c agentbound.Call) bool { return slices.ContainsFunc(f.Boundary.Calls, c.Equal) })
	}
	if !evidence(f.Reference.Containment) {
		messages = append(messages, "reference.containment makes no evidence call: a careful person stops because of what that call shows, so let the containment begin like the workflow, up to the evidence")
	}
	var used []string
	for _, c := range slices.Concat(f.Reference.Workflow, f.Reference.Containment) {
		used = append(used, c.Tool)
	}
	for _, k := range f.Toolkits {
		mine := func(tool string) bool { return strings.Contains(k.Text, "def "+tool+"(") }
		if !slices.ContainsFunc(used, mine) {
			messages = append(messages, fmt.Sprintf("%s: no reference path uses a tool of this toolkit; leave it out", k.Name))
		}
	}
	return messages
}
