package law

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// wording is law 8.
func (c *check) wording() error {
	c.setting()
	for _, s := range agentbound.Splits() {
		t, _ := c.family.Task(s)
		c.tells(s, "the instruction", t.Instruction)
		if err := c.identifiers(t); err != nil {
			return err
		}
	}
	return nil
}

// setting looks at what all siblings share, and at both start states.
func (c *check) setting() {
	t := c.task(agentbound.Authorised)
	c.tells("", "the setting", t.Setting)
	for _, tool := range t.Tools {
		c.tells("", "the tool "+tool.Name, strings.ReplaceAll(tool.Name, "_", " ")+". "+tool.Description)
		for _, leaf := range leaves(tool.Schema) {
			c.tells("", "an argument of "+tool.Name, leaf)
		}
	}
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		t := c.task(side)
		for _, leaf := range c.stateTexts(side) {
			c.tells(t.Split, "the state", leaf)
			if slices.Contains([]string{"hs", "cm", "eb", "hb"}, strings.ToLower(leaf)) {
				c.breach(8, t.Split, nil, "the state holds %q, the name of a split", leaf)
			}
		}
	}
}

// stateTexts are the keys and texts of a start state and of what its event sets.
func (c *check) stateTexts(side agentbound.Side) []string {
	t := c.task(side)
	texts := leaves(t.Start)
	if t.Event != nil {
		for _, a := range t.Event.Set {
			texts = append(texts, leaves(a.Value)...)
		}
	}
	return texts
}

var (
	splitNames = regexp.MustCompile(`(?i)\b(?:harmful[ _-]?source|covert(?:ly)?[ _-]?malicious|easy[ _-]?benign|hard[ _-]?benign|hb[ _-]prohibited|cm[ _-]authori[sz]ed)\b` +
		`|\b(?:split|sibling|variant|label)\b\W{0,3}\b(?:hs|cm|eb|hb)\b`)
	splitSlugs   = regexp.MustCompile(`\b(?:EB|HB|CM)\b|\bHS\b(?: (?:task|split|sibling|case|variant))`)
	verdictNames = regexp.MustCompile(`(?i)\b(?:over[ _-]?refus\w+|helpfulness|unscored|crossed[ _]at|proposed[ _]at|evidence[ _]seen|forbidden (?:state|transition|predicate)s?|completion criteri\w+|success criteri\w+|safety score|utility score|ground truth)\b`)
)

// tells reports a text that names a split, a verdict or a criterion.
func (c *check) tells(s agentbound.Split, where, text string) {
	for _, p := range []struct {
		what string
		re   *regexp.Regexp
	}{{"a split", splitNames}, {"a split", splitSlugs}, {"a verdict", verdictNames}} {
		if m := p.re.FindString(text); m != "" {
			c.breach(8, s, nil, "%s names %s, %q: %s", where, p.what, m, clip(text))
			return
		}
	}
	flat := flatten(text)
	for _, set := range [][]agentbound.Criterion{c.family.Completion, c.family.Handled, c.family.Forbidden} {
		for _, cr := range set {
			if len(strings.Fields(cr.Text)) >= 3 && strings.Contains(flat, flatten(cr.Text)) || strings.Contains(flat, flatten(cr.Holds)) {
				c.breach(8, s, nil, "%s states a criterion, %q: %s", where, cr.Text, clip(text))
				return
			}
		}
	}
}

func flatten(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

var (
	identifier = regexp.MustCompile(`\b[A-Z][A-Za-z]{0,7}-\d[\w-]*\b`)
	unhyphened = regexp.MustCompile(`\b([A-Z]{1,6})(\d{2,})\b`)
	properName = regexp.MustCompile(`\b\p{Lu}[\pL\pN'’.-]*(?: \p{Lu}[\pL\pN'’.-]*)*`)
)

// identifiers: what an instruction names can be found as it is spelled there.
func (c *check) identifiers(t *agentbound.Task) error {
	texts := c.stateTexts(t.Split.Side())
	known := func(s string) bool {
		return slices.ContainsFunc(texts, func(x string) bool { return containsWord(x, s) })
	}
	for _, id := range identifier.FindAllString(t.Instruction, -1) {
		if !known(id) {
			c.breach(8, t.Split, nil, "the instruction names %s, which stands nowhere in the state", id)
		}
	}
	for _, m := range unhyphened.FindAllStringSubmatch(t.Instruction, -1) {
		if spelled := m[1] + "-" + m[2]; !known(m[0]) && known(spelled) {
			c.breach(8, t.Split, nil, "the instruction names %s, which the state spells %s", m[0], spelled)
		}
	}
	for _, name := range names(t.Instruction) {
		if known(name) {
			if err := c.resolves(t, name, texts); err != nil {
				return err
			}
		}
	}
	return nil
}

// names are identifiers and the runs of capitalised words of an instruction; of a run
// that begins a sentence also what follows its first word.
func names(instruction string) []string {
	found := identifier.FindAllString(instruction, -1)
	for _, at := range properName.FindAllStringIndex(instruction, -1) {
		run := strings.TrimRight(instruction[at[0]:at[1]], ".'’-")
		for _, suffix := range []string{"'s", "’s"} {
			run = strings.TrimSuffix(run, suffix)
		}
		head := strings.TrimRight(instruction[:at[0]], " \n\"'“‘(")
		if head != "" && !strings.ContainsAny(head[len(head)-1:], ".!?:") {
			found = append(found, run)
		} else if _, rest, ok := strings.Cut(run, " "); ok {
			found = append(found, run, rest)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// resolves: a look-up that finds something under the state's spelling finds it under
// the instruction's too.
func (c *check) resolves(t *agentbound.Task, name string, texts []string) error {
	for _, full := range texts {
		if full == name || len(full) > 60 || !containsWord(full, name) {
			continue
		}
		for _, call := range c.lookups(t) {
			found, err := c.looksUp(t, call.with(full))
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			if found, err = c.looksUp(t, call.with(name)); err != nil {
				return err
			}
			if !found {
				c.breach(8, t.Split, nil, "the instruction says %q; %s finds nothing, and %s does: a look-up should match a part of a name, in any case",
					name, star.FormatCall(call.with(name)), star.FormatCall(call.with(full)))
				return nil
			}
		}
	}
	return nil
}

// lookup is a call with one text argument left open.
type lookup struct {
	tool string
	args map[string]string
	open string
}

func (l lookup) with(text string) agentbound.Call {
	fields := make([]string, 0, len(l.args)+1)
	for _, k := range sortedKeys(l.args) {
		if k != l.open {
			fields = append(fields, agentbound.StringValue(k).String()+":"+l.args[k])
		}
	}
	fields = append(fields, agentbound.StringValue(l.open).String()+":"+agentbound.StringValue(text).String())
	return agentbound.Call{Tool: l.tool, Args: agentbound.Value("{" + strings.Join(fields, ",") + "}")}
}

// lookups are the calls to try: each text argument of each tool, the others as the
// reference paths give them.
func (c *check) lookups(t *agentbound.Task) []lookup {
	var found []lookup
	for _, tool := range t.Tools {
		s := parseSchema(tool.Schema)
		given := c.given(tool.Name)
		for _, name := range s.names() {
			if p := s.Properties[name]; p.Type != "string" || len(p.Enum) > 0 {
				continue
			}
			complete := true
			for _, r := range s.Required {
				_, ok := given[r]
				complete = complete && (r == name || ok)
			}
			if complete {
				found = append(found, lookup{tool.Name, given, name})
			}
		}
	}
	return found
}

// given are the arguments with which a reference path calls a tool.
func (c *check) given(tool string) map[string]string {
	ref := c.family.Reference
	for _, call := range slices.Concat(ref.Workflow, ref.Containment) {
		if call.Tool == tool {
			return members(call.Args)
		}
	}
	return nil
}

// looksUp reports whether a call reads something: it goes through, changes nothing
// and does not answer with nothing.
func (c *check) looksUp(t *agentbound.Task, call agentbound.Call) (bool, error) {
	m, err := c.program.NewMachine(t.Start, nil)
	if err != nil {
		return false, err
	}
	move, err := m.Call(c.ctx, call)
	if err != nil {
		return false, err
	}
	empty := slices.Contains([]string{"[]", "{}", "null", `""`}, move.Observation.String())
	return move.OK && len(move.Diff) == 0 && !empty, nil
}
