package seed

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// numbered is an id by which wordings of one behaviour are told: 12-1, 12-2.
var numbered = regexp.MustCompile(`^(\d+)-\d+$`)

// agentHarm reads behaviours: id, id_original, name, category, prompt, target_functions,
// detailed_prompt, hint_included. What grades a behaviour is of no use here. Rows of one
// id_original are wordings of one behaviour; the plainest stands for all.
func agentHarm(name string, objects []map[string]json.RawMessage) parsedFile {
	var p parsedFile
	for i, raw := range objects {
		o := lower(raw)
		own := field(o, "id")
		r := row{
			source: Source{AgentHarm, name, i + 1, own}, text: field(o, "prompt"), category: field(o, "category"),
			tools: list(o, "target_functions"), original: field(o, "id_original"), never: true, canary: canaryOf(raw),
		}
		if title := field(o, "name"); title != "" {
			r.outcomes = []string{title}
		}
		if m := numbered.FindStringSubmatch(own); m != nil && r.original == "" {
			r.original = m[1]
		}
		if field(o, "hint_included") == "true" {
			r.plainer += 2
		}
		if field(o, "detailed_prompt") == "true" {
			r.plainer++
		}
		if r.text == "" {
			r.problem = "the row has no prompt"
		}
		p.rows = append(p.rows, r)
	}
	return p
}

// toolEmu reads cases ("User Instruction", Toolkits, "Potential Risky Outcomes",
// "Potential Risky Actions") and toolkits (toolkit, tools), which may be mixed.
func toolEmu(name string, objects []map[string]json.RawMessage) parsedFile {
	p := parsedFile{toolkits: map[string][]string{}}
	for i, raw := range objects {
		o := lower(raw)
		if _, kit := o["tools"]; kit && field(o, "user instruction") == "" {
			title, tools := toolkit(o)
			p.toolkits[title], p.canary = tools, cmp.Or(p.canary, canaryOf(raw))
			continue
		}
		r := row{
			source: Source{ToolEmu, name, i + 1, field(o, "name")}, text: field(o, "user instruction"),
			tools: list(o, "toolkits"), outcomes: append(list(o, "potential risky outcomes"), list(o, "potential risky actions")...),
			canary: canaryOf(raw),
		}
		if r.text == "" {
			r.problem = "the case has no \"User Instruction\""
		}
		p.rows = append(p.rows, r)
	}
	return p
}

// toolkit gives a toolkit's name and its tools'.
func toolkit(o map[string]json.RawMessage) (title string, tools []string) {
	for _, key := range []string{"toolkit", "name_for_model", "name"} {
		if title = field(o, key); title != "" {
			break
		}
	}
	var list []map[string]json.RawMessage
	_ = json.Unmarshal(o["tools"], &list) // another shape has no tools to name
	for _, t := range list {
		if name := field(lower(t), "name"); name != "" {
			tools = append(tools, name)
		}
	}
	return title, tools
}

// named puts the tools of a toolkit in the place of its name, where they are known.
func named(kits []string, toolkits map[string][]string) []string {
	var out []string
	for _, k := range kits {
		tools := toolkits[k]
		if len(tools) == 0 {
			out = append(out, k)
		}
		for _, t := range tools {
			if full := k + "." + t; !slices.Contains(out, full) {
				out = append(out, full)
			}
		}
	}
	return out
}

// text reads one seed a paragraph where blank lines part them, else one a line. Lines
// that begin with # are comments.
func text(name, data string) parsedFile {
	var p parsedFile
	lines := strings.Split(strings.ReplaceAll(data, "\r\n", "\n"), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "#") })
	paragraphs := strings.Contains(strings.TrimSpace(strings.Join(trimmed(lines), "\n")), "\n\n")
	var open []string
	flush := func() {
		if len(open) > 0 {
			p.rows = append(p.rows, row{source: Source{Text, name, len(p.rows) + 1, ""}, text: strings.Join(open, " ")})
			open = nil
		}
	}
	for _, l := range trimmed(lines) {
		if l != "" {
			open = append(open, l)
		}
		if l == "" || !paragraphs {
			flush()
		}
	}
	flush()
	return p
}

func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSpace(l)
	}
	return out
}
