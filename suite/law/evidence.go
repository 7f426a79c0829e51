package law

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// evidence is law 6.
func (c *check) evidence() error {
	last := c.prohibited.firstCrossing()
	if last < 0 { // law 3 says so
		last = slices.IndexFunc(c.family.Reference.Workflow, func(call agentbound.Call) bool { return call.Tool == c.family.Boundary.Critical })
	}
	if last < 0 {
		c.breach(6, agentbound.CM, nil, "the workflow makes no critical call (%s)", c.family.Boundary.Critical)
		return nil
	}
	for _, e := range c.family.Boundary.Calls {
		c.evidenceCall(e, last)
	}
	return c.rule(last)
}

// evidenceCall: the call stands before the critical one, and what it answers differs.
func (c *check) evidenceCall(e agentbound.Call, last int) {
	first := slices.IndexFunc(c.family.Reference.Workflow, e.Equal)
	name := star.FormatCall(e)
	switch {
	case first < 0:
		c.breach(6, agentbound.CM, nil, "the evidence call %s is not in the workflow", name)
		return
	case first >= last:
		c.breach(6, agentbound.CM, c.prohibited.at(first), "the evidence call %s comes only after the critical call %s", name, star.FormatCall(c.prohibited.calls[last]))
		return
	}
	for i := first; i < last; i++ {
		if c.prohibited.calls[i].Equal(e) && c.differs(i) {
			return
		}
	}
	c.breach(6, agentbound.CM, c.prohibited.at(first),
		"before the critical call the evidence call %s answers the same on both facts: %s", name, clip(c.prohibited.moves[first].Observation.String()))
}

// differs reports whether the workflow's call i answers differently on the two facts.
func (c *check) differs(i int) bool {
	a, p := c.authorised.moves[i], c.prohibited.moves[i]
	return a.OK != p.OK || !a.Observation.Equal(p.Observation)
}

// rule: what makes the fact decisive stands in an observation that one needs in order
// to make the critical call at all, and a look-up one could skip is named by it.
func (c *check) rule(last int) error {
	required := c.required(last)
	if len(required) == 0 {
		c.breach(6, agentbound.CM, c.prohibited.at(last),
			"every argument of the critical call is in the instructions, so no observation is needed for it: the rule may never be met. Have the subject look one of them up where the rule stands")
		return nil
	}
	var rules []string
	for _, i := range required {
		rules = append(rules, c.rules(i)...)
	}
	if len(rules) == 0 {
		c.breach(6, agentbound.CM, c.prohibited.at(last),
			"the critical call's arguments come from %s, and no sentence there states the rule that makes the fact decisive", c.named(required))
		return nil
	}
	if c.family.Boundary.Evidence != agentbound.Lookup || c.evidenceRequired(required) {
		return nil
	}
	if things := c.lookedUp(); !slices.ContainsFunc(rules, func(r string) bool { return mentions(r, things) }) {
		c.breach(6, agentbound.CM, c.prohibited.at(last),
			"nobody asked for the look-up %s, and the rule does not name the thing to look up (%s): %s",
			star.FormatCall(c.family.Boundary.Calls[0]), strings.Join(things, ", "), clip(strings.Join(rules, " / ")))
	}
	return nil
}

func (c *check) named(indices []int) string {
	names := make([]string, len(indices))
	for k, i := range indices {
		names[k] = c.family.Reference.Workflow[i].Tool
	}
	return strings.Join(slices.Compact(names), ", ")
}

func (c *check) evidenceRequired(required []int) bool {
	return slices.ContainsFunc(required, func(i int) bool {
		return slices.ContainsFunc(c.family.Boundary.Calls, c.family.Reference.Workflow[i].Equal)
	})
}

// required are the workflow's calls before the critical one from which one first
// learns an argument of it that some instruction does not spell, or in turn an
// argument of such a call.
func (c *check) required(last int) []int {
	var found []int
	open := []int{last}
	for len(open) > 0 {
		asks := open[0]
		open = open[1:]
		for _, v := range values(c.family.Reference.Workflow[asks].Args) {
			if i := c.firstShown(v, asks); i >= 0 && !c.spelled(v) && !slices.Contains(found, i) {
				found = append(found, i)
				open = append(open, i)
			}
		}
	}
	slices.Sort(found)
	return found
}

// firstShown is the first of the workflow's calls before last whose observation
// shows a value, or -1.
func (c *check) firstShown(v string, last int) int {
	return slices.IndexFunc(c.authorised.moves[:last], func(m star.Move) bool { return shows(m.Observation, v) })
}

// spelled reports whether every instruction but the confession spells a value.
func (c *check) spelled(v string) bool {
	for _, s := range []agentbound.Split{agentbound.CM, agentbound.EB, agentbound.HB} {
		t, _ := c.family.Task(s)
		if !containsWord(t.Instruction, v) {
			return false
		}
	}
	return true
}

// containsWord looks for a word or phrase, in any case, that no letter or digit
// adjoins.
func containsWord(text, word string) bool {
	text, word = strings.ToLower(text), strings.ToLower(word)
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if !wordy(before) && !wordy(after) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + max(size, 1)
	}
}

func wordy(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// shows reports whether an observation holds a value: as a whole text, number or
// key, or (from four letters on) as a word within a text.
func shows(observation agentbound.Value, v string) bool {
	for _, leaf := range leaves(observation) {
		if leaf == v || len(v) >= 4 && containsWord(leaf, v) {
			return true
		}
	}
	return false
}

var (
	normative = regexp.MustCompile(`(?i)\b(?:only|must|may|never|unless|without|cannot|not|no|requires?|required|needs?|until|except|allowed|permitted|authori[sz]ed|should|shall|at most|at least|limit|up to|within|if|where|while|before|after)\b`)
	wordRE    = regexp.MustCompile(`\pL[\pL\pN'’-]*`)
)

// rules are the texts of an observation that read like a rule: of five words or more,
// normative, and the same on both facts.
func (c *check) rules(i int) []string {
	other := leaves(c.prohibited.moves[i].Observation)
	var rules []string
	for _, leaf := range leaves(c.authorised.moves[i].Observation) {
		if len(wordRE.FindAllString(leaf, -1)) >= 5 && normative.MatchString(leaf) && slices.Contains(other, leaf) {
			rules = append(rules, leaf)
		}
	}
	return rules
}

// lookedUp are words for the thing that the evidence calls look up: of the tools'
// names and arguments, and of the places of the facts.
func (c *check) lookedUp() []string {
	var words []string
	add := func(s string) {
		for _, w := range wordRE.FindAllString(strings.NewReplacer("_", " ", "/", " ", "-", " ").Replace(s), -1) {
			if w = stem(w); len(w) >= 4 && !slices.Contains(lookupVerbs, w) && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	for _, e := range c.family.Boundary.Calls {
		add(e.Tool)
		for _, v := range values(e.Args) {
			add(v)
		}
	}
	for _, p := range c.factPointers(true) {
		add(p)
	}
	for _, k := range c.family.Boundary.Kinds {
		add(k)
	}
	return words
}

var lookupVerbs = []string{"read", "list", "find", "show", "check", "look", "view", "open", "fetch", "search", "query", "status", "remark", "note"}

func stem(w string) string {
	w = strings.ToLower(w)
	for _, suffix := range []string{"ies", "es", "s"} {
		if base, ok := strings.CutSuffix(w, suffix); ok && len(base) >= 4 {
			return base
		}
	}
	return w
}

func mentions(text string, stems []string) bool {
	for _, w := range wordRE.FindAllString(strings.ToLower(text), -1) {
		for _, s := range stems {
			if strings.HasPrefix(w, s) {
				return true
			}
		}
	}
	return false
}

func clip(s string) string {
	const most = 400
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
