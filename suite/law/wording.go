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
	for _, kit := range c.family.Toolkits {
		for _, m := range literal.FindAllStringSubmatch(kit.Text, -1) {
			c.tells("", "a text in "+kit.Name, m[1])
		}
	}
	for _, side := range []agentbound.Side{agentbound.Authorised, agentbound.Prohibited} {
		t := c.task(side)
		for _, leaf := range c.stateTexts(side) {
			c.tells(t.Split, "the state", leaf)
			if slices.Contains([]string{"HS", "CM", "EB", "HB", "eb", "hb"}, leaf) { // cm and hs are units and codes
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
	literal      = regexp.MustCompile(`"((?:[^"\\\n]|\\.)*)"`)
	verdictNames = regexp.MustCompile(`(?i)\b(?:unsafe\W{0,3}(?:executed|proposed|none)|(?:prohibited|authori[sz]ed) (?:sibling|side|facts|task)|safety[ _]?verdict|safety [0-3]\b|counts as handled|judged\W{0,3}crossed|over[ _-]?refus\w+|helpfulness|unscored|crossed[ _]at|proposed[ _]at|evidence[ _]seen|forbidden (?:state|transition|predicate)s?|completion criteri\w+|success criteri\w+|safety score|utility score|ground truth)\b`)
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
	identifier = regexp.MustCompile(`\b[A-Za-z]{1,8}-?\d[\w-]*`)
	properName = regexp.MustCompile(`\b\p{Lu}[\pL\pN'’.-]*(?: \p{Lu}[\pL\pN'’.-]*)*`)
)

// identifiers: what an instruction names can be found as it is spelled there.
func (c *check) identifiers(t *agentbound.Task) error {
	texts := c.stateTexts(t.Split.Side())
	known := func(s string) bool {
		return slices.ContainsFunc(texts, func(x string) bool { return containsWord(x, s) })
	}
	for _, id := range distinct(identifier.FindAllString(t.Instruction, -1)) {
		if err := c.identifier(t, id, texts, known(id)); err != nil {
			return err
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

// identifier looks at one identifier of an instruction: it stands in the state, as it
// is spelled or so that look-ups take it; and the look-ups for its kind of record
// find it.
func (c *check) identifier(t *agentbound.Task, id string, texts []string, known bool) error {
	spelled := slices.DeleteFunc(slices.Clone(texts), func(x string) bool { return x == id || plain(x) != plain(id) })
	if !known && len(spelled) == 0 {
		if like := kindred(id, texts); like != "" {
			c.breach(8, t.Split, nil, "the instruction names %s, which stands nowhere in the state; there is %s", id, like)
		}
		return nil
	}
	others := slices.Concat(spelled, []string{strings.ToLower(id), strings.ToUpper(id), strings.ReplaceAll(id, "-", "")})
	takes := false
	for _, call := range c.lookups(t) {
		found, err := c.looksUp(t, call.with(id))
		if err != nil {
			return err
		}
		if found {
			takes = true
			continue
		}
		for _, other := range others {
			if found, err = c.looksUp(t, call.with(other)); err != nil {
				return err
			}
			if found {
				c.breach(8, t.Split, nil, "the instruction says %q; %s finds nothing, and %s does",
					id, star.FormatCall(call.with(id)), star.FormatCall(call.with(other)))
				return nil
			}
		}
		if c.reads(call.tool) && c.recordOf(t, call, id) {
			c.breach(8, t.Split, nil, "the instruction says %q; %s finds nothing, though the state has it", id, star.FormatCall(call.with(id)))
			return nil
		}
	}
	if !known && !takes {
		c.breach(8, t.Split, nil, "the instruction names %s, which the state spells %s, and no look-up takes it so", id, spelled[0])
	}
	return nil
}

// plain is an identifier without case and hyphens.
func plain(s string) string { return strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(s)) }

// kindred is an identifier of the state with the letters of id, or nothing: where
// there is none, id is no identifier of this world (a standard, a room).
func kindred(id string, texts []string) string {
	letters, _, hyphened := strings.Cut(id, "-")
	if !hyphened {
		return ""
	}
	for _, x := range texts {
		if head, tail, ok := strings.Cut(x, "-"); ok && head == letters && tail != "" && tail[0] >= '0' && tail[0] <= '9' && !strings.Contains(x, " ") {
			return x
		}
	}
	return ""
}

// reads reports whether a tool is a look-up by its name.
func (c *check) reads(tool string) bool {
	verb, _, _ := strings.Cut(tool, "_")
	return slices.Contains(lookupVerbs, verb) || verb == "get" || verb == "lookup"
}

// recordOf reports whether id is the key of a collection whose name is the thing that
// the argument names: claims for read_claim(claim_id).
func (c *check) recordOf(t *agentbound.Task, l lookup, id string) bool {
	things := addStems(nil, l.open)
	for collection, keys := range collections(t.Start) {
		if slices.Contains(keys, id) && mentions(strings.ReplaceAll(collection, "_", " "), things) {
			return true
		}
	}
	return false
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// names are identifiers and the runs of capitalised words of an instruction; of a run
// that begins a sentence also what follows its first word.
func names(instruction string) []string {
	var found []string
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
