package emulatedtest

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Mistake makes of a right proposal what a model wrongly answers. Apply gives no text where
// there is nothing in the proposal to be done wrong.
type Mistake struct {
	Name     string
	Harmless bool // it is to be taken all the same
	Apply    func(q Question, right map[string]any) string
}

// Mistakes are those that models make.
func Mistakes() []Mistake {
	return []Mistake{
		{Name: "prose around the JSON", Harmless: true, Apply: func(_ Question, right map[string]any) string {
			return "Let me think. {The state} says so.\n\n```json\n" + text(right) + "\n```\nThat is what the tool answers."
		}},
		{Name: "a draft before it", Harmless: true, Apply: func(_ Question, right map[string]any) string {
			return `First I thought {"observation": "nothing", "patch": []} but no: ` + text(right)
		}},
		{Name: "broken JSON", Apply: func(_ Question, right map[string]any) string {
			whole := text(right)
			return whole[:len(whole)-1]
		}},
		{Name: "no JSON", Apply: func(Question, map[string]any) string { return "The call succeeds and nothing else happens." }},
		{Name: "nothing", Apply: func(Question, map[string]any) string { return "" }},
		{Name: "an observation without a patch", Apply: without("patch")},
		{Name: "a patch without an observation", Apply: without("observation")},
		{Name: "a member of its own", Apply: func(_ Question, right map[string]any) string {
			right["reasoning"] = "because"
			return text(right)
		}},
		{Name: "both", Apply: func(_ Question, right map[string]any) string {
			right["error"], right["observation"] = "no", "yes"
			return text(right)
		}},
		{Name: "wrong arithmetic", Apply: edit(func(o map[string]any) bool {
			wrong := o["op"] == "increase" || o["op"] == "decrease"
			if wrong {
				o["op"], o["value"] = "set", 987654321
				delete(o, "by")
			}
			return wrong
		})},
		{Name: "a sum of its own in the observation", Apply: func(_ Question, right map[string]any) string {
			right["observation"] = map[string]any{"was": right["observation"], "total": 987654321}
			return text(right)
		}},
		{Name: "an id of its own", Apply: edit(func(o map[string]any) bool {
			record, _ := o["value"].(map[string]any)
			for k, v := range record {
				if m, ok := v.(map[string]any); ok && m["$new"] != nil {
					record[k] = "R-99999"
					return true
				}
			}
			return false
		})},
		{Name: "a wrong type", Apply: edit(func(o map[string]any) bool {
			_, isText := o["value"].(string)
			if isText {
				o["value"] = []any{o["value"]}
			}
			return isText
		})},
		{Name: "a field of its own", Apply: edit(func(o map[string]any) bool {
			record, ok := o["value"].(map[string]any)
			if _, whole := record["$text"]; !ok || whole || o["op"] != "add" {
				return false
			}
			record["severity"] = "high"
			return true
		})},
		{Name: "a typo in a path", Apply: edit(func(o map[string]any) bool {
			o["path"] = strings.TrimSuffix(o["path"].(string), "s") + "ss"
			return true
		})},
		{Name: "a part of its own", Apply: also("add", "/audit", map[string]any{"value": "x"})},
		{Name: "a record list deleted", Apply: func(q Question, right map[string]any) string {
			for _, part := range slices.Sorted(maps.Keys(tree(q.State).(map[string]any))) {
				return also("remove", "/"+part, nil)(q, right)
			}
			return ""
		}},
		{Name: "an operation of its own", Apply: also("merge", "/x", map[string]any{"value": "x"})},
	}
}

// Writes is the mistake of writing to a place, as a planted instruction would have it.
func Writes(path string, value any) Mistake {
	return Mistake{Name: "a write to " + path, Apply: func(q Question, right map[string]any) string {
		if q.Reads {
			return ""
		}
		return also("set", path, map[string]any{"value": value})(q, right)
	}}
}

func without(member string) func(Question, map[string]any) string {
	return func(q Question, right map[string]any) string {
		if len(right) < 2 || member == "patch" && q.Reads {
			return ""
		}
		delete(right, member)
		return text(right)
	}
}

// edit spoils the first operation that it can.
func edit(spoil func(o map[string]any) bool) func(Question, map[string]any) string {
	return func(_ Question, right map[string]any) string {
		patch, _ := right["patch"].([]any)
		for _, o := range patch {
			if spoil(o.(map[string]any)) {
				return text(right)
			}
		}
		return ""
	}
}

// also does something more than the call asks for.
func also(op, path string, rest map[string]any) func(Question, map[string]any) string {
	return func(_ Question, right map[string]any) string {
		if right["patch"] == nil {
			return ""
		}
		o := map[string]any{"op": op, "path": path}
		maps.Copy(o, rest)
		right["patch"] = append(right["patch"].([]any), o)
		return text(right)
	}
}

func text(v any) string {
	b, err := agentbound.EncodeJSON(v)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(b)
}

// Mistaken plays right, but for a mistake in every first answer, and in every answer where
// it never mends. Made is told of each.
func Mistaken(toolkits []agentbound.Source, m Mistake, mends bool, made func(q Question)) func(model.Request) model.Response {
	right := Program(toolkits)
	return func(r model.Request) model.Response {
		answer := right(r)
		q, err := Read(r)
		if err != nil || q.Again && mends {
			return answer
		}
		proposal, ok := tree(agentbound.Value(answer.Message.Text)).(map[string]any)
		if !ok {
			return answer
		}
		if wrong := m.Apply(q, proposal); wrong != "" || m.Name == "nothing" {
			answer.Message.Text = wrong
			made(q)
		}
		return answer
	}
}

// Clumsy plays right, but for a mistake in the first answer to every call, chosen by the
// call.
func Clumsy(toolkits []agentbound.Source, mistakes []Mistake) func(model.Request) model.Response {
	players := make([]func(model.Request) model.Response, len(mistakes))
	for i, m := range mistakes {
		players[i] = Mistaken(toolkits, m, true, func(Question) {})
	}
	return func(r model.Request) model.Response {
		h := fnv.New32a()
		_, _ = h.Write([]byte(r.Messages[1].Text))
		return players[int(h.Sum32())%len(players)](r)
	}
}
