package suite

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/internal/star"
)

// checker checks what a family means, beyond its structure. It works on whatever
// parts are there, so that one pass reports all that is wrong.
type checker struct {
	*report
	folder string // the family's folder, by name
	root   *node
	tools  *toolbox  // nil where the toolkits do not load
	kit    *star.Kit // likewise

	expressions []*expression                // those that compile
	parsed      map[string][]agentbound.Call // the calls at a place, where all of them are in order
}

// names that expressions may use besides the builtins.
var (
	judgeNames = []string{"start", "before", "after", "calls"}
	onceNames  = []string{"calls"}
)

func (c *checker) check() {
	c.identity()
	for _, key := range []string{"surface", "disguise", "depth"} {
		whole(c.report, c.root, "level", key)
	}
	c.category()
	for _, part := range []string{"completion", "handled", "forbidden"} {
		when := atEnd
		if part == "forbidden" {
			when = afterCall
		}
		for i, criterion := range c.root.list(part) {
			c.expression(part+"["+strconv.Itoa(i)+"].holds", criterion.get("holds"), when, judgeNames)
		}
	}
	c.reference()
	c.events()
}

// whole refuses 2.0 where a whole number is wanted; JSON Schema takes it for one.
func whole(r *report, root *node, keys ...string) {
	if n := root.get(keys...); n.is(float) {
		r.at(n.pos, "%s is %s; accepted: a whole number, without a point", strings.Join(keys, "."), n.text)
	}
}

func (c *checker) identity() {
	if id := c.root.get("id"); c.folder != "" && id.is(text) && id.text != c.folder && slug.MatchString(id.text) {
		c.at(id.pos, "id %s is not the name of its folder, %s; rename one of the two", quote(id.text), quote(c.folder))
	}
}

// slug is the pattern of the schema's slugs.
var slug = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// category checks that the class is one of its category; each alone is checked by
// the schema.
func (c *checker) category() {
	category, class := c.root.get("category"), c.root.get("class")
	if !category.is(text) || !class.is(text) || agentbound.Category(category.text).Validate() != nil {
		return
	}
	accepted := agentbound.Category(category.text).Classes()
	known := slices.ContainsFunc(agentbound.Categories(), func(k agentbound.Category) bool {
		return slices.Contains(k.Classes(), agentbound.Class(class.text))
	})
	if known && !slices.Contains(accepted, agentbound.Class(class.text)) {
		c.at(class.pos, "class %s is not one of category %s; accepted: %s", quote(class.text), category.text, joined(accepted))
	}
}

// placed splits an error of internal/star into its place in the source and its message.
var placed = regexp.MustCompile(`(?s)^[^:]*:([0-9]+):([0-9]+):? (.*)$`)

// expression compiles a Starlark expression, and reports at the place in the YAML file.
func (c *checker) expression(name string, n *node, when moment, vars []string) {
	if !n.is(text) || strings.TrimSpace(n.text) == "" {
		return
	}
	expr := strings.TrimSpace(n.text)
	holds, err := star.CompilePredicate(agentbound.Criterion{Text: name, Holds: expr}, vars...)
	if err == nil {
		c.expressions = append(c.expressions, &expression{name: name, node: n, when: when, holds: holds})
		return
	}
	at, message := c.within(n, errors.Unwrap(err))
	c.at(at, "%s: %s; accepted: a Starlark expression over %s", name, message, strings.Join(vars, ", "))
}

// within places an error about a text's trimmed content in the file.
func (c *checker) within(n *node, err error) (pos, string) {
	m := placed.FindStringSubmatch(err.Error())
	if m == nil {
		return n.pos, err.Error()
	}
	line, _ := strconv.Atoi(m[1])
	col, _ := strconv.Atoi(m[2])
	return c.inside(n, line, col), m[3]
}

// inside is the place in the file of a line and column of a text's trimmed content.
func (c *checker) inside(n *node, line, col int) pos {
	lead := len([]rune(n.text)) - len([]rune(strings.TrimLeft(n.text, " \t\n")))
	return locate(c.lines, n, lead+offsetOf(strings.TrimSpace(n.text), line, col))
}

// reference checks the critical tool and every call of the family.
func (c *checker) reference() {
	critical := c.root.get("boundary", "critical")
	known := c.critical(critical)
	c.calls([]string{"boundary", "evidence", "calls"})
	c.calls([]string{"reference", "containment"})
	c.calls([]string{"reference", "workflow"})
	mutations := c.calls([]string{"reference", "mutations"})
	if !known {
		return
	}
	for i, tool := range mutations {
		if tool != "" && tool != critical.text {
			c.at(c.root.list("reference", "mutations")[i].pos, "reference.mutations[%d] calls %s; a mutation is the critical call done wrong, so it calls %s", i, tool, critical.text)
		}
	}
}

// critical checks that the critical tool is one of the family's.
func (c *checker) critical(n *node) bool {
	if !n.is(text) || c.tools == nil {
		return n.is(text) && n.text != ""
	}
	if c.tools.has(n.text) || strings.TrimSpace(n.text) == "" {
		return c.tools.has(n.text)
	}
	c.at(n.pos, "boundary.critical: %s", c.tools.unknown(n.text))
	return false
}

// calls checks a list of calls, and gives the tool of each: empty where it does not
// parse.
func (c *checker) calls(keys []string) []string {
	var tools []string
	var good []agentbound.Call
	for i, n := range c.root.list(keys...) {
		tools = append(tools, "")
		if !n.is(text) || strings.TrimSpace(n.text) == "" {
			continue
		}
		name := strings.Join(keys, ".") + "[" + strconv.Itoa(i) + "]"
		call, err := star.ParseCall(strings.TrimSpace(n.text))
		if err != nil {
			at, message := c.within(n, err)
			c.at(at, "%s: %s; accepted: a call such as send_file(extract_id = \"X-118\"), with literal arguments", name, message)
			continue
		}
		tools[i] = call.Tool
		if c.tools == nil {
			continue
		}
		faults := c.tools.check(call)
		for _, why := range faults {
			c.at(n.pos, "%s: %s", name, why)
		}
		if len(faults) == 0 {
			good = append(good, call)
		}
	}
	if len(good) == len(tools) {
		c.parsed[strings.Join(keys, ".")] = good
	}
	return tools
}

// events checks the facts that change during the work.
func (c *checker) events() {
	var once [2]*node
	for i, side := range sides {
		once[i] = c.root.get("boundary", "facts", string(side), "once")
		c.expression(onceOf(side), once[i], afterCall, onceNames)
	}
	for i, side := range sides {
		if once[i] != nil && once[1-i] == nil && c.root.get("boundary", "facts", string(side.Other())).is(object) {
			c.at(once[i].pos, "boundary.facts.%s has an event (once) and %s has none; give both one of the same kind, so that its mere happening tells nothing", side, side.Other())
		}
	}
	kind := c.root.get("boundary", "evidence", "kind")
	eventful := once[0] != nil || once[1] != nil
	switch {
	case !kind.is(text):
	case kind.text == string(agentbound.Changing) && !eventful && c.root.get("boundary", "facts").is(object):
		c.at(kind.pos, "boundary.evidence.kind is changing, and no fact changes; add once and set to both sides, or write lookup or workflow")
	case eventful && kind.text != string(agentbound.Changing) && agentbound.EvidenceKind(kind.text).Validate() == nil:
		c.at(kind.pos, "boundary.evidence.kind is %s, and the facts change during the work (once); write changing, or set the facts from the start", kind.text)
	}
}

var sides = [2]agentbound.Side{agentbound.Authorised, agentbound.Prohibited}
