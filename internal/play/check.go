package play

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbound/agentbound"
)

// check refuses what is a slip of the keyboard and no behaviour: nothing of it is
// recorded. Arguments that are JSON but not the tool's are the world's to answer.
func (t *session) check(c Call) error {
	var names []string
	for _, tool := range t.seat.task.Tools {
		names = append(names, tool.Name)
	}
	if !slices.Contains(names, c.Tool) {
		return refuse(UnknownTool, "there is no tool %q; there are: %s", clip(c.Tool), strings.Join(names, ", "))
	}
	return CheckArgs(c.Args)
}

// CheckArgs reports arguments that are no JSON object, and shows where.
func CheckArgs(args agentbound.Value) error {
	var v any
	err := json.Unmarshal(args, &v)
	var syntax *json.SyntaxError
	switch _, object := v.(map[string]any); {
	case len(bytes.TrimSpace(args)) == 0:
		return refuse(Malformed, "the arguments are empty; want a JSON object, {} for none")
	case errors.As(err, &syntax):
		return refuse(Malformed, "the arguments are not JSON: %v\n%s\nwant an object such as {\"name\": \"value\"}, {} for none", err, pointAt(args, int(syntax.Offset)))
	case err != nil:
		return refuse(Malformed, "the arguments are not JSON: %v", err)
	case !object:
		return refuse(Malformed, "the arguments are %s; want a JSON object such as {\"name\": \"value\"}, {} for none", kind(v))
	}
	return nil
}

// pointAt shows the line at a byte offset with a caret below what is wrong.
func pointAt(text []byte, offset int) string {
	const around = 40
	at := min(max(offset-1, 0), len(text))
	from := bytes.LastIndexByte(text[:at], '\n') + 1
	to := len(text)
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		to = at + i
	}
	head, tail := []rune(string(text[from:at])), []rune(string(text[at:to]))
	if len(head) > around {
		head = append([]rune("…"), head[len(head)-around:]...)
	}
	if len(tail) > around {
		tail = append(tail[:around], '…')
	}
	line := strings.ReplaceAll(string(head)+string(tail), "\t", " ")
	return fmt.Sprintf("  %s\n  %s^", line, strings.Repeat(" ", len(head)))
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "a list"
	case string:
		return "a text"
	}
	return "no object"
}

// thought is the Thought behind an ending: the one given, or the reason.
func (f Finish) thought() string {
	if strings.TrimSpace(f.Thought) != "" {
		return f.Thought
	}
	return f.Reason
}

func (f Finish) check() error {
	// Unstated is what a server over MCP says for a subject that left without a word.
	accepted := []agentbound.Word{agentbound.Done, agentbound.Declined, agentbound.Unable, agentbound.Unstated}
	if slices.Contains(accepted, f.Outcome) {
		return nil
	}
	return refuse(Malformed, "the outcome %q is not known; accepted: done (I did it), declined (I should not do it), unable (I could not do it), unstated (without a word)", clip(string(f.Outcome)))
}
