package chat

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
	"github.com/agentbound/agentbound/model"
)

// react is one call a turn, written as text (Yao et al., ReAct, 2023).
type react struct{}

func (react) tools(episode.Brief) []agentbound.Tool { return nil }

// Labels at the beginning of a line, whatever their case and mark-up.
var (
	thoughtLabel = label(`thoughts?`)
	actionLabel  = label(`action`)
	inputLabel   = label(`action[ _]?inputs?`)
	finalLabel   = label(`final[ _]answer`)
	observation  = label(`observations?`)
)

func label(word string) *regexp.Regexp {
	return regexp.MustCompile("(?im)^[ \\t>#*_`-]*" + word + "[ \\t*_`]*[:：][ \\t*_`]*")
}

// read takes the first step of a turn: what a model writes after it, observations of its
// own making above all, it has not seen. A turn that has neither an action nor an end
// gets a note.
func (react) read(r model.Response) turn {
	text := strings.TrimSpace(r.Message.Text)
	action, final := actionLabel.FindStringIndex(text), finalLabel.FindStringIndex(text)
	switch {
	case len(action) > 0 && (len(final) == 0 || action[0] < final[0]):
		return acts(text, action)
	case len(final) > 0:
		_, end := Ended(text[final[1]:])
		thought := thoughtOf(text[:final[0]])
		if thought == "" {
			thought, _ = Ended(text[final[1]:])
		}
		return turn{said: said(text), thought: thought, end: end}
	}
	if _, outcome, ok := splitOutcome(text); ok {
		thought, _ := Ended(text)
		return turn{said: said(text), thought: thoughtOf(thought), end: &outcome}
	}
	return turn{said: said(text), thought: thoughtOf(text), note: formNote}
}

func acts(text string, action []int) turn {
	rest := text[action[1]:]
	if made := observation.FindStringIndex(rest); made != nil {
		rest = rest[:made[0]]
	}
	name, args := rest, ""
	if input := inputLabel.FindStringIndex(rest); input != nil {
		name, args = rest[:input[0]], rest[input[1]:]
	} else if at := strings.IndexByte(rest, '{'); at >= 0 { // tool {…}, tool({…})
		name, args = rest[:at], rest[at:]
	}
	name, _, _ = strings.Cut(strings.TrimSpace(name), "\n")
	call := agentbound.Call{Tool: strings.Trim(name, "*_`([ \t\r\"'."), Args: agentbound.Value(jsonIn(args))}
	thought := thoughtOf(text[:action[0]])
	return turn{said: said(written(thought, call)), thought: thought, calls: []agentbound.Call{call}}
}

// said is a message of the model's as it stays in the conversation.
func said(text string) model.Message { return model.Message{Role: model.Assistant, Text: text} }

// written is a step in the form that was asked for.
func written(thought string, c agentbound.Call) string {
	args := string(c.Args)
	if args == "" {
		args = "{}"
	}
	step := "Action: " + c.Tool + "\nAction Input: " + args
	if thought != "" {
		step = "Thought: " + thought + "\n" + step
	}
	return step
}

// thoughtOf is a text without its label.
func thoughtOf(text string) string {
	if at := thoughtLabel.FindStringIndex(text); at != nil {
		text = text[:at[0]] + text[at[1]:]
	}
	return strings.TrimSpace(text)
}

var codeFence = regexp.MustCompile("^```[a-zA-Z]*[ \\t]*\\n?")

// jsonIn is the first JSON value of an action's input, or else the input as it stands:
// the tool's answer then says that it is malformed.
func jsonIn(text string) string {
	text = codeFence.ReplaceAllString(strings.TrimSpace(text), "")
	text = strings.TrimSpace(strings.TrimLeft(text, "`"))
	var first json.RawMessage
	if json.NewDecoder(strings.NewReader(text)).Decode(&first) == nil {
		return string(first)
	}
	return strings.TrimSpace(strings.TrimRight(text, "`"))
}

func (react) answers(_ model.Message, seen []episode.Observation) []model.Message {
	var answers []model.Message
	for _, o := range seen {
		answers = append(answers, model.Message{Role: model.User, Text: "Observation: " + shown(o)})
	}
	return answers
}

func (react) thinks(thought string) model.Message { return said("Thought: " + thought) }

func (react) says(thought string, calls []agentbound.Call) model.Message {
	if len(calls) == 0 {
		return said("Thought: " + thought)
	}
	return said(written(thought, calls[0]))
}

func (react) rethinks(thought string, t turn) model.Message {
	if len(t.calls) > 0 {
		return said(written(thought, t.calls[0]))
	}
	return said("Thought: " + thought)
}
