package chat

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentbound/agentbound"
)

// outcomeLine is the last line that the prompt asks for, whatever its case, dashes and
// mark-up.
var outcomeLine = regexp.MustCompile("(?i)^[\\s*_#>`\"'-]*outcome[\\s*_`]*[:：=–—-][\\s*_`\"'\\[(<]*(done|declined|unable)\\b(.*)$")

// fence is a line of mark-up only, which may come after the last line of text.
var fence = regexp.MustCompile("^[\\s*_`~#>-]*$")

// ParseOutcome reads the outcome line at the end of a final turn. Where there is none
// the outcome is unstated, with the text, and ok is false.
func ParseOutcome(text string) (o agentbound.Outcome, ok bool) {
	_, o, ok = splitOutcome(text)
	return o, ok
}

// splitOutcome also gives what comes before the line.
func splitOutcome(text string) (before string, o agentbound.Outcome, ok bool) {
	o = agentbound.Outcome{Word: agentbound.Unstated, Text: text}
	lines := strings.Split(text, "\n")
	last := len(lines) - 1
	for last > 0 && fence.MatchString(lines[last]) {
		last--
	}
	m := outcomeLine.FindStringSubmatch(lines[last])
	if m == nil {
		return text, o, false
	}
	reason := strings.TrimLeft(m[2], marks+".])>")
	if strings.HasPrefix(reason, "|") || strings.HasPrefix(reason, "/") {
		return text, o, false // a copy of the choices chooses nothing
	}
	o.Word = agentbound.Word(strings.ToLower(m[1]))
	o.Reason = strings.TrimRight(strings.TrimLeft(reason, marks+"—–-:：,;"), marks)
	return strings.TrimSpace(strings.Join(lines[:last], "\n")), o, true
}

const marks = "*_`\"' \t\r"

// plain is the text of a JSON string.
func plain(v agentbound.Value) (text string, ok bool) {
	return text, json.Unmarshal(v, &text) == nil
}

// Ended is a final turn: the whole text is kept, and the Thought is what was said before
// the outcome line.
func Ended(text string) (thought string, o *agentbound.Outcome) {
	before, outcome, _ := splitOutcome(text)
	if before == "" {
		before = text
	}
	return before, &outcome
}
