package exec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/episode"
)

// The messages to the program. What a subject is given is the episode's Brief alone:
// no id, no split, and no seed, from which one could be worked out.
type (
	helloMessage struct {
		Type        string            `json:"type"`
		Version     int               `json:"version"`
		Setting     string            `json:"setting"`
		Instruction string            `json:"instruction"`
		Tools       []agentbound.Tool `json:"tools"`
	}
	observeMessage struct {
		Type         string     `json:"type"`
		Observations []observed `json:"observations"`
	}
	observed struct {
		Tool        string           `json:"tool"`
		OK          bool             `json:"ok"`
		Observation agentbound.Value `json:"observation"`
	}
	reviseMessage struct {
		Type    string `json:"type"`
		Thought string `json:"thought"`
	}
	finalMessage struct {
		Type   string               `json:"type"`
		Reason agentbound.EndReason `json:"reason"`
	}
	errorMessage struct {
		Type  string `json:"type"`
		Error string `json:"error"`
	}
)

func hello(b episode.Brief) helloMessage {
	tools := b.Tools
	if tools == nil {
		tools = []agentbound.Tool{}
	}
	return helloMessage{"hello", Version, b.Setting, b.Instruction, tools}
}

func observe(seen []episode.Observation) observeMessage {
	m := observeMessage{"observe", []observed{}}
	for _, o := range seen {
		m.Observations = append(m.Observations, observed{o.Call.Tool, o.OK, o.Value})
	}
	return m
}

// encode puts a message on a line. U+2028 and U+2029 may stand in JSON as they are,
// but some readers of lines (Node's among them) end a line there.
func encode(message any) ([]byte, error) {
	b, err := agentbound.EncodeJSON(message)
	if err != nil {
		return nil, err
	}
	b = bytes.ReplaceAll(b, []byte("\u2028"), []byte(`\u2028`))
	b = bytes.ReplaceAll(b, []byte("\u2029"), []byte(`\u2029`))
	return append(b, '\n'), nil
}

// maxCalls is how many calls a message may hold. The trial's own limit is lower, and
// what is over it is answered call by call; this one keeps a flood off the record.
const maxCalls = 256

// refused is a line that the protocol does not allow. It is the program's fault as a
// program, not its behaviour as a subject: the trial is unscored.
type refused struct{ why string }

func (r refused) Error() string { return r.why }

func refuse(format string, args ...any) error { return refused{fmt.Sprintf(format, args...)} }

// decode reads the one message a program may send: act, with calls to make or with an
// outcome that ends the trial. Names match exactly, fields that are not known are
// ignored, null is as good as absent, and arguments keep their bytes.
func decode(line []byte) (episode.Decision, error) {
	if !utf8.Valid(line) {
		return episode.Decision{}, refuse("the line is not UTF-8")
	}
	m, err := readObject(line)
	if err != nil {
		return episode.Decision{}, refuse("the line is not a JSON object: %v", err)
	}
	kind, err := m.text("type")
	if err != nil {
		return episode.Decision{}, err
	}
	if kind != "act" {
		return episode.Decision{}, refuse("type %q is not known; accepted: act", kind)
	}
	return m.act()
}

// object is a JSON object whose members are read one by one: encoding/json would take
// "Calls" for "calls".
type object map[string]json.RawMessage

func readObject(text []byte) (object, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) {
			return nil, fmt.Errorf("it is a JSON %s", mismatch.Value)
		}
		return nil, err
	}
	if o == nil {
		return nil, errors.New("it is a JSON null")
	}
	return o, nil
}

func (o object) has(name string) bool {
	raw, ok := o[name]
	return ok && string(raw) != "null"
}

func (o object) text(name string) (string, error) {
	var s string
	if o.has(name) && json.Unmarshal(o[name], &s) != nil {
		return "", refuse("%s is not a text", name)
	}
	return s, nil
}

func (o object) objects(name string) ([]object, error) {
	var raw []json.RawMessage
	if json.Unmarshal(o[name], &raw) != nil {
		return nil, refuse("%s is not a list", name)
	}
	all := make([]object, len(raw))
	for i, r := range raw {
		var err error
		if all[i], err = readObject(r); err != nil {
			return nil, refuse("%s[%d] is not an object", name, i)
		}
	}
	return all, nil
}

func (o object) act() (d episode.Decision, err error) {
	if o.has("calls") == o.has("outcome") {
		return d, refuse("an act has either calls or an outcome")
	}
	if d.Thought, err = o.text("thought"); err != nil {
		return d, err
	}
	if d.Source, err = o.source(); err != nil {
		return d, err
	}
	if d.Usage, err = o.usage(); err != nil {
		return d, err
	}
	if o.has("outcome") {
		d.Outcome, err = o.outcome()
		return d, err
	}
	d.Calls, err = o.calls()
	return d, err
}

func (o object) source() (agentbound.ThoughtSource, error) {
	s, err := o.text("thought_source")
	if err != nil || s == "" {
		return "", err
	}
	source := agentbound.ThoughtSource(s)
	if err := source.Validate(); err != nil {
		return "", refuse("%v", err)
	}
	return source, nil
}

func (o object) calls() ([]agentbound.Call, error) {
	all, err := o.objects("calls")
	if err != nil {
		return nil, err
	}
	if len(all) > maxCalls {
		return nil, refuse("%d calls in one message; at most %d are taken", len(all), maxCalls)
	}
	calls := make([]agentbound.Call, len(all))
	for i, c := range all {
		tool, err := c.text("tool")
		if err != nil || tool == "" {
			return nil, refuse("calls[%d] names no tool", i)
		}
		calls[i] = agentbound.Call{Tool: tool, Args: agentbound.Value("{}")}
		if c.has("args") {
			calls[i].Args = agentbound.Value(c["args"])
		}
	}
	return calls, nil
}

func (o object) outcome() (*agentbound.Outcome, error) {
	m, err := readObject(o["outcome"])
	if err != nil {
		return nil, refuse("outcome is not an object")
	}
	var word string
	var out agentbound.Outcome
	for _, field := range []struct {
		name string
		to   *string
	}{{"word", &word}, {"reason", &out.Reason}, {"text", &out.Text}, {"refused_by", &out.RefusedBy}} {
		if *field.to, err = m.text(field.name); err != nil {
			return nil, refuse("outcome.%v", err)
		}
	}
	out.Word = agentbound.Word(word)
	if err := out.Word.Validate(); err != nil {
		return nil, refuse("%v", err)
	}
	if out.RefusedBy != "" && (out.RefusedBy != agentbound.RefusedByProvider || out.Word != agentbound.Declined) {
		return nil, refuse("outcome.refused_by %q with the word %s; accepted: %s, with the word %s", out.RefusedBy, out.Word, agentbound.RefusedByProvider, agentbound.Declined)
	}
	return &out, nil
}

// What one decision may be said to cost, so that sums over a run stay numbers.
const (
	mostTokens = 1_000_000_000
	mostUSD    = 1_000_000
)

// usage is what the program says that this decision cost.
func (o object) usage() (u agentbound.Usage, err error) {
	if !o.has("usage") {
		return u, nil
	}
	m, err := readObject(o["usage"])
	if err != nil {
		return u, refuse("usage is not an object")
	}
	for _, field := range []struct {
		name string
		to   any
	}{{"input_tokens", &u.InputTokens}, {"output_tokens", &u.OutputTokens}, {"cached_tokens", &u.CachedTokens}, {"usd", &u.USD}} {
		if m.has(field.name) && json.Unmarshal(m[field.name], field.to) != nil {
			return u, refuse("usage.%s is not taken; tokens are whole numbers, usd a number", field.name)
		}
	}
	if u.InputTokens < 0 || u.OutputTokens < 0 || u.CachedTokens < 0 || u.USD < 0 {
		return u, refuse("usage is below 0")
	}
	if u.InputTokens > mostTokens || u.OutputTokens > mostTokens || u.CachedTokens > mostTokens || u.USD > mostUSD {
		return u, refuse("usage is more than one decision can cost; accepted: up to %d tokens and %d usd", mostTokens, mostUSD)
	}
	return u, nil
}
