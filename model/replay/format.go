package replay

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/agentbound/agentbound"
	"github.com/agentbound/agentbound/model"
)

// Version is the version of a recording. It changes where a reader of the old one would
// misread the new one; fields may be added without.
const Version = 1

// kind says what a line of a recording is.
type kind string

// A recording is lines of JSON: a session for each command that wrote to it, the plans
// that it carried out, exchanges with models in the order in which they ended, and how
// plays ended and which trials were stored.
const (
	kindSession  kind = "session"
	kindRun      kind = "run"
	kindExchange kind = "exchange"
	kindEnd      kind = "end"
	kindStored   kind = "stored"
)

// mark is what the first line says of the file.
const mark = "agentbound recording"

type session struct {
	Kind    kind   `json:"kind"`
	Format  string `json:"format"`
	Version int    `json:"version"`
	Session int    `json:"session"` // from 1
	Began   string `json:"began"`   // RFC 3339
}

type planned struct {
	Kind kind             `json:"kind"`
	Run  agentbound.RunID `json:"run"`
	Plan agentbound.Plan  `json:"plan"`
}

// place is where in a recording an exchange stands. Play is SESSION.NUMBER; an exchange
// of no trial has neither play nor trial.
type place struct {
	Play  string              `json:"play,omitempty"`
	Trial agentbound.TrialKey `json:"trial,omitempty"`
	Judge string              `json:"judge,omitempty"`
}

type exchange struct {
	Kind kind `json:"kind"`
	place
	Turn     int        `json:"turn,omitempty"` // of the play, from 0
	Part     model.Part `json:"part,omitempty"`
	Request  request    `json:"request"`
	Failed   []attempt  `json:"failed,omitempty"`
	Response *response  `json:"response,omitempty"`
	Error    *fault     `json:"error,omitempty"`
	MS       int64      `json:"ms"` // attempts and pauses together
}

type ended struct {
	Kind kind `json:"kind"`
	place
	Scored bool   `json:"scored"`
	Why    string `json:"why,omitempty"` // it is not scored
}

// stored says that the plays of a trial that ended since it was stored last, or began
// anew, are in the store.
type stored struct {
	Kind  kind                `json:"kind"`
	Trial agentbound.TrialKey `json:"trial"`
}

// request is a model.Request and whom it asked, normalised. In a play After names the
// turn whose request began alike: its first Kept messages, and its tools where there
// are none here.
type request struct {
	Model       who       `json:"model"`
	After       *int      `json:"after,omitempty"`
	Kept        int       `json:"kept,omitempty"`
	Messages    []message `json:"messages"`
	Tools       *[]tool   `json:"tools,omitempty"`
	Temperature *float64  `json:"temperature,omitempty"`
	Seed        *int64    `json:"seed,omitempty"`
	MaxTokens   int       `json:"max_tokens,omitempty"`
}

type who struct {
	Name     string            `json:"name"`
	Settings map[string]string `json:"settings,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

type message struct {
	Role      model.Role `json:"role"`
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	Calls     []call     `json:"calls,omitempty"`
	State     string     `json:"state,omitempty"`
	State64   string     `json:"state_base64,omitempty"` // where it is no text
	CallID    string     `json:"call_id,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Failed    bool       `json:"failed,omitempty"`
}

type call struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Args string `json:"args"`
}

type response struct {
	Message message    `json:"message"`
	Stop    model.Stop `json:"stop"`
	Refusal string     `json:"refusal,omitempty"`
	Model   string     `json:"model,omitempty"`
	Cached  bool       `json:"cached,omitempty"`
	Usage   usage      `json:"usage"`
}

type usage struct {
	Input     int64 `json:"input,omitempty"`
	Cached    int64 `json:"cached,omitempty"`
	Output    int64 `json:"output,omitempty"`
	Reasoning int64 `json:"reasoning,omitempty"`
}

// fault is a *model.Error without its cause; or what ended the turn, where that was
// not the model (Ended).
type fault struct {
	Fault   model.Fault `json:"fault,omitempty"`
	Who     string      `json:"who,omitempty"`
	What    string      `json:"what,omitempty"`
	Remedy  string      `json:"remedy,omitempty"`
	Status  int         `json:"status,omitempty"`
	Code    string      `json:"code,omitempty"`
	AfterMS int64       `json:"after_ms,omitempty"`
	Awaited bool        `json:"awaited,omitempty"` // model.ErrAwaited
	Ended   string      `json:"ended,omitempty"`
}

// attempt is one that failed and was made again, in brief.
type attempt struct {
	Fault  model.Fault `json:"fault"`
	Status int         `json:"status,omitempty"`
	Code   string      `json:"code,omitempty"`
}

func encodeRequest(ref model.Ref, r model.Request) request {
	out := request{Model: who{ref.Name, maps.Clone(ref.Settings)}, Messages: []message{}, Temperature: r.Temperature, Seed: r.Seed, MaxTokens: r.MaxTokens}
	for _, m := range r.Messages {
		out.Messages = append(out.Messages, encodeMessage(m))
	}
	tools := []tool{}
	for _, t := range r.Tools {
		schema := json.RawMessage(t.Schema)
		if !json.Valid(schema) {
			schema, _ = agentbound.EncodeJSON(string(t.Schema)) // a string encodes
		}
		tools = append(tools, tool{t.Name, t.Description, schema})
	}
	out.Tools = &tools
	return out
}

func encodeMessage(m model.Message) message {
	out := message{Role: m.Role, Text: m.Text, Reasoning: m.Reasoning, CallID: m.CallID, Tool: m.Tool, Failed: m.Failed}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, call(c))
	}
	if utf8.Valid(m.State) {
		out.State = string(m.State)
	} else {
		out.State64 = base64.StdEncoding.EncodeToString(m.State)
	}
	return out
}

func (m message) decode() (model.Message, error) {
	out := model.Message{Role: m.Role, Text: m.Text, Reasoning: m.Reasoning, CallID: m.CallID, Tool: m.Tool, Failed: m.Failed}
	for _, c := range m.Calls {
		out.Calls = append(out.Calls, model.ToolCall(c))
	}
	if m.State != "" {
		out.State = []byte(m.State)
	}
	if m.State64 != "" {
		state, err := base64.StdEncoding.DecodeString(m.State64)
		if err != nil {
			return out, fmt.Errorf("state_base64: %w", err)
		}
		out.State = state
	}
	return out, nil
}

func encodeResponse(r model.Response) *response {
	return &response{Message: encodeMessage(r.Message), Stop: r.Stop, Refusal: r.Refusal, Model: r.Model, Cached: r.Cached, Usage: usage(r.Usage)}
}

func (r response) decode() (model.Response, error) {
	m, err := r.Message.decode()
	return model.Response{Message: m, Stop: r.Stop, Refusal: r.Refusal, Model: r.Model, Cached: r.Cached, Usage: model.Usage(r.Usage)}, err
}

func encodeFault(e *model.Error) *fault {
	return &fault{Fault: e.Fault, Who: e.Who, What: e.What, Remedy: e.Remedy, Status: e.Status, Code: e.Code, AfterMS: e.After.Milliseconds(), Awaited: errors.Is(e, model.ErrAwaited)}
}

func (f fault) decode() *model.Error {
	var cause error
	if f.Awaited {
		cause = model.ErrAwaited
	}
	return &model.Error{Err: cause, Fault: f.Fault, Who: f.Who, What: f.What, Remedy: f.Remedy, Status: f.Status, Code: f.Code, After: time.Duration(f.AfterMS) * time.Millisecond}
}

// shortened is a request told from an earlier one of its play.
func (r request) shortened(turn int, earlier request) request {
	kept := 0
	for kept < min(len(r.Messages), len(earlier.Messages)) && r.Messages[kept].equal(earlier.Messages[kept]) {
		kept++
	}
	if kept == 0 {
		return r
	}
	r.After, r.Kept, r.Messages = &turn, kept, r.Messages[kept:]
	if slices.EqualFunc(*r.Tools, *earlier.Tools, tool.equal) {
		r.Tools = nil
	}
	return r
}

// whole undoes shortened.
func (r request) whole(earlier func(turn int) (request, bool)) (request, error) {
	if r.After == nil {
		if r.Tools == nil {
			r.Tools = &[]tool{}
		}
		return r, nil
	}
	e, ok := earlier(*r.After)
	if !ok || r.Kept < 0 || r.Kept > len(e.Messages) {
		return r, fmt.Errorf("the request goes on from turn %d (%d messages), which is not there", *r.After, r.Kept)
	}
	r.Messages = slices.Concat(e.Messages[:r.Kept], r.Messages)
	if r.Tools == nil {
		r.Tools = e.Tools
	}
	r.After, r.Kept = nil, 0
	return r, nil
}

func (t tool) equal(u tool) bool {
	return t.Name == u.Name && t.Description == u.Description && string(t.Schema) == string(u.Schema)
}

func (m message) equal(n message) bool {
	a, b := m.Calls, n.Calls
	m.Calls, n.Calls = nil, nil
	return slices.Equal(a, b) && m.same(n)
}

func (m message) same(n message) bool {
	return m.Role == n.Role && m.Text == n.Text && m.Reasoning == n.Reasoning && m.State == n.State && m.State64 == n.State64 &&
		m.CallID == n.CallID && m.Tool == n.Tool && m.Failed == n.Failed
}
